// What a hook costs: the same call made through the name that a preloaded library stands in front
// of, and through the address inside libc, in turns, within one process.
//
// An argument sets the number of blocks; `spin N` makes N small calls and ends.
// Last the time stamp of the processor: by a jump, and by a signal.
// Run plainly, both are the same function and the difference is the error of the method.
// Prints one line a call: name, then median nanoseconds and the quartiles of both ways, then n.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { MOST_BLOCKS = 2000, SEND_BYTES = 1200 };

static int blocks = MOST_BLOCKS;

typedef int (*clock_function)(clockid_t, struct timespec *);
typedef ssize_t (*send_function)(int, const void *, size_t, int, const struct sockaddr *, socklen_t);

static clock_function libc_clock;
static send_function libc_send;
static int sender;
static struct sockaddr_in target;
static char payload[SEND_BYTES];

static double now_ns(void) {
    struct timespec time;
    libc_clock(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static double clock_block(clock_function function, int calls) {
    struct timespec time;
    double start = now_ns();
    for (int i = 0; i < calls; i++) function(CLOCK_MONOTONIC, &time);
    return (now_ns() - start) / calls;
}

static double send_block(send_function function, int calls) {
    double start = now_ns();
    for (int i = 0; i < calls; i++) function(sender, payload, SEND_BYTES, 0, (void *)&target, sizeof target);
    return (now_ns() - start) / calls;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(const char *name, double *hooked, double *plain, double *difference) {
    double *all[] = {hooked, plain, difference};
    printf("%s", name);
    for (int i = 0; i < 3; i++) {
        qsort(all[i], blocks, sizeof(double), compare);
        printf(" %.1f [%.1f %.1f]", all[i][blocks / 2], all[i][blocks / 4], all[i][blocks * 3 / 4]);
    }
    printf(" n=%d\n", blocks);
    fflush(stdout);
}

#ifdef __x86_64__
// What is asked of the processor has no other way: a recorded run is held against a plain one.
static double stamp_block(int with_number, int calls) {
    unsigned long sum = 0;
    double start = now_ns();
    for (int i = 0; i < calls; i++) {
        unsigned low, high, number;
        if (with_number) __asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(number));
        else __asm__ volatile("rdtsc\n shl $32, %%rdx\n or %%rdx, %%rax" : "=a"(low), "=d"(high));
        sum += low;
    }
    return (now_ns() - start) / calls + (sum == 1);
}

static void report_stamps(const char *name, int with_number, int calls) {
    static double each[MOST_BLOCKS];
    for (int i = -blocks; i < blocks; i++) each[i < 0 ? 0 : i] = stamp_block(with_number, calls);
    qsort(each, blocks, sizeof(double), compare);
    printf("%s %.1f [%.1f %.1f] n=%d\n", name, each[blocks / 2], each[blocks / 4], each[blocks * 3 / 4], blocks);
}
#endif

// Small calls as a server's loop makes them: the clock, and a look at a socket that has nothing.
// What was seen is sent at the end, so that a replay has something to compare.
static int spin(long calls) {
    int ends[2];
    struct timespec time;
    char byte;
    socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, ends);
    for (long i = 0; i < calls / 10; i++) {
        for (int j = 0; j < 9; j++) clock_gettime(CLOCK_MONOTONIC, &time);
        recv(ends[0], &byte, 1, 0);
    }
    return send(ends[1], &time, sizeof time, 0) == sizeof time ? 0 : 1;
}

int main(int count, char **arguments) {
    static double hooked[MOST_BLOCKS], plain[MOST_BLOCKS], difference[MOST_BLOCKS];
    if (count == 3) return spin(atol(arguments[2]));
    if (count == 2 && atoi(arguments[1]) < MOST_BLOCKS) blocks = atoi(arguments[1]);
    void *libc = dlopen("libc.so.6", RTLD_LAZY);
    libc_clock = (clock_function)dlsym(libc, "clock_gettime");
    libc_send = (send_function)dlsym(libc, "sendto");

    // The receiver's buffer is full after a moment; from then on a send ends where the datagram is
    // dropped, which varies less than a delivery.
    int receiver = socket(AF_INET, SOCK_DGRAM, 0);
    socklen_t length = sizeof target;
    target.sin_family = AF_INET;
    target.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(receiver, (void *)&target, sizeof target);
    getsockname(receiver, (void *)&target, &length);
    sender = socket(AF_INET, SOCK_DGRAM, 0);

    // One turn unmeasured, so that no page of the recorder's is touched for the first time.
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < blocks; i++) {
            // Which way goes first alternates, so that neither always finds the cache of the other.
            if (i & 1) {
                hooked[i] = clock_block(clock_gettime, 100);
                plain[i] = clock_block(libc_clock, 100);
            } else {
                plain[i] = clock_block(libc_clock, 100);
                hooked[i] = clock_block(clock_gettime, 100);
            }
            difference[i] = hooked[i] - plain[i];
        }
        if (turn) report("clock_gettime", hooked, plain, difference);
        for (int i = 0; i < blocks; i++) {
            if (i & 1) {
                hooked[i] = send_block(sendto, 10);
                plain[i] = send_block(libc_send, 10);
            } else {
                plain[i] = send_block(libc_send, 10);
                hooked[i] = send_block(sendto, 10);
            }
            difference[i] = hooked[i] - plain[i];
        }
        if (turn) report("sendto_1200", hooked, plain, difference);
    }
#ifdef __x86_64__
    report_stamps("rdtsc", 0, 100);
    report_stamps("rdtscp", 1, 10);
#endif
    return 0;
}
