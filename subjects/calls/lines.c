/* A server of lines over TCP that makes, on request, one of the calls a recorder may miss.
 *
 *   lines PORT
 *
 * One epoll loop, a signalfd for SIGCHLD, a timerfd that ticks, two workers that wait on a condition
 * variable and answer through an eventfd. Each line names what to do; each gets one line back:
 *
 *   echo TEXT   the text            time       three clocks          random     eight bytes, three sources
 *   work N      a worker counts     fork       a child answers       spawn      a helper runs and exits
 *   popen       a shell's output    signal     a handler ran         ticks      how often the timer fired
 *   who         process and host    resolve    addresses of a name   proc       /proc/self/status, /proc/uptime
 *   pipe        bytes through one   pair       bytes through two     uring      whether io_uring answers
 *   raw         system calls made without libc's functions           sleep      a pause of a millisecond
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS 64
#define WORKERS 2

extern char **environ;

struct client {
    int fd;
    size_t used;
    char line[1024];
};

struct job {
    int fd;
    unsigned count;
    unsigned result;
    struct job *next;
};

static struct client clients[CLIENTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wanted = PTHREAD_COND_INITIALIZER;
static struct job *asked, *done;
static int finished; /* eventfd: how many jobs are done */
static unsigned long ticks;
static volatile sig_atomic_t handled;

static void must(int ok, const char *what) {
    if (!ok) {
        perror(what);
        exit(1);
    }
}

static void answer(int fd, const char *text) {
    struct iovec parts[2] = {{(void *)text, strlen(text)}, {"\n", 1}};
    if (writev(fd, parts, 2) < 0) perror("writev");
}

static void on_signal(int number) {
    (void)number;
    handled = handled + 1;
}

static void *worker(void *unused) {
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&lock);
        while (!asked) pthread_cond_wait(&wanted, &lock);
        struct job *job = asked;
        asked = job->next;
        pthread_mutex_unlock(&lock);

        for (unsigned i = 0; i < job->count; i++) job->result = job->result * 1664525u + 1013904223u;

        pthread_mutex_lock(&lock);
        job->next = done;
        done = job;
        pthread_mutex_unlock(&lock);
        uint64_t one = 1;
        must(write(finished, &one, sizeof one) == sizeof one, "eventfd");
    }
    return NULL;
}

static void ask_worker(int fd, unsigned count) {
    struct job *job = calloc(1, sizeof *job);
    job->fd = fd;
    job->count = count;
    pthread_mutex_lock(&lock);
    job->next = asked;
    asked = job;
    pthread_cond_signal(&wanted);
    pthread_mutex_unlock(&lock);
}

static void collect_jobs(void) {
    uint64_t count;
    must(read(finished, &count, sizeof count) == sizeof count, "eventfd");
    pthread_mutex_lock(&lock);
    struct job *job = done;
    done = NULL;
    pthread_mutex_unlock(&lock);
    while (job) {
        char text[32];
        snprintf(text, sizeof text, "work %u", job->result);
        answer(job->fd, text);
        struct job *next = job->next;
        free(job);
        job = next;
    }
}

static void tell_time(int fd) {
    struct timespec mono;
    struct timeval day;
    char text[128];
    clock_gettime(CLOCK_MONOTONIC, &mono);
    gettimeofday(&day, NULL);
    snprintf(text, sizeof text, "time %ld.%09ld %ld.%06ld %ld", (long)mono.tv_sec, mono.tv_nsec, (long)day.tv_sec,
             (long)day.tv_usec, (long)time(NULL));
    answer(fd, text);
}

static void tell_random(int fd) {
    unsigned char bytes[24];
    char text[80] = "random ";
    must(getrandom(bytes, 8, 0) == 8, "getrandom");
    FILE *device = fopen("/dev/urandom", "rb");
    must(device && fread(bytes + 8, 1, 8, device) == 8, "/dev/urandom");
    fclose(device);
    int raw = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    must(read(raw, bytes + 16, 8) == 8, "/dev/urandom");
    close(raw);
    for (int i = 0; i < 24; i++) snprintf(text + 7 + 2 * i, 3, "%02x", bytes[i]);
    answer(fd, text);
}

/* The child answers; the parent hears of its end through the signalfd. */
static void let_child_answer(int fd) {
    pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0) {
        char text[64];
        snprintf(text, sizeof text, "fork answered by %d of %d", (int)getpid(), (int)getppid());
        answer(fd, text);
        _exit(3);
    }
}

static void spawn_helper(int fd) {
    char *arguments[] = {"true", NULL};
    pid_t child;
    must(posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ) == 0, "posix_spawn");
    answer(fd, "spawn");
}

static void tell_popen(int fd) {
    char text[128] = "";
    FILE *shell = popen("echo popen of a shell", "r");
    must(shell && fgets(text, sizeof text, shell), "popen");
    pclose(shell);
    text[strcspn(text, "\n")] = 0;
    answer(fd, text);
}

static void tell_signal(int fd) {
    char text[64];
    raise(SIGUSR1);
    kill(getpid(), SIGUSR2);
    snprintf(text, sizeof text, "signal %d", (int)handled);
    answer(fd, text);
}

static void tell_who(int fd) {
    char host[64] = "", text[256];
    gethostname(host, sizeof host - 1);
    snprintf(text, sizeof text, "who %d %d %d %s %ld", (int)getpid(), (int)getppid(), (int)gettid(), host,
             sysconf(_SC_NPROCESSORS_ONLN));
    answer(fd, text);
}

static void resolve(int fd) {
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *list = NULL;
    char text[128] = "resolve nothing";
    if (getaddrinfo("localhost", "80", &hints, &list) == 0) {
        struct sockaddr_in *address = (struct sockaddr_in *)list->ai_addr;
        snprintf(text, sizeof text, "resolve %s:%d", inet_ntoa(address->sin_addr), ntohs(address->sin_port));
        freeaddrinfo(list);
    }
    answer(fd, text);
}

static void tell_proc(int fd) {
    char text[512] = "proc ", line[256];
    FILE *status = fopen("/proc/self/status", "r");
    must(status != NULL, "/proc/self/status");
    while (fgets(line, sizeof line, status))
        if (strncmp(line, "VmRSS:", 6) == 0 || strncmp(line, "voluntary", 9) == 0)
            strncat(text, line, sizeof text - strlen(text) - 1);
    fclose(status);
    int uptime = open("/proc/uptime", O_RDONLY);
    ssize_t got = read(uptime, line, sizeof line - 1);
    close(uptime);
    line[got < 0 ? 0 : got] = 0;
    strncat(text, line, sizeof text - strlen(text) - 1);
    for (char *at = text; *at; at++)
        if (*at == '\n' || *at == '\t') *at = ' ';
    answer(fd, text);
}

static void through_pipe(int fd) {
    int ends[2];
    char text[32] = "";
    must(pipe2(ends, O_CLOEXEC) == 0, "pipe2");
    must(write(ends[1], "pipe of bytes", 13) == 13, "pipe");
    must(read(ends[0], text, sizeof text - 1) == 13, "pipe");
    int copy = dup(ends[0]);
    close(ends[0]);
    close(ends[1]);
    close(copy);
    answer(fd, text);
}

static void through_pair(int fd) {
    int ends[2];
    char text[32] = "";
    must(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0, "socketpair");
    struct iovec out = {"pair of sockets", 15}, in = {text, sizeof text - 1};
    struct msghdr send = {.msg_iov = &out, .msg_iovlen = 1}, receive = {.msg_iov = &in, .msg_iovlen = 1};
    must(sendmsg(ends[0], &send, 0) == 15, "sendmsg");
    must(recvmsg(ends[1], &receive, 0) == 15, "recvmsg");
    close(ends[0]);
    close(ends[1]);
    answer(fd, text);
}

static void tell_uring(int fd) {
    char parameters[256] = {0}, text[64];
    long ring = syscall(SYS_io_uring_setup, 4, parameters);
    snprintf(text, sizeof text, "uring %s", ring >= 0 ? "yes" : strerror(errno));
    if (ring >= 0) close((int)ring);
    answer(fd, text);
}

/* syscall() is a function of libc that an interposer sees; what Go or a JIT does is not shown here. */
static void tell_raw(int fd) {
    struct timespec now;
    unsigned char bytes[4] = {0};
    char text[96];
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    syscall(SYS_getrandom, bytes, sizeof bytes, 0);
    snprintf(text, sizeof text, "raw %ld %02x%02x%02x%02x %ld", (long)now.tv_nsec, bytes[0], bytes[1], bytes[2], bytes[3],
             syscall(SYS_gettid));
    answer(fd, text);
}

static void obey(int fd, const char *line) {
    if (strncmp(line, "echo ", 5) == 0) answer(fd, line);
    else if (strncmp(line, "work ", 5) == 0) ask_worker(fd, (unsigned)atoi(line + 5));
    else if (strcmp(line, "time") == 0) tell_time(fd);
    else if (strcmp(line, "random") == 0) tell_random(fd);
    else if (strcmp(line, "fork") == 0) let_child_answer(fd);
    else if (strcmp(line, "spawn") == 0) spawn_helper(fd);
    else if (strcmp(line, "popen") == 0) tell_popen(fd);
    else if (strcmp(line, "signal") == 0) tell_signal(fd);
    else if (strcmp(line, "who") == 0) tell_who(fd);
    else if (strcmp(line, "resolve") == 0) resolve(fd);
    else if (strcmp(line, "proc") == 0) tell_proc(fd);
    else if (strcmp(line, "pipe") == 0) through_pipe(fd);
    else if (strcmp(line, "pair") == 0) through_pair(fd);
    else if (strcmp(line, "uring") == 0) tell_uring(fd);
    else if (strcmp(line, "raw") == 0) tell_raw(fd);
    else if (strcmp(line, "sleep") == 0) {
        struct timespec pause = {0, 1000000};
        nanosleep(&pause, NULL);
        answer(fd, "sleep");
    } else if (strcmp(line, "ticks") == 0) {
        char text[64];
        snprintf(text, sizeof text, "ticks %lu", ticks);
        answer(fd, text);
    } else answer(fd, "what?");
}

/* Returns 0 when the client is gone. */
static int hear(struct client *client) {
    ssize_t got = recv(client->fd, client->line + client->used, sizeof client->line - 1 - client->used, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return 1;
    if (got <= 0) return 0;
    client->used += (size_t)got;
    client->line[client->used] = 0;
    char *end;
    while ((end = memchr(client->line, '\n', client->used)) != NULL) {
        *end = 0;
        obey(client->fd, client->line);
        client->used -= (size_t)(end + 1 - client->line);
        memmove(client->line, end + 1, client->used);
    }
    return client->used < sizeof client->line - 1;
}

static void watch(int epoll, int fd, void *pointer) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = pointer};
    must(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl");
}

int main(int count, char **arguments) {
    must(count == 2, "usage: lines PORT");
    signal(SIGPIPE, SIG_IGN);
    signal(SIGUSR1, on_signal);
    signal(SIGUSR2, on_signal);
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, NULL);

    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(arguments[1]))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    must(bind(listener, (struct sockaddr *)&address, sizeof address) == 0, "bind");
    must(listen(listener, 16) == 0, "listen");

    int ended = signalfd(-1, &children, SFD_NONBLOCK | SFD_CLOEXEC);
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    struct itimerspec period = {{0, 50000000}, {0, 50000000}};
    timerfd_settime(timer, 0, &period, NULL);
    finished = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    for (int i = 0; i < WORKERS; i++) {
        pthread_t thread;
        must(pthread_create(&thread, NULL, worker, NULL) == 0, "pthread_create");
    }

    int epoll = epoll_create1(EPOLL_CLOEXEC);
    watch(epoll, listener, &listener);
    watch(epoll, ended, &ended);
    watch(epoll, timer, &timer);
    watch(epoll, finished, &finished);
    for (;;) {
        struct epoll_event ready[16];
        int events = epoll_wait(epoll, ready, 16, 1000);
        for (int i = 0; i < events; i++) {
            void *what = ready[i].data.ptr;
            if (what == &listener) {
                int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
                struct client *free_one = clients;
                while (free_one < clients + CLIENTS && free_one->fd) free_one++;
                if (fd < 0 || free_one == clients + CLIENTS) {
                    if (fd >= 0) close(fd);
                    continue;
                }
                free_one->fd = fd;
                free_one->used = 0;
                watch(epoll, fd, free_one);
            } else if (what == &ended) {
                struct signalfd_siginfo information;
                while (read(ended, &information, sizeof information) == sizeof information)
                    while (waitpid(-1, NULL, WNOHANG) > 0) {}
            } else if (what == &timer) {
                uint64_t fired;
                if (read(timer, &fired, sizeof fired) == sizeof fired) ticks += fired;
            } else if (what == &finished) {
                collect_jobs();
            } else {
                struct client *client = what;
                if (!hear(client)) {
                    close(client->fd);
                    client->fd = 0;
                }
            }
        }
    }
}
