/* A small game server without clients: bodies fall and bounce in an arena, and each frame sends their state in a datagram to
 * itself. `tuning.h` has the numbers that commits of its history change.
 *
 *     cc -O2 -o arena arena.c && ./arena 400
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tuning.h"

enum { BODIES = 96, WIDTH = 1 << 16 };

struct body {
    int32_t x, y, vx, vy;
};

static struct body bodies[BODIES];
static uint32_t seen[BODIES];

static void start(void) {
    uint32_t seed = 1;
    for (int i = 0; i < BODIES; i++) {
        seed = seed * 1664525 + 1013904223;
        bodies[i] = (struct body){
            .x = (int32_t)(seed >> 16), .y = (int32_t)(seed & 0xffff), .vx = (int32_t)(seed >> 28), .vy = 0};
    }
}

static void move(void) {
    for (int i = 0; i < BODIES; i++) {
        struct body *body = &bodies[i];
        body->vy += GRAVITY;
        body->x = (body->x + body->vx) & (WIDTH - 1);
        body->y += body->vy;
        if (body->y > WIDTH) {
            body->y = 2 * WIDTH - body->y;
            body->vy = -body->vy * BOUNCE / 100;
        }
    }
}

/* Which bodies does each one see? Nothing of it is sent. */
static __attribute__((noinline)) void look(void) {
    for (int i = 0; i < BODIES; i++) {
        uint32_t near = 0;
        for (int j = 0; j < BODIES; j++) {
            int32_t dx = bodies[i].x - bodies[j].x, dy = bodies[i].y - bodies[j].y;
            near += (int64_t)dx * dx + (int64_t)dy * dy < (int64_t)SIGHT * SIGHT;
            __asm__ volatile("" : "+r"(near));
        }
        seen[i] = near;
    }
}

int main(int argc, char **argv) {
    int frames = argc > 1 ? atoi(argv[1]) : 400;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof here;
    if (fd < 0 || bind(fd, (struct sockaddr *)&here, sizeof here) || getsockname(fd, (struct sockaddr *)&here, &length))
        return 2;
    start();
    for (int frame = 0; frame < frames; frame++) {
        struct pollfd nothing = {.fd = -1};
        poll(&nothing, 1, 1);
        move();
        for (int pass = 0; pass < LOOKS; pass++)
            look();
        sendto(fd, bodies, sizeof bodies, 0, (struct sockaddr *)&here, sizeof here);
    }
    close(fd);
    return 0;
}
