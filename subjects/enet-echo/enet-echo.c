/* An ENet server that answers packets, for `prony load enet`: written against the public functions of the library, so
 * that LD_LIBRARY_PATH picks which libenet.so.7 it runs on.
 *
 *   cc -O2 -o enet-echo enet-echo.c -lenet
 *   enet-echo [--port N] [--slots N] [--poll-hz N] [--reply asked|echo|none|BYTES] [--work-us N] [--checksum]
 *             [--compress] [--any]
 *
 * It prints one line, `port PORT pid PID`, and serves until SIGTERM. Polled as games poll: all events that are there,
 * then nothing until the next tick. An answer begins with the first 16 bytes of its packet; bytes 12 to 15 of these say
 * how long an answer is wanted, 0 for none, where --reply is `asked`. --work-us: time on the CPU that a packet costs, as
 * a game's logic would. */
#define _GNU_SOURCE
#include <enet/enet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A stamp: intended time, number, bytes wanted; see `Stamp` in crates/load. */
#define STAMP_BYTES 16
/* A packet asks for what it likes: no answer is longer. */
#define REPLY_BYTES_MAX 65536

enum reply { ASKED = -2, ECHO = -1 };

static volatile sig_atomic_t ended;

static void end(int signal) {
    (void)signal;
    ended = 1;
}

static _Noreturn void fail(const char *what) {
    fprintf(stderr, "enet-echo: %s\n", what);
    exit(2);
}

static long number(const char *text, long low, long high) {
    char *rest;
    errno = 0;
    long value = strtol(text, &rest, 10);
    if (errno || rest == text || *rest || value < low || value > high) fail("a number is none, or out of range");
    return value;
}

/* Bytes of the answer to a packet, 0 for none. */
static size_t reply_bytes(long reply, const ENetPacket *packet) {
    size_t bytes = reply;
    if (reply == ECHO) return packet->dataLength;
    if (reply == ASKED) {
        const unsigned char *asked = packet->data + 12;
        bytes = asked[0] | asked[1] << 8 | asked[2] << 16 | (size_t)asked[3] << 24;
    }
    if (bytes == 0) return 0;
    if (bytes < STAMP_BYTES) return STAMP_BYTES;
    return bytes < REPLY_BYTES_MAX ? bytes : REPLY_BYTES_MAX;
}

static long ns_between(const struct timespec *from, const struct timespec *to) {
    return (to->tv_sec - from->tv_sec) * 1000000000 + to->tv_nsec - from->tv_nsec;
}

/* Uses the CPU for a while: time in which another process has it does not count. */
static void work(long us) {
    struct timespec start, now;
    if (us == 0) return;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
    do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while (ns_between(&start, &now) < us * 1000);
}

static void answer(ENetPeer *peer, enet_uint8 channel, const ENetPacket *packet, long reply) {
    if (packet->dataLength < STAMP_BYTES) return;
    size_t bytes = reply_bytes(reply, packet);
    if (bytes == 0) return;
    ENetPacket *out = enet_packet_create(NULL, bytes, packet->flags & ENET_PACKET_FLAG_RELIABLE);
    if (!out) fail("no memory");
    size_t same = bytes < packet->dataLength ? bytes : packet->dataLength;
    memcpy(out->data, packet->data, same);
    memset(out->data + same, 0, bytes - same);
    if (enet_peer_send(peer, channel, out) < 0) enet_packet_destroy(out);
}

int main(int count, char **words) {
    long port = 0, slots = 4095, poll_hz = 1000, reply = ASKED, work_us = 0;
    int checksum = 0, compress = 0, any = 0;
    for (int at = 1; at < count; at++) {
        const char *flag = words[at];
        if (!strcmp(flag, "--checksum")) { checksum = 1; continue; }
        if (!strcmp(flag, "--compress")) { compress = 1; continue; }
        if (!strcmp(flag, "--any")) { any = 1; continue; }
        if (++at == count) fail("a flag lacks its value, or is unknown");
        const char *value = words[at];
        if (!strcmp(flag, "--port")) port = number(value, 0, 65535);
        else if (!strcmp(flag, "--slots")) slots = number(value, 1, 65535);
        else if (!strcmp(flag, "--poll-hz")) poll_hz = number(value, 1, 1000000);
        else if (!strcmp(flag, "--work-us")) work_us = number(value, 0, 1000000);
        else if (!strcmp(flag, "--reply")) {
            if (!strcmp(value, "asked")) reply = ASKED;
            else if (!strcmp(value, "echo")) reply = ECHO;
            else if (!strcmp(value, "none")) reply = 0;
            else reply = number(value, STAMP_BYTES, REPLY_BYTES_MAX);
        } else fail("a flag is unknown");
    }
    struct sigaction action = {.sa_handler = end};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    if (enet_initialize() != 0) fail("the library does not start");
    ENetAddress address = {.host = ENET_HOST_ANY, .port = port};
    if (!any && enet_address_set_host_ip(&address, "127.0.0.1") != 0) fail("no address");
    ENetHost *host = enet_host_create(&address, slots, 0, 0, 0);
    if (!host) fail("no host: the port is taken, or there are more slots than the library allows");
    if (checksum) host->checksum = enet_crc32;
    if (compress && enet_host_compress_with_range_coder(host) != 0) fail("no range coder");
    ENetAddress bound;
    if (enet_socket_get_address(host->socket, &bound) != 0) fail("the socket has no address");
    printf("port %u pid %ld\n", (unsigned)bound.port, (long)getpid());
    fflush(stdout);

    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    while (!ended) {
        ENetEvent event;
        int result;
        while ((result = enet_host_service(host, &event, 0)) > 0) {
            if (event.type == ENET_EVENT_TYPE_RECEIVE) {
                work(work_us);
                answer(event.peer, event.channelID, event.packet, reply);
                enet_packet_destroy(event.packet);
            }
        }
        if (result < 0) fprintf(stderr, "enet-echo: the library says that serving failed\n");
        /* Answers leave in this tick, not in the next. */
        enet_host_flush(host);
        /* A tick that took longer than its time leaves out those that it should have been. */
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        next.tv_nsec += 1000000000 / poll_hz;
        if (next.tv_nsec >= 1000000000) { next.tv_nsec -= 1000000000; next.tv_sec++; }
        if (next.tv_sec < now.tv_sec || (next.tv_sec == now.tv_sec && next.tv_nsec < now.tv_nsec)) next = now;
        else clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    enet_host_destroy(host);
    enet_deinitialize();
    return 0;
}
