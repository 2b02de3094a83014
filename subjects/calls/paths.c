/* Binds a Unix socket to a path for every question, and answers with what the file system says of it.
 *
 *   paths PORT PATH
 */
#include "questions.h"
#include <sys/stat.h>
#include <sys/un.h>

static const char *path;

static void answer(unsigned number, char *text, size_t room) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat first, then;
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    mode_t before = umask(number % 2 ? 0027 : 0022);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    must(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0, "bind");
    umask(before);
    must(listen(fd, 5) == 0, "listen");
    must(stat(path, &first) == 0, "stat");
    must(chown(path, getuid(), getgid()) == 0, "chown");
    must(chmod(path, 0660) == 0 && lstat(path, &then) == 0, "chmod");
    must(unlink(path) == 0 && access(path, F_OK) != 0, "unlink");
    close(fd);
    snprintf(text, room, "%u: %o then %o, %s", number, (unsigned)first.st_mode, (unsigned)then.st_mode,
             S_ISSOCK(then.st_mode) ? "a socket" : "no socket");
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    path = arguments[2];
    int fd = open_socket(atoi(arguments[1]));
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    /* What it leaves behind a replay takes away. */
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    must(bind(fd, (struct sockaddr *)&address, sizeof address) == 0, "bind");
    return 0;
}
