/* Two threads wake each other by a futex, in alternation: CPU time of both for one wake-up and the sleep behind it, in microseconds. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 50000 };

static _Atomic uint32_t turn;

static void *take_turns(void *own)
{
    uint32_t mine = (uint32_t)(uintptr_t)own;
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

int main(void)
{
    pthread_t other;
    double before = cpu_us();
    pthread_create(&other, NULL, take_turns, (void *)1);
    take_turns((void *)0);
    pthread_join(other, NULL);
    printf("%.3f\n", (cpu_us() - before) / (2.0 * ROUNDS));
}
