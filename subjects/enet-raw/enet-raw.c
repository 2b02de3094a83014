/* The least that a server can do for clients of ENet: the bound that servers on a library are measured against.
 *
 *   cc -O2 -o enet-raw enet-raw.c
 *   enet-raw [--address IP] [--port N] [--slots N] [--poll-hz N]
 *
 * One recvmmsg for up to 64 datagrams, a look into a hash of addresses for each, its answer written where sendmmsg reads
 * it, one sendmmsg. It knows the handshake, acknowledges what must be, and answers packets as subjects/enet-echo does by
 * default, acknowledgement and answer in one datagram. Nothing else: nothing is sent again, put in order, checked for
 * duplicates or cut into pieces, nobody is pinged, timed out or throttled, and whoever names an address is believed. A
 * library has to do all that besides, so no library can be cheaper.
 *
 * It prints one line, `port PORT pid PID`, and serves until SIGTERM, polled as subjects/enet-echo is. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Datagrams of one system call. */
#define BATCH 64
/* The longest datagram of the protocol. */
#define DATAGRAM_BYTES 4096
/* Asked for in either direction, as our library does. */
#define BUFFER_BYTES (8 << 20)
#define CHANNELS_MAX 8
#define MTU 1400
#define STAMP_BYTES 16

/* Commands, and the flags of commands and headers: the ENet 1.3 protocol. */
enum {
    ACKNOWLEDGE = 1,
    CONNECT,
    VERIFY_CONNECT,
    DISCONNECT,
    PING,
    RELIABLE,
    UNRELIABLE,
    FRAGMENT,
    UNSEQUENCED,
    BANDWIDTH_LIMIT,
    THROTTLE_CONFIGURE,
    UNRELIABLE_FRAGMENT,
};
#define MUST_ACKNOWLEDGE 0x80
#define SENT_TIME 0x8000
#define COMPRESSED 0x4000

/* Bytes of each command before its payload. */
static const uint8_t fixed_bytes[] = {0, 8, 48, 44, 8, 4, 6, 8, 24, 8, 12, 16, 24};

struct client {
    uint32_t address;
    uint16_t port;
    /* What the client calls itself, with the session of our datagrams: the first two bytes of each, as they are sent. */
    uint16_t head;
    uint16_t reliable[CHANNELS_MAX], unreliable[CHANNELS_MAX];
    uint8_t is_used;
};

static struct client *clients;
static size_t mask;

static struct mmsghdr in[BATCH], out[BATCH];
static struct iovec in_vectors[BATCH], out_vectors[BATCH];
static struct sockaddr_in names[BATCH];
static uint8_t received[BATCH][DATAGRAM_BYTES], answers[BATCH][DATAGRAM_BYTES];

static volatile sig_atomic_t ended;

static void end(int signal) {
    (void)signal;
    ended = 1;
}

static _Noreturn void fail(const char *what) {
    fprintf(stderr, "enet-raw: %s\n", what);
    exit(2);
}

static long number(const char *text, long low, long high) {
    char *rest;
    errno = 0;
    long value = strtol(text, &rest, 10);
    if (errno || rest == text || *rest || value < low || value > high) fail("a number is none, or out of range");
    return value;
}

static uint16_t read_16(const uint8_t *at) { return at[0] << 8 | at[1]; }

static uint8_t *write_16(uint8_t *at, uint16_t value) {
    at[0] = value >> 8;
    at[1] = value;
    return at + 2;
}

static uint8_t *write_command(uint8_t *at, uint8_t command, uint8_t channel, uint16_t sequence) {
    *at++ = command;
    *at++ = channel;
    return write_16(at, sequence);
}

/* The client at an address, or where it would be; open addressing, and nobody is ever taken out. */
static struct client *find(const struct sockaddr_in *name) {
    uint64_t key = (uint64_t)name->sin_addr.s_addr << 16 | name->sin_port;
    for (size_t at = key * 0x9e3779b97f4a7c15u >> 40;; at++) {
        struct client *client = &clients[at & mask];
        if (!client->is_used || (client->address == name->sin_addr.s_addr && client->port == name->sin_port)) return client;
    }
}

/* The answer to a CONNECT: its fields but for who we are, the sessions, the MTU and the bandwidths. */
static uint8_t *verify(uint8_t *at, struct client *client, const uint8_t *asked) {
    uint8_t sessions[] = {(asked[6] + 1) & 3, (asked[7] + 1) & 3};
    client->head = htons(SENT_TIME | sessions[0] << 12 | (read_16(asked + 4) & 0xfff));
    at = write_command(at, VERIFY_CONNECT | MUST_ACKNOWLEDGE, 0xff, 1);
    /* What clients call us: they are told apart by their addresses. */
    at = write_16(at, 0);
    *at++ = sessions[0];
    *at++ = sessions[1];
    at = write_16(at, 0);
    at = write_16(at, MTU);
    memcpy(at, asked + 12, 8);
    if (read_16(at + 4) == 0 && read_16(at + 6) > CHANNELS_MAX) write_16(at + 6, CHANNELS_MAX);
    memset(at + 8, 0, 8);
    memcpy(at + 16, asked + 28, 16);
    return at + 32;
}

/* The answer to a packet: as many bytes as it asks for, beginning with its own. */
static uint8_t *answer(uint8_t *at, const uint8_t *end, struct client *client, const uint8_t *command, size_t length) {
    uint8_t channel = command[1], code = command[0] & 15;
    const uint8_t *payload = command + fixed_bytes[code];
    if (length < STAMP_BYTES || channel >= CHANNELS_MAX) return at;
    size_t bytes = payload[12] | payload[13] << 8 | payload[14] << 16 | (size_t)payload[15] << 24;
    if (bytes == 0) return at;
    if (bytes < STAMP_BYTES) bytes = STAMP_BYTES;
    if (at + 8 + bytes > end) fail("an answer is longer than a datagram: there are no pieces here");
    if (code == RELIABLE) {
        client->unreliable[channel] = 0;
        at = write_command(at, RELIABLE | MUST_ACKNOWLEDGE, channel, ++client->reliable[channel]);
    } else {
        /* After 65,535 answers the number begins anew: no run is that long. */
        at = write_command(at, UNRELIABLE, channel, client->reliable[channel]);
        at = write_16(at, ++client->unreliable[channel]);
    }
    at = write_16(at, bytes);
    size_t same = bytes < length ? bytes : length;
    memcpy(at, payload, same);
    memset(at + same, 0, bytes - same);
    return at + bytes;
}

/* Answers a datagram into the DATAGRAM_BYTES at `to`; what of them to send. */
static struct iovec handle(const struct sockaddr_in *name, const uint8_t *from, size_t length, uint8_t *to, uint16_t now) {
    const struct iovec nothing = {0};
    const uint8_t *end = from + length;
    if (length < 2) return nothing;
    uint16_t head = read_16(from);
    if (head & COMPRESSED) fail("a client compresses");
    const uint8_t *at = from + (head & SENT_TIME ? 4 : 2);
    struct client *client = find(name);
    if (!client->is_used && (head & 0xfff) != 0xfff) return nothing;
    /* The head is written last: whether it has a time is not known before. */
    uint8_t *body = to + 4, *put = body, *limit = to + MTU;
    int must_acknowledge = 0;
    while (end - at >= 4) {
        uint8_t code = at[0] & 15;
        if (code == 0 || code >= sizeof fixed_bytes || end - at < fixed_bytes[code]) break;
        size_t payload = 0;
        if (code == RELIABLE) payload = read_16(at + 4);
        if (code == UNRELIABLE || code == UNSEQUENCED || code == FRAGMENT || code == UNRELIABLE_FRAGMENT) payload = read_16(at + 6);
        if ((size_t)(end - at) < fixed_bytes[code] + payload) break;
        if (at[0] & MUST_ACKNOWLEDGE && code != CONNECT && head & SENT_TIME) {
            put = write_command(put, ACKNOWLEDGE, at[1], read_16(at + 2));
            put = write_16(put, read_16(at + 2));
            memcpy(put, from + 2, 2);
            put += 2;
        }
        switch (code) {
        case CONNECT:
            *client = (struct client){.address = name->sin_addr.s_addr, .port = name->sin_port, .is_used = 1};
            put = verify(put, client, at);
            must_acknowledge = 1;
            break;
        case RELIABLE:
        case UNRELIABLE: {
            uint8_t *before = put;
            put = answer(put, limit, client, at, payload);
            if (code == RELIABLE && put != before) must_acknowledge = 1;
            break;
        }
        case FRAGMENT:
        case UNRELIABLE_FRAGMENT:
        case UNSEQUENCED:
            fail("a client sends what there is no answer for here");
        }
        at += fixed_bytes[code] + payload;
    }
    if (put == body) return nothing;
    uint16_t first = must_acknowledge ? client->head : client->head & htons(0x3fff);
    /* A head without a time begins two bytes later. */
    uint8_t *start = must_acknowledge ? to : to + 2;
    memcpy(start, &first, 2);
    if (must_acknowledge) write_16(to + 2, now);
    return (struct iovec){start, put - start};
}

static void serve(int descriptor) {
    struct timespec clock;
    clock_gettime(CLOCK_MONOTONIC, &clock);
    uint16_t now = clock.tv_sec * 1000 + clock.tv_nsec / 1000000;
    for (int count = BATCH; count == BATCH;) {
        for (int at = 0; at < BATCH; at++) in[at].msg_hdr.msg_namelen = sizeof names[at];
        count = recvmmsg(descriptor, in, BATCH, MSG_DONTWAIT, NULL);
        if (count <= 0) return;
        int filled = 0;
        for (int at = 0; at < count; at++) {
            out_vectors[filled] = handle(&names[at], received[at], in[at].msg_len, answers[filled], now);
            out[filled].msg_hdr.msg_name = &names[at];
            filled += out_vectors[filled].iov_len > 0;
        }
        for (int done = 0; done < filled;) {
            int sent = sendmmsg(descriptor, out + done, filled - done, MSG_DONTWAIT);
            /* What cannot be sent is lost. */
            done += sent > 0 ? sent : 1;
        }
    }
}

int main(int count, char **words) {
    long port = 0, slots = 4095, poll_hz = 1000;
    struct in_addr own = {htonl(INADDR_LOOPBACK)};
    for (int at = 1; at < count; at++) {
        const char *flag = words[at];
        if (++at == count) fail("a flag lacks its value, or is unknown");
        const char *value = words[at];
        if (!strcmp(flag, "--address")) {
            if (inet_pton(AF_INET, value, &own) != 1) fail("an address is none of IPv4");
        } else if (!strcmp(flag, "--port")) port = number(value, 0, 65535);
        else if (!strcmp(flag, "--slots")) slots = number(value, 1, 65535);
        else if (!strcmp(flag, "--poll-hz")) poll_hz = number(value, 1, 1000000);
        else fail("a flag is unknown");
    }
    struct sigaction action = {.sa_handler = end};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);

    /* A quarter full at most: a look is one line of memory. */
    size_t size = 16;
    while (size < 4 * (size_t)slots) size *= 2;
    mask = size - 1;
    clients = calloc(size, sizeof *clients);
    if (!clients) fail("no memory");
    for (int at = 0; at < BATCH; at++) {
        in_vectors[at] = (struct iovec){received[at], sizeof received[at]};
        in[at].msg_hdr = (struct msghdr){.msg_name = &names[at], .msg_iov = &in_vectors[at], .msg_iovlen = 1};
        out[at].msg_hdr = (struct msghdr){.msg_namelen = sizeof names[at], .msg_iov = &out_vectors[at], .msg_iovlen = 1};
    }
    int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = own};
    socklen_t length = sizeof address;
    if (descriptor < 0 || bind(descriptor, (void *)&address, length) || getsockname(descriptor, (void *)&address, &length))
        fail("no socket: the port is taken");
    int bytes = BUFFER_BYTES;
    if (setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes)) setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    if (setsockopt(descriptor, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes)) setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    printf("port %u pid %ld\n", (unsigned)ntohs(address.sin_port), (long)getpid());
    fflush(stdout);

    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    while (!ended) {
        serve(descriptor);
        /* A tick that took longer than its time leaves out those that it should have been. */
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        next.tv_nsec += 1000000000 / poll_hz;
        if (next.tv_nsec >= 1000000000) { next.tv_nsec -= 1000000000; next.tv_sec++; }
        if (next.tv_sec < now.tv_sec || (next.tv_sec == now.tv_sec && next.tv_nsec < now.tv_nsec)) next = now;
        else clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    return 0;
}
