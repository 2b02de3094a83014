/* Waits for its socket in two entries of one list, for input in one and for output in the other, and answers with which of
 * them it found ready, and with what a child printed through stdio into a pipe.
 *
 *   ends PORT
 */
#include "questions.h"
#include <poll.h>
#include <sys/wait.h>

static int socket_of_all;

static void answer(unsigned number, char *text, size_t room) {
    struct pollfd entries[2] = {{.fd = socket_of_all, .events = POLLIN}, {.fd = socket_of_all, .events = POLLOUT}};
    must(poll(entries, 2, -1) > 0, "poll");
    int ends[2], status;
    char line[64] = "";
    must(pipe(ends) == 0, "pipe");
    pid_t child = fork();
    if (child == 0) {
        must(dup2(ends[1], STDOUT_FILENO) == STDOUT_FILENO, "dup2");
        printf("line %u", number);
        _exit(fflush(stdout) == 0 ? 3 : 4);
    }
    close(ends[1]);
    must(read(ends[0], line, sizeof line - 1) > 0, "read");
    close(ends[0]);
    must(waitpid(child, &status, 0) == child && WIFEXITED(status), "wait");
    snprintf(text, room, "output is %s, a child ended with %d after `%s`", entries[1].revents & POLLOUT ? "ready" : "not ready",
             WEXITSTATUS(status), line);
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    socket_of_all = open_socket(atoi(arguments[1]));
    for (unsigned number = 0; answer_one(socket_of_all, number, answer); number++) {
    }
    return 0;
}
