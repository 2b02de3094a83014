//! System calls that the server makes without libc, past every hook: the kernel reports them where an object has some,
//! and they become calls of libc's `syscall`, which has a hook.
//!
//! The kernel's syscall user dispatch costs each system call some 60 ns, so it is switched on only
//! where it can find something. It ends with the thread, and does not follow `exec`.

#[cfg(target_arch = "x86_64")]
mod elsewhere;

#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
use super::collect;
use super::deferred;
use super::handlers;
use super::notes;
use super::recorder;
use super::report::{self, Text};
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
use super::state::control;
use super::state::{self, errno, set_errno};
use super::thread::{self, PASS_THROUGH, PassThrough};
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
use libc::c_long;
use prony_demo::Op;
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
use std::ffi::CStr;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Start and end of the code from which every ordinary system call comes: that of libc. On i386 libc makes most of its calls through
/// the kernel's page, which lies above, and some itself with signals blocked, where a report would end the process. There the
/// range is all from the one to the other, with the libraries that were mapped before libc.
static LIBC_START: AtomicUsize = AtomicUsize::new(0);
static LIBC_END: AtomicUsize = AtomicUsize::new(0);

/// Remembers where that code is.
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
unsafe extern "C" fn find_libc(info: *mut libc::dl_phdr_info, _size: usize, _: *mut c_void) -> c_int {
    // SAFETY: called by `dl_iterate_phdr` with an object that is mapped.
    unsafe {
        let name = CStr::from_ptr((*info).dlpi_name).to_bytes();
        let is_libc = name.ends_with(b"/libc.so.6");
        let is_page = IS_I386 && name == b"linux-gate.so.1";
        if !is_libc && !is_page {
            return 0;
        }
        for header in std::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum as usize) {
            if header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0 {
                let start = (*info).dlpi_addr as usize + header.p_vaddr as usize;
                if is_libc {
                    LIBC_START.store(start, Ordering::Relaxed);
                }
                LIBC_END.fetch_max(start + header.p_memsz as usize, Ordering::Relaxed);
            }
        }
        c_int::from(is_libc && !IS_I386)
    }
}

/// The handler of SIGSYS is ours.
static CATCHES: AtomicBool = AtomicBool::new(false);

/// True if the kernel reports raw calls to this library, so that handlers of SIGSYS are kept here and not by the kernel.
pub fn catches() -> bool {
    CATCHES.load(Ordering::Relaxed)
}

/// True under Valgrind, where all system calls are Valgrind's to the kernel: those that do not come from libc are trapped where they are found.
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
pub fn are_trapped_by_place() -> bool {
    control().raw_calls.load(Ordering::Relaxed) && collect::is_by_valgrind()
}

/// Makes the kernel report system calls of the calling thread that do not come from libc. Under Valgrind they are trapped by `processor`.
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
pub fn trap() {
    #[cfg(target_arch = "x86_64")]
    elsewhere::find_instruction();
    if collect::is_by_valgrind() {
        return;
    }
    // SAFETY: the handler has the shape that the flags say, and the walk visits objects that are mapped.
    unsafe {
        libc::dl_iterate_phdr(Some(find_libc), std::ptr::null_mut());
        if IS_I386 && (libc::getauxval(libc::AT_SYSINFO_EHDR) as usize) < LIBC_START.load(Ordering::Relaxed) {
            // The kernel's page lies elsewhere: nothing is reported.
            LIBC_START.store(0, Ordering::Relaxed);
        }
        take_over();
        watch_thread();
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "x86")))]
pub fn trap() {}

/// Says in the demo that such calls are recorded, and that a replay answers them.
pub fn follow() {
    // SAFETY: the block is the calling thread's own, which is attached.
    unsafe {
        let thread = thread::this();
        let live = std::mem::replace(&mut (*thread).live, PASS_THROUGH);
        recorder::emit(thread, Op::NoteRawCalls, -1, 0, 0, &[]);
        (*thread).live = live;
    }
}

/// Takes over SIGSYS, by which the kernel reports what this library traps.
pub fn take_over() {
    if CATCHES.swap(true, Ordering::Relaxed) {
        return;
    }
    let _pass_through = PassThrough::enter();
    // SAFETY: the handler has the shape that the flags say; all zero is a valid action.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = reported as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER | libc::SA_RESTART;
        let mut before: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGSYS, &action, &mut before);
        handlers::set_taken_over(libc::SIGSYS, before);
    }
}

/// Has the kernel report raw system calls of the calling thread too, if it does for the first
/// one: neither a new thread nor a forked child inherits that.
pub fn watch_thread() {
    if state::is_over() {
        return;
    }
    const PR_SYS_DISPATCH_ON: usize = 1;
    static REPORT_ALL: u8 = 1;
    let start = LIBC_START.load(Ordering::Relaxed);
    if start != 0 {
        let length = LIBC_END.load(Ordering::Relaxed) - start;
        let _pass_through = PassThrough::enter();
        // SAFETY: the range is that of the code of ordinary calls, and the switch that the kernel reads is
        // static.
        unsafe { libc::prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, start, length, &raw const REPORT_ALL) };
    }
}

/// Has the kernel report raw system calls of the calling thread no more.
pub fn unwatch_thread() {
    if LIBC_START.load(Ordering::Relaxed) != 0 {
        const PR_SYS_DISPATCH_OFF: usize = 0;
        let _pass_through = PassThrough::enter();
        // SAFETY: only numbers.
        unsafe { libc::prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0) };
    }
}

/// Number of the option in `linux/prctl.h`.
const PR_SET_SYSCALL_USER_DISPATCH: c_int = 59;

#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
const IS_I386: bool = cfg!(target_arch = "x86");

/// True in objects whose raw calls are not the server's: the loader maps, the kernel's page reads clocks, and the calls of excluded
/// objects (allocators, the runtime of a sanitizer) are not recorded.
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
fn is_aside(address: *mut c_void) -> bool {
    // SAFETY: any address may be looked up; what is found is the C string of an object that is loaded.
    unsafe {
        let mut found: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(address, &mut found) == 0 || found.dli_fname.is_null() {
            return false;
        }
        let path = CStr::from_ptr(found.dli_fname).to_bytes();
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
        let excluded = control().excluded.read();
        let mut excluded = excluded.split(|&byte| byte == 0).filter(|excluded| !excluded.is_empty());
        path.windows(6).any(|part| part == b"ld-lin" || part == b"-vdso.")
            || excluded.any(|excluded| name.starts_with(excluded))
    }
}

#[cfg(target_arch = "x86_64")]
const ARGUMENTS: [c_int; 6] = [libc::REG_RDI, libc::REG_RSI, libc::REG_RDX, libc::REG_R10, libc::REG_R8, libc::REG_R9];
#[cfg(target_arch = "x86_64")]
const RESULT: c_int = libc::REG_RAX;
#[cfg(target_arch = "x86")]
const ARGUMENTS: [c_int; 6] =
    [libc::REG_EBX, libc::REG_ECX, libc::REG_EDX, libc::REG_ESI, libc::REG_EDI, libc::REG_EBP];
#[cfg(target_arch = "x86")]
const RESULT: c_int = libc::REG_EAX;

/// Called by the kernel for SIGSYS.
unsafe extern "C" fn reported(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: called by the kernel for SIGSYS with details and context of this shape.
    unsafe {
        let before = errno();
        if deferred::is_impatient(info) {
            deferred::hurry(context);
        } else if !is_raw_call(info, context) {
            handlers::pass_on(signal, info, context);
        }
        set_errno(before);
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "x86")))]
unsafe fn is_raw_call(_info: *mut libc::siginfo_t, _context: *mut c_void) -> bool {
    false
}

/// A system call from outside of libc: it is made, or answered, as if libc's `syscall` had been called. False for another
/// signal.
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
unsafe fn is_raw_call(info: *mut libc::siginfo_t, context: *mut c_void) -> bool {
    /// What the kernel says of a call that user dispatch reports; seccomp and processes say otherwise.
    const SYS_USER_DISPATCH: c_int = 2;
    // SAFETY: the caller passes what the kernel gave it.
    unsafe {
        if (*info).si_code != SYS_USER_DISPATCH {
            return false;
        }
        // `siginfo_t` of SIGSYS: behind three numbers the address of the instruction, then the number of the call.
        let details = (3 * size_of::<c_int>()).next_multiple_of(size_of::<usize>());
        let address: *mut c_void = info.byte_add(details).cast::<*mut c_void>().read();
        let number = c_long::from(info.byte_add(details + size_of::<usize>()).cast::<c_int>().read());
        make(number, address, context);
        true
    }
}

/// Makes the system call whose instruction stands at `address`, behind which the server goes on.
///
/// # Safety
/// `context` is what the kernel gave to the handler of a trap there.
#[cfg(target_arch = "x86_64")]
pub unsafe fn make_at(address: usize, context: *mut c_void) {
    // SAFETY: as for this function.
    unsafe {
        let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        let number = registers[libc::REG_RAX as usize];
        if number == libc::SYS_sigaltstack {
            // Not on the stack that it is about.
            return elsewhere::run_first(elsewhere::First::Call, registers);
        }
        collect::of_server(|| make(number, address as *mut c_void, context));
        if number == libc::SYS_rt_sigprocmask {
            // Valgrind gives the thread the mask back that it had when the handler was called, whatever the frame says.
            let mask = (&raw const (*context.cast::<libc::ucontext_t>()).uc_sigmask).cast::<u64>().read();
            elsewhere::run_first(elsewhere::First::SetMask(mask), registers);
        }
    }
}

/// Only 64-bit code has such instructions.
#[cfg(target_arch = "x86")]
pub unsafe fn make_at(_address: usize, _context: *mut c_void) {}

/// Makes a system call, or answers it, as if libc's `syscall` had been called.
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
unsafe fn make(number: c_long, address: *mut c_void, context: *mut c_void) {
    // SAFETY: the caller passes what the kernel gave it; the call that the server made is made with the arguments that it
    // gave.
    unsafe {
        let context: *mut libc::ucontext_t = context.cast();
        let registers = &mut (*context).uc_mcontext.gregs;
        let arguments = ARGUMENTS.map(|register| registers[register as usize] as usize);
        #[cfg(target_arch = "x86_64")]
        let mut moved = elsewhere::CloneArguments::default();
        #[cfg(target_arch = "x86_64")]
        let arguments = elsewhere::begin_at(number, arguments, registers, &mut moved);
        #[cfg(target_arch = "x86_64")]
        if number == libc::SYS_rt_sigreturn {
            elsewhere::return_from_handler(registers[libc::REG_RSP as usize] as usize);
        }
        let [a, b, c, d, e, f] = arguments;
        let made = || libc::syscall(number, a, b, c, d, e, f);
        let result = if is_aside(address) {
            let _pass_through = PassThrough::enter();
            made()
        } else {
            let thread = thread::this();
            let outer = std::mem::replace(&mut (*thread).raw_call, address);
            let result = made();
            (*thread).raw_call = outer;
            result
        };
        registers[RESULT as usize] = if result == -1 { -libc::greg_t::from(errno()) } else { result };
        // What the call has changed is not to be undone when the handler returns.
        let _pass_through = PassThrough::enter();
        match number {
            libc::SYS_rt_sigprocmask => {
                libc::syscall(number, libc::SIG_BLOCK, 0, &raw mut (*context).uc_sigmask, size_of::<u64>());
            }
            libc::SYS_sigaltstack => {
                libc::sigaltstack(std::ptr::null(), &raw mut (*context).uc_stack);
            }
            _ => {}
        }
    }
}

/// Says once for each number that the system call under way passed by unrecorded.
pub fn note(number: c_int) {
    static SAID: [AtomicU64; 8] = [const { AtomicU64::new(0) }; 8];
    let bit = 1u64 << (number & 63);
    let Some(said) = SAID.get((number as u32 / 64) as usize) else { return };
    if said.fetch_or(bit, Ordering::Relaxed) & bit != 0 {
        return;
    }
    let mut text = [0; 240];
    let mut line = Text { to: &mut text, used: 0 };
    line.put(b"unrecorded system call ");
    line.decimal(number as u64);
    // SAFETY: the block is the calling thread's own.
    let address = unsafe { (*thread::this()).raw_call };
    if address.is_null() {
        let _pass_through = PassThrough::enter();
        report::put_caller(&mut line);
    } else {
        line.put(b" by ");
        if !report::put_place(&mut line, address) {
            line.put(b"0x");
            line.hex(address as usize);
        }
    }
    let used = line.used;
    notes::uncovered_call(number as u32, &[&text[..used]]);
}
