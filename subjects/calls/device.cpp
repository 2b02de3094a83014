/* Answers with numbers of std::random_device, which asks the processor.
 *
 *   device PORT
 */
#include "questions.h"
#include <random>

static std::random_device *device;

static void answer(unsigned number, char *text, size_t room) {
    snprintf(text, room, "%u: %08x", number, (*device)());
}

int main(int count, char **arguments) {
    std::random_device made;
    device = &made;
    int fd = open_socket(count == 2 ? atoi(arguments[1]) : 0);
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return 0;
}
