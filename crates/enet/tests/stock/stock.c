/* A stock host under a clock and on a network that the test holds: requests on standard input, answers on standard
 * output. The functions of the library that touch the world are replaced by those below, as a program's own functions
 * come before those of the libraries it is linked to.
 *
 * Requests, numbers in the byte order of the machine:
 *   N u32 peers, u32 mtu, u8 checksum, u8 range coder        a host
 *   T u32 now                                                the time
 *   D u32 address, u16 port, u32 length, bytes               a datagram for the next service
 *   S                                                        service until nothing happens
 *   C u32 address, u16 port, u32 channels, u32 data          connect
 *   P u32 peer, u8 channel, u32 flags, u32 length, bytes     send
 *   B u32 incoming, u32 outgoing                             bandwidths, in bytes a second
 *   X u32 peer, u8 kind, u32 data                            disconnect: 0, now: 1, later: 2, reset: 3
 * Answers:
 *   E u8 kind, u32 peer, u8 channel, u32 data, u32 flags, u32 length, bytes    an event
 *   O u32 address, u16 port, u32 length, bytes                                 a datagram
 *   .                                                                          the end of a request
 */
#include <enet/enet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t now;
static ENetHost *host;

struct datagram {
    struct datagram *next;
    ENetAddress from;
    uint32_t length;
    unsigned char bytes[];
};
static struct datagram *first, **last = &first;

static void put(const void *bytes, size_t length)
{
    if (length && fwrite(bytes, length, 1, stdout) != 1)
        exit(3);
}

static void put_address(const ENetAddress *address)
{
    put(&address->host, 4);
    put(&address->port, 2);
}

static void get(void *bytes, size_t length)
{
    if (length && fread(bytes, length, 1, stdin) != 1)
        exit(0);
}

static uint32_t get_u32(void)
{
    uint32_t number;
    get(&number, 4);
    return number;
}

static uint8_t get_u8(void)
{
    uint8_t number;
    get(&number, 1);
    return number;
}

static ENetAddress get_address(void)
{
    ENetAddress address;
    address.host = get_u32();
    get(&address.port, 2);
    return address;
}

enet_uint32 enet_time_get(void)
{
    return now;
}

ENetSocket enet_socket_create(ENetSocketType type)
{
    (void)type;
    return 0;
}

void enet_socket_destroy(ENetSocket socket)
{
    (void)socket;
}

int enet_socket_bind(ENetSocket socket, const ENetAddress *address)
{
    (void)socket, (void)address;
    return 0;
}

int enet_socket_get_address(ENetSocket socket, ENetAddress *address)
{
    (void)socket, (void)address;
    return -1;
}

int enet_socket_set_option(ENetSocket socket, ENetSocketOption option, int value)
{
    (void)socket, (void)option, (void)value;
    return 0;
}

int enet_socket_wait(ENetSocket socket, enet_uint32 *condition, enet_uint32 timeout)
{
    (void)socket, (void)timeout;
    *condition = ENET_SOCKET_WAIT_NONE;
    return 0;
}

int enet_socket_send(ENetSocket socket, const ENetAddress *to, const ENetBuffer *buffers, size_t count)
{
    uint32_t length = 0;
    (void)socket;
    for (size_t at = 0; at < count; at++)
        length += (uint32_t)buffers[at].dataLength;
    put("O", 1);
    put_address(to);
    put(&length, 4);
    for (size_t at = 0; at < count; at++)
        put(buffers[at].data, buffers[at].dataLength);
    return (int)length;
}

int enet_socket_receive(ENetSocket socket, ENetAddress *from, ENetBuffer *buffers, size_t count)
{
    struct datagram *datagram = first;
    (void)socket, (void)count;
    if (!datagram)
        return 0;
    first = datagram->next;
    if (!first)
        last = &first;
    int length = (int)datagram->length;
    *from = datagram->from;
    if (datagram->length > buffers[0].dataLength)
        length = -2;
    else
        memcpy(buffers[0].data, datagram->bytes, datagram->length);
    free(datagram);
    return length;
}

static void service(void)
{
    ENetEvent event;
    int happened;
    do {
        happened = enet_host_service(host, &event, 0);
        if (happened <= 0)
            continue;
        uint8_t kind = (uint8_t)event.type;
        uint32_t peer = (uint32_t)(event.peer - host->peers), data = event.data, flags = 0, length = 0;
        if (event.type == ENET_EVENT_TYPE_RECEIVE) {
            flags = event.packet->flags;
            length = (uint32_t)event.packet->dataLength;
        }
        put("E", 1);
        put(&kind, 1);
        put(&peer, 4);
        put(&event.channelID, 1);
        put(&data, 4);
        put(&flags, 4);
        put(&length, 4);
        if (event.type == ENET_EVENT_TYPE_RECEIVE) {
            put(event.packet->data, length);
            enet_packet_destroy(event.packet);
        }
    } while (happened > 0 || first);
}

int main(void)
{
    for (;;) {
        switch (get_u8()) {
        case 'N': {
            uint32_t peers = get_u32(), mtu = get_u32();
            uint8_t checksum = get_u8(), coder = get_u8();
            ENetAddress any = {ENET_HOST_ANY, 1};
            host = enet_host_create(&any, peers, 0, 0, 0);
            if (!host)
                return 2;
            host->mtu = mtu;
            if (checksum)
                host->checksum = enet_crc32;
            if (coder)
                enet_host_compress_with_range_coder(host);
            break;
        }
        case 'T':
            now = get_u32();
            break;
        case 'D': {
            ENetAddress from = get_address();
            uint32_t length = get_u32();
            struct datagram *datagram = malloc(sizeof *datagram + length);
            datagram->next = NULL;
            datagram->from = from;
            datagram->length = length;
            get(datagram->bytes, length);
            *last = datagram;
            last = &datagram->next;
            break;
        }
        case 'S':
            service();
            break;
        case 'C': {
            ENetAddress to = get_address();
            uint32_t channels = get_u32(), data = get_u32();
            enet_host_connect(host, &to, channels, data);
            break;
        }
        case 'P': {
            uint32_t peer = get_u32();
            uint8_t channel = get_u8();
            uint32_t flags = get_u32(), length = get_u32();
            ENetPacket *packet = enet_packet_create(NULL, length, flags);
            get(packet->data, length);
            if (enet_peer_send(&host->peers[peer], channel, packet) < 0)
                enet_packet_destroy(packet);
            break;
        }
        case 'B': {
            uint32_t incoming = get_u32(), outgoing = get_u32();
            enet_host_bandwidth_limit(host, incoming, outgoing);
            break;
        }
        case 'X': {
            uint32_t peer = get_u32();
            uint8_t kind = get_u8();
            uint32_t data = get_u32();
            ENetPeer *whom = &host->peers[peer];
            if (kind == 0)
                enet_peer_disconnect(whom, data);
            else if (kind == 1)
                enet_peer_disconnect_now(whom, data);
            else if (kind == 2)
                enet_peer_disconnect_later(whom, data);
            else
                enet_peer_reset(whom);
            break;
        }
        default:
            return 4;
        }
        put(".", 1);
        fflush(stdout);
    }
}
