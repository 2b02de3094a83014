//! Hears from the kernel which tasks begin and end, and what each took.
//!
//! Two netlink sockets, both for the whole machine, so that records of others are among what is read:
//!
//! - the process connector (Documentation/driver-api/connector.rst) reports each fork and exit, and when;
//! - taskstats (Documentation/accounting/taskstats.rst) reports what a task took when it ends: CPU time and
//!   run-queue wait, both kept by the scheduler whether delay accounting (`kernel.task_delayacct`) is on
//!   or not.
//!
//! A task is reported while it ends, before its parent or we can notice, so all that a process waited for
//! is there once the process is a zombie. What a task takes after its record, to give its memory back,
//! is missing from it. Both need `CAP_NET_ADMIN` and the first user and process namespaces. Records that
//! find no room are lost, and the next read says so.
//!
//! Tried and not used: a control group made for the run. `cpu.stat` reports only what `wait4` does.
//! `cpu.pressure` has the right word in its line `full` (none of the group ran while one waited), but
//! weighs CPUs by whole ticks of 1 to 10 ms (`collect_percpu_times` in kernel/sched/psi.c), which is
//! nothing for a short run and a mean, not a sum, for one that changes CPUs. `wait_sum` of the v1 group
//! would be exact, and needs a kernel with CONFIG_SCHEDSTATS; distributions switch it off at run time.

use std::fs;
use std::io::{self, ErrorKind};
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::account::Schedstat;
use super::family::{Event, NoWait, Record};

/// Room for records of a few thousand tasks in one run; taken only while there are as many.
const ROOM_BYTES: libc::c_int = 16 << 20;
/// A record is some 600 bytes, an event 76; the kernel sends each in its own message.
const MESSAGE_BYTES: usize = 4096;

const HEADER_BYTES: usize = 16;
const GENERIC_HEADER_BYTES: usize = 4;

/// Two sockets that listen for exits of tasks.
#[derive(Debug)]
pub(super) struct Exits {
    events: OwnedFd,
    records: OwnedFd,
}

impl Exits {
    /// Opens both sockets and listens from now on.
    pub(super) fn open() -> io::Result<Exits> {
        let records = socket(libc::NETLINK_GENERIC, 0)?;
        let family = family_id(&records)?;
        let cpus = fs::read_to_string("/sys/devices/system/cpu/possible")?;
        // TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK of include/uapi/linux/taskstats.h.
        ask(&records, family, 1, attribute(3, &c_string(cpus.trim())))?;
        let events = socket(libc::NETLINK_CONNECTOR, CONNECTOR_PROCESSES)?;
        // Kernels before 6.6 know the first only and send all kinds of events; later ones take the second too.
        send(&events, NLMSG_DONE, 0, &connector_message(&[LISTEN]))?;
        send(&events, NLMSG_DONE, 0, &connector_message(&[LISTEN, FORK | EXIT]))?;
        Ok(Exits { events, records })
    }

    /// Discards what was reported until now.
    pub(super) fn forget(&self) {
        for socket in [&self.events, &self.records] {
            // What was lost until now is of no interest either: only an empty socket ends this.
            while receive(socket, |_| ()).raw_os_error() == Some(libc::ENOBUFS) {}
        }
    }

    /// Everything reported since.
    pub(super) fn received(&self) -> Result<(Vec<Event>, Vec<Record>), NoWait> {
        let (mut events, mut records) = (Vec::new(), Vec::new());
        let ended = [
            receive(&self.events, |message| events.extend(parse_event(message))),
            receive(&self.records, |message| records.extend(parse_record(message))),
        ];
        // ENOBUFS among others: something found no room.
        match ended.iter().all(|error| error.kind() == ErrorKind::WouldBlock) {
            true => Ok((events, records)),
            false => Err(NoWait::Lost),
        }
    }
}

const NLMSG_DONE: u16 = 3;
const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
/// Both the group and the number of the process connector (`CN_IDX_PROC`, `CN_VAL_PROC`).
const CONNECTOR_PROCESSES: u32 = 1;
/// PROC_CN_MCAST_LISTEN and kinds of events, of include/uapi/linux/cn_proc.h.
const LISTEN: u32 = 1;
const FORK: u32 = 1;
const EXIT: u32 = 1 << 31;

fn connector_message(words: &[u32]) -> Vec<u8> {
    let length = size_of_val(words) as u16;
    let mut message: Vec<u8> =
        [CONNECTOR_PROCESSES, CONNECTOR_PROCESSES, 0, 0].iter().flat_map(|word| word.to_ne_bytes()).collect();
    message.extend([length, 0].iter().flat_map(|word| word.to_ne_bytes()));
    message.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
    message
}

/// `struct proc_event` behind the headers of netlink and of the connector (20 bytes).
fn parse_event(message: &[u8]) -> Option<Event> {
    let event = message.get(HEADER_BYTES + 20..)?;
    let at_ns = u64_at(event, 8)?;
    match u32_at(event, 0)? {
        FORK => Some(Event::Fork {
            at_ns,
            parent_process: u32_at(event, 20)?,
            task: u32_at(event, 24)?,
            process: u32_at(event, 28)?,
        }),
        EXIT => Some(Event::Exit { at_ns, task: u32_at(event, 16)? }),
        _ => None,
    }
}

/// TASKSTATS_TYPE_AGGR_PID with TASKSTATS_TYPE_PID and TASKSTATS_TYPE_STATS in it. The fields that are
/// read have been where they are since the first version of `struct taskstats`; later ones add behind.
fn parse_record(message: &[u8]) -> Option<Record> {
    let of_task = find_attribute(message.get(HEADER_BYTES + GENERIC_HEADER_BYTES..)?, 4)?;
    let task = u32_at(find_attribute(of_task, 1)?, 0)?;
    let stats = find_attribute(of_task, 3)?;
    Some(Record {
        task,
        times: Schedstat { waited_ns: u64_at(stats, 24)?, ran_ns: u64_at(stats, 72)? },
        // `hiwater_rss`, in KiB, of version 3 (2006); 0 without CONFIG_TASK_XACCT.
        rss_max_bytes: u64_at(stats, 200).unwrap_or(0) * 1024,
    })
}

/// The number of taskstats among the families of generic netlink.
fn family_id(socket: &OwnedFd) -> io::Result<u16> {
    // GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME and CTRL_ATTR_FAMILY_ID.
    let answer = ask(socket, 16, 3, attribute(2, b"TASKSTATS\0"))?;
    let attributes = answer.get(HEADER_BYTES + GENERIC_HEADER_BYTES..);
    let id = attributes.and_then(|attributes| find_attribute(attributes, 1));
    match id.and_then(|id| id.first_chunk()) {
        Some(&id) => Ok(u16::from_ne_bytes(id)),
        None => Err(ErrorKind::InvalidData.into()),
    }
}

/// Sends a request and returns the answer that is no acknowledgement, if there is one.
fn ask(socket: &OwnedFd, family: u16, command: u8, attributes: Vec<u8>) -> io::Result<Vec<u8>> {
    let version = 1;
    send(socket, family, NLM_F_REQUEST | NLM_F_ACK, &[vec![command, version, 0, 0], attributes].concat())?;
    let (mut answer, mut error) = (Vec::new(), 0);
    // The kernel answers a request before it returns from it.
    let end = receive(socket, |message| match u16_at(message, 4) {
        Some(NLMSG_ERROR) => error = u32_at(message, HEADER_BYTES).map_or(0, |code| -(code as i32)),
        Some(kind) if kind == family => answer = message.to_vec(),
        _ => {}
    });
    match (end.kind(), error) {
        (_, 1..) => Err(io::Error::from_raw_os_error(error)),
        (ErrorKind::WouldBlock, _) => Ok(answer),
        _ => Err(end),
    }
}

/// An attribute as netlink has it: length, kind, bytes, and room to a multiple of four.
fn attribute(kind: u16, bytes: &[u8]) -> Vec<u8> {
    let length = (4 + bytes.len()) as u16;
    let mut attribute = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
    attribute.extend_from_slice(bytes);
    attribute.resize(attribute.len().next_multiple_of(4), 0);
    attribute
}

fn find_attribute(mut attributes: &[u8], kind: u16) -> Option<&[u8]> {
    /// NLA_F_NESTED and NLA_F_NET_BYTEORDER are flags in the kind.
    const KIND: u16 = 0x3fff;
    loop {
        let length = usize::from(u16_at(attributes, 0)?);
        let bytes = attributes.get(4..length)?;
        if u16_at(attributes, 2)? & KIND == kind {
            return Some(bytes);
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|&word| u16::from_ne_bytes(word))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|&word| u32::from_ne_bytes(word))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|&word| u64::from_ne_bytes(word))
}

fn c_string(text: &str) -> Vec<u8> {
    [text.as_bytes(), b"\0"].concat()
}

fn socket(protocol: libc::c_int, groups: u32) -> io::Result<OwnedFd> {
    // SAFETY: plain system calls; `address` and `room` are plain data and as long as is said; the new
    // descriptor has no other owner.
    unsafe {
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        let descriptor = check(libc::socket(libc::AF_NETLINK, kind, protocol))?;
        let socket = OwnedFd::from_raw_fd(descriptor);
        let mut address: libc::sockaddr_nl = mem::zeroed();
        address.nl_family = libc::AF_NETLINK as u16;
        address.nl_groups = groups;
        check(libc::bind(descriptor, (&raw const address).cast(), size_of_val(&address) as u32))?;
        let room = ROOM_BYTES;
        let length = size_of_val(&room) as u32;
        check(libc::setsockopt(descriptor, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, (&raw const room).cast(), length))?;
        Ok(socket)
    }
}

fn send(socket: &OwnedFd, kind: u16, flags: u16, payload: &[u8]) -> io::Result<()> {
    let length = (HEADER_BYTES + payload.len()) as u32;
    let mut message = length.to_ne_bytes().to_vec();
    message.extend([kind, flags].iter().flat_map(|word| word.to_ne_bytes()));
    // Sequence number, and the sender's port: the kernel fills it in.
    message.extend([0; 8]);
    message.extend_from_slice(payload);
    // SAFETY: bytes and their length; a netlink socket without a peer sends to the kernel.
    let sent = unsafe { libc::send(socket.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
    if sent == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Reads messages until there is an error, and returns it: that there is none left, if all is well.
fn receive(socket: &OwnedFd, mut each: impl FnMut(&[u8])) -> io::Error {
    let mut message = [0_u8; MESSAGE_BYTES];
    loop {
        // SAFETY: a buffer and its length.
        let length = unsafe { libc::recv(socket.as_raw_fd(), message.as_mut_ptr().cast(), message.len(), 0) };
        match usize::try_from(length) {
            Ok(length) => each(message.get(..length).unwrap_or_default()),
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == ErrorKind::Interrupted => {}
                error => return error,
            },
        }
    }
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(payload: &[u8]) -> Vec<u8> {
        [&[0; HEADER_BYTES], payload].concat()
    }

    fn statistics(version: u16, length: usize) -> Vec<u8> {
        let mut stats = vec![0; length];
        stats[..2].copy_from_slice(&version.to_ne_bytes());
        stats[24..32].copy_from_slice(&12_008_807_u64.to_ne_bytes());
        stats[72..80].copy_from_slice(&37_912_345_u64.to_ne_bytes());
        if let Some(peak) = stats.get_mut(200..208) {
            peak.copy_from_slice(&3_210_u64.to_ne_bytes());
        }
        stats
    }

    fn exit_message(stats: &[u8]) -> Vec<u8> {
        // As 64-bit kernels send it: an empty attribute aligns the statistics.
        let inner = [attribute(1, &17_492_u32.to_ne_bytes()), attribute(6, &[]), attribute(3, stats)].concat();
        let group = attribute(5, &[attribute(1, &1_u32.to_ne_bytes()), attribute(3, &statistics(1, 328))].concat());
        message(&[vec![2, 1, 0, 0], attribute(4, &inner), group].concat())
    }

    #[test]
    fn a_record_is_read_from_short_and_long_statistics() {
        let times = Schedstat { ran_ns: 37_912_345, waited_ns: 12_008_807 };
        for (version, length, rss_max_bytes) in [(1, 80, 0), (8, 328, 3_287_040), (16, 560, 3_287_040)] {
            let expected = Record { task: 17_492, times, rss_max_bytes };
            assert_eq!(parse_record(&exit_message(&statistics(version, length))), Some(expected));
        }
    }

    #[test]
    fn what_is_cut_is_no_record_and_no_event() {
        let whole = exit_message(&statistics(16, 560));
        for length in 0..whole.len() {
            let cut = parse_record(&whole[..length]);
            assert!(cut.is_none() || cut == parse_record(&whole), "{length}");
        }
        let words = [FORK, 0, 77, 0, 5, 6, 7, 8].iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
        let fork = message(&[vec![0; 20], words].concat());
        assert_eq!(parse_event(&fork), Some(Event::Fork { at_ns: 77, parent_process: 6, task: 7, process: 8 }));
        assert!((0..fork.len()).all(|length| parse_event(&fork[..length]).is_none()));
    }

    #[test]
    fn attributes_without_length_end_the_search() {
        assert_eq!(find_attribute(&[0; 64], 1), None);
        assert_eq!(find_attribute(&[3, 0, 1, 0], 1), None);
    }
}
