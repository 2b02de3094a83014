/* A server that turns against its recorder: `hostile HOW [NUMBER]`.
 *
 * It sends itself datagrams, more than a ring holds, so that the recorder has read some of them for sure, and then
 *   truncate    makes the memory that it shares with the recorder shorter,
 *   fill        fills all of it but its first page with NUMBER, and dies before the library in it does anything more. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* As in crates/preload/src/channel.rs. */
#define CHANNEL_FD 1000
#define CONTROL ((uint32_t *)0x7e8000000000)
#define CONTROL_BYTES (4 << 20)
#define PAGE 4096

static void converse(int socket, int times)
{
    static char datagram[1024];
    for (int i = 0; i < times; i++) {
        memset(datagram, i, sizeof datagram);
        if (send(socket, datagram, sizeof datagram, 0) != sizeof datagram ||
            recv(socket, datagram, sizeof datagram, 0) != sizeof datagram)
            exit(1);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    int own = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    if (own < 0 || bind(own, (struct sockaddr *)&address, sizeof address) ||
        getsockname(own, (struct sockaddr *)&address, &length) ||
        connect(own, (struct sockaddr *)&address, sizeof address))
        return 1;
    converse(own, 10000);
    if (!strcmp(argv[1], "truncate")) {
        int again = open("/proc/self/fd/1000", O_RDWR | O_CLOEXEC);
        int refused = ftruncate(CHANNEL_FD, 0) && ftruncate(again, PAGE);
        fprintf(stderr, "hostile: %s\n", refused ? strerror(errno) : "truncated");
        converse(own, 100);
        return 0;
    }
    uint32_t number = strtoul(argc > 2 ? argv[2] : "4294967295", NULL, 0);
    for (size_t at = PAGE / sizeof number; at < CONTROL_BYTES / sizeof number; at++)
        ((volatile uint32_t *)CONTROL)[at] = number;
    /* No call: the library would put right what it knows of. */
    __builtin_trap();
}
