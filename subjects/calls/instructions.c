/* System calls by instructions of the program's own, as runtimes without libc make them.
 *
 *   instructions PORT [clone]
 *
 * Answers with what each of them did, and behind `drawn` with what is never the same twice. With `clone` it begins a
 * thread on a stack of its own for each question, too.
 */
#include "questions.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>

#if defined(__x86_64__)
static long call(long number, long a, long b, long c, long d, long e, long f) {
    long result;
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}
#define MASK 8
#else
/* The sixth argument is of no call here. */
static long call(long number, long a, long b, long c, long d, long e, long f) {
    long result;
    (void)f;
    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e)
                     : "memory");
    return result;
}
#define MASK 8
#endif
#define C3(number, a, b, c) call(number, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define C4(number, a, b, c, d) call(number, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

#if defined(__x86_64__)
#define SA_RESTORER 0x04000000
void restore(void);
__asm__("restore: mov $15, %eax\n syscall");
#else
#define SA_RESTORER 0
#define restore 0
#endif

static volatile int handled;

static void handler(int signal, siginfo_t *info, void *context) {
    (void)signal;
    (void)info;
    (void)context;
    handled++;
#if defined(__x86_64__)
    /* Every other time it returns by itself. */
    if (handled % 2) __asm__ volatile("mov %0, %%rsp\n mov $15, %%eax\n syscall" ::"r"(context) : "memory");
#endif
}

/* `struct sigaction` of the kernel. */
struct action {
    void *handler;
    unsigned long flags;
    void *restorer;
    unsigned char mask[8];
};

#if defined(__x86_64__)
static char stack[1 << 16] __attribute__((aligned(16)));
static volatile int begun, gone;

__attribute__((noreturn)) static void begin(void) {
    begun++;
    for (;;) C3(SYS_exit, 0, 0, 0);
}

static int thread_on_a_stack(void) {
    long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID;
    gone = 1;
    long result;
    register long r10 __asm__("r10") = (long)&gone, r8 __asm__("r8") = 0;
    register long kept __asm__("r12") = (long)begin;
    __asm__ volatile("syscall\n test %%rax, %%rax\n jnz 1f\n call *%%r12\n 1:"
                     : "=a"(result)
                     : "a"(SYS_clone), "D"(flags), "S"(stack + sizeof stack - 64), "d"(0L), "r"(r10), "r"(r8), "r"(kept)
                     : "rcx", "r11", "memory");
    while (gone) call(SYS_futex, (long)&gone, FUTEX_WAIT, 1, 0, 0, 0);
    return result > 0;
}
#endif

static int clones;

static void answer(unsigned number, char *text, size_t room) {
    int ends[2], at = 0;
    long results[24];
    char moved[16] = "";

    results[at++] = C3(SYS_pipe2, ends, O_NONBLOCK, 0);
    results[at++] = C3(SYS_write, ends[1], "words", 5);
    results[at++] = C3(SYS_read, ends[0], moved, 15);
    results[at++] = C3(SYS_read, ends[0], moved, 15);

    /* What libc's function has registered is told to the instruction. */
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLOUT, .data.u64 = 0x1234567800000000ull + number};
    must(epoll >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, ends[1], &event) == 0, "epoll");
    memset(&event, 0, sizeof event);
    results[at++] = call(SYS_epoll_pwait, epoll, (long)&event, 1, 0, 0, MASK);
    results[at++] = (long)(event.data.u64 >> 32);
    results[at++] = (long)(event.data.u64 & 0xffffffff) - (long)number;
    struct timespec none = {0, 0};
    results[at++] = sizeof(long) == 8 ? call(441, epoll, (long)&event, 1, (long)&none, 0, MASK) : 1;

    /* A mask and a stack for handlers stay as they were set. */
    unsigned char usr1[8] = {0}, before[8];
    usr1[(SIGUSR1 - 1) / 8] = 1 << (SIGUSR1 - 1) % 8;
    results[at++] = C4(SYS_rt_sigprocmask, SIG_BLOCK, usr1, before, 8);
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    results[at++] = sigismember(&now, SIGUSR1);
    results[at++] = C4(SYS_rt_sigprocmask, SIG_SETMASK, before, 0, 8);
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    results[at++] = sigismember(&now, SIGUSR1);
    static char other[1 << 16];
    stack_t other_stack = {.ss_sp = other, .ss_size = sizeof other}, found, none_of_them = {.ss_flags = SS_DISABLE};
    results[at++] = C3(SYS_sigaltstack, &other_stack, 0, 0);
    must(sigaltstack(NULL, &found) == 0, "sigaltstack");
    results[at++] = found.ss_sp == other;
    results[at++] = C3(SYS_sigaltstack, &none_of_them, 0, 0);

    struct action action = {.handler = handler, .flags = SA_SIGINFO | SA_RESTORER, .restorer = restore}, old;
    results[at++] = C4(SYS_rt_sigaction, SIGUSR2, &action, &old, 8);
    raise(SIGUSR2);
    results[at++] = handled - (int)number;
    results[at++] = C4(SYS_rt_sigaction, SIGUSR2, 0, &old, 8);
    results[at++] = old.handler == (void *)handler;

    int file = C4(SYS_openat, AT_FDCWD, "/proc/uptime", O_RDONLY, 0);
    char uptime[40] = "";
    results[at++] = file < 0 ? file : C3(SYS_read, file, uptime, 20) > 4;
    results[at++] = C3(SYS_openat, AT_FDCWD, "/nowhere", O_RDONLY);
#if defined(__x86_64__)
    results[at++] = clones ? thread_on_a_stack() && begun == (int)number + 1 : 0;
#endif
    unsigned random[2];
    struct timespec time;
    results[at++] = C3(SYS_getrandom, random, sizeof random, 0);
    results[at++] = C3(SYS_clock_gettime, CLOCK_REALTIME, &time, 0);
    C3(SYS_close, file, 0, 0);
    C3(SYS_close, ends[0], 0, 0);
    C3(SYS_close, ends[1], 0, 0);
    C3(SYS_close, epoll, 0, 0);

    int used = snprintf(text, room, "%u:", number);
    for (int each = 0; each < at; each++) used += snprintf(text + used, room - used, " %ld", results[each]);
    snprintf(text + used, room - used, " %s drawn %x %x %ld %.10s", moved, random[0], random[1], time.tv_nsec, uptime);
}

int main(int count, char **arguments) {
    if (count < 2) return 2;
    clones = count > 2;
    int fd = open_socket(atoi(arguments[1]));
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return 0;
}
