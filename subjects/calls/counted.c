/* Answers with a sum that two functions make.
 *
 *   counted PORT
 *
 * Built with -DMORE=n, `weigh` goes n rounds more for an answer, and answers the same; with -DAT=k as well, for answer k only. -DFRAMES has it wait
 * for each question, which is a frame then, and -DUSER=n become another user before the first. -DNOP has `weigh` run one instruction more,
 * and -DRAW brings a system call past libc, which is not made. With -DNESTED, a function that calls itself calls both.
 */
#include "questions.h"
#include <poll.h>
#include <unistd.h>

#ifndef MORE
#define MORE 0
#endif

__attribute__((noinline)) static unsigned gather(unsigned number) {
    volatile unsigned sum = 0;
    for (unsigned round = 0; round < 2000; round++) sum += round ^ number;
    return sum;
}

__attribute__((noipa)) static unsigned weigh(unsigned sum, unsigned more) {
    volatile unsigned weight = sum, rounds = 0;
#ifdef NOP
    __asm__ volatile("nop");
#endif
    for (unsigned round = 0; round < 100 + more; round++) rounds += 1;
    return weight % 1000;
}

/* Goes down to them, one call inside the other. */
__attribute__((noipa)) static unsigned descend(unsigned depth, unsigned number, unsigned more) {
    volatile unsigned found = depth > 0 ? descend(depth - 1, number, more) : weigh(gather(number), more);
    return found;
}

#ifdef RAW
__attribute__((used, noinline)) static long raw(long number) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number) : "rcx", "r11", "memory");
    return result;
}
#endif

/* Read as it stands, so that builds differ in this number alone. */
static volatile unsigned more = MORE;

static int is_longer(unsigned number) {
#ifdef AT
    return number == AT;
#else
    return number < ~0u;
#endif
}

#ifdef NESTED
#define DEPTH 5
#else
#define DEPTH 0
#endif

static void answer(unsigned number, char *text, size_t room) {
    const unsigned rounds = is_longer(number) ? more : 0;
    const unsigned found = DEPTH > 0 ? descend(DEPTH, number, rounds) : weigh(gather(number), rounds);
    snprintf(text, room, "%u: %u", number, found);
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    int fd = open_socket(atoi(arguments[1]));
#ifdef USER
    if (setuid(USER) != 0) return 3;
#endif
    for (unsigned number = 0;; number++) {
#ifdef FRAMES
        struct pollfd question = {.fd = fd, .events = POLLIN};
        poll(&question, 1, -1);
#endif
        if (!answer_one(fd, number, answer)) return 0;
    }
}
