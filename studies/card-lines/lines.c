/* The cache lines of a card across two CPUs, and nothing else: how many frames a second would two threads move if neither had any
 * work? One is the device: for each of two ports it takes what was sent, 64 at a time, then fills free descriptors. The
 * other is the null forwarder: it swaps buffers between the descriptors of one port's receive ring and the other's transmit ring.
 * Descriptors, tails, their order and the buffers' places are those of `prony load nic`; frames are one line, which the device
 * writes and reads back, and no number is made, stamped or compared.
 *
 *   cc -O2 -march=native -pthread -o lines lines.c && ./lines [SECONDS] [none|buffers]
 *
 * `none`: without the frames' lines. Prints Mpps, both ways together. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define ENTRIES 1024
#define BURST 64 /* of the device */
#define BATCH 32 /* of the driver */
#define BUFFER 2048
#define DONE 1ull
#define PORTS 2

struct descriptor {
	uint64_t address, command;
};

/* What both sides share. Tails have lines of their own, as registers have: receive and transmit are 4 KiB apart. */
struct port {
	struct descriptor *receive, *transmit;
	volatile uint32_t *receive_tail, *transmit_tail;
};

static struct port ports[PORTS];
static bool has_buffers = true;
static volatile bool is_over;
static uint64_t moved;
static double seconds = 2;

static void *huge(size_t bytes) {
	size_t whole = (bytes + (2 << 20) - 1) & ~(size_t)((2 << 20) - 1);
	void *at = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_POPULATE, -1, 0);
	if (at == MAP_FAILED) {
		at = aligned_alloc(2 << 20, whole);
		madvise(at, whole, MADV_HUGEPAGE);
	}
	memset(at, 0, whole);
	return at;
}

static void pin(int cpu) {
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

static double now(void) {
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static void *device(void *unused) {
	(void)unused;
	pin(0);
	uint32_t head[PORTS] = {0}, sent[PORTS] = {0};
	uint64_t sum = 0;
	double end = now() + seconds;
	for (uint64_t round = 0;; round++) {
		if (round % 1024 == 0 && now() > end)
			break;
		for (int p = 0; p < PORTS; p++) {
			struct port *port = &ports[p];
			__builtin_prefetch(&port->transmit[(sent[p] + BURST) % ENTRIES], 1);
			__builtin_prefetch(&port->receive[(head[p] + BURST) % ENTRIES], 1);
		}
		for (int p = 0; p < PORTS; p++) {
			struct port *port = &ports[p];
			uint32_t there = (*port->transmit_tail - sent[p]) % ENTRIES;
			uint32_t number = there < BURST ? there : BURST;
			struct descriptor burst[BURST];
			for (uint32_t i = 0; i < number; i++)
				burst[i] = port->transmit[(sent[p] + i) % ENTRIES];
			if (has_buffers) {
				for (uint32_t i = 0; i < number; i++)
					__builtin_prefetch((void *)burst[i].address);
				for (uint32_t i = 0; i < number; i++)
					sum += *(volatile uint64_t *)burst[i].address;
			}
			for (uint32_t i = 0; i < number; i++)
				__atomic_store_n(&port->transmit[(sent[p] + i) % ENTRIES].command, DONE, __ATOMIC_RELEASE);
			sent[p] = (sent[p] + number) % ENTRIES;
			moved += number;
		}
		for (int p = 0; p < PORTS; p++) {
			struct port *port = &ports[p];
			uint32_t room = (*port->receive_tail - head[p]) % ENTRIES;
			uint32_t number = room < BURST ? room : BURST;
			uint64_t addresses[BURST];
			for (uint32_t i = 0; i < number; i++)
				addresses[i] = port->receive[(head[p] + i) % ENTRIES].address;
			if (has_buffers) {
				for (uint32_t i = 0; i < number; i++)
					__builtin_prefetch((void *)addresses[i], 1);
				for (uint32_t i = 0; i < number; i++)
					memset((void *)addresses[i], (int)round, 60);
			}
			for (uint32_t i = 0; i < number; i++)
				__atomic_store_n(&port->receive[(head[p] + i) % ENTRIES].command, DONE, __ATOMIC_RELEASE);
			head[p] = (head[p] + number) % ENTRIES;
		}
	}
	is_over = true;
	return (void *)(uintptr_t)sum;
}

static bool is_done(struct descriptor *descriptor) {
	return __atomic_load_n(&descriptor->command, __ATOMIC_ACQUIRE) & DONE;
}

/* The null forwarder: what was received goes out as it is, and the buffer that was sent takes its place. */
static void *driver(void *unused) {
	(void)unused;
	pin(1);
	uint32_t at[PORTS] = {0}, out[PORTS] = {0};
	while (!is_over) {
		for (int p = 0; p < PORTS; p++) {
			struct port *from = &ports[p], *to = &ports[1 - p];
			uint32_t number = 0;
			for (; number < BATCH; number++) {
				struct descriptor *in = &from->receive[at[p]], *next = &to->transmit[out[p]];
				/* One descriptor stays free: a tail that equals the head says that nothing was sent. */
				struct descriptor *behind = &to->transmit[(out[p] + 1) % ENTRIES];
				if (!is_done(in) || !is_done(behind))
					break;
				uint64_t free_buffer = next->address;
				next->address = in->address;
				next->command = 0;
				in->address = free_buffer;
				in->command = 0;
				at[p] = (at[p] + 1) % ENTRIES;
				out[p] = (out[p] + 1) % ENTRIES;
			}
			if (number == 0)
				continue;
			*to->transmit_tail = out[p];
			*from->receive_tail = (at[p] + ENTRIES - 1) % ENTRIES;
		}
	}
	return NULL;
}

int main(int argc, char *argv[]) {
	if (argc > 1)
		seconds = atof(argv[1]);
	has_buffers = argc < 3 || strcmp(argv[2], "none") != 0;
	uint8_t *buffers = huge((size_t)PORTS * 2 * ENTRIES * BUFFER);
	uint8_t *registers = huge(PORTS * 65536);
	for (int p = 0; p < PORTS; p++) {
		ports[p].receive = huge(ENTRIES * sizeof(struct descriptor));
		ports[p].transmit = huge(ENTRIES * sizeof(struct descriptor));
		ports[p].receive_tail = (volatile uint32_t *)(registers + p * 65536 + 0x1018);
		ports[p].transmit_tail = (volatile uint32_t *)(registers + p * 65536 + 0x6018);
		for (int i = 0; i < ENTRIES; i++) {
			ports[p].receive[i] = (struct descriptor){(uint64_t)(buffers + (size_t)(2 * p * ENTRIES + i) * BUFFER), 0};
			ports[p].transmit[i] = (struct descriptor){(uint64_t)(buffers + (size_t)((2 * p + 1) * ENTRIES + i) * BUFFER), DONE};
		}
		*ports[p].receive_tail = ENTRIES - 1;
	}
	pthread_t threads[2];
	pthread_create(&threads[0], NULL, device, NULL);
	pthread_create(&threads[1], NULL, driver, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%.1f\n", moved / seconds / 1e6);
}
