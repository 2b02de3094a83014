/* Asks the processor for the time, for randomness and for its number, and answers with what it says.
 *
 *   processor PORT [PLUGIN]
 *
 * In its code stand the same bytes within other instructions and in tables, which must stay what they are, and
 * it has a handler for breakpoints of its own. Built with OTHER_BUILD everything lies elsewhere.
 */
#include "questions.h"
#include <cpuid.h>
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>

/* No unwind information, no size, no type: known by the call that leads there. Behind it a table. */
__asm__(".text\n"
        "bare_time_stamp:\n"
        "    lfence\n"
        "    rdtsc\n"
#ifdef __x86_64__
        "    shl $32, %rdx\n"
        "    or %rdx, %rax\n"
#endif
        "    ret\n"
        "table_in_code:\n"
        "    .byte 0x0f, 0x31, 0x06, 0x0f, 0xa2, 0x0f, 0xc7, 0xf0\n");
uint64_t bare_time_stamp(void);
extern const unsigned char table_in_code[8];

#ifdef OTHER_BUILD
int padding(int number) {
    for (int at = 0; at < 100; at++) number = number * 31 + at;
    return number;
}
#endif

static uint64_t time_stamp(void) {
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

static uint64_t time_stamp_and_number(uint32_t *number) {
    uint32_t low, high;
    __asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(*number));
    return (uint64_t)high << 32 | low;
}

#ifndef __x86_64__
/* What the instruction leaves alone: all other registers, vectors, and flags. */
__attribute__((target("sse2"))) static const char *untouched(void) {
    double sums[4] __attribute__((aligned(16))) = {0.5, 1.5, 6.5, 7.5};
    uint32_t before = 0x9abcdef0, after, carry = 0;
    __asm__ volatile("movapd (%[sums]), %%xmm1\n"
                     "movapd 16(%[sums]), %%xmm7\n"
                     "mov %[before], %%ecx\n"
                     "stc\n"
                     "rdtsc\n"
                     "mov $0, %%eax\n"
                     "adc $0, %[carry]\n"
                     "mov %%ecx, %[after]\n"
                     "addpd %%xmm7, %%xmm1\n"
                     "movapd %%xmm1, (%[sums])\n"
                     : [after] "=m"(after), [carry] "+m"(carry)
                     : [before] "r"(before), [sums] "r"(sums)
                     : "eax", "ecx", "edx", "xmm1", "xmm7", "cc", "memory");
    return after == before && carry == 1 && sums[0] + sums[1] == 16 ? "kept" : "lost";
}
#else
/* What the instruction leaves alone: all other registers, vectors, flags, and what lies below the stack. */
static const char *untouched(void) {
    double sum = 0, sums[8] __attribute__((aligned(32)));
    uint64_t before = 0x123456789abcdef0, after, carry = 0;
    for (int at = 0; at < 8; at++) sums[at] = at + 0.5;
    __asm__ volatile("movapd (%[sums]), %%xmm1\n"
                     "movapd 16(%[sums]), %%xmm15\n"
                     "mov %[before], %%r10\n"
                     "mov %[before], -8(%%rsp)\n"
                     "mov %[before], -120(%%rsp)\n"
                     "stc\n"
                     "rdtsc\n"
                     "mov %%eax, %%eax\n"
                     "mov %%edx, %%edx\n"
                     "mov $0, %%eax\n"
                     "adc $0, %[carry]\n"
                     "mov -8(%%rsp), %[after]\n"
                     "xor -120(%%rsp), %[after]\n"
                     "xor %%r10, %[after]\n"
                     "addpd %%xmm15, %%xmm1\n"
                     "movapd %%xmm1, (%[sums])\n"
                     : [after] "=&r"(after), [carry] "+r"(carry)
                     : [before] "r"(before), [sums] "r"(sums)
                     : "rax", "rdx", "r10", "xmm1", "xmm15", "cc", "memory");
    for (int at = 0; at < 2; at++) sum += sums[at];
    return after == before && carry == 1 && sum == 8 ? "kept" : "lost";
}
#endif

/* The two bytes of RDTSC in a constant. */
static uint32_t constant(void) {
    uint32_t value;
    __asm__ volatile("mov $0x0000310f, %0" : "=r"(value));
    return value;
}

static uint64_t drawn(void) {
    unsigned long wide;
    uint32_t half;
    uint16_t small = 0;
    unsigned char worked;
    do {
        __asm__ volatile("rdrand %0; setc %1" : "=r"(wide), "=qm"(worked)::"cc");
    } while (!worked);
    __asm__ volatile("rdrand %0" : "=r"(half)::"cc");
#ifdef __x86_64__
    register uint16_t twelfth __asm__("r12") = 0;
    __asm__ volatile("rdrand %0" : "+r"(twelfth)::"cc");
    small = twelfth;
#else
    __asm__ volatile("rdrand %0" : "+r"(small)::"cc");
#endif
    return (uint64_t)wide ^ (uint64_t)half << 16 ^ small;
}

static uint64_t seeded(void) {
    unsigned a, b = 0, c, d;
    unsigned long value = 0;
    __get_cpuid_count(7, 0, &a, &b, &c, &d);
    if (b & 1u << 18) __asm__ volatile("rdseed %0" : "=r"(value)::"cc");
    return value;
}

static uint64_t number_of_processor(void) {
    unsigned a, b, c = 0, d;
    unsigned long value = 0;
    __get_cpuid_count(7, 0, &a, &b, &c, &d);
    if (c & 1u << 22) __asm__ volatile("rdpid %0" : "=r"(value));
    return value;
}

static unsigned number_by_cpuid(void) {
    unsigned a, b = 0, c, d;
    __get_cpuid(1, &a, &b, &c, &d);
    return b >> 24;
}

static volatile sig_atomic_t own_traps;

static void on_trap(int number) {
    (void)number;
    own_traps = own_traps + 1;
}

static sem_t wanted, there;
static uint64_t from_thread;

static void *stamp(void *nothing) {
    /* As threads do that leave signals to another one. */
    sigset_t all;
    sigfillset(&all);
    must(pthread_sigmask(SIG_BLOCK, &all, NULL) == 0, "pthread_sigmask");
    for (;;) {
        while (sem_wait(&wanted) != 0) {
        }
        from_thread = time_stamp();
        sem_post(&there);
    }
    return nothing;
}

static uint64_t (*plugged)(void);

static void answer(unsigned number, char *text, size_t room) {
    uint32_t processor;
    sem_post(&wanted);
    sem_wait(&there);
    __asm__ volatile("int3");
    uint64_t with_number = time_stamp_and_number(&processor);
    int used = snprintf(text, room, "%u: %llx %llx %llx %u, drawn %llx %llx, on %llu %u, thread %llx, %d own, %x, %s", number,
                        (unsigned long long)time_stamp(), (unsigned long long)bare_time_stamp(),
                        (unsigned long long)with_number, processor, (unsigned long long)drawn(),
                        (unsigned long long)seeded(), (unsigned long long)number_of_processor(), number_by_cpuid(),
                        (unsigned long long)from_thread, (int)own_traps, constant(), untouched());
    for (unsigned at = 0; at < sizeof table_in_code; at++) {
        used += snprintf(text + used, room - (size_t)used, " %02x", table_in_code[at]);
    }
    if (plugged) snprintf(text + used, room - (size_t)used, ", plugged in at %llx", (unsigned long long)plugged());
}

int main(int count, char **arguments) {
    if (count < 2) return 2;
    struct sigaction action = {.sa_handler = on_trap}, kept;
    pthread_t thread;
    must(sigaction(SIGTRAP, &action, NULL) == 0 && sigaction(SIGTRAP, NULL, &kept) == 0, "sigaction");
    must(kept.sa_handler == on_trap, "the handler of SIGTRAP");
    if (count > 2) {
        void *plugin = dlopen(arguments[2], RTLD_NOW);
        must(plugin != NULL, "dlopen");
        *(void **)&plugged = dlsym(plugin, "plugged");
    }
    sem_init(&wanted, 0, 0);
    sem_init(&there, 0, 0);
    must(pthread_create(&thread, NULL, stamp, NULL) == 0, "pthread_create");
    int fd = open_socket(atoi(arguments[1]));
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return 0;
}
