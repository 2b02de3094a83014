/* Pointers that lead nowhere: the kernel answers EFAULT, and the server goes on.
 *
 *   refused PORT
 */
#include "questions.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <time.h>

/* No compiler knows what it is. */
static char *volatile nowhere;

static long made(int number) {
    struct stat status;
    struct statfs system;
    char link[64];
    switch (number) {
    case 0: return open(nowhere, O_RDONLY);
    case 1: return access(nowhere, F_OK);
    case 2: return stat(nowhere, &status);
    case 3: return lstat(nowhere, &status);
    case 4: return readlink(nowhere, link, sizeof link);
    case 5: return unlink(nowhere);
    case 6: return mkdir(nowhere, 0700);
    case 7: return rename(nowhere, nowhere);
    case 8: return truncate(nowhere, 0);
    case 9: return statfs(nowhere, &system);
    case 10: return execl(nowhere, "none", (char *)NULL);
    case 11: return poll((struct pollfd *)nowhere, 1, 0);
    case 12: return syscall(SYS_clock_gettime, CLOCK_MONOTONIC, nowhere);
    case 13: return syscall(SYS_openat, AT_FDCWD, nowhere, O_RDONLY);
    default: return 1;
    }
}

static void answer(unsigned number, char *text, size_t room) {
    nowhere = number % 2 ? (char *)8 : NULL;
    size_t used = (size_t)snprintf(text, room, "%u:", number);
    for (int call = 0; call < 14; call++) {
        errno = 0;
        long result = made(call);
        used += (size_t)snprintf(text + used, room - used, " %ld %d", result, errno);
    }
}

int main(int count, char **arguments) {
    int begun = errno;
    if (count != 2 || begun) return 2;
    int fd = open_socket(atoi(arguments[1]));
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return 0;
}
