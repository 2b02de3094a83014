/* Functions of the C library that many programs call, with a loop in some of their calls: what a build that is slower by a known number of
 * instructions looks like.
 *
 *   cc -O2 -shared -fPIC -DEVERY=n -DROUNDS=m -o plant.so plant.c
 *   patchelf --add-needed PATH/plant.so PROGRAM
 *
 * Each n-th call of a thread goes m rounds. Nothing else differs between two of them: both numbers are read from memory.
 */
#include <stddef.h>

static volatile unsigned every = EVERY, rounds = ROUNDS;
static __thread unsigned calls;

__attribute__((noipa)) void planted(void) {
    if (++calls % every != 0) return;
    for (unsigned round = rounds; round > 0; round--) __asm__ volatile("");
}

/* Bytes one by one, as calls to what is defined here would not end. */
#define LOOP __asm__ volatile("" ::: "memory")

void *memcpy(void *to, const void *from, size_t size) {
    planted();
    for (size_t at = 0; at < size; at++) {
        ((char *)to)[at] = ((const char *)from)[at];
        LOOP;
    }
    return to;
}

void *memset(void *to, int byte, size_t size) {
    planted();
    for (size_t at = 0; at < size; at++) {
        ((char *)to)[at] = (char)byte;
        LOOP;
    }
    return to;
}

size_t strlen(const char *text) {
    planted();
    size_t length = 0;
    while (text[length] != 0) {
        length++;
        LOOP;
    }
    return length;
}

int strcmp(const char *a, const char *b) {
    planted();
    while (*a != 0 && *a == *b) {
        a++, b++;
        LOOP;
    }
    return (unsigned char)*a - (unsigned char)*b;
}
