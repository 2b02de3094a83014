//! Names of the system calls that a thread sleeps in.

/// Those of x86-64 in which a thread may sleep for long, and whether their first argument is a descriptor.
const X86_64: &[(u32, &str, bool)] = &[
    (0, "read", true),
    (1, "write", true),
    (7, "poll", false),
    (17, "pread64", true),
    (19, "readv", true),
    (20, "writev", true),
    (23, "select", false),
    (34, "pause", false),
    (35, "nanosleep", false),
    (42, "connect", true),
    (43, "accept", true),
    (44, "sendto", true),
    (45, "recvfrom", true),
    (46, "sendmsg", true),
    (47, "recvmsg", true),
    (61, "wait4", false),
    (65, "semop", false),
    (70, "msgrcv", false),
    (72, "fcntl", true),
    (73, "flock", true),
    (128, "rt_sigtimedwait", false),
    (130, "rt_sigsuspend", false),
    (202, "futex", false),
    (230, "clock_nanosleep", false),
    (232, "epoll_wait", true),
    (243, "mq_timedreceive", true),
    (247, "waitid", false),
    (257, "openat", false),
    (270, "pselect6", false),
    (271, "ppoll", false),
    (281, "epoll_pwait", true),
    (288, "accept4", true),
    (299, "recvmmsg", true),
    (441, "epoll_pwait2", true),
];

fn find(number: u32) -> Option<&'static (u32, &'static str, bool)> {
    let table = if cfg!(target_arch = "x86_64") { X86_64 } else { &[] };
    table.iter().find(|call| call.0 == number)
}

/// The name, or `system call N` for one that is not in the table.
pub(crate) fn name(number: u32) -> String {
    find(number).map_or_else(|| format!("system call {number}"), |call| call.1.to_owned())
}

/// True if the first argument is a descriptor.
pub(crate) fn takes_descriptor(number: u32) -> bool {
    find(number).is_some_and(|call| call.2)
}
