/* Files by other names than their own: moved into and out of a directory, opened through the process's own descriptors,
 * and those that the kernel makes up; and the random bytes
 * that it gives a program at its start.
 *
 *   carried PORT DIRECTORY
 *
 * Works in the directory around it, and answers with what became of it.
 */
#include "questions.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>

static const char *directory;

static int made(const char *path, const char *content) {
    int file = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0640);
    must(file >= 0 && write(file, content, strlen(content)) == (ssize_t)strlen(content), "write");
    return close(file);
}

static void content_of(const char *path, char *to, size_t room) {
    int file = open(path, O_RDONLY);
    ssize_t got = file < 0 ? -1 : read(file, to, room - 1);
    to[got < 0 ? 0 : got] = 0;
    if (file >= 0) close(file);
}

static int tried(int result) {
    return result == 0 ? 0 : errno;
}

static void answer(unsigned number, char *text, size_t room) {
    char inside[300], other[300], content[20], first[20], second[20], third[20], path[64], leads[64] = "", unique[64] = "";
    snprintf(content, sizeof content, "content %u", number);
    snprintf(inside, sizeof inside, "%s/moved", directory);
    snprintf(other, sizeof other, "%s/linked", directory);
    int results[8], at = 0;

    made("outside", content);
    results[at++] = tried(rename("outside", inside));
    results[at++] = access("outside", F_OK) == 0;
    content_of(inside, first, sizeof first);
    struct stat facts;
    must(stat(inside, &facts) == 0, "stat");
    results[at++] = facts.st_mode & 0777;
    results[at++] = tried(link(inside, "back"));
    results[at++] = tried(link(inside, "back"));
    content_of("back", second, sizeof second);
    must(symlink("nowhere", "leads") == 0, "symlink");
    results[at++] = tried(rename("leads", other));
    results[at++] = (int)readlink(other, leads, sizeof leads - 1);
    must(unlink(inside) == 0 && unlink("back") == 0 && unlink(other) == 0, "unlink");

    int memory = memfd_create("memory", 0);
    must(memory >= 0 && write(memory, content, strlen(content)) > 0, "memfd_create");
    snprintf(path, sizeof path, number % 2 ? "/proc/self/fd/%d" : "/dev/fd/%d", memory);
    content_of(path, third, sizeof third);
    close(memory);
    results[at++] = tried(access("/proc/self/fd/0", F_OK));

    char self[32] = "";
    must(readlink("/proc/self", self, sizeof self - 1) > 0, "readlink");
    FILE *file = fopen("/proc/sys/kernel/random/uuid", "r");
    must(file && fgets(unique, sizeof unique, file), "uuid");
    fclose(file);
    unique[strcspn(unique, "\n")] = 0;
    unsigned start;
    memcpy(&start, (void *)getauxval(AT_RANDOM), sizeof start);

    int used = snprintf(text, room, "%u:", number);
    for (int each = 0; each < at; each++) used += snprintf(text + used, room - used, " %d", results[each]);
    snprintf(text + used, room - used, " %s|%s|%s|%s drawn %s %s %x", first, second, third, leads, self, unique,
             start);
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    directory = arguments[2];
    int fd = open_socket(atoi(arguments[1]));
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return 0;
}
