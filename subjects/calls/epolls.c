/* Waits on an epoll descriptor that is not the one it registered through: a copy by each call that makes
 * one, one that came over a Unix socket, and one that a child of fork has.
 *
 *   epolls PORT dup|dup2|dup3|fcntl|passed|forked|reused
 *
 * The data attached to a registration is a pointer, as in most event loops: an event that lost its
 * registration, or has another one's, ends this server.
 */
#include "questions.h"
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>

struct source {
    unsigned magic;
    int fd;
};

#define MAGIC 0x5eed1e55u

static int passed_copy(int fd) {
    int ends[2];
    char byte = 'x', room[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec bytes = {&byte, 1};
    struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    must(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0, "socketpair");
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(head), &fd, sizeof fd);
    must(sendmsg(ends[0], &message, 0) == 1, "sendmsg");
    memset(room, 0, sizeof room);
    message.msg_controllen = sizeof room;
    must(recvmsg(ends[1], &message, 0) == 1, "recvmsg");
    head = CMSG_FIRSTHDR(&message);
    must(head != NULL && head->cmsg_type == SCM_RIGHTS, "SCM_RIGHTS");
    memcpy(&fd, CMSG_DATA(head), sizeof fd);
    close(ends[0]);
    close(ends[1]);
    return fd;
}

static int copy_of(int fd, const char *how) {
    if (strcmp(how, "dup") == 0) return dup(fd);
    if (strcmp(how, "dup2") == 0) return dup2(fd, 77);
    if (strcmp(how, "dup3") == 0) return dup3(fd, 78, O_CLOEXEC);
    if (strcmp(how, "fcntl") == 0) return fcntl(fd, F_DUPFD_CLOEXEC, 50);
    if (strcmp(how, "passed") == 0) return passed_copy(fd);
    return fd;
}

static void attach(int epoll, struct source *source) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = source};
    must(epoll_ctl(epoll, EPOLL_CTL_ADD, source->fd, &event) == 0, "epoll_ctl");
}

static void answer(unsigned number, char *text, size_t room) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(text, room, "%u: %ld.%09ld", number, (long)now.tv_sec, now.tv_nsec);
}

static int serve(int epoll, int fd) {
    for (unsigned number = 0;;) {
        struct epoll_event events[4];
        int ready = epoll_wait(epoll, events, 4, -1);
        must(ready > 0, "epoll_wait");
        for (int at = 0; at < ready; at++) {
            struct source *source = events[at].data.ptr;
            if (source->magic != MAGIC || source->fd != fd) {
                fprintf(stderr, "epolls: an event of a stranger\n");
                return 3;
            }
            if (!answer_one(fd, number++, answer)) return 0;
        }
    }
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    const char *how = arguments[2];
    int fd = open_socket(atoi(arguments[1]));
    struct source source = {MAGIC, fd}, stranger = {0, fd};
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (strcmp(how, "reused") == 0) {
        /* The number of a closed epoll descriptor is another one's, whose registrations are not its own. */
        int copy = dup(epoll);
        attach(epoll, &source);
        close(epoll);
        int other = epoll_create1(EPOLL_CLOEXEC);
        must(other == epoll, "the number of the closed one");
        attach(other, &stranger);
        return serve(copy, fd);
    }
    if (strcmp(how, "forked") == 0) {
        /* Parent and child each register something through the one that they share; the child waits for both. */
        int ends[2];
        must(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0, "socketpair");
        struct source parents = {MAGIC, ends[0]};
        pid_t child = fork();
        must(child >= 0, "fork");
        if (child == 0) {
            struct epoll_event event;
            char byte;
            attach(epoll, &source);
            do {
                must(epoll_wait(epoll, &event, 1, -1) == 1, "epoll_wait");
            } while (event.data.ptr == &source && answer_one(fd, 0, answer));
            must(event.data.ptr == &parents && read(ends[0], &byte, 1) == 1, "what the parent registered");
            must(epoll_ctl(epoll, EPOLL_CTL_DEL, ends[0], NULL) == 0, "EPOLL_CTL_DEL");
            exit(serve(epoll, fd));
        }
        attach(epoll, &parents);
        must(write(ends[1], "x", 1) == 1, "write");
        int status;
        must(waitpid(child, &status, 0) == child, "waitpid");
        return WIFEXITED(status) ? WEXITSTATUS(status) : 4;
    }
    int copy = copy_of(epoll, how);
    must(copy >= 0, how);
    /* Registered through the copy and waited for on the first, as mio does. */
    attach(copy, &source);
    return serve(epoll, fd);
}
