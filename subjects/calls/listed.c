/* Lists a directory as it is, again when it has been the same for four seconds, and after each of two changes, and sends itself the names.
 *
 *   listed DIRECTORY
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int ends[2];

static int by_name(const void *one, const void *other)
{
    return strcmp(one, other);
}

static void list(const char *path)
{
    char names[8][256] = {{0}}, told[sizeof names];
    int count = 0;
    DIR *open = opendir(path);
    if (!open)
        exit(2);
    for (struct dirent *entry; count < 8 && (entry = readdir(open));)
        snprintf(names[count++], sizeof names[0], "%s", entry->d_name);
    closedir(open);
    qsort(names, count, sizeof names[0], by_name);
    if (send(ends[0], names, sizeof names, 0) != sizeof names || recv(ends[1], told, sizeof told, 0) != sizeof told)
        exit(3);
    for (int i = 0; i < count; i++)
        printf("%s ", names[i]);
    puts("");
}

static void change(const char *path, const char *name)
{
    char file[512];
    snprintf(file, sizeof file, "%s/%s", path, name);
    int fd = open(file, O_CREAT | O_WRONLY, 0600);
    if (fd < 0 || close(fd) != 0)
        exit(4);
}

int main(int argc, char **argv)
{
    if (argc < 2 || socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0)
        return 2;
    list(argv[1]);
    for (time_t began = time(NULL); time(NULL) < began + 5;)
        usleep(50000);
    for (int time = 0; time < 3; time++)
        list(argv[1]);
    change(argv[1], "first");
    list(argv[1]);
    change(argv[1], "second");
    list(argv[1]);
    return 0;
}
