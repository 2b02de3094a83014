//! Layout of the files that both sides map, and the descriptor numbers that the server has for them.

/// Bytes of the control area.
pub const CONTROL_BYTES: usize = 5 << 20;
/// Bytes of the largest ring; a power of two. Each is mapped twice in a row, so no record wraps.
pub const RING_BYTES: usize = 8 << 20;
/// Bytes of the smallest ring.
pub const LEAST_RING_BYTES: usize = 64 << 10;
/// Processes of one recording: a server that forks for each connection has many.
pub const PROCESSES: usize = 1 << 15;
/// Threads of one recording that may live at the same time, over all processes.
pub const THREADS: usize = 1024;

/// Offset of the ring of a thread slot in the channel's file, in bytes.
pub const fn ring_offset(slot: usize) -> u64 {
    CONTROL_BYTES as u64 + slot as u64 * RING_BYTES as u64
}

/// Offset of the frame list in the channel's file: behind the last ring.
pub const FRAMES_OFFSET: u64 = ring_offset(THREADS);

/// Turns of one process that are there at once when the tape is not mapped whole; a power of two.
pub const TURNS: u64 = 1 << crate::tape::TURN_TAG_SHIFT;
/// Bytes of the turns of one process.
pub const TURN_RING_BYTES: u64 = TURNS * size_of::<u32>() as u64;

/// Offset of the window of a thread slot in the file of windows. `stride`: bytes from one to the next.
pub const fn window_offset(slot: usize, stride: u64) -> u64 {
    slot as u64 * stride
}

/// Offset of the turns of a process in the file of windows: behind the last window.
pub const fn turns_offset(process: u32, stride: u64) -> u64 {
    window_offset(THREADS, stride) + process as u64 * TURN_RING_BYTES
}

/// Bytes of the file of windows.
pub const fn windows_bytes(stride: u64) -> u64 {
    turns_offset(PROCESSES as u32, stride)
}

/// Descriptor of the channel inside the server; high, so that the server's own numbers stay.
pub const CHANNEL_FD: i32 = 1000;
/// Descriptor of the preload library's image inside the server.
pub const LIBRARY_FD: i32 = 1001;
/// Descriptor of the image for i386, on machines whose own architecture is x86-64.
pub const LIBRARY_I386_FD: i32 = 1006;
/// Descriptor of the tape inside the server, or of the windows that move over it.
pub const TAPE_FD: i32 = 1002;
/// Environment variable that marks a server under preload, removed from its environment before `main`.
pub const ENVIRONMENT_MARK: &str = "PRONY_CHANNEL";
/// Value of the mark in a server that prony starts itself: the first process of the recording.
pub const MARK_SERVER: &str = "0";
/// Value of the mark in a tool, which starts the server later: only the recorded program joins. As long as the other one, since the
/// kernel puts the environment on the stack, above everything else.
pub const MARK_TOOL: &str = "t";
/// Path of the library as `LD_PRELOAD` names it.
pub const LIBRARY_PATH: &str = "/proc/self/fd/1001";
/// Path of the library for i386 programs; as long as the other one.
pub const LIBRARY_I386_PATH: &str = "/proc/self/fd/1006";
/// Exit status of a server that the player ended.
pub const PLAYER_EXIT: i32 = 0;
/// `aux` of an observed record: an output that the recording does not have. Its order is that of the record that the
/// thread stood before.
pub const ADDED_OUTPUT: u32 = u32::MAX;
/// `aux` of an observed record: an output of the recording that the build did not make.
pub const UNSENT_OUTPUT: u32 = u32::MAX - 1;
