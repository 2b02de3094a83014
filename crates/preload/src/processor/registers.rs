//! Places of registers in what the kernel keeps of an interrupted thread.

#[cfg(target_arch = "x86")]
pub use i386::*;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    /// All general registers, in the kernel's order.
    pub type All = [libc::greg_t; 23];

    pub const AX: usize = libc::REG_RAX as usize;
    pub const BX: usize = libc::REG_RBX as usize;
    pub const CX: usize = libc::REG_RCX as usize;
    pub const DX: usize = libc::REG_RDX as usize;
    pub const SP: usize = libc::REG_RSP as usize;
    pub const IP: usize = libc::REG_RIP as usize;
    pub const FLAGS: usize = libc::REG_EFL as usize;

    /// Registers in the order of their numbers in instructions.
    pub const NUMBERED: [usize; 16] = [
        AX,
        CX,
        DX,
        BX,
        SP,
        libc::REG_RBP as usize,
        libc::REG_RSI as usize,
        libc::REG_RDI as usize,
        libc::REG_R8 as usize,
        libc::REG_R9 as usize,
        libc::REG_R10 as usize,
        libc::REG_R11 as usize,
        libc::REG_R12 as usize,
        libc::REG_R13 as usize,
        libc::REG_R14 as usize,
        libc::REG_R15 as usize,
    ];
}

#[cfg(target_arch = "x86")]
mod i386 {
    /// All general registers, in the kernel's order.
    pub type All = [libc::greg_t; 19];

    pub const AX: usize = libc::REG_EAX as usize;
    pub const BX: usize = libc::REG_EBX as usize;
    pub const CX: usize = libc::REG_ECX as usize;
    pub const DX: usize = libc::REG_EDX as usize;
    pub const SP: usize = libc::REG_ESP as usize;
    pub const IP: usize = libc::REG_EIP as usize;
    pub const FLAGS: usize = libc::REG_EFL as usize;

    /// Registers in the order of their numbers in instructions.
    pub const NUMBERED: [usize; 8] =
        [AX, CX, DX, BX, SP, libc::REG_EBP as usize, libc::REG_ESI as usize, libc::REG_EDI as usize];
}
