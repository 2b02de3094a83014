#include "ixgbe.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fail.h"
#include "registers.h"

#define TIMEOUT_MS 10000

static uint32_t read32(const struct ixgbe *device, uint32_t offset) {
	return *(volatile uint32_t *)(device->registers + offset);
}

/* What the program wrote before is seen before the register: a compiler barrier is enough on x86-64, whose stores are in order. */
static void write32(struct ixgbe *device, uint32_t offset, uint32_t value) {
	__atomic_store_n((volatile uint32_t *)(device->registers + offset), value, __ATOMIC_RELEASE);
}

static void set_bits(struct ixgbe *device, uint32_t offset, uint32_t bits) {
	write32(device, offset, read32(device, offset) | bits);
}

static void clear_bits(struct ixgbe *device, uint32_t offset, uint32_t bits) {
	write32(device, offset, read32(device, offset) & ~bits);
}

static void sleep_ms(unsigned ms) {
	nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
}

static void await(const struct ixgbe *device, uint32_t offset, uint32_t mask, uint32_t value, const char *what) {
	for (unsigned waited = 0; (read32(device, offset) & mask) != value; waited++) {
		if (waited >= TIMEOUT_MS)
			fail(what);
		sleep_ms(1);
	}
}

static int open_resource(const char *address, const char *name, int flags) {
	char path[128];
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", address, name);
	return open(path, flags | O_CLOEXEC);
}

/* Takes the device from its kernel driver and lets it be bus master (PCI 3.0, 6.2.2: bit 2 of the command register). */
static volatile uint8_t *map_registers(const char *address) {
	int unbind = open_resource(address, "driver/unbind", O_WRONLY);
	if (unbind >= 0) {
		check(write(unbind, address, strlen(address)) == (ssize_t)strlen(address), "unbind the kernel's driver");
		close(unbind);
	}
	int config = open_resource(address, "config", O_RDWR);
	check(config >= 0, "open the configuration space: is the address right?");
	uint16_t command = 0;
	check(pread(config, &command, sizeof(command), 4) == sizeof(command), "read the configuration space");
	command |= 1 << 2;
	check(pwrite(config, &command, sizeof(command), 4) == sizeof(command), "write the configuration space");
	close(config);
	int resource = open_resource(address, "resource0", O_RDWR);
	check(resource >= 0, "open resource0");
	struct stat facts;
	check(fstat(resource, &facts) == 0, "look at resource0");
	void *start = mmap(NULL, (size_t)facts.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, resource, 0);
	check(start != MAP_FAILED, "map resource0");
	close(resource);
	return start;
}

static volatile struct descriptor *make_ring(struct ixgbe *device, uint32_t low, uint32_t high, uint32_t length) {
	size_t bytes = RING_ENTRIES * sizeof(struct descriptor);
	struct dma ring = dma_allocate(bytes);
	/* Addresses that no memory has, so that a device that starts too early finds nothing to overwrite. */
	memset(ring.start, 0xff, bytes);
	write32(device, low, (uint32_t)ring.address);
	write32(device, high, (uint32_t)(ring.address >> 32));
	write32(device, length, (uint32_t)bytes);
	return ring.start;
}

static void give_to_device(volatile struct descriptor *descriptor, const struct packet *packet) {
	descriptor->address = packet->address;
	descriptor->command = 0;
	descriptor->status = 0;
}

/* 4.6.7 */
static void set_up_receive(struct ixgbe *device) {
	clear_bits(device, RXCTRL, RXCTRL_RXEN);
	write32(device, rxpbsize(0), RXPBSIZE_128KB);
	for (uint32_t i = 1; i < 8; i++)
		write32(device, rxpbsize(i), 0);
	set_bits(device, HLREG0, HLREG0_RXCRCSTRP);
	set_bits(device, RDRXCTL, RDRXCTL_CRCSTRIP);
	set_bits(device, FCTRL, FCTRL_BAM | FCTRL_MPE | FCTRL_UPE);
	uint32_t split = read32(device, srrctl(0)) & ~(SRRCTL_DESCTYPE_MASK | SRRCTL_BSIZEPACKET_MASK);
	write32(device, srrctl(0), split | SRRCTL_DESCTYPE_ADVANCED | SRRCTL_DROP_EN | BUFFER_BYTES / 1024);
	struct receive_queue *queue = &device->receive;
	queue->ring = make_ring(device, rdbal(0), rdbah(0), rdlen(0));
	write32(device, rdh(0), 0);
	write32(device, rdt(0), 0);
	set_bits(device, CTRL_EXT, CTRL_EXT_NS_DIS);
	clear_bits(device, dca_rxctrl(0), DCA_RXCTRL_RESERVED_12);
	queue->pool = pool_create(device->options.buffers, device->options.pool);
	for (uint32_t i = 0; i < RING_ENTRIES; i++) {
		struct packet *packet = pool_take(queue->pool);
		if (packet == NULL)
			fail("the pool has fewer buffers than the receive ring");
		queue->packets[i] = packet;
		give_to_device(&queue->ring[i], packet);
	}
	set_bits(device, RXCTRL, RXCTRL_RXEN);
	set_bits(device, rxdctl(0), RXDCTL_ENABLE);
	await(device, rxdctl(0), RXDCTL_ENABLE, RXDCTL_ENABLE, "the receive queue does not start");
	/* All descriptors but one: with all of them the ring would look empty. */
	write32(device, rdt(0), RING_ENTRIES - 1);
}

/* 4.6.8 */
static void set_up_transmit(struct ixgbe *device) {
	set_bits(device, HLREG0, HLREG0_TXCRCEN | HLREG0_TXPADEN);
	write32(device, txpbsize(0), TXPBSIZE_40KB);
	for (uint32_t i = 1; i < 8; i++)
		write32(device, txpbsize(i), 0);
	write32(device, DTXMXSZRQ, 0xffff);
	clear_bits(device, RTTDCS, RTTDCS_ARBDIS);
	device->transmit.ring = make_ring(device, tdbal(0), tdbah(0), tdlen(0));
	write32(device, tdh(0), 0);
	write32(device, tdt(0), 0);
	/* Thresholds as DPDK has them. */
	uint32_t thresholds = 36u << TXDCTL_PTHRESH_SHIFT | 8u << TXDCTL_HTHRESH_SHIFT | 4u << TXDCTL_WTHRESH_SHIFT;
	write32(device, txdctl(0), thresholds);
	write32(device, DMATXCTL, DMATXCTL_TE);
	set_bits(device, txdctl(0), TXDCTL_ENABLE);
	await(device, txdctl(0), TXDCTL_ENABLE, TXDCTL_ENABLE, "the transmit queue does not start");
}

struct ixgbe *ixgbe_open(const char *address, struct ixgbe_options options) {
	struct ixgbe *device = calloc(1, sizeof(*device));
	check(device != NULL, "allocate a device");
	device->options = options;
	device->registers = map_registers(address);
	/* 4.6.3: interrupts off, reset, interrupts off again, EEPROM and DMA ready */
	write32(device, EIMC, EIMC_ALL_MASK);
	write32(device, CTRL, CTRL_RST | CTRL_LRST);
	await(device, CTRL, CTRL_RST | CTRL_LRST, 0, "the reset does not end");
	sleep_ms(10);
	write32(device, EIMC, EIMC_ALL_MASK);
	await(device, EEC, EEC_ARD, EEC_ARD, "the EEPROM is not read");
	await(device, RDRXCTL, RDRXCTL_DMAIDONE, RDRXCTL_DMAIDONE, "DMA does not initialise");
	/* 4.6.4 */
	uint32_t autoc = read32(device, AUTOC) & ~(AUTOC_LMS_MASK | AUTOC_PMA_PMD_10G_MASK);
	write32(device, AUTOC, autoc | AUTOC_LMS_10G_SERIAL | AUTOC_RESTART_AN);
	set_up_receive(device);
	set_up_transmit(device);
	await(device, LINKS, LINKS_UP, LINKS_UP, "the link does not come up");
	return device;
}

/* A frame in one buffer, of a length that a wire and a buffer can have. Others are dropped, buffer by buffer. */
static bool is_whole(struct receive_queue *queue, uint32_t status, uint32_t length) {
	bool is_end = status & RXD_EOP, was_inside = queue->is_inside;
	queue->is_inside = !is_end;
	return is_end && !was_inside && length >= FRAME_BYTES_MIN && length <= BUFFER_BYTES;
}

uint32_t ixgbe_receive(struct ixgbe *device, struct packet *packets[], uint32_t number) {
	struct receive_queue *queue = &device->receive;
	uint32_t index = queue->index, received = 0;
	while (received < number) {
		volatile struct descriptor *descriptor = &queue->ring[index];
		uint32_t status = __atomic_load_n(&descriptor->command, __ATOMIC_ACQUIRE);
		if (!(status & RXD_DD))
			break;
		struct packet *packet = queue->packets[index];
		struct packet *next = pool_take(queue->pool);
		if (next == NULL)
			break;
		packet->length = descriptor->status & 0xffff;
		if (!is_whole(queue, status, packet->length)) {
			pool_give(next);
			give_to_device(descriptor, packet);
			index = (index + 1) % RING_ENTRIES;
			continue;
		}
		if (device->options.prefetch)
			__builtin_prefetch(packet->bytes, 1);
		packets[received++] = packet;
		queue->packets[index] = next;
		give_to_device(descriptor, next);
		index = (index + 1) % RING_ENTRIES;
	}
	if (index != queue->index) {
		queue->index = index;
		/* One behind: a tail that equals the head would say that the ring is empty. */
		write32(device, rdt(0), (index + RING_ENTRIES - 1) % RING_ENTRIES);
	}
	return received;
}

void ixgbe_clean_up(struct ixgbe *device) {
	struct transmit_queue *queue = &device->transmit;
	uint32_t batch = device->options.clean_batch;
	while ((queue->index + RING_ENTRIES - queue->clean) % RING_ENTRIES >= batch) {
		uint32_t last = (queue->clean + batch - 1) % RING_ENTRIES;
		if (!(__atomic_load_n(&queue->ring[last].status, __ATOMIC_ACQUIRE) & TXD_WB_DD))
			break;
		for (uint32_t i = 0; i < batch; i++)
			pool_give(queue->packets[(queue->clean + i) % RING_ENTRIES]);
		queue->clean = (last + 1) % RING_ENTRIES;
	}
}

uint32_t ixgbe_transmit(struct ixgbe *device, struct packet *packets[], uint32_t number) {
	struct transmit_queue *queue = &device->transmit;
	ixgbe_clean_up(device);
	uint32_t index = queue->index, sent = 0;
	for (; sent < number; sent++) {
		uint32_t next = (index + 1) % RING_ENTRIES;
		if (next == queue->clean)
			break;
		struct packet *packet = packets[sent];
		volatile struct descriptor *descriptor = &queue->ring[index];
		queue->packets[index] = packet;
		descriptor->address = packet->address;
		descriptor->command = TXD_EOP | TXD_RS | TXD_IFCS | TXD_DEXT | TXD_DTYP_DATA | packet->length;
		descriptor->status = packet->length << TXD_OLINFO_PAYLEN_SHIFT;
		index = next;
	}
	if (sent > 0) {
		queue->index = index;
		write32(device, tdt(0), index);
	}
	return sent;
}
