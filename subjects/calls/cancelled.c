/* Answers beside a thread that waits for a socket nobody writes to, and is cancelled there.
 *
 *   cancelled PORT
 */
#include "questions.h"
#include <poll.h>
#include <pthread.h>

static int quiet[2];
static int cleaned;

static void clean(void *argument) {
    cleaned += *(int *)argument;
}

static void *wait_for_ever(void *argument) {
    struct pollfd silence = {.fd = quiet[0], .events = POLLIN};
    pthread_cleanup_push(clean, argument);
    for (;;) poll(&silence, 1, -1);
    pthread_cleanup_pop(0);
    return NULL;
}

static void answer(unsigned number, char *text, size_t room) {
    pthread_t thread;
    void *ending = NULL;
    int value = (int)number;
    must(pthread_create(&thread, NULL, wait_for_ever, &value) == 0, "pthread_create");
    must(pthread_cancel(thread) == 0 && pthread_join(thread, &ending) == 0, "pthread_cancel");
    snprintf(text, room, "%u: %d, cleaned %d", number, ending == PTHREAD_CANCELED, cleaned);
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    int fd = open_socket(atoi(arguments[1]));
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, quiet) == 0, "socketpair");
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return 0;
}
