//! Hooks of the older name resolution, whose answers are a `struct hostent` in memory of libc's or the caller's.

use super::super::player::CallResult;
use super::super::real::hooks;
use super::super::recorder::Piece;
use super::super::state::{errno, set_errno};
use super::recorded;
use libc::{c_char, c_int, c_void, hostent, size_t, socklen_t};
use prony_demo::{Op, PartKind};
use std::cell::Cell;
use std::ptr::null_mut;

unsafe extern "C" {
    fn __h_errno_location() -> *mut c_int;
}

/// Addresses, and other names, of a host that are recorded; more are left out of a replay.
const LISTED: usize = 16;

/// Bytes for an answer in static memory: the lists and what they lead to.
const STATIC_BYTES: usize = 8192;

/// What was found: `h_errno`, the host's name (or the one looked up), its other names, and its addresses.
unsafe fn pieces(found: *const hostent, requested: *const c_char, error: &c_int) -> [Piece; 2 + 2 * LISTED] {
    let mut pieces = [Piece::Nothing; 2 + 2 * LISTED];
    // SAFETY: the caller passes the name, and what a lookup returned: null, or an entry with lists that end with null.
    unsafe {
        pieces[0] = Piece::value(error);
        pieces[1] = Piece::path(if found.is_null() { requested } else { (*found).h_name });
        if !found.is_null() {
            let (names, addresses) = pieces[2..].split_at_mut(LISTED);
            for (piece, name) in names.iter_mut().zip(listed((*found).h_aliases)) {
                *piece = Piece::path(name);
            }
            for (piece, address) in addresses.iter_mut().zip(listed((*found).h_addr_list)) {
                *piece = Piece::Bytes(PartKind::Addr, address.cast(), (*found).h_length as usize);
            }
        }
    }
    pieces
}

/// Entries of a list that is null or ends with null.
unsafe fn listed(list: *const *mut c_char) -> impl Iterator<Item = *mut c_char> {
    // SAFETY: the caller passes such a list; no entry behind its end is read.
    (0..).map_while(move |at| unsafe {
        let entry = if list.is_null() { null_mut() } else { *list.add(at) };
        (!entry.is_null()).then_some(entry)
    })
}

/// Memory that is handed out from its start.
struct Room {
    next: *mut u8,
    left: usize,
}

impl Room {
    /// The next `bytes` bytes, aligned to a pointer.
    fn take(&mut self, bytes: usize) -> Option<*mut u8> {
        let gap = self.next.align_offset(align_of::<*mut c_char>());
        let used = gap.checked_add(bytes)?;
        let start = self.next.wrapping_add(gap);
        self.left = self.left.checked_sub(used)?;
        self.next = self.next.wrapping_add(used);
        Some(start)
    }

    /// A copy of these bytes, with a zero behind them.
    fn text(&mut self, bytes: &[u8]) -> Option<*mut c_char> {
        let to = self.take(bytes.len() + 1)?;
        // SAFETY: it has as many bytes, and one for the zero.
        unsafe {
            bytes.as_ptr().copy_to_nonoverlapping(to, bytes.len());
            to.add(bytes.len()).write(0);
        }
        Some(to.cast())
    }

    /// Copies of the bytes of these parts, and a list of them that ends with null.
    fn list(&mut self, parts: impl Iterator<Item = &'static [u8]> + Clone) -> Option<*mut *mut c_char> {
        let count = parts.clone().take(LISTED).count();
        let list: *mut *mut c_char = self.take((count + 1) * size_of::<*mut c_char>())?.cast();
        for (at, bytes) in parts.take(LISTED).enumerate() {
            let copy = self.text(bytes)?;
            // SAFETY: the list has room for as many, and for the end.
            unsafe { list.add(at).write(copy) };
        }
        // SAFETY: as above.
        unsafe { list.add(count).write(null_mut()) };
        Some(list)
    }
}

/// What a replay answers, laid out in this memory; `None` where it has too little.
fn laid_out(answer: CallResult, mut room: Room) -> Option<hostent> {
    let of = |kind: PartKind| answer.parts().filter(move |part| part.kind == kind as u8).map(|part| part.bytes);
    let addresses = of(PartKind::Addr);
    let length = addresses.clone().next().map_or(0, <[u8]>::len);
    Some(hostent {
        h_addr_list: room.list(addresses)?,
        h_aliases: room.list(of(PartKind::Path).skip(1))?,
        h_name: room.text(answer.part(PartKind::Path, 0))?,
        h_addrtype: if length == 16 { libc::AF_INET6 } else { libc::AF_INET },
        h_length: length as c_int,
    })
}

/// True where a host was found: one that was not has no address, and a resolver may leave no error.
fn is_found(answer: CallResult) -> bool {
    !answer.is_error() && answer.parts().any(|part| part.kind == PartKind::Addr as u8)
}

/// `h_errno` of the recording; older demos have none.
fn error_of(answer: CallResult) -> Option<c_int> {
    // SAFETY: any bytes are a number.
    unsafe { answer.read_value() }
}

/// A lookup whose answer is in static memory, as the contract of the call says.
unsafe fn looked_up(requested: *const c_char, real: impl FnOnce() -> *mut hostent) -> *mut hostent {
    static mut MEMORY: [u64; STATIC_BYTES / 8] = [0; STATIC_BYTES / 8];
    // SAFETY: all zero is an entry that is never read.
    static mut ENTRY: hostent = unsafe { std::mem::zeroed() };
    let found = Cell::new(null_mut::<hostent>());
    let error = Cell::new(0);
    // SAFETY: as the contract of the call says, threads do not make it at the same time; the location is the thread's own.
    unsafe {
        recorded(
            Op::Gethostbyname,
            -1,
            0,
            || {
                found.set(real());
                error.set(*__h_errno_location());
                if found.get().is_null() { -1 } else { 0 }
            },
            |_| pieces(found.get(), requested, &*error.as_ptr()),
            |answer| {
                let room = Room { next: (&raw mut MEMORY).cast(), left: STATIC_BYTES };
                if let Some(entry) = is_found(answer).then(|| laid_out(answer, room)).flatten() {
                    ENTRY = entry;
                    found.set(&raw mut ENTRY);
                }
                if let Some(error) = error_of(answer) {
                    *__h_errno_location() = error;
                }
                answer.success()
            },
        );
    }
    found.get()
}

/// A lookup whose answer is in memory of the caller's: an entry and a buffer; the result says where the entry is, if there is one,
/// and `h_errno`.
unsafe fn looked_up_into(
    requested: *const c_char,
    (entry, buffer, bytes): (*mut hostent, *mut c_char, size_t),
    (found, error): (*mut *mut hostent, *mut c_int),
    real: impl FnOnce() -> c_int,
) -> c_int {
    let result = Cell::new(0);
    // SAFETY: the caller passes what the call was given, and a call with an answer has written all of it.
    unsafe {
        recorded(
            Op::Gethostbyname,
            -1,
            0,
            || {
                result.set(real());
                if result.get() != 0 {
                    set_errno(result.get());
                    return -1;
                }
                0
            },
            |_| pieces(if result.get() == 0 { *found } else { null_mut() }, requested, &*error),
            |answer| {
                *found = null_mut();
                *error = error_of(answer).unwrap_or(0);
                if is_found(answer) {
                    match laid_out(answer, Room { next: buffer.cast(), left: bytes }) {
                        Some(laid_out) => {
                            *entry = laid_out;
                            *found = entry;
                        }
                        None => {
                            result.set(libc::ERANGE);
                            return -1;
                        }
                    }
                }
                let value = answer.success();
                result.set(if value == 0 { 0 } else { errno() });
                value
            },
        );
    }
    result.get()
}

hooks! {
    fn gethostbyname(name: *const c_char) -> *mut hostent {
        looked_up(name, || real::gethostbyname(name))
    }

    fn gethostbyname2(name: *const c_char, family: c_int) -> *mut hostent {
        looked_up(name, || real::gethostbyname2(name, family))
    }

    fn gethostbyaddr(address: *const c_void, length: socklen_t, family: c_int) -> *mut hostent {
        looked_up(c"".as_ptr(), || real::gethostbyaddr(address, length, family))
    }

    fn gethostbyname_r(
        name: *const c_char,
        entry: *mut hostent,
        buffer: *mut c_char,
        room: size_t,
        found: *mut *mut hostent,
        error: *mut c_int,
    ) -> c_int {
        looked_up_into(name, (entry, buffer, room), (found, error), || {
            real::gethostbyname_r(name, entry, buffer, room, found, error)
        })
    }

    fn gethostbyname2_r(
        name: *const c_char,
        family: c_int,
        entry: *mut hostent,
        buffer: *mut c_char,
        room: size_t,
        found: *mut *mut hostent,
        error: *mut c_int,
    ) -> c_int {
        looked_up_into(name, (entry, buffer, room), (found, error), || {
            real::gethostbyname2_r(name, family, entry, buffer, room, found, error)
        })
    }

    fn gethostbyaddr_r(
        address: *const c_void,
        length: socklen_t,
        family: c_int,
        entry: *mut hostent,
        buffer: *mut c_char,
        room: size_t,
        found: *mut *mut hostent,
        error: *mut c_int,
    ) -> c_int {
        looked_up_into(c"".as_ptr(), (entry, buffer, room), (found, error), || {
            real::gethostbyaddr_r(address, length, family, entry, buffer, room, found, error)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_too_little_room_is_left_out() {
        let mut memory = [0u64; 8];
        let start = memory.as_mut_ptr();
        let room = |left| Room { next: start.cast(), left };
        let parts = || [b"one" as &[u8], b"four"].into_iter();
        assert!(room(23).list(parts()).is_none(), "the list alone has 24 bytes");
        assert!(room(36).list(parts()).is_none());
        let list = room(37).list(parts()).expect("24 and 4 bytes, a gap, and 5");
        // SAFETY: it was made just now.
        let texts: Vec<&[u8]> = unsafe { listed(list).map(|text| std::ffi::CStr::from_ptr(text).to_bytes()).collect() };
        assert_eq!(texts, parts().collect::<Vec<_>>());
    }
}
