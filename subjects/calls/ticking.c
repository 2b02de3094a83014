/* Timers that call a function on a thread, which libc starts by itself.
 *
 *   ticking PORT
 *
 * Answers with how often each has called and what is left of them, and with processor and time of the thread that answers.
 */
#include "questions.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

static atomic_int calls[3];
static timer_t often, once, later;

static void called(union sigval value) {
    atomic_fetch_add(&calls[value.sival_int], 1);
}

static timer_t made(clockid_t clock, int number) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = called};
    event.sigev_value.sival_int = number;
    timer_t timer;
    must(timer_create(clock, &event, &timer) == 0, "timer_create");
    return timer;
}

static void start(timer_t timer, long first, long every) {
    struct itimerspec when = {.it_value.tv_nsec = first * 1000000, .it_interval.tv_nsec = every * 1000000}, before;
    must(timer_settime(timer, 0, &when, &before) == 0, "timer_settime");
}

static void answer(unsigned number, char *text, size_t room) {
    struct itimerspec left[3];
    timer_t timers[] = {often, once, later};
    for (int each = 0; each < 3; each++) must(timer_gettime(timers[each], &left[each]) == 0, "timer_gettime");
    unsigned processor, node;
    clockid_t own;
    struct timespec used;
    must(getcpu(&processor, &node) == 0 && pthread_getcpuclockid(pthread_self(), &own) == 0, "getcpu");
    must(clock_gettime(own, &used) == 0, "clock_gettime");
    snprintf(text, room, "%u: on %u, %ld ns, %d %d %d calls, left %ld %ld %ld, every %ld, overrun %d", number, processor, used.tv_nsec, calls[0], calls[1], calls[2],
             left[0].it_value.tv_nsec, left[1].it_value.tv_nsec, (long)left[2].it_value.tv_sec,
             left[0].it_interval.tv_nsec / 1000000, timer_getoverrun(often));
    if (number % 5 == 0) start(once, 1, 0);
    if (number % 7 == 6) {
        must(timer_delete(later) == 0, "timer_delete");
        later = made(CLOCK_REALTIME, 2);
        start(later, 0, 0);
    }
    struct timespec wait = {.tv_nsec = 3000000};
    nanosleep(&wait, NULL);
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    int fd = open_socket(atoi(arguments[1]));
    often = made(CLOCK_MONOTONIC, 0);
    once = made(CLOCK_MONOTONIC, 1);
    later = made(CLOCK_REALTIME, 2);
    start(often, 2, 2);
    struct timespec now;
    must(clock_gettime(CLOCK_REALTIME, &now) == 0, "clock_gettime");
    struct itimerspec at = {.it_value = {.tv_sec = now.tv_sec + 1000}}, bad = {.it_value = {.tv_nsec = 1000000000}};
    must(timer_settime(later, TIMER_ABSTIME, &at, NULL) == 0, "timer_settime");
    must(timer_settime(later, 0, &bad, NULL) == -1, "a time that is none");
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return calls[0] > 0 && calls[1] > 0 && calls[2] == 0 ? 0 : 1;
}
