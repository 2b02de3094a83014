//! The table of every call that prony records. A new call is one line here plus its marshalling
//! in `preload`.

/// Class of a call: the policy of a replay for a build that behaves differently from the recorded one.
///
/// The policies are described to users in `docs/guide/record-replay.md`; this is the one place
/// in the code where a call gets its class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Reads of a clock: may be added (the last value is given) or removed inside a frame.
    Clock,
    /// Waits for descriptors, signals or time: re-synchronise at frame boundaries.
    Wait,
    /// Bytes that reach the server: follow the recorded order of their descriptor.
    Input,
    /// Bytes that leave the server: compared strictly.
    Output,
    /// Making, changing and closing descriptors: follow the recorded order of their descriptor.
    Descriptor,
    /// Randomness and the identity of process, host and machine: follow the order of their call.
    Identity,
    /// Name resolution: follows the order of the call.
    Name,
    /// Threads and what synchronises them: follow the recorded global order.
    Thread,
    /// Processes: fork, exec, wait, exit.
    Process,
    /// A signal that was delivered to a handler at this point.
    Signal,
    /// Contents of files under `/dev`, `/proc` and `/sys`, recorded when they were opened.
    Snapshot,
    /// Text written to standard output or error: compared loosely, counted and never a divergence.
    Log,
    /// A message of the recorder itself; never replayed.
    Note,
}

macro_rules! ops {
    ($($number:literal $variant:ident $name:literal $class:ident;)*) => {
        /// Call that a record describes. The number is part of the demo file format and never changes meaning.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Op {
            $(#[doc = concat!("`", $name, "`")] $variant = $number,)*
        }

        impl Op {
            /// Every call of the table, in the order of their numbers.
            pub const ALL: &[Op] = &[$(Op::$variant,)*];

            /// The call with this number, if this version knows it.
            pub const fn from_number(number: u16) -> Option<Op> {
                match number {
                    $($number => Some(Op::$variant),)*
                    _ => None,
                }
            }

            /// The name a C programmer knows the call by.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Op::$variant => $name,)*
                }
            }

            /// The class whose policy the replay follows.
            pub const fn class(self) -> Class {
                match self {
                    $(Op::$variant => Class::$class,)*
                }
            }
        }
    };
}

ops! {
    // time
    1 ClockGettime "clock_gettime" Clock;
    2 Gettimeofday "gettimeofday" Clock;
    3 Time "time" Clock;
    4 Clock "clock" Clock;
    5 Times "times" Clock;
    6 Getrusage "getrusage" Clock;
    7 TimespecGet "timespec_get" Clock;
    8 Rdtsc "rdtsc" Clock;
    9 Rdpid "rdpid" Clock;
    10 Cpuid "cpuid" Clock;

    // waits and sleeps
    16 Select "select" Wait;
    17 Pselect "pselect" Wait;
    18 Poll "poll" Wait;
    19 Ppoll "ppoll" Wait;
    20 EpollWait "epoll_wait" Wait;
    21 Nanosleep "nanosleep" Wait;
    22 ClockNanosleep "clock_nanosleep" Wait;
    23 Usleep "usleep" Wait;
    24 Sleep "sleep" Wait;
    25 Pause "pause" Wait;
    26 Sigsuspend "sigsuspend" Wait;
    27 Sigwait "sigwait" Wait;
    28 Sigtimedwait "sigtimedwait" Wait;

    // bytes in
    48 Recv "recv" Input;
    49 Recvfrom "recvfrom" Input;
    50 Recvmsg "recvmsg" Input;
    51 Recvmmsg "recvmmsg" Input;
    52 Read "read" Input;
    53 Readv "readv" Input;
    54 Pread "pread" Input;
    55 Preadv "preadv" Input;

    // bytes out
    64 Send "send" Output;
    65 Sendto "sendto" Output;
    66 Sendmsg "sendmsg" Output;
    67 Sendmmsg "sendmmsg" Output;
    68 Write "write" Output;
    69 Writev "writev" Output;
    70 Pwrite "pwrite" Output;
    71 Pwritev "pwritev" Output;
    72 Sendfile "sendfile" Output;

    // descriptors
    96 Socket "socket" Descriptor;
    97 Socketpair "socketpair" Descriptor;
    98 Bind "bind" Descriptor;
    99 Connect "connect" Descriptor;
    100 Listen "listen" Descriptor;
    101 Accept "accept" Descriptor;
    102 Shutdown "shutdown" Descriptor;
    103 Getsockopt "getsockopt" Descriptor;
    104 Setsockopt "setsockopt" Descriptor;
    105 Getsockname "getsockname" Descriptor;
    106 Getpeername "getpeername" Descriptor;
    107 Close "close" Descriptor;
    108 Dup "dup" Descriptor;
    109 Pipe "pipe" Descriptor;
    110 Eventfd "eventfd" Descriptor;
    111 TimerfdCreate "timerfd_create" Descriptor;
    112 TimerfdSettime "timerfd_settime" Descriptor;
    113 TimerfdGettime "timerfd_gettime" Descriptor;
    114 Signalfd "signalfd" Descriptor;
    115 InotifyInit "inotify_init" Descriptor;
    116 InotifyAddWatch "inotify_add_watch" Descriptor;
    117 InotifyRmWatch "inotify_rm_watch" Descriptor;
    118 EpollCreate "epoll_create" Descriptor;
    119 EpollCtl "epoll_ctl" Descriptor;
    120 Fcntl "fcntl" Descriptor;
    121 Ioctl "ioctl" Descriptor;
    122 OpenDevice "open device" Descriptor;
    123 OpenFile "open file" Descriptor;
    124 CloseFile "close file" Descriptor;
    125 PidfdOpen "pidfd_open" Descriptor;
    126 Fstat "fstat" Descriptor;

    // identity and randomness
    144 Getrandom "getrandom" Identity;
    145 Getentropy "getentropy" Identity;
    146 Arc4random "arc4random" Identity;
    147 Getpid "getpid" Identity;
    148 Getppid "getppid" Identity;
    149 Gettid "gettid" Identity;
    150 Gethostname "gethostname" Identity;
    151 Uname "uname" Identity;
    152 Getifaddrs "getifaddrs" Identity;
    153 Sysconf "sysconf" Identity;
    154 SchedGetaffinity "sched_getaffinity" Identity;
    155 Sysinfo "sysinfo" Identity;
    156 Getloadavg "getloadavg" Identity;
    157 Getcpu "getcpu" Identity;
    158 IfNametoindex "if_nametoindex" Identity;
    159 IfIndextoname "if_indextoname" Identity;
    160 Getpgrp "getpgrp" Identity;
    161 Setsid "setsid" Identity;
    162 Alarm "alarm" Identity;
    163 Setitimer "setitimer" Identity;
    164 TimerCreate "timer_create" Identity;
    165 TimerSettime "timer_settime" Identity;
    166 TimerGettime "timer_gettime" Identity;
    167 Getitimer "getitimer" Identity;
    168 TimerGetoverrun "timer_getoverrun" Identity;
    169 Rdrand "rdrand" Identity;
    170 Rdseed "rdseed" Identity;
    171 SchedSetaffinity "sched_setaffinity" Identity;
    172 Setpgid "setpgid" Identity;

    // names
    176 Getaddrinfo "getaddrinfo" Name;
    177 Getnameinfo "getnameinfo" Name;
    178 Gethostbyname "gethostbyname" Name;

    // threads
    192 ThreadCreate "pthread_create" Thread;
    193 ThreadJoin "pthread_join" Thread;
    194 MutexLock "pthread_mutex_lock" Thread;
    195 MutexTrylock "pthread_mutex_trylock" Thread;
    196 MutexTimedlock "pthread_mutex_timedlock" Thread;
    197 CondWait "pthread_cond_wait" Thread;
    198 CondTimedwait "pthread_cond_timedwait" Thread;
    199 SemWait "sem_wait" Thread;
    200 SemTrywait "sem_trywait" Thread;
    201 SemTimedwait "sem_timedwait" Thread;
    202 RwlockRdlock "pthread_rwlock_rdlock" Thread;
    203 RwlockWrlock "pthread_rwlock_wrlock" Thread;
    204 RwlockTryrdlock "pthread_rwlock_tryrdlock" Thread;
    205 RwlockTrywrlock "pthread_rwlock_trywrlock" Thread;
    206 BarrierWait "pthread_barrier_wait" Thread;
    207 SpinLock "pthread_spin_lock" Thread;
    208 SpinTrylock "pthread_spin_trylock" Thread;
    209 SemGetvalue "sem_getvalue" Thread;
    210 RwlockTimedrdlock "pthread_rwlock_timedrdlock" Thread;
    211 RwlockTimedwrlock "pthread_rwlock_timedwrlock" Thread;
    212 ThreadTryjoin "pthread_tryjoin_np" Thread;
    213 ThreadStart "thread starts" Thread;
    214 SchedYield "sched_yield" Thread;
    215 FutexWait "futex" Thread;
    216 AcquireStart "acquisition starts" Thread;
    217 OrderShared "order shared" Thread;
    218 FileLock "file lock" Thread;
    219 Semop "semop" Thread;

    // processes
    224 Fork "fork" Process;
    225 Exec "exec" Process;
    226 Wait "wait" Process;
    227 Exit "exit" Process;
    228 Kill "kill" Process;
    229 System "system" Process;
    230 Spawn "posix_spawn" Process;
    231 Popen "popen" Process;
    232 Pclose "pclose" Process;

    // signals
    240 Signal "signal" Signal;

    // files
    256 Snapshot "open" Snapshot;
    257 LogWrite "write to log" Log;

    // notes of the recorder
    272 NoteObject "note: object loaded" Note;
    273 NoteFile "note: file opened" Note;
    274 NoteUnrecordable "note: cannot be recorded" Note;
    275 NoteCovered "note: recorded another way" Note;
    276 NoteProcessor "note: reads of processor state are recorded" Note;
    277 NoteFailed "note: call failed" Note;
}

impl Op {
    /// The call with this C name, as `--frame-on` takes it.
    pub fn from_name(name: &str) -> Option<Op> {
        Op::ALL.iter().copied().find(|op| op.name() == name)
    }

    /// True for calls that acquire a mutex, a lock or a semaphore, of threads or of processes. Those that need no wait may have no record, see
    /// [`WAITS_ONLY`](crate::WAITS_ONLY).
    pub const fn is_acquisition(self) -> bool {
        matches!(
            self,
            Op::MutexLock
                | Op::MutexTrylock
                | Op::MutexTimedlock
                | Op::SemWait
                | Op::SemTrywait
                | Op::SemTimedwait
                | Op::RwlockRdlock
                | Op::RwlockWrlock
                | Op::RwlockTryrdlock
                | Op::RwlockTrywrlock
                | Op::RwlockTimedrdlock
                | Op::RwlockTimedwrlock
                | Op::SpinLock
                | Op::SpinTrylock
                | Op::FileLock
                | Op::Semop
        )
    }

    /// True for calls after which a thread counts its unrecorded acquisitions anew: acquisitions that have a record, and
    /// calls that another build makes at the same place, however it locks.
    pub const fn restarts_count(self) -> bool {
        matches!(self.class(), Class::Wait | Class::Input | Class::Output)
            || matches!(self, Op::CondWait | Op::CondTimedwait | Op::SchedYield)
            || self.is_acquisition()
    }
}

#[cfg(test)]
mod tests {
    use super::Op;

    #[test]
    fn numbers_and_names_lead_back_to_their_call() {
        for &op in Op::ALL {
            assert_eq!(Op::from_number(op as u16), Some(op));
            assert_eq!(Op::from_name(op.name()), Some(op));
        }
        assert_eq!(Op::from_number(0), None);
    }
}
