/* Work of a known amount, and the truth about what it cost.
 *
 *   burn [-t THREADS] [-s MILLISECONDS] [-c CHILDREN] [-m MEGABYTES] [-e CODE] [-v] STEPS
 *
 * Does STEPS steps of integer arithmetic in each of THREADS threads (1), sleeps for MILLISECONDS (0), then does as
 * many in each of CHILDREN children (0) one after another. With -m each step reads and writes somewhere in so much memory. -v prints the CPU
 * time of this process and of its children as the process itself knows them, in nanoseconds and
 * microseconds. -e ends with that code after a line on standard error.
 *
 * Compile with -O1: what is measured must not depend on what an optimiser thinks of the loop.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t steps;
static size_t words;
static uint64_t *memory;
static volatile uint64_t sink;

static void *work(void *unused)
{
    (void)unused;
    /* xorshift64* (Vigna 2016): each step needs the one before. */
    uint64_t x = 88172645463325252u;
    for (uint64_t step = 0; step < steps; step++) {
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        if (words)
            memory[(x * 2685821657736338717u) % words] += x;
    }
    sink = x;
    return NULL;
}

int main(int argc, char **argv)
{
    int threads = 1, children = 0, code = 0, verbose = 0, sleep_ms = 0, flag;
    while ((flag = getopt(argc, argv, "t:s:c:m:e:v")) != -1) {
        switch (flag) {
        case 't': threads = atoi(optarg); break;
        case 's': sleep_ms = atoi(optarg); break;
        case 'c': children = atoi(optarg); break;
        case 'm': words = strtoull(optarg, NULL, 10) * (1 << 20) / sizeof *memory; break;
        case 'e': code = atoi(optarg); break;
        case 'v': verbose = 1; break;
        default: return 2;
        }
    }
    if (optind + 1 != argc || threads < 1 || threads > 64) {
        fprintf(stderr, "usage: burn [-t THREADS] [-s MILLISECONDS] [-c CHILDREN] [-m MEGABYTES] [-e CODE] [-v] STEPS\n");
        return 2;
    }
    steps = strtoull(argv[optind], NULL, 10);
    if (words && !(memory = calloc(words, sizeof *memory)))
        return 3;

    pthread_t others[64];
    for (int i = 1; i < threads; i++)
        if (pthread_create(&others[i], NULL, work, NULL))
            return 3;
    work(NULL);
    for (int i = 1; i < threads; i++)
        pthread_join(others[i], NULL);
    if (sleep_ms)
        nanosleep(&(struct timespec){sleep_ms / 1000, sleep_ms % 1000 * 1000000L}, NULL);
    for (int i = 0; i < children; i++) {
        pid_t child = fork();
        if (child == 0) {
            work(NULL);
            _exit(0);
        }
        if (child == -1 || waitpid(child, NULL, 0) == -1)
            return 3;
    }
    if (verbose) {
        struct timespec own;
        struct rusage waited;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
        getrusage(RUSAGE_CHILDREN, &waited);
        printf("%lld %lld\n", own.tv_sec * 1000000000LL + own.tv_nsec,
               (waited.ru_utime.tv_sec + waited.ru_stime.tv_sec) * 1000000LL + waited.ru_utime.tv_usec +
                   waited.ru_stime.tv_usec);
    }
    if (code)
        fprintf(stderr, "burn: asked to end with %d\n", code);
    return code;
}
