/* Forwards frames between two ports, both ways. README.md one directory up describes the options, which are the same in every language. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "ixgbe.h"

#define BATCH_MAX 512
#define NO_TOUCH UINT32_MAX

struct options {
	uint32_t batch;
	uint32_t touch; /* byte that is increased in each frame */
	struct ixgbe_options ixgbe;
};

static uint32_t number(const char *name, uint32_t otherwise, uint32_t low, uint32_t high) {
	const char *text = getenv(name);
	if (text == NULL || *text == '\0')
		return otherwise;
	char *end;
	unsigned long value = strtoul(text, &end, 10);
	if (*end != '\0' || value < low || value > high) {
		fprintf(stderr, "forwarder: %s: expected %u to %u, found %s\n", name, low, high, text);
		exit(2);
	}
	return (uint32_t)value;
}

static enum pool_kind pool_of(const char *text) {
	static const char *const names[] = {
		[POOL_STACK] = "stack", [POOL_RING] = "ring", [POOL_LIST] = "list",
		[POOL_CHECKED] = "checked", [POOL_COUNTED] = "counted",
	};
	for (unsigned kind = 0; kind < sizeof(names) / sizeof(*names); kind++)
		if (text == NULL || strcmp(text, names[kind]) == 0)
			return kind;
	fprintf(stderr, "forwarder: FORWARDER_POOL: expected stack, ring, list, checked or counted, found %s\n", text);
	exit(2);
}

static struct options read_options(void) {
	const char *touch = getenv("FORWARDER_TOUCH");
	bool is_untouched = touch != NULL && strcmp(touch, "none") == 0;
	return (struct options){
		.batch = number("FORWARDER_BATCH", 32, 1, BATCH_MAX),
		.touch = is_untouched ? NO_TOUCH : number("FORWARDER_TOUCH", 1, 0, 59),
		.ixgbe = {
			/* Each device has a pool of its own. */
			.buffers = number("FORWARDER_BUFFERS", 8192, 2112, 65536) / 2,
			.clean_batch = number("FORWARDER_CLEAN", 32, 1, 256),
			.prefetch = number("FORWARDER_PREFETCH", 1, 0, 1) == 1,
			.pool = pool_of(getenv("FORWARDER_POOL")),
		},
	};
}

static void forward(struct ixgbe *from, struct ixgbe *to, const struct options *options) {
	struct packet *packets[BATCH_MAX];
	uint32_t received = ixgbe_receive(from, packets, options->batch);
	if (received == 0) {
		/* Buffers that were sent are all that an empty pool can get. */
		if (pool_is_empty(from->receive.pool))
			ixgbe_clean_up(to);
		return;
	}
	if (options->touch != NO_TOUCH)
		for (uint32_t i = 0; i < received; i++)
			packets[i]->bytes[options->touch]++;
	/* What finds no room is dropped, as waiting would only delay what comes next. */
	for (uint32_t sent = ixgbe_transmit(to, packets, received); sent < received; sent++)
		pool_give(packets[sent]);
}

int main(int argc, char *argv[]) {
	if (argc != 3) {
		fprintf(stderr, "usage: %s ADDRESS ADDRESS\n", argv[0]);
		return 2;
	}
	struct options options = read_options();
	struct ixgbe *first = ixgbe_open(argv[1], options.ixgbe);
	struct ixgbe *second = ixgbe_open(argv[2], options.ixgbe);
	for (;;) {
		forward(first, second, &options);
		forward(second, first, &options);
	}
}
