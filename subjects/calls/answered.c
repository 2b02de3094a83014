/* A server that answers questions, which it asks itself, for ROUNDS datagrams: one stops in its functions with a debugger.
 *
 *   answered ROUNDS
 *
 * With -DOTHER_ANSWER the answer of round 7 differs, with -DLATE_ANSWER=N that of round N. With -DCHILD a child process does all of it. With
 * -DSTAMPS the processor's time stamps are in the answers. With -DLOG=FILE each round is a line of that file; with -DKEEPS=FILE it is open for
 * reading and writing. With -DSHARES memory is mapped that a child would share. With -DUNWRITTEN each round sends bytes of the stack that another
 * function has left there.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef STAMPS
#include <x86intrin.h>
#endif

/* Not inlined: backtraces name them. */
__attribute__((noinline)) void send_answer(int fd, long round) {
    char text[64];
    long value = round * 3;
#ifdef OTHER_ANSWER
    if (round == 7)
        value++;
#endif
#ifdef LATE_ANSWER
    if (round == LATE_ANSWER)
        value++;
#endif
#ifdef STAMPS
    unsigned int processor;
    value += (long)(__rdtscp(&processor) & 0xffff);
#endif
    int length = snprintf(text, sizeof text, "answer %ld is %ld", round, value);
    if (send(fd, text, (size_t)length, 0) != length)
        perror("send");
}

#ifdef UNWRITTEN
__attribute__((noinline)) void leave_bytes(long round) {
    char deep[8192];
    memset(deep, (int)round + 1, sizeof deep);
    __asm__ volatile("" : : "r"(deep) : "memory");
}

/* The bytes lie further below than a recorded call writes. */
__attribute__((noinline)) void send_unwritten(int fd) {
    char deep[6144];
    __asm__ volatile("" : : "r"(deep) : "memory");
    if (send(fd, deep, 16, 0) != 16)
        perror("send");
}
#endif

__attribute__((noinline)) void take_turn(int fd, long round) {
    char question[64];
    struct timespec now;
#ifdef UNWRITTEN
    leave_bytes(round);
#endif
    clock_gettime(CLOCK_MONOTONIC, &now);
#ifdef UNWRITTEN
    send_unwritten(fd);
#endif
    send_answer(fd, round);
    struct pollfd question_there = {.fd = fd, .events = POLLIN};
    if (poll(&question_there, 1, -1) != 1 || recv(fd, question, sizeof question, 0) < 0)
        perror("recv");
}

int main(int count, char **arguments) {
    long rounds = count > 1 ? atol(arguments[1]) : 10;
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
#ifdef CHILD
    pid_t child = fork();
    if (child > 0)
        return waitpid(child, NULL, 0) == child ? 0 : 1;
#endif
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0 || connect(fd, (struct sockaddr *)&address, size) != 0) {
        perror("socket");
        return 1;
    }
#ifdef KEEPS
    if (open(KEEPS, O_RDWR | O_CREAT, 0600) < 0)
        perror(KEEPS);
#endif
#ifdef SHARES
    if (mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
        perror("mmap");
#endif
#ifdef LOG
    int log = open(LOG, O_WRONLY | O_CREAT | O_TRUNC, 0600);
#endif
    for (long round = 0; round < rounds; round++) {
#ifdef LOG
        dprintf(log, "round %ld\n", round);
#endif
        take_turn(fd, round);
    }
    return 0;
}
