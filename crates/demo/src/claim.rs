//! Checks that the result of a record is one that its call can have.
//!
//! A build believes what the kernel returns, so a replay gives it nothing that no kernel returns: a length beyond the room
//! that was requested makes the build overwrite its own memory. What depends on arguments that a record does not have (the
//! room of an option, of ancillary data, of a message among several) is checked by the player at the call.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use crate::bound::{
    Bound, DESCRIPTORS, OWN_DESCRIPTORS, SIOCGIFCONF, bytes_of_request, bytes_of_request_before, ifreq,
};
use crate::{Head, Op, PartKind, Parts};

/// A result that its call cannot have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} of `{call}`: expected {expected}, found {found}")]
pub struct ResultBeyondBound {
    /// C name of the call.
    pub call: &'static str,
    /// Part of the result, such as `return value`.
    pub what: &'static str,
    /// What it may be.
    pub expected: String,
    /// What the record has.
    pub found: String,
}

/// Largest error number that the kernel returns.
const MOST_ERRORS: i64 = 4095;
/// Bytes of the longest path (`PATH_MAX`).
const MOST_PATH: i64 = 4096;
/// Bytes of `struct sockaddr_storage`.
const ADDRESS_BYTES: usize = 128;
/// Ready descriptors, and messages, that the recorder gathers for one call.
const MOST_READY: i64 = 1024;
/// Descriptors of a `fd_set`.
const SET_SIZE: i32 = 1024;
/// Bits of the three sets of `select`.
const MOST_BITS: i64 = 3072;
/// Bytes of `siginfo_t`.
const SIGINFO_BYTES: usize = 128;
/// Number of the last signal.
const SIGNALS: u32 = 64;
/// Largest number of a process (`PID_MAX_LIMIT`).
const MOST_PROCESS: i64 = 1 << 22;
/// Processors of the largest kernel (`NR_CPUS`), rounded up.
const MOST_PROCESSORS: i64 = 1 << 16;
/// Processes of one recording.
const MOST_PROCESSES: u32 = 1 << 15;
/// Entries of a list of addresses or interfaces.
const MOST_ENTRIES: usize = 64;
/// Bytes of an entry of such a list.
const ENTRY_BYTES: usize = 16;
/// Bytes of a descriptor that a program hands on.
const INHERITED_BYTES: usize = 8;
/// Bytes of a host name with its zero byte (`NI_MAXHOST`).
const HOST_BYTES: usize = 1025;
/// `MSG_TRUNC`: the message was longer than its room.
const TRUNCATED: u32 = 0x20;

type Checked = Result<(), ResultBeyondBound>;

/// Checks that the call of a record can have its result, for the arguments that the record has. Calls that this version does not know
/// pass: a replay answers none of them.
///
/// `record`: whole, and filled by its parts.
///
/// # Errors
/// [`ResultBeyondBound`] for a result beyond the [bound](Op::bound) of its call.
pub fn check_result(record: &[u8]) -> Checked {
    let Some(head) = Head::from_bytes(record) else { return Ok(()) };
    let Some(op) = Op::from_number(head.op) else { return Ok(()) };
    let bound = op.bound();
    if matches!(bound, Bound::Reading | Bound::Order) {
        return Ok(());
    }
    Claim { op, head, record }.check(bound)
}

/// One record, as it is checked.
struct Claim<'a> {
    op: Op,
    head: Head,
    record: &'a [u8],
}

impl<'a> Claim<'a> {
    fn check(&self, bound: Bound) -> Checked {
        let ret = self.head.ret;
        match bound {
            Bound::Reading | Bound::Order => Ok(()),
            Bound::Usage(sizes) => {
                self.returns(i64::MAX)?;
                self.structure(sizes, false)
            }
            Bound::Sets => {
                self.returns(MOST_BITS)?;
                self.ready(|fd, events| (0..SET_SIZE).contains(&fd) && (1..8).contains(&events))
            }
            Bound::Polled => {
                self.returns(MOST_READY)?;
                self.ready(|_, events| events <= 0xffff)
            }
            Bound::Events => self.events(),
            Bound::Slept => self.slept(),
            Bound::SignalTaken => {
                self.returns(i64::from(SIGNALS))?;
                self.structure(&[SIGINFO_BYTES], false)
            }
            Bound::Received => self.received(),
            Bound::ReceivedMessages => self.messages(PartKind::In),
            Bound::Sent => self.sent(),
            Bound::SentMessages => self.messages(PartKind::Out),
            Bound::Descriptor => self.one_descriptor(),
            Bound::DescriptorPair => self.descriptor_pair(),
            Bound::Address => {
                self.returns(0)?;
                self.addresses()
            }
            Bound::Accepted => {
                self.descriptor_or_error()?;
                self.addresses()
            }
            Bound::Success | Bound::Option => self.returns(0),
            Bound::Structure(sizes) => {
                self.returns(0)?;
                self.structure(sizes, ret == 0)
            }
            Bound::StructureOrNone(sizes) => {
                self.returns(0)?;
                self.structure(sizes, false)
            }
            Bound::Number => self.within(i64::from(i32::MIN), i64::from(u32::MAX)),
            Bound::Request => self.request(),
            Bound::Random => {
                self.returns(self.requested())?;
                self.length(PartKind::In, ret.max(0))
            }
            Bound::RandomWhole => self.random_whole(),
            Bound::ProcessNumber => self.returns(MOST_PROCESS),
            Bound::Text(fields, width) => self.text(fields, width),
            Bound::Interfaces => self.interfaces(),
            Bound::Processors => self.processors(),
            Bound::Processor => self.returns(MOST_PROCESSORS.saturating_sub(1)),
            Bound::Affinity => {
                let bytes = self.first(PartKind::Value).len() as i64;
                self.returns(bytes)
            }
            Bound::Loads => {
                let loads = self.first(PartKind::Value).as_chunks::<8>().0.len();
                self.returns(loads.min(3) as i64)
            }
            Bound::Carry => {
                self.within(0, 1)?;
                self.structure(&[8], true)
            }
            Bound::Addresses => self.resolved_addresses(),
            Bound::Names => self.names(),
            Bound::Host => self.host(),
            Bound::ThreadCreated => self.thread_created(),
            Bound::ErrorNumber => self.returns(MOST_ERRORS),
            Bound::Forked => self.forked(),
            Bound::Executed => self.executed(),
            Bound::Waited => self.waited(),
            Bound::Status => self.status(),
            Bound::Spawned => self.spawned(),
            Bound::SignalDelivered => self.signal_delivered(),
            Bound::Content => self.descriptor_or_error(),
            Bound::Link => {
                self.returns(MOST_PATH)?;
                if ret < 0 { Ok(()) } else { self.length(PartKind::Value, ret) }
            }
        }
    }

    /// Events of epoll: as many as are returned, each with its instance where instances are recorded.
    fn events(&self) -> Checked {
        let ret = self.head.ret;
        self.returns(MOST_READY)?;
        self.ready(|_, _| true)?;
        let (ready, instances) = (self.first(PartKind::Ready).len(), self.first(PartKind::Value).len());
        let pairs = self.first(PartKind::Ready).as_chunks::<8>().0.len();
        self.expect("number of events", pairs as i64 == ret.max(0), || ret.max(0).to_string(), || pairs.to_string())?;
        let known = instances == 0 || instances == ready;
        self.expect("instances", known, || format!("none or {ready} bytes"), || format!("{instances} bytes"))
    }

    /// Time that was left of a sleep.
    fn slept(&self) -> Checked {
        let remaining = if self.op == Op::Sleep { i64::from(self.head.aux.div_ceil(1000)) } else { MOST_ERRORS };
        self.returns(remaining)?;
        self.structure(&[16, 8], false)
    }

    /// A descriptor, or the one that the call was given.
    fn one_descriptor(&self) -> Checked {
        let ret = self.head.ret;
        let same = self.op == Op::Signalfd && self.head.fd >= 0 && ret >= 0;
        let own = !same || ret == i64::from(self.head.fd);
        self.expect("return value", own, || format!("descriptor {}", self.head.fd), || ret.to_string())?;
        self.descriptor_or_error()
    }

    /// Two descriptors that differ.
    fn descriptor_pair(&self) -> Checked {
        let ret = self.head.ret;
        self.returns(0)?;
        if ret < 0 {
            return Ok(());
        }
        self.structure(&[8], true)?;
        let mut pair = words(self.first(PartKind::Value)).map(|word| word as i32);
        let (one, other) = (pair.next().unwrap_or(-1), pair.next().unwrap_or(-1));
        self.descriptor(i64::from(one))?;
        self.descriptor(i64::from(other))?;
        self.expect("descriptors", one != other, || "two different ones".to_owned(), || format!("{one} twice"))
    }

    /// All random bytes that were requested.
    fn random_whole(&self) -> Checked {
        let ret = self.head.ret;
        self.returns(0)?;
        if ret < 0 || self.head.aux == u32::MAX { Ok(()) } else { self.length(PartKind::In, self.requested()) }
    }

    /// Results of `getaddrinfo`.
    fn resolved_addresses(&self) -> Checked {
        let ret = self.head.ret;
        self.within(i64::from(i32::MIN), i64::from(i32::MAX))?;
        if ret != 0 {
            return Ok(());
        }
        let some = self.parts(PartKind::Value).next().is_some();
        self.expect("entries", some, || "at least 1".to_owned(), || "none".to_owned())?;
        self.entries(1)
    }

    /// Names of a host and a service.
    fn names(&self) -> Checked {
        self.within(i64::from(i32::MIN), i64::from(i32::MAX))?;
        let longest = self.parts(PartKind::Path).map(<[u8]>::len).max().unwrap_or(0);
        let fits = longest < HOST_BYTES;
        self.expect("name", fits, || format!("fewer than {HOST_BYTES} bytes"), || longest.to_string())
    }

    /// Addresses of a host, all of one kind.
    fn host(&self) -> Checked {
        self.returns(0)?;
        let mut lengths = self.parts(PartKind::Addr).map(<[u8]>::len);
        let Some(first) = lengths.next() else { return Ok(()) };
        let alike = [4, 16].contains(&first) && lengths.all(|length| length == first);
        self.expect("addresses", alike, || "all of 4 or all of 16 bytes".to_owned(), || format!("{first} and others"))
    }

    /// The number of a new thread.
    fn thread_created(&self) -> Checked {
        self.within(0, 1)?;
        let aux = self.head.aux;
        self.expect("number of the thread", aux <= 0xffff, || "at most 65535".to_owned(), || aux.to_string())
    }

    /// The number and the index of a child, and descriptors that follow it.
    fn forked(&self) -> Checked {
        let ret = self.head.ret;
        self.returns(MOST_PROCESS)?;
        let (aux, parent) = (self.head.aux, ret != 0);
        self.expect("return value", parent, || "that of the parent".to_owned(), || "0".to_owned())?;
        let known = aux < MOST_PROCESSES || ret < 0;
        self.expect("index of the child", known, || format!("below {MOST_PROCESSES}"), || aux.to_string())?;
        self.structure(&[4], false)?;
        words(self.first(PartKind::Value)).try_for_each(|fd| self.descriptor(i64::from(fd as i32)))
    }

    /// How a process ended.
    fn status(&self) -> Checked {
        let ret = self.head.ret;
        let valid = (-MOST_ERRORS..0).contains(&ret) || u32::try_from(ret).is_ok_and(is_status);
        self.expect("return value", valid, || "the status of a process".to_owned(), || ret.to_string())
    }

    /// The number of a child that runs another program.
    fn spawned(&self) -> Checked {
        self.returns(MOST_ERRORS)?;
        self.process_index()?;
        self.structure(&[4], false)?;
        words(self.first(PartKind::Value)).try_for_each(|pid| self.process(i64::from(pid)))
    }

    /// A signal and what is known of it.
    fn signal_delivered(&self) -> Checked {
        self.within(0, 3)?;
        let signal = self.head.aux;
        let known = (1..=SIGNALS).contains(&signal);
        self.expect("signal", known, || format!("1 to {SIGNALS}"), || signal.to_string())?;
        self.structure(&[SIGINFO_BYTES], true)
    }

    /// A number of processors.
    fn processors(&self) -> Checked {
        const PROCESSORS: [u32; 2] = [83, 84];
        self.returns(if PROCESSORS.contains(&self.head.aux) { MOST_PROCESSORS } else { i64::MAX >> 12 })
    }

    /// Network interfaces with their names.
    fn interfaces(&self) -> Checked {
        self.returns(0)?;
        self.entries(3)?;
        self.count(PartKind::Path, self.parts(PartKind::Value).count())
    }

    /// Bytes that the server requested; all that there can be where they were more than the record can tell.
    fn requested(&self) -> i64 {
        if self.head.aux == u32::MAX { i64::MAX } else { i64::from(self.head.aux) }
    }

    fn expect(
        &self,
        what: &'static str,
        holds: bool,
        expected: impl FnOnce() -> String,
        found: impl FnOnce() -> String,
    ) -> Checked {
        if holds {
            return Ok(());
        }
        Err(ResultBeyondBound { call: self.op.name(), what, expected: expected(), found: found() })
    }

    fn within(&self, least: i64, most: i64) -> Checked {
        let ret = self.head.ret;
        self.expect("return value", (least..=most).contains(&ret), || format!("{least} to {most}"), || ret.to_string())
    }

    /// An error, or a value up to this one.
    fn returns(&self, most: i64) -> Checked {
        let ret = self.head.ret;
        let expected = || match most {
            0 => "0 or an error".to_owned(),
            _ => format!("an error or at most {most}"),
        };
        self.expect("return value", (-MOST_ERRORS..=most).contains(&ret), expected, || ret.to_string())
    }

    fn parts(&self, kind: PartKind) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        Parts::new(self.record).filter(move |part| part.kind == kind as u8).map(|part| part.bytes)
    }

    /// The part of this kind that the player reads.
    fn first(&self, kind: PartKind) -> &'a [u8] {
        self.parts(kind).next().unwrap_or_default()
    }

    fn length(&self, kind: PartKind, expected: i64) -> Checked {
        let found = self.first(kind).len();
        let what = "number of bytes";
        self.expect(what, found as i64 == expected, || expected.to_string(), || found.to_string())
    }

    fn count(&self, kind: PartKind, expected: usize) -> Checked {
        let found = self.parts(kind).count();
        self.expect("number of parts", found == expected, || expected.to_string(), || found.to_string())
    }

    fn structure(&self, sizes: &[usize], required: bool) -> Checked {
        let found = self.parts(PartKind::Value).next().map(<[u8]>::len);
        let fits = found.map_or(!required, |found| sizes.contains(&found));
        let expected = || sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(" or ") + " bytes";
        self.expect("structure", fits, expected, || found.map_or("none".to_owned(), |found| format!("{found} bytes")))
    }

    fn ready(&self, fits: impl Fn(i32, u32) -> bool) -> Checked {
        let ready = self.first(PartKind::Ready);
        let (pairs, rest) = ready.as_chunks::<8>();
        let most = self.head.ret.clamp(0, MOST_READY) as usize;
        let few = rest.is_empty() && pairs.len() <= most;
        self.expect("ready list", few, || format!("at most {most} descriptors"), || format!("{} bytes", ready.len()))?;
        pairs.iter().try_for_each(|pair| {
            let mut words = words(pair);
            let (fd, events) = (words.next().unwrap_or_default() as i32, words.next().unwrap_or_default());
            let known = || "a descriptor that can be waited for, and its events".to_owned();
            self.expect("ready list", fits(fd, events), known, || format!("descriptor {fd}, events {events:#x}"))
        })
    }

    fn received(&self) -> Checked {
        let (ret, room) = (self.head.ret, self.requested());
        let content = self.first(PartKind::In).len() as i64;
        // More than there was room for is a truncated message, whose length was requested.
        let may_exceed = matches!(self.op, Op::Recv | Op::Recvfrom | Op::Recvmsg) && (content == room || room == 0);
        let flags = words(self.first(PartKind::Value)).next();
        let truncated = self.op != Op::Recvmsg || flags.is_some_and(|flags| flags & TRUNCATED != 0);
        self.returns(if may_exceed && truncated { i64::from(i32::MAX) } else { room })?;
        let expected = ret.clamp(0, room);
        // Bytes that a server discards have no buffer.
        let whole = content == expected || content == 0 && ret <= room;
        self.expect("number of bytes", whole, || expected.to_string(), || content.to_string())?;
        self.addresses()?;
        self.control(self.first(PartKind::Control))
    }

    fn sent(&self) -> Checked {
        self.returns(self.requested())?;
        // What cannot be read back, and what passes by, is not in the record.
        let may_lack = matches!(self.op, Op::Sendfile | Op::Splice | Op::Tee);
        if may_lack && self.parts(PartKind::Out).next().is_none() {
            return Ok(());
        }
        self.length(PartKind::Out, self.head.ret.max(0))
    }

    fn messages(&self, content: PartKind) -> Checked {
        self.returns(self.requested().min(MOST_READY))?;
        self.count(PartKind::Message, self.head.ret.max(0) as usize)?;
        // Stated length and flags of the message that the parts belong to, and the bytes that it has.
        let mut message: Option<(u32, u32, usize)> = None;
        for part in Parts::new(self.record) {
            if part.kind == PartKind::Message as u8 {
                self.message(content, message)?;
                let mut words = words(part.bytes);
                let head = words.next().zip(words.next());
                message = head.map(|(length, flags)| (length, flags, 0));
                self.expect(
                    "head of a message",
                    head.is_some(),
                    || "8 bytes".to_owned(),
                    || part.bytes.len().to_string(),
                )?;
            } else if part.kind == PartKind::Control as u8 {
                self.control(part.bytes)?;
            } else if let Some((.., found)) = message.as_mut().filter(|_| part.kind == content as u8) {
                *found = found.saturating_add(part.bytes.len());
            }
        }
        self.message(content, message)?;
        self.addresses()
    }

    /// One message of several has as many bytes as it states, or fewer if it was truncated.
    fn message(&self, content: PartKind, message: Option<(u32, u32, usize)>) -> Checked {
        let Some((length, flags, found)) = message else { return Ok(()) };
        let cut = content == PartKind::In && flags & TRUNCATED != 0;
        let whole = found == length as usize || cut && found < length as usize;
        self.expect("number of bytes of a message", whole, || length.to_string(), || found.to_string())
    }

    fn descriptor(&self, fd: i64) -> Checked {
        let own = i32::try_from(fd).is_ok_and(|fd| OWN_DESCRIPTORS.contains(&fd));
        let valid = (0..i64::from(DESCRIPTORS)).contains(&fd) && !own;
        let expected = || format!("below {DESCRIPTORS}, and none of {OWN_DESCRIPTORS:?}");
        self.expect("descriptor", valid, expected, || fd.to_string())
    }

    fn descriptor_or_error(&self) -> Checked {
        self.returns(i64::from(i32::MAX))?;
        if self.head.ret < 0 { Ok(()) } else { self.descriptor(self.head.ret) }
    }

    fn process(&self, pid: i64) -> Checked {
        let valid = (1..=MOST_PROCESS).contains(&pid);
        self.expect("process", valid, || format!("1 to {MOST_PROCESS}"), || pid.to_string())
    }

    fn addresses(&self) -> Checked {
        if self.head.ret < 0 {
            return Ok(());
        }
        let longest = self.parts(PartKind::Addr).map(<[u8]>::len).max().unwrap_or(0);
        let fits = longest <= ADDRESS_BYTES;
        self.expect("address", fits, || format!("at most {ADDRESS_BYTES} bytes"), || format!("{longest} bytes"))
    }

    /// Ancillary data as a kernel of 64 or of 32 bits lays it out: each message within what is left, and valid descriptors.
    fn control(&self, control: &[u8]) -> Checked {
        if control.is_empty() {
            return Ok(());
        }
        let wide = control_messages(control, 8);
        let Some(messages) = wide.or_else(|| control_messages(control, 4)) else {
            let expected = || "messages that lie within it".to_owned();
            return self.expect("ancillary data", false, expected, || "one that does not".to_owned());
        };
        const SOL_SOCKET: u32 = 1;
        const SCM_RIGHTS: u32 = 1;
        let rights = messages.iter().filter(|message| (message.level, message.kind) == (SOL_SOCKET, SCM_RIGHTS));
        rights.flat_map(|message| words(message.content)).try_for_each(|fd| self.descriptor(i64::from(fd as i32)))
    }

    fn request(&self) -> Checked {
        self.returns(i64::from(i32::MAX))?;
        let request = self.head.aux;
        let Some(found) = self.parts(PartKind::Value).next().filter(|_| self.head.ret >= 0) else { return Ok(()) };
        if request == SIOCGIFCONF {
            let whole = [8, 4].into_iter().any(|word| found.len().is_multiple_of(ifreq(word)));
            return self.expect("list", whole, || "whole entries".to_owned(), || format!("{} bytes", found.len()));
        }
        let sizes = [8, 4].map(|word| [bytes_of_request(request, word), bytes_of_request_before(request, word)]);
        let sizes: Vec<usize> = sizes.into_iter().flatten().flatten().collect();
        self.structure(&sizes, false)?;
        const FIONREAD: u32 = 0x541b;
        let negative = request == FIONREAD && words(found).any(|count| count > i32::MAX as u32);
        self.expect("number of bytes to read", !negative, || "0 or more".to_owned(), || "a negative one".to_owned())
    }

    fn text(&self, fields: usize, width: usize) -> Checked {
        self.returns(0)?;
        if self.head.ret < 0 {
            return Ok(());
        }
        let value = self.first(PartKind::Value);
        let most = fields.saturating_mul(width);
        let fits = if fields == 1 { (1..=most).contains(&value.len()) } else { value.len() == most };
        let ends = value.chunks(width).all(|field| field.contains(&0));
        let expected = || format!("{fields} with a zero byte, of at most {width} bytes each");
        self.expect("text", fits && ends, expected, || format!("{} bytes", value.len()))
    }

    /// Entries of a list, each with `addresses` addresses.
    fn entries(&self, addresses: usize) -> Checked {
        let count = self.parts(PartKind::Value).count();
        self.expect("entries", count <= MOST_ENTRIES, || format!("at most {MOST_ENTRIES}"), || count.to_string())?;
        for entry in self.parts(PartKind::Value) {
            let whole = entry.len() == ENTRY_BYTES;
            self.expect("entry", whole, || format!("{ENTRY_BYTES} bytes"), || format!("{} bytes", entry.len()))?;
        }
        self.count(PartKind::Addr, count.saturating_mul(addresses))?;
        self.addresses()
    }

    fn executed(&self) -> Checked {
        const RECORDED: u32 = 1;
        const LOG: u32 = 2;
        const COPIED: u32 = 0x40;
        self.returns(0)?;
        self.process_index()?;
        let value = self.first(PartKind::Value);
        let whole = value.len().is_multiple_of(INHERITED_BYTES);
        self.expect("descriptors", whole, || "whole entries".to_owned(), || format!("{} bytes", value.len()))?;
        let mut words = words(value);
        while let (Some(fd), Some(bits)) = (words.next(), words.next()) {
            self.descriptor(i64::from(fd as i32))?;
            let is_file = bits == 0 || self.op == Op::ProgramStart && bits == COPIED;
            let known = is_file || bits < 32 && [RECORDED, LOG].contains(&(bits & 3));
            let expected = || "recorded, a log or a file".to_owned();
            self.expect("descriptor", known, expected, || format!("bits {bits:#x}"))?;
        }
        Ok(())
    }

    /// One more than the number of a process of the recording, or 0.
    fn process_index(&self) -> Checked {
        let aux = self.head.aux;
        self.expect("process", aux <= MOST_PROCESSES, || format!("at most {MOST_PROCESSES}"), || aux.to_string())
    }

    fn waited(&self) -> Checked {
        const STATUS_BYTES: usize = 8;
        const WITH_USAGE: [usize; 3] = [STATUS_BYTES + 144, STATUS_BYTES + 72, STATUS_BYTES + 88];
        self.returns(MOST_PROCESS)?;
        if self.head.ret <= 0 {
            return self.structure(&[SIGINFO_BYTES], false);
        }
        self.structure(&WITH_USAGE, true)?;
        let status = words(self.first(PartKind::Value)).next().unwrap_or_default();
        self.expect("status", is_status(status), || "that of a process".to_owned(), || format!("{status:#x}"))
    }
}

/// True for a status that `wait` stores: exited, ended by a signal, stopped or continued.
fn is_status(status: u32) -> bool {
    const CORE: u32 = 0x80;
    const STOPPED: u32 = 0x7f;
    const CONTINUED: u32 = 0xffff;
    match status & 0xff {
        0 => status <= 0xff00,
        _ if status == CONTINUED => true,
        // Events of a tracer stand above the signal.
        STOPPED => (1..=0xff).contains(&(status >> 8 & 0xff)),
        signal => status <= 0xff && (1..=SIGNALS).contains(&(signal & !CORE)),
    }
}

/// One message of ancillary data.
struct ControlMessage<'a> {
    level: u32,
    kind: u32,
    content: &'a [u8],
}

/// The messages of ancillary data whose lengths have this many bytes; `None` where they do not fill it.
fn control_messages(mut rest: &[u8], word: usize) -> Option<Vec<ControlMessage<'_>>> {
    let mut found = Vec::new();
    while !rest.is_empty() {
        let (length, after) = rest.split_at_checked(word)?;
        let (low, high) = length.split_first_chunk::<4>()?;
        if high.iter().any(|&byte| byte != 0) {
            return None;
        }
        let length = u32::from_le_bytes(*low) as usize;
        let mut fields = words(after.get(..8)?);
        let (level, kind) = (fields.next()?, fields.next()?);
        let content = rest.get(word.saturating_add(8)..length)?;
        found.push(ControlMessage { level, kind, content });
        // The last one may lack its padding.
        rest = rest.get(length.checked_next_multiple_of(word)?..).unwrap_or_default();
    }
    Some(found)
}

/// The little-endian words of 4 bytes in `bytes`.
fn words(bytes: &[u8]) -> impl Iterator<Item = u32> + use<'_> {
    bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word))
}

#[cfg(test)]
mod tests;
