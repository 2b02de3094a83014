//! What a process has from the one that starts it, beside its environment and descriptors: which signals it ignores and blocks, its mask of files, its limits.
//!
//! A recorded server gets what `prony` was started with, as natively, and its replays get what the recording had.

#![allow(
    unsafe_code,
    reason = "what a child does before `exec`, and a look before Rust's own start, have no safe interface"
)]

use prony_demo::Header;
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of the last signal.
const SIGNALS: i32 = 64;

/// Signals that were ignored, and blocked, when this process started: bit N − 1 for signal N.
static IGNORED: AtomicU64 = AtomicU64::new(0);
static BLOCKED: AtomicU64 = AtomicU64::new(0);

/// Looks at signals before Rust's own start has SIGPIPE ignored.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look_at_signals;

extern "C" fn look_at_signals() {
    // SAFETY: only queries; all zero is a valid answer, and each answer lives across its call.
    unsafe {
        for signal in 1..=SIGNALS {
            let mut action: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(signal, std::ptr::null(), &mut action) == 0 && action.sa_sigaction == libc::SIG_IGN {
                IGNORED.fetch_or(bit(signal), Ordering::Relaxed);
            }
        }
        let mut mask: libc::sigset_t = std::mem::zeroed();
        libc::sigprocmask(libc::SIG_BLOCK, std::ptr::null(), &mut mask);
        for signal in (1..=SIGNALS).filter(|&signal| libc::sigismember(&mask, signal) == 1) {
            BLOCKED.fetch_or(bit(signal), Ordering::Relaxed);
        }
    }
}

const fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// True if the process ignores the signal now.
pub(crate) fn ignores(pid: i32, signal: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).is_some_and(|bits| bits & bit(signal) != 0)
}

/// Limits that a server may ask for, and that a replay can have as the recording had them: those of memory, processes and CPU time hold for `prony`'s own
/// part as well, and for others of the user.
const LIMITS: [(&str, libc::__rlimit_resource_t); 11] = [
    ("core", libc::RLIMIT_CORE),
    ("fsize", libc::RLIMIT_FSIZE),
    ("locks", libc::RLIMIT_LOCKS),
    ("memlock", libc::RLIMIT_MEMLOCK),
    ("msgqueue", libc::RLIMIT_MSGQUEUE),
    ("nice", libc::RLIMIT_NICE),
    ("nofile", libc::RLIMIT_NOFILE),
    ("rtprio", libc::RLIMIT_RTPRIO),
    ("rttime", libc::RLIMIT_RTTIME),
    ("sigpending", libc::RLIMIT_SIGPENDING),
    ("stack", libc::RLIMIT_STACK),
];

/// Names of the properties of a demo.
const UMASK: &str = "umask";
const IGNORED_SIGNALS: &str = "ignored signals";
const BLOCKED_SIGNALS: &str = "blocked signals";
const LIMIT: &str = "limit ";

/// What is not known is as in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Inheritance {
    ignored: Option<u64>,
    blocked: Option<u64>,
    umask: Option<u32>,
    /// Soft and hard limit of each of [`LIMITS`].
    limits: [Option<[u64; 2]>; LIMITS.len()],
}

/// A limit that a replay cannot have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LowLimit {
    /// Its name in `ulimit` and `limits.conf`.
    pub name: &'static str,
    /// Limit of the recorded server.
    pub recorded: u64,
    /// The most that the build can have.
    pub here: u64,
}

fn limit_of(resource: libc::__rlimit_resource_t) -> Option<[u64; 2]> {
    let mut limit = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the answer lives across the call.
    (unsafe { libc::getrlimit64(resource, &mut limit) } == 0).then_some([limit.rlim_cur, limit.rlim_max])
}

impl Inheritance {
    /// Those that this process was started with.
    pub(crate) fn own() -> Inheritance {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let umask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
        Inheritance {
            ignored: Some(IGNORED.load(Ordering::Relaxed)),
            blocked: Some(BLOCKED.load(Ordering::Relaxed)),
            umask: umask.and_then(|digits| u32::from_str_radix(digits.trim(), 8).ok()),
            limits: LIMITS.map(|(_, resource)| limit_of(resource)),
        }
    }

    /// As properties of a demo.
    pub(crate) fn properties(&self) -> Vec<(String, Vec<u8>)> {
        let signals = |bits: u64| {
            let numbers = (1..=SIGNALS).filter(|&signal| bits & bit(signal) != 0);
            numbers.map(|signal| signal.to_string()).collect::<Vec<_>>().join(" ")
        };
        let mut found = vec![];
        found.extend(self.umask.map(|umask| (UMASK.to_owned(), format!("{umask:04o}"))));
        found.extend(self.ignored.map(|bits| (IGNORED_SIGNALS.to_owned(), signals(bits))));
        found.extend(self.blocked.map(|bits| (BLOCKED_SIGNALS.to_owned(), signals(bits))));
        for ((name, _), limit) in LIMITS.iter().zip(self.limits) {
            found.extend(limit.map(|[soft, hard]| (format!("{LIMIT}{name}"), format!("{soft} {hard}"))));
        }
        found.into_iter().map(|(name, text)| (name, text.into_bytes())).collect()
    }

    /// Those of the recorded server; what a demo does not have, or has no sense, is not known.
    pub(crate) fn of(header: &Header) -> Inheritance {
        let mut found = Inheritance::default();
        let signals = |text: &str| {
            let bit_of = |word: &str| word.parse().ok().filter(|signal| (1..=SIGNALS).contains(signal)).map(bit);
            text.split_whitespace().map(bit_of).try_fold(0, |bits, bit| Some(bits | bit?))
        };
        for (name, value) in &header.properties {
            let Ok(text) = std::str::from_utf8(value) else { continue };
            match name.as_str() {
                UMASK => found.umask = u32::from_str_radix(text, 8).ok().filter(|&umask| umask <= 0o777),
                IGNORED_SIGNALS => found.ignored = signals(text),
                BLOCKED_SIGNALS => found.blocked = signals(text),
                _ => {
                    let known = LIMITS.iter().position(|(known, _)| name.strip_prefix(LIMIT) == Some(known));
                    let pair =
                        text.split_once(' ').and_then(|(soft, hard)| Some([soft.parse().ok()?, hard.parse().ok()?]));
                    if let (Some(place), Some([soft, hard])) = (known, pair) {
                        found.limits[place] = (soft <= hard).then_some([soft, hard]);
                    }
                }
            }
        }
        found
    }

    /// As a build may have them on the demo of a stranger: what it makes is not for others to write.
    pub(crate) fn restricted(mut self) -> Inheritance {
        self.umask = self.umask.map(|umask| umask | Inheritance::own().umask.unwrap_or(0o022));
        self
    }

    /// Limits that the server had and that this user cannot set; root can set any.
    pub(crate) fn low_limits(&self) -> Vec<LowLimit> {
        // SAFETY: only a query.
        if unsafe { libc::geteuid() } == 0 {
            return vec![];
        }
        let low = |((name, resource), limit): (&(&'static str, libc::__rlimit_resource_t), Option<[u64; 2]>)| {
            let ([recorded, _], [_, here]) = (limit?, limit_of(*resource)?);
            (recorded > here).then_some(LowLimit { name, recorded, here })
        };
        LIMITS.iter().zip(self.limits).filter_map(low).collect()
    }

    /// Gives them to the calling process, but for limits that it may not have. `limits`: false for a tool, which has needs of its own.
    ///
    /// # Safety
    /// Called in a child between `fork` and `exec`.
    pub(crate) unsafe fn adopt(&self, limits: bool) {
        // SAFETY: sets attributes of the child alone; all zero is a valid action and a valid set, which live across the calls.
        unsafe {
            if let Some(umask) = self.umask {
                libc::umask(umask as libc::mode_t);
            }
            for ((_, resource), limit) in LIMITS.iter().zip(self.limits).filter(|_| limits) {
                let Some([soft, hard]) = limit else { continue };
                let wanted = libc::rlimit64 { rlim_cur: soft, rlim_max: hard };
                if libc::setrlimit64(*resource, &wanted) != 0 {
                    let most = limit_of(*resource).map_or(0, |[_, most]| most);
                    let less = libc::rlimit64 { rlim_cur: soft.min(most), rlim_max: hard.min(most) };
                    libc::setrlimit64(*resource, &less);
                }
            }
            if let Some(ignored) = self.ignored {
                for signal in 1..=SIGNALS {
                    let mut action: libc::sigaction = std::mem::zeroed();
                    action.sa_sigaction = if ignored & bit(signal) == 0 { libc::SIG_DFL } else { libc::SIG_IGN };
                    libc::sigaction(signal, &action, std::ptr::null_mut());
                }
            }
            if let Some(blocked) = self.blocked {
                let mut mask: libc::sigset_t = std::mem::zeroed();
                for signal in (1..=SIGNALS).filter(|&signal| blocked & bit(signal) != 0) {
                    libc::sigaddset(&mut mask, signal);
                }
                libc::sigprocmask(libc::SIG_SETMASK, &mask, std::ptr::null_mut());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header_with(properties: &[(&str, &str)]) -> Header {
        let properties = properties.iter().map(|&(name, value)| (name.to_owned(), value.as_bytes().to_vec()));
        Header { properties: properties.collect(), ..Header::default() }
    }

    #[test]
    fn a_demo_gives_back_what_was_put_into_it() {
        let own = Inheritance::own();
        assert!(own.umask.is_some() && own.limits.iter().all(Option::is_some), "{own:?}");
        let some = Inheritance { ignored: Some(bit(1) | bit(13) | bit(64)), blocked: Some(0), ..own };
        assert_eq!(Inheritance::of(&Header { properties: some.properties(), ..Header::default() }), some);
    }

    #[test]
    fn what_has_no_sense_is_not_known() {
        let nonsense = [
            ("umask", "1777"),
            ("umask", "8"),
            ("ignored signals", "13 65"),
            ("blocked signals", "0"),
            ("limit nofile", "10 5"),
            ("limit stack", "1"),
            ("limit as", "1 1"),
            ("limit ", "1 1"),
        ];
        assert_eq!(Inheritance::of(&header_with(&nonsense)), Inheritance::default());
    }

    #[test]
    fn a_strangers_demo_opens_no_files_to_others() {
        let open = Inheritance::of(&header_with(&[("umask", "0000")])).restricted();
        assert_eq!(open.umask, Inheritance::own().umask);
    }
}
