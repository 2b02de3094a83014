/* A UDP server of few words, and the ways in which another build of it can go wrong.
 *
 *   answers PORT NAMES
 *
 * NAMES is a file whose first line opens every answer. A datagram `quit` ends the server with exit
 * code 7, SIGINT ends it with 5. A second socket hears nothing and only sends. Each macro makes
 * another build, which behaves as the plain one up to the answer with number TURN:
 *
 *   OTHER_OUTPUT   the answer has another letter      CLOSES_EARLY   it exits
 *   EXTRA_CALL     it asks for one socket more        NEVER_QUITS    it does not end at `quit`
 *   OTHER_ORDER    it waits before it answers         CRASHES        it dies of a signal
 *   CRASHES_AT_ONCE   so it does, right after it has read the question
 *   SPINS          it computes for ever                KILLED         it dies of SIGKILL, as by the kernel
 *   WAITS_FOR_TIME it reads the clock until two seconds are over, where no time passes
 *   EXTRA_CLOCKS   it reads the clock more often, which must not matter
 *   RAW            it makes a system call by an instruction of its own that no record answers; with NAMED as well,
 *                  by a function of libc
 *   WORK=N         it counts to N before each answer, from the first
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <malloc.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#define TURN 20

static void on_interrupt(int number) {
    (void)number;
    _exit(5);
}

static int open_socket(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        perror("bind");
        exit(1);
    }
    return fd;
}

#ifdef OLD_STREAMS
/* As programs were linked before GLIBC 2.1, whose streams are smaller. */
__asm__(".symver fopen, fopen@GLIBC_2.0");
__asm__(".symver fclose, fclose@GLIBC_2.0");
#endif

/* A system call without libc. */
__attribute__((unused)) static long raw_call(long number, long first, long second) {
    long result;
#ifdef __x86_64__
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(first), "S"(second), "d"(0L) : "rcx", "r11", "memory");
#else
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(first), "c"(second), "d"(0L) : "memory");
#endif
    return result;
}

#ifdef RAW
/* How far the clock is from true: nothing that a replay could be told. */
static void ask_the_clock(void) {
    struct timex question;
    memset(&question, 0, sizeof question);
#ifdef NAMED
    adjtimex(&question);
#else
    raw_call(SYS_adjtimex, (long)&question, 0);
#endif
}
#endif

#ifdef KILLED
/* No call of libc, so that nothing but the kernel knows of it. */
static void die(void) {
    raw_call(SYS_kill, raw_call(SYS_getpid, 0, 0), 9);
}
#endif

int main(int count, char **arguments) {
    char name[64] = "", line[512], answer[640];
    FILE *names = count == 3 ? fopen(arguments[2], "r") : NULL;
    if (!names || !fgets(name, sizeof name, names)) {
        fputs("usage: answers PORT NAMES\n", stderr);
        return 2;
    }
#ifdef OLD_STREAMS
    if (malloc_usable_size(names) > 300) {
        fputs("a stream of today, which old programs take for something else\n", stderr);
        return 3;
    }
#endif
    fclose(names);
    name[strcspn(name, "\n")] = 0;
    signal(SIGINT, on_interrupt);
    int hears = open_socket(atoi(arguments[1])), sends = open_socket(0);

    for (unsigned turn = 1;; turn++) {
        struct sockaddr_in from;
        socklen_t length = sizeof from;
        ssize_t got = recvfrom(hears, line, sizeof line - 1, 0, (struct sockaddr *)&from, &length);
        if (got < 0) return 1;
        line[got] = 0;
#ifndef NEVER_QUITS
        if (strcmp(line, "quit") == 0) return 7;
#endif
#ifdef WORK
        for (volatile unsigned step = 0; step < WORK; step++) {
        }
#endif
#ifdef CRASHES_AT_ONCE
        if (turn == TURN) abort();
#endif
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        snprintf(answer, sizeof answer, "%s %u %s at %ld.%09ld", name, turn, line, (long)now.tv_sec, now.tv_nsec);
        if (turn == TURN) {
#ifdef OTHER_OUTPUT
            answer[0] ^= 1;
#endif
#ifdef EXTRA_CALL
            close(socket(AF_INET, SOCK_DGRAM, 0));
#endif
#ifdef OTHER_ORDER
            struct pollfd ready = {hears, POLLIN, 0};
            poll(&ready, 1, 1000);
#endif
#ifdef CLOSES_EARLY
            return 0;
#endif
#ifdef CRASHES
            abort();
#endif
#ifdef KILLED
            die();
#endif
#ifdef SPINS
            for (volatile unsigned long forever = 0;; forever++) {}
#endif
#ifdef WAITS_FOR_TIME
            for (struct timespec later = now; later.tv_sec < now.tv_sec + 2;) clock_gettime(CLOCK_MONOTONIC, &later);
#endif
#ifdef RAW
            ask_the_clock();
#endif
        }
#ifdef EXTRA_CLOCKS
        for (int i = 0; i < 3; i++) clock_gettime(CLOCK_MONOTONIC, &now);
#endif
        sendto(hears, answer, strlen(answer), 0, (struct sockaddr *)&from, length);
        sendto(sends, answer, strlen(answer), 0, (struct sockaddr *)&from, length);
    }
}
