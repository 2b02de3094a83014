/* A server that has forbidden itself to send and to ask for signals, and gets some all the same.
 *
 *   sandboxed PORT prctl|seccomp
 *
 * Answers with how many of them have reached its handler.
 */
#include "questions.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

static volatile sig_atomic_t caught;
static timer_t timer;

static void handler(int signal) {
    caught += signal == SIGUSR1;
}

static void forbid(const char *how) {
    static const int numbers[] = {SYS_rt_tgsigqueueinfo, SYS_rt_sigqueueinfo, SYS_rt_sigpending,
                                  SYS_timer_create,      SYS_timer_delete,    SYS_rt_sigsuspend};
    enum { COUNT = sizeof numbers / sizeof *numbers };
    struct sock_filter filter[2 * COUNT + 2];
    unsigned used = 0;
    filter[used++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int at = 0; at < COUNT; at++) {
        filter[used++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, numbers[at], 0, 1);
        filter[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    }
    filter[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = (unsigned short)used, .filter = filter};
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
    if (strcmp(how, "prctl") == 0) {
        must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0, "prctl");
    } else {
        must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0, "seccomp");
    }
}

static void answer(unsigned number, char *text, size_t room) {
    int before = caught;
    struct itimerspec when = {.it_value.tv_nsec = 1000000};
    must(timer_settime(timer, 0, &when, NULL) == 0, "timer_settime");
    while (caught == before) must(getppid() > 0, "getppid");
    raise(SIGUSR1);
    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    must(sigprocmask(SIG_BLOCK, &set, &old) == 0, "sigprocmask");
    raise(SIGUSR1);
    int blocked = caught;
    must(sigprocmask(SIG_SETMASK, &old, NULL) == 0, "sigprocmask");
    snprintf(text, room, "%u: %d, then %d, blocked before %d", number, blocked, (int)caught, sigismember(&old, SIGUSR1));
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    int fd = open_socket(atoi(arguments[1]));
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    must(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction");
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    must(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "timer_create");
    forbid(arguments[2]);
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return 0;
}
