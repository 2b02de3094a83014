/* Sends what it was started with: its mask of files, its limits of open files and of the stack, the signals that are ignored and those that are blocked.
 *
 *   started
 */
#include "questions.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

static int is_ignored(int signal) {
    struct sigaction action;
    must(sigaction(signal, NULL, &action) == 0, "sigaction");
    return action.sa_handler == SIG_IGN;
}

int main(void) {
    char text[500];
    struct rlimit files, stack;
    must(getrlimit(RLIMIT_NOFILE, &files) == 0 && getrlimit(RLIMIT_STACK, &stack) == 0, "getrlimit");
    sigset_t blocked;
    must(sigprocmask(SIG_BLOCK, NULL, &blocked) == 0, "sigprocmask");
    int used = snprintf(text, sizeof text, "umask %03o, files %lu, stack %lu, pipe %d, hup %d,", umask(0), (unsigned long)files.rlim_cur,
                        (unsigned long)stack.rlim_cur, is_ignored(SIGPIPE), is_ignored(SIGHUP));
    for (int signal = 1; signal < 32; signal++) {
        if (is_ignored(signal)) used += snprintf(text + used, sizeof text - (size_t)used, " %d", signal);
        if (sigismember(&blocked, signal)) used += snprintf(text + used, sizeof text - (size_t)used, " (%d)", signal);
    }
    int ends[2];
    must(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0, "socketpair");
    must(send(ends[0], text, (size_t)used, 0) == used, "send");
    return 0;
}
