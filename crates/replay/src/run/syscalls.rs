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

/// The same of i386, where sockets have numbers of their own and an old one in common.
const I386: &[(u32, &str, bool)] = &[
    (3, "read", true),
    (4, "write", true),
    (29, "pause", false),
    (55, "fcntl", true),
    (82, "select", false),
    (102, "socketcall", false),
    (114, "wait4", false),
    (117, "ipc", false),
    (142, "_newselect", false),
    (143, "flock", true),
    (145, "readv", true),
    (146, "writev", true),
    (162, "nanosleep", false),
    (168, "poll", false),
    (177, "rt_sigtimedwait", false),
    (179, "rt_sigsuspend", false),
    (180, "pread64", true),
    (221, "fcntl64", true),
    (240, "futex", false),
    (256, "epoll_wait", true),
    (267, "clock_nanosleep", false),
    (280, "mq_timedreceive", true),
    (284, "waitid", false),
    (295, "openat", false),
    (308, "pselect6", false),
    (309, "ppoll", false),
    (319, "epoll_pwait", true),
    (337, "recvmmsg", true),
    (362, "connect", true),
    (364, "accept4", true),
    (369, "sendto", true),
    (370, "sendmsg", true),
    (371, "recvfrom", true),
    (372, "recvmsg", true),
    (407, "clock_nanosleep", false),
    (413, "pselect6", false),
    (414, "ppoll", false),
    (417, "recvmmsg", true),
    (421, "rt_sigtimedwait", false),
    (422, "futex", false),
    (441, "epoll_pwait2", true),
];

fn find(number: u32, i386: bool) -> Option<&'static (u32, &'static str, bool)> {
    let table = match i386 {
        true => I386,
        false if cfg!(target_arch = "x86_64") => X86_64,
        false => &[],
    };
    table.iter().find(|call| call.0 == number)
}

/// The name, or `system call N` for one that is not in the table.
pub(crate) fn name(number: u32, i386: bool) -> String {
    find(number, i386).map_or_else(|| format!("system call {number}"), |call| call.1.to_owned())
}

/// True if the first argument is a descriptor.
pub(crate) fn takes_descriptor(number: u32, i386: bool) -> bool {
    find(number, i386).is_some_and(|call| call.2)
}
