/* Answers each question, which is a frame, after it has written to pages for the first time.
 *
 *   touched PORT
 *
 * Built with -DPAGES=n, those are n pages. -DIN_THREAD has a thread of their own write to them, -DIN_CHILD a child, and -DIN_HANDLER
 * a function that `fork` runs in the child.
 */
#define _GNU_SOURCE
#include "questions.h"
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef PAGES
#define PAGES 16
#endif
#define PAGE 4096

/* Read as it stands, so that builds differ in this number alone. */
static volatile size_t pages = PAGES;

static void *touch(void *unused) {
    size_t bytes = pages * PAGE;
    char *area = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED) exit(3);
    madvise(area, bytes, MADV_NOHUGEPAGE);
    for (size_t at = 0; at < bytes; at += PAGE) ((volatile char *)area)[at] = 1;
    munmap(area, bytes);
    return unused;
}

#ifdef IN_HANDLER
static void touch_after_fork(void) { touch(NULL); }
#endif

static void answer(unsigned number, char *text, size_t room) {
#if defined IN_THREAD
    pthread_t thread;
    if (pthread_create(&thread, NULL, touch, NULL) != 0) exit(4);
    pthread_join(thread, NULL);
#elif defined IN_CHILD || defined IN_HANDLER
    pid_t child = fork();
    if (child == 0) {
#ifdef IN_CHILD
        touch(NULL);
#endif
        _exit(0);
    }
    waitpid(child, NULL, 0);
#else
    touch(NULL);
#endif
    snprintf(text, room, "%u", number);
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
#ifdef IN_HANDLER
    if (pthread_atfork(NULL, NULL, touch_after_fork) != 0) return 5;
#endif
    int fd = open_socket(atoi(arguments[1]));
    for (unsigned number = 0;; number++) {
        struct pollfd question = {.fd = fd, .events = POLLIN};
        poll(&question, 1, -1);
        if (!answer_one(fd, number, answer)) return 0;
    }
}
