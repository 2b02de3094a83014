/* Answers with what a child reads of its parent's memory through ptrace, and with what the call returned where it may not.
 *
 *   traced PORT
 */
#include "questions.h"
#include <errno.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static long value;

static long read_of(pid_t other) {
    int status;
    if (ptrace(PTRACE_ATTACH, other, NULL, NULL) != 0) return -errno;
    must(waitpid(other, &status, 0) == other, "waitpid");
    errno = 0;
    long found = ptrace(PTRACE_PEEKDATA, other, &value, NULL), again = 0;
    must(syscall(SYS_ptrace, PTRACE_PEEKDATA, other, &value, &again) == 0, "ptrace");
    must(errno == 0 && ptrace(PTRACE_DETACH, other, NULL, NULL) == 0, "ptrace");
    return found == again ? found : -1;
}

static void answer(unsigned number, char *text, size_t room) {
    int go[2], back[2];
    char byte = 0;
    long found = 0;
    must(pipe(go) == 0 && pipe(back) == 0, "pipe");
    value = 0;
    pid_t child = fork();
    if (child == 0) {
        must(read(go[0], &byte, 1) == 1, "read");
        found = read_of(getppid());
        must(write(back[1], &found, sizeof found) == sizeof found, "write");
        _exit(0);
    }
    value = 1000 + (long)number;
    /* Where a security module asks for it; elsewhere the call is refused. */
    (void)prctl(PR_SET_PTRACER, child, 0, 0, 0);
    must(write(go[1], &byte, 1) == 1, "write");
    ssize_t got;
    while ((got = read(back[0], &found, sizeof found)) == -1 && errno == EINTR) {
    }
    must(got == sizeof found && waitpid(child, NULL, 0) == child, "waitpid");
    close(go[0]), close(go[1]), close(back[0]), close(back[1]);
    snprintf(text, room, "%u: %ld", number, found);
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    int fd = open_socket(atoi(arguments[1]));
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return 0;
}
