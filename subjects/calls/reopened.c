/* Reads a file in place of its standard input, as what becomes a daemon does, and answers with what it read.
 *
 *   reopened PORT FILE
 */
#include "questions.h"

static void answer(unsigned number, char *text, size_t room) {
    char line[64] = "the end";
    if (fgets(line, sizeof line, stdin)) line[strcspn(line, "\n")] = 0;
    snprintf(text, room, "%u: %d %s", number, fileno(stdin), line);
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    FILE *reopened = freopen(arguments[2], "r", stdin);
    must(reopened != NULL && reopened == stdin, arguments[2]);
    int fd = open_socket(atoi(arguments[1]));
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return 0;
}
