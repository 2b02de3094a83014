/* A server that talks to itself for ROUNDS datagrams and reads memory that it has freed in one of them: what a checker of memory
 * is to find in a replay.
 *
 *   freed ROUNDS
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static volatile char seen;

/* Not inlined: a debugger stops here, and a checker names it. */
__attribute__((noinline)) void answer_question(int fd, long round) {
    char *text = malloc(64);
    int length = snprintf(text, 64, "answer %ld", round);
    send(fd, text, (size_t)length, 0);
    free(text);
#ifndef CORRECT
    if (round == 7)
        seen = text[40];
#endif
}

int main(int count, char **arguments) {
    long rounds = count > 1 ? atol(arguments[1]) : 10;
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    /* Valgrind refuses this, and the server does not go on without. */
    struct rlimit limit = {.rlim_cur = 256, .rlim_max = 4096};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        perror("setrlimit");
        return 1;
    }
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0 || connect(fd, (struct sockaddr *)&address, size) != 0) {
        perror("socket");
        return 1;
    }
    for (long round = 0; round < rounds; round++) {
        char got[64];
        answer_question(fd, round);
        if (recv(fd, got, sizeof got, 0) < 0) {
            perror("recv");
            return 1;
        }
    }
    return 0;
}
