/* Interrupts a thread that waits for a condition by a signal, and takes the mutex of that condition before and after.
 *
 *   conditions PORT
 */
#include "questions.h"
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t asked = PTHREAD_COND_INITIALIZER;
static sem_t waits, handled, answered;
static unsigned question_number, result, signals;
static int is_asked;

static void on_signal(int number) {
    (void)number;
    signals++;
    sem_post(&handled);
}

static void wait_for(sem_t *semaphore) {
    while (sem_wait(semaphore) != 0) must(errno == EINTR, "sem_wait");
}

static void *work(void *argument) {
    pthread_mutex_lock(&mutex);
    for (;;) {
        struct timespec end;
        must(clock_gettime(CLOCK_REALTIME, &end) == 0, "clock_gettime");
        end.tv_sec += 600;
        sem_post(&waits);
        while (!is_asked) {
            if (question_number % 2) pthread_cond_wait(&asked, &mutex);
            else pthread_cond_timedwait(&asked, &mutex, &end);
        }
        is_asked = 0;
        result = 3 * question_number + signals;
        sem_post(&answered);
    }
    return argument;
}

static pthread_t worker;

static void answer(unsigned number, char *text, size_t room) {
    wait_for(&waits);
    /* It has the mutex until it waits. */
    pthread_mutex_lock(&mutex);
    question_number = number;
    pthread_mutex_unlock(&mutex);
    must(pthread_kill(worker, SIGUSR1) == 0, "pthread_kill");
    wait_for(&handled);
    pthread_mutex_lock(&mutex);
    is_asked = 1;
    pthread_cond_signal(&asked);
    pthread_mutex_unlock(&mutex);
    wait_for(&answered);
    snprintf(text, room, "%u: %u after %u signals", number, result, signals);
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    must(sem_init(&waits, 0, 0) == 0 && sem_init(&handled, 0, 0) == 0 && sem_init(&answered, 0, 0) == 0, "sem_init");
    struct sigaction action = {.sa_handler = on_signal};
    must(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction");
    int fd = open_socket(atoi(arguments[1]));
    must(pthread_create(&worker, NULL, work, NULL) == 0, "pthread_create");
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return 0;
}
