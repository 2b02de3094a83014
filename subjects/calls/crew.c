/* Answers by a crew of threads that share a count without a lock: who changed it last shows in every answer.
 *
 *   crew PORT [exec]
 *
 * With `exec` the program is a crew of its own first, and then becomes the one that answers. What a
 * thread tells is what it finds between two calls, so the order of threads matters.
 */
#include "questions.h"
#include <pthread.h>
#include <semaphore.h>

#define MEMBERS 4

static sem_t asked[MEMBERS], told;
static volatile unsigned shared, turn;
static unsigned drawn[MEMBERS];

static void *work(void *argument) {
    unsigned own = (unsigned)(size_t)argument;
    for (;;) {
        while (sem_wait(&asked[own]) != 0) {
        }
        shared = shared * 31 + own;
        sem_post(&told);
        /* Between the answer and the next question: a race for whoever reads it meanwhile. */
        turn = turn * 7 + own;
    }
    return NULL;
}

static void hire(void) {
    sem_init(&told, 0, 0);
    for (size_t member = 0; member < MEMBERS; member++) {
        pthread_t thread;
        sem_init(&asked[member], 0, 0);
        must(pthread_create(&thread, NULL, work, (void *)member) == 0, "pthread_create");
        drawn[member] = turn;
    }
}

static void ask_all(void) {
    for (unsigned member = 0; member < MEMBERS; member++) sem_post(&asked[member]);
    for (unsigned member = 0; member < MEMBERS; member++) sem_wait(&told);
}

static void answer(unsigned number, char *text, size_t room) {
    ask_all();
    snprintf(text, room, "%u: %u %u, hired at %u %u %u %u", number, shared, turn, drawn[0], drawn[1], drawn[2],
             drawn[3]);
}

int main(int count, char **arguments) {
    if (count < 2) return 2;
    hire();
    if (count == 3) {
        ask_all();
        arguments[2] = NULL;
        execv("/proc/self/exe", arguments);
        must(0, "execv");
    }
    int fd = open_socket(atoi(arguments[1]));
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return 0;
}
