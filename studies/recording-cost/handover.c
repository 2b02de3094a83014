/* Two threads wake each other by a futex, in alternation: CPU time of both for one wake-up and the sleep behind it, in microseconds;
   first with both on one CPU, then each on a CPU of its own. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 10000 };

static _Atomic uint32_t turn;
static int cpus[2];

static void *take_turns(void *own)
{
    uint32_t mine = (uint32_t)(uintptr_t)own;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpus[mine], &set);
    sched_setaffinity(0, sizeof set, &set);
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t now; (now = turn) % 2 != mine;)
            syscall(SYS_futex, &turn, FUTEX_WAIT, now, NULL);
        turn++;
        syscall(SYS_futex, &turn, FUTEX_WAKE, 1);
    }
    return NULL;
}

static double cpu_us(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 + used.ru_utime.tv_usec + used.ru_stime.tv_usec;
}

static double price_us(int first, int second)
{
    pthread_t other;
    double before = cpu_us();
    cpus[0] = first;
    cpus[1] = second;
    pthread_create(&other, NULL, take_turns, (void *)1);
    take_turns((void *)0);
    pthread_join(other, NULL);
    return (cpu_us() - before) / (2.0 * ROUNDS);
}

int main(void)
{
    cpu_set_t set;
    int allowed[2] = {0, 0};
    sched_getaffinity(0, sizeof set, &set);
    for (int cpu = 0, found = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
        if (CPU_ISSET(cpu, &set))
            allowed[found++] = cpu;
    printf("%.3f\n", price_us(allowed[0], allowed[0]));
    printf("%.3f\n", price_us(allowed[0], allowed[1]));
}
