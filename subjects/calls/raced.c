/* Answers with a number that two threads count up without a lock, and says goodbye to the last client when it is to end.
 *
 *   raced PORT
 */
#include "questions.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>

static int fd;
static unsigned counted;
static struct sockaddr_in from;

static void *count_one(void *nothing) {
    counted++;
    return nothing;
}

static void answer(unsigned number, char *text, size_t room) {
    pthread_t other;
    must(pthread_create(&other, NULL, count_one, NULL) == 0, "pthread_create");
    count_one(NULL);
    must(pthread_join(other, NULL) == 0, "pthread_join");
    snprintf(text, room, "%u: %u", number, counted);
}

static void end(int signal) {
    (void)signal;
    sendto(fd, "goodbye", 7, 0, (struct sockaddr *)&from, sizeof from);
    _exit(0);
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    fd = open_socket(atoi(arguments[1]));
    signal(SIGINT, end);
    signal(SIGTERM, end);
    for (unsigned number = 0;; number++) {
        char text[64];
        struct pollfd waits = {.fd = fd, .events = POLLIN};
        /* A handler of a signal runs here; ThreadSanitizer would keep it until recvfrom(2) has returned. */
        poll(&waits, 1, -1);
        if (!question(fd, &from)) return 0;
        answer(number, text, sizeof text);
        must(sendto(fd, text, strlen(text), 0, (struct sockaddr *)&from, sizeof from) >= 0, "sendto");
    }
}
