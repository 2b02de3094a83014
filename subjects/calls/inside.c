/* Children that libc forks within itself, past every function that a preloaded library stands in front of.
 *
 *   inside PORT forkpty|openpty|past
 *
 * `forkpty` and `openpty` answer with what a program wrote to a terminal. `past` forks by the function that libc has, found by
 * its address: the child goes on to make calls, as one that does not know who made it.
 */
#include "questions.h"
#include <dlfcn.h>
#include <pty.h>
#include <sys/wait.h>
#include <time.h>
#include <utmp.h>

static const char *how;
static pid_t (*fork_of_libc)(void);

static size_t told(int master, char *text, size_t room) {
    size_t length = 0;
    ssize_t got;
    while ((got = read(master, text + length, room - 1 - length)) > 0) length += (size_t)got;
    text[length] = 0;
    return length;
}

static void answer(unsigned number, char *text, size_t room) {
    char name[64] = "", number_text[16];
    struct winsize size = {24, 80, 0, 0};
    int master = -1, slave = -1, status = 0;
    pid_t child = -1;
    snprintf(number_text, sizeof number_text, "%u", number);
    if (strcmp(how, "past") == 0) {
        child = fork_of_libc();
        if (child == 0) {
            struct timespec now;
            for (int call = 0; call < 1000; call++) clock_gettime(CLOCK_MONOTONIC, &now);
            close(open_socket(0));
            _exit(7);
        }
        must(child > 0 && waitpid(child, &status, 0) == child, "waitpid");
        snprintf(text, room, "%u: exit code %d", number, WEXITSTATUS(status));
        return;
    }
    if (strcmp(how, "forkpty") == 0) {
        child = forkpty(&master, name, NULL, &size);
    } else {
        must(openpty(&master, &slave, NULL, NULL, &size) == 0, "openpty");
        must(ptsname_r(master, name, sizeof name) == 0 && strcmp(ptsname(master), name) == 0, "ptsname");
        child = fork();
        if (child == 0) must(login_tty(slave) == 0, "login_tty");
    }
    if (child == 0) {
        execl("/bin/echo", "echo", "on a terminal", number_text, NULL);
        _exit(1);
    }
    must(child > 0 && strncmp(name, "/dev/pts/", 9) == 0, "a terminal");
    if (slave >= 0) close(slave);
    told(master, text, room);
    close(master);
    must(waitpid(child, &status, 0) == child, "waitpid");
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    int fd = open_socket(atoi(arguments[1]));
    how = arguments[2];
    *(void **)&fork_of_libc = dlsym(dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD), "fork");
    must(fork_of_libc != NULL, "dlsym");
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return 0;
}
