/* A server that a program of the same name starts, with a socket that it inherits and a pipe for its output.
 *
 *   spawning PORT spawn|spawnp|system|popen
 *
 * Answers with the time and the number of the process.
 */
#include "questions.h"
#include <signal.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static void answer(unsigned number, char *text, size_t room) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(text, room, "%u: %ld of %d", number, now.tv_nsec, (int)getpid());
}

static int serve(int fd) {
    unsigned number = 0;
    while (answer_one(fd, number, answer)) number++;
    printf("served %u\n", number);
    return 7;
}

static int spawned(char *program, char *fd, int searches) {
    int ends[2], status;
    must(pipe(ends) == 0, "pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    char *arguments[] = {program, "serve", fd, NULL};
    pid_t child;
    must((searches ? posix_spawnp : posix_spawn)(&child, program, &actions, &attributes, arguments, environ) == 0, "spawn");
    close(ends[1]);
    char text[100] = "";
    must(read(ends[0], text, sizeof text - 1) > 0 && strncmp(text, "served ", 7) == 0, "what the server wrote");
    must(waitpid(child, &status, 0) == child, "waitpid");
    return status;
}

int main(int count, char **arguments) {
    if (count == 3 && strcmp(arguments[1], "serve") == 0) return serve(atoi(arguments[2]));
    if (count != 3) return 2;
    const char *how = arguments[2];
    char fd[20], command[1000];
    snprintf(fd, sizeof fd, "%d", open_socket(atoi(arguments[1])));
    snprintf(command, sizeof command, "%s serve %s", arguments[0], fd);
    int status;
    if (strcmp(how, "system") == 0) {
        status = system(command);
    } else if (strcmp(how, "popen") == 0) {
        FILE *stream = popen(command, "r");
        char line[100];
        must(stream && fgets(line, sizeof line, stream) && strncmp(line, "served ", 7) == 0, "popen");
        status = pclose(stream);
    } else {
        status = spawned(arguments[0], fd, strcmp(how, "spawnp") == 0);
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 7 ? 0 : 1;
}
