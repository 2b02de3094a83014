/* A worker in C: measures its own work and gives prony the values.
 *
 *   cc -O1 -o worker worker.c && prony bench './worker 20000' './worker 40000'
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile uint64_t sink;

/* What is measured: put your own work here. */
static void work(long steps)
{
    uint64_t x = 88172645463325252u;
    for (long step = 0; step < steps; step++) {
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
    }
    sink = x;
}

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

static double asked(const char *name, double otherwise)
{
    const char *text = getenv(name);
    return text ? atof(text) : otherwise;
}

/* Measures `loops` loops and writes wall and CPU time of one; returns the CPU time of all. */
static double measure(FILE *out, long steps, long loops, int warmup)
{
    double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (long loop = 0; loop < loops; loop++)
        work(steps);
    wall = seconds(CLOCK_MONOTONIC) - wall;
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    const char *format = "{\"metric\": \"%s\", \"value\": %.12g, \"unit\": \"s\", \"loops\": %ld, \"warmup\": %s}\n";
    fprintf(out, format, "wall", wall / loops, loops, warmup ? "true" : "false");
    fprintf(out, format, "cpu", cpu / loops, loops, warmup ? "true" : "false");
    return cpu;
}

int main(int argc, char **argv)
{
    FILE *out = fdopen((int)asked("PRONY_FD", 1), "w");
    long steps = argc > 1 ? atol(argv[1]) : 20000, loops = (long)asked("PRONY_LOOPS", 0);
    /* The first time nobody knows yet how many loops make a value long enough: double until it is. */
    if (loops == 0)
        for (loops = 1; measure(out, steps, loops, 1) < asked("PRONY_MIN_TIME", 0.1); loops *= 2)
            ;
    else
        for (int left = (int)asked("PRONY_WARMUPS", 1); left > 0; left--)
            measure(out, steps, loops, 1);
    for (int left = (int)asked("PRONY_VALUES", 1); left > 0; left--)
        measure(out, steps, loops, 0);
    return fclose(out) == 0 ? 0 : 1;
}
