/* One end of a conversation over a real socket, against the public header of the stock library:
 *
 *   conversation server CHECKSUM RANGE_CODER          prints its port; sends every packet back as it came
 *   conversation client CHECKSUM RANGE_CODER PORT [ADDRESS]
 *                                                     sends packets of every kind, and checks what comes back
 *
 * Both end with 0 when all was as it should be, and say what was not otherwise.
 */
#include <enet/enet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHANNELS = 3, PACKETS = 120, HELLO = 0xcafe, BYE = 0xbeef, PATIENCE_MS = 30000 };

#define CHECK(condition)                                                                   \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            fprintf(stderr, "%s: line %d: not so: %s\n", role, __LINE__, #condition);      \
            exit(1);                                                                       \
        }                                                                                  \
    } while (0)

static const char *role;
static const char *server_address = "127.0.0.1";
static enet_uint32 started;
static int freed;

static const enet_uint32 kinds[] = {ENET_PACKET_FLAG_RELIABLE, 0, ENET_PACKET_FLAG_UNSEQUENCED,
                                    ENET_PACKET_FLAG_UNRELIABLE_FRAGMENT, ENET_PACKET_FLAG_RELIABLE};
static const size_t lengths[] = {40, 30, 20, 5000, 20000};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void on_free(ENetPacket *packet)
{
    (void)packet;
    freed++;
}

static int next(ENetHost *host, ENetEvent *event)
{
    CHECK(enet_time_get() - started < PATIENCE_MS);
    int happened = enet_host_service(host, event, 100);
    CHECK(happened >= 0);
    return happened;
}

static ENetHost *open_host(int is_server, int checksum, int coder)
{
    ENetAddress address = {0, ENET_PORT_ANY};
    CHECK(enet_address_set_host_ip(&address, "127.0.0.1") == 0);
    ENetHost *host = enet_host_create(is_server ? &address : NULL, is_server ? 32 : 1, CHANNELS, 0, 0);
    CHECK(host);
    if (checksum)
        host->checksum = enet_crc32;
    if (coder)
        CHECK(enet_host_compress_with_range_coder(host) == 0);
    return host;
}

static void check_peer(ENetHost *host, ENetPeer *peer)
{
    CHECK(peer->host == host);
    CHECK(peer >= host->peers && peer < host->peers + host->peerCount);
    CHECK(peer->state == ENET_PEER_STATE_CONNECTED);
    CHECK(peer->channelCount == CHANNELS);
    CHECK(peer->address.host == inet_addr(server_address));
    CHECK(peer->mtu >= 576 && peer->mtu <= 1400);
    CHECK(host->connectedPeers == 1);
}

static int serve(int checksum, int coder)
{
    ENetHost *host = open_host(1, checksum, coder);
    ENetEvent event;
    CHECK(host->address.port != 0);
    printf("%u\n", host->address.port);
    fflush(stdout);
    for (int here = 0;;) {
        if (next(host, &event) == 0)
            continue;
        if (event.type == ENET_EVENT_TYPE_CONNECT) {
            CHECK(event.data == HELLO);
            check_peer(host, event.peer);
            event.peer->data = &here;
        } else if (event.type == ENET_EVENT_TYPE_RECEIVE) {
            check_peer(host, event.peer);
            CHECK(event.peer->data == &here);
            /* The received packet itself goes back, as many servers do it. */
            CHECK(enet_peer_send(event.peer, event.channelID, event.packet) == 0);
        } else {
            CHECK(event.data == BYE);
            CHECK(event.peer->data == &here);
            CHECK(event.peer->state == ENET_PEER_STATE_DISCONNECTED);
            CHECK(host->connectedPeers == 0);
            break;
        }
    }
    CHECK(host->totalReceivedPackets > 0 && host->totalSentPackets > 0);
    enet_host_destroy(host);
    return 0;
}

static enet_uint8 byte(uint32_t number, size_t at)
{
    return (enet_uint8)(number * 31 + at / 7);
}

static void send_packet(ENetPeer *peer, uint32_t number)
{
    size_t length = lengths[number % KINDS];
    ENetPacket *packet = enet_packet_create(NULL, length, kinds[number % KINDS]);
    CHECK(packet && packet->dataLength == length && packet->referenceCount == 0);
    for (size_t at = 0; at < length; at++)
        packet->data[at] = byte(number, at);
    memcpy(packet->data, &number, sizeof number);
    packet->freeCallback = on_free;
    CHECK(enet_peer_send(peer, CHANNELS, packet) < 0 && packet->referenceCount == 0);
    CHECK(enet_peer_send(peer, (enet_uint8)(number % CHANNELS), packet) == 0);
    CHECK(packet->referenceCount > 0);
}

static int converse(int checksum, int coder, enet_uint16 port)
{
    ENetHost *host = open_host(0, checksum, coder);
    ENetAddress address = {inet_addr(server_address), port};
    ENetPeer *peer = enet_host_connect(host, &address, CHANNELS, HELLO);
    ENetEvent event;
    uint32_t sent = 0, reliable = 0, others = 0, last[CHANNELS] = {0};
    int mark, is_leaving = 0;
    CHECK(peer && peer->state == ENET_PEER_STATE_CONNECTING);
    CHECK(enet_host_connect(host, &address, CHANNELS, HELLO) == NULL);
    peer->data = &mark;
    for (;;) {
        int happened = next(host, &event);
        if (happened && event.type == ENET_EVENT_TYPE_CONNECT) {
            CHECK(event.peer == peer && event.data == 0);
            check_peer(host, peer);
        } else if (happened && event.type == ENET_EVENT_TYPE_RECEIVE) {
            uint32_t number;
            ENetPacket *packet = event.packet;
            check_peer(host, peer);
            CHECK(packet->dataLength >= sizeof number);
            memcpy(&number, packet->data, sizeof number);
            CHECK(number < sent && event.channelID == number % CHANNELS);
            CHECK(packet->dataLength == lengths[number % KINDS] && packet->flags == kinds[number % KINDS]);
            for (size_t at = sizeof number; at < packet->dataLength; at++)
                CHECK(packet->data[at] == byte(number, at));
            if (packet->flags & ENET_PACKET_FLAG_RELIABLE) {
                CHECK(last[event.channelID] <= number);
                last[event.channelID] = number + 1;
                reliable++;
            } else {
                others++;
            }
            enet_packet_destroy(packet);
        } else if (happened && event.type == ENET_EVENT_TYPE_DISCONNECT) {
            CHECK(is_leaving && event.peer == peer && peer->data == &mark);
            break;
        }
        for (int burst = 0; burst < 5 && sent < PACKETS && peer->state == ENET_PEER_STATE_CONNECTED; burst++)
            send_packet(peer, sent++);
        if (reliable == PACKETS * 2 / KINDS && !is_leaving) {
            CHECK(peer->roundTripTime < 500);
            is_leaving = 1;
            enet_peer_disconnect(peer, BYE);
            CHECK(peer->state == ENET_PEER_STATE_DISCONNECTING);
        }
    }
    CHECK(others > 0);
    CHECK(peer->state == ENET_PEER_STATE_DISCONNECTED);
    CHECK(host->totalSentData > 0 && host->totalReceivedData > 0);
    enet_host_destroy(host);
    CHECK(freed == PACKETS);
    return 0;
}

int main(int count, char **arguments)
{
    if (count < 4)
        return 2;
    role = arguments[1];
    CHECK(enet_initialize() == 0);
    started = enet_time_get();
    int checksum = atoi(arguments[2]), coder = atoi(arguments[3]);
    if (strcmp(role, "server") == 0)
        return serve(checksum, coder);
    if (count > 5)
        server_address = arguments[5];
    return count < 5 ? 2 : converse(checksum, coder, (enet_uint16)atoi(arguments[4]));
}
