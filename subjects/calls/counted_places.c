/* Does the same work in four places that a recorder enters by its own ways, once an answer: in a handler of a signal, behind a jump out
 * of that handler, in a thread, and in a child.
 *
 *   counted_places PORT
 */
#include "questions.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>

/* A number of its own keeps the compiler from making one function of all. */
#define WORK(name, number)                                                             \
    __attribute__((noinline)) static void name(void) {                                 \
        volatile unsigned sum = number;                                                \
        for (unsigned round = 0; round < 1000; round++) sum += round;                  \
    }

WORK(in_handler, 11)
WORK(behind_jump, 12)
WORK(in_thread, 13)
WORK(in_child, 14)

static sigjmp_buf place;

static void handle(int signal) {
    (void)signal;
    in_handler();
    siglongjmp(place, 1);
}

static void *run(void *argument) {
    in_thread();
    return argument;
}

static void answer(unsigned number, char *text, size_t room) {
    if (sigsetjmp(place, 1) == 0) {
        kill(getpid(), SIGUSR1);
        must(0, "kill");
    }
    behind_jump();
    pthread_t thread;
    must(pthread_create(&thread, NULL, run, NULL) == 0 && pthread_join(thread, NULL) == 0, "pthread_create");
    pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0) {
        in_child();
        _exit(0);
    }
    must(waitpid(child, NULL, 0) == child, "waitpid");
    snprintf(text, room, "%u", number);
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    struct sigaction action = {.sa_handler = handle};
    must(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction");
    int fd = open_socket(atoi(arguments[1]));
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
}
