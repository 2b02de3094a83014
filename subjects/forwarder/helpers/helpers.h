/* What a driver does to its device, as functions in C for other languages: one call for each access. The variants `helpers` of the
 * forwarders use nothing else. Whoever calls answers for the bounds. */
#ifndef FORWARDER_HELPERS_H
#define FORWARDER_HELPERS_H

#include <stdint.h>

/* Functions of the file that includes this, unless it is the library. */
#ifndef HELPER
#define HELPER static inline
#endif

/* The second word of a descriptor, which the device writes last: nothing that follows is loaded before. */
HELPER uint64_t helper_status(const volatile uint64_t *ring, uint32_t index) {
	return __atomic_load_n(&ring[2 * index + 1], __ATOMIC_ACQUIRE);
}

/* Writes a descriptor. The device does not look before the tail is written. */
HELPER void helper_set(volatile uint64_t *ring, uint32_t index, uint64_t address, uint64_t command) {
	ring[2 * index] = address;
	ring[2 * index + 1] = command;
}

/* `offset`: of a register, in bytes. */
HELPER uint32_t helper_read(const volatile uint32_t *registers, uint32_t offset) {
	return __atomic_load_n(&registers[offset / 4], __ATOMIC_ACQUIRE);
}

/* Writes a register, after all that was written before. */
HELPER void helper_write(volatile uint32_t *registers, uint32_t offset, uint32_t value) {
	__atomic_store_n(&registers[offset / 4], value, __ATOMIC_RELEASE);
}

#endif
