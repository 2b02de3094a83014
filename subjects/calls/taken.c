/* Actions for the signals that a recorder needs itself, SIGSYS and SIGTRAP, and system calls made past libc.
 *
 *   taken PORT handler|details|ignore
 *
 * Answers with whether a raw call works, whether the action that was set is there, and how often its handler has run.
 */
#include "questions.h"
#include <signal.h>
#include <sys/syscall.h>

static volatile sig_atomic_t caught;
static const char *how;

static void handler(int signal) {
    caught += signal == SIGSYS ? 1 : 100;
}

static void with_details(int signal, siginfo_t *info, void *context) {
    (void)context;
    if (info->si_signo == signal) handler(signal);
}

static long raw_getpid(void) {
    long result;
#ifdef __x86_64__
    __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_getpid) : "rcx", "r11", "memory");
#else
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(SYS_getpid) : "memory");
#endif
    return result;
}

static struct sigaction wanted(void) {
    struct sigaction action = {.sa_handler = SIG_IGN};
    if (strcmp(how, "handler") == 0) action.sa_handler = handler;
    if (strcmp(how, "details") == 0) {
        action.sa_sigaction = with_details;
        action.sa_flags = SA_SIGINFO;
    }
    return action;
}

static void answer(unsigned number, char *text, size_t room) {
    static const int signals[] = {SIGSYS, SIGTRAP};
    int kept = 0, raw = raw_getpid() > 0;
    for (int at = 0; at < 2; at++) {
        struct sigaction action = wanted(), found;
        must(sigaction(signals[at], &action, NULL) == 0 && sigaction(signals[at], NULL, &found) == 0, "sigaction");
        kept += found.sa_handler == action.sa_handler;
        raw += raw_getpid() > 0;
        must(kill(getpid(), signals[at]) == 0, "kill");
    }
    snprintf(text, room, "%u: raw %d, kept %d, caught %d", number, raw, kept, (int)caught);
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    int fd = open_socket(atoi(arguments[1]));
    how = arguments[2];
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return 0;
}
