//! Detours are made of 64-bit code; on i386 every instruction that is followed has a breakpoint.

/// Length of a jump, in bytes.
pub const JUMP: usize = 5;

/// The jump from one place to another.
pub fn jump(from: usize, to: usize) -> [u8; JUMP] {
    let [a, b, c, d] = (to.wrapping_sub(from + JUMP) as u32).to_le_bytes();
    [0xe9, a, b, c, d]
}

/// Makes no detour on this architecture.
pub unsafe fn make(_site: usize, _room: usize) -> Option<usize> {
    None
}
