/* Bytes that are moved without passing through the server: splice, tee, vmsplice, sendfile, between sockets, pipes and files.
 *
 *   moved PORT FILE
 *
 * Answers with how much each of them moved and what came out at the other end.
 */
#include "questions.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

static const char *path;

static void answer(unsigned number, char *text, size_t room) {
    int between[2], copies[2], pair[2], results[14], at = 0;
    char first[100] = "", copied[100] = "", second[100] = "", third[100] = "", fourth[100] = "", fifth[100] = "";
    must(pipe(between) == 0 && pipe(copies) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "pipe");
    char words[40];
    int length = snprintf(words, sizeof words, "hello %u", number);

    must(write(pair[0], words, length) == length, "write");
    results[at++] = splice(pair[1], NULL, between[1], NULL, 100, 0);
    results[at++] = tee(between[0], copies[1], 100, 0);
    results[at++] = splice(between[0], NULL, pair[1], NULL, 100, SPLICE_F_MOVE);
    results[at++] = read(pair[0], first, 99);
    results[at++] = read(copies[0], copied, 99);

    struct iovec buffer = {words, length};
    results[at++] = vmsplice(between[1], &buffer, 1, 0);
    results[at++] = read(between[0], second, 99);

    /* A file that is written by splice is there for whoever reads it. */
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    must(file >= 0 && write(between[1], words, length) == length, "file");
    results[at++] = splice(between[0], NULL, file, NULL, 100, 0);
    loff_t place = 100;
    must(write(between[1], words, length) == length, "write");
    results[at++] = splice(between[0], NULL, file, &place, 100, 0);
    results[at++] = (int)place;
    results[at++] = pread(file, third, 99, 100);

    loff_t from = 6;
    results[at++] = splice(file, &from, between[1], NULL, 2, 0);
    must(read(between[0], fourth, 99) > 0, "what was spliced");
    must(lseek(file, 0, SEEK_SET) == 0, "lseek");
    results[at++] = sendfile(pair[1], file, NULL, 5);
    must(read(pair[0], fifth, 99) == 5, "what was sent");
    results[at++] = splice(between[0], NULL, file, NULL, 100, SPLICE_F_NONBLOCK) == -1 ? errno : 0;
    must(at == 14, "results");

    int used = snprintf(text, room, "%u:", number);
    for (int each = 0; each < at; each++) used += snprintf(text + used, room - used, " %d", results[each]);
    snprintf(text + used, room - used, " %s|%s|%s|%s|%s|%s", first, copied, second, third, fourth, fifth);
    close(file);
    for (int each = 0; each < 2; each++) {
        close(between[each]);
        close(copies[each]);
        close(pair[each]);
    }
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    path = arguments[2];
    int fd = open_socket(atoi(arguments[1]));
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return 0;
}
