//! Checksums and compressors: ours for the program, and the program's for hosts.

use std::ffi::c_void;

use prony_enet::RangeCoder;

use crate::exported;
use crate::layout::{Buffer, ChecksumCallback, Compressor};

/// A function of the program as the checksum of a host.
pub fn checksum(callback: ChecksumCallback) -> prony_enet::Checksum {
    Box::new(move |datagram| {
        let buffer = Buffer { data: datagram.as_ptr().cast_mut().cast(), data_length: datagram.len() };
        // SAFETY: the program's word that it is such a function; the buffer outlives the call.
        // The number is written as it lies in memory.
        unsafe { callback(&buffer, 1) }.to_ne_bytes()
    })
}

/// A compressor of the program as that of a host.
pub struct Foreign(Compressor);

// SAFETY: it is used by its host alone, which is used by one thread at a time.
unsafe impl Send for Foreign {}

impl Foreign {
    pub fn new(compressor: Compressor) -> Foreign {
        Foreign(compressor)
    }
}

/// Appends what `fill` writes to at most `limit` bytes, unless it is nothing or more.
fn append(output: &mut Vec<u8>, limit: usize, fill: impl FnOnce(*mut u8) -> usize) -> Option<usize> {
    let start = output.len();
    output.resize(start + limit, 0);
    let written = fill(output.get_mut(start..)?.as_mut_ptr());
    let fits = (1..=limit).contains(&written);
    output.truncate(if fits { start + written } else { start });
    fits.then_some(written)
}

impl prony_enet::Compressor for Foreign {
    fn compress(&mut self, input: &[u8], limit: usize, output: &mut Vec<u8>) -> Option<usize> {
        let compress = self.0.compress?;
        let buffer = Buffer { data: input.as_ptr().cast_mut().cast(), data_length: input.len() };
        // SAFETY: the program's word that it is such a function; it may write `limit` bytes, which are there.
        append(output, limit, |to| unsafe { compress(self.0.context, &buffer, 1, input.len(), to, limit) })
    }

    fn expand(&mut self, input: &[u8], limit: usize, output: &mut Vec<u8>) -> Option<usize> {
        let decompress = self.0.decompress?;
        // SAFETY: as above.
        append(output, limit, |to| unsafe { decompress(self.0.context, input.as_ptr(), input.len(), to, limit) })
    }
}

/// The bytes of buffers, one after another.
unsafe fn gather(buffers: *const Buffer, count: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for at in 0..count {
        // SAFETY: the caller's buffers are `count`, and each has its bytes.
        unsafe {
            let buffer = &*buffers.add(at);
            if !buffer.data.is_null() {
                bytes.extend_from_slice(std::slice::from_raw_parts(buffer.data.cast(), buffer.data_length));
            }
        }
    }
    bytes
}

/// Writes `bytes` to `output`, if they are at most `limit`.
unsafe fn give(bytes: &[u8], output: *mut u8, limit: usize) -> usize {
    if bytes.len() > limit {
        return 0;
    }
    // SAFETY: the caller's `output` has room for `limit`.
    unsafe { output.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    bytes.len()
}

exported! {
    /// In the byte order of the network.
    fn enet_crc32(buffers: *const Buffer, count: usize) -> u32, else 0, {
        if count == 1 && !(*buffers).data.is_null() {
            let bytes = std::slice::from_raw_parts((*buffers).data.cast::<u8>(), (*buffers).data_length);
            return prony_enet::crc32(bytes).to_be();
        }
        prony_enet::crc32(&gather(buffers, count)).to_be()
    }

    fn enet_range_coder_create() -> *mut c_void, else std::ptr::null_mut(), {
        Box::into_raw(Box::new(RangeCoder::new())).cast()
    }

    fn enet_range_coder_destroy(context: *mut c_void) -> (), else (), {
        if !context.is_null() {
            drop(Box::from_raw(context.cast::<RangeCoder>()));
        }
    }

    fn enet_range_coder_compress(
        context: *mut c_void,
        buffers: *const Buffer,
        count: usize,
        in_limit: usize,
        output: *mut u8,
        out_limit: usize,
    ) -> usize, else 0, {
        if context.is_null() || count == 0 || in_limit == 0 {
            return 0;
        }
        let mut input = gather(buffers, count);
        input.truncate(in_limit);
        let mut compressed = Vec::new();
        let coder = &mut *context.cast::<RangeCoder>();
        match coder.compress(&input, out_limit, &mut compressed) {
            Some(_) => give(&compressed, output, out_limit),
            None => 0,
        }
    }

    fn enet_range_coder_decompress(
        context: *mut c_void,
        input: *const u8,
        in_limit: usize,
        output: *mut u8,
        out_limit: usize,
    ) -> usize, else 0, {
        if context.is_null() || in_limit == 0 {
            return 0;
        }
        let mut expanded = Vec::new();
        let coder = &mut *context.cast::<RangeCoder>();
        match coder.expand(std::slice::from_raw_parts(input, in_limit), out_limit, &mut expanded) {
            Some(_) => give(&expanded, output, out_limit),
            None => 0,
        }
    }
}
