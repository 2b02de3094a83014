/* Threads that hand tokens on to each other, each on CPUs of its own.
 *
 *   placed PORT [still|sandbox]
 *
 * Two of them may run on every CPU, one on the last, and one on every CPU and on the last in turn while tokens go around. Answers
 * with how often that one was found elsewhere, and how many CPUs each may run on, as it finds itself and as the main thread finds
 * it, and whether they are the right ones. With `still` that one keeps every CPU. With `sandbox` it does too, and the kernel then
 * ends the server should any of its threads choose its CPUs.
 */
#include "questions.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { THREADS = 4, SENT = 1, LAST = 2, TOKENS = 3, HOPS = 150, SENDS = 200, REPORT = 255 };

static pthread_t threads[THREADS];
static int pipes[THREADS][2], done[2];
static cpu_set_t all, last;
static const char *mode;

static void *hand_on(void *number) {
    size_t own = (size_t)number;
    for (unsigned char token; read(pipes[own][0], &token, 1) == 1;) {
        if (token == REPORT) {
            cpu_set_t found;
            must(sched_getaffinity(0, sizeof found, &found) == 0, "sched_getaffinity");
            must(write(done[1], &found, sizeof found) == sizeof found, "write");
            continue;
        }
        for (int call = 0; call < 10; call++) must(getppid() >= 0, "getppid");
        int to = token == 0 ? done[1] : pipes[(own + 1) % THREADS][1];
        token--;
        must(write(to, &token, 1) == 1, "write");
    }
    return NULL;
}

static void send_to(size_t thread, const cpu_set_t *cpus) {
    must(pthread_setaffinity_np(threads[thread], sizeof *cpus, cpus) == 0, "pthread_setaffinity_np");
}

static cpu_set_t found_for(size_t thread) {
    cpu_set_t found;
    must(pthread_getaffinity_np(threads[thread], sizeof found, &found) == 0, "pthread_getaffinity_np");
    return found;
}

/* Returns how often the thread was found elsewhere than where it was sent. */
static int go_around(unsigned number) {
    int astray = 0;
    for (int token = 0; token < TOKENS; token++)
        must(write(pipes[token][1], &(unsigned char){HOPS}, 1) == 1, "write");
    for (int sent = 0; sent < SENDS && !mode; sent++) {
        const cpu_set_t *cpus = (number + sent) % 2 ? &all : &last;
        send_to(SENT, cpus);
        for (int call = 0; call < 200; call++) must(getppid() >= 0, "getppid");
        cpu_set_t found = found_for(SENT);
        astray += !CPU_EQUAL(&found, cpus);
    }
    for (int token = 0; token < TOKENS; token++) must(read(done[0], &(unsigned char){0}, 1) == 1, "read");
    return astray;
}

static void answer(unsigned number, char *text, size_t room) {
    int used = snprintf(text, room, "%u: %d astray", number, go_around(number));
    for (size_t thread = 0; thread < THREADS && (!mode || strcmp(mode, "sandbox") != 0); thread++) {
        cpu_set_t own, seen = found_for(thread);
        must(write(pipes[thread][1], &(unsigned char){REPORT}, 1) == 1, "write");
        must(read(done[0], &own, sizeof own) == sizeof own, "read");
        int confined = thread == LAST || (thread == SENT && !mode && (number + SENDS - 1) % 2 == 0);
        const cpu_set_t *right = confined ? &last : &all;
        used += snprintf(text + used, room - used, " %d %d %s", CPU_COUNT(&own), CPU_COUNT(&seen),
                         CPU_EQUAL(&own, right) && CPU_EQUAL(&seen, right) ? "right" : "wrong");
    }
}

static void forbid(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_setaffinity, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
    must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0, "seccomp");
}

int main(int count, char **arguments) {
    if (count < 2) return 2;
    mode = arguments[2];
    must(sched_getaffinity(0, sizeof all, &all) == 0, "sched_getaffinity");
    int cpu = CPU_SETSIZE - 1;
    while (!CPU_ISSET(cpu, &all)) cpu--;
    CPU_SET(cpu, &last);
    must(pipe(done) == 0, "pipe");
    for (size_t thread = 0; thread < THREADS; thread++) {
        must(pipe(pipes[thread]) == 0, "pipe");
        must(pthread_create(&threads[thread], NULL, hand_on, (void *)thread) == 0, "pthread_create");
    }
    send_to(LAST, &last);
    go_around(0);
    if (mode && strcmp(mode, "sandbox") == 0) forbid();
    int fd = open_socket(atoi(arguments[1]));
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return 0;
}
