#include "memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fail.h"

#define HUGE_PAGE_BYTES (2u << 20)
/* Entries of /proc/self/pagemap (Documentation/admin-guide/mm/pagemap.rst): bits 0-54 are the number of the frame. */
#define FRAME_MASK ((1ull << 55) - 1)

uint64_t dma_address(const void *at) {
	uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	check(file >= 0, "open /proc/self/pagemap");
	uint64_t entry = 0;
	off_t place = (off_t)((uintptr_t)at / page_bytes * sizeof(entry));
	check(pread(file, &entry, sizeof(entry), place) == sizeof(entry), "read /proc/self/pagemap");
	close(file);
	if ((entry & FRAME_MASK) == 0)
		fail("no physical address: run as root");
	return (entry & FRAME_MASK) * page_bytes + (uintptr_t)at % page_bytes;
}

struct dma dma_allocate(size_t bytes) {
	static unsigned number;
	bytes = (bytes + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
	char path[64];
	snprintf(path, sizeof(path), "/mnt/huge/forwarder-%d-%u", getpid(), number++);
	int file = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	check(file >= 0, "create a file in /mnt/huge: is a hugetlbfs mounted there?");
	unlink(path);
	check(ftruncate(file, (off_t)bytes) == 0, "allocate huge pages");
	/* MAP_POPULATE: a page has an address only when it is there. */
	void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_HUGETLB | MAP_POPULATE, file, 0);
	check(start != MAP_FAILED, "map huge pages: are enough free?");
	close(file);
	return (struct dma){.start = start, .address = dma_address(start)};
}

/* The index of the next free packet of a list lies in its buffer, which the device does not own then. */
static uint32_t *next_of(struct pool *pool, uint32_t index) {
	return (uint32_t *)pool->packets[index].bytes;
}

struct pool *pool_create(uint32_t number, enum pool_kind kind) {
	struct pool *pool = calloc(1, sizeof(*pool));
	check(pool != NULL, "allocate a pool");
	*pool = (struct pool){.kind = kind, .number = number};
	pool->packets = calloc(number, sizeof(*pool->packets));
	pool->indices = calloc(number, sizeof(*pool->indices));
	pool->owners = calloc(number, sizeof(*pool->owners));
	check(pool->packets != NULL && pool->indices != NULL && pool->owners != NULL, "allocate a pool");
	uint8_t *bytes = dma_allocate((size_t)number * BUFFER_BYTES).start;
	uint64_t page = 0;
	for (uint32_t i = 0; i < number; i++) {
		uint8_t *buffer = bytes + (size_t)i * BUFFER_BYTES;
		size_t in_page = (size_t)i * BUFFER_BYTES % HUGE_PAGE_BYTES;
		/* Huge pages that follow each other here may lie anywhere for the device. */
		if (in_page == 0)
			page = dma_address(buffer);
		pool->packets[i] = (struct packet){.bytes = buffer, .address = page + in_page, .index = i, .pool = pool};
	}
	for (uint32_t i = number; i-- > 0;) {
		pool->owners[i] = 1;
		pool_give(&pool->packets[i]);
	}
	return pool;
}

bool pool_is_empty(const struct pool *pool) {
	return pool->free == 0;
}

struct packet *pool_take(struct pool *pool) {
	if (pool->free == 0)
		return NULL;
	uint32_t index = 0;
	switch (pool->kind) {
	case POOL_STACK:
		index = pool->indices[--pool->free];
		return &pool->packets[index];
	case POOL_RING:
		index = pool->indices[pool->head];
		pool->head = pool->head + 1 == pool->number ? 0 : pool->head + 1;
		break;
	case POOL_LIST:
		index = pool->head;
		pool->head = *next_of(pool, index);
		break;
	case POOL_CHECKED:
	case POOL_COUNTED:
		index = pool->indices[--pool->free];
		pool->owners[index] = 1;
		return &pool->packets[index];
	}
	pool->free--;
	return &pool->packets[index];
}

void pool_give(struct packet *packet) {
	struct pool *pool = packet->pool;
	switch (pool->kind) {
	case POOL_STACK:
		pool->indices[pool->free] = packet->index;
		break;
	case POOL_RING: {
		uint32_t end = pool->head + pool->free;
		pool->indices[end >= pool->number ? end - pool->number : end] = packet->index;
		break;
	}
	case POOL_LIST:
		*next_of(pool, packet->index) = pool->head;
		pool->head = packet->index;
		break;
	case POOL_CHECKED:
		if (pool->owners[packet->index] == 0)
			fail("a buffer was given back twice");
		pool->owners[packet->index] = 0;
		pool->indices[pool->free] = packet->index;
		break;
	case POOL_COUNTED:
		if (--pool->owners[packet->index] > 0)
			return;
		pool->indices[pool->free] = packet->index;
		break;
	}
	pool->free++;
}
