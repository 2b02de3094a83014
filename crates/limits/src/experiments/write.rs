//! A gigabyte, written byte by byte: how fast, why, and what bounds the loop.

use iced_x86::code_asm::*;

use crate::area::{Area, PageKind};
use crate::case::{Case, Measure, Outcome};
use crate::case_context::{CaseContext, Setting};
use crate::code::{Code, CodeError};
use crate::experiment::Experiment;
use crate::experiments::size_word;
use crate::tester::Passes;
use crate::ticks::now_ns;
use crate::unsupported::Unsupported;

/// Bytes written by the sweep over offsets: half of the smallest existing first-level cache, so that memory has no
/// influence.
const SWEPT_BYTES: usize = 8 << 10;

/// The loops that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loop {
    /// Store, increment, compare, jump: what a compiler makes of `for (i = 0; i < n; i++) p[i] = i`.
    Store,
    /// Loop over the bytes without the store.
    NoStore,
    /// Loop that counts down and jumps.
    Down,
}

impl Loop {
    const ALL: [Loop; 3] = [Loop::Store, Loop::NoStore, Loop::Down];

    fn word(self) -> &'static str {
        match self {
            Loop::Store => "mov, inc, cmp, jb",
            Loop::NoStore => "inc, cmp, jb",
            Loop::Down => "dec, jnz",
        }
    }

    /// Machine code of the loop; one iteration a byte.
    fn code(self, offset: usize) -> Result<Code, CodeError> {
        // SAFETY: it writes a[..bytes] (at least one byte) or nothing, counts down to the end of its passes, and changes
        // registers only that a callee may change.
        unsafe {
            Code::emit(offset, |emit| {
                let mut pass = emit.asm.create_label();
                emit.asm.set_label(&mut pass)?;
                match self {
                    Loop::Store | Loop::NoStore => {
                        emit.asm.xor(eax, eax)?;
                        let top = emit.begin()?;
                        if self == Loop::Store {
                            emit.asm.mov(byte_ptr(rsi + rax), al)?;
                        }
                        emit.asm.inc(rax)?;
                        emit.asm.cmp(rax, rcx)?;
                        emit.asm.jb(top)?;
                    }
                    Loop::Down => {
                        emit.asm.mov(rax, rcx)?;
                        let top = emit.begin()?;
                        emit.asm.dec(rax)?;
                        emit.asm.jnz(top)?;
                    }
                }
                emit.end()?;
                emit.asm.dec(rdi)?;
                emit.asm.jnz(pass)?;
                emit.asm.ret()
            })
        }
    }
}

pub fn cases(setting: &Setting) -> Result<Vec<Case>, Unsupported> {
    let bytes = setting.area_bytes.min(if setting.effort.thorough { 1 << 30 } else { 256 << 20 });
    let mut cases = Vec::new();
    for kind in [PageKind::Small, setting.huge] {
        for cold in [true, false] {
            let touch = if cold { "first touch" } else { "again" };
            let name = format!("{} byte by byte, {kind} pages, {touch}", size_word(bytes));
            let run = move |context: &mut CaseContext| gigabyte(context, bytes, kind, cold);
            cases.push(
                Case::new(Experiment::Write, name, Measure::BytesEachSecond(bytes as f64), run)
                    .with("pages", kind)
                    .with("touch", touch)
                    .with("bytes", bytes),
            );
        }
    }
    for shape in Loop::ALL {
        let name = format!("loop of {}", shape.word());
        let run = move |context: &mut CaseContext| swept(context, shape, 0);
        cases.push(
            Case::new(Experiment::Write, name, Measure::CyclesEach(SWEPT_BYTES as f64), run).with("loop", shape.word()),
        );
    }
    let step = if setting.effort.thorough { 1 } else { 4 };
    for shape in Loop::ALL {
        for offset in (0..64).step_by(step) {
            let name = format!("loop of {} at offset {offset}", shape.word());
            let run = move |context: &mut CaseContext| swept(context, shape, offset);
            cases.push(
                Case::new(Experiment::Write, name, Measure::CyclesEach(SWEPT_BYTES as f64), run)
                    .with("loop", shape.word())
                    .with("offset", offset),
            );
        }
    }
    Ok(cases)
}

/// All of it, on pages that were touched before or not.
fn gigabyte(context: &mut CaseContext, bytes: usize, kind: PageKind, cold: bool) -> Result<Outcome, Unsupported> {
    let code = Loop::Store.code(0)?;
    let mut area = Area::untouched(bytes, kind)?;
    area.touch();
    let series = context.tester.repeat_timed(Passes::Single, |_| {
        if cold {
            area.drop_pages();
        }
        let before = now_ns();
        write(&code, 1, &mut area);
        Ok(now_ns() - before)
    })?;
    let facts = vec![("given_pages", area.pages())];
    Ok(Outcome { series, listing: Some(code.listing()), facts })
}

/// The loop on memory in the first cache.
fn swept(context: &mut CaseContext, shape: Loop, offset: usize) -> Result<Outcome, Unsupported> {
    let code = shape.code(offset)?;
    let mut area = Area::touched(SWEPT_BYTES, PageKind::Small)?;
    let series = context.tester.repeat(Passes::Calibrated, |passes| write(&code, passes, &mut area))?;
    Ok(Outcome { series, listing: Some(code.listing()), facts: Vec::new() })
}

fn write(code: &Code, passes: u64, area: &mut Area) {
    let bytes = area.len();
    let at = area.as_mut_ptr();
    // SAFETY: the loops write to the first of the two only, and all of it is ours.
    unsafe { code.run_at(passes, at, at, bytes) };
}

#[cfg(test)]
mod tests {
    use super::{Loop, write};
    use crate::area::{Area, PageKind};

    #[test]
    fn the_store_loop_is_eleven_bytes_of_four_instructions() {
        let bytes = |shape: Loop| shape.code(0).expect("a page").loop_bytes();
        assert_eq!([Loop::Store, Loop::NoStore, Loop::Down].map(bytes), [11, 8, 5]);
        let listing = Loop::Store.code(0).expect("a page").listing();
        let texts: Vec<&str> = listing.loop_lines().map(|line| line.text.as_str()).collect();
        assert_eq!(texts[..3], ["mov [rsi+rax], al", "inc rax", "cmp rax, rcx"]);
        assert_eq!(texts[3], format!("jb short {:#x}", listing.loop_address));
    }

    #[test]
    fn the_store_loop_writes_every_byte_and_the_others_none() {
        let mut area = Area::touched(1000, PageKind::Small).expect("a page");
        write(&Loop::NoStore.code(3).expect("a page"), 2, &mut area);
        write(&Loop::Down.code(3).expect("a page"), 2, &mut area);
        assert!(area.iter().skip(1).all(|&byte| byte == 0));
        write(&Loop::Store.code(3).expect("a page"), 2, &mut area);
        assert!(area.iter().enumerate().all(|(place, &byte)| byte == place as u8));
    }
}
