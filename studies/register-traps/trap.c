// What it costs to notice each access of another process to a page that it has mapped, and whether none is missed.
//
//     trap WAY N [poll | one-cpu]
//
// WAY is one of the functions in `ways`. Device and driver are two processes on CPU 0 and 1 under SCHED_FIFO; the device
// sleeps until it is needed, or polls, or shares CPU 0 with the driver. Needs root, and two CPUs.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { PAGE = 4096, DEVICE = 0, DRIVER = 1 };

// What both processes see: whose turn it is, what the driver read, the page and descriptor that it offers.
struct shared {
	_Atomic uint32_t turn, value;
	_Atomic bool is_over;
	_Atomic uint64_t page;
	_Atomic int descriptor;
};

static int n;
static bool polls, on_one_cpu;
static struct shared *shared;
static uint64_t *accesses, *arms; // times in nanoseconds: of an access, and of what the device does before the next one

static void check(bool is_good, const char *what) {
	if (!is_good) {
		perror(what);
		exit(1);
	}
}

static uint64_t now(void) {
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

static void be(int who, int priority) {
	cpu_set_t cpus;
	CPU_ZERO(&cpus);
	CPU_SET(on_one_cpu ? 0 : who, &cpus);
	check(!sched_setaffinity(0, sizeof cpus, &cpus), "cannot choose the CPU");
	struct sched_param parameter = {.sched_priority = priority};
	check(!sched_setscheduler(0, SCHED_FIFO, &parameter), "cannot have SCHED_FIFO");
}

static void *map_shared(size_t bytes) {
	void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	check(start != MAP_FAILED, "mmap");
	return start;
}

static void *map_file(int file) {
	void *start = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	check(start != MAP_FAILED, "mmap");
	return start;
}

static int compare(const void *a, const void *b) {
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static void report(const char *what, uint64_t *times) {
	qsort(times, n, sizeof *times, compare);
	printf("%-44s median %6.2f µs, p99 %6.2f µs (n = %d)\n", what, times[n / 2] / 1e3, times[(size_t)n * 99 / 100] / 1e3, n);
}

static void wait_for(uint32_t turn) {
	while (atomic_load(&shared->turn) != turn)
		on_one_cpu ? (void)sched_yield() : __builtin_ia32_pause();
}

// One instruction of two bytes each, so that a handler can step over it.
static inline uint32_t load(const volatile uint32_t *from) {
	uint32_t value;
	__asm__ volatile("movl (%%rcx), %%eax" : "=a"(value) : "c"(from) : "memory");
	return value;
}

static inline void store(volatile uint32_t *to, uint32_t value) {
	__asm__ volatile("movl %%eax, (%%rcx)" : : "a"(value), "c"(to) : "memory");
}

// The driver: takes turns with the device, and times its accesses.
static void drive(volatile uint32_t *page, bool writes) {
	for (int i = 0; i < n; i++) {
		wait_for(2 * i + 1);
		uint64_t start = now();
		if (writes)
			store(page, i + 1);
		else
			shared->value = load(page);
		accesses[i] = now() - start;
		atomic_store(&shared->turn, 2 * i + 2);
	}
	_exit(0);
}

static void plain(void) {
	be(DRIVER, 10);
	volatile uint32_t *page = map_shared(PAGE);
	for (int i = 0; i < n; i++) {
		uint64_t start = now();
		load(page);
		accesses[i] = now() - start;
	}
	report("plain load, with reading the clock", accesses);
}

static void round_trip(void) {
	pid_t driver = fork();
	if (!driver) {
		be(DRIVER, 10);
		for (int i = 0; i < n; i++) {
			uint64_t start = now();
			atomic_store(&shared->turn, 2 * i + 1);
			wait_for(2 * i + 2);
			accesses[i] = now() - start;
		}
		_exit(0);
	}
	be(DEVICE, 10);
	for (int i = 0; i < n; i++) {
		wait_for(2 * i + 1);
		atomic_store(&shared->turn, 2 * i + 2);
	}
	waitpid(driver, NULL, 0);
	report("round trip through memory, both poll", accesses);
}

// FUSE: a file of one page, whose content is the number of the read.

static int fuse;
static _Atomic int fuse_reads, fuse_writes;
static _Atomic uint32_t fuse_written;

static void fuse_answer(uint64_t unique, int error, void *content, size_t bytes) {
	struct fuse_out_header header = {.len = sizeof header + bytes, .error = error, .unique = unique};
	struct iovec parts[] = {{&header, sizeof header}, {content, bytes}};
	// Nobody waits any more for an answer that does not arrive.
	(void)!writev(fuse, parts, 2);
}

static void fuse_handle(struct fuse_in_header *request) {
	struct fuse_attr file = {.ino = 2, .size = PAGE, .mode = S_IFREG | 0666, .nlink = 1, .blksize = PAGE};
	void *argument = request + 1;
	switch (request->opcode) {
	case FUSE_INIT: {
		struct fuse_init_out out = {.major = 7, .minor = 36, .max_write = 65536, .time_gran = 1};
		return fuse_answer(request->unique, 0, &out, sizeof out);
	}
	case FUSE_LOOKUP: {
		struct fuse_entry_out out = {.nodeid = 2, .entry_valid = 1000, .attr_valid = 1000, .attr = file};
		return fuse_answer(request->unique, 0, &out, sizeof out);
	}
	case FUSE_GETATTR:
	case FUSE_SETATTR: {
		if (request->nodeid == 1) {
			file.ino = 1;
			file.mode = S_IFDIR | 0777;
		}
		struct fuse_attr_out out = {.attr_valid = 1000, .attr = file};
		return fuse_answer(request->unique, 0, &out, sizeof out);
	}
	case FUSE_OPEN: {
		struct fuse_open_out out = {.fh = 1, .open_flags = FOPEN_KEEP_CACHE};
		return fuse_answer(request->unique, 0, &out, sizeof out);
	}
	case FUSE_READ: {
		uint32_t content[PAGE / 4] = {++fuse_reads};
		return fuse_answer(request->unique, 0, content, sizeof content);
	}
	case FUSE_WRITE: {
		struct fuse_write_in *write = argument;
		fuse_written = *(uint32_t *)(write + 1);
		fuse_writes++;
		struct fuse_write_out out = {.size = write->size};
		return fuse_answer(request->unique, 0, &out, sizeof out);
	}
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		return fuse_answer(request->unique, 0, NULL, 0);
	default:
		return fuse_answer(request->unique, -ENOSYS, NULL, 0);
	}
}

static void *fuse_serve(void *unused) {
	be(DEVICE, 20);
	static char request[1 << 18];
	while (read(fuse, request, sizeof request) > 0 || errno != ENODEV)
		fuse_handle((struct fuse_in_header *)request);
	return unused;
}

// The next access of the driver faults again. Returns when all that was written to the page has been sent as FUSE_WRITE.
static void fuse_invalidate(void) {
	struct fuse_notify_inval_inode_out page = {.ino = 2, .len = PAGE};
	struct fuse_out_header header = {.len = sizeof header + sizeof page, .error = FUSE_NOTIFY_INVAL_INODE};
	struct iovec parts[] = {{&header, sizeof header}, {&page, sizeof page}};
	check(writev(fuse, parts, 2) > 0, "FUSE_NOTIFY_INVAL_INODE");
}

// Mounts the file in a namespace of its own and has `driver` run in another process, which has it mapped.
static pid_t fuse_start(void (*driver)(volatile uint32_t *page)) {
	check(!unshare(CLONE_NEWNS) && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), "mount namespace");
	fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	check(fuse >= 0, "/dev/fuse");
	char options[100];
	snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
	check(!mount("trap", "/mnt", "fuse.trap", 0, options), "fuse");
	pid_t pid = fork();
	if (!pid) {
		// Only the device may have it, or nothing ends when that one does.
		close(fuse);
		int file = open("/mnt/bar", O_RDWR);
		check(file >= 0, "/mnt/bar");
		be(DRIVER, 10);
		driver(map_file(file));
		_exit(0);
	}
	pthread_t server;
	check(!pthread_create(&server, NULL, fuse_serve, NULL), "thread");
	be(DEVICE, 10);
	return pid;
}

static void drive_reads(volatile uint32_t *page) { drive(page, false); }
static void drive_writes(volatile uint32_t *page) { drive(page, true); }

static void fuse_turns(bool writes) {
	pid_t driver = fuse_start(writes ? drive_writes : drive_reads);
	int missed = 0;
	for (int i = 0; i < n; i++) {
		int reads = fuse_reads;
		atomic_store(&shared->turn, 2 * i + 1);
		wait_for(2 * i + 2);
		uint64_t start = now();
		fuse_invalidate();
		arms[i] = now() - start;
		missed += fuse_reads != reads + 1 || (writes && fuse_written != (uint32_t)i + 1);
	}
	waitpid(driver, NULL, 0);
	report(writes ? "FUSE, write: fault" : "FUSE, read: fault", accesses);
	report(writes ? "FUSE, write: invalidation, FUSE_WRITE" : "FUSE, read: invalidation", arms);
	printf("%d of %d missed\n", missed, n);
}

static void fuse_read(void) { fuse_turns(false); }
static void fuse_write(void) { fuse_turns(true); }

// A driver that waits for nobody, and reads every 3 µs: how many reads find the page that the one before them found?
static void drive_on(volatile uint32_t *page) {
	uint32_t last = 0, untrapped = 0, unseen = 0;
	for (int i = 0; i < n; i++) {
		uint32_t value = load(page);
		untrapped += value == last;
		unseen += value > last + 1 ? value - last - 1 : 0;
		last = value;
		for (uint64_t until = now() + 3000; now() < until;)
			;
	}
	printf("FUSE, a read every 3 µs: %u of %d not trapped, %u answers that no read saw\n", untrapped, n, unseen);
	fflush(stdout);
	shared->is_over = true;
}

static void fuse_race(void) {
	pid_t driver = fuse_start(drive_on);
	for (int seen = 0; !shared->is_over;)
		if (fuse_reads != seen) {
			seen = fuse_reads;
			fuse_invalidate();
		}
	waitpid(driver, NULL, 0);
}

// userfaultfd: it must be made by the driver's process, whose memory it is of; the device takes the descriptor.

static void userfault_offer(volatile uint32_t *page, uint64_t features, uint64_t mode) {
	int fault = syscall(SYS_userfaultfd, O_CLOEXEC | (polls ? O_NONBLOCK : 0));
	check(fault >= 0, "userfaultfd");
	struct uffdio_api api = {.api = UFFD_API, .features = features | UFFD_FEATURE_EXACT_ADDRESS};
	check(!ioctl(fault, UFFDIO_API, &api), "UFFDIO_API");
	struct uffdio_register range = {.range = {(uintptr_t)page, PAGE}, .mode = mode};
	check(!ioctl(fault, UFFDIO_REGISTER, &range), "UFFDIO_REGISTER");
	shared->page = (uintptr_t)page;
	shared->descriptor = fault;
}

static int userfault_take(pid_t driver) {
	while (!shared->descriptor)
		usleep(1000);
	be(DEVICE, 10);
	int fault = syscall(SYS_pidfd_getfd, syscall(SYS_pidfd_open, driver, 0), shared->descriptor, 0);
	check(fault >= 0, "pidfd_getfd");
	return fault;
}

static uint64_t userfault_wait(int fault) {
	struct uffd_msg message;
	while (read(fault, &message, sizeof message) != sizeof message)
		__builtin_ia32_pause();
	return message.arg.pagefault.address;
}

static void userfault_turns(bool writes) {
	int file = memfd_create("bar", 0);
	check(!ftruncate(file, PAGE), "ftruncate");
	volatile uint32_t *page = map_file(file);
	pid_t driver = fork();
	if (!driver) {
		be(DRIVER, 10);
		volatile uint32_t *its = map_file(file);
		if (writes)
			userfault_offer(its, UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_HUGETLBFS_SHMEM, UFFDIO_REGISTER_MODE_WP);
		else
			userfault_offer(its, UFFD_FEATURE_MISSING_SHMEM, UFFDIO_REGISTER_MODE_MISSING);
		drive(its, writes);
	}
	int fault = userfault_take(driver);
	static uint32_t content[PAGE / 4] __attribute__((aligned(PAGE)));
	int missed = 0;
	for (int i = 0; i < n; i++) {
		struct uffdio_writeprotect protect = {.range = {shared->page, PAGE}, .mode = UFFDIO_WRITEPROTECT_MODE_WP};
		uint64_t start = now();
		if (writes)
			check(!ioctl(fault, UFFDIO_WRITEPROTECT, &protect), "UFFDIO_WRITEPROTECT");
		else
			check(!fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, PAGE), "fallocate");
		arms[i] = now() - start;
		atomic_store(&shared->turn, 2 * i + 1);
		missed += userfault_wait(fault) != shared->page;
		if (writes) {
			protect.mode = 0;
			check(!ioctl(fault, UFFDIO_WRITEPROTECT, &protect), "UFFDIO_WRITEPROTECT");
		} else {
			content[0] = i;
			struct uffdio_copy copy = {.dst = shared->page, .src = (uintptr_t)content, .len = PAGE};
			check(!ioctl(fault, UFFDIO_COPY, &copy), "UFFDIO_COPY");
		}
		wait_for(2 * i + 2);
		// What was written is found in the page; that something was, by the fault alone.
		missed += writes ? page[0] != (uint32_t)i + 1 : shared->value != (uint32_t)i;
	}
	waitpid(driver, NULL, 0);
	report(writes ? "userfaultfd, write to a protected page" : "userfaultfd, read of a missing page", accesses);
	report(writes ? "userfaultfd, protection" : "userfaultfd, hole in the file", arms);
	printf("%d of %d missed\n", missed, n);
}

static void userfault_read(void) { userfault_turns(false); }
static void userfault_write(void) { userfault_turns(true); }

// The page is in the file and not in the driver's table, from which only the driver itself can remove it.
static void userfault_minor(void) {
	int file = memfd_create("bar", 0);
	check(!ftruncate(file, PAGE), "ftruncate");
	*(volatile uint32_t *)map_file(file) = 1;
	pid_t driver = fork();
	if (!driver) {
		be(DRIVER, 10);
		volatile uint32_t *its = map_file(file);
		userfault_offer(its, UFFD_FEATURE_MINOR_SHMEM, UFFDIO_REGISTER_MODE_MINOR);
		for (int i = 0; i < n; i++) {
			uint64_t start = now();
			madvise((void *)its, PAGE, MADV_DONTNEED);
			uint64_t removed = now();
			load(its);
			arms[i] = removed - start;
			accesses[i] = now() - removed;
		}
		_exit(0);
	}
	int fault = userfault_take(driver);
	for (int i = 0; i < n; i++) {
		userfault_wait(fault);
		struct uffdio_continue go = {.range = {shared->page, PAGE}};
		check(!ioctl(fault, UFFDIO_CONTINUE, &go), "UFFDIO_CONTINUE");
	}
	waitpid(driver, NULL, 0);
	report("userfaultfd, read of an unmapped page", accesses);
	report("userfaultfd, the driver's own madvise", arms);
}

// Signals in the driver's process.

static volatile uint32_t *guarded;
static uint32_t handled;

static void emulate(int signal, siginfo_t *info, void *context) {
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	(void)signal, (void)info;
	registers[REG_RAX] = ++handled;
	registers[REG_RIP] += 2;
}

static void open_and_step(int signal, siginfo_t *info, void *context) {
	(void)signal, (void)info;
	mprotect((void *)guarded, PAGE, PROT_READ | PROT_WRITE);
	((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] |= 0x100; // trap flag
}

static void close_again(int signal, siginfo_t *info, void *context) {
	(void)signal, (void)info;
	handled++;
	mprotect((void *)guarded, PAGE, PROT_NONE);
	((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~0x100ll;
}

static void signals(void (*on_fault)(int, siginfo_t *, void *), const char *what) {
	be(DRIVER, 10);
	guarded = map_shared(PAGE);
	mprotect((void *)guarded, PAGE, PROT_NONE);
	sigaction(SIGSEGV, &(struct sigaction){.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO}, NULL);
	sigaction(SIGTRAP, &(struct sigaction){.sa_sigaction = close_again, .sa_flags = SA_SIGINFO}, NULL);
	for (int i = 0; i < n; i++) {
		uint64_t start = now();
		load(guarded);
		accesses[i] = now() - start;
	}
	report(what, accesses);
	printf("%d of %d missed\n", n - (int)handled, n);
}

static void signal_emulate(void) { signals(emulate, "SIGSEGV, instruction emulated"); }
static void signal_step(void) { signals(open_and_step, "SIGSEGV, mprotect, step, mprotect"); }

// ptrace: the device is the driver's tracer.

static int trace_wait(pid_t driver) {
	int status;
	while (waitpid(driver, &status, polls ? WNOHANG : 0) == 0)
		;
	return status;
}

static pid_t trace_start(bool accesses_page) {
	pid_t driver = fork();
	if (!driver) {
		be(DRIVER, 10);
		volatile uint32_t *page = map_shared(PAGE);
		mprotect((void *)page, PAGE, PROT_NONE);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		for (int i = 0; accesses_page && i < n; i++) {
			uint64_t start = now();
			load(page);
			accesses[i] = now() - start;
		}
		for (;;)
			accesses_page ? _exit(0) : (void)0;
	}
	be(DEVICE, 10);
	trace_wait(driver);
	return driver;
}

static void trace_emulate(void) {
	pid_t driver = trace_start(true);
	for (;;) {
		ptrace(PTRACE_CONT, driver, NULL, NULL);
		int status = trace_wait(driver);
		if (!WIFSTOPPED(status))
			break;
		struct user_regs_struct registers;
		siginfo_t info;
		ptrace(PTRACE_GETSIGINFO, driver, NULL, &info);
		ptrace(PTRACE_GETREGS, driver, NULL, &registers);
		registers.rax = ++handled;
		registers.rip += 2;
		ptrace(PTRACE_SETREGS, driver, NULL, &registers);
	}
	report("ptrace, SIGSEGV, instruction emulated", accesses);
	printf("%d of %d missed\n", n - (int)handled, n);
}

static void trace_step(void) {
	pid_t driver = trace_start(false);
	for (int i = 0; i < n; i++) {
		uint64_t start = now();
		ptrace(PTRACE_SINGLESTEP, driver, NULL, NULL);
		trace_wait(driver);
		accesses[i] = now() - start;
	}
	kill(driver, SIGKILL);
	trace_wait(driver);
	report("ptrace, a step of one instruction", accesses);
}

static const struct {
	const char *name;
	void (*run)(void);
} ways[] = {
	{"plain", plain},
	{"round-trip", round_trip},
	{"fuse-read", fuse_read},
	{"fuse-write", fuse_write},
	{"fuse-race", fuse_race},
	{"userfault-read", userfault_read},
	{"userfault-write", userfault_write},
	{"userfault-minor", userfault_minor},
	{"signal-emulate", signal_emulate},
	{"signal-step", signal_step},
	{"trace-emulate", trace_emulate},
	{"trace-step", trace_step},
};

int main(int argc, char *argv[]) {
	n = argc > 2 ? atoi(argv[2]) : 0;
	polls = argc > 3 && !strcmp(argv[3], "poll");
	on_one_cpu = argc > 3 && !strcmp(argv[3], "one-cpu");
	for (size_t i = 0; n > 0 && i < sizeof ways / sizeof *ways; i++) {
		if (strcmp(argv[1], ways[i].name))
			continue;
		shared = map_shared(sizeof *shared);
		accesses = map_shared(n * sizeof *accesses);
		arms = map_shared(n * sizeof *arms);
		ways[i].run();
		return 0;
	}
	fprintf(stderr, "usage: trap WAY N [poll | one-cpu]\n");
	return 2;
}
