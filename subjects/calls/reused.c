/* Answers with children, threads and timers that each get the numbers of those before, as far as the kernel lets a program choose.
 *
 *   reused PORT
 */
#include "questions.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

static pid_t first;

/* Another build asks more often. */
static pid_t own_number(void) {
#ifdef OTHER_BUILD
    if (getpid() != getpid()) return -1;
#endif
    return getpid();
}
static volatile sig_atomic_t signals;

static void on_signal(int number) {
    (void)number;
    signals++;
}

/* The next process or thread gets the number of the first child. It takes a privilege; without, numbers go on. */
static void use_again(void) {
    int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY);
    if (fd < 0) return;
    if (first && dprintf(fd, "%d", first - 1) < 0) errno = 0;
    close(fd);
}

static void *number_of_thread(void *number) {
    *(pid_t *)number = gettid();
    return NULL;
}

static int expirations(void) {
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec soon = {.it_value = {.tv_nsec = 1000000}};
    struct timespec pause = {.tv_nsec = 5000000};
    timer_t timer;
    int before = signals;
    must(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "timer_create");
    must(timer_settime(timer, 0, &soon, NULL) == 0, "timer_settime");
    while (signals == before) nanosleep(&pause, NULL);
    int over = timer_getoverrun(timer);
    must(timer_delete(timer) == 0, "timer_delete");
    return over;
}

static void answer(unsigned number, char *text, size_t room) {
    int ends[2], status;
    pid_t own = 0, thread_number = 0;
    must(pipe(ends) == 0, "pipe");
    use_again();
    pid_t child = fork();
    if (child == 0) {
        if (number % 3 == 1) pause();
        own = getpid();
        must(write(ends[1], &own, sizeof own) == sizeof own, "write");
        _exit((int)number % 7);
    }
    if (first == 0) first = child;
    if (number % 3 == 1) must(kill(child, SIGTERM) == 0, "kill");
    else must(read(ends[0], &own, sizeof own) == sizeof own, "read");
    must(waitpid(number % 2 ? child : -1, &status, 0) == child, "waitpid");
    close(ends[0]), close(ends[1]);
    use_again();
    pthread_t thread;
    must(pthread_create(&thread, NULL, number_of_thread, &thread_number) == 0, "pthread_create");
    must(pthread_join(thread, NULL) == 0, "pthread_join");
    snprintf(text, room, "%u of %d: child %d (%d, %x), thread %d, %d more", number, own_number(), child, own, status,
             thread_number, expirations());
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    struct sigaction action = {.sa_handler = on_signal};
    must(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction");
    int fd = open_socket(atoi(arguments[1]));
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return 0;
}
