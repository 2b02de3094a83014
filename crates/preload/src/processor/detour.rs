//! Jumps out of the server's code and back, where a time stamp is read and what stands behind may move: a signal for
//! each costs twenty times as much.
//!
//! ```text
//! the server's code                 an area within reach of a jump
//!   rdtsc; shl rdx, 32     →          stub, site                        two words
//!   jmp detour; (left over)           lea rsp, [rsp - 128]              the red zone stays
//!                                     call [stub]                       keeps all but rax and rdx
//!                                     lea rsp, [rsp + 128]
//!                                     shl rdx, 32                       what made room
//!                                     jmp back
//! ```

use crate::thread::PassThrough;
use libc::c_void;
use prony_channel::MOST_ROOM;
use std::arch::naked_asm;
use std::arch::x86_64::{__cpuid, __cpuid_count};
use std::cell::UnsafeCell;

const AREA_BYTES: usize = 1 << 16;
const AREAS: usize = 16;
/// A jump reaches 2 GiB; what is nearer than this surely is within reach from the whole area.
const REACH: usize = (2 << 30) - (1 << 20);
const STEP: usize = 1 << 20;
/// Bytes of a detour, all of what made room included.
const DETOUR_BYTES: usize = 96;

/// Memory for detours: where it begins, and how much of it is taken.
struct Areas(UnsafeCell<[(usize, usize); AREAS]>);

// SAFETY: used by the one thread that has claimed the search.
unsafe impl Sync for Areas {}

static AREA: Areas = Areas(UnsafeCell::new([(0, 0); AREAS]));

/// The registers of vectors can be kept: their layout fits the room that [`stub`] has.
fn is_possible() -> bool {
    const OSXSAVE: u32 = 1 << 27;
    // What a part takes, and where (Intel SDM volume 1, 13.5); nothing of one that is not there.
    let fits = |part| {
        let leaf = __cpuid_count(0xd, part);
        (leaf.eax + leaf.ebx) as usize <= SAVED_BYTES
    };
    __cpuid(1).ecx & OSXSAVE != 0 && [2, 5, 6, 7].into_iter().all(fits)
}

/// Makes a detour for the time stamp that is read at `site`, of which `room` bytes may give way. Returns where it
/// begins; `None` if there is no memory within reach.
pub unsafe fn make(site: usize, room: usize) -> Option<usize> {
    // SAFETY: the caller passes a site whose code is mapped for `room` bytes; what is written lies in the detour that
    // was taken, which has room for all of it.
    unsafe {
        if !is_possible() || !(JUMP..=MOST_ROOM).contains(&room) {
            return None;
        }
        let _pass_through = PassThrough::enter();
        let place = take(site)?;
        let mut code = Code { at: place as *mut u8 };
        code.put(&(stub as *const () as usize).to_le_bytes());
        code.put(&site.to_le_bytes());
        let start = code.at as usize;
        code.put(&[0x48, 0x8d, 0x64, 0x24, 0x80]); // lea rsp, [rsp - 128]
        code.put(&[0xff, 0x15]); // call [rip + …]
        code.put(&(place as i32).wrapping_sub(code.at as i32 + 4).to_le_bytes());
        code.put(&[0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0]); // lea rsp, [rsp + 128]
        let moved = std::slice::from_raw_parts((site + RDTSC) as *const u8, room - RDTSC);
        code.put(moved);
        let back = jump(code.at as usize, site + room);
        code.put(&back);
        protect(place, libc::PROT_READ | libc::PROT_EXEC).then_some(start)
    }
}

/// Length of `RDTSC`, in bytes.
const RDTSC: usize = 2;
/// Length in bytes of a relative jump instruction.
pub const JUMP: usize = 5;

/// The jump from one place to another within reach.
pub fn jump(from: usize, to: usize) -> [u8; JUMP] {
    let [a, b, c, d] = (to.wrapping_sub(from + JUMP) as i32).to_le_bytes();
    [0xe9, a, b, c, d]
}

struct Code {
    at: *mut u8,
}

impl Code {
    unsafe fn put(&mut self, bytes: &[u8]) {
        // SAFETY: the caller has room for the bytes.
        unsafe {
            bytes.as_ptr().copy_to_nonoverlapping(self.at, bytes.len());
            self.at = self.at.add(bytes.len());
        }
    }
}

unsafe fn protect(place: usize, protection: i32) -> bool {
    // SAFETY: the caller passes a place in an area of this library.
    unsafe { libc::mprotect((place & !4095) as *mut c_void, 8192.min(AREA_BYTES), protection) == 0 }
}

/// Memory for one detour, to be written to.
fn take(site: usize) -> Option<usize> {
    // SAFETY: the one thread that has claimed the search uses the list.
    for (start, used) in unsafe { &mut *AREA.0.get() } {
        if *start == 0 {
            *start = area_near(site)?;
        }
        if start.abs_diff(site) < REACH && *used + DETOUR_BYTES <= AREA_BYTES - 4096 {
            let place = *start + *used;
            // Others may be on their way through the same page.
            // SAFETY: the place lies in an area of this library.
            if !unsafe { protect(place, libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC) } {
                return None;
            }
            *used += DETOUR_BYTES;
            return Some(place);
        }
    }
    None
}

/// Maps an area below the site: above it heaps grow.
fn area_near(site: usize) -> Option<usize> {
    let below = (STEP..REACH).step_by(STEP).map_while(|distance| (site & !(STEP - 1)).checked_sub(distance));
    for place in below.take_while(|&place| place >= STEP) {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        // SAFETY: nothing else is mapped at the place, or the call fails.
        let found = unsafe { libc::mmap(place as *mut c_void, AREA_BYTES, protection, flags, -1, 0) };
        if found as usize == place {
            return Some(place);
        }
        if found != libc::MAP_FAILED {
            // An old kernel takes the place for a wish.
            // SAFETY: it was just mapped and is not used.
            unsafe { libc::munmap(found, AREA_BYTES) };
        }
    }
    None
}

/// Room for what of the processor's state functions may change: vectors up to 512 bits.
const SAVED_BYTES: usize = 2688;

/// Reads the time stamp into `rax` and `rdx`, as the instruction does, and keeps every other register.
#[unsafe(naked)]
unsafe extern "C" fn stub() {
    naked_asm!(
        "pushfq",
        "push rbp",
        "mov rbp, rsp",
        "push rbx",
        "push rcx",
        "push rsi",
        "push rdi",
        "push r8",
        "push r9",
        "push r10",
        "push r11",
        "cld",
        "and rsp, -64",
        "sub rsp, {saved}",
        // The head of what is saved must be zero where the processor does not write it.
        "xor eax, eax",
        "mov [rsp + 512], rax",
        "mov [rsp + 520], rax",
        "mov [rsp + 528], rax",
        "mov [rsp + 536], rax",
        "mov [rsp + 544], rax",
        "mov [rsp + 552], rax",
        "mov [rsp + 560], rax",
        "mov [rsp + 568], rax",
        // x87, SSE, AVX, and the three parts of AVX-512.
        "mov eax, 0xe7",
        "xor edx, edx",
        "xsave64 [rsp]",
        // Where the call returns to: the site stands a fixed way before it.
        "mov rdi, [rbp + 16]",
        "mov rdi, [rdi - {to_site}]",
        "call {time_stamp}",
        "mov rbx, rax",
        "mov eax, 0xe7",
        "xor edx, edx",
        "xrstor64 [rsp]",
        "mov eax, ebx",
        "mov rdx, rbx",
        "shr rdx, 32",
        "lea rsp, [rbp - 64]",
        "pop r11",
        "pop r10",
        "pop r9",
        "pop r8",
        "pop rdi",
        "pop rsi",
        "pop rcx",
        "pop rbx",
        "pop rbp",
        "popfq",
        "ret",
        saved = const SAVED_BYTES,
        // The word of the site, then the two instructions up to the return address.
        to_site = const 8 + 5 + 6,
        time_stamp = sym time_stamp_at,
    )
}

extern "C" fn time_stamp_at(site: usize) -> u64 {
    super::time_stamp_at(site)
}
