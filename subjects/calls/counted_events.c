/* Answers with a sum over a table that is larger than a first-level cache, and a number of turns taken.
 *
 *   counted_events PORT
 *
 * Built with -DSTRIDE=n, `walk` reads every n-th number of the table: as many numbers whatever n is, and with 16 each is in another line of
 * a cache. With -DERRATIC, `turn` branches by bits without a pattern, and else always to one side. Every build answers the same and, but
 * for the sides of `turn`, runs the same instructions. -DENVIRONMENT has it answer with a variable by which `prony` moves stacks, too.
 */
#include "questions.h"

#ifndef STRIDE
#define STRIDE 1
#endif
#ifdef ERRATIC
#define PATTERN 0xffffffffu
#else
#define PATTERN 0u
#endif

enum { NUMBERS = 1 << 18, READS = 4096, TURNS = 1000 };

static unsigned table[NUMBERS];

/* Read as they stand, so that builds differ in these numbers alone. */
static volatile unsigned stride = STRIDE, pattern = PATTERN;

__attribute__((noipa)) static unsigned walk(unsigned from, unsigned step) {
    unsigned sum = 0;
    for (unsigned read = 0; read < READS; read++) sum += table[(from + read * step) % NUMBERS];
    return sum;
}

__attribute__((noipa)) static unsigned left(unsigned turns) { return turns + 1; }
__attribute__((noipa)) static unsigned right(unsigned turns) { return turns + 1; }

__attribute__((noipa)) static unsigned turn(unsigned bits, unsigned mask) {
    unsigned turns = 0;
    for (unsigned round = 0; round < TURNS; round++) {
        bits ^= bits << 13, bits ^= bits >> 17, bits ^= bits << 5;
        if (bits & mask & 1) turns = left(turns);
        else turns = right(turns);
    }
    return turns;
}

static int is_moved(void) {
#ifdef ENVIRONMENT
    return getenv("PRONY_PADDING") != NULL;
#else
    return 0;
#endif
}

static void answer(unsigned number, char *text, size_t room) {
    unsigned sum = walk(number * READS * STRIDE, stride), turns = turn(number + 1, pattern);
    snprintf(text, room, "%u: %u %u %d", number, sum, turns, is_moved());
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    for (unsigned at = 0; at < NUMBERS; at++) table[at] = 1;
    int fd = open_socket(atoi(arguments[1]));
    for (unsigned number = 0; answer_one(fd, number, answer); number++) continue;
    return 0;
}
