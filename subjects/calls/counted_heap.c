/* Answers with a sum that a thread makes, a thread for each question.
 *
 *   counted_heap PORT
 *
 * A thread that ends gives its pieces back to the heap, in which the next question searches for some: what that search takes depends on
 * which of them are back.
 */
#include "questions.h"
#include <malloc.h>
#include <pthread.h>

enum { PIECES = 64 };

/* Frees pieces of many sizes, which stay the thread's until it ends. */
static void use_heap(unsigned seed) {
    char *pieces[PIECES];
    for (unsigned at = 0; at < PIECES; at++) {
        seed = seed * 1103515245u + 12345u;
        pieces[at] = malloc(24 + seed / 65536 % 1000);
    }
    for (unsigned at = 0; at < PIECES; at++) free(pieces[at]);
}

static unsigned sum;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned done;

static void *work(void *number) {
    use_heap((unsigned)(size_t)number);
    pthread_mutex_lock(&mutex);
    sum += (unsigned)(size_t)number;
    done++;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void answer(unsigned number, char *text, size_t room) {
    pthread_t thread;
    must(pthread_create(&thread, NULL, work, (void *)(size_t)number) == 0, "pthread_create");
    pthread_detach(thread);
    pthread_mutex_lock(&mutex);
    while (done <= number) pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
    use_heap(~number);
    malloc_trim(0);
    snprintf(text, room, "%u: %u", number, sum);
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    mallopt(M_ARENA_MAX, 1);
    int fd = open_socket(atoi(arguments[1]));
    for (unsigned number = 0;; number++) {
        if (!answer_one(fd, number, answer)) return 0;
    }
}
