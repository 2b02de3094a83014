/* The ENet 1.3 interface, as programs for libenet.so.7 know it. Sizes, offsets and numbers are those of the stock
 * library 1.3.17, so that programs built with either header run on either library.
 *
 * Fields marked "program" may be written between calls; all others are only to be read.
 */
#ifndef PRONY_ENET_ENET_H
#define PRONY_ENET_ENET_H

#include <arpa/inet.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/select.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ENET_VERSION_MAJOR 1
#define ENET_VERSION_MINOR 3
#define ENET_VERSION_PATCH 17
#define ENET_VERSION_CREATE(major, minor, patch) (((major) << 16) | ((minor) << 8) | (patch))
#define ENET_VERSION_GET_MAJOR(version) (((version) >> 16) & 0xff)
#define ENET_VERSION_GET_MINOR(version) (((version) >> 8) & 0xff)
#define ENET_VERSION_GET_PATCH(version) ((version) & 0xff)
#define ENET_VERSION ENET_VERSION_CREATE(ENET_VERSION_MAJOR, ENET_VERSION_MINOR, ENET_VERSION_PATCH)

#define ENET_API extern
#define ENET_CALLBACK

typedef uint8_t enet_uint8;
typedef uint16_t enet_uint16;
typedef uint32_t enet_uint32;
typedef enet_uint32 ENetVersion;

#define ENET_HOST_TO_NET_16(value) (htons(value))
#define ENET_HOST_TO_NET_32(value) (htonl(value))
#define ENET_NET_TO_HOST_16(value) (ntohs(value))
#define ENET_NET_TO_HOST_32(value) (ntohl(value))

/* Lists whose links are the first member of what they link. */
typedef struct _ENetListNode {
    struct _ENetListNode *next, *previous;
} ENetListNode;
typedef ENetListNode *ENetListIterator;
typedef struct _ENetList {
    ENetListNode sentinel;
} ENetList;
#define enet_list_begin(list) ((list)->sentinel.next)
#define enet_list_end(list) (&(list)->sentinel)
#define enet_list_empty(list) (enet_list_begin(list) == enet_list_end(list))
#define enet_list_next(iterator) ((iterator)->next)
#define enet_list_previous(iterator) ((iterator)->previous)
#define enet_list_front(list) ((void *)(list)->sentinel.next)
#define enet_list_back(list) ((void *)(list)->sentinel.previous)
ENET_API void enet_list_clear(ENetList *list);
ENET_API ENetListIterator enet_list_insert(ENetListIterator position, void *data);
ENET_API void *enet_list_remove(ENetListIterator position);
ENET_API ENetListIterator enet_list_move(ENetListIterator position, void *first, void *last);
ENET_API size_t enet_list_size(ENetList *list);

/* Sockets. */
typedef int ENetSocket;
typedef fd_set ENetSocketSet;
#define ENET_SOCKET_NULL (-1)
#define ENET_SOCKETSET_EMPTY(set) FD_ZERO(&(set))
#define ENET_SOCKETSET_ADD(set, socket) FD_SET(socket, &(set))
#define ENET_SOCKETSET_REMOVE(set, socket) FD_CLR(socket, &(set))
#define ENET_SOCKETSET_CHECK(set, socket) FD_ISSET(socket, &(set))
typedef enum _ENetSocketType { ENET_SOCKET_TYPE_STREAM = 1, ENET_SOCKET_TYPE_DATAGRAM = 2 } ENetSocketType;
typedef enum _ENetSocketWait {
    ENET_SOCKET_WAIT_NONE = 0,
    ENET_SOCKET_WAIT_SEND = 1,
    ENET_SOCKET_WAIT_RECEIVE = 2,
    ENET_SOCKET_WAIT_INTERRUPT = 4
} ENetSocketWait;
typedef enum _ENetSocketOption {
    ENET_SOCKOPT_NONBLOCK = 1,
    ENET_SOCKOPT_BROADCAST,
    ENET_SOCKOPT_RCVBUF,
    ENET_SOCKOPT_SNDBUF,
    ENET_SOCKOPT_REUSEADDR,
    ENET_SOCKOPT_RCVTIMEO,
    ENET_SOCKOPT_SNDTIMEO,
    ENET_SOCKOPT_ERROR,
    ENET_SOCKOPT_NODELAY
} ENetSocketOption;
typedef enum _ENetSocketShutdown {
    ENET_SOCKET_SHUTDOWN_READ,
    ENET_SOCKET_SHUTDOWN_WRITE,
    ENET_SOCKET_SHUTDOWN_READ_WRITE
} ENetSocketShutdown;

/* `host` is in the byte order of the network, `port` in that of the machine. */
typedef struct _ENetAddress {
    enet_uint32 host;
    enet_uint16 port;
} ENetAddress;
#define ENET_HOST_ANY 0
#define ENET_HOST_BROADCAST 0xffffffffu
#define ENET_PORT_ANY 0

typedef struct {
    void *data;
    size_t dataLength;
} ENetBuffer;

ENET_API ENetSocket enet_socket_create(ENetSocketType type);
ENET_API int enet_socket_bind(ENetSocket socket, const ENetAddress *address);
ENET_API int enet_socket_get_address(ENetSocket socket, ENetAddress *address);
ENET_API int enet_socket_listen(ENetSocket socket, int backlog);
ENET_API ENetSocket enet_socket_accept(ENetSocket socket, ENetAddress *address);
ENET_API int enet_socket_connect(ENetSocket socket, const ENetAddress *address);
ENET_API int enet_socket_send(ENetSocket socket, const ENetAddress *to, const ENetBuffer *buffers, size_t count);
ENET_API int enet_socket_receive(ENetSocket socket, ENetAddress *from, ENetBuffer *buffers, size_t count);
ENET_API int enet_socket_wait(ENetSocket socket, enet_uint32 *condition, enet_uint32 timeout);
ENET_API int enet_socket_set_option(ENetSocket socket, ENetSocketOption option, int value);
ENET_API int enet_socket_get_option(ENetSocket socket, ENetSocketOption option, int *value);
ENET_API int enet_socket_shutdown(ENetSocket socket, ENetSocketShutdown how);
ENET_API void enet_socket_destroy(ENetSocket socket);
ENET_API int enet_socketset_select(ENetSocket highest, ENetSocketSet *read, ENetSocketSet *write, enet_uint32 timeout);
ENET_API int enet_address_set_host_ip(ENetAddress *address, const char *name);
ENET_API int enet_address_set_host(ENetAddress *address, const char *name);
ENET_API int enet_address_get_host_ip(const ENetAddress *address, char *name, size_t length);
ENET_API int enet_address_get_host(const ENetAddress *address, char *name, size_t length);

/* Packets. One that was sent belongs to the library, until its last peer needs it no more. */
typedef enum _ENetPacketFlag {
    ENET_PACKET_FLAG_RELIABLE = 1,
    ENET_PACKET_FLAG_UNSEQUENCED = 2,
    ENET_PACKET_FLAG_NO_ALLOCATE = 4,
    ENET_PACKET_FLAG_UNRELIABLE_FRAGMENT = 8,
    ENET_PACKET_FLAG_SENT = 256
} ENetPacketFlag;
struct _ENetPacket;
typedef void(ENET_CALLBACK *ENetPacketFreeCallback)(struct _ENetPacket *packet);
typedef struct _ENetPacket {
    size_t referenceCount; /* program: its own references */
    enet_uint32 flags;
    enet_uint8 *data;
    size_t dataLength;
    ENetPacketFreeCallback freeCallback; /* program */
    void *userData;                      /* program */
} ENetPacket;
ENET_API ENetPacket *enet_packet_create(const void *data, size_t length, enet_uint32 flags);
ENET_API void enet_packet_destroy(ENetPacket *packet);
ENET_API int enet_packet_resize(ENetPacket *packet, size_t length);
ENET_API enet_uint32 enet_crc32(const ENetBuffer *buffers, size_t count);

enum {
    ENET_PROTOCOL_MINIMUM_MTU = 576,
    ENET_PROTOCOL_MAXIMUM_MTU = 4096,
    ENET_PROTOCOL_MAXIMUM_PACKET_COMMANDS = 32,
    ENET_PROTOCOL_MINIMUM_WINDOW_SIZE = 4096,
    ENET_PROTOCOL_MAXIMUM_WINDOW_SIZE = 65536,
    ENET_PROTOCOL_MINIMUM_CHANNEL_COUNT = 1,
    ENET_PROTOCOL_MAXIMUM_CHANNEL_COUNT = 255,
    ENET_PROTOCOL_MAXIMUM_PEER_ID = 0xfff,
    ENET_HOST_DEFAULT_MTU = 1400,
    ENET_PEER_PACKET_THROTTLE_SCALE = 32,
    ENET_PEER_PACKET_LOSS_SCALE = 65536,
    ENET_PEER_PING_INTERVAL = 500,
    ENET_PEER_TIMEOUT_LIMIT = 32,
    ENET_PEER_TIMEOUT_MINIMUM = 5000,
    ENET_PEER_TIMEOUT_MAXIMUM = 30000
};

typedef enum _ENetPeerState {
    ENET_PEER_STATE_DISCONNECTED,
    ENET_PEER_STATE_CONNECTING,
    ENET_PEER_STATE_ACKNOWLEDGING_CONNECT,
    ENET_PEER_STATE_CONNECTION_PENDING,
    ENET_PEER_STATE_CONNECTION_SUCCEEDED,
    ENET_PEER_STATE_CONNECTED,
    ENET_PEER_STATE_DISCONNECT_LATER,
    ENET_PEER_STATE_DISCONNECTING,
    ENET_PEER_STATE_ACKNOWLEDGING_DISCONNECT,
    ENET_PEER_STATE_ZOMBIE
} ENetPeerState;

struct _ENetHost;

/* Peers lie one behind the other in `host->peers`. */
typedef struct _ENetPeer {
    ENetListNode dispatchList;
    struct _ENetHost *host;
    enet_uint16 outgoingPeerID, incomingPeerID;
    enet_uint32 connectID;
    enet_uint8 outgoingSessionID, incomingSessionID;
    ENetAddress address;
    void *data; /* program */
    ENetPeerState state;
    struct _ENetChannel *channels; /* null on this library */
    size_t channelCount;
    enet_uint32 incomingBandwidth, outgoingBandwidth; /* bytes a second, 0: any */
    enet_uint32 incomingBandwidthThrottleEpoch, outgoingBandwidthThrottleEpoch;
    enet_uint32 incomingDataTotal, outgoingDataTotal;
    enet_uint32 lastSendTime, lastReceiveTime, nextTimeout, earliestTimeout;
    enet_uint32 packetLossEpoch, packetsSent, packetsLost;
    enet_uint32 packetLoss, packetLossVariance;      /* of ENET_PEER_PACKET_LOSS_SCALE */
    enet_uint32 packetThrottle, packetThrottleLimit; /* program; of ENET_PEER_PACKET_THROTTLE_SCALE */
    enet_uint32 packetThrottleCounter, packetThrottleEpoch;
    enet_uint32 packetThrottleAcceleration, packetThrottleDeceleration, packetThrottleInterval;
    enet_uint32 pingInterval, timeoutLimit, timeoutMinimum, timeoutMaximum; /* program */
    enet_uint32 lastRoundTripTime, lowestRoundTripTime;
    enet_uint32 lastRoundTripTimeVariance, highestRoundTripTimeVariance;
    enet_uint32 roundTripTime, roundTripTimeVariance; /* milliseconds */
    enet_uint32 mtu, windowSize, reliableDataInTransit;
    enet_uint16 outgoingReliableSequenceNumber;
    /* Empty on this library. */
    ENetList acknowledgements, sentReliableCommands, sentUnreliableCommands, outgoingCommands, dispatchedCommands;
    enet_uint16 flags, reserved;
    enet_uint16 incomingUnsequencedGroup, outgoingUnsequencedGroup;
    enet_uint32 unsequencedWindow[32];
    enet_uint32 eventData;
    size_t totalWaitingData;
} ENetPeer;

typedef struct _ENetCompressor {
    void *context; /* none is in use while it is null */
    size_t(ENET_CALLBACK *compress)(void *context, const ENetBuffer *buffers, size_t count, size_t inLimit,
                                    enet_uint8 *out, size_t outLimit);
    size_t(ENET_CALLBACK *decompress)(void *context, const enet_uint8 *in, size_t inLimit, enet_uint8 *out,
                                      size_t outLimit);
    void(ENET_CALLBACK *destroy)(void *context);
} ENetCompressor;

typedef enum _ENetEventType {
    ENET_EVENT_TYPE_NONE,
    ENET_EVENT_TYPE_CONNECT,
    ENET_EVENT_TYPE_DISCONNECT,
    ENET_EVENT_TYPE_RECEIVE
} ENetEventType;
typedef struct _ENetEvent {
    ENetEventType type;
    ENetPeer *peer;
    enet_uint8 channelID;
    enet_uint32 data;   /* of the other end's connect or disconnect */
    ENetPacket *packet; /* the program's to destroy or to send on */
} ENetEvent;

typedef enet_uint32(ENET_CALLBACK *ENetChecksumCallback)(const ENetBuffer *buffers, size_t count);
/* 1: the datagram is the program's; 0: it is the host's; -1: the service fails. */
typedef int(ENET_CALLBACK *ENetInterceptCallback)(struct _ENetHost *host, ENetEvent *event);

typedef struct _ENetHost {
    ENetSocket socket;
    ENetAddress address;
    enet_uint32 incomingBandwidth, outgoingBandwidth, bandwidthThrottleEpoch;
    enet_uint32 mtu; /* program: of connections made from now on */
    enet_uint32 randomSeed;
    int recalculateBandwidthLimits;
    ENetPeer *peers;
    size_t peerCount;
    size_t channelLimit;
    enet_uint32 serviceTime;
    ENetList dispatchQueue;
    int continueSending;
    size_t packetSize;
    enet_uint16 headerFlags;
    /* As the stock library builds datagrams; not used here. */
    enet_uint8 commands[ENET_PROTOCOL_MAXIMUM_PACKET_COMMANDS][48];
    size_t commandCount;
    ENetBuffer buffers[1 + 2 * ENET_PROTOCOL_MAXIMUM_PACKET_COMMANDS];
    size_t bufferCount;
    ENetChecksumCallback checksum; /* program */
    ENetCompressor compressor;
    enet_uint8 packetData[2][ENET_PROTOCOL_MAXIMUM_MTU];
    ENetAddress receivedAddress; /* for `intercept`, which may change what was received */
    enet_uint8 *receivedData;
    size_t receivedDataLength;
    enet_uint32 totalSentData, totalSentPackets, totalReceivedData, totalReceivedPackets; /* program */
    ENetInterceptCallback intercept;                                                     /* program */
    size_t connectedPeers, bandwidthLimitedPeers;
    size_t duplicatePeers;                         /* program: peers of one address */
    size_t maximumPacketSize, maximumWaitingData; /* program: bytes */
} ENetHost;

typedef struct _ENetCallbacks {
    void *(ENET_CALLBACK *malloc)(size_t size);
    void(ENET_CALLBACK *free)(void *memory);
    void(ENET_CALLBACK *no_memory)(void);
} ENetCallbacks;

ENET_API int enet_initialize(void);
ENET_API int enet_initialize_with_callbacks(ENetVersion version, const ENetCallbacks *callbacks);
ENET_API void enet_deinitialize(void);
ENET_API ENetVersion enet_linked_version(void);
ENET_API void *enet_malloc(size_t size);
ENET_API void enet_free(void *memory);
ENET_API enet_uint32 enet_time_get(void);
ENET_API void enet_time_set(enet_uint32 now);

ENET_API ENetHost *enet_host_create(const ENetAddress *address, size_t peers, size_t channels, enet_uint32 incoming,
                                    enet_uint32 outgoing);
ENET_API void enet_host_destroy(ENetHost *host);
ENET_API ENetPeer *enet_host_connect(ENetHost *host, const ENetAddress *to, size_t channels, enet_uint32 data);
ENET_API int enet_host_check_events(ENetHost *host, ENetEvent *event);
ENET_API int enet_host_service(ENetHost *host, ENetEvent *event, enet_uint32 timeout);
ENET_API void enet_host_flush(ENetHost *host);
ENET_API void enet_host_broadcast(ENetHost *host, enet_uint8 channel, ENetPacket *packet);
ENET_API void enet_host_compress(ENetHost *host, const ENetCompressor *compressor);
ENET_API int enet_host_compress_with_range_coder(ENetHost *host);
ENET_API void enet_host_channel_limit(ENetHost *host, size_t channels);
ENET_API void enet_host_bandwidth_limit(ENetHost *host, enet_uint32 incoming, enet_uint32 outgoing);
ENET_API void enet_host_bandwidth_throttle(ENetHost *host);
ENET_API enet_uint32 enet_host_random_seed(void);

ENET_API int enet_peer_send(ENetPeer *peer, enet_uint8 channel, ENetPacket *packet);
ENET_API ENetPacket *enet_peer_receive(ENetPeer *peer, enet_uint8 *channel);
ENET_API void enet_peer_ping(ENetPeer *peer);
ENET_API void enet_peer_ping_interval(ENetPeer *peer, enet_uint32 interval);
ENET_API void enet_peer_timeout(ENetPeer *peer, enet_uint32 limit, enet_uint32 minimum, enet_uint32 maximum);
ENET_API void enet_peer_reset(ENetPeer *peer);
ENET_API void enet_peer_disconnect(ENetPeer *peer, enet_uint32 data);
ENET_API void enet_peer_disconnect_now(ENetPeer *peer, enet_uint32 data);
ENET_API void enet_peer_disconnect_later(ENetPeer *peer, enet_uint32 data);
ENET_API void enet_peer_throttle_configure(ENetPeer *peer, enet_uint32 interval, enet_uint32 acceleration,
                                           enet_uint32 deceleration);
ENET_API int enet_peer_throttle(ENetPeer *peer, enet_uint32 roundTripTime);

ENET_API void *enet_range_coder_create(void);
ENET_API void enet_range_coder_destroy(void *context);
ENET_API size_t enet_range_coder_compress(void *context, const ENetBuffer *buffers, size_t count, size_t inLimit,
                                          enet_uint8 *out, size_t outLimit);
ENET_API size_t enet_range_coder_decompress(void *context, const enet_uint8 *in, size_t inLimit, enet_uint8 *out,
                                            size_t outLimit);
ENET_API size_t enet_protocol_command_size(enet_uint8 code);

#ifdef __cplusplus
}
#endif

#endif
