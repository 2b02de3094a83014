/* Answers what calls leave below its stack pointer, as a collector that scans the stack sees it in slots that are not written.
 *
 *   scanned PORT
 *
 * It has a function by which such collectors are known.
 */
#include "questions.h"
#include <pthread.h>
#include <time.h>

#define WORDS 1024

void GC_init(void) {}

static unsigned long others;

/* Fills the words below the caller's frame. */
static void __attribute__((noinline)) fill(void) {
    volatile unsigned long words[WORDS];
    for (int word = 0; word < WORDS; word++) words[word] = 0x5a5a5a5a5a5a5a5aUL;
}

/* What is in them. The lowest are left out: a signal that the kernel puts there is no call's. */
static unsigned long __attribute__((noinline)) left(void) {
    volatile unsigned long words[WORDS];
    unsigned long hash = 14695981039346656037UL;
    for (int word = WORDS / 4; word < WORDS - 8; word++) hash = (hash ^ words[word]) * 1099511628211UL;
    return hash;
}

#define AFTER(call) (fill(), (void)(call), left())

static void *start(void *argument) {
    others = left();
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    others ^= AFTER(pthread_mutex_lock(&mutex)) * 3;
    pthread_mutex_unlock(&mutex);
    others ^= AFTER(usleep(100)) * 5;
    return argument;
}

static void answer(unsigned number, char *text, size_t room) {
    struct timespec now;
    struct sockaddr_in address = {.sin_family = AF_INET};
    pthread_t thread;
    char name[64];
    must(pthread_create(&thread, NULL, start, NULL) == 0, "pthread_create");
    unsigned long joined = AFTER(pthread_join(thread, NULL)), clock = AFTER(clock_gettime(CLOCK_MONOTONIC, &now));
    unsigned long closed = AFTER(close(socket(AF_INET, SOCK_DGRAM, 0))), pid = AFTER(getpid());
    unsigned long host = AFTER(gethostname(name, sizeof name)), connected = AFTER(bind(-1, (struct sockaddr *)&address, 16));
    snprintf(text, room, "%u: %lx %lx %lx %lx %lx %lx %lx", number, joined, clock, closed, pid, host, connected, others);
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    int fd = open_socket(atoi(arguments[1]));
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return 0;
}
