/* What helpers.c defines, for the importer: prototypes alone, so that each access is a call. */
#include <stdint.h>

uint64_t helper_status(const volatile void *ring, uint32_t index);
void helper_set(volatile void *ring, uint32_t index, uint64_t address, uint64_t command);
uint32_t helper_read(const volatile void *registers, uint32_t offset);
void helper_write(volatile void *registers, uint32_t offset, uint32_t value);
