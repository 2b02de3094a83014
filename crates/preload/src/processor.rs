//! Instructions of the server that read from the processor: time stamps (`RDTSC`, `RDTSCP`), randomness (`RDRAND`,
//! `RDSEED`), and the number of the processor (`RDPID`, `RDTSCP`, and the leaves of `CPUID` that number processors).
//!
//! The process outside finds the instructions in the objects of this one. The first byte of each is replaced by a
//! breakpoint, and the handler of SIGTRAP does what the instruction would have done, or answers from the tape. It is an
//! `int3`, not an invalid instruction, which hypervisors have a look at: that is only for a debugger.
//!
//! A signal takes two microseconds on some machines. Where a time stamp is read and what stands behind may move, a jump
//! takes the place of both (`detour`).
//!
//! Under Valgrind, which makes all system calls itself so that the kernel cannot report those that do not come from libc, they are
//! trapped in the same way.
//!
//! For plugins, the function that the loader calls for debuggers, when all objects are mapped and none has run yet,
//! gets a breakpoint as well, with the first call of `dlopen`.

#[cfg(target_arch = "x86_64")]
mod detour;
#[cfg(target_arch = "x86")]
#[path = "processor/no_detour.rs"]
mod detour;
mod registers;

use super::collect;
use super::player;
use super::recorder::{self, Piece};
use super::report::{self, Text};
use super::state::{control, errno, mode, set_errno};
use super::thread::{self, PASS_THROUGH, PassThrough, RECORDING, REPLAYING, Thread};
use super::trap::Trap;
use super::{handlers, notes, raw_calls, search};
use libc::{c_int, c_void, greg_t};
use prony_channel::{SITES, ScanState, Site};
use prony_demo::Op;
use std::arch::asm;
#[cfg(target_arch = "x86")]
use std::arch::x86::{__cpuid_count, __rdtscp, _rdtsc};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__cpuid_count, __rdtscp, _rdtsc};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What an instruction queries of the processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Query {
    Rdtsc,
    Rdtscp,
    Rdpid,
    Rdrand,
    Rdseed,
    Cpuid,
    SystemCall,
}

/// Instruction that queries the processor, and its length.
#[derive(Debug, Clone, Copy)]
struct Instruction {
    address: usize,
    query: Query,
    /// Number of the register that gets the answer, as instructions have it.
    register: u8,
    /// Bytes of that register that are written.
    width: u8,
    length: u8,
    /// Bytes that a jump may take the place of, 0 for a trap.
    room: u8,
    /// Its first byte, which a breakpoint takes the place of.
    first: u8,
}

impl Instruction {
    /// The instruction whose bytes are these.
    fn decode(address: usize, bytes: &[u8; 5]) -> Option<Instruction> {
        let (mut at, mut width, mut repeated, mut rex) = (0, 4, false, 0);
        loop {
            match bytes[at] {
                0x66 => width = 2,
                0xf3 => repeated = true,
                byte @ 0x40..=0x4f if cfg!(target_arch = "x86_64") => rex = byte,
                0x0f => break,
                _ => return None,
            }
            at += 1;
            if at > 2 {
                return None;
            }
        }
        // `REX.W`
        width = if rex & 8 != 0 { 8 } else { width };
        let operand = bytes[at + 2];
        let (query, length) = match (bytes[at + 1], operand) {
            (0x05, _) if at == 0 => (Query::SystemCall, 2),
            (0x31, _) => (Query::Rdtsc, 2),
            (0xa2, _) => (Query::Cpuid, 2),
            (0x01, 0xf9) => (Query::Rdtscp, 3),
            (0xc7, 0xf0..=0xf7) if !repeated => (Query::Rdrand, 3),
            (0xc7, 0xf8..=0xff) if repeated => (Query::Rdpid, 3),
            (0xc7, 0xf8..=0xff) => (Query::Rdseed, 3),
            _ => return None,
        };
        // `REX.B`
        let register = operand & 7 | (rex & 1) << 3;
        let width = if query == Query::Rdpid { 8 } else { width };
        Some(Instruction { address, query, register, width, length: at as u8 + length, room: 0, first: bytes[0] })
    }
}

/// The instructions that are followed, in order of their addresses. One list is read while the other is made.
struct Lists {
    lists: [UnsafeCell<[Option<Instruction>; SITES]>; 2],
    counts: [AtomicUsize; 2],
    current: AtomicUsize,
}

// SAFETY: a list is written by the one thread that has claimed the search, and read once it is the current one.
unsafe impl Sync for Lists {}

static LISTS: Lists = Lists {
    lists: [const { UnsafeCell::new([None; SITES]) }; 2],
    counts: [AtomicUsize::new(0), AtomicUsize::new(0)],
    current: AtomicUsize::new(0),
};

/// The handler of the trap's signal is ours.
static CATCHES: AtomicBool = AtomicBool::new(false);
/// Where the loader reports that objects have come or gone, 0 before the first `dlopen`.
static LOADER: AtomicUsize = AtomicUsize::new(0);
/// The objects at the last search, as a sum over the loader's list.
static OBJECTS: AtomicUsize = AtomicUsize::new(0);

fn current<'a>() -> &'a [Option<Instruction>] {
    // SAFETY: the list is complete before it becomes the current one, and the next one but one is made in it only when
    // an object was loaded since: no reader takes that long.
    unsafe {
        let which = LISTS.current.load(Ordering::Acquire);
        &(&*LISTS.lists[which].get())[..LISTS.counts[which].load(Ordering::Acquire)]
    }
}

fn find(address: usize) -> Option<Instruction> {
    let list = current();
    let at = list.partition_point(|it| it.is_some_and(|it| it.address < address));
    list.get(at).copied().flatten().filter(|it| it.address == address)
}

/// True if handlers of this signal are kept by this library and not by the kernel.
pub fn catches(signal: c_int) -> bool {
    CATCHES.load(Ordering::Relaxed) && signal == Trap::of_process().signal
}

/// The objects were searched for the first time: says in the demo that what they ask is recorded.
pub fn watched() {
    // SAFETY: the block is the calling thread's own, which is attached.
    unsafe {
        let thread = thread::this();
        if mode() == RECORDING && control().processor.load(Ordering::Relaxed) {
            let live = std::mem::replace(&mut (*thread).live, PASS_THROUGH);
            recorder::emit(thread, Op::NoteProcessor, -1, current().len() as u32, 0, &[]);
            (*thread).live = live;
        }
    }
}

/// A plugin is about to be loaded.
pub fn watch_loading() {
    // SAFETY: the loader has one such structure, for good; where it reports changes is code of its own that does
    // nothing.
    unsafe {
        if !control().processor.load(Ordering::Relaxed) || LOADER.load(Ordering::Relaxed) != 0 {
            return;
        }
        let debug: *const Debug = libc::dlsym(libc::RTLD_DEFAULT, c"_r_debug".as_ptr()).cast();
        if debug.is_null() || (*debug).notifier == 0 || LOADER.swap((*debug).notifier, Ordering::Relaxed) != 0 {
            return;
        }
        OBJECTS.store(objects(debug), Ordering::Relaxed);
        catch();
        if !write((*debug).notifier, Trap::of_process().bytes()) {
            LOADER.store(0, Ordering::Relaxed);
            notes::uncovered(&[b"processor instructions of plugins are not recorded: the loader cannot be watched"]);
        }
    }
}

/// Structure that the loader keeps for debuggers (`struct r_debug` of `<link.h>`).
#[repr(C)]
struct Debug {
    version: c_int,
    first: *const Object,
    notifier: usize,
    state: c_int,
}

/// An object of the loader's list (`struct link_map`).
#[repr(C)]
struct Object {
    base: usize,
    name: *const libc::c_char,
    dynamic: usize,
    next: *const Object,
}

/// [`Debug::state`] when no object is on its way in or out.
const CONSISTENT: c_int = 0;

unsafe fn objects(debug: *const Debug) -> usize {
    // SAFETY: the caller passes the structure of the loader, whose list is consistent or is being extended at its end.
    unsafe {
        let mut sum = 0usize;
        let mut object = (*debug).first;
        while !object.is_null() {
            sum = sum.wrapping_mul(31).wrapping_add((*object).dynamic);
            object = (*object).next;
        }
        sum
    }
}

/// The loader reports that the list has changed.
fn loaded() {
    // SAFETY: the loader has one such structure, for good.
    unsafe {
        let _pass_through = PassThrough::enter();
        let debug: *const Debug = libc::dlsym(libc::RTLD_DEFAULT, c"_r_debug".as_ptr()).cast();
        if mode() == PASS_THROUGH || debug.is_null() || (*debug).state != CONSISTENT {
            return;
        }
        let sum = objects(debug);
        if OBJECTS.swap(sum, Ordering::Relaxed) != sum {
            search::ask(ScanState::Loaded, follow);
        }
    }
}

/// Puts breakpoints at the sites that were found. The list is there before the first of them is.
pub fn follow() {
    // SAFETY: the process outside found the sites in code that is mapped here; the one thread that has claimed the
    // search makes the list that is not the current one.
    unsafe {
        let control = control();
        if !control.processor.load(Ordering::Relaxed) {
            return;
        }
        let next = 1 - LISTS.current.load(Ordering::Relaxed);
        let list = &mut *LISTS.lists[next].get();
        let mut count = 0;
        let scan = &control.scan;
        let mut doubtful: Option<(usize, usize, u64)> = None;
        for word in &scan.sites[..(scan.site_count.load(Ordering::Relaxed) as usize).min(SITES)] {
            let site = Site::from_word(word.load(Ordering::Relaxed));
            let address = site.address as usize;
            let Some(room) = site.room else {
                let object = object_of(address);
                if doubtful.is_some_and(|(of, ..)| of != object) {
                    say_doubtful(doubtful);
                    doubtful = None;
                }
                let (_, first, count) = doubtful.unwrap_or((object, address, 0));
                doubtful = Some((object, first, count + 1));
                continue;
            };
            let known = find(address).filter(|_| is_changed(address));
            // At most five bytes are looked at; behind the last of a page stands what the loader fills it up with.
            let mut bytes = [0; 5];
            let length = bytes.len().min(4096 - address % 4096);
            (address as *const u8).copy_to_nonoverlapping(bytes.as_mut_ptr(), length);
            let found = known.or_else(|| Instruction::decode(address, &bytes));
            // Without Valgrind the kernel reports them.
            let is_followed =
                |found: &Instruction| found.query != Query::SystemCall || raw_calls::are_trapped_by_place();
            if let Some(mut found) = found.filter(is_followed) {
                found.room = if found.query == Query::Rdtsc { room } else { 0 };
                list[count] = Some(found);
                count += 1;
            }
        }
        say_doubtful(doubtful);
        list[..count].sort_unstable_by_key(|it| it.map_or(0, |it| it.address));
        LISTS.counts[next].store(count, Ordering::Release);
        LISTS.current.store(next, Ordering::Release);
        if count > 0 {
            catch();
        }
        for found in list[..count].iter().flatten() {
            if !is_changed(found.address) && !leave(found) {
                say(
                    b"unrecorded read of time or randomness from the processor, in code that cannot be changed: ",
                    found.address,
                    false,
                );
            }
        }
    }
}

/// What stands there is ours. No instruction that is followed begins with either.
unsafe fn is_changed(address: usize) -> bool {
    // SAFETY: the caller passes a site in code that is mapped.
    unsafe { Trap::of_process().stands_at(address) || (address as *const u8).read() == detour::jump(0, 0)[0] }
}

/// Makes the server's code leave for ours: by a jump where there is room for one.
unsafe fn leave(from: &Instruction) -> bool {
    // SAFETY: the caller passes an instruction that was found in code that is mapped, with the room that it was found
    // to have.
    unsafe {
        if from.room > 0
            && let Some(detour) = detour::make(from.address, usize::from(from.room))
        {
            return write(from.address, &detour::jump(from.address, detour));
        }
        write(from.address, Trap::of_process().bytes())
    }
}

/// Gives the instructions back whose first byte breakpoints have taken the place of: what they ask is not recorded any more. Jumps
/// stay, as more than a byte cannot be changed while threads run it.
pub fn give_back() {
    for found in current().iter().flatten() {
        // SAFETY: the list has instructions of code that is mapped; one byte is changed.
        unsafe {
            if Trap::of_process().stands_at(found.address) {
                write(found.address, &[found.first]);
            }
        }
    }
}

/// Changes code that no thread runs yet, or one byte of it.
unsafe fn write(address: usize, bytes: &[u8]) -> bool {
    let page = address & !4095;
    let length = address + bytes.len() - page;
    let _pass_through = PassThrough::enter();
    // SAFETY: the caller passes code that is mapped; it stays readable and executable.
    if unsafe { libc::mprotect(page as *mut c_void, length, libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC) } != 0
    {
        return false;
    }
    for (at, &byte) in bytes.iter().enumerate() {
        // SAFETY: the caller passes code that no thread runs yet, or one byte of it; it may be written to now.
        unsafe { (address as *mut u8).add(at).write_volatile(byte) };
    }
    collect::code_has_changed(address, bytes.len());
    // SAFETY: as above.
    unsafe { libc::mprotect(page as *mut c_void, length, libc::PROT_READ | libc::PROT_EXEC) == 0 }
}

/// Answers a time stamp that is read through a detour.
#[cfg(target_arch = "x86_64")]
pub fn time_stamp_at(site: usize) -> u64 {
    // SAFETY: the block is the calling thread's own.
    unsafe {
        let thread = thread::this();
        let own = (*thread).attached && (*thread).live != PASS_THROUGH;
        let live = std::mem::replace(&mut (*thread).live, PASS_THROUGH);
        let value = time_stamp(thread, own.then_some(live));
        (*thread).live = live;
        if own && live == RECORDING && !is_said(site) {
            let before = errno();
            if let Some(found) = find(site) {
                say_first(&found);
            }
            set_errno(before);
        }
        value
    }
}

/// Names the places of an object that may be reads from the processor: its base, the first of them, and how many.
fn say_doubtful(places: Option<(usize, usize, u64)>) {
    let Some((_, first, count)) = places else { return };
    let mut text = [0; 300];
    let mut line = Text { to: &mut text, used: 0 };
    line.put(b"possible unrecorded read of time or randomness from the processor: ");
    put_place(&mut line, first);
    if count > 1 {
        line.put(b" and ");
        line.decimal(count - 1);
        line.put(b" more in it");
    }
    let used = line.used;
    notes::uncovered(&[&text[..used]]);
}

/// Base of the object that holds this address, 0 for none.
fn object_of(address: usize) -> usize {
    let _pass_through = PassThrough::enter();
    // SAFETY: any address may be looked up; all zero is a valid answer.
    unsafe {
        let mut object: libc::Dl_info = std::mem::zeroed();
        libc::dladdr(address as *const c_void, &mut object);
        object.dli_fbase as usize
    }
}

fn put_place(line: &mut Text, address: usize) {
    let _pass_through = PassThrough::enter();
    if !report::put_place(line, address as *mut c_void) {
        line.put(b"0x");
        line.hex(address);
    }
}

/// Names a place in an object.
fn say(what: &'static [u8], address: usize, covered: bool) {
    let mut text = [0; 300];
    let mut line = Text { to: &mut text, used: 0 };
    put_place(&mut line, address);
    let used = line.used;
    match covered {
        true => notes::covered(&[&text[..used], what]),
        false => notes::uncovered(&[what, &text[..used]]),
    }
}

/// Takes the trap's signal over; a handler that the server has for it is called for every trap that is not ours.
fn catch() {
    // SAFETY: the handler has the shape that the flags say; sets and actions live across the calls.
    unsafe {
        if CATCHES.swap(true, Ordering::Relaxed) {
            return;
        }
        let _pass_through = PassThrough::enter();
        let signal = Trap::of_process().signal;
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = trapped as *const () as usize;
        // Not on the stack of the server if it has another one for handlers: that of a coroutine may be small.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER | libc::SA_ONSTACK;
        let mut before: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, &action, &mut before);
        handlers::set_taken_over(signal, before);
        let mut own: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut own);
        libc::sigaddset(&mut own, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &own, std::ptr::null_mut());
    }
}

/// Called by the kernel, at the trap or behind it.
unsafe extern "C" fn trapped(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: called by the kernel for the trap's signal with details and context of this shape. Where the function that was left
    // for returns to stands on top of the stack.
    collect::in_handler(|| unsafe {
        let before = errno();
        let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        let address = Trap::of_process().raised_at(info, registers[registers::IP] as usize);
        if let Some(found) = address.and_then(find) {
            // A system call may begin a thread, which goes on there too.
            registers[registers::IP] = (found.address + usize::from(found.length)) as greg_t;
            match found.query {
                Query::SystemCall => raw_calls::make_at(found.address, context),
                _ => answer(&found, registers),
            }
        } else if address.is_some_and(|address| address == LOADER.load(Ordering::Relaxed)) {
            loaded();
            // The function does nothing but return.
            let stack = registers[registers::SP];
            registers[registers::IP] = (stack as *const greg_t).read();
            registers[registers::SP] = stack + size_of::<greg_t>() as greg_t;
        } else {
            collect::of_server(|| handlers::pass_on(signal, info, context));
        }
        set_errno(before);
    });
}

type Registers = registers::All;

/// Does what the instruction would have done.
fn answer(found: &Instruction, registers: &mut Registers) {
    // SAFETY: the block is the calling thread's own.
    unsafe {
        let thread = thread::this();
        // Not the server's own: the library is inside one of its calls.
        let own = (*thread).attached && (*thread).live != PASS_THROUGH;
        let live = std::mem::replace(&mut (*thread).live, PASS_THROUGH);
        let mut set = |register: usize, value: u64| registers[register] = value as greg_t;
        match found.query {
            Query::Rdtsc => {
                let value = time_stamp(thread, own.then_some(live));
                set(registers::AX, value & 0xffff_ffff);
                set(registers::DX, value >> 32);
            }
            Query::Rdtscp => {
                let value = time_stamp(thread, own.then_some(live));
                set(registers::AX, value & 0xffff_ffff);
                set(registers::DX, value >> 32);
                set(registers::CX, clock(thread, own.then_some(live), Op::Rdpid, 0, which_processor) & 0xffff_ffff);
            }
            Query::Rdpid => {
                let value = clock(thread, own.then_some(live), Op::Rdpid, 0, which_processor);
                set(registers::NUMBERED[usize::from(found.register)], value);
            }
            Query::Rdrand | Query::Rdseed => {
                let (value, carry) = random(thread, own.then_some(live), found);
                give(found, registers, value, carry);
            }
            // Made where it is trapped.
            Query::SystemCall => {}
            Query::Cpuid => {
                let [a, c] = [registers::AX, registers::CX].map(|register| registers[register] as u32);
                let answer = identified(thread, own.then_some(live), a, c);
                for (register, value) in
                    [registers::AX, registers::BX, registers::CX, registers::DX].into_iter().zip(answer)
                {
                    registers[register] = u64::from(value) as greg_t;
                }
            }
        }
        (*thread).live = live;
        if own && live == RECORDING {
            say_first(found);
        }
    }
}

/// Places that were spoken of. Two that share an entry are looked at again and again, which is only slow.
static SPOKEN_OF: [AtomicUsize; 1024] = [const { AtomicUsize::new(0) }; 1024];

fn spoken_of(site: usize) -> &'static AtomicUsize {
    &SPOKEN_OF[(site ^ site >> 10) % SPOKEN_OF.len()]
}

fn is_said(site: usize) -> bool {
    spoken_of(site).load(Ordering::Relaxed) == site
}

/// Says once for each kind of instruction and object that it is recorded. `CPUID` is in too many libraries.
fn say_first(found: &Instruction) {
    static SAID: [AtomicUsize; 64] = [const { AtomicUsize::new(0) }; 64];
    if found.query == Query::Cpuid || is_said(found.address) {
        return;
    }
    spoken_of(found.address).store(found.address, Ordering::Relaxed);
    // Objects lie on pages, so there is room for the kind in their addresses.
    let mark = match object_of(found.address) {
        0 => found.address & !4095,
        object => object,
    } + 1
        + found.query as usize;
    for place in &SAID {
        match place.compare_exchange(0, mark, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => {
                let what: &[u8] = match found.query {
                    Query::Rdtsc | Query::Rdtscp => b" reads the time from the processor (rdtsc): recorded",
                    Query::Rdpid | Query::Cpuid => b" reads the CPU number from the processor (rdpid): recorded",
                    Query::Rdrand => b" reads randomness from the processor (rdrand): recorded",
                    Query::SystemCall => b" makes system calls by itself: recorded",
                    Query::Rdseed => b" reads randomness from the processor (rdseed): recorded",
                };
                say(what, found.address, true);
                return;
            }
            Err(now) if now == mark => return,
            Err(_) => {}
        }
    }
}

/// A value that behaves like a clock: with no record of it, the last one is given again. `live`: `None` if the server
/// does not ask.
unsafe fn clock(thread: *mut Thread, live: Option<u8>, op: Op, which: u32, real: impl FnOnce() -> u64) -> u64 {
    // SAFETY: as for this function: the block is the calling thread's own.
    unsafe {
        match live {
            Some(RECORDING) => {
                let value = real();
                recorder::emit_clock(thread, op, which, value as i64);
                value
            }
            Some(REPLAYING) => player::clock(thread, op, which) as u64,
            _ => real(),
        }
    }
}

unsafe fn time_stamp(thread: *mut Thread, live: Option<u8>) -> u64 {
    // SAFETY: as for this function; the instruction exists on every processor that runs x86-64.
    unsafe { clock(thread, live, Op::Rdtsc, 0, || _rdtsc()) }
}

/// What the kernel has the processor say of itself; `RDPID` and `RDTSCP` both give it.
fn which_processor() -> u64 {
    // SAFETY: the server, which runs on this processor, has the instruction too.
    unsafe {
        let mut number = 0;
        __rdtscp(&mut number);
        u64::from(number)
    }
}

/// A random number, and whether the processor had one.
unsafe fn random(thread: *mut Thread, live: Option<u8>, found: &Instruction) -> (u64, bool) {
    // SAFETY: the block is the calling thread's own; the server, which runs on this processor, has just tried to
    // execute the same instruction.
    unsafe {
        let op = if found.query == Query::Rdrand { Op::Rdrand } else { Op::Rdseed };
        if live == Some(REPLAYING) {
            let answer = player::take(thread, op, -1);
            let value = answer.read_value::<u64>().unwrap_or(0);
            let carry = answer.code() != 0;
            player::done(thread, answer);
            return (value, carry);
        }
        let (value, carry): (usize, u8);
        match found.query {
            Query::Rdrand => asm!("rdrand {}", "setc {}", out(reg) value, out(reg_byte) carry, options(nomem, nostack)),
            _ => asm!("rdseed {}", "setc {}", out(reg) value, out(reg_byte) carry, options(nomem, nostack)),
        }
        let mut value = value as u64;
        if found.width < 8 {
            value &= (1 << (8 * found.width)) - 1;
        }
        if live == Some(RECORDING) {
            recorder::emit(thread, op, -1, u32::from(found.width), i64::from(carry), &[Piece::value(&value)]);
        }
        (value, carry != 0)
    }
}

/// Puts a random number into its register, and what `RDRAND` does to flags.
fn give(found: &Instruction, registers: &mut Registers, value: u64, carry: bool) {
    let place = &mut registers[registers::NUMBERED[usize::from(found.register)]];
    *place = match found.width {
        2 => *place & !0xffff | value as greg_t & 0xffff,
        // Writing half of a register clears the other one.
        4 => (value & 0xffff_ffff) as greg_t,
        _ => value as greg_t,
    };
    const CARRY: greg_t = 1;
    // Carry, parity, adjust, zero, sign, overflow.
    let flags = &mut registers[registers::FLAGS];
    *flags = *flags & !0x8d5 | if carry { CARRY } else { 0 };
}

/// What `CPUID` answers: all of it comes from this processor but its number, which depends on where the thread runs
/// (Intel SDM volume 2, CPUID; AMD APM volume 3, E.3 and E.4).
unsafe fn identified(thread: *mut Thread, live: Option<u8>, leaf: u32, sub_leaf: u32) -> [u32; 4] {
    let real = __cpuid_count(leaf, sub_leaf);
    let mut answer = [real.eax, real.ebx, real.ecx, real.edx];
    // SAFETY: as for this function.
    let number = |value: u32| unsafe { clock(thread, live, Op::Cpuid, leaf, || u64::from(value)) as u32 };
    match leaf {
        1 => answer[1] = answer[1] & 0x00ff_ffff | number(real.ebx >> 24) << 24,
        0x0b | 0x1f | 0x8000_0026 => answer[3] = number(real.edx),
        0x8000_001e => {
            answer[0] = number(real.eax);
            answer[1] = answer[1] & !0xff | number(real.ebx & 0xff);
            answer[2] = answer[2] & !0xff | number(real.ecx & 0xff);
        }
        _ => {}
    }
    answer
}
