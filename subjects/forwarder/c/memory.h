/* DMA memory in huge pages, and pools of packet buffers in it. */
#ifndef FORWARDER_MEMORY_H
#define FORWARDER_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a buffer: what SRRCTL.BSIZEPACKET is set to. */
#define BUFFER_BYTES 2048

struct dma {
	void *start;
	uint64_t address; /* as the device sees it */
};

/* Memory that is contiguous for the device as far as a huge page of 2 MiB reaches. Ends the program if there is none. */
struct dma dma_allocate(size_t bytes);

/* Bus address of a byte of DMA memory. */
uint64_t dma_address(const void *at);

enum pool_kind {
	POOL_STACK, /* indices on a stack: the buffer that was freed last is used next */
	POOL_RING,  /* indices in a ring: the buffer that was freed first is used next */
	POOL_LIST,  /* an intrusive list: a free buffer holds the index of the next one */
	POOL_CHECKED, /* a stack, and a flag for each buffer: one that is given back twice ends the program */
	POOL_COUNTED, /* a stack, and a count of owners for each buffer, as in an mbuf of DPDK: the last one gives it back */
};

/* Bookkeeping of one buffer, apart from its bytes. */
struct packet {
	uint8_t *bytes;
	uint64_t address;
	uint32_t index;
	uint32_t length;
	struct pool *pool;
};

struct pool {
	enum pool_kind kind;
	uint32_t number;
	uint32_t free;       /* number of free packets */
	uint32_t head;       /* ring: first free index; list: its packet */
	uint32_t *indices;   /* all but the list */
	uint16_t *owners;    /* by buffer: checked, counted */
	struct packet *packets;
};

struct pool *pool_create(uint32_t number, enum pool_kind kind);
bool pool_is_empty(const struct pool *pool);
struct packet *pool_take(struct pool *pool); /* NULL if it is empty */
void pool_give(struct packet *packet);

#endif
