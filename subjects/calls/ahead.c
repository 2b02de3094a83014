/* A thread that comes to a lock while the other has the turn, so that a replay makes it wait there.
 *
 *   ahead PORT
 *
 * For each of the first questions the helper is woken, and computes until the main thread gives a sign. By then a recorder has let the main
 * thread go on beside it. Behind the sign the main thread computes in turn, and makes no call, while the helper takes a lock.
 */
#include "questions.h"
#include <pthread.h>

/* Questions with a job for the helper. */
#define JOBS 4

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, result = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t woken = PTHREAD_COND_INITIALIZER;
static unsigned jobs, done;
static volatile unsigned signs;

static void *help(void *unused) {
    (void)unused;
    pthread_mutex_lock(&mutex);
    for (unsigned job = 0;; job++) {
        while (jobs <= job) pthread_cond_wait(&woken, &mutex);
        pthread_mutex_unlock(&mutex);
        while (signs <= job) {
        }
        pthread_mutex_lock(&result);
        done++;
        pthread_mutex_unlock(&result);
        pthread_mutex_lock(&mutex);
    }
    return NULL;
}

static void answer(unsigned number, char *text, size_t room) {
    if (number >= JOBS) {
        snprintf(text, room, "%u", number);
        return;
    }
    pthread_mutex_lock(&mutex);
    jobs++;
    pthread_cond_signal(&woken);
    pthread_mutex_unlock(&mutex);
    must(usleep(1000) == 0, "usleep");
    signs++;
    for (volatile int step = 0; step < 40000000; step++) {
    }
    pthread_mutex_lock(&result);
    snprintf(text, room, "%u: %u done", number, done);
    pthread_mutex_unlock(&result);
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    int fd = open_socket(atoi(arguments[1]));
    pthread_t helper;
    must(pthread_create(&helper, NULL, help, NULL) == 0, "pthread_create");
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
}
