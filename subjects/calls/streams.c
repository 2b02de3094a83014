/* What its standard streams are, as programs ask that share buffers between them and flush them to the disk, and what a file
 * and its file system are that another run does not have again.
 *
 *   streams PORT FILE
 */
#include "questions.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

static const char *path;
static struct stat of[3];

static int same(int one, int other) {
    return of[one].st_dev == of[other].st_dev && of[one].st_ino == of[other].st_ino;
}

static void answer(unsigned number, char *text, size_t room) {
    for (int stream = 0; stream < 3; stream++) must(fstat(stream, &of[stream]) == 0, "fstat");
    size_t used = (size_t)snprintf(text, room, "%u: %d %d %d, of type %o, flushed %d drawn", number, same(0, 1), same(0, 2),
                                   same(1, 2), of[1].st_mode & S_IFMT, fsync(1) == 0);
    dprintf(number % 2 ? 2 : 1, "question %u\n", number);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    must(fd >= 0 && write(fd, text, used) > 0, "a file");
    struct stat by_path, by_number;
    struct statx extended;
    struct statfs system;
    struct statvfs virtual;
    must(fstat(fd, &by_number) == 0 && stat(path, &by_path) == 0 && statfs(path, &system) == 0, "stat");
    must(statx(fd, "", AT_EMPTY_PATH, STATX_ALL, &extended) == 0 && fstatvfs(fd, &virtual) == 0, "statx");
    close(fd);
    must(by_path.st_ino == by_number.st_ino && extended.stx_ino == by_path.st_ino, "one file");
    snprintf(text + used, room - used, " %llu %llu.%09ld %llu.%09u %llu %llu", (unsigned long long)by_path.st_ino,
             (unsigned long long)by_path.st_mtim.tv_sec, (long)by_path.st_mtim.tv_nsec,
             (unsigned long long)extended.stx_ctime.tv_sec, extended.stx_ctime.tv_nsec, (unsigned long long)system.f_bfree,
             (unsigned long long)virtual.f_bavail);
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    path = arguments[2];
    int fd = open_socket(atoi(arguments[1]));
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return 0;
}
