/* A server that talks to itself, for as long as it is told to: what a replay needs that is longer than memory.
 *
 *   long ROUNDS CLOCKS [THREADS [CHILDREN [OTHER]]]
 *
 * Each round is a frame: CLOCKS reads of the clock, a datagram to itself that tells their sum, and what it got. Of
 * THREADS more threads, thread N makes every Nth round of its own, under a lock, so that all are at different places;
 * the last of them spins. Of CHILDREN processes, child N makes N times fewer. In round OTHER the first process says
 * something else. Each macro makes another build, which behaves in another way that must not matter:
 *
 *   OTHER_ORDER   within a round, it sends before it asks for descriptors
 *   SLOW_CHILD    the first child computes before it begins
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Descriptors that a round asks for and gives back: calls that another build may make later. */
#define ASKED 24

static long rounds, clocks, other = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long shared;

static int open_socket(void) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0 || connect(fd, (struct sockaddr *)&address, size) != 0) {
        perror("socket");
        exit(1);
    }
    return fd;
}

static unsigned long sum_of_clocks(long count) {
    unsigned long sum = 0;
    struct timespec now;
    for (long read = 0; read < count; read++) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        sum = sum * 31 + (unsigned long)now.tv_nsec;
    }
    return sum;
}

static void ask(void) {
    int asked[ASKED];
    for (int number = 0; number < ASKED; number++) {
        asked[number] = socket(AF_INET, SOCK_DGRAM, 0);
    }
    for (int number = 0; number < ASKED; number++) {
        close(asked[number]);
    }
}

static void take_lock(void) {
    pthread_mutex_lock(&lock);
    shared = shared * 7 + 1;
    pthread_mutex_unlock(&lock);
}

static void serve(int fd, long count, int asks) {
    char text[200], answer[200];
    for (long number = 0; number < count; number++) {
        unsigned long sum = sum_of_clocks(clocks);
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        sum += number == other;
        take_lock();
        int length = snprintf(text, sizeof text, "%0*lu %lu", (int)(number % 100), sum, shared);
#ifdef OTHER_ORDER
        send(fd, text, (size_t)length, 0);
        if (asks) {
            ask();
        }
#else
        if (asks) {
            ask();
        }
        send(fd, text, (size_t)length, 0);
#endif
        poll(&ready, 1, 10000);
        ssize_t got = recv(fd, answer, sizeof answer, 0);
        if (got != length || memcmp(text, answer, (size_t)got) != 0) {
            fputs("it was told something else\n", stderr);
            exit(3);
        }
    }
}

static void *work(void *number) {
    long every = (long)number;
    int fd = open_socket();
    for (long round = 0; round < rounds; round++) {
        if (round % every == 0) {
            serve(fd, 1, 0);
        }
        take_lock();
    }
    close(fd);
    return NULL;
}

static void *spin(void *unused) {
    (void)unused;
    /* Reads of a clock wait for nobody and end no turn. */
    shared += sum_of_clocks(rounds * clocks) & 1;
    take_lock();
    return NULL;
}

int main(int count, char **arguments) {
    if (count < 3) {
        fputs("usage: long ROUNDS CLOCKS [THREADS [CHILDREN [OTHER]]]\n", stderr);
        return 2;
    }
    rounds = atol(arguments[1]);
    clocks = atol(arguments[2]);
    long threads = count > 3 ? atol(arguments[3]) : 0, children = count > 4 ? atol(arguments[4]) : 0;
    pthread_t made[64];
    for (long child = 1; child <= children; child++) {
        if (fork() == 0) {
#ifdef SLOW_CHILD
            for (volatile long at = 0; child == 1 && at < 400000000; at++) {
            }
#endif
            serve(open_socket(), rounds / child, 1);
            return 0;
        }
    }
    for (long number = 1; number <= threads && number <= 64; number++) {
        pthread_create(&made[number - 1], NULL, number == threads ? spin : work, (void *)number);
    }
    if (count > 5) {
        other = atol(arguments[5]);
    }
    serve(open_socket(), rounds, 1);
    for (long number = 0; number < threads && number < 64; number++) {
        pthread_join(made[number], NULL);
    }
    while (wait(NULL) > 0) {
    }
    return 0;
}
