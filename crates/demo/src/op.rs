//! The table of every call that prony records. A new call is one line here plus its marshalling
//! in `preload`.

use crate::bound::{
    Bound, FILE_MARKS, FILE_SYSTEM_MARKS, INT, ITIMERSPEC, ITIMERVAL, LISTING, POINTER, RUSAGE, SIGNAL_SET, STAT,
    SYSINFO, TMS,
};

/// Class of a call: the policy of a replay for a build that behaves differently from the recorded one.
///
/// The policies are described to users in `docs/guide/recording.md`; this is the one place
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
    ($($number:literal $variant:ident $name:literal $class:ident $bound:ident $(($($argument:expr),*))?;)*) => {
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

            /// What the result of the call may be, see [`check_result`](crate::check_result).
            pub const fn bound(self) -> Bound {
                match self {
                    $(Op::$variant => Bound::$bound$(($($argument),*))?,)*
                }
            }
        }
    };
}

ops! {
    // time
    1 ClockGettime "clock_gettime" Clock Reading;
    2 Gettimeofday "gettimeofday" Clock Reading;
    3 Time "time" Clock Reading;
    4 Clock "clock" Clock Reading;
    5 Times "times" Clock Usage(TMS);
    6 Getrusage "getrusage" Clock Usage(RUSAGE);
    7 TimespecGet "timespec_get" Clock Reading;
    8 Rdtsc "rdtsc" Clock Reading;
    9 Rdpid "rdpid" Clock Reading;
    10 Cpuid "cpuid" Clock Reading;

    // waits and sleeps
    16 Select "select" Wait Sets;
    17 Pselect "pselect" Wait Sets;
    18 Poll "poll" Wait Polled;
    19 Ppoll "ppoll" Wait Polled;
    20 EpollWait "epoll_wait" Wait Events;
    21 Nanosleep "nanosleep" Wait Slept;
    22 ClockNanosleep "clock_nanosleep" Wait Slept;
    23 Usleep "usleep" Wait Slept;
    24 Sleep "sleep" Wait Slept;
    25 Pause "pause" Wait Slept;
    26 Sigsuspend "sigsuspend" Wait Slept;
    27 Sigwait "sigwait" Wait SignalTaken;
    28 Sigtimedwait "sigtimedwait" Wait SignalTaken;

    // bytes in
    48 Recv "recv" Input Received;
    49 Recvfrom "recvfrom" Input Received;
    50 Recvmsg "recvmsg" Input Received;
    51 Recvmmsg "recvmmsg" Input ReceivedMessages;
    52 Read "read" Input Received;
    53 Readv "readv" Input Received;
    54 Pread "pread" Input Received;
    55 Preadv "preadv" Input Received;

    // bytes out
    64 Send "send" Output Sent;
    65 Sendto "sendto" Output Sent;
    66 Sendmsg "sendmsg" Output Sent;
    67 Sendmmsg "sendmmsg" Output SentMessages;
    68 Write "write" Output Sent;
    69 Writev "writev" Output Sent;
    70 Pwrite "pwrite" Output Sent;
    71 Pwritev "pwritev" Output Sent;
    72 Sendfile "sendfile" Output Sent;
    73 Splice "splice" Output Sent;
    74 Tee "tee" Output Sent;

    // descriptors
    96 Socket "socket" Descriptor Descriptor;
    97 Socketpair "socketpair" Descriptor DescriptorPair;
    98 Bind "bind" Descriptor Address;
    99 Connect "connect" Descriptor Address;
    100 Listen "listen" Descriptor Success;
    101 Accept "accept" Descriptor Accepted;
    102 Shutdown "shutdown" Descriptor Success;
    103 Getsockopt "getsockopt" Descriptor Option;
    104 Setsockopt "setsockopt" Descriptor Success;
    105 Getsockname "getsockname" Descriptor Address;
    106 Getpeername "getpeername" Descriptor Address;
    107 Close "close" Descriptor Success;
    108 Dup "dup" Descriptor Descriptor;
    109 Pipe "pipe" Descriptor DescriptorPair;
    110 Eventfd "eventfd" Descriptor Descriptor;
    111 TimerfdCreate "timerfd_create" Descriptor Descriptor;
    112 TimerfdSettime "timerfd_settime" Descriptor StructureOrNone(ITIMERSPEC);
    113 TimerfdGettime "timerfd_gettime" Descriptor Structure(ITIMERSPEC);
    114 Signalfd "signalfd" Descriptor Descriptor;
    115 InotifyInit "inotify_init" Descriptor Descriptor;
    116 InotifyAddWatch "inotify_add_watch" Descriptor Number;
    117 InotifyRmWatch "inotify_rm_watch" Descriptor Success;
    118 EpollCreate "epoll_create" Descriptor Descriptor;
    119 EpollCtl "epoll_ctl" Descriptor Success;
    120 Fcntl "fcntl" Descriptor Number;
    121 Ioctl "ioctl" Descriptor Request;
    122 OpenDevice "open device" Descriptor Descriptor;
    123 OpenFile "open file" Descriptor Descriptor;
    124 CloseFile "close file" Descriptor Success;
    125 PidfdOpen "pidfd_open" Descriptor Descriptor;
    126 Fstat "fstat" Descriptor Structure(STAT);
    127 Fsync "fsync" Descriptor Success;

    // identity and randomness
    144 Getrandom "getrandom" Identity Random;
    145 Getentropy "getentropy" Identity RandomWhole;
    146 Arc4random "arc4random" Identity RandomWhole;
    147 Getpid "getpid" Identity ProcessNumber;
    148 Getppid "getppid" Identity ProcessNumber;
    149 Gettid "gettid" Identity ProcessNumber;
    150 Gethostname "gethostname" Identity Text(1, 256);
    151 Uname "uname" Identity Text(6, 65);
    152 Getifaddrs "getifaddrs" Identity Interfaces;
    153 Sysconf "sysconf" Identity Processors;
    154 SchedGetaffinity "sched_getaffinity" Identity Affinity;
    155 Sysinfo "sysinfo" Identity Structure(SYSINFO);
    156 Getloadavg "getloadavg" Identity Loads;
    157 Getcpu "getcpu" Identity Processor;
    158 IfNametoindex "if_nametoindex" Identity Number;
    159 IfIndextoname "if_indextoname" Identity Text(1, 16);
    160 Getpgrp "getpgrp" Identity ProcessNumber;
    161 Setsid "setsid" Identity ProcessNumber;
    162 Alarm "alarm" Identity Number;
    163 Setitimer "setitimer" Identity StructureOrNone(ITIMERVAL);
    164 TimerCreate "timer_create" Identity Structure(POINTER);
    165 TimerSettime "timer_settime" Identity StructureOrNone(ITIMERSPEC);
    166 TimerGettime "timer_gettime" Identity Structure(ITIMERSPEC);
    167 Getitimer "getitimer" Identity Structure(ITIMERVAL);
    168 TimerGetoverrun "timer_getoverrun" Identity Number;
    169 Rdrand "rdrand" Identity Carry;
    170 Rdseed "rdseed" Identity Carry;
    171 SchedSetaffinity "sched_setaffinity" Identity Success;
    172 Setpgid "setpgid" Identity Success;
    173 Sigpending "sigpending" Identity Structure(SIGNAL_SET);
    174 StartRandom "AT_RANDOM" Identity RandomWhole;

    // names
    176 Getaddrinfo "getaddrinfo" Name Addresses;
    177 Getnameinfo "getnameinfo" Name Names;
    178 Gethostbyname "gethostbyname" Name Host;

    // threads
    192 ThreadCreate "pthread_create" Thread ThreadCreated;
    193 ThreadJoin "pthread_join" Thread ErrorNumber;
    194 MutexLock "pthread_mutex_lock" Thread ErrorNumber;
    195 MutexTrylock "pthread_mutex_trylock" Thread ErrorNumber;
    196 MutexTimedlock "pthread_mutex_timedlock" Thread ErrorNumber;
    197 CondWait "pthread_cond_wait" Thread ErrorNumber;
    198 CondTimedwait "pthread_cond_timedwait" Thread ErrorNumber;
    199 SemWait "sem_wait" Thread ErrorNumber;
    200 SemTrywait "sem_trywait" Thread ErrorNumber;
    201 SemTimedwait "sem_timedwait" Thread ErrorNumber;
    202 RwlockRdlock "pthread_rwlock_rdlock" Thread ErrorNumber;
    203 RwlockWrlock "pthread_rwlock_wrlock" Thread ErrorNumber;
    204 RwlockTryrdlock "pthread_rwlock_tryrdlock" Thread ErrorNumber;
    205 RwlockTrywrlock "pthread_rwlock_trywrlock" Thread ErrorNumber;
    206 BarrierWait "pthread_barrier_wait" Thread ErrorNumber;
    207 SpinLock "pthread_spin_lock" Thread ErrorNumber;
    208 SpinTrylock "pthread_spin_trylock" Thread ErrorNumber;
    209 SemGetvalue "sem_getvalue" Thread Structure(INT);
    210 RwlockTimedrdlock "pthread_rwlock_timedrdlock" Thread ErrorNumber;
    211 RwlockTimedwrlock "pthread_rwlock_timedwrlock" Thread ErrorNumber;
    212 ThreadTryjoin "pthread_tryjoin_np" Thread ErrorNumber;
    213 ThreadStart "thread starts" Thread Success;
    214 SchedYield "sched_yield" Thread ErrorNumber;
    215 FutexWait "futex" Thread ErrorNumber;
    216 AcquireStart "acquisition starts" Thread Order;
    217 OrderShared "order shared" Thread Order;
    218 FileLock "file lock" Thread ErrorNumber;
    219 Semop "semop" Thread ErrorNumber;

    // processes
    224 Fork "fork" Process Forked;
    225 Exec "exec" Process Executed;
    226 Wait "wait" Process Waited;
    227 Exit "exit" Process Order;
    228 Kill "kill" Process Success;
    229 System "system" Process Status;
    230 Spawn "posix_spawn" Process Spawned;
    231 Popen "popen" Process Status;
    232 Pclose "pclose" Process Status;
    233 ProgramStart "program starts" Process Executed;
    234 Ptrace "ptrace" Process Success;

    // signals
    240 Signal "signal" Signal SignalDelivered;

    // files
    256 Snapshot "open" Snapshot Content;
    257 LogWrite "write to log" Log Sent;
    258 Readlink "readlink" Snapshot Link;
    259 FileStatus "stat" Snapshot Structure(FILE_MARKS);
    260 FileSystem "statfs" Snapshot Structure(FILE_SYSTEM_MARKS);
    261 Listing "opendir" Snapshot Structure(LISTING);

    // notes of the recorder
    272 NoteObject "note: object loaded" Note Order;
    273 NoteFile "note: file opened" Note Order;
    274 NoteUnrecordable "note: cannot be recorded" Note Order;
    275 NoteCovered "note: recorded another way" Note Order;
    276 NoteProcessor "note: reads of processor state are recorded" Note Order;
    277 NoteFailed "note: call failed" Note Order;
    278 NoteRawCalls "note: system calls past libc are recorded" Note Order;
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

    /// True for calls after which a thread counts its unrecorded acquisitions again: acquisitions that have a record, and
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
