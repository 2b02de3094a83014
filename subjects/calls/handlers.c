/* Handlers of signals with all that POSIX says of them: what is blocked while they run, on which stack, what they may change,
 * and that they reach a thread that makes no call.
 *
 *   handlers PORT
 *
 * Question N is about case N of `cases`, from the first again behind the last one. An answer is the same in every run.
 */
#include "questions.h"
#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>

static char told[480];
static size_t used;
static stack_t stack;
static timer_t timer;
static volatile sig_atomic_t runs, inside, left;

static void tell(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    used += (size_t)vsnprintf(told + used, sizeof told - used, format, arguments);
    va_end(arguments);
}

static int blocks(int signal) {
    sigset_t now;
    must(sigprocmask(SIG_BLOCK, NULL, &now) == 0, "sigprocmask");
    return sigismember(&now, signal);
}

static int pending(int signal) {
    sigset_t now;
    must(sigpending(&now) == 0, "sigpending");
    return sigismember(&now, signal);
}

static void change(int how, int signal) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    must(sigprocmask(how, &set, NULL) == 0, "sigprocmask");
}

static void set(int signal, void (*handler)(int, siginfo_t *, void *), int flags, int also) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
    sigemptyset(&action.sa_mask);
    if (also) sigaddset(&action.sa_mask, also);
    must(sigaction(signal, &action, NULL) == 0, "sigaction");
}

static void other(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info, (void)context;
    tell("[other, nested %d]", (int)inside);
}

static void first(int signal, siginfo_t *info, void *context) {
    ucontext_t *at = context;
    char here;
    inside = 1;
    int on_stack = &here >= (char *)stack.ss_sp && &here < (char *)stack.ss_sp + stack.ss_size;
    tell("blocked %d %d %d, before %d %d, code %d, on its stack %d", blocks(signal), blocks(SIGUSR2), blocks(SIGTERM),
         sigismember(&at->uc_sigmask, SIGUSR1), sigismember(&at->uc_sigmask, SIGUSR2), info->si_code, on_stack);
    raise(SIGUSR2);
    tell(", pending %d ", pending(SIGUSR2));
    inside = 0;
    runs++;
}

static void again(int signal, siginfo_t *info, void *context) {
    (void)info, (void)context;
    tell("<%d", blocks(signal));
    runs++;
    if (left > 0) {
        left--;
        raise(signal);
    }
    tell(">");
}

static void blocker(int signal, siginfo_t *info, void *context) {
    (void)info;
    sigaddset(&((ucontext_t *)context)->uc_sigmask, signal);
}

static sigjmp_buf out;

static void leaver(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info, (void)context;
    siglongjmp(out, 1);
}

static void start(long milliseconds) {
    struct itimerspec when = {.it_value.tv_nsec = milliseconds * 1000000};
    must(timer_settime(timer, 0, &when, NULL) == 0, "timer_settime");
}

static void raised(void) {
    set(SIGUSR1, first, SA_ONSTACK | SA_RESTART, SIGUSR2);
    raise(SIGUSR1);
    kill(getpid(), SIGUSR1);
}

/* No call until the handler has run. */
static void computing(void) {
    set(SIGUSR1, first, SA_ONSTACK, SIGUSR2);
    int before = runs;
    start(2);
    volatile unsigned long long rounds = 0;
    while (runs == before && ++rounds < 4000000000ull) {
    }
    tell("seen %d", runs != before);
}

/* Calls that do not wait. */
static void busy(void) {
    set(SIGUSR1, first, 0, SIGTERM);
    int before = runs;
    start(2);
    struct timespec now;
    while (runs == before) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        must(getppid() > 0, "getppid");
    }
}

/* Blocked while it comes, and for a while. */
static void delayed(void) {
    set(SIGUSR1, first, 0, SIGUSR2);
    int before = runs;
    change(SIG_BLOCK, SIGUSR1);
    raise(SIGUSR1);
    tell("pending %d, ran %d; ", pending(SIGUSR1), runs - before);
    change(SIG_UNBLOCK, SIGUSR1);
    tell("ran %d, blocks %d", runs - before, blocks(SIGUSR1));
}

static void waiting(void) {
    set(SIGUSR1, first, 0, SIGTERM);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    change(SIG_BLOCK, SIGUSR1);
    raise(SIGUSR1);
    int result = sigsuspend(&none);
    tell("suspend %d %d, blocks %d; ", result, errno == EINTR, blocks(SIGUSR1));
    raise(SIGUSR1);
    struct timespec soon = {.tv_nsec = 20000000};
    result = ppoll(NULL, 0, &soon, &none);
    tell("ppoll %d, blocks %d; ", result, blocks(SIGUSR1));
    result = ppoll(NULL, 0, &soon, &all);
    tell("ppoll %d; ", result);
    change(SIG_UNBLOCK, SIGUSR1);
    start(2);
    result = pselect(0, NULL, NULL, NULL, &(struct timespec){.tv_sec = 5}, &none);
    tell("pselect %d", result);
}

static void changing(void) {
    set(SIGHUP, blocker, 0, 0);
    raise(SIGHUP);
    tell("blocks %d", blocks(SIGHUP));
    change(SIG_UNBLOCK, SIGHUP);
}

static void once(void) {
    set(SIGUSR2, other, SA_RESETHAND, 0);
    raise(SIGUSR2);
    struct sigaction found;
    must(sigaction(SIGUSR2, NULL, &found) == 0, "sigaction");
    tell(" default %d", found.sa_handler == SIG_DFL);
    set(SIGUSR2, other, SA_RESETHAND, 0);
    change(SIG_BLOCK, SIGUSR2);
    raise(SIGUSR2);
    change(SIG_UNBLOCK, SIGUSR2);
    must(sigaction(SIGUSR2, NULL, &found) == 0, "sigaction");
    tell(" default %d", found.sa_handler == SIG_DFL);
    set(SIGUSR2, other, 0, 0);
}

static void nested(void) {
    set(SIGHUP, again, SA_NODEFER, 0);
    left = 2;
    raise(SIGHUP);
}

static void leaving(void) {
    set(SIGUSR1, leaver, 0, 0);
    if (sigsetjmp(out, 1) == 0) {
        start(2);
        poll(NULL, 0, 5000);
        tell("it returned; ");
    }
    tell("blocks %d; ", blocks(SIGUSR1));
    if (sigsetjmp(out, 1) == 0) {
        start(2);
        for (volatile int on = 1; on;) {
        }
    }
    tell("blocks %d", blocks(SIGUSR1));
}

/* None of them is lost. */
static void queued(void) {
    set(SIGRTMIN, again, 0, 0);
    int before = runs;
    change(SIG_BLOCK, SIGRTMIN);
    for (int value = 0; value < 3; value++) sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = value});
    change(SIG_UNBLOCK, SIGRTMIN);
    tell(" ran %d", runs - before);
}

static void ended(int signal, siginfo_t *info, void *context) {
    (void)info, (void)context;
    tell("[child, blocked %d]", blocks(signal));
    runs++;
}

/* As a shell does it: the children were waited for when the signal of their ends is let through, once. */
static void parent(void) {
    set(SIGCHLD, ended, SA_RESTART, 0);
    int before = runs;
    change(SIG_BLOCK, SIGCHLD);
    for (int child = 0; child < 2; child++) {
        pid_t pid = fork();
        if (pid == 0) _exit(child);
        must(pid > 0, "fork");
    }
    int status, sum = 0;
    while (waitpid(-1, &status, 0) > 0) sum += 1 + WEXITSTATUS(status);
    change(SIG_UNBLOCK, SIGCHLD);
    tell(" ran %d, statuses %d", runs - before, sum);
    signal(SIGCHLD, SIG_DFL);
}

static void (*const cases[])(void) = {raised, computing, busy,    delayed, waiting, changing,
                                      once,   nested,    leaving, queued,  parent};

static void answer(unsigned number, char *text, size_t room) {
    unsigned at = number % (sizeof cases / sizeof *cases);
    used = 0;
    tell("%u: ", number);
    cases[at]();
    snprintf(text, room, "%s", told);
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    int fd = open_socket(atoi(arguments[1]));
    stack.ss_size = 65536;
    stack.ss_sp = malloc(stack.ss_size);
    must(sigaltstack(&stack, NULL) == 0, "sigaltstack");
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    must(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "timer_create");
    set(SIGUSR2, other, 0, 0);
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return 0;
}
