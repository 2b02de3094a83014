/* Opens its sockets, and becomes the program that serves on them, as those do that a supervisor starts.
 *
 *   handing PORT
 *
 * One descriptor is closed on the way; which number the server's own file gets stands in every answer, and
 * what came through a pipe from the program before. That it is a pipe is looked after, as servers do that want to be started
 * by their own kind.
 */
#include "questions.h"
#include <fcntl.h>
#include <sys/stat.h>

static int file;
static unsigned long inode;
static char handed[32];

static void answer(unsigned number, char *text, size_t room) {
    snprintf(text, room, "%u: file %d, handed %s by %lu", number, file, handed, inode);
}

int main(int count, char **arguments) {
    if (count == 2) {
        int closed = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), way[2];
        int fd = open_socket(atoi(arguments[1]));
        char served[16], read_from[16];
        must(closed >= 0 && pipe(way) == 0 && write(way[1], "a word", 7) == 7, "pipe");
        close(way[1]);
        snprintf(served, sizeof served, "%d", fd);
        snprintf(read_from, sizeof read_from, "%d", way[0]);
        execl("/proc/self/exe", arguments[0], served, read_from, NULL);
        must(0, "execl");
    }
    if (count != 3) return 2;
    struct stat found;
    must(fstat(atoi(arguments[2]), &found) == 0 && S_ISFIFO(found.st_mode), "a pipe");
    inode = found.st_ino;
    file = open("/proc/self/exe", O_RDONLY);
    must(file >= 0 && read(atoi(arguments[2]), handed, sizeof handed) == 7, "read");
    for (unsigned number = 0; answer_one(atoi(arguments[1]), number, answer); number++) {
    }
    return 0;
}
