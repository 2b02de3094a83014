/* A server that needs something of the machine that no record answers. From the tenth question on it does without only
 * by doing something else.
 *
 *   needs PORT chmod PATH      changes the permissions of PATH, and gives up where it cannot
 *   needs PORT mkdir PATH      makes the directory PATH, and gives up where it cannot
 *   needs PORT access PATH     waits before it answers if PATH is there
 *   needs PORT names PATH      opens the file whose name is PATH, a point and the inode of PATH as its directory lists it
 *   needs PORT reads PATH      reads a byte from the named pipe PATH
 *   needs PORT waits PATH      waits on a condition for a thread that reads a byte from the named pipe PATH
 *   needs PORT joins PATH      waits for the end of such a thread
 *   needs PORT computes -      has a thread compute for some seconds, and waits for it
 *   needs PORT child -         has a child compute for some seconds, and waits for it
 *   needs PORT turns -         turns its loop 200 times for each question
 */
#include "questions.h"
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

static const char *how, *path;

/* Some seconds of work that no compiler does away with, and without any call. */
static void *compute(void *result) {
    unsigned long value = 1;
    for (unsigned long step = 0; step < 1500000000; step++) {
        value = value * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : "+r"(value));
    }
    *(unsigned long *)result = value;
    return NULL;
}

static int read_byte(void) {
    char byte = 0;
    int fd = open(path, O_RDONLY);
    must(fd >= 0 && read(fd, &byte, 1) == 1, "read");
    close(fd);
    return byte;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_read = PTHREAD_COND_INITIALIZER;

static void *read_beside(void *result) {
    int byte = read_byte();
    pthread_mutex_lock(&lock);
    *(unsigned long *)result = (unsigned long)byte;
    pthread_cond_signal(&is_read);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static unsigned long tenth(void) {
    struct pollfd nothing;
    unsigned long result = 0;
    pthread_t thread;
    int status;
    pid_t child;
    if (strcmp(how, "chmod") == 0) must(chmod(path, 0600) == 0, "chmod");
    if (strcmp(how, "mkdir") == 0) must(mkdir(path, 0700) == 0, "mkdir");
    if (strcmp(how, "access") == 0 && access(path, F_OK) == 0) poll(&nothing, 0, 10);
    if (strcmp(how, "names") == 0) {
        char name[300];
        snprintf(name, sizeof name, "%s.%lu", path, listed(path));
        int fd = open(name, O_RDONLY);
        must(fd >= 0, "open");
        close(fd);
    }
    if (strcmp(how, "reads") == 0) result = (unsigned long)read_byte();
    if (strcmp(how, "waits") == 0) {
        must(pthread_create(&thread, NULL, read_beside, &result) == 0, "pthread_create");
        pthread_mutex_lock(&lock);
        while (result == 0) pthread_cond_wait(&is_read, &lock);
        pthread_mutex_unlock(&lock);
        must(pthread_join(thread, NULL) == 0, "pthread_join");
    }
    if (strcmp(how, "joins") == 0) {
        must(pthread_create(&thread, NULL, read_beside, &result) == 0, "pthread_create");
        must(pthread_join(thread, NULL) == 0, "pthread_join");
    }
    if (strcmp(how, "computes") == 0) {
        must(pthread_create(&thread, NULL, compute, &result) == 0, "pthread_create");
        must(pthread_join(thread, NULL) == 0, "pthread_join");
    }
    if (strcmp(how, "child") == 0) {
        must((child = fork()) >= 0, "fork");
        if (child == 0) {
            compute(&result);
            _exit((int)(result & 0x7f));
        }
        must(waitpid(child, &status, 0) == child, "waitpid");
        result = (unsigned long)WEXITSTATUS(status);
    }
    return result;
}

static void answer(unsigned number, char *text, size_t room) {
    unsigned long result = number == 10 ? tenth() : 0;
    for (unsigned turn = 0; turn < 200 && strcmp(how, "turns") == 0; turn++) {
        struct timespec now, moment = {0, 1};
        ppoll(NULL, 0, &moment, NULL);
        clock_gettime(CLOCK_MONOTONIC, &now);
    }
    snprintf(text, room, "the answer to question %u, of those that are asked: %lx", number, result);
}

int main(int count, char **arguments) {
    if (count != 4) return 2;
    how = arguments[2], path = arguments[3];
    printf("needs %s\n", how);
    int fd = open_socket(atoi(arguments[1]));
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return 0;
}
