/* Answers with a sum that two functions make.
 *
 *   counted PORT
 *
 * Built with -DMORE=n, `weigh` goes n rounds more for an answer, and answers the same.
 */
#include "questions.h"

#ifndef MORE
#define MORE 0
#endif

__attribute__((noinline)) static unsigned gather(unsigned number) {
    volatile unsigned sum = 0;
    for (unsigned round = 0; round < 2000; round++) sum += round ^ number;
    return sum;
}

__attribute__((noinline)) static unsigned weigh(unsigned sum) {
    volatile unsigned weight = sum, rounds = 0;
    for (unsigned round = 0; round < 100 + MORE; round++) rounds += 1;
    return weight % 1000;
}

static void answer(unsigned number, char *text, size_t room) {
    snprintf(text, room, "%u: %u", number, weigh(gather(number)));
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    int fd = open_socket(atoi(arguments[1]));
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
}
