/* Two processes work for a third; a named semaphore, which is all they share, says whose turn it is. They end with it.
 *
 *   named PORT
 *
 * Answers with who did the work, and how often each of them has.
 */
#include "questions.h"
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/prctl.h>

static int orders[2], results[2];

static void work(sem_t *semaphore, int own, pid_t parent) {
    char order;
    must(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0, "prctl");
    /* It may have ended before. */
    if (getppid() != parent) _exit(0);
    for (unsigned done = 0; ; ) {
        must(sem_wait(semaphore) == 0, "sem_wait");
        ssize_t got = read(orders[0], &order, 1);
        int value = -1;
        must(sem_getvalue(semaphore, &value) == 0 && value == 0, "nobody else has it");
        must(sem_post(semaphore) == 0, "sem_post");
        if (got != 1) _exit(0);
        char text[32] = "";
        snprintf(text, sizeof text, "%c: %d, its %u", order, own, ++done);
        must(write(results[1], text, sizeof text) == sizeof text, "write");
    }
}

static void answer(unsigned number, char *text, size_t room) {
    char order = 'a' + number % 20, result[32];
    must(write(orders[1], &order, 1) == 1 && read(results[0], result, sizeof result) == sizeof result, "the work");
    snprintf(text, room, "%u %s", number, result);
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    char name[40];
    snprintf(name, sizeof name, "/prony-named-%s", arguments[1]);
    sem_t *semaphore = sem_open(name, O_CREAT | O_EXCL, 0600, 1);
    must(semaphore != SEM_FAILED && sem_unlink(name) == 0, "sem_open");
    must(pipe(orders) == 0 && pipe(results) == 0, "pipe");
    pid_t parent = getpid();
    for (int own = 0; own < 2; own++) {
        if (fork() == 0) work(semaphore, own, parent);
    }
    int fd = open_socket(atoi(arguments[1]));
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return 0;
}
