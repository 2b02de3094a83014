/* What a zone costs beside two reads of its timer, in turns; see cost.rs. */
#define PRONY_ZONES_IMPLEMENTATION
#include "prony_zones.h"

enum { ROUNDS = 400, EACH = 10000 };

static volatile uint64_t sink;

static __attribute__((noinline)) void timer_reads(void) {
    for (int at = 0; at < EACH; at++) {
        uint64_t began = prony_zone_ticks();
        sink = prony_zone_ticks() - began;
    }
}

static __attribute__((noinline)) void zones(void) {
    for (int at = 0; at < EACH; at++) {
        PRONY_ZONE("nothing");
        __asm__ volatile("" : : "r"(at));
    }
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void) {
    static double times[2][ROUNDS];
    static void (*const work[2])(void) = {timer_reads, zones};
    static const char *const names[2] = {"two timer reads", "one zone"};
    for (int round = 0; round < ROUNDS; round++) {
        for (int which = 0; which < 2; which++) {
            uint64_t began = prony_zone_ns();
            work[which]();
            times[which][round] = (double)(prony_zone_ns() - began) / EACH;
        }
    }
    for (int which = 0; which < 2; which++) {
        qsort(times[which], ROUNDS, sizeof(double), ascending);
        printf("%s: %.1f ns [%.1f %.1f], n = %d rounds of %d\n", names[which], times[which][ROUNDS / 2],
               times[which][ROUNDS / 4], times[which][3 * ROUNDS / 4], ROUNDS, EACH);
    }
    printf("1.1 x two timer reads + 5 ns: %.1f ns\n", 1.1 * times[0][ROUNDS / 2] + 5);
    return 0;
}
