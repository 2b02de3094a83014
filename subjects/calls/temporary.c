/* Files and folders with names of random letters, some of which stay.
 *
 *   temporary PORT FOLDER
 *
 * Answers with the names, and what the files contain.
 */
#include "questions.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static const char *folder;

static int contains(int fd, const char *text) {
    char found[20] = "";
    must(write(fd, text, strlen(text)) > 0, "write");
    int length = (int)pread(fd, found, sizeof found - 1, 0);
    struct stat status;
    must(fstat(fd, &status) == 0 && close(fd) == 0, "fstat");
    return length == (int)strlen(text) && (status.st_mode & 0777) == 0600;
}

static void answer(unsigned number, char *text, size_t room) {
    char names[4][120];
    snprintf(names[0], sizeof names[0], "%s/aXXXXXX", folder);
    snprintf(names[1], sizeof names[1], "%s/bXXXXXX.end", folder);
    snprintf(names[2], sizeof names[2], "%s/cXXXXXX", folder);
    snprintf(names[3], sizeof names[3], "%s/dXXXXXX", folder);
    int good = contains(mkstemp(names[0]), "first") + contains(mkstemps(names[1], 4), "second")
               + contains(mkostemp(names[2], O_APPEND), "third") + (mkdtemp(names[3]) == names[3]);
    if (number % 2) good += unlink(names[0]) == 0 && rmdir(names[3]) == 0;
    char wrong[] = "wrongXXXXX", gone[] = "/nowhere/XXXXXX";
    good += mkstemp(wrong) == -1 && errno == EINVAL;
    good += mkstemp(gone) == -1 && errno == ENOENT;
    int used = snprintf(text, room, "%u: %d", number, good);
    for (int at = 0; at < 4; at++) used += snprintf(text + used, room - used, " %s", names[at] + strlen(folder));
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    folder = arguments[2];
    int fd = open_socket(atoi(arguments[1]));
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return 0;
}
