/* Zones in C and C++ programs that are measured: how often each ran, below which other, how long with and without what
 * ran inside it, and how many bytes it worked on.
 *
 *     #define PRONY_ZONES_IMPLEMENTATION   in one file of the program
 *     #include "prony_zones.h"
 *
 *     void tick(const struct packet *packet) {
 *         PRONY_ZONE("tick");                              to the end of the block
 *         PRONY_ZONE_BYTES("unpack", packet->length);      with bytes a second
 *     }
 *
 * Compile with -DPRONY_ZONES; without it the macros are nothing. At exit the result is written to the file that
 * $PRONY_ZONES_FILE names, or to prony.zones, and `prony profile zones FILE` shows it.
 *
 * Zones nest as their blocks do; a zone that runs inside itself, directly or through others, counts its time once. Needs
 * GCC or Clang (the cleanup attribute and __thread). A zone that has not ended when the program does is not counted.
 */
#ifndef PRONY_ZONES_H
#define PRONY_ZONES_H

#ifndef PRONY_ZONES

#define PRONY_ZONE(name) ((void)0)
#define PRONY_ZONE_BYTES(name, bytes) ((void)0)

#else

#include <stdint.h>
#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* One zone below another. Only its own thread writes it. */
struct prony_zone_node {
    const char *name;
    struct prony_zone_node *parent, *children, *next;
    /* Zones that were entered here and are one of the node's ancestors: recursion. */
    struct prony_zone_again *again;
    uint64_t hits, inclusive, exclusive, bytes;
};

/* What a place in the code found the last time: below this node, that one. */
struct prony_zone_cache {
    struct prony_zone_node *parent, *node;
};

/* A zone that runs. */
struct prony_zone_scope {
    struct prony_zone_node *node, *parent;
    /* What the node had before: a zone that runs inside itself must not count twice. */
    uint64_t inclusive_before, began;
};

extern __thread struct prony_zone_node *prony_zone_current;
struct prony_zone_node *prony_zone_find(struct prony_zone_cache *cache, const char *name);
/* Writes what was found so far; 0 when all went well. */
int prony_zones_write(const char *path);

static inline __attribute__((always_inline)) uint64_t prony_zone_ticks(void) {
#if defined(__x86_64__) || defined(__i386__)
    return __rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
#error "prony_zones.h knows the counters of x86 and aarch64"
#endif
}

static inline __attribute__((always_inline)) struct prony_zone_scope
prony_zone_enter(struct prony_zone_cache *cache, const char *name, uint64_t bytes) {
    struct prony_zone_scope scope;
    scope.parent = prony_zone_current;
    if (__builtin_expect(scope.parent && cache->parent == scope.parent, 1)) {
        scope.node = cache->node;
    } else {
        scope.node = prony_zone_find(cache, name);
        scope.parent = cache->parent;
    }
    scope.node->bytes += bytes;
    prony_zone_current = scope.node;
    scope.inclusive_before = scope.node->inclusive;
    /* Read last here and first below, so that zones measure as little of themselves as can be. */
    scope.began = prony_zone_ticks();
    return scope;
}

static inline __attribute__((always_inline)) void prony_zone_leave(struct prony_zone_scope *scope) {
    uint64_t took = prony_zone_ticks() - scope->began;
    prony_zone_current = scope->parent;
    scope->parent->exclusive -= took;
    scope->node->exclusive += took;
    scope->node->hits += 1;
    scope->node->inclusive = scope->inclusive_before + took;
}

#define PRONY_ZONE_JOIN_(a, b) a##b
#define PRONY_ZONE_JOIN(a, b) PRONY_ZONE_JOIN_(a, b)
#define PRONY_ZONE_AT(name, bytes, line)                                                                               \
    static __thread struct prony_zone_cache PRONY_ZONE_JOIN(prony_zone_cache_, line);                                  \
    __attribute__((cleanup(prony_zone_leave), unused)) struct prony_zone_scope PRONY_ZONE_JOIN(prony_zone_, line) =    \
        prony_zone_enter(&PRONY_ZONE_JOIN(prony_zone_cache_, line), name, bytes)

#define PRONY_ZONE(name) PRONY_ZONE_AT(name, 0, __LINE__)
#define PRONY_ZONE_BYTES(name, bytes) PRONY_ZONE_AT(name, (uint64_t)(bytes), __LINE__)

#ifdef __cplusplus
}
#endif

#ifdef PRONY_ZONES_IMPLEMENTATION

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

struct prony_zone_again {
    struct prony_zone_node *node;
    struct prony_zone_again *next;
};

struct prony_zone_thread {
    struct prony_zone_node root;
    struct prony_zone_thread *next;
    int number;
};

__thread struct prony_zone_node *prony_zone_current;
static struct prony_zone_thread *prony_zone_threads;
static pthread_mutex_t prony_zone_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t prony_zone_began_ticks, prony_zone_began_ns;

static uint64_t prony_zone_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A program without memory for a node goes on with one that is shared and never shown. */
static struct prony_zone_node *prony_zone_new(size_t size) {
    static struct prony_zone_thread spare;
    void *memory = calloc(1, size);
    return memory ? (struct prony_zone_node *)memory : &spare.root;
}

static void prony_zones_at_exit(void) {
    const char *path = getenv("PRONY_ZONES_FILE");
    if (!path || !*path)
        path = "prony.zones";
    if (prony_zones_write(path) != 0)
        fprintf(stderr, "cannot write %s\n", path);
}

static struct prony_zone_node *prony_zone_root(void) {
    struct prony_zone_thread *thread = (struct prony_zone_thread *)prony_zone_new(sizeof *thread);
    pthread_mutex_lock(&prony_zone_lock);
    if (!prony_zone_threads) {
        prony_zone_began_ns = prony_zone_ns();
        prony_zone_began_ticks = prony_zone_ticks();
        atexit(prony_zones_at_exit);
    }
    thread->number = prony_zone_threads ? prony_zone_threads->number + 1 : 1;
    thread->next = prony_zone_threads;
    prony_zone_threads = thread;
    pthread_mutex_unlock(&prony_zone_lock);
    return &thread->root;
}

struct prony_zone_node *prony_zone_find(struct prony_zone_cache *cache, const char *name) {
    struct prony_zone_node *parent = prony_zone_current ? prony_zone_current : prony_zone_root();
    struct prony_zone_node *node;
    struct prony_zone_again *again;
    cache->parent = parent;
    for (node = parent->children; node; node = node->next)
        if (strcmp(node->name, name) == 0)
            return cache->node = node;
    for (again = parent->again; again; again = again->next)
        if (strcmp(again->node->name, name) == 0)
            return cache->node = again->node;
    for (node = parent; node && node->name; node = node->parent) {
        if (strcmp(node->name, name) == 0) {
            again = (struct prony_zone_again *)calloc(1, sizeof *again);
            if (again) {
                again->node = node;
                again->next = parent->again;
                parent->again = again;
            }
            return cache->node = node;
        }
    }
    node = prony_zone_new(sizeof *node);
    node->name = name;
    node->parent = parent;
    node->next = parent->children;
    parent->children = node;
    return cache->node = node;
}

static void prony_zone_print(FILE *file, const struct prony_zone_node *above, unsigned parent, unsigned *last) {
    const struct prony_zone_node *node;
    for (node = above->children; node; node = node->next) {
        unsigned number = ++*last;
        fprintf(file, "zone %u %u %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRIu64 " %s\n", number, parent, node->hits,
                node->inclusive, (int64_t)node->exclusive, node->bytes, node->name);
        prony_zone_print(file, node, number, last);
    }
}

/* What a zone costs, in ticks: the least of some that hold nothing. */
static uint64_t prony_zone_cost(void) {
    struct prony_zone_node root, node;
    struct prony_zone_cache cache = {&root, &node};
    struct prony_zone_node *before = prony_zone_current;
    uint64_t least = UINT64_MAX;
    int round, at;
    memset(&root, 0, sizeof root);
    memset(&node, 0, sizeof node);
    prony_zone_current = &root;
    for (round = 0; round < 32; round++) {
        uint64_t began = prony_zone_ticks(), took;
        for (at = 0; at < 64; at++) {
            struct prony_zone_scope scope = prony_zone_enter(&cache, "", 0);
            prony_zone_leave(&scope);
        }
        took = (prony_zone_ticks() - began) / 64;
        least = took < least ? took : least;
    }
    prony_zone_current = before;
    return least;
}

int prony_zones_write(const char *path) {
    struct prony_zone_thread *thread;
    char *temporary;
    FILE *file;
    unsigned last = 0;
    int failed;
    pthread_mutex_lock(&prony_zone_lock);
    thread = prony_zone_threads;
    pthread_mutex_unlock(&prony_zone_lock);
    if (!thread)
        return 0;
    temporary = (char *)malloc(strlen(path) + 32);
    if (!temporary)
        return -1;
    sprintf(temporary, "%s.%ld.tmp", path, (long)getpid());
    file = fopen(temporary, "w");
    if (!file) {
        free(temporary);
        return -1;
    }
    fprintf(file, "prony-zones 1\nclock %" PRIu64 " %" PRIu64 "\ncost %" PRIu64 "\n",
            prony_zone_ticks() - prony_zone_began_ticks, prony_zone_ns() - prony_zone_began_ns, prony_zone_cost());
    for (; thread; thread = thread->next) {
        fprintf(file, "thread %d\n", thread->number);
        prony_zone_print(file, &thread->root, 0, &last);
    }
    failed = fflush(file) != 0 || ferror(file) || fsync(fileno(file)) != 0;
    failed |= fclose(file) != 0;
    failed = failed || rename(temporary, path) != 0;
    if (failed)
        unlink(temporary);
    free(temporary);
    return failed ? -1 : 0;
}

#ifdef __cplusplus
}
#endif

#endif /* PRONY_ZONES_IMPLEMENTATION */
#endif /* PRONY_ZONES */
#endif /* PRONY_ZONES_H */
