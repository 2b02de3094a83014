/* Answers with what a thread makes that is sent a function and its argument through a pipe, as addresses.
 *
 *   own_words PORT
 *
 * Built with -falign-functions=1024, the same functions lie elsewhere.
 */
#include "questions.h"
#include <pthread.h>

struct job {
    unsigned (*function)(const unsigned *);
    const unsigned *argument;
};

static int jobs[2], results[2];

__attribute__((noinline)) static unsigned doubled(const unsigned *number) { return 2 * *number; }

__attribute__((noinline)) static unsigned squared(const unsigned *number) { return *number * *number; }

static void *work(void *unused) {
    (void)unused;
    struct job job;
    while (read(jobs[0], &job, sizeof job) == sizeof job) {
        unsigned result = job.function(job.argument);
        must(write(results[1], &result, sizeof result) == sizeof result, "write");
    }
    return NULL;
}

static void answer(unsigned number, char *text, size_t room) {
    unsigned *argument = malloc(sizeof *argument), result;
    *argument = number;
    struct job job = {number % 2 ? squared : doubled, argument};
    must(write(jobs[1], &job, sizeof job) == sizeof job, "write");
    must(read(results[0], &result, sizeof result) == sizeof result, "read");
    free(argument);
    snprintf(text, room, "%u: %u", number, result);
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    must(pipe(jobs) == 0 && pipe(results) == 0, "pipe");
    pthread_t thread;
    must(pthread_create(&thread, NULL, work, NULL) == 0, "pthread_create");
    int fd = open_socket(atoi(arguments[1]));
    for (unsigned number = 0;; number++) {
        if (!answer_one(fd, number, answer)) return 0;
    }
}
