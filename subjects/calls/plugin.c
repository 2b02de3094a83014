/* What plugins.c loads: it asks the clock and for randomness by itself, from its constructor on. */
#include <stdio.h>
#include <sys/random.h>
#include <time.h>

static struct timespec loaded;

__attribute__((constructor)) static void load(void) {
    clock_gettime(CLOCK_MONOTONIC, &loaded);
}

int say(char *text, size_t room) {
    struct timespec now;
    unsigned random = 0;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (getrandom(&random, sizeof random, 0) != sizeof random) return -1;
    return snprintf(text, room, "loaded %ld.%09ld now %ld.%09ld drawn %u", (long)loaded.tv_sec, loaded.tv_nsec,
                    (long)now.tv_sec, now.tv_nsec, random);
}
