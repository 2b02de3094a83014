/* Answers with the permissions of a directory and of what is in it.
 *
 *   modes PORT DIRECTORY
 */
#include "questions.h"
#include <dirent.h>
#include <sys/stat.h>

static const char *directory;

static void answer(unsigned number, char *text, size_t room) {
    struct stat status;
    must(stat(directory, &status) == 0, directory);
    int used = snprintf(text, room, "%u: %o", number, (unsigned)status.st_mode);
    struct dirent **names;
    int count = scandir(directory, &names, NULL, alphasort);
    must(count >= 0, "scandir");
    for (int at = 0; at < count; at++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", directory, names[at]->d_name);
        if (names[at]->d_name[0] != '.' && stat(path, &status) == 0) {
            used += snprintf(text + used, room - (size_t)used, " %s %o", names[at]->d_name, (unsigned)status.st_mode);
        }
        free(names[at]);
    }
    free(names);
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    directory = arguments[2];
    int fd = open_socket(atoi(arguments[1]));
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return 0;
}
