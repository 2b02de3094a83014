/* A server with one planted reason for which a replay goes another way, from the tenth question on.
 *
 *   planted PORT HOW PATH
 *
 * HOW names a call about PATH that fails where something has changed, after which the server gives up; or a value that it takes
 * into its answer. Where it is built with -DOTHER, it is another build: its answers differ in what HOW names.
 */
#include "questions.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <utime.h>

#ifdef OTHER
static char more[100000];
static const double factor = 1.00001;
#else
static char more[16];
static const double factor = 1.0;
#endif

static const char *how, *path;
static char other[300];

static int is(const char *name) {
    return strcmp(how, name) == 0;
}

/* What stands in the file; nothing where there is none. */
static void content(char *text, size_t room) {
    int fd = open(path, O_RDONLY);
    ssize_t got = fd >= 0 ? read(fd, text, room - 1) : 0;
    text[got > 0 ? got : 0] = 0;
    if (fd >= 0) close(fd);
}

/* Makes the call; false where it failed. */
static int call(void) {
    if (is("chmod")) return chmod(path, 0600) == 0;
    if (is("truncate")) return truncate(path, 3) == 0;
    if (is("utime")) return utime(path, NULL) == 0;
    if (is("chown")) return chown(path, getuid(), getgid()) == 0;
    if (is("unlink")) return unlink(path) == 0;
    if (is("rename")) return rename(path, other) == 0;
    if (is("link")) return link(path, other) == 0;
    if (is("symlink")) return symlink("target", path) == 0;
    if (is("mkdir")) return mkdir(path, 0700) == 0;
    if (is("mkfifo")) return mkfifo(path, 0600) == 0;
    if (is("rmdir")) return rmdir(path) == 0;
    if (is("chdir")) return chdir(path) == 0;
    if (is("exclusive")) {
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
        return fd >= 0 && close(fd) == 0;
    }
    if (is("opendir")) {
        DIR *open = opendir(path);
        return open != NULL && closedir(open) == 0;
    }
    if (is("stat")) {
        struct stat facts;
        return stat(path, &facts) == 0;
    }
    if (is("name")) {
        char name[330];
        snprintf(name, sizeof name, "%s.%lu", path, listed(path));
        int fd = open(name, O_RDONLY);
        return fd >= 0 && close(fd) == 0;
    }
    return 1;
}

/* Entries of the directory, with itself and the one above. */
static unsigned entries(void) {
    unsigned found = 0;
    DIR *open = opendir(path);
    must(open != NULL, "opendir");
    while (readdir(open) != NULL) found++;
    closedir(open);
    return found;
}

static void answer(unsigned number, char *text, size_t room) {
    char value[300] = "nothing";
    if (number == 10) {
        must(call(), how);
        if (is("access")) snprintf(value, sizeof value, "%d", access(path, F_OK));
        if (is("readable")) content(value, sizeof value);
        if (is("content") || is("longer")) content(value, sizeof value);
        if (is("size")) {
            struct stat facts;
            must(stat(path, &facts) == 0, "stat");
            snprintf(value, sizeof value, "%ld", (long)facts.st_size);
        }
        if (is("leads")) {
            ssize_t got = readlink(path, value, sizeof value - 1);
            must(got > 0, "readlink");
            value[got] = 0;
        }
        if (is("inode")) snprintf(value, sizeof value, "%lu", listed(path));
        if (is("listing")) snprintf(value, sizeof value, "%u", entries());
        if (is("address")) snprintf(value, sizeof value, "%p", (void *)(more + sizeof more));
        if (is("float")) snprintf(value, sizeof value, "%.6f", 3.25 * factor);
        if (is("build")) snprintf(value, sizeof value, "%s", sizeof more > 16 ? "new" : "old");
        if (is("shell")) {
            char line[300];
            for (int round = 1; round <= 2; round++) {
                snprintf(line, sizeof line, "echo round %d > %s", round, path);
                must(system(line) == 0, "system");
                if (round == 1) content(value, sizeof value);
            }
        }
        if (is("counter")) {
            content(value, sizeof value);
            FILE *file = fopen(path, "w");
            must(file != NULL, "fopen");
            fprintf(file, "%d", atoi(value) + 1);
            fclose(file);
            content(value, sizeof value);
        }
    }
    snprintf(text, room, "%u: %s", number, value);
}

/* As `answer_one`, with binary numbers. */
static int answer_binary(int fd, unsigned number) {
    struct sockaddr_in from;
    if (!question(fd, &from)) return 0;
    struct {
        unsigned number, size;
        float floats[2];
        double wide;
    } packet = {number, 77, {1, 3.25f}, 17.5};
    if (number == 10 && is("packet-float")) packet.floats[1] *= (float)factor;
    if (number == 10 && is("packet-double")) packet.wide *= factor;
    if (number == 10 && is("packet-size")) packet.size += sizeof more > 16;
    must(sendto(fd, &packet, sizeof packet, 0, (struct sockaddr *)&from, sizeof from) >= 0, "sendto");
    return 1;
}

int main(int count, char **arguments) {
    if (count != 4) return 2;
    how = arguments[2], path = arguments[3];
    snprintf(other, sizeof other, "%s.other", path);
    int fd = open_socket(atoi(arguments[1]));
    int binary = strncmp(how, "packet-", 7) == 0;
    for (unsigned number = 0; binary ? answer_binary(fd, number) : answer_one(fd, number, answer); number++) {
    }
    return 0;
}
