/* A server that looks at its state: `state FILE UID [UP GO]`.
 *
 * It becomes the user UID, copies FILE to its standard output, or to the pipe UP, and then waits until GO can be read. */
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    uid_t user = strtoul(argv[2], NULL, 10);
    if (user != getuid() && (setgroups(0, NULL) || setgid(user) || setuid(user)))
        perror("cannot become another user");
    int file = open(argv[1], O_RDONLY);
    if (file < 0) {
        perror(argv[1]);
        return 1;
    }
    int out = argc > 4 ? open(argv[3], O_WRONLY) : 1;
    char bytes[4096];
    ssize_t length;
    while ((length = read(file, bytes, sizeof bytes)) > 0)
        if (write(out, bytes, length) != length)
            return 1;
    if (argc > 4) {
        close(out);
        int go = open(argv[4], O_RDONLY);
        (void)!read(go, bytes, 1);
    }
    return 0;
}
