/* Answers in a handler of a signal, with bytes of the stack that it has never written.
 *
 *   handler_stack PORT
 *
 * The handler makes calls first, so that what these leave below its frame would be in the answer. Functions of the C library that leave
 * addresses of the stack there are not among them. It returns, and for odd questions it jumps out.
 */
#include "questions.h"
#include <setjmp.h>
#include <signal.h>
#include <time.h>

static int fd;
static unsigned number;
static struct sockaddr_in from;
static sigjmp_buf out;

__attribute__((noinline)) static void send_unwritten(void) {
    unsigned char answer[12000];
    /* Hides from the compiler that nothing was written. */
    __asm__ volatile("" : : "r"(answer) : "memory");
    answer[0] = (unsigned char)number;
    must(sendto(fd, answer, sizeof answer, 0, (struct sockaddr *)&from, sizeof from) == sizeof answer, "sendto");
}

/* Goes below the frames in which the library keeps what the server had in registers. */
__attribute__((noinline)) static void descend(void) {
    unsigned char written[2048];
    memset(written, (int)number, sizeof written);
    __asm__ volatile("" : : "r"(written) : "memory");
    send_unwritten();
    __asm__ volatile("" : : "r"(written) : "memory");
}

static void handle(int signal) {
    struct timespec now;
    struct sockaddr_in name;
    socklen_t length = sizeof name;
    clock_gettime(CLOCK_REALTIME, &now);
    getsockname(fd, (struct sockaddr *)&name, &length);
    must(write(2, signal == SIGUSR1 ? "handled\n" : "another\n", 8) == 8, "write");
    descend();
    if (number % 2) siglongjmp(out, 1);
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    fd = open_socket(atoi(arguments[1]));
    signal(SIGUSR1, handle);
    for (; question(fd, &from); number++)
        if (sigsetjmp(out, 1) == 0) raise(SIGUSR1);
    return 0;
}
