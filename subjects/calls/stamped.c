/* What processor.c loads: its constructor asks the processor for the time. */
#include <stdint.h>

static uint64_t time_stamp(void) {
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

static uint64_t loaded;

__attribute__((constructor)) static void load(void) {
    loaded = time_stamp();
}

uint64_t plugged(void) {
    return loaded ^ time_stamp();
}
