/* An event for a descriptor that was closed, opened and added again after the kernel handed the event out.
 *
 *   stale PORT
 *
 * A thread waits on an epoll instance. The main thread lets it leave the kernel with an event and, before it has seen that
 * event, closes the descriptor and adds another one with the same number and other data. The event has the data that was
 * attached to the closed one. Every answer holds the data of such an event, so the main thread tries until there is one.
 */
#include "questions.h"
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>

#define MOST_TRIES 20000

static int epoll;
static volatile unsigned seen;

static void *work(void *argument) {
    for (;;) {
        struct epoll_event event;
        if (epoll_wait(epoll, &event, 1, -1) == 1) seen = event.data.u32;
    }
    return argument;
}

static int attach_timer(unsigned data) {
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u32 = data};
    must(fd >= 0, "timerfd_create");
    /* First as if it were known, as some event loops do. */
    must(epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &(struct epoll_event){.data.u32 = 0}) == -1, "EPOLL_CTL_MOD");
    must(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0, "EPOLL_CTL_ADD");
    must(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &(struct epoll_event){.data.u32 = 0}) == -1, "EPOLL_CTL_ADD");
    return fd;
}

static long nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

static void answer(unsigned number, char *text, size_t room) {
    struct timespec pause = {0, 300000};
    struct itimerspec soon = {.it_value = {0, 30000}};
    unsigned stale = 0, tries = 0, data = 0;
    while (!stale && ++tries < MOST_TRIES) {
        data = (number << 16) + 2 * tries;
        int fd = attach_timer(data);
        nanosleep(&pause, NULL);
        timerfd_settime(fd, 0, &soon, NULL);
        /* Computes until the other thread has left the kernel. */
        for (long from = nanoseconds(); nanoseconds() - from < 100000;) {
        }
        close(fd);
        int again = attach_timer(data + 1);
        must(again == fd, "the same number");
        /* No call since: the other thread has seen the event by now, or sees it when the number is another one's. */
        int before = seen == data;
        nanosleep(&pause, NULL);
        stale = !before && seen == data;
        must(seen != data + 1, "an event that did not happen");
        close(again);
    }
    snprintf(text, room, "%u: %s event with %u", number, stale ? "a stale" : "no stale", data);
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    pthread_t thread;
    int fd = open_socket(atoi(arguments[1]));
    epoll = epoll_create1(EPOLL_CLOEXEC);
    must(pthread_create(&thread, NULL, work, NULL) == 0, "pthread_create");
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return 0;
}
