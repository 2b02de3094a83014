//! Stacks from registers, a copy of the stack and the tables that compilers write for exceptions (DWARF call
//! frame information), where programs keep no frame pointers. `framehop` does the walking, but for 32-bit programs.
#![deny(clippy::indexing_slicing)]

#[cfg(target_arch = "x86_64")]
mod i386;

use std::sync::Arc;

use framehop::{CacheNative, ExplicitModuleSectionInfo, MayAllocateDuringUnwind, Module, Unwinder, UnwinderNative};
use framehop::{FrameAddress, UnwindRegsNative};
use object::{Object as _, ObjectSection as _};
use rustc_hash::FxHashMap;

use crate::elf::{Segments, read, section};
use crate::records::UserStack;
use crate::space::{Object, ObjectId, Space, object};

/// Number of frames past which a stack is cut.
const DEPTH_MAX: usize = 512;

type Tables = UnwinderNative<Arc<[u8]>, MayAllocateDuringUnwind>;

/// Walks the stacks of all processes of a recording.
pub(crate) struct Walker {
    objects: FxHashMap<ObjectId, Option<Sections>>,
    processes: FxHashMap<i32, (u64, Tables)>,
    cache: CacheNative<MayAllocateDuringUnwind>,
    #[cfg(target_arch = "x86_64")]
    i386: i386::Walker,
}

/// Sections of a file that unwinding needs.
struct Sections {
    segments: Segments,
    tables: ExplicitModuleSectionInfo<Arc<[u8]>>,
}

impl Walker {
    pub(crate) fn new() -> Walker {
        Walker {
            objects: FxHashMap::default(),
            processes: FxHashMap::default(),
            cache: CacheNative::new(),
            #[cfg(target_arch = "x86_64")]
            i386: i386::Walker::new(),
        }
    }

    /// Addresses of the frames, innermost first; those of callers lie in the call, not behind it. Fewer where a table
    /// is missing, or once an address `is_enough`. False where the copy of the stack ended first.
    pub(crate) fn walk(
        &mut self,
        pid: i32,
        space: &Space,
        objects: &[Object],
        stack: &UserStack<'_>,
        frames: &mut Vec<u64>,
        is_enough: impl Fn(u64) -> bool,
    ) -> bool {
        #[cfg(target_arch = "x86_64")]
        if stack.is_32_bit {
            return self.i386.walk(space, objects, stack, frames, is_enough);
        }
        let mut registers = stack.registers.iter();
        let mut next = || registers.next().unwrap_or(0);
        // Their order is that of their numbers in the kernel.
        #[cfg(target_arch = "x86_64")]
        let (pointer, stack_pointer, start) = {
            let (frame_pointer, stack_pointer, pointer) = (next(), next(), next());
            (pointer, stack_pointer, UnwindRegsNative::new(pointer, stack_pointer, frame_pointer))
        };
        #[cfg(target_arch = "aarch64")]
        let (pointer, stack_pointer, start) = {
            let (frame_pointer, link, stack_pointer, pointer) = (next(), next(), next(), next());
            (pointer, stack_pointer, UnwindRegsNative::new(link, stack_pointer, frame_pointer))
        };
        let mut is_whole = true;
        let mut read_stack = |address: u64| {
            let at = usize::try_from(address.checked_sub(stack_pointer).ok_or(())?).map_err(|_| ())?;
            let word = stack.bytes.get(at..at.checked_add(8).ok_or(())?);
            is_whole &= word.is_some();
            let word = word.ok_or(())?;
            Ok(u64::from_ne_bytes(word.try_into().expect("eight bytes")))
        };
        self.learn(pid, space, objects);
        let Walker { processes, cache, .. } = self;
        let Some((_, tables)) = processes.get(&pid) else { return true };
        let mut walk = tables.iter_frames(pointer, start, cache, &mut read_stack);
        while let Ok(Some(frame)) = walk.next() {
            frames.push(match frame {
                FrameAddress::InstructionPointer(address) => address,
                FrameAddress::ReturnAddress(address) => address.get() - 1,
            });
            if frames.len() >= DEPTH_MAX || frames.last().is_some_and(|&address| is_enough(address)) {
                break;
            }
        }
        is_whole
    }

    /// Brings what is known of a process up to date.
    fn learn(&mut self, pid: i32, space: &Space, objects: &[Object]) {
        if self.processes.get(&pid).is_some_and(|&(version, _)| version == space.version) {
            return;
        }
        let mut tables = Tables::new();
        for (start, mapping) in space.mappings() {
            let object = object(objects, mapping.object);
            let sections = self.objects.entry(mapping.object).or_insert_with(|| sections(object));
            let Some(sections) = sections else { continue };
            let Some(stated) = sections.segments.address(mapping.offset) else { continue };
            let base = start.wrapping_sub(stated);
            tables.add_module(Module::new(String::new(), start..mapping.end, base, sections.tables.clone()));
        }
        self.processes.insert(pid, (space.version, tables));
    }
}

fn sections(object: &Object) -> Option<Sections> {
    let bytes = read(object).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    let range = |name| {
        let section = file.section_by_name(name)?;
        Some(section.address()..section.address().checked_add(section.size())?)
    };
    let data = |name| Some(Arc::from(section(&file, name, bytes.len() as u64)?));
    let tables = ExplicitModuleSectionInfo {
        base_svma: 0,
        text_svma: range(".text"),
        got_svma: range(".got"),
        eh_frame_svma: range(".eh_frame"),
        eh_frame: data(".eh_frame"),
        eh_frame_hdr_svma: range(".eh_frame_hdr"),
        eh_frame_hdr: data(".eh_frame_hdr"),
        debug_frame: data(".debug_frame"),
        ..ExplicitModuleSectionInfo::default()
    };
    Some(Sections { segments: Segments::of(&file), tables })
}
