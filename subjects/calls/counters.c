/* Three processes share a socket and a file, in which they count while they hold a lock file: what one of them answers depends
 * on what the others did before.
 *
 *   counters PORT FILE
 */
#include "questions.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <time.h>

enum { WORKERS = 3 };

struct counted {
    unsigned turns, mixed, over;
};

static const char *file;
static char lock[300];
static unsigned own;

static void locked(void) {
    int fd;
    while ((fd = open(lock, O_WRONLY | O_CREAT | O_EXCL, 0600)) < 0) {
        must(errno == EEXIST, "the lock file");
        poll(NULL, 0, 1);
    }
    close(fd);
}

/* Reads, takes its time, and writes. */
static struct counted counted(unsigned with, unsigned over) {
    struct counted all = {0};
    struct timespec now;
    locked();
    /* Opened anew each time, as by one that is started for each request. */
    int fd = open(file, O_RDWR | O_CREAT, 0600);
    must(fd >= 0, "the file");
    must(pread(fd, &all, sizeof all, 0) >= 0, "read");
    clock_gettime(CLOCK_MONOTONIC, &now);
    all.turns++;
    all.over |= over;
    all.mixed = (all.mixed ^ with ^ (unsigned)now.tv_nsec) * 2654435761u + own;
    must(pwrite(fd, &all, sizeof all, 0) == sizeof all, "write");
    close(fd);
    unlink(lock);
    return all;
}

static void answer(unsigned number, char *text, size_t room) {
    struct counted all = counted(number, 0);
    snprintf(text, room, "process %u, its question %u: turns %u, mixed %u", own, number, all.turns, all.mixed);
}

static void work(int fd) {
    for (unsigned number = 0;;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (poll(&ready, 1, 5) == 1) {
            /* One of them takes it, and the others find none. */
            struct sockaddr_in from;
            socklen_t length = sizeof from;
            char line[512], text[512];
            ssize_t got = recvfrom(fd, line, sizeof line - 1, MSG_DONTWAIT, (struct sockaddr *)&from, &length);
            if (got >= 0) {
                line[got] = 0;
                if (strcmp(line, "quit") == 0) {
                    counted(0, 1);
                    return;
                }
                answer(number++, text, sizeof text);
                must(sendto(fd, text, strlen(text), 0, (struct sockaddr *)&from, length) >= 0, "sendto");
            }
        }
        if (counted(number, 0).over) return;
    }
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    file = arguments[2];
    snprintf(lock, sizeof lock, "%s.lock", file);
    unlink(file);
    unlink(lock);
    int fd = open_socket(atoi(arguments[1]));
    for (own = 1; own <= WORKERS; own++) {
        if (fork() == 0) {
            work(fd);
            _exit(0);
        }
    }
    for (int ended = 0; ended < WORKERS; ended++) must(wait(NULL) > 0, "a worker");
    return 0;
}
