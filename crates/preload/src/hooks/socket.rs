//! Sockets: making them, naming them, and messages with addresses and ancillary data.

use super::super::baton;
use super::super::collect;
use super::super::descriptors::{self, StandIn};
use super::super::epoll;
use super::super::failures;
use super::super::going_on::is_over;
use super::super::notes;
use super::super::own_words;
use super::super::player::{self, CallResult, Sending, compare_address, compare_output};
use super::super::real::hooks;
use super::super::recorder::{self, Piece};
use super::super::state::{errno, outcome, set_errno};
use super::super::thread::{PassThrough, Thread};
use super::super::vetted;
use super::super::widths::plain::timespec;
use super::{blocking, byte_count, enter, interruptible, leave, recorded, recorded_plain};
use libc::{c_int, c_void, mmsghdr, msghdr, size_t, sockaddr, socklen_t, ssize_t};
use prony_demo::{Op, PartKind};
use std::ptr::null_mut;

/// Room for any socket address.
type AnyAddress = libc::sockaddr_storage;

/// An address the kernel wrote: at most as much as there was room for.
unsafe fn address_piece(address: *const sockaddr, room: socklen_t, length: *const socklen_t, worked: bool) -> Piece {
    // SAFETY: the caller passes an address with as much room, and its length, either of which may be null.
    unsafe {
        if !worked || address.is_null() || length.is_null() {
            return Piece::Nothing;
        }
        Piece::some(PartKind::Addr, address.cast(), (*length).min(room) as usize)
    }
}

unsafe fn room(length: *const socklen_t) -> socklen_t {
    // SAFETY: the caller passes a length that is null or valid.
    unsafe { if length.is_null() { 0 } else { *length } }
}

unsafe fn give_address(answer: CallResult, nth: usize, address: *mut sockaddr, length: *mut socklen_t) {
    // SAFETY: the caller passes an address with as much room as its length says, either of which may be null.
    unsafe {
        if address.is_null() || length.is_null() {
            return;
        }
        // As the kernel does it: the true length, and as much of the address as there is room for.
        let bytes = answer.part(PartKind::Addr, nth);
        bytes.as_ptr().copy_to_nonoverlapping(address.cast(), bytes.len().min(*length as usize));
        *length = bytes.len() as socklen_t;
    }
}

/// Queries the local address of a socket; for the record only.
fn local_address(fd: c_int, to: &mut AnyAddress) -> Piece {
    let mut length = size_of::<AnyAddress>() as socklen_t;
    let before = errno();
    // SAFETY: there is room for any address, and its length says so.
    let failed = unsafe { libc::getsockname(fd, (to as *mut AnyAddress).cast(), &mut length) };
    set_errno(before);
    if failed != 0 {
        return Piece::Nothing;
    }
    Piece::some(PartKind::Addr, (to as *const AnyAddress).cast(), (length as usize).min(size_of::<AnyAddress>()))
}

/// `bind` and `connect`: the address requested, then the one the socket has got.
unsafe fn named(op: Op, fd: c_int, address: *const sockaddr, length: socklen_t, real: impl FnOnce() -> isize) -> c_int {
    // SAFETY: the caller passes an address that is as long as it says; the local one lives until it is written. All
    // zero is a valid address.
    unsafe {
        let mut local: AnyAddress = std::mem::zeroed();
        recorded(
            op,
            fd,
            0,
            real,
            |_| [Piece::some(PartKind::Addr, address.cast(), length as usize), local_address(fd, &mut local)],
            |answer| {
                if op == Op::Bind && !answer.is_error() {
                    leave_file(address, length);
                }
                answer.success()
            },
        ) as c_int
    }
}

/// A Unix socket that is bound to a path is a file there, which the server may look at, open to others, and remove.
unsafe fn leave_file(address: *const sockaddr, length: socklen_t) {
    // SAFETY: the caller passes an address that is null or as long as it says; the path ends with a zero byte, as it is
    // longer than what is copied.
    unsafe {
        let mut path = [0u8; size_of::<libc::sockaddr_un>()];
        let family = size_of::<libc::sa_family_t>();
        let length = (length as usize).min(path.len()).saturating_sub(family);
        if address.is_null() || length == 0 || i32::from((*address).sa_family) != libc::AF_UNIX {
            return;
        }
        address.byte_add(family).cast::<u8>().copy_to_nonoverlapping(path.as_mut_ptr(), length);
        // Names that begin with a zero byte are no files. One that is there already stays as it is.
        if path[0] != 0 {
            let before = errno();
            let made = libc::mknod(path.as_ptr().cast(), libc::S_IFSOCK | 0o777, 0);
            if made == -1 && errno() != libc::EEXIST {
                failures::note(c"bind", -1, path.as_ptr().cast(), errno());
            }
            set_errno(before);
        }
    }
}

/// `getsockname` and `getpeername`.
unsafe fn address_of(
    op: Op,
    fd: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
    real: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: the caller passes an address with as much room as its length says, either of which may be null.
    unsafe {
        let room = room(length);
        recorded(
            op,
            fd,
            0,
            || real() as isize,
            |failed| [address_piece(address, room, length, failed == 0)],
            |answer| {
                give_address(answer, 0, address, length);
                answer.success()
            },
        ) as c_int
    }
}

unsafe fn accepted(
    fd: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
    flags: c_int,
    real: impl FnOnce(*mut sockaddr, *mut socklen_t) -> c_int,
) -> c_int {
    // SAFETY: the caller passes an address with as much room as its length says, either of which may be null; those of
    // this function live until they are written. All zero is a valid address.
    unsafe {
        // The peer is recorded even if the server does not ask for it.
        let mut peer: AnyAddress = std::mem::zeroed();
        let peer: *mut AnyAddress = &raw mut peer;
        let mut peer_length = size_of::<AnyAddress>() as socklen_t;
        let peer_length: *mut socklen_t = &raw mut peer_length;
        let mut local: AnyAddress = std::mem::zeroed();
        let wanted = room(length) as usize;
        let new = recorded(
            Op::Accept,
            fd,
            flags as u32,
            || {
                let new = real(peer.cast(), peer_length);
                if new >= 0 && !address.is_null() && !length.is_null() {
                    let kept = wanted.min(*peer_length as usize);
                    peer.cast::<u8>().copy_to_nonoverlapping(address.cast(), kept);
                    *length = *peer_length;
                }
                new as isize
            },
            |new| {
                if new < 0 {
                    return [Piece::Nothing, Piece::Nothing];
                }
                let length = (*peer_length as usize).min(size_of::<AnyAddress>());
                [Piece::some(PartKind::Addr, peer.cast(), length), local_address(new as c_int, &mut local)]
            },
            |answer| {
                if !answer.is_error() {
                    give_address(answer, 0, address, length);
                }
                answer.descriptor(StandIn::Socket)
            },
        ) as c_int;
        descriptors::opened(new);
        if descriptors::is_datagram(fd) {
            descriptors::set_datagram(new);
        }
        descriptors::set_nonblocking(new, flags & libc::SOCK_NONBLOCK != 0);
        new
    }
}

/// Records bytes and address of one received message, or gives them to the server.
#[allow(clippy::too_many_arguments)]
pub(super) unsafe fn received(
    op: Op,
    fd: c_int,
    buffer: *mut c_void,
    length: size_t,
    flags: c_int,
    address: *mut sockaddr,
    address_length: *mut socklen_t,
    real: impl FnOnce() -> ssize_t,
) -> ssize_t {
    // SAFETY: the block that `enter` returns is the calling thread's own. The caller passes room for `length` bytes,
    // and an address with as much room as its length says, which may be null.
    unsafe {
        let (thread, recording) = enter();
        let value;
        if recording {
            let room = room(address_length);
            value = blocking(thread, op, fd, real);
            let errno = errno();
            let pieces = [
                address_piece(address, room, address_length, value >= 0),
                Piece::some(PartKind::In, buffer.cast(), (value.max(0) as usize).min(length)),
            ];
            recorder::emit(thread, op, fd, byte_count(length), outcome(value), &pieces);
            set_errno(errno);
        } else {
            (*thread).no_wait = flags & libc::MSG_DONTWAIT != 0;
            let given = player::take_input(thread, op, fd, length, flags);
            value = given.value();
            if value >= 0 {
                give_address(given.answer(), 0, address, address_length);
                given.bytes.as_ptr().copy_to_nonoverlapping(buffer.cast(), given.bytes.len());
            }
            given.done(thread);
        }
        leave(thread);
        value
    }
}

/// True for the kinds of socket on which every message stands alone.
fn keeps_messages(kind: c_int) -> bool {
    [libc::SOCK_DGRAM, libc::SOCK_SEQPACKET, libc::SOCK_RAW].contains(&(kind & 0xf))
}

/// Records one sent message, or compares it.
#[allow(clippy::too_many_arguments)]
pub(super) unsafe fn sent(
    op: Op,
    fd: c_int,
    total: usize,
    address: *const sockaddr,
    address_length: socklen_t,
    content: impl Fn(usize) -> Piece,
    runs: impl Iterator<Item = player::Run> + Clone,
    real: impl FnOnce() -> ssize_t,
) -> ssize_t {
    // SAFETY: the block that `enter` returns is the calling thread's own. The caller passes an address that is null or
    // as long as it says, and runs of bytes of the server.
    unsafe {
        let (thread, recording) = enter();
        let value;
        if recording {
            let at_once = is_said_at_once(fd, total);
            value = match at_once {
                // The thread that reads it goes on behind this record: no other one has its turn in between.
                true => interruptible(thread, || baton::keep(thread), real),
                false => blocking(thread, op, fd, real),
            };
            let errno = errno();
            let pieces = [
                Piece::some(PartKind::Addr, address.cast(), address_length as usize),
                if value > 0 { content(value as usize) } else { Piece::Nothing },
            ];
            let emit = if at_once { recorder::emit_at_once } else { recorder::emit };
            emit(thread, op, fd, byte_count(total), outcome(value), &pieces);
            set_errno(errno);
        } else {
            (*thread).offered = byte_count(total);
            let to = match address.is_null() {
                true => &[],
                false => std::slice::from_raw_parts(address.cast::<u8>(), address_length as usize),
            };
            value = match player::is_tolerant() && !descriptors::is_internal(fd) {
                true => tolerated(thread, Sending { op, fd, to, total, runs }),
                false => compared(thread, Sending { op, fd, to, total, runs }),
            };
        }
        leave(thread);
        value
    }
}

/// True if this many bytes go at once into a stream of which the process has both ends.
fn is_said_at_once(fd: c_int, total: usize) -> bool {
    if !own_words::is_end(fd) {
        return false;
    }
    // A pipe that is writable has room for this many.
    descriptors::is_nonblocking(fd) || total <= libc::PIPE_BUF && is_writable(fd)
}

fn is_writable(fd: c_int) -> bool {
    let _pass_through = PassThrough::enter();
    let mut polled = libc::pollfd { fd, events: libc::POLLOUT, revents: 0 };
    // SAFETY: the structure lives across the call.
    unsafe { libc::poll(&mut polled, 1, 0) == 1 && polled.revents & libc::POLLOUT != 0 }
}

/// Answers an output, which has to be the recorded one.
unsafe fn compared(thread: *mut Thread, sending: Sending<impl Iterator<Item = player::Run> + Clone>) -> ssize_t {
    // SAFETY: the block is the calling thread's own, and the runs are buffers of the server.
    unsafe {
        let Sending { op, fd, to, total, runs } = sending;
        let answer = player::take(thread, op, fd);
        if !to.is_empty() && !answer.is_made_up() {
            compare_address(thread, answer, op, fd, 0, to);
        }
        if !answer.is_error() && !answer.is_made_up() {
            compare_output(thread, answer, op, fd, 0, total, runs);
        }
        let value = answer.within(total);
        player::done(thread, answer);
        value
    }
}

/// Answers an output that is compared outside, and that may have another length or no record.
#[cold]
unsafe fn tolerated(thread: *mut Thread, sending: Sending<impl Iterator<Item = player::Run> + Clone>) -> ssize_t {
    // SAFETY: as in `compared`.
    unsafe {
        let Sending { op, fd, to, total, runs } = sending;
        let own = Sending { op, fd, to, total, runs: runs.clone() };
        let Some(answer) = player::take_sent(thread, own) else { return total as ssize_t };
        if !answer.is_error() {
            compare_output(thread, answer, op, fd, 0, total, runs);
        }
        // What was taken whole is taken whole again, whatever its length.
        let value = if answer.is_complete_output() { total as ssize_t } else { answer.within(total) };
        player::done(thread, answer);
        value
    }
}

/// The buffers of a vector as runs of bytes.
pub(super) unsafe fn runs_of(vector: *const libc::iovec, count: usize) -> impl Iterator<Item = player::Run> + Clone {
    // SAFETY: the caller passes as many buffers.
    unsafe {
        let vector = if count == 0 { &[] } else { std::slice::from_raw_parts(vector, count) };
        vector.iter().map(|buffer| (buffer.iov_base.cast_const().cast(), buffer.iov_len))
    }
}

pub(super) unsafe fn vector_length(vector: *const libc::iovec, count: usize) -> usize {
    // SAFETY: as for this function.
    unsafe { runs_of(vector, count).map(|(_, length)| length).sum() }
}

/// Spreads recorded bytes over the server's buffers.
pub(super) unsafe fn scatter(mut bytes: &[u8], vector: *const libc::iovec, count: usize) {
    // SAFETY: the caller passes as many buffers, each with the room that it says.
    unsafe {
        for (to, length) in runs_of(vector, count) {
            let (now, rest) = bytes.split_at(length.min(bytes.len()));
            now.as_ptr().copy_to_nonoverlapping(to.cast_mut(), now.len());
            bytes = rest;
        }
    }
}

/// Descriptors that travel with a message. A replay has copied whole messages of control data only.
unsafe fn each_descriptor(message: *const msghdr, mut each: impl FnMut(c_int)) {
    // SAFETY: the caller passes the message that the server did, whose control data the kernel has written or the
    // server.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(message);
        while !control.is_null() {
            if (*control).cmsg_level == libc::SOL_SOCKET && (*control).cmsg_type == libc::SCM_RIGHTS {
                let count =
                    ((*control).cmsg_len as usize).saturating_sub(libc::CMSG_LEN(0) as usize) / size_of::<c_int>();
                let fds = libc::CMSG_DATA(control).cast::<c_int>();
                for at in 0..count {
                    each(fds.add(at).read_unaligned());
                }
            }
            control = libc::CMSG_NXTHDR(message, control);
        }
    }
}

/// Another process has the descriptor from now on, too.
fn given_away(fd: c_int) {
    epoll::sent(fd);
    own_words::lose(fd);
}

fn is_file(fd: c_int) -> bool {
    // SAFETY: all zero is a valid answer, which lives across the call.
    unsafe {
        let mut found: libc::stat64 = std::mem::zeroed();
        libc::fstat64(fd, &mut found) == 0 && found.st_mode & libc::S_IFMT == libc::S_IFREG
    }
}

/// Descriptors that came along with a message belong to the conversation.
unsafe fn adopt_descriptors(message: *const msghdr, replayed: Option<CallResult>) {
    // SAFETY: the caller passes the message that the server did.
    unsafe {
        each_descriptor(message, |fd| {
            if let Some(answer) = replayed {
                answer.take_descriptor(fd, StandIn::Socket);
            } else if is_file(fd) {
                notes::uncovered(&[
                    b"the descriptor of a file came over a socket (SCM_RIGHTS): a replay has none there, and compares what is written to it as output",
                ]);
            }
            descriptors::opened(fd);
        });
    }
}

unsafe fn message_pieces(message: *const msghdr, name_room: socklen_t, count: usize) -> [Piece; 3] {
    // SAFETY: the caller passes the message that the server did, as the kernel has filled it.
    unsafe {
        let name = if (*message).msg_name.is_null() { 0 } else { (*message).msg_namelen.min(name_room) };
        [
            Piece::some(PartKind::Addr, (*message).msg_name.cast(), name as usize),
            Piece::some(PartKind::Control, (*message).msg_control.cast(), (*message).msg_controllen),
            if count > 0 {
                // The length of a whole message may be more than there is room for (`MSG_TRUNC`).
                let room = vector_length((*message).msg_iov, (*message).msg_iovlen);
                Piece::Vector(PartKind::In, (*message).msg_iov, count.min(room))
            } else {
                Piece::Nothing
            },
        ]
    }
}

/// Bytes of control data up to the first message that does not lie within it, as this architecture lays them out. The demo was
/// checked for the layout of either word size.
fn whole_messages(control: &[u8]) -> usize {
    let mut whole = 0;
    while let Some(rest) = control.get(whole..).filter(|rest| !rest.is_empty()) {
        let length = rest.first_chunk().map_or(0, |length| usize::from_ne_bytes(*length));
        if length < size_of::<libc::cmsghdr>() || length > rest.len() {
            return whole;
        }
        whole += length.next_multiple_of(size_of::<usize>());
    }
    control.len()
}

/// Gives one recorded message to the server. `address`, `control` and `content` are its parts.
unsafe fn give_message(
    message: *mut msghdr,
    answer: CallResult,
    address: &[u8],
    control: &[u8],
    content: &[u8],
    flags: c_int,
) {
    // SAFETY: the caller passes the message that the server did: its name, control data and buffers have the room that
    // they say.
    unsafe {
        if !(*message).msg_name.is_null() {
            let kept = address.len().min((*message).msg_namelen as usize);
            address.as_ptr().copy_to_nonoverlapping((*message).msg_name.cast(), kept);
            (*message).msg_namelen = address.len() as socklen_t;
        }
        let room = if (*message).msg_control.is_null() { 0 } else { (*message).msg_controllen };
        let room = room.min(whole_messages(control));
        if control.len() > room {
            answer.lost(control.len(), room);
        }
        control.as_ptr().copy_to_nonoverlapping((*message).msg_control.cast(), control.len());
        (*message).msg_controllen = control.len() as _;
        (*message).msg_flags = flags;
        scatter(content, (*message).msg_iov, (*message).msg_iovlen);
        adopt_descriptors(message, Some(answer));
    }
}

/// Messages of one `recvmmsg` or `sendmmsg`; more than this are left for the next call.
const MESSAGES: usize = 128;

/// Head of each message of several: length and flags.
type MessageHead = [u32; 2];

/// The parts of the messages of a record, in order.
fn each_message(answer: CallResult) -> impl Iterator<Item = (MessageHead, [&'static [u8]; 4])> {
    let mut parts = answer.parts().peekable();
    std::iter::from_fn(move || {
        let head = parts.next().filter(|part| part.kind == PartKind::Message as u8)?;
        let word =
            |at: usize| head.bytes.get(at..at + 4).and_then(|word| word.try_into().ok()).map_or(0, u32::from_le_bytes);
        let mut found: [&'static [u8]; 4] = [&[]; 4];
        while let Some(part) = parts.next_if(|part| part.kind != PartKind::Message as u8) {
            match PartKind::from_number(part.kind) {
                Some(PartKind::Addr) => found[0] = part.bytes,
                Some(PartKind::Control) => found[1] = part.bytes,
                Some(PartKind::In) => found[2] = part.bytes,
                Some(PartKind::Out) => found[3] = part.bytes,
                _ => {}
            }
        }
        (head.bytes.len() >= 8).then(|| ([word(0), word(4)], found))
    })
}

unsafe fn receive_several(
    fd: c_int,
    messages: *mut mmsghdr,
    count: usize,
    flags: c_int,
    real: impl FnOnce(usize) -> c_int,
) -> c_int {
    // SAFETY: the block that `enter` returns is the calling thread's own; the caller passes as many messages.
    unsafe {
        let (thread, recording) = enter();
        let count = count.min(MESSAGES);
        let value;
        if recording {
            let mut rooms = [0; MESSAGES];
            for (at, room) in rooms.iter_mut().enumerate().take(count) {
                *room = (*messages.add(at)).msg_hdr.msg_namelen;
            }
            value = blocking(thread, Op::Recvmmsg, fd, || real(count));
            emit_several(thread, Op::Recvmmsg, fd, count, value, |at| {
                let message = messages.add(at);
                adopt_descriptors(&(*message).msg_hdr, None);
                let head = [(*message).msg_len, (*message).msg_hdr.msg_flags as u32];
                (head, message_pieces(&(*message).msg_hdr, rooms[at], (*message).msg_len as usize))
            });
        } else {
            let answer = player::take(thread, Op::Recvmmsg, fd);
            let came = each_message(answer).count();
            if came > count {
                answer.lost(came, count);
            }
            for (at, (head, [address, control, content, _])) in each_message(answer).enumerate() {
                let message = messages.add(at);
                let header = &mut (*message).msg_hdr;
                let room = vector_length(header.msg_iov, header.msg_iovlen);
                let peeks = flags & libc::MSG_PEEK != 0;
                if content.len() > room && !peeks {
                    answer.lost(content.len(), room);
                }
                if descriptors::is_internal(fd) {
                    // The records of a replay are its own copy.
                    let own = std::slice::from_raw_parts_mut(content.as_ptr().cast_mut(), content.len());
                    own_words::read(fd, own, peeks);
                }
                let content = &content[..content.len().min(room)];
                let cut = content.len() < head[0] as usize;
                let whole = flags & libc::MSG_TRUNC != 0;
                (*message).msg_len = if whole { head[0] } else { content.len() as u32 };
                let flags = head[1] as c_int | if cut { libc::MSG_TRUNC } else { 0 };
                give_message(header, answer, address, control, content, flags);
            }
            value = answer.within(came) as c_int;
            player::done(thread, answer);
        }
        collect::moved(thread, messages, value);
        leave(thread);
        value
    }
}

unsafe fn emit_several(
    thread: *mut Thread,
    op: Op,
    fd: c_int,
    count: usize,
    value: c_int,
    message: impl Fn(usize) -> (MessageHead, [Piece; 3]),
) {
    let errno = errno();
    let mut heads = [[0u32; 2]; MESSAGES];
    let mut pieces = [Piece::Nothing; MESSAGES * 4];
    let used = value.max(0) as usize;
    for at in 0..used {
        let (head, found) = message(at);
        heads[at] = head;
        pieces[at * 4] = Piece::Bytes(PartKind::Message, heads[at].as_ptr().cast(), size_of::<MessageHead>());
        pieces[at * 4 + 1..at * 4 + 4].copy_from_slice(&found);
    }
    // SAFETY: the caller passes the block that `enter` returned; the heads live until they are written.
    unsafe { recorder::emit(thread, op, fd, byte_count(count), outcome(value as isize), &pieces[..used * 4]) };
    set_errno(errno);
}

hooks! {
    fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
        let what = [domain, kind, protocol];
        let fd = recorded(
            Op::Socket,
            -1,
            domain as u32,
            || real::socket(domain, kind, protocol) as isize,
            |_| [Piece::value(&what)],
            |answer| answer.descriptor(StandIn::Socket),
        ) as c_int;
        descriptors::opened(fd);
        descriptors::set_nonblocking(fd, kind & libc::SOCK_NONBLOCK != 0);
        if keeps_messages(kind) {
            descriptors::set_datagram(fd);
        }
        fd
    }

    fn socketpair(domain: c_int, kind: c_int, protocol: c_int, to: *mut c_int) -> c_int {
        let failed = super::descriptor::pair(Op::Socketpair, to, kind & libc::SOCK_NONBLOCK != 0, [StandIn::Socket; 2], || {
            real::socketpair(domain, kind, protocol, to)
        });
        if failed == 0 && keeps_messages(kind) {
            descriptors::set_datagram(*to);
            descriptors::set_datagram(*to.add(1));
        }
        failed
    }

    fn bind(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int {
        named(Op::Bind, fd, address, length, || real::bind(fd, address, length) as isize)
    }

    [__connect] fn connect(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int {
        named(Op::Connect, fd, address, length, || real::connect(fd, address, length) as isize)
    }

    fn listen(fd: c_int, backlog: c_int) -> c_int {
        recorded_plain(Op::Listen, fd, backlog as u32, || real::listen(fd, backlog) as isize) as c_int
    }

    fn accept(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int {
        accepted(fd, address, length, 0, |address, length| real::accept(fd, address, length))
    }

    fn accept4(fd: c_int, address: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int {
        accepted(fd, address, length, flags, |address, length| real::accept4(fd, address, length, flags))
    }

    fn shutdown(fd: c_int, how: c_int) -> c_int {
        recorded_plain(Op::Shutdown, fd, how as u32, || real::shutdown(fd, how) as isize) as c_int
    }

    fn sockatmark(fd: c_int) -> c_int {
        const SIOCATMARK: u16 = 0x8905;
        let mut at_mark: c_int = 0;
        if libc::ioctl(fd, SIOCATMARK.into(), &mut at_mark) == -1 { -1 } else { at_mark }
    }

    time64 [__getsockopt64] fn getsockopt(fd: c_int, level: c_int, name: c_int, to: *mut c_void, length: *mut socklen_t) -> c_int {
        recorded(
            Op::Getsockopt,
            fd,
            (level as u32) << 16 | name as u32 & 0xffff,
            || real::getsockopt(fd, level, name, to, length) as isize,
            |failed| [if failed == 0 { Piece::some(PartKind::Value, to.cast(), *length as usize) } else { Piece::Nothing }],
            |answer| {
                if !answer.is_error() {
                    *length = answer.fill(PartKind::Value, 0, to.cast(), *length as usize) as socklen_t;
                }
                answer.success()
            },
        ) as c_int
    }

    time64 [__setsockopt64] fn setsockopt(fd: c_int, level: c_int, name: c_int, value: *const c_void, length: socklen_t) -> c_int {
        recorded(
            Op::Setsockopt,
            fd,
            (level as u32) << 16 | name as u32 & 0xffff,
            || real::setsockopt(fd, level, name, value, length) as isize,
            // What the kernel refused may not be there.
            |failed| [Piece::some(PartKind::Value, value.cast(), if failed == 0 { length as usize } else { 0 })],
            CallResult::success,
        ) as c_int
    }

    fn getsockname(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int {
        address_of(Op::Getsockname, fd, address, length, || real::getsockname(fd, address, length))
    }

    fn getpeername(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int {
        address_of(Op::Getpeername, fd, address, length, || real::getpeername(fd, address, length))
    }

    until [is_over] fn recv(fd: c_int, buffer: *mut c_void, length: size_t, flags: c_int) -> ssize_t {
        received(Op::Recv, fd, buffer, length, flags, null_mut(), null_mut(), || real::recv(fd, buffer, length, flags))
    }

    fn __recv_chk(fd: c_int, buffer: *mut c_void, length: size_t, _room: size_t, flags: c_int) -> ssize_t {
        recv(fd, buffer, length, flags)
    }

    until [is_over] fn recvfrom(
        fd: c_int,
        buffer: *mut c_void,
        length: size_t,
        flags: c_int,
        address: *mut sockaddr,
        address_length: *mut socklen_t,
    ) -> ssize_t {
        received(Op::Recvfrom, fd, buffer, length, flags, address, address_length, || {
            real::recvfrom(fd, buffer, length, flags, address, address_length)
        })
    }

    fn __recvfrom_chk(
        fd: c_int,
        buffer: *mut c_void,
        length: size_t,
        _room: size_t,
        flags: c_int,
        address: *mut sockaddr,
        address_length: *mut socklen_t,
    ) -> ssize_t {
        recvfrom(fd, buffer, length, flags, address, address_length)
    }

    time64 [__recvmsg64] fn recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
        if vetted::is_refused_message(message) {
            return real::recvmsg(fd, message, flags);
        }
        let name_room = (*message).msg_namelen;
        let length = vector_length((*message).msg_iov, (*message).msg_iovlen);
        let (thread, recording) = enter();
        let value;
        if recording {
            value = blocking(thread, Op::Recvmsg, fd, || real::recvmsg(fd, message, flags));
            let errno = errno();
            if value >= 0 {
                adopt_descriptors(message, None);
                let came_flags = (*message).msg_flags as u32;
                let [address, control, content] = message_pieces(message, name_room, (value as usize).min(length));
                let pieces = [address, control, content, Piece::value(&came_flags)];
                recorder::emit(thread, Op::Recvmsg, fd, byte_count(length), outcome(value), &pieces);
            } else {
                recorder::emit(thread, Op::Recvmsg, fd, byte_count(length), outcome(value), &[]);
            }
            set_errno(errno);
        } else {
            (*thread).no_wait = flags & libc::MSG_DONTWAIT != 0;
            let given = player::take_input(thread, Op::Recvmsg, fd, length, flags);
            value = given.value();
            let answer = given.answer();
            if !answer.is_error() {
                let cut = descriptors::is_datagram(fd) && given.bytes.len() < answer.part(PartKind::In, 0).len();
                let flags = answer.read_value::<c_int>().unwrap_or(0) | if cut { libc::MSG_TRUNC } else { 0 };
                let control = answer.part(PartKind::Control, 0);
                give_message(message, answer, answer.part(PartKind::Addr, 0), control, given.bytes, flags);
            }
            given.done(thread);
        }
        leave(thread);
        value
    }

    time64 [__recvmmsg64] fn recvmmsg(fd: c_int, messages: *mut mmsghdr, count: libc::c_uint, flags: c_int, timeout: *mut timespec) -> c_int {
        receive_several(fd, messages, count as usize, flags, |count| {
            real::recvmmsg(fd, messages, count as libc::c_uint, flags, timeout)
        })
    }

    [__send] until [is_over] fn send(fd: c_int, buffer: *const c_void, length: size_t, flags: c_int) -> ssize_t {
        sent(
            Op::Send,
            fd,
            length,
            null_mut(),
            0,
            |count| Piece::Bytes(PartKind::Out, buffer.cast(), count),
            std::iter::once((buffer.cast(), length)),
            || real::send(fd, buffer, length, flags),
        )
    }

    until [is_over] fn sendto(
        fd: c_int,
        buffer: *const c_void,
        length: size_t,
        flags: c_int,
        address: *const sockaddr,
        address_length: socklen_t,
    ) -> ssize_t {
        sent(
            Op::Sendto,
            fd,
            length,
            address,
            address_length,
            |count| Piece::Bytes(PartKind::Out, buffer.cast(), count),
            std::iter::once((buffer.cast(), length)),
            || real::sendto(fd, buffer, length, flags, address, address_length),
        )
    }

    time64 [__sendmsg64] fn sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
        if vetted::is_refused_message(message) {
            return real::sendmsg(fd, message, flags);
        }
        each_descriptor(message, given_away);
        let (vector, count) = ((*message).msg_iov, (*message).msg_iovlen);
        sent(
            Op::Sendmsg,
            fd,
            vector_length(vector, count),
            (*message).msg_name.cast(),
            (*message).msg_namelen,
            |count| Piece::Vector(PartKind::Out, vector, count),
            runs_of(vector, count),
            || real::sendmsg(fd, message, flags),
        )
    }

    time64 [__sendmmsg64] fn sendmmsg(fd: c_int, messages: *mut mmsghdr, count: libc::c_uint, flags: c_int) -> c_int {
        let (thread, recording) = enter();
        let count = (count as usize).min(MESSAGES);
        for at in 0..count {
            each_descriptor(&(*messages.add(at)).msg_hdr, given_away);
        }
        let value;
        if recording {
            value = blocking(thread, Op::Sendmmsg, fd, || real::sendmmsg(fd, messages, count as libc::c_uint, flags));
            emit_several(thread, Op::Sendmmsg, fd, count, value, |at| {
                let message = messages.add(at);
                let header = &(*message).msg_hdr;
                let name = Piece::some(PartKind::Addr, header.msg_name.cast(), header.msg_namelen as usize);
                let content = Piece::Vector(PartKind::Out, header.msg_iov, (*message).msg_len as usize);
                ([(*message).msg_len, 0], [name, Piece::Nothing, content])
            });
        } else {
            let answer = player::take(thread, Op::Sendmmsg, fd);
            let mut outputs = 0;
            for (at, (head, [address, ..])) in each_message(answer).enumerate().take(count) {
                let message = messages.add(at);
                let header = &(*message).msg_hdr;
                if !address.is_empty() && !header.msg_name.is_null() {
                    let found = std::slice::from_raw_parts(header.msg_name.cast::<u8>(), header.msg_namelen as usize);
                    compare_address(thread, answer, Op::Sendmmsg, fd, at, found);
                }
                let (vector, buffers) = (header.msg_iov, header.msg_iovlen);
                let total = vector_length(vector, buffers);
                compare_output(thread, answer, Op::Sendmmsg, fd, outputs, total, runs_of(vector, buffers));
                outputs += usize::from(head[0] > 0);
                (*message).msg_len = head[0];
            }
            value = answer.within(count) as c_int;
            player::done(thread, answer);
        }
        collect::moved(thread, messages, value);
        leave(thread);
        value
    }
}
