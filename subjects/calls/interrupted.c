/* Waits for a timer's signal with `select`, whose sets an interruption leaves as they are, and tells what came of it.
 *
 *   interrupted PORT
 */
#include "questions.h"
#include <errno.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/time.h>

static int ends[2];

static void woken(int signal) {
    (void)signal;
    if (write(ends[1], "!", 1) != 1) _exit(3);
}

static void answer(unsigned number, char *text, size_t room) {
    struct itimerval soon = {.it_value = {.tv_usec = 3000}};
    must(setitimer(ITIMER_REAL, &soon, NULL) == 0, "setitimer");
    fd_set reading;
    FD_ZERO(&reading);
    FD_SET(ends[0], &reading);
    int ready, interrupted = 0;
    while ((ready = select(ends[0] + 1, &reading, NULL, NULL, NULL)) == -1 && errno == EINTR) {
        interrupted++;
    }
    int set = FD_ISSET(ends[0], &reading) != 0;
    char byte = '-';
    if (set) must(read(ends[0], &byte, 1) == 1, "read");
    snprintf(text, room, "%u: interrupted %d, then %d ready, %d set, %c", number, interrupted, ready, set, byte);
}

int main(int count, char **arguments) {
    must(pipe(ends) == 0, "pipe");
    struct sigaction action = {.sa_handler = woken};
    must(sigaction(SIGALRM, &action, NULL) == 0, "sigaction");
    int fd = open_socket(count == 2 ? atoi(arguments[1]) : 0);
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return 0;
}
