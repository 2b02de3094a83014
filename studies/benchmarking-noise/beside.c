/* Runs a command, with or without a neighbour that spins, and says what the command alone took.
 *
 *   beside quiet|spinning BYTES COMMAND…
 *
 * BYTES is the length of a variable PADDING in the command's environment; with 0 there is none. The neighbour may run on
 * every CPU of the machine, also when we may not. It ends with us, whatever ends us.
 *
 * Writes to $PRONY_FD, as a worker does: `cpu`, user and system time of the command, and `wall`, from before its start to
 * after its end. Both hold the start of the command and not our own. Ends as the command did.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pid_t start_neighbour(void)
{
    int ready[2];
    if (pipe(ready))
        return -1;
    pid_t parent = getpid();
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        cpu_set_t all;
        memset(&all, 0xff, sizeof all);
        sched_setaffinity(0, sizeof all, &all);
        if (write(ready[1], "r", 1) != 1)
            _exit(1);
        volatile unsigned spins = 0;
        for (;;)
            spins++;
    }
    close(ready[1]);
    char byte;
    /* Until it runs: a neighbour that comes later would be one for a part of the command only. */
    if (child != -1 && read(ready[0], &byte, 1) != 1) {
        waitpid(child, NULL, 0);
        child = -1;
    }
    close(ready[0]);
    return child;
}

static double seconds(struct timeval time)
{
    return time.tv_sec + time.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
    char *end = "x";
    size_t bytes = argc > 3 ? strtoul(argv[2], &end, 10) : 0;
    int spinning = argc > 3 && strcmp(argv[1], "spinning") == 0;
    if (*end || bytes > 100000 || (!spinning && (argc < 4 || strcmp(argv[1], "quiet")))) {
        fprintf(stderr, "usage: beside quiet|spinning BYTES COMMAND…\n");
        return 2;
    }
    /* What the command must not inherit: it would write values of its own. */
    const char *descriptor = getenv("PRONY_FD");
    int values = descriptor ? atoi(descriptor) : STDERR_FILENO;
    unsetenv("PRONY_FD");
    if (bytes) {
        char *padding = malloc(bytes + 1);
        if (!padding)
            return 2;
        memset(padding, 'x', bytes);
        padding[bytes] = 0;
        setenv("PADDING", padding, 1);
    }
    pid_t neighbour = spinning ? start_neighbour() : 0;
    if (neighbour == -1) {
        perror("beside: cannot start a neighbour");
        return 2;
    }

    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execvp(argv[3], argv + 3);
        perror(argv[3]);
        _exit(127);
    }
    int status = 0;
    struct rusage took;
    pid_t ended = -1;
    while (child != -1 && (ended = wait4(child, &status, 0, &took)) == -1 && errno == EINTR)
        ;
    clock_gettime(CLOCK_MONOTONIC, &after);
    if (neighbour) {
        kill(neighbour, SIGKILL);
        waitpid(neighbour, NULL, 0);
    }
    if (ended == -1) {
        perror("beside: cannot run the command");
        return 2;
    }
    if (WIFSIGNALED(status))
        return 128 + WTERMSIG(status);
    if (WEXITSTATUS(status))
        return WEXITSTATUS(status);
    double wall = after.tv_sec - before.tv_sec + (after.tv_nsec - before.tv_nsec) / 1e9;
    dprintf(values, "{\"metric\": \"cpu\", \"value\": %.9f}\n", seconds(took.ru_utime) + seconds(took.ru_stime));
    dprintf(values, "{\"metric\": \"wall\", \"value\": %.9f}\n", wall);
    return 0;
}
