/* Linked into hlds_linux with --wrap=dlopen: the engine is the file that REHLDS_ENGINE names, if it is set, instead of
   engine_i486.so in the current directory. So each cell of the study can start the same server on another engine. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

void *__real_dlopen(const char *path, int flags);

void *__wrap_dlopen(const char *path, int flags)
{
    const char *chosen = getenv("REHLDS_ENGINE");
    const char *name = path ? strrchr(path, '/') : NULL;
    if (chosen && name && strcmp(name, "/engine_i486.so") == 0)
        path = chosen;
    return __real_dlopen(path, flags);
}
