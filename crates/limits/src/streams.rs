//! Loops that read, write, copy or add up memory, in registers of every width.

use iced_x86::IcedError;
use iced_x86::code_asm::*;

use crate::code::{Code, CodeError, Emit};

/// Width of the vector registers that move the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// 64 bits in general registers.
    Scalar,
    /// Registers of 128 bits: SSE.
    Xmm,
    /// 256 bits: AVX, and AVX2 for sums.
    Ymm,
    /// Registers of 512 bits: AVX-512F.
    Zmm,
}

/// Operation on memory: load, store, copy and others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Load: reads array `a`.
    Load,
    /// Store: writes array `b`.
    Store,
    /// Copy: reads array `a` and writes `b`.
    Copy,
    /// Writes b past the caches.
    NtStore,
    /// Reads a, writes b past the caches.
    NtCopy,
    /// Writes b with `rep stosb`.
    RepStore,
    /// Reads a, writes b with `rep movsb`.
    RepCopy,
    /// Adds up a as 32-bit numbers.
    Sum,
}

/// Registers in a turn of the loop.
const UNROLLED: usize = 8;

impl Width {
    pub const ALL: [Width; 4] = [Width::Scalar, Width::Xmm, Width::Ymm, Width::Zmm];

    pub fn bytes(self) -> usize {
        match self {
            Width::Scalar => 8,
            Width::Xmm => 16,
            Width::Ymm => 32,
            Width::Zmm => 64,
        }
    }

    pub fn bits(self) -> usize {
        self.bytes() * 8
    }

    /// Missing requirement on the processor; `None`: this one meets it.
    pub fn missing(self) -> Option<&'static str> {
        let (there, name) = match self {
            Width::Scalar | Width::Xmm => (true, ""),
            Width::Ymm => (std::is_x86_feature_detected!("avx2"), "AVX2"),
            Width::Zmm => (std::is_x86_feature_detected!("avx512f"), "AVX-512"),
        };
        (!there).then_some(name)
    }

    /// The widest that this processor has.
    pub fn widest() -> Width {
        let mut widths = Width::ALL.into_iter().rev();
        widths.find(|width| width.missing().is_none()).unwrap_or(Width::Xmm)
    }
}

impl Stream {
    pub fn word(self) -> &'static str {
        match self {
            Stream::Load => "load",
            Stream::Store => "store",
            Stream::Copy => "copy",
            Stream::NtStore => "NT store",
            Stream::NtCopy => "NT copy",
            Stream::RepStore => "rep stosb",
            Stream::RepCopy => "rep movsb",
            Stream::Sum => "sum",
        }
    }

    /// True if half of the working set is read and half written.
    pub fn copies(self) -> bool {
        matches!(self, Stream::Copy | Stream::NtCopy | Stream::RepCopy)
    }

    /// True if it writes without reading.
    pub fn stores(self) -> bool {
        matches!(self, Stream::Store | Stream::NtStore | Stream::RepStore)
    }
}

/// The loop; a and b begin at multiples of the width, and `bytes` is a multiple of 512 above 0.
///
/// What is stored is what the beginning of a holds, a register's width for each register (`rep stosb`: a byte): whether these
/// are zeros depends on the content of a, not on the loop.
pub fn code(stream: Stream, width: Width) -> Result<Code, CodeError> {
    // SAFETY: it reads a[..bytes], of which 512 are the least, writes b[..bytes], counts rdi down to its end, and changes registers only that a callee
    // may change; rdi, which string instructions need, is kept in r11.
    unsafe { Code::emit(0, |emit| emit_stream(emit, stream, width)) }
}

fn emit_stream(emit: &mut Emit, stream: Stream, width: Width) -> Result<(), IcedError> {
    if matches!(stream, Stream::RepStore | Stream::RepCopy) {
        return emit_string(emit, stream);
    }
    emit.asm.xor(eax, eax)?;
    emit.asm.mov(r8, rsi)?;
    for place in 0..UNROLLED {
        match stream.stores() {
            true => load(&mut emit.asm, width, place)?,
            // Where sums begin.
            false => zero(&mut emit.asm, width, place)?,
        }
    }
    let scalar_sum = (stream, width) == (Stream::Sum, Width::Scalar);
    if scalar_sum {
        SUMS.iter().try_for_each(|&part| emit.asm.xor(part, part))?;
    }
    let mut pass = emit.asm.create_label();
    emit.asm.set_label(&mut pass)?;
    emit.asm.mov(r8, if stream.stores() { rdx } else { rsi })?;
    if stream.copies() {
        emit.asm.mov(r9, rdx)?;
    }
    emit.asm.mov(r10, rcx)?;
    let step = UNROLLED * if scalar_sum { 4 } else { width.bytes() };
    let top = emit.begin()?;
    for place in 0..UNROLLED {
        match stream {
            Stream::Load => load(&mut emit.asm, width, place)?,
            Stream::Store => store(&mut emit.asm, width, place, r8, false)?,
            Stream::NtStore => store(&mut emit.asm, width, place, r8, true)?,
            Stream::Sum => sum(&mut emit.asm, width, place)?,
            Stream::Copy | Stream::NtCopy => {
                load(&mut emit.asm, width, place)?;
                store(&mut emit.asm, width, place, r9, stream == Stream::NtCopy)?;
            }
            Stream::RepStore | Stream::RepCopy => {}
        }
    }
    emit.asm.add(r8, step as i32)?;
    if stream.copies() {
        emit.asm.add(r9, step as i32)?;
    }
    emit.asm.sub(r10, step as i32)?;
    emit.asm.jnz(top)?;
    emit.end()?;
    emit.asm.dec(rdi)?;
    emit.asm.jnz(pass)?;
    // Once: waiting for the write buffers after each pass of some KiB took a tenth of its time and more.
    if matches!(stream, Stream::NtStore | Stream::NtCopy) {
        emit.asm.sfence()?;
    }
    if stream == Stream::Sum {
        fold(&mut emit.asm, width)?;
    }
    if matches!(width, Width::Ymm | Width::Zmm) {
        emit.asm.vzeroupper()?;
    }
    emit.asm.ret()
}

/// `rep stosb` writes rcx bytes of al at rdi; `rep movsb` copies from rsi to rdi.
fn emit_string(emit: &mut Emit, stream: Stream) -> Result<(), IcedError> {
    emit.asm.mov(r8, rsi)?;
    emit.asm.mov(r10, rcx)?;
    emit.asm.mov(r11, rdi)?;
    emit.asm.movzx(eax, byte_ptr(rsi))?;
    let top = emit.begin()?;
    emit.asm.mov(rcx, r10)?;
    match stream {
        Stream::RepStore => {
            emit.asm.mov(rdi, rdx)?;
            emit.asm.rep().stosb()?;
        }
        _ => {
            emit.asm.mov(rsi, r8)?;
            emit.asm.mov(rdi, rdx)?;
            emit.asm.rep().movsb()?;
        }
    }
    emit.asm.dec(r11)?;
    emit.asm.jnz(top)?;
    emit.end()?;
    emit.asm.ret()
}

const XMMS: [AsmRegisterXmm; UNROLLED] = [xmm0, xmm1, xmm2, xmm3, xmm4, xmm5, xmm6, xmm7];
const YMMS: [AsmRegisterYmm; UNROLLED] = [ymm0, ymm1, ymm2, ymm3, ymm4, ymm5, ymm6, ymm7];
const ZMMS: [AsmRegisterZmm; UNROLLED] = [zmm0, zmm1, zmm2, zmm3, zmm4, zmm5, zmm6, zmm7];
/// Registers for scalar sums, each twice a turn. Sums use one area, so that the registers of the other are free.
const SUMS: [AsmRegister32; 4] = [eax, r9d, r11d, edx];

fn zero(asm: &mut CodeAssembler, width: Width, place: usize) -> Result<(), IcedError> {
    let (x, y, z) = (XMMS[place], YMMS[place], ZMMS[place]);
    match width {
        Width::Scalar => Ok(()),
        Width::Xmm => asm.xorps(x, x),
        Width::Ymm => asm.vxorps(y, y, y),
        Width::Zmm => asm.vpxord(z, z, z),
    }
}

fn load(asm: &mut CodeAssembler, width: Width, place: usize) -> Result<(), IcedError> {
    let at = r8 + (place * width.bytes()) as i32;
    match width {
        Width::Scalar => asm.mov(rax, qword_ptr(at)),
        Width::Xmm => asm.movaps(XMMS[place], xmmword_ptr(at)),
        Width::Ymm => asm.vmovaps(YMMS[place], ymmword_ptr(at)),
        Width::Zmm => asm.vmovaps(ZMMS[place], zmmword_ptr(at)),
    }
}

fn store(
    asm: &mut CodeAssembler,
    width: Width,
    place: usize,
    base: AsmRegister64,
    past_caches: bool,
) -> Result<(), IcedError> {
    let at = base + (place * width.bytes()) as i32;
    let (x, y, z) = (XMMS[place], YMMS[place], ZMMS[place]);
    match (width, past_caches) {
        (Width::Scalar, false) => asm.mov(qword_ptr(at), rax),
        (Width::Scalar, true) => asm.movnti(qword_ptr(at), rax),
        (Width::Xmm, false) => asm.movaps(xmmword_ptr(at), x),
        (Width::Xmm, true) => asm.movntps(xmmword_ptr(at), x),
        (Width::Ymm, false) => asm.vmovaps(ymmword_ptr(at), y),
        (Width::Ymm, true) => asm.vmovntps(ymmword_ptr(at), y),
        (Width::Zmm, false) => asm.vmovaps(zmmword_ptr(at), z),
        (Width::Zmm, true) => asm.vmovntps(zmmword_ptr(at), z),
    }
}

fn sum(asm: &mut CodeAssembler, width: Width, place: usize) -> Result<(), IcedError> {
    let at = r8 + (place * if width == Width::Scalar { 4 } else { width.bytes() }) as i32;
    let (x, y, z) = (XMMS[place], YMMS[place], ZMMS[place]);
    match width {
        Width::Scalar => asm.add(SUMS[place % SUMS.len()], dword_ptr(at)),
        Width::Xmm => asm.paddd(x, xmmword_ptr(at)),
        Width::Ymm => asm.vpaddd(y, y, ymmword_ptr(at)),
        Width::Zmm => asm.vpaddd(z, z, zmmword_ptr(at)),
    }
}

/// Emits the sum of eight registers, in eax.
fn fold(asm: &mut CodeAssembler, width: Width) -> Result<(), IcedError> {
    if width == Width::Scalar {
        return SUMS[1..].iter().try_for_each(|&part| asm.add(eax, part));
    }
    for place in 1..UNROLLED {
        match width {
            Width::Scalar => {}
            Width::Xmm => asm.paddd(XMMS[0], XMMS[place])?,
            Width::Ymm => asm.vpaddd(YMMS[0], YMMS[0], YMMS[place])?,
            Width::Zmm => asm.vpaddd(ZMMS[0], ZMMS[0], ZMMS[place])?,
        }
    }
    if width == Width::Zmm {
        asm.vextracti64x4(ymm1, zmm0, 1)?;
        asm.vpaddd(ymm0, ymm0, ymm1)?;
    }
    if matches!(width, Width::Ymm | Width::Zmm) {
        asm.vextracti128(xmm1, ymm0, 1)?;
        asm.vpaddd(xmm0, xmm0, xmm1)?;
    }
    for half in [0b0100_1110, 0b1011_0001] {
        asm.pshufd(xmm1, xmm0, half)?;
        asm.paddd(xmm0, xmm1)?;
    }
    asm.movd(eax, xmm0)
}

#[cfg(test)]
mod tests {
    use prony_stats::Seed;

    use super::*;
    use crate::area::{Area, PageKind};
    use crate::contents::Contents;

    fn areas() -> (Area, Area) {
        let mut a = Area::touched(4096, PageKind::Small).expect("a page");
        Contents::Noise.fill(&mut a, &mut Seed::new(7));
        (a, Area::untouched(4096, PageKind::Small).expect("a page"))
    }

    fn here() -> impl Iterator<Item = Width> {
        Width::ALL.into_iter().filter(|width| width.missing().is_none())
    }

    #[test]
    fn every_copy_copies_every_byte() {
        for stream in [Stream::Copy, Stream::NtCopy, Stream::RepCopy] {
            for width in here() {
                // A scalar copy has one register, so that it copies word by word.
                let (mut a, mut b) = areas();
                code(stream, width).expect("a page").run(2, &mut a, &mut b, 3584);
                assert_eq!(a[..3584], b[..3584], "{stream:?} {width:?}");
                assert!(b[3584..].iter().all(|&byte| byte == 0), "{stream:?} {width:?}");
            }
        }
    }

    #[test]
    fn every_store_writes_every_byte_with_what_the_first_area_begins_with_and_no_other() {
        for stream in [Stream::Store, Stream::NtStore, Stream::RepStore] {
            for width in here() {
                let (mut a, mut b) = areas();
                b.fill(7);
                let before = a.to_vec();
                code(stream, width).expect("a page").run(2, &mut a, &mut b, 1024);
                let turn = match (stream, width) {
                    (Stream::RepStore, _) => 1,
                    // One register stands for all.
                    (_, Width::Scalar) => 8,
                    _ => UNROLLED * width.bytes(),
                };
                let last = if width == Width::Scalar && stream != Stream::RepStore { 8 * (UNROLLED - 1) } else { 0 };
                for place in 0..1024 {
                    assert_eq!(b[place], a[last + place % turn], "{stream:?} {width:?}, byte {place}");
                }
                assert!(b[1024..].iter().all(|&byte| byte == 7), "{stream:?} {width:?}");
                assert_eq!(a[..], before[..], "what is stored stays as it was: {stream:?} {width:?}");
            }
        }
    }

    #[test]
    fn sums_of_every_width_are_equal() {
        let (mut a, mut b) = areas();
        let words = a[..2048].chunks(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")));
        let expected = words.fold(0u32, u32::wrapping_add);
        for width in here() {
            let found = code(Stream::Sum, width).expect("a page").run(1, &mut a, &mut b, 2048) as u32;
            assert_eq!(found, expected, "{width:?}");
        }
    }

    #[test]
    fn a_turn_of_the_loop_is_eight_registers() {
        for width in Width::ALL {
            let listing = code(Stream::Load, width).expect("a page").listing();
            let loads = listing.loop_lines().filter(|line| line.text.contains("[r8")).count();
            assert_eq!(loads, UNROLLED, "{width:?}");
        }
    }
}
