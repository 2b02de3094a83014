/* The least that a forwarder can do: each received buffer trades places with the one in the next transmit descriptor. No pool,
 * no touch, no drop. What is slower than this by a tenth or less is limited by the device, and not by its language. */
#include <stdio.h>

#include "fail.h"
#include "ixgbe.h"
#include "registers.h"

#define BATCH 32
#define COMMAND (TXD_EOP | TXD_RS | TXD_IFCS | TXD_DEXT | TXD_DTYP_DATA)

static void write32(struct ixgbe *device, uint32_t offset, uint32_t value) {
	__atomic_store_n((volatile uint32_t *)(device->registers + offset), value, __ATOMIC_RELEASE);
}

/* The device is done with the whole batch of descriptors that begins here, or never had it. */
static bool is_free(const struct transmit_queue *queue, uint32_t index) {
	const volatile struct descriptor *last = &queue->ring[(index + BATCH - 1) % RING_ENTRIES];
	return __atomic_load_n(&last->status, __ATOMIC_ACQUIRE) & TXD_WB_DD;
}

static void forward(struct ixgbe *from, struct ixgbe *to) {
	struct receive_queue *receive = &from->receive;
	struct transmit_queue *transmit = &to->transmit;
	uint32_t moved = 0;
	for (; moved < BATCH; moved++) {
		volatile struct descriptor *in = &receive->ring[receive->index];
		if (!(__atomic_load_n(&in->command, __ATOMIC_ACQUIRE) & RXD_DD))
			break;
		/* One batch stays free, so that a full ring never looks empty. */
		if (transmit->index % BATCH == 0 && !is_free(transmit, (transmit->index + BATCH) % RING_ENTRIES))
			break;
		uint32_t length = in->status & 0xffff;
		struct packet *received = receive->packets[receive->index];
		struct packet *spare = transmit->packets[transmit->index];
		receive->packets[receive->index] = spare;
		transmit->packets[transmit->index] = received;
		in->address = spare->address;
		in->command = 0;
		in->status = 0;
		volatile struct descriptor *out = &transmit->ring[transmit->index];
		out->address = received->address;
		out->command = COMMAND | length;
		out->status = length << TXD_OLINFO_PAYLEN_SHIFT;
		receive->index = (receive->index + 1) % RING_ENTRIES;
		transmit->index = (transmit->index + 1) % RING_ENTRIES;
	}
	if (moved > 0) {
		write32(from, rdt(0), (receive->index + RING_ENTRIES - 1) % RING_ENTRIES);
		write32(to, tdt(0), transmit->index);
	}
}

static struct ixgbe *open_with_spares(const char *address) {
	struct ixgbe *device = ixgbe_open(address, (struct ixgbe_options){.buffers = 2 * RING_ENTRIES, .clean_batch = BATCH, .pool = POOL_STACK});
	for (uint32_t i = 0; i < RING_ENTRIES; i++) {
		device->transmit.packets[i] = pool_take(device->receive.pool);
		device->transmit.ring[i].status = TXD_WB_DD;
	}
	return device;
}

int main(int argc, char *argv[]) {
	if (argc != 3) {
		fprintf(stderr, "usage: %s ADDRESS ADDRESS\n", argv[0]);
		return 2;
	}
	struct ixgbe *first = open_with_spares(argv[1]), *second = open_with_spares(argv[2]);
	for (;;) {
		forward(first, second);
		forward(second, first);
	}
}
