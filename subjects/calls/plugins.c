/* Loads a plugin with RTLD_DEEPBIND, as engines load game code, and answers with what it says.
 *
 *   plugins PORT NAME [other-namespace]
 *
 * NAME has no slash: the loader finds it through the RUNPATH of this program, which it takes from who
 * calls `dlopen`. With `other-namespace` the plugin is loaded by `dlmopen` into a namespace of its own.
 */
#include "questions.h"
#include <dlfcn.h>

static int (*say)(char *, size_t);

static void answer(unsigned number, char *text, size_t room) {
    int used = snprintf(text, room, "%u: ", number);
    say(text + used, room - (size_t)used);
}

int main(int count, char **arguments) {
    if (count < 3) return 2;
    int flags = RTLD_NOW | RTLD_LOCAL;
    void *plugin = count == 3 ? dlopen(arguments[2], flags | RTLD_DEEPBIND) : dlmopen(LM_ID_NEWLM, arguments[2], flags);
    if (!plugin) {
        fprintf(stderr, "plugins: %s\n", dlerror());
        return 1;
    }
    *(void **)&say = dlsym(plugin, "say");
    must(say != NULL, "say");
    int fd = open_socket(atoi(arguments[1]));
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return 0;
}
