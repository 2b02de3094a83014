/* Clients of an ENet server on the library as it is packaged, each a host with a socket of its own: load that does not
 * come from ours. Written against the public functions of the library.
 *
 *   cc -O2 -o enet-clients enet-clients.c -lenet
 *   enet-clients PORT CLIENTS SECONDS SERVER_PID [ADDRESS]
 *
 * Each client sends 10 packets of 16 bytes a second at times that are fixed beforehand, unreliably, and counts from the
 * time at which a packet should have been sent to that at which its answer was seen. A host is served when its packet is
 * due and when its socket can be read, in one thread. One line of JSON says what came of it; its fields are named as
 * those of `prony load enet --json`. */
#define _GNU_SOURCE
#include <enet/enet.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>

#define RATE 10
#define CHANNELS 1
/* Clients that connect at once: a stock server's buffer holds some 340 short datagrams. */
#define JOINING_MAX 100
/* Packets sent, and sockets read, before the other is looked at. */
#define TURN 64
#define STAMP_BYTES 16
#define DEADLINE_NS 1000000000ull

static struct client {
    ENetHost *host;
    ENetPeer *peer;
    int is_connected;
} *clients;

static long connected;
static uint64_t *latencies;
static size_t answered, late;
/* What counts: packets that should be sent in this span. */
static uint64_t begin_ns, end_ns;

static _Noreturn void fail(const char *what) {
    fprintf(stderr, "enet-clients: %s\n", what);
    exit(2);
}

static long number(const char *text, long low, long high) {
    char *rest;
    errno = 0;
    long value = strtol(text, &rest, 10);
    if (errno || rest == text || *rest || value < low || value > high) fail("a number is none, or out of range");
    return value;
}

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ull + now.tv_nsec;
}

/* CPU time of a process of one thread, by the scheduler's account. */
static double cpu_s(long pid) {
    char name[64];
    unsigned long long ns;
    snprintf(name, sizeof name, "/proc/%ld/schedstat", pid);
    FILE *file = fopen(name, "r");
    if (!file || fscanf(file, "%llu", &ns) != 1) fail("the server has no schedstat");
    fclose(file);
    return ns / 1e9;
}

static void take(struct client *client, const ENetEvent *event, uint64_t now) {
    switch (event->type) {
    case ENET_EVENT_TYPE_CONNECT:
        client->is_connected = 1;
        connected++;
        /* What the throttle dropped would be lost before it is sent; this tells both ends to keep it open. */
        enet_peer_throttle_configure(client->peer, 5000, ENET_PEER_PACKET_THROTTLE_SCALE, 0);
        break;
    case ENET_EVENT_TYPE_DISCONNECT:
        connected -= client->is_connected;
        client->is_connected = 0;
        break;
    case ENET_EVENT_TYPE_RECEIVE: {
        uint64_t intended;
        if (event->packet->dataLength >= STAMP_BYTES) {
            memcpy(&intended, event->packet->data, sizeof intended);
            if (intended >= begin_ns && intended < end_ns) {
                if (now - intended <= DEADLINE_NS) latencies[answered++] = now - intended;
                else late++;
            }
        }
        enet_packet_destroy(event->packet);
        break;
    }
    default:
        break;
    }
}

/* One pass of a client's host, and all events of it. */
static void serve(struct client *client) {
    ENetEvent event;
    int result = enet_host_service(client->host, &event, 0);
    uint64_t now = now_ns();
    for (; result > 0; result = enet_host_check_events(client->host, &event)) take(client, &event, now);
}

static int ascending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static double quantile_s(double q) {
    return answered ? latencies[(size_t)(q * (answered - 1))] / 1e9 : 0;
}

int main(int words, char **word) {
    if (words != 5 && words != 6) fail("expected PORT CLIENTS SECONDS SERVER_PID [ADDRESS]");
    long port = number(word[1], 1, 65535), count = number(word[2], 1, 60000), seconds = number(word[3], 1, 3600);
    long pid = number(word[4], 1, 1 << 30);
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    if (enet_initialize() != 0) fail("the library does not start");
    clients = calloc(count, sizeof *clients);
    latencies = calloc((size_t)count * (seconds + 1) * RATE, sizeof *latencies);
    int poll = epoll_create1(EPOLL_CLOEXEC);
    if (!clients || !latencies || poll < 0) fail("no memory");

    ENetAddress server = {.port = port};
    if (enet_address_set_host_ip(&server, words == 6 ? word[5] : "127.0.0.1")) fail("an address is none of IPv4");
    struct epoll_event ready[TURN];
    uint64_t began = now_ns();
    for (long made = 0; connected < count;) {
        for (; made < count && made - connected < JOINING_MAX; made++) {
            struct client *client = &clients[made];
            client->host = enet_host_create(NULL, 1, CHANNELS, 0, 0);
            if (!client->host) fail("no socket for a client: see `ulimit -n`");
            client->peer = enet_host_connect(client->host, &server, CHANNELS, 0);
            struct epoll_event event = {.events = EPOLLIN, .data.u64 = made};
            if (epoll_ctl(poll, EPOLL_CTL_ADD, client->host->socket, &event)) fail("a socket cannot be polled");
            serve(client);
        }
        int came = epoll_wait(poll, ready, TURN, 1);
        for (int at = 0; at < came; at++) serve(&clients[ready[at].data.u64]);
        /* Those who are in go on pinging. */
        if (came == 0)
            for (long at = 0; at < made; at++) serve(&clients[at]);
        if (now_ns() - began > 30000000000ull) fail("not all clients connected within 30 s");
    }

    /* All of a period in turn, so that packets are spread evenly. The first half second does not count. */
    uint64_t period = 1000000000 / RATE, start = now_ns() + 10000000;
    begin_ns = start + 500000000;
    end_ns = begin_ns + seconds * 1000000000ull;
    uint64_t sent = 0, turn = 0, sent_late_ns = 0;
    double cpu = -1, share = 0, used = 0, own = 0;
    for (uint64_t now = now_ns(); now < end_ns + DEADLINE_NS / 4; now = now_ns()) {
        if (cpu < 0 && now >= begin_ns) {
            cpu = cpu_s(pid);
            own = clock() / (double)CLOCKS_PER_SEC;
        }
        if (used == 0 && now >= end_ns) {
            used = cpu_s(pid) - cpu;
            share = used / ((now - begin_ns) / 1e9);
            own = (clock() / (double)CLOCKS_PER_SEC - own) / ((now - begin_ns) / 1e9);
        }
        uint64_t due = start + turn * period / count;
        for (int at = 0; at < TURN && due <= now && due < end_ns; at++, turn++, due = start + turn * period / count) {
            struct client *client = &clients[turn % count];
            unsigned char stamp[STAMP_BYTES] = {0};
            uint32_t wanted = STAMP_BYTES;
            memcpy(stamp, &due, sizeof due);
            memcpy(stamp + 12, &wanted, sizeof wanted);
            ENetPacket *packet = enet_packet_create(stamp, sizeof stamp, 0);
            if (!client->is_connected || enet_peer_send(client->peer, 0, packet) < 0) {
                enet_packet_destroy(packet);
                continue;
            }
            enet_host_flush(client->host);
            if (due < begin_ns) continue;
            sent++;
            if (now - due > sent_late_ns) sent_late_ns = now - due;
        }
        /* Waiting is counted in milliseconds, so a shorter wait is a turn more. */
        int wait_ms = due >= end_ns ? 1 : due > now ? (due - now) / 1000000 : 0;
        int came = epoll_wait(poll, ready, TURN, wait_ms);
        for (int at = 0; at < came; at++) serve(&clients[ready[at].data.u64]);
    }
    qsort(latencies, answered, sizeof *latencies, ascending);
    printf("{\"connect\": {\"connected\": %ld}, \"packets\": {\"sent\": %llu, \"answered\": %zu, \"late\": %zu, "
           "\"reply_ratio\": %.6f}, \"latency_s\": {\"p50\": %.6f, \"p99\": %.6f, \"max\": %.6f}, "
           "\"server\": {\"cpu_s\": %.6f, \"share\": %.6f}, \"generator\": [{\"share\": %.4f}], \"send_lateness_s\": {\"max\": %.6f}}\n",
           connected, (unsigned long long)sent, answered, late, sent ? (double)answered / sent : 0, quantile_s(0.5),
           quantile_s(0.99), quantile_s(1), used, share, own, sent_late_ns / 1e9);
    return 0;
}
