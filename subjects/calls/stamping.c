/* Answers with the time that a plugin reads from the processor.
 *
 *   stamping PORT PLUGIN
 */
#include "questions.h"
#include <dlfcn.h>

static uint64_t (*plugged)(void);

static void answer(unsigned number, char *text, size_t room) {
    snprintf(text, room, "%u: %llx", number, (unsigned long long)plugged());
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    void *plugin = dlopen(arguments[2], RTLD_NOW);
    if (!plugin) return 3;
    *(void **)&plugged = dlsym(plugin, "plugged");
    int fd = open_socket(atoi(arguments[1]));
    for (unsigned number = 0;; number++)
        if (!answer_one(fd, number, answer)) return 0;
}
