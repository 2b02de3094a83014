/* Answers with a number that stands in its own code, and writes the next one there.
 *
 *   rewritten PORT
 *
 * As servers do that put a jump into a function of libc and take it out again: the page is made writable once and stays executable.
 */
#include "questions.h"
#include <string.h>
#include <sys/mman.h>

#if !defined(__x86_64__) && !defined(__i386__)
#error "`number_in_code` is code of x86"
#endif

/* mov $0, %eax; ret */
__asm__(".text\n.balign 4096\nnumber_in_code:\n.byte 0xb8, 0, 0, 0, 0, 0xc3\n.balign 4096\n");
extern unsigned number_in_code(void);

static void answer(unsigned number, char *text, size_t room) {
    snprintf(text, room, "%u: %u", number, number_in_code());
    unsigned next = number + 1;
    memcpy((char *)number_in_code + 1, &next, sizeof next);
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    int fd = open_socket(atoi(arguments[1]));
    if (mprotect(number_in_code, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return 3;
    for (unsigned number = 0;; number++)
        if (!answer_one(fd, number, answer)) return 0;
}
