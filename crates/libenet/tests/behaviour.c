/* What a program can ask of the library, and what it is answered: a line for each. On two libraries that behave alike
 * the lines are the same. Nothing here depends on time.
 */
#include <enet/enet.h>
#include <enet/time.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAY(expression) printf("%d %s: %lld\n", __LINE__, #expression, (long long)(expression))

static int allocated, freed, callbacks, intercepted, compressed, expanded, destroyed, resent;
static ENetHost *sender;

static void *count_malloc(size_t size)
{
    allocated++;
    return malloc(size);
}

static void count_free(void *memory)
{
    freed += memory != NULL;
    free(memory);
}

/* Sends another packet from within, once. */
static void on_free(ENetPacket *packet)
{
    SAY(packet->referenceCount);
    SAY(packet->flags);
    callbacks++;
    if (!resent++)
        SAY(enet_peer_send(&sender->peers[0], 0, enet_packet_create("again", 5, 0)));
}

static int on_datagram(ENetHost *host, ENetEvent *event)
{
    (void)event;
    if (host->receivedDataLength == 5 && memcmp(host->receivedData, "hello", 5) == 0) {
        intercepted++;
        SAY(host->receivedAddress.host == inet_addr("127.0.0.1"));
        return 1;
    }
    return 0;
}

/* Whatever it is given, it is one byte shorter: the last, which is kept here, in order. */
static unsigned char kept[1 << 16];
static size_t first_kept, last_kept;

static size_t take_one(void *context, const ENetBuffer *buffers, size_t count, size_t limit, enet_uint8 *to, size_t room)
{
    size_t length = 0;
    if (context != &compressed || limit < 2)
        return 0;
    for (size_t at = 0; at < count; at++) {
        if (length + buffers[at].dataLength > room + 1)
            return 0;
        for (size_t byte = 0; byte < buffers[at].dataLength; byte++, length++) {
            if (length + 1 < limit)
                to[length] = ((enet_uint8 *)buffers[at].data)[byte];
            else
                kept[last_kept++] = ((enet_uint8 *)buffers[at].data)[byte];
        }
    }
    compressed++;
    return length - 1;
}

static size_t give_one(void *context, const enet_uint8 *from, size_t length, enet_uint8 *to, size_t room)
{
    if (context != &compressed || length + 1 > room)
        return 0;
    memcpy(to, from, length);
    to[length] = kept[first_kept++];
    expanded++;
    return length + 1;
}

static void forget(void *context)
{
    destroyed += context == &compressed;
}

static void layout(void)
{
    SAY(sizeof(ENetHost));
    SAY(sizeof(ENetPeer));
    SAY(sizeof(ENetEvent));
    SAY(sizeof(ENetPacket));
    SAY(sizeof(ENetCallbacks));
    SAY(offsetof(ENetHost, checksum));
    SAY(offsetof(ENetHost, receivedData));
    SAY(offsetof(ENetHost, duplicatePeers));
    SAY(offsetof(ENetPeer, address));
    SAY(offsetof(ENetPeer, roundTripTime));
    SAY(offsetof(ENetPeer, unsequencedWindow));
    SAY(ENET_TIME_DIFFERENCE(5u, 9u));
    SAY(ENET_TIME_LESS(5u, 9u));
    SAY(ENET_TIME_GREATER_EQUAL(0x80000000u, 0x7fffffffu));
}

static void packets(void)
{
    ENetPacket *packet = enet_packet_create("hello", 5, ENET_PACKET_FLAG_RELIABLE);
    SAY(packet->dataLength);
    SAY(packet->flags);
    SAY(packet->userData == NULL && packet->freeCallback == NULL);
    SAY(enet_packet_resize(packet, 3));
    SAY(packet->dataLength);
    SAY(enet_packet_resize(packet, 9));
    SAY(packet->dataLength);
    SAY(memcmp(packet->data, "hel", 3));
    enet_packet_destroy(packet);
    packet = enet_packet_create(NULL, 0, 0);
    SAY(packet->data == NULL);
    enet_packet_destroy(packet);
    char own[] = "own";
    packet = enet_packet_create(own, 3, ENET_PACKET_FLAG_NO_ALLOCATE);
    SAY((char *)packet->data == own);
    SAY(enet_packet_resize(packet, 2));
    enet_packet_destroy(packet);
    enet_packet_destroy(NULL);
    SAY(allocated);
    SAY(freed);
}

static void lists(void)
{
    ENetList list;
    ENetListNode nodes[4];
    enet_list_clear(&list);
    SAY(enet_list_empty(&list));
    for (int at = 0; at < 4; at++)
        enet_list_insert(enet_list_end(&list), &nodes[at]);
    SAY(enet_list_size(&list));
    enet_list_move(enet_list_begin(&list), &nodes[2], &nodes[3]);
    SAY((ENetListNode *)enet_list_front(&list) - nodes);
    SAY((ENetListNode *)enet_list_back(&list) - nodes);
    SAY((ENetListNode *)enet_list_remove(&nodes[2]) - nodes);
    SAY(enet_list_size(&list));
}

static void addresses(void)
{
    ENetAddress address = {0, 80};
    char name[64] = "";
    SAY(enet_address_set_host_ip(&address, "1.2.3.4"));
    SAY(address.host == inet_addr("1.2.3.4"));
    SAY(enet_address_set_host_ip(&address, "1.2.3"));
    SAY(enet_address_set_host_ip(&address, "nonsense"));
    SAY(enet_address_get_host_ip(&address, name, sizeof name));
    SAY(strcmp(name, "1.2.3.4"));
    SAY(enet_address_get_host_ip(&address, name, 7));
    SAY(enet_address_get_host_ip(&address, name, 8));
    SAY(enet_address_set_host(&address, "127.0.0.1"));
    SAY(address.host == inet_addr("127.0.0.1"));
    SAY(address.port);
}

static void codes(void)
{
    unsigned char text[600], packed[600], back[600];
    for (size_t at = 0; at < sizeof text; at++)
        text[at] = "some words, some words again"[at % 28];
    ENetBuffer buffers[3] = {{text, 100}, {text + 100, 1}, {text + 101, 499}}, all = {text, 600};
    SAY(enet_crc32(&all, 1));
    SAY(enet_crc32(buffers, 3));
    SAY(enet_crc32(buffers, 0));
    void *coder = enet_range_coder_create();
    size_t length = enet_range_coder_compress(coder, buffers, 3, 600, packed, 600);
    SAY(length);
    ENetBuffer result = {packed, length};
    SAY(enet_crc32(&result, 1));
    SAY(enet_range_coder_compress(coder, buffers, 3, 600, back, length - 1));
    SAY(enet_range_coder_decompress(coder, packed, length, back, 600));
    SAY(memcmp(text, back, 600));
    SAY(enet_range_coder_decompress(coder, packed, length, back, 599));
    enet_range_coder_destroy(coder);
}

static void show(const ENetPeer *peer)
{
    SAY(peer->state);
    SAY(peer->channelCount);
    SAY(peer->mtu);
    SAY(peer->windowSize);
    SAY(peer->roundTripTime < 500);
    SAY(peer->packetThrottle);
    SAY(peer->packetThrottleLimit);
    SAY(peer->packetThrottleInterval);
    SAY(peer->pingInterval);
    SAY(peer->timeoutLimit);
    SAY(peer->timeoutMinimum);
    SAY(peer->timeoutMaximum);
    SAY(peer->incomingBandwidth);
    SAY(peer->outgoingBandwidth);
    SAY(peer->totalWaitingData);
    SAY(peer->incomingPeerID);
}

/* Serves both until `host` has an event. */
static ENetEvent until(ENetHost *host, ENetHost *other)
{
    ENetEvent event;
    for (int tries = 0; tries < 5000; tries++) {
        if (enet_host_service(host, &event, 1) > 0)
            return event;
        enet_host_service(other, NULL, 0);
    }
    puts("nothing happened");
    exit(1);
}

static void hosts(void)
{
    ENetAddress loopback = {inet_addr("127.0.0.1"), 0};
    ENetHost *host = enet_host_create(&loopback, 2, 0, 0, 50000);
    ENetHost *taken = enet_host_create(&host->address, 1, 0, 0, 0);
    SAY(taken == NULL);
    sender = enet_host_create(NULL, 1, 300, 0, 0);
    SAY(host->peerCount);
    SAY(host->channelLimit);
    SAY(sender->channelLimit);
    SAY(host->mtu);
    SAY(host->duplicatePeers);
    SAY(host->maximumPacketSize);
    SAY(host->maximumWaitingData);
    SAY(host->outgoingBandwidth);
    SAY(sender->address.host);
    SAY(sender->address.port);
    SAY(host->peers[1].outgoingPeerID);
    SAY(host->peers[1].outgoingSessionID);
    show(&host->peers[1]);
    enet_host_channel_limit(host, 2);
    SAY(enet_peer_send(&host->peers[1], 0, NULL));
    SAY(enet_peer_receive(&host->peers[1], NULL) == NULL);

    ENetCompressor compressor = {&compressed, take_one, give_one, forget};
    enet_host_compress(host, &compressor);
    compressor.destroy = NULL;
    enet_host_compress(sender, &compressor);

    enet_peer_ping_interval(&sender->peers[0], 700);
    enet_peer_timeout(&sender->peers[0], 0, 6000, 0);
    ENetPeer *peer = enet_host_connect(sender, &host->address, 5, 12);
    SAY(peer == sender->peers);
    SAY(enet_host_connect(sender, &host->address, 5, 12) == NULL);
    ENetEvent event = until(host, sender);
    SAY(event.type);
    SAY(event.data);
    SAY(event.peer - host->peers);
    SAY(host->connectedPeers);
    show(event.peer);
    event = until(sender, host);
    SAY(event.type);
    SAY(event.data);
    show(peer);
    SAY(enet_host_check_events(sender, &event));
    SAY(event.type);
    SAY(enet_host_check_events(sender, NULL));

    /* What freeCallback sends goes too. */
    ENetPacket *packet = enet_packet_create("once", 4, 0);
    packet->freeCallback = on_free;
    SAY(enet_peer_send(peer, 2, packet));
    SAY(enet_peer_send(peer, 1, packet));
    event = until(host, sender);
    SAY(event.channelID);
    SAY(memcmp(event.packet->data, "once", 4));
    enet_packet_destroy(event.packet);
    SAY(callbacks);
    event = until(host, sender);
    SAY(memcmp(event.packet->data, "again", 5));
    enet_packet_destroy(event.packet);
    SAY(compressed == expanded || compressed == expanded + 1);

    /* A reference of the program's own keeps a packet. */
    packet = enet_packet_create("all", 3, ENET_PACKET_FLAG_RELIABLE);
    packet->referenceCount++;
    enet_host_broadcast(host, 0, packet);
    SAY(packet->referenceCount);
    event = until(sender, host);
    SAY(event.packet->dataLength);
    enet_packet_destroy(event.packet);
    for (int tries = 0; tries < 5000 && packet->referenceCount > 1; tries++) {
        enet_host_service(host, NULL, 1);
        enet_host_service(sender, NULL, 0);
    }
    SAY(packet->referenceCount);
    packet->referenceCount = 0;
    enet_packet_destroy(packet);
    enet_host_broadcast(sender, 7, enet_packet_create("nobody", 6, 0));
    sender->maximumPacketSize = 10;
    packet = enet_packet_create("eleven byte", 11, 0);
    SAY(enet_peer_send(peer, 0, packet));
    enet_packet_destroy(packet);

    /* A datagram for the program, from a socket of its own. */
    host->intercept = on_datagram;
    ENetSocket socket = enet_socket_create(ENET_SOCKET_TYPE_DATAGRAM);
    ENetBuffer hello = {"hello", 5};
    SAY(enet_socket_send(socket, &host->address, &hello, 1));
    for (int tries = 0; tries < 5000 && !intercepted; tries++)
        enet_host_service(host, NULL, 1);
    SAY(intercepted);
    SAY(enet_socket_set_option(socket, ENET_SOCKOPT_NONBLOCK, 1));
    SAY(enet_socket_receive(socket, NULL, &hello, 1));
    enet_uint32 condition = ENET_SOCKET_WAIT_SEND;
    SAY(enet_socket_wait(socket, &condition, 0));
    SAY(condition);
    int error = -1;
    SAY(enet_socket_get_option(socket, ENET_SOCKOPT_ERROR, &error));
    SAY(error);
    enet_socket_destroy(socket);

    enet_peer_disconnect_now(peer, 99);
    show(peer);
    SAY(sender->connectedPeers);
    event = until(host, sender);
    SAY(event.type);
    SAY(event.data);
    show(event.peer);
    SAY(host->connectedPeers);
    enet_host_destroy(sender);
    enet_host_destroy(host);
    SAY(destroyed);
    SAY(allocated > 0);
}

int main(void)
{
    ENetCallbacks callbacks_of_half = {count_malloc, NULL, NULL}, callbacks_of_both = {count_malloc, count_free, NULL};
    SAY(enet_linked_version());
    SAY(enet_initialize_with_callbacks(ENET_VERSION_CREATE(1, 2, 9), &callbacks_of_both));
    SAY(enet_initialize_with_callbacks(ENET_VERSION, &callbacks_of_half));
    SAY(enet_initialize_with_callbacks(ENET_VERSION, &callbacks_of_both));
    enet_time_set(1000000);
    SAY(enet_time_get() - 1000000 < 1000);
    layout();
    packets();
    lists();
    addresses();
    codes();
    for (int code = 0; code < 16; code++)
        SAY(code == 0 || code > 12 ? 0 : enet_protocol_command_size((enet_uint8)(code | 0x80)));
    hosts();
    return 0;
}
