/* Answers questions. At the end it waits for a child that takes long over its last calculation, while a thread waits for a condition that is set
 * after it.
 *
 *   slow_child PORT
 */
#include "questions.h"
#include <pthread.h>
#include <sys/wait.h>

/* More than half a second of calculation. */
#define STEPS 600000000

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int stopped, wakes;

static void *wait_for_stop(void *unused) {
    pthread_mutex_lock(&mutex);
    while (!stopped) {
        pthread_cond_wait(&changed, &mutex);
        wakes++;
    }
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void answer(unsigned number, char *text, size_t room) {
    snprintf(text, room, "%u", number);
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    int fd = open_socket(atoi(arguments[1]));
    pthread_t waiting;
    must(pthread_create(&waiting, NULL, wait_for_stop, NULL) == 0, "pthread_create");
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    pid_t child = fork();
    if (child == 0) {
        for (volatile unsigned step = 0; step < STEPS; step++) {
        }
        _exit(0);
    }
    must(waitpid(child, NULL, 0) == child, "waitpid");
    pthread_mutex_lock(&mutex);
    stopped = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    pthread_join(waiting, NULL);
    printf("woken %d times\n", wakes);
    return 0;
}
