/* Makes a child for every question, in one of several ways, and answers with what the child wrote to a file and
 * to a pipe, what became of it, and what the kernel says of its number and of this process's own.
 *
 *   children PORT FILE fork|vfork|clone|raw-clone|raw-clone3|raw-vfork|pidfd
 */
#include "questions.h"
#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

static const char *file, *how;
static int ends[2];
static unsigned asked;

/* Computes for a while, so that who does not wait for it comes too early. */
static int work(void *nothing) {
    struct timespec now;
    char line[128];
    (void)nothing;
    for (volatile unsigned at = 0; at < 30000000; at++) {
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    int length = snprintf(line, sizeof line, "%d of %d at %ld", (int)getpid(), (int)getppid(), now.tv_nsec);
    int fd = open(file, O_WRONLY | O_CREAT | O_EXCL, 0600);
    must(fd >= 0 && write(fd, line, (size_t)length) == length, "the file");
    close(fd);
    must(write(ends[1], line, (size_t)length) == length, "the pipe");
    return (int)asked % 100;
}

static pid_t child(int *pidfd) {
    static char stack[1 << 16] __attribute__((aligned(16)));
    pid_t made;
    if (strcmp(how, "fork") == 0) made = fork();
    else if (strcmp(how, "vfork") == 0) made = vfork();
    else if (strcmp(how, "raw-clone") == 0) made = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    else if (strcmp(how, "raw-vfork") == 0) made = (pid_t)syscall(SYS_clone, SIGCHLD | CLONE_VFORK, NULL, NULL, NULL, NULL);
    else if (strcmp(how, "pidfd") == 0) made = (pid_t)syscall(SYS_clone, SIGCHLD | CLONE_PIDFD, NULL, pidfd, NULL, NULL);
    else if (strcmp(how, "raw-clone3") == 0) {
        uint64_t arguments[8] = {CLONE_PIDFD, (uintptr_t)pidfd, 0, 0, SIGCHLD, 0, 0, 0};
        made = (pid_t)syscall(SYS_clone3, arguments, sizeof arguments);
    } else return clone(work, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
    if (made == 0) _exit(work(NULL));
    return made;
}

/* What takes the number of a process; the answer is the same for any that exists. */
static int known_to_kernel(pid_t pid) {
    struct sched_param parameters;
    struct rlimit limit;
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, pid};
    struct __user_cap_data_struct data[2];
    struct stat status;
    struct { uint32_t size, rest[15]; } attributes = {sizeof attributes, {0}};
    char path[64], link[256];
    int known = 0;
    known |= (sched_getscheduler(pid) >= 0) << 0;
    known |= (sched_getparam(pid, &parameters) == 0) << 1;
    known |= (syscall(SYS_sched_getattr, pid, &attributes, sizeof attributes, 0) == 0) << 2;
    known |= (syscall(SYS_capget, &header, data) == 0) << 3;
    known |= (prlimit(pid, RLIMIT_NOFILE, NULL, &limit) == 0) << 4;
    known |= (getpriority(PRIO_PROCESS, (id_t)pid) != -1) << 5;
    known |= (kill(pid, 0) == 0) << 6;
    known |= (getpgid(pid) > 0) << 7;
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    known |= (stat(path, &status) == 0 && access(path, F_OK) == 0) << 8;
    DIR *folder = opendir(path);
    known |= (folder != NULL) << 9;
    if (folder) closedir(folder);
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    known |= (readlink(path, link, sizeof link) > 0) << 10;
    return known;
}

static int changed(pid_t own) {
    cpu_set_t cpus;
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, own};
    struct __user_cap_data_struct data[2];
    struct { uint32_t size, rest[15]; } attributes = {sizeof attributes, {0}};
    int worked = 0;
    worked |= (sched_getaffinity(own, sizeof cpus, &cpus) == 0) << 0;
    worked |= (sched_setaffinity(own, sizeof cpus, &cpus) == 0) << 1;
    syscall(SYS_sched_getattr, own, &attributes, sizeof attributes, 0);
    worked |= (syscall(SYS_sched_setattr, own, &attributes, 0) == 0) << 2;
    syscall(SYS_capget, &header, data);
    worked |= (syscall(SYS_capset, &header, data) == 0) << 3;
    worked |= (setpriority(PRIO_PROCESS, (id_t)own, getpriority(PRIO_PROCESS, (id_t)own)) == 0) << 4;
    worked |= (syscall(SYS_tgkill, own, (pid_t)syscall(SYS_gettid), 0) == 0) << 5;
    /* The kernel answers with how many bytes it wrote, and leaves the rest alone. */
    memset(&cpus, 0, sizeof cpus);
    worked |= (syscall(SYS_sched_getaffinity, own, sizeof cpus, &cpus) > 0 && CPU_COUNT(&cpus) > 0) << 6;
    return worked;
}

static void answer(unsigned number, char *text, size_t room) {
    char told[128] = "", written[128] = "";
    int status = -1, pidfd = -1;
    siginfo_t info = {0};
    asked = number;
    must(pipe(ends) == 0, "pipe");
    pid_t made = child(&pidfd);
    must(made > 0, how);
    int grouped = setpgid(made, made) == 0;
    /* The program of a child that has ended is nowhere to be read. */
    int known = known_to_kernel(made) & 0x3ff, own = known_to_kernel(getpid()), did = changed(getpid());
    must(read(ends[0], told, sizeof told - 1) > 0, "the child's word");
    if (pidfd >= 0) {
        struct pollfd ended = {.fd = pidfd, .events = POLLIN};
        must(poll(&ended, 1, -1) == 1, "the child's descriptor");
        close(pidfd);
    }
    if (number % 2) {
        must(waitid(P_PID, (id_t)made, &info, WEXITED) == 0 && info.si_pid == made, "waitid");
        status = info.si_status << 8;
    } else {
        must(waitpid(made, &status, 0) == made, "waitpid");
    }
    int fd = open(file, O_RDONLY);
    must(fd >= 0 && read(fd, written, sizeof written - 1) > 0 && unlink(file) == 0, "what the child wrote");
    close(fd);
    close(ends[0]);
    close(ends[1]);
    snprintf(text, room, "%u: child %d of %d: %s, %s the file, status %d, grouped %d, known %x %x, changed %x", number,
             (int)made, (int)getpid(), told, strncmp(told, written, 8) ? "not" : "as", status, grouped, known, own, did);
}

int main(int count, char **arguments) {
    if (count != 4) return 2;
    file = arguments[2];
    how = arguments[3];
    int fd = open_socket(atoi(arguments[1]));
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return 0;
}
