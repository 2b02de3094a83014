/* A server of short and long frames: of every twenty, nineteen run `quick` and one runs `slow`. It sends a datagram a
 * frame, so that a replay has something to verify.
 *
 *     gcc -O1 -g -fno-omit-frame-pointer -o frames frames.c && ./frames 400
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static volatile uint64_t sink;

static __attribute__((noinline)) void quick(void) {
    for (uint64_t step = 0; step < 100000; step++)
        sink += step;
}

static __attribute__((noinline)) void slow(void) {
    for (uint64_t step = 0; step < 3000000; step++)
        sink += step;
}

int main(int argc, char **argv) {
    int frames = argc > 1 ? atoi(argv[1]) : 400;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof here;
    if (fd < 0 || bind(fd, (struct sockaddr *)&here, sizeof here) || getsockname(fd, (struct sockaddr *)&here, &length))
        return 2;
    for (int frame = 0; frame < frames; frame++) {
        struct pollfd nothing = {.fd = -1};
        poll(&nothing, 1, 1);
        if (frame % 20 == 19)
            slow();
        else
            quick();
        uint64_t state = sink;
        sendto(fd, &state, sizeof state, 0, (struct sockaddr *)&here, sizeof here);
    }
    close(fd);
    return 0;
}
