/* A UDP server that mostly wakes up for nothing, as game servers do.
 *
 *   waking PORT
 *
 * Its loop looks at the clock four times a millisecond apart before it waits for a question, so that one frame in five
 * answers. A datagram `quit` ends it. Macros make other builds:
 *
 *   WORK=N         it counts to N in `think` before each answer
 *   OTHER_OUTPUT   answer number TURN has another letter
 */
#include "questions.h"
#include <sys/select.h>
#include <time.h>

#define TURN 20
#ifndef WORK
#define WORK 400000
#endif

static volatile unsigned counted;

__attribute__((noinline)) static void think(void) {
    for (counted = 0; counted < WORK; counted++) {
    }
}

/* The same in every build, and no function of any other one, or the compiler would make one of both. */
__attribute__((noinline)) static void write_down(void) {
    for (counted = 0; counted < 300000; counted++) {
    }
}

static void wake_up(void) {
    struct timespec now, wait = {.tv_nsec = 1000000};
    must(clock_gettime(CLOCK_MONOTONIC, &now) == 0, "clock_gettime");
    nanosleep(&wait, NULL);
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    int fd = open_socket(atoi(arguments[1]));
    for (unsigned turn = 1;; turn++) {
        for (int idle = 0; idle < 4; idle++) wake_up();
        struct timespec now;
        must(clock_gettime(CLOCK_MONOTONIC, &now) == 0, "clock_gettime");
        fd_set ready;
        FD_ZERO(&ready);
        FD_SET(fd, &ready);
        struct timeval long_time = {.tv_sec = 3600};
        must(select(fd + 1, &ready, NULL, NULL, &long_time) == 1, "select");
        char question[512], answer[600];
        struct sockaddr_in from;
        socklen_t length = sizeof from;
        ssize_t got = recvfrom(fd, question, sizeof question - 1, 0, (struct sockaddr *)&from, &length);
        if (got < 0) return 1;
        question[got] = 0;
        if (strcmp(question, "quit") == 0) return 7;
        think();
        write_down();
        snprintf(answer, sizeof answer, "answer %u to %s", turn, question);
#ifdef OTHER_OUTPUT
        if (turn == TURN) answer[0] ^= 1;
#endif
        for (int twice = 0; twice < 2; twice++) {
            sendto(fd, answer, strlen(answer), 0, (struct sockaddr *)&from, length);
        }
    }
}
