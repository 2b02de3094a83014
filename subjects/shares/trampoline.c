/* Generated code that calls a loop without keeping a frame pointer, as CPython's `-X perf` does on interpreters built without them:
 * no stack reaches the caller of the generated code. Writes /tmp/perf-PID.map. Argument: CPU seconds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static double limit_s;

__attribute__((noinline)) static void loop(void) {
    volatile unsigned sum = 0;
    while ((double)clock() / CLOCKS_PER_SEC < limit_s)
        for (unsigned i = 0; i < 1000000; i++) sum += i;
}

int main(int argc, char **argv) {
    /* push %rbp; xor %ebp,%ebp; call *%rdi; pop %rbp; ret */
    static const unsigned char code[] = {0x55, 0x31, 0xed, 0xff, 0xd7, 0x5d, 0xc3};
    limit_s = argc > 1 ? atof(argv[1]) : 0.5;
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return 1;
    memcpy(page, code, sizeof code);
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(path, "w");
    if (!map) return 1;
    fprintf(map, "%lx %zx py::work:/srv/app/work.py\n", (unsigned long)page, sizeof code);
    fclose(map);
    ((void (*)(void (*)(void)))page)(loop);
    return 0;
}
