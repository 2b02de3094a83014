//! Packets of the program, and who frees them.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use prony_enet::{Kind, Payload, Received};

use crate::exported;
use crate::layout::Packet;
use crate::memory::{enet_free, enet_malloc};

pub const RELIABLE: u32 = 1;
pub const UNSEQUENCED: u32 = 2;
const NO_ALLOCATE: u32 = 4;
pub const UNRELIABLE_FRAGMENT: u32 = 8;
const SENT: u32 = 1 << 8;

/// Packets that no peer needs any more. They are freed when the host is done with what it does: a program's
/// `freeCallback` may call it again.
#[derive(Default)]
pub struct Done {
    packets: Mutex<Vec<Sent>>,
    /// Whether there are any, so that a call that frees nothing takes no lock.
    is_any: AtomicBool,
}

struct Sent(*mut Packet);

// SAFETY: packets belong to their host, which is used by one thread at a time.
unsafe impl Send for Sent {}

impl Done {
    fn push(&self, packet: Sent) {
        self.packets.lock().unwrap_or_else(PoisonError::into_inner).push(packet);
        self.is_any.store(true, Ordering::Relaxed);
    }

    /// True if there is a packet to free.
    #[inline]
    pub fn is_any(&self) -> bool {
        self.is_any.load(Ordering::Relaxed)
    }

    /// Frees all packets of the list.
    pub unsafe fn free(&self) {
        while self.is_any() {
            self.is_any.store(false, Ordering::Relaxed);
            let mut packets = std::mem::take(&mut *self.packets.lock().unwrap_or_else(PoisonError::into_inner));
            for Sent(packet) in packets.drain(..) {
                // SAFETY: nothing refers to the packet, which was counted when it was put here.
                unsafe {
                    (*packet).flags |= SENT;
                    enet_packet_destroy(packet);
                }
            }
            // Its memory is used again, unless a `freeCallback` had more packets put here.
            let mut kept = self.packets.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.is_empty() {
                *kept = packets;
            }
        }
    }
}

/// A reference to a packet of the program, as its `referenceCount` has it.
struct Reference {
    packet: *mut Packet,
    done: Arc<Done>,
}

// SAFETY: as with `Sent`.
unsafe impl Send for Reference {}
// SAFETY: as with `Sent`.
unsafe impl Sync for Reference {}

impl AsRef<[u8]> for Reference {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the packet is not freed while it is referred to; its fields are the program's word.
        unsafe { bytes(self.packet) }
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe {
            (*self.packet).reference_count -= 1;
            if (*self.packet).reference_count == 0 {
                self.done.push(Sent(self.packet));
            }
        }
    }
}

unsafe fn bytes<'a>(packet: *const Packet) -> &'a [u8] {
    // SAFETY: `data` has `data_length` bytes, or is null.
    unsafe {
        let (data, length) = ((*packet).data, (*packet).data_length);
        if data.is_null() { &[] } else { std::slice::from_raw_parts(data, length) }
    }
}

/// Gives `packet` to `send` as a packet of the host; it is referred to for as long as the host needs it. One that is not
/// needed at all stays the caller's.
pub unsafe fn lend<T>(packet: *mut Packet, done: &Arc<Done>, send: impl FnOnce(prony_enet::Packet) -> T) -> T {
    // SAFETY: the caller's packet is one.
    let flags = unsafe { (*packet).flags };
    // SAFETY: as above. One reference is the caller's own while `send` runs, so that nothing frees what fails.
    unsafe { (*packet).reference_count += 2 };
    let payload = Payload::owned_by(Reference { packet, done: Arc::clone(done) });
    let result = send(prony_enet::Packet {
        payload,
        reliable: flags & RELIABLE != 0,
        unsequenced: flags & UNSEQUENCED != 0,
        fragments_unreliable: flags & UNRELIABLE_FRAGMENT != 0,
    });
    // SAFETY: as above.
    unsafe { (*packet).reference_count -= 1 };
    result
}

/// A packet that came, in memory of the program.
pub unsafe fn hand_over(received: &Received) -> *mut Packet {
    let flags = match received.kind {
        Kind::Reliable => RELIABLE,
        Kind::Unreliable => 0,
        Kind::Unsequenced => UNSEQUENCED,
        Kind::UnreliableFragments => UNRELIABLE_FRAGMENT,
    };
    // SAFETY: the payload has that many bytes.
    unsafe { enet_packet_create(received.payload.as_ptr().cast(), received.payload.len(), flags) }
}

exported! {
    fn enet_packet_create(data: *const c_void, length: usize, flags: u32) -> *mut Packet, else null_mut(), {
        let packet = enet_malloc(size_of::<Packet>()).cast::<Packet>();
        if packet.is_null() {
            return null_mut();
        }
        let memory = if flags & NO_ALLOCATE != 0 {
            data.cast_mut().cast::<u8>()
        } else if length == 0 {
            null_mut()
        } else {
            let memory = enet_malloc(length).cast::<u8>();
            if memory.is_null() {
                enet_free(packet.cast());
                return null_mut();
            }
            if !data.is_null() {
                memory.copy_from_nonoverlapping(data.cast(), length);
            }
            memory
        };
        packet.write(Packet {
            reference_count: 0,
            flags,
            data: memory,
            data_length: length,
            free_callback: None,
            user_data: null_mut(),
        });
        packet
    }

    fn enet_packet_destroy(packet: *mut Packet) -> (), else (), {
        if packet.is_null() {
            return;
        }
        if let Some(free_callback) = (*packet).free_callback {
            free_callback(packet);
        }
        if (*packet).flags & NO_ALLOCATE == 0 && !(*packet).data.is_null() {
            enet_free((*packet).data.cast());
        }
        enet_free(packet.cast());
    }

    fn enet_packet_resize(packet: *mut Packet, length: usize) -> c_int, else -1, {
        let old = (*packet).data_length;
        if length <= old || (*packet).flags & NO_ALLOCATE != 0 {
            (*packet).data_length = length;
            return 0;
        }
        let memory = enet_malloc(length).cast::<u8>();
        if memory.is_null() {
            return -1;
        }
        if !(*packet).data.is_null() {
            memory.copy_from_nonoverlapping((*packet).data, old);
            enet_free((*packet).data.cast());
        }
        (*packet).data = memory;
        (*packet).data_length = length;
        0
    }
}
