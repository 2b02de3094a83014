/* Standard input is a file that was read in part: sends what is left of it, from where it stands, by mapping it, by the kernel, and from its start, and after an
 * `exec` what is left then. Asks the kernel to copy it to standard output.
 *
 *   given
 */
#include "questions.h"
#include <errno.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

static int ends[2];

static void told(const char *text) { must(send(ends[0], text, strlen(text), 0) >= 0, "send"); }

int main(int count, char **arguments) {
    char line[100], text[300];
    must(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0, "socketpair");
    if (count > 1) {
        must(fgets(line, sizeof line, stdin) != NULL, "fgets");
        told(line);
        return 0;
    }
    long place = ftell(stdin);
    must(fgets(line, sizeof line, stdin) != NULL, "fgets");
    snprintf(text, sizeof text, "%ld, then %ld, %s", place, ftell(stdin), line);
    told(text);
    struct stat status;
    must(fstat(0, &status) == 0, "fstat");
    const char *all = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, 0, 0);
    must(all != MAP_FAILED, "mmap");
    snprintf(text, sizeof text, "mapped %.*s", (int)status.st_size, all);
    told(text);
    off_t from = place;
    must(sendfile(ends[0], 0, &from, 6) == 6, "sendfile");
    ssize_t copied = copy_file_range(0, NULL, 1, NULL, 100, 0);
    snprintf(text, sizeof text, "copied %d", copied < 0 ? errno : (int)copied);
    told(text);
    must(lseek(0, place, SEEK_SET) == place, "lseek");
    execl("/proc/self/exe", arguments[0], "again", NULL);
    return 1;
}
