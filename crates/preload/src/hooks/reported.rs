//! Calls whose answers come from outside and are not recorded: each is made, and named when it is used.

use super::super::descriptors::is_recorded;
use super::super::notes;
use super::super::real::hooks;
use super::super::report::{self, Text};
use super::super::thread::PassThrough;
use libc::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

/// Names of functions, which all take and return words: at most as many as are handed on here.
macro_rules! reported {
    ($($name:ident)*) => {
        hooks! {
            $(fn $name(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize, g: usize, h: usize) -> usize {
                static SAID: AtomicBool = AtomicBool::new(false);
                say(stringify!($name), &SAID);
                real::$name(a, b, c, d, e, f, g, h)
            })*
        }
    };
}

mod transfers {
    //! Transfers by threads of libc, which are of no matter for files: those are read and written in a replay, too.
    use super::*;

    macro_rules! transfers {
        ($($name:ident)*) => {
            hooks! {
                // The descriptor is the first that the description of a transfer has.
                $(fn $name(transfer: *const c_int) -> c_int {
                    static SAID: AtomicBool = AtomicBool::new(false);
                    if is_recorded(*transfer) {
                        say(stringify!($name), &SAID);
                    }
                    real::$name(transfer)
                })*
            }
        };
    }

    transfers! { aio_read aio_read64 aio_write aio_write64 }
}

/// Names a call and who makes it, once.
fn say(name: &'static str, said: &AtomicBool) {
    if said.swap(true, Ordering::Relaxed) {
        return;
    }
    let mut text = [0; 240];
    let mut line = Text { to: &mut text, used: 0 };
    line.put(b"unrecorded call ");
    line.put(name.as_bytes());
    {
        let _pass_through = PassThrough::enter();
        report::put_caller(&mut line);
    }
    let used = line.used;
    notes::uncovered(&[&text[..used]]);
}

reported! {
    // Time that is set, or that the kernel keeps of its own.
    adjtime adjtimex __adjtimex ntp_adjtime ntp_gettime ntp_gettimex clock_adjtime clock_settime settimeofday
    strfry
    // Transfers that threads of libc make.
    lio_listio lio_listio64 mq_notify getaddrinfo_a
    // Messages of other processes.
    mq_open __mq_open_2 mq_receive mq_timedreceive mq_send mq_timedsend msgrcv msgsnd
    // Names of the network.
    getnetbyname getnetbyname_r
    getnetbyaddr getnetbyaddr_r
    res_query res_search res_querydomain res_send res_nquery res_nsearch res_nquerydomain res_nsend
    res_mkquery res_nmkquery __res_randomid if_nameindex
    // Sockets within libc.
    getsourcefilter setsourcefilter getipv4sourcefilter setipv4sourcefilter bindresvport rresvport
    rresvport_af
    rcmd rcmd_af rexec rexec_af ruserok ruserok_af iruserok iruserok_af
    // Programs and processes.
    fexecve execveat wordexp pthread_sigqueue process_mrelease pidfd_getfd setns
    // Files by other ways.
    fanotify_init fanotify_mark name_to_handle_at open_by_handle_at preadv2 preadv64v2 pwritev2 pwritev64v2
    // The state of the machine.
    klogctl get_avphys_pages
    reboot swapon swapoff mount umount umount2 mount_setattr move_mount fsopen fsconfig fsmount fspick
    open_tree pivot_root acct quotactl
    init_module delete_module vhangup ioperm iopl
    sethostname setdomainname sethostid
}
