/* A user-space driver for the Intel 82599: one receive and one transmit queue. */
#ifndef FORWARDER_IXGBE_H
#define FORWARDER_IXGBE_H

#include <stdbool.h>
#include <stdint.h>

#include "memory.h"

#define RING_ENTRIES 1024 /* a power of two */
/* The shortest frame on a wire without its frame check sequence (IEEE 802.3, 4.4.2). */
#define FRAME_BYTES_MIN 60

struct ixgbe_options {
	uint32_t buffers;     /* of the device's pool */
	uint32_t clean_batch; /* descriptors that are cleaned up together; only the last one's DD is read */
	enum pool_kind pool;
	bool prefetch; /* the first line of each received frame */
};

/* A descriptor of either direction (7.1.6, 7.2.3.2.4). */
struct descriptor {
	uint64_t address;
	uint32_t command;
	uint32_t status;
};

struct receive_queue {
	volatile struct descriptor *ring;
	uint32_t index;
	bool is_inside; /* of a frame whose last buffer has not come yet */
	struct pool *pool;
	struct packet *packets[RING_ENTRIES];
};

struct transmit_queue {
	volatile struct descriptor *ring;
	uint32_t index;
	uint32_t clean;
	struct packet *packets[RING_ENTRIES];
};

struct ixgbe {
	volatile uint8_t *registers;
	struct ixgbe_options options;
	struct receive_queue receive;
	struct transmit_queue transmit;
};

/* Resets and sets up the device at a PCI address. Ends the program if that fails. */
struct ixgbe *ixgbe_open(const char *address, struct ixgbe_options options);

/* Takes up to `number` received packets. Returns how many. */
uint32_t ixgbe_receive(struct ixgbe *device, struct packet *packets[], uint32_t number);

/* Gives the buffers of sent packets back to their pool, a batch at a time. Sending does that, too. */
void ixgbe_clean_up(struct ixgbe *device);

/* Sends up to `number` packets; those that were sent belong to the device. Returns how many. */
uint32_t ixgbe_transmit(struct ixgbe *device, struct packet *packets[], uint32_t number);

#endif
