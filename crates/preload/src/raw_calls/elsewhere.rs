//! System calls that do not return to where they were made: the kernel goes on with a stack that it is given.

use super::super::thread::{self, Thread};
use libc::{c_int, c_long, greg_t};
use std::arch::{asm, global_asm};
use std::ffi::c_void;
use std::mem::offset_of;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A system call instruction of libc, from where the kernel takes calls without a report.
static INSTRUCTION: AtomicUsize = AtomicUsize::new(0);

/// Looks for that instruction.
pub fn find_instruction() {
    /// No function for system calls is longer.
    const MOST: usize = 64;
    const SYSCALL: [u8; 2] = [0x0f, 0x05];
    // SAFETY: libc has this function, and other code behind it.
    unsafe {
        let function: *const u8 = libc::dlsym(libc::RTLD_NEXT, c"syscall".as_ptr()).cast();
        if function.is_null() {
            return;
        }
        let code = std::slice::from_raw_parts(function, MOST);
        if let Some(at) = code.windows(SYSCALL.len()).position(|pair| pair == SYSCALL) {
            INSTRUCTION.store(function as usize + at, Ordering::Relaxed);
        }
    }
}

/// Returns from a handler of the server's that returns by itself, at this stack pointer: what is under way here is
/// forgotten. Comes back only where it cannot.
pub unsafe fn return_from_handler(stack: usize) {
    let instruction = INSTRUCTION.load(Ordering::Relaxed);
    if instruction == 0 {
        return;
    }
    // SAFETY: the caller passes the stack pointer with which the server makes this call.
    unsafe {
        asm!(
            "mov rsp, {stack}",
            "jmp {instruction}",
            stack = in(reg) stack,
            instruction = in(reg) instruction,
            in("rax") libc::SYS_rt_sigreturn,
            options(noreturn),
        );
    }
}

/// What the server runs when a handler has returned, before it goes on.
pub enum First {
    /// The system call whose number and arguments are in its registers.
    Call,
    /// One that sets this mask of signals.
    SetMask(u64),
}

/// Has the server run something first when the handler that this is called by returns.
///
/// # Safety
/// The registers are those of the handler's context, and the server stands behind a system call instruction.
pub unsafe fn run_first(first: First, registers: &mut [greg_t]) {
    // SAFETY: the block is the calling thread's own.
    unsafe {
        let thread = thread::this();
        (*thread).goes_on_at = registers[libc::REG_RIP as usize] as usize;
        let code = match first {
            First::Call => prony_call_first as *const c_void,
            First::SetMask(mask) => {
                (*thread).mask_then = mask;
                prony_set_mask_first as *const c_void
            }
        };
        registers[libc::REG_RIP as usize] = code as greg_t;
    }
}

// A system call may change `rcx` and `r11`, and nothing else does here: no flag, and nothing of the 128 bytes below the stack.
global_asm!(
    ".pushsection .text.prony_first,\"ax\",@progbits",
    ".globl prony_call_first",
    ".hidden prony_call_first",
    ".type prony_call_first, @function",
    "prony_call_first:",
    "syscall",
    "2:",
    "mov r11, qword ptr fs:[0]",
    "mov rcx, qword ptr [rip + prony_thread@GOTTPOFF]",
    "jmp qword ptr [r11 + rcx + {goes_on_at}]",
    ".size prony_call_first, . - prony_call_first",
    ".globl prony_set_mask_first",
    ".hidden prony_set_mask_first",
    ".type prony_set_mask_first, @function",
    "prony_set_mask_first:",
    "lea rsp, [rsp - 128]",
    "push rax",
    "push rdi",
    "push rsi",
    "push rdx",
    "push r10",
    "mov r11, qword ptr fs:[0]",
    "mov rcx, qword ptr [rip + prony_thread@GOTTPOFF]",
    "lea rsi, [r11 + rcx + {mask_then}]",
    "mov eax, {rt_sigprocmask}",
    "mov edi, {set}",
    "mov edx, 0",
    "mov r10d, 8",
    "syscall",
    "pop r10",
    "pop rdx",
    "pop rsi",
    "pop rdi",
    "pop rax",
    "lea rsp, [rsp + 128]",
    "jmp 2b",
    ".size prony_set_mask_first, . - prony_set_mask_first",
    ".popsection",
    goes_on_at = const offset_of!(Thread, goes_on_at),
    mask_then = const offset_of!(Thread, mask_then),
    rt_sigprocmask = const libc::SYS_rt_sigprocmask,
    set = const libc::SIG_SETMASK,
);

unsafe extern "C" {
    fn prony_call_first();
    fn prony_set_mask_first();
}

/// What lies on the stack of a new thread or process: where `syscall` of libc returns to, what that loads, and where it
/// goes on.
const WORDS: usize = 14;

global_asm!(
    ".pushsection .text.prony_begin_elsewhere,\"ax\",@progbits",
    ".globl prony_begin_elsewhere",
    ".hidden prony_begin_elsewhere",
    ".type prony_begin_elsewhere, @function",
    "prony_begin_elsewhere:",
    "pop rbx",
    "pop rbp",
    "pop r12",
    "pop r13",
    "pop r14",
    "pop r15",
    "pop rdi",
    "pop rsi",
    "pop rdx",
    "pop r10",
    "pop r8",
    "pop r9",
    "xor eax, eax",
    "ret",
    ".size prony_begin_elsewhere, . - prony_begin_elsewhere",
    ".popsection",
);

unsafe extern "C" {
    fn prony_begin_elsewhere();
}

/// `struct clone_args`, as far as it goes.
pub type CloneArguments = [u64; 11];
const STACK: usize = 5;
const STACK_BYTES: usize = 6;

/// Arguments of `clone` or `clone3` with which what begins on a stack of its own goes on where the server made the call,
/// with the registers that it had there. `moved`: room for arguments in memory.
pub unsafe fn begin_at(
    number: c_long,
    mut arguments: [usize; 6],
    registers: &[greg_t],
    moved: &mut CloneArguments,
) -> [usize; 6] {
    const BYTES: usize = WORDS * size_of::<usize>();
    // SAFETY: the caller passes the arguments of this system call, and the stack has room, as the server uses it next.
    unsafe {
        let top = match number {
            libc::SYS_clone if arguments[1] != 0 => {
                arguments[1] -= BYTES;
                arguments[1]
            }
            libc::SYS_clone3 if arguments[1] <= size_of::<CloneArguments>() => {
                (arguments[0] as *const u8).copy_to_nonoverlapping(moved.as_mut_ptr().cast(), arguments[1]);
                if moved[STACK] == 0 || moved[STACK_BYTES] < BYTES as u64 {
                    return arguments;
                }
                moved[STACK_BYTES] -= BYTES as u64;
                arguments[0] = moved.as_ptr() as usize;
                (moved[STACK] + moved[STACK_BYTES]) as usize
            }
            _ => return arguments,
        };
        let register = |name: c_int| registers[name as usize] as usize;
        let saved = [
            libc::REG_RBX,
            libc::REG_RBP,
            libc::REG_R12,
            libc::REG_R13,
            libc::REG_R14,
            libc::REG_R15,
            libc::REG_RDI,
            libc::REG_RSI,
            libc::REG_RDX,
            libc::REG_R10,
            libc::REG_R8,
            libc::REG_R9,
            libc::REG_RIP,
        ]
        .map(register);
        let mut words = [prony_begin_elsewhere as *const c_void as usize; WORDS];
        words[1..].copy_from_slice(&saved);
        (top as *mut [usize; WORDS]).write_unaligned(words);
        arguments
    }
}
