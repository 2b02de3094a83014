/* A game of four points, whose state is packed before it is sent: numbers of a variable length, as differences from the last
   frame, cut into datagrams of a few bytes. Another arithmetic changes lengths and the number of datagrams at once.

     points PORT

   Every datagram it gets steers; "q" ends it. An answer is datagrams of at most six bytes: whether more follow (1 or 0), then
   the next bytes of: the frame, the difference of each point from its last place in 1/16, how many points crossed 40 for the
   first time, and which.

     -DDRIFT=0.001f      adds as much to every step
     -DGRAVITY=0.01f     pulls all points, so that they cross 40 at other times
     -DSMALL             cuts datagrams after three bytes
     -DBEHIND=frame>=80  answers one frame later where this is true
     -DSKIPPED=80        does not answer this frame
     -DANSWERS=frame%5==0   answers only where this is true, with what happened since the last answer
     -DPRONY_ZONES       measures its frames, and writes that at its end */
#define PRONY_ZONES_IMPLEMENTATION
#include "../../crates/zones/include/prony_zones.h"
#include <arpa/inet.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#ifndef DRIFT
#define DRIFT 0
#endif
#ifndef GRAVITY
#define GRAVITY 0
#endif
#ifndef BEHIND
#define BEHIND 0
#endif
#ifndef SKIPPED
#define SKIPPED 0
#endif
#ifndef ANSWERS
#define ANSWERS 1
#endif
#ifdef SMALL
enum { CONTENT = 2 };
#else
enum { CONTENT = 5 };
#endif
enum { POINTS = 4 };

static uint8_t packed[256], waiting[256];
static size_t used, waiting_bytes;

static void put(uint32_t value)
{
    for (; value >= 0x80; value >>= 7)
        packed[used++] = value | 0x80;
    packed[used++] = value;
}

static void put_signed(int32_t value)
{
    put((uint32_t)value << 1 ^ (uint32_t)(value >> 31));
}

static void send_cut(int server, const uint8_t *content, size_t length, const struct sockaddr_in *peer)
{
    for (size_t at = 0; at < length; at += CONTENT) {
        uint8_t datagram[1 + CONTENT];
        size_t bytes = length - at < CONTENT ? length - at : CONTENT;
        datagram[0] = at + bytes < length;
        memcpy(datagram + 1, content + at, bytes);
        sendto(server, datagram, 1 + bytes, 0, (const struct sockaddr *)peer, sizeof *peer);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    int server = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[1]))};
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(server, (struct sockaddr *)&own, sizeof own) != 0)
        return 1;
    float place[POINTS] = {0}, speed[POINTS] = {0};
    int32_t sent[POINTS] = {0};
    int crossed[POINTS] = {0}, crossing[POINTS], count = 0;
    struct sockaddr_in peer = {0};
    for (uint32_t frame = 1;; frame++) {
        struct pollfd ready = {.fd = server, .events = POLLIN};
        poll(&ready, 1, -1);
        char input[64];
        socklen_t length = sizeof peer;
        ssize_t got = recvfrom(server, input, sizeof input, 0, (struct sockaddr *)&peer, &length);
        if (got < 1 || input[0] == 'q')
            break;
        PRONY_ZONE("frame");
        used = 0;
        put(frame);
        for (int i = 0; i < POINTS; i++) {
            speed[i] += (input[0] - 'm') * 0.02f * (i + 1) + GRAVITY;
            place[i] += speed[i] * 0.1f + DRIFT;
            if (ANSWERS) {
                int32_t now = place[i] * 16;
                put_signed(now - sent[i]);
                sent[i] = now;
            }
            if (place[i] > 40 && !crossed[i]) {
                crossed[i] = 1;
                crossing[count++] = i;
            }
        }
        if (!(ANSWERS))
            continue;
        put(count);
        for (int i = 0; i < count; i++)
            put(crossing[i]);
        count = 0;
        send_cut(server, waiting, waiting_bytes, &peer);
        waiting_bytes = 0;
        if (BEHIND) {
            memcpy(waiting, packed, used);
            waiting_bytes = used;
        } else if (frame != SKIPPED) {
            send_cut(server, packed, used, &peer);
        }
    }
    send_cut(server, waiting, waiting_bytes, &peer);
    puts("ended");
    return 0;
}
