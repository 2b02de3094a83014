/* Three processes share a socket and memory, in which they count without a lock: what one of them answers depends on
 * what the others did before. A fourth is killed, and another one made in its place, while they go on.
 *
 *   shared PORT FILE mmap|shmget
 *
 * Where it is built with -DQUIET, it does not say that it begins.
 */
#include "questions.h"
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <time.h>

enum { WORKERS = 3 };

static struct shared {
    volatile unsigned turns, mixed, over, locked, counted, filed;
    pthread_mutex_t mutex;
    sem_t semaphore;
} *shared;
static const char *file;
static char path[300];
static unsigned own;

/* Reads, takes its time, and writes: what others write meanwhile is lost. */
static void mix(unsigned with) {
    unsigned before = shared->mixed;
    for (volatile int at = 0; at < 300; at++) {
    }
    shared->mixed = (before ^ with) * 2654435761u + own;
    shared->turns++;
}

/* What only one process does at a time; each reads the clock, which is a call. */
static void take_locks(int fd) {
    struct timespec now;
    must(pthread_mutex_lock(&shared->mutex) == 0, "mutex");
    shared->locked = shared->locked * 31 + own;
    clock_gettime(CLOCK_MONOTONIC, &now);
    mix((unsigned)now.tv_nsec);
    pthread_mutex_unlock(&shared->mutex);
    must(sem_wait(&shared->semaphore) == 0, "semaphore");
    shared->counted = shared->counted * 31 + own;
    sched_yield();
    sem_post(&shared->semaphore);
    must(flock(fd, LOCK_EX) == 0, "flock");
    shared->filed = shared->filed * 31 + own;
    sched_yield();
    must(flock(fd, LOCK_UN) == 0, "unlock");
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
    must(fcntl(fd, F_SETLKW, &range) == 0, "fcntl");
    shared->filed = shared->filed * 31 + own;
    sched_yield();
    range.l_type = F_UNLCK;
    must(fcntl(fd, F_SETLKW, &range) == 0, "fcntl");
    /* Who finds it there, and who makes it? */
    int made = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    shared->filed = shared->filed * 31 + (made >= 0);
    if (made >= 0) close(made);
    if (own != 1) unlink(path);
}

static void answer(unsigned number, char *text, size_t room) {
    snprintf(text, room, "process %u, its question %u: turns %u, mixed %u, locks %u %u %u", own, number, shared->turns,
             shared->mixed, shared->locked, shared->counted, shared->filed);
}

static int work(int fd) {
    /* A description of its own, so that it locks for itself. */
    int locks = open(file, O_RDWR | O_CREAT, 0600);
    must(locks >= 0, "the file");
    for (unsigned number = 0; !shared->over; mix(number)) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (poll(&ready, 1, 1) == 1) {
            char peeked[8];
            /* Another process may be quicker. */
            ssize_t length = recv(fd, peeked, sizeof peeked, MSG_DONTWAIT | MSG_PEEK);
            if (length < 0) continue;
            must(pthread_mutex_lock(&shared->mutex) == 0, "mutex");
            length = recv(fd, peeked, sizeof peeked, MSG_DONTWAIT | MSG_PEEK);
            if (length >= 0 && !answer_one(fd, number++, answer)) shared->over = 1;
            pthread_mutex_unlock(&shared->mutex);
        }
        take_locks(locks);
    }
    return (int)(shared->mixed % 50);
}

int main(int count, char **arguments) {
    must(count == 4, "arguments");
    file = arguments[2];
    snprintf(path, sizeof path, "%s.made", file);
    unlink(path);
    if (strcmp(arguments[3], "mmap") == 0) {
        shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        must(shared != MAP_FAILED, "mmap");
    } else {
        int segment = shmget(IPC_PRIVATE, sizeof *shared, 0600);
        must(segment >= 0, "shmget");
        shared = shmat(segment, NULL, 0);
        must(shared != (void *)-1 && shmctl(segment, IPC_RMID, NULL) == 0, "shmat");
    }
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->mutex, &attributes);
    sem_init(&shared->semaphore, 1, 1);
    int fd = open_socket(atoi(arguments[1]));
#ifndef QUIET
    must(write(2, "it begins\n", 10) == 10, "stderr");
#endif
    for (own = 1; own <= WORKERS; own++) {
        if (fork() == 0) _exit(work(fd));
    }
    /* One that only counts, and does not live long. */
    for (int round = 0; round < 4 && !shared->over; round++) {
        pid_t doomed = fork();
        if (doomed == 0) {
            for (own = 10;; poll(NULL, 0, 1)) mix(own);
        }
        poll(NULL, 0, 20);
        kill(doomed, SIGKILL);
        must(waitpid(doomed, NULL, 0) == doomed, "the one that was killed");
        mix((unsigned)round);
    }
    int status, all = 0;
    for (int ended = 0; ended < WORKERS; ended++) {
        must(wait(&status) > 0 && WIFEXITED(status), "a worker");
        all += WEXITSTATUS(status);
    }
    printf("%d\n", all);
    return 0;
}
