/* Answers with what three children added under a robust mutex that they share; some end while they hold it.
 *
 *   robust PORT
 */
#include "questions.h"
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define CHILDREN 3

static struct {
    pthread_mutex_t mutex;
    int sum, died;
} *shared;

static int take(void) {
    int error = pthread_mutex_lock(&shared->mutex);
    must(error == 0 || error == EOWNERDEAD, "pthread_mutex_lock");
    if (error == EOWNERDEAD) {
        shared->died++;
        must(pthread_mutex_consistent(&shared->mutex) == 0, "pthread_mutex_consistent");
    }
    return error == EOWNERDEAD;
}

static void answer(unsigned number, char *text, size_t room) {
    pid_t children[CHILDREN];
    int status[CHILDREN];
    for (unsigned child = 0; child < CHILDREN; child++) {
        children[child] = fork();
        if (children[child] != 0) continue;
        int code = take();
        shared->sum += (int)child + 1;
        if ((number + child) % 3 == 0) _exit(3);
        pthread_mutex_unlock(&shared->mutex);
        _exit(code);
    }
    for (int child = 0; child < CHILDREN; child++) {
        must(waitpid(children[child], &status[child], 0) == children[child], "waitpid");
    }
    int own = take();
    snprintf(text, room, "%u: %d, %d died, own %d, exit codes %d %d %d", number, shared->sum, shared->died, own,
             WEXITSTATUS(status[0]), WEXITSTATUS(status[1]), WEXITSTATUS(status[2]));
    pthread_mutex_unlock(&shared->mutex);
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t attributes;
    must(shared != MAP_FAILED && pthread_mutexattr_init(&attributes) == 0, "mmap");
    must(pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0, "pthread_mutexattr_setpshared");
    must(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0, "pthread_mutexattr_setrobust");
    must(pthread_mutex_init(&shared->mutex, &attributes) == 0, "pthread_mutex_init");
    int fd = open_socket(atoi(arguments[1]));
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return 0;
}
