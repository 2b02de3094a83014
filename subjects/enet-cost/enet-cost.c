/* What single calls of an ENet library cost, and what it does under abuse: written against the public functions, so
 * that LD_LIBRARY_PATH picks which libenet.so.7 is measured. Each case prints one line of JSON.
 *
 *   cc -O2 -o enet-cost enet-cost.c -lenet -ldl
 *   enet-cost idle SLOTS        a call of enet_host_service without a client
 *   enet-cost ticks SLOTS LIBRARY LIBRARY
 *                               the same once a millisecond, with a flush: what an idle server does in a tick, on two
 *                               libraries in random turns, so that both find the same caches
 *   enet-cost stuck MIB         the same with one client that has stopped, for which so much is queued reliably
 *   enet-cost full SLOTS        a CONNECT when all slots are taken, with reading it
 *   enet-cost flood PER_S S     forged CONNECTs for so many seconds: how long an honest client waits meanwhile, and how
 *                               much is sent in return for what
 *   enet-cost blind             a CONNECT and an acknowledgement of an answer that nobody received: is that a client?
 *
 * Times are CPU times of this thread around the calls that are measured. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <enet/enet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CHANNELS 4
#define MTU 1400
#define WINDOW 65536
/* Addresses that forged datagrams come from. */
#define FORGERS 64

static _Noreturn void fail(const char *what) {
    fprintf(stderr, "enet-cost: %s\n", what);
    exit(2);
}

static long number(const char *text, long low, long high) {
    char *rest;
    errno = 0;
    long value = strtol(text, &rest, 10);
    if (errno || rest == text || *rest || value < low || value > high) fail("a number is none, or out of range");
    return value;
}

static double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

static double cpu_s(void) { return seconds(CLOCK_THREAD_CPUTIME_ID); }
static double now_s(void) { return seconds(CLOCK_MONOTONIC); }

/* A tick of a server that is polled 1,000 times a second. */
static void tick(void) { nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); }

static ENetHost *server(size_t slots) {
    ENetAddress address = {.host = ENET_HOST_ANY, .port = 0};
    ENetHost *host = enet_host_create(&address, slots, 0, 0, 0);
    if (!host) fail("no host: there are more slots than the library allows");
    ENetAddress bound;
    if (enet_socket_get_address(host->socket, &bound) != 0) fail("the socket has no address");
    host->address.port = bound.port;
    return host;
}

/* Serves all that is there; how many clients came. */
static int serve(ENetHost *host) {
    ENetEvent event;
    int came = 0;
    while (enet_host_service(host, &event, 0) > 0) {
        if (event.type == ENET_EVENT_TYPE_CONNECT) came++;
        if (event.type == ENET_EVENT_TYPE_RECEIVE) enet_packet_destroy(event.packet);
    }
    return came;
}

static ENetHost *clients(size_t slots) {
    ENetHost *host = enet_host_create(NULL, slots, 0, 0, 0);
    if (!host) fail("no host for clients");
    return host;
}

static ENetPeer *join(ENetHost *from, const ENetHost *to) {
    ENetAddress address = {.port = to->address.port};
    enet_address_set_host_ip(&address, "127.0.0.1");
    ENetPeer *peer = enet_host_connect(from, &address, CHANNELS, 0);
    if (!peer) fail("no slot for a client");
    return peer;
}

static int order(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count) {
    qsort(values, count, sizeof *values, order);
    return values[count / 2];
}

/* CPU time of a call, as the median of batches. */
static double call_s(ENetHost *host, int batch) {
    enum { BATCHES = 41 };
    double each[BATCHES];
    for (int at = 0; at < BATCHES; at++) {
        double begin = cpu_s();
        for (int call = 0; call < batch; call++) serve(host);
        each[at] = (cpu_s() - begin) / batch;
    }
    return median(each, BATCHES);
}

static void idle(long slots) {
    ENetHost *host = server(slots);
    call_s(host, 100);
    printf("{\"case\": \"idle\", \"slots\": %ld, \"us_a_call\": %.4f}\n", slots, call_s(host, 500) * 1e6);
    enet_host_destroy(host);
}

/* A host on a library of its own, and what a tick of it calls. */
struct ticking {
    ENetHost *host;
    int (*service)(ENetHost *, ENetEvent *, enet_uint32);
    void (*flush)(ENetHost *);
};

static void *symbol(void *library, const char *name) {
    void *found = dlsym(library, name);
    if (!found) fail("a library lacks a function");
    return found;
}

static struct ticking ticking(const char *path, long slots) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) fail(dlerror());
    int (*initialize)(void) = symbol(library, "enet_initialize");
    ENetHost *(*create)(const ENetAddress *, size_t, size_t, enet_uint32, enet_uint32) = symbol(library, "enet_host_create");
    ENetAddress address = {.host = ENET_HOST_ANY, .port = 0};
    if (initialize() != 0) fail("a library does not start");
    struct ticking made = {create(&address, slots, 0, 0, 0), symbol(library, "enet_host_service"), symbol(library, "enet_host_flush")};
    if (!made.host) fail("no host: there are more slots than the library allows");
    return made;
}

static void idle_ticks(long slots, char **paths) {
    enum { TICKS = 2000, WARM_UP = 10 };
    /* The third is what the measurement itself takes. */
    static double each[3][TICKS];
    struct ticking of[2] = {ticking(paths[0], slots), ticking(paths[1], slots)};
    int done[3] = {0};
    srandom(getpid());
    while (done[0] < TICKS || done[1] < TICKS || done[2] < TICKS) {
        int which = random() % 3;
        if (done[which] == TICKS) continue;
        ENetEvent event;
        double begin = cpu_s();
        if (which < 2) {
            while (of[which].service(of[which].host, &event, 0) > 0) continue;
            of[which].flush(of[which].host);
        }
        each[which][done[which]++] = cpu_s() - begin;
        tick();
    }
    double us[3];
    for (int which = 0; which < 3; which++) us[which] = median(each[which] + WARM_UP, TICKS - WARM_UP) * 1e6;
    printf("{\"case\": \"ticks\", \"slots\": %ld, \"us_a_call\": [%.4f, %.4f], \"us_of_nothing\": %.4f}\n", slots, us[0], us[1], us[2]);
}

static void stuck(long mib) {
    ENetHost *host = server(64), *from = clients(1);
    /* The library counts what is queued for a peer against this when packets come in, not when they are sent. */
    join(from, host);
    int came = 0;
    for (double begin = now_s(); !came || from->connectedPeers == 0;) {
        came += serve(host);
        serve(from);
        if (now_s() - begin > 5) fail("the client did not connect");
    }
    static char data[1024];
    for (long kib = 0; kib < mib * 1024; kib++) {
        ENetPacket *packet = enet_packet_create(data, sizeof data, ENET_PACKET_FLAG_RELIABLE);
        if (!packet || enet_peer_send(&host->peers[0], 0, packet) < 0) fail("a packet could not be queued");
    }
    /* Two seconds: it is given up after five. */
    enum { CALLS = 1000 };
    static double each[CALLS];
    double sum = 0;
    for (int at = 0; at < CALLS; at++) {
        double begin = cpu_s();
        serve(host);
        each[at] = cpu_s() - begin;
        sum += at < 10 ? 0 : each[at];
        tick();
    }
    if (host->connectedPeers != 1) fail("the client was given up too early");
    printf("{\"case\": \"stuck\", \"mib\": %ld, \"us_a_call\": %.4f, \"mean_us\": %.4f}\n", mib,
           median(each + 10, CALLS - 10) * 1e6, sum / (CALLS - 10) * 1e6);
    enet_host_destroy(from);
    enet_host_destroy(host);
}

/* A CONNECT as in the protocol, all numbers in the order of the network. */
static size_t connect_datagram(uint8_t *out, uint32_t id, uint16_t time) {
    uint8_t *at = out;
#define PUT16(value) do { uint16_t v = htons(value); memcpy(at, &v, 2); at += 2; } while (0)
#define PUT32(value) do { uint32_t v = htonl(value); memcpy(at, &v, 4); at += 4; } while (0)
    PUT16(0x8fff); /* peer 0xfff, with a time */
    PUT16(time);
    *at++ = 0x82; /* CONNECT, to be acknowledged */
    *at++ = 0xff;
    PUT16(1);
    PUT16(id & 0xfff); /* the slot that the client says it has */
    *at++ = 0xff;
    *at++ = 0xff;
    PUT32(MTU);
    PUT32(WINDOW);
    PUT32(CHANNELS);
    PUT32(0);
    PUT32(0);
    PUT32(5000);
    PUT32(2);
    PUT32(5000);
    PUT32(id);
    PUT32(0);
    return at - out;
}

static int forger(int index, uint16_t port) {
    int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000100 + index)};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (descriptor < 0 || bind(descriptor, (void *)&own, sizeof own) || connect(descriptor, (void *)&to, sizeof to))
        fail("no socket for forged datagrams");
    return descriptor;
}

static void quieten(ENetHost *host) {
    for (size_t at = 0; at < host->peerCount; at++) enet_peer_ping_interval(&host->peers[at], 1000000);
}

static void full(long slots) {
    ENetHost *host = server(slots);
    /* A host of clients may have 4,095; hosts fill the table one after the other. */
    enum { HOSTS = 32, EACH = 2000 };
    ENetHost *from[HOSTS];
    int hosts = 0;
    long taken = 0;
    while (taken < slots) {
        long more = slots - taken < EACH ? slots - taken : EACH;
        ENetHost *joining = from[hosts++] = clients(more);
        for (double begin = now_s(); more > 0 || (long)host->connectedPeers < taken;) {
            /* Few at once: sockets hold little. */
            for (int at = 0; at < 50 && more > 0; at++, more--, taken++) join(joining, host);
            /* Those who are in answer pings, or they are given up. */
            for (int at = 0; at < hosts; at++) serve(from[at]);
            serve(host);
            if (now_s() - begin > 20) fail("the table did not fill");
        }
        if (hosts == HOSTS && taken < slots) fail("too many slots");
    }
    /* No pings from here on: those of thousands would be what is measured. */
    quieten(host);
    for (int at = 0; at < hosts; at++) quieten(from[at]);
    enet_uint32 came;
    do {
        came = host->totalReceivedPackets;
        for (int at = 0; at < hosts; at++) serve(from[at]);
        serve(host);
        for (int at = 0; at < hosts; at++) serve(from[at]);
        serve(host);
    } while (host->totalReceivedPackets != came);
    enum { ROUNDS = 41, BURST = 100 };
    static double each[ROUNDS];
    int descriptor = forger(1, host->address.port);
    uint8_t datagram[64];
    uint32_t id = 1;
    for (int round = 0; round < ROUNDS; round++) {
        for (int at = 0; at < hosts; at++) serve(from[at]);
        serve(host);
        for (int at = 0; at < BURST; at++, id++)
            if (send(descriptor, datagram, connect_datagram(datagram, id, id), 0) < 0 && errno != ECONNREFUSED) fail("sending failed");
        enet_uint32 before = host->totalReceivedPackets;
        double begin = cpu_s();
        serve(host);
        each[round] = (cpu_s() - begin) / BURST;
        if (host->totalReceivedPackets - before < BURST) fail("not all CONNECTs arrived");
    }
    printf("{\"case\": \"full\", \"slots\": %ld, \"connected\": %zu, \"us_a_connect\": %.4f}\n", slots, host->connectedPeers,
           median(each, ROUNDS) * 1e6);
    /* Whoever is left finds out by himself. */
}

static void flood(long per_s, long length_s) {
    ENetHost *host = server(4095);
    int forgers[FORGERS];
    for (int at = 0; at < FORGERS; at++) forgers[at] = forger(at, host->address.port);
    uint8_t datagram[64];
    unsigned long long bytes_in = 0, bytes_out = 0, forged = 0;
    ENetHost *honest = NULL;
    double begin = now_s(), asked_s = 0, waited_s = -1, cpu = 0;
    for (double now = begin; now - begin < length_s; now = now_s()) {
        for (; forged < (now - begin) * per_s; forged++) {
            uint32_t id = forged * 2654435761u;
            ssize_t sent = send(forgers[forged % FORGERS], datagram, connect_datagram(datagram, id, forged), 0);
            if (sent > 0) bytes_in += sent;
        }
        double at = cpu_s();
        serve(host);
        cpu += cpu_s() - at;
        for (int at = 0; at < FORGERS; at++) {
            uint8_t answer[2048];
            for (ssize_t got; (got = recv(forgers[at], answer, sizeof answer, 0)) >= 0;) bytes_out += got;
        }
        /* Once the flood has had the time to fill what it can. */
        if (!honest && now - begin > 1) {
            honest = clients(1);
            join(honest, host);
            asked_s = now;
        }
        if (honest && waited_s < 0) {
            ENetEvent event;
            while (enet_host_service(honest, &event, 0) > 0) {
                if (event.type == ENET_EVENT_TYPE_CONNECT) waited_s = now_s() - asked_s;
                /* Refused: a client tries again. */
                if (event.type == ENET_EVENT_TYPE_DISCONNECT && waited_s < 0) join(honest, host);
            }
        }
        tick();
    }
    printf("{\"case\": \"flood\", \"forged\": %llu, \"seconds\": %ld, \"honest_s\": %.4f, \"bytes_out_per_in\": %.3f, "
           "\"cpu_share\": %.4f}\n", forged, length_s, waited_s, (double)bytes_out / bytes_in, cpu / length_s);
}

static void blind(void) {
    ENetHost *host = server(4);
    int from = forger(1, host->address.port);
    uint8_t datagram[64];
    /* Nothing that the server answers is read. Its first answer to the first client has the number 1, of slot 0. */
    if (send(from, datagram, connect_datagram(datagram, 7, 7), 0) < 0) fail("sending failed");
    int came = serve(host);
    uint8_t acknowledgement[] = {0x80, 0, 0, 8, 0x01, 0xff, 0, 1, 0, 1, 0, 7};
    for (int session = 0; session < 4 && !came; session++) {
        acknowledgement[0] = 0x80 | session << 4;
        if (send(from, acknowledgement, sizeof acknowledgement, 0) < 0) fail("sending failed");
        came += serve(host);
    }
    printf("{\"case\": \"blind\", \"clients\": %d}\n", came);
    enet_host_destroy(host);
}

int main(int count, char **words) {
    const char *name = count > 1 ? words[1] : "";
    if (enet_initialize() != 0) fail("the library does not start");
    if (!strcmp(name, "idle") && count == 3) idle(number(words[2], 1, 65535));
    else if (!strcmp(name, "ticks") && count == 5) idle_ticks(number(words[2], 1, 65535), words + 3);
    else if (!strcmp(name, "stuck") && count == 3) stuck(number(words[2], 1, 1024));
    else if (!strcmp(name, "full") && count == 3) full(number(words[2], 1, 60000));
    else if (!strcmp(name, "flood") && count == 4) flood(number(words[2], 1, 1000000), number(words[3], 2, 600));
    else if (!strcmp(name, "blind") && count == 2) blind();
    else fail("expected idle SLOTS, ticks SLOTS LIBRARY LIBRARY, stuck MIB, full SLOTS, flood PER_S SECONDS or blind");
    return 0;
}
