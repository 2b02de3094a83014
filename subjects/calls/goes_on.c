/* A server whose recording ends before it does: what a hook keeps for a server has to be there afterwards.

     goes_on PORT

   Answers each datagram with what the question named in it found: the same in a recording, behind its end, and natively. The
   socket is waited for through epoll, with an address as data, by the main thread; another thread waits for a pipe in the same
   instance; "quit" ends it. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

struct source {
    int fd;
    const char *name;
};

static struct source server = {.name = "server"}, bell = {.name = "bell"};
static int instance, ring_bell, rung[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turns, wanted;
static atomic_int handled;

static void add(int to, struct source *source)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = source};
    epoll_ctl(to, EPOLL_CTL_ADD, source->fd, &event);
}

/* Waits for the bell through a copy of the descriptor of an instance of its own. */
static void *listen_to_bell(void *nothing)
{
    int own = epoll_create1(0);
    add(own, &bell);
    int copy = dup(own);
    for (;;) {
        struct epoll_event event;
        if (epoll_wait(copy, &event, 1, -1) != 1)
            continue;
        struct source *source = event.data.ptr;
        char byte;
        if (read(source->fd, &byte, 1) == 1 && write(rung[1], source->name, 1) != 1)
            abort();
    }
    return nothing;
}

/* Takes turns with the main thread. */
static void *take_turns(void *nothing)
{
    pthread_mutex_lock(&lock);
    for (;;) {
        while (turns == wanted)
            pthread_cond_wait(&changed, &lock);
        turns++;
        pthread_cond_broadcast(&changed);
    }
    return nothing;
}

static void *end_at_once(void *count)
{
    pthread_mutex_lock(&lock);
    ++*(int *)count;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void handle(int signal)
{
    (void)signal;
    handled++;
}

/* A child with an instance of its own, beside the one that it has inherited. */
static int ask_child(void)
{
    pid_t child = fork();
    if (child == 0) {
        int ends[2], own = epoll_create1(0);
        if (pipe(ends) != 0)
            _exit(1);
        struct source source = {ends[0], "child"};
        add(own, &source);
        struct epoll_event event;
        if (write(ends[1], "x", 1) != 1 || epoll_wait(own, &event, 1, -1) != 1)
            _exit(2);
        _exit(event.data.ptr == &source ? 7 : 3);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

static void answer(const char *question, char *text, size_t room)
{
    if (strcmp(question, "threads") == 0) {
        int count = 0;
        for (int i = 0; i < 1200; i++) {
            pthread_t thread;
            if (pthread_create(&thread, NULL, end_at_once, &count) != 0)
                break;
            pthread_join(thread, NULL);
        }
        snprintf(text, room, "threads %d", count);
    } else if (strcmp(question, "turns") == 0) {
        pthread_mutex_lock(&lock);
        wanted += 100;
        pthread_cond_broadcast(&changed);
        while (turns != wanted)
            pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
        snprintf(text, room, "turns are even");
    } else if (strcmp(question, "bell") == 0) {
        char byte = 0;
        if (write(ring_bell, "x", 1) != 1 || read(rung[0], &byte, 1) != 1)
            byte = '-';
        snprintf(text, room, "bell %c", byte);
    } else if (strcmp(question, "children") == 0) {
        int right = 0;
        for (int i = 0; i < 20; i++)
            right += ask_child() == 7;
        snprintf(text, room, "children %d", right);
    } else if (strcmp(question, "program") == 0) {
        char line[64] = "";
        FILE *program = popen("env | grep -c -e LD_PRELOAD -e PRONY", "r");
        if (program == NULL || fgets(line, sizeof line, program) == NULL)
            strcpy(line, "nothing\n");
        pclose(program);
        snprintf(text, room, "program %s", line);
    } else if (strcmp(question, "signal") == 0) {
        struct sigaction now;
        int before = handled;
        sigaction(SIGUSR2, NULL, &now);
        kill(getpid(), SIGUSR2);
        while (handled == before)
            sched_yield();
        snprintf(text, room, "signal %s %d", now.sa_handler == handle ? "own" : "other", handled - before);
    } else if (strcmp(question, "clock") == 0) {
        struct timespec before, now;
        clock_gettime(CLOCK_MONOTONIC, &before);
        clock_gettime(CLOCK_MONOTONIC, &now);
        long long passed = (now.tv_sec - before.tv_sec) * 1000000000ll + now.tv_nsec - before.tv_nsec;
#ifdef __x86_64__
        unsigned long long stamp = __rdtsc();
        if (__rdtsc() < stamp)
            passed = -1;
#endif
        snprintf(text, room, "clock %s", passed >= 0 ? "goes on" : "goes back");
    } else {
        snprintf(text, room, "what is %s", question);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    server.fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[1]))};
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int ends[2];
    if (bind(server.fd, (struct sockaddr *)&own, sizeof own) != 0 || pipe(ends) != 0 || pipe(rung) != 0)
        return 1;
    bell.fd = ends[0];
    ring_bell = ends[1];
    signal(SIGUSR2, handle);
    instance = epoll_create1(0);
    add(instance, &server);
    pthread_t thread;
    pthread_create(&thread, NULL, listen_to_bell, NULL);
    pthread_create(&thread, NULL, take_turns, NULL);
    for (;;) {
        struct epoll_event event;
        if (epoll_wait(instance, &event, 1, -1) != 1)
            continue;
        struct source *source = event.data.ptr;
        char question[64], text[128];
        struct sockaddr_in peer;
        socklen_t length = sizeof peer;
        ssize_t got = recvfrom(source->fd, question, sizeof question - 1, 0, (struct sockaddr *)&peer, &length);
        if (got < 1)
            continue;
        question[got] = 0;
        if (strcmp(question, "quit") == 0)
            return 0;
        answer(question, text, sizeof text);
        sendto(source->fd, text, strlen(text), 0, (struct sockaddr *)&peer, length);
    }
}
