//! Reads the text of `perf script`.
//!
//! ```text
//! server  4711/4712 [001]  9031.127: 1001001 cpu-clock:pppH:
//!         5581a0c1 CServer::DoTick+0x31 (/usr/games/server)
//!         5581a0a0 main+0x1f0 (/usr/games/server)
//!
//! ```
//!
//! A head, frames from the innermost on, an empty line; a sample without a call chain has its only frame behind its head.
//! Names of functions are shortened as FlameGraph's `stackcollapse-perf.pl` does, and each stack counts 1, so that the result
//! is the same; only functions that would have one name then keep theirs. Profiles are long and their lines few: each line of
//! a frame is understood once and then only recognised.
#![deny(clippy::indexing_slicing)]

use memchr::{memchr, memchr_iter, memrchr};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::stacks::{NameId, Stacks};

/// Result of reading a text.
#[derive(Debug, Default)]
pub struct PerfScript {
    /// The stacks: name of the thread, then functions, outermost first.
    pub stacks: Stacks,
    /// The event whose samples are taken: the first one.
    pub event: Option<String>,
    /// Samples of other events, which are left out: they count something else.
    pub other_events: u64,
    /// Samples without a frame, which are left out.
    pub without_frames: u64,
    /// Lines that mean nothing, by their numbers: the first few.
    pub odd_lines: Vec<u64>,
    /// Number of lines that could not be read.
    pub odd: u64,
    /// Number of lines.
    pub lines: u64,
    /// The text ended in the middle of a stack, which is left out.
    pub is_cut: bool,
}

/// Numbers of odd lines that are kept.
const ODD_LINES_MAX: usize = 10;

/// True if a text looks like that of `perf script` rather than folded stacks.
pub fn looks_like_perf_script(text: &[u8]) -> bool {
    let lines = text.split(|&byte| byte == b'\n').take(400);
    let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#")).take(2);
    let (Some(first), Some(second)) = (lines.next(), lines.next()) else { return false };
    Head::read(first).is_some() && frame(second).is_some()
}

/// Parses the text that `perf script` prints. Nothing in it is an error: what means nothing is counted.
pub fn read_perf_script(text: &[u8]) -> PerfScript {
    let mut reader = Reader::default();
    let mut rest = text;
    while let Some((line, after)) = memchr(b'\n', rest).and_then(|end| rest.split_at_checked(end)) {
        reader.line(line);
        rest = after.get(1..).unwrap_or_default();
    }
    if !rest.is_empty() {
        reader.line(rest);
    }
    // perf ends every stack with an empty line; one without it may lack frames.
    reader.read.is_cut = reader.in_stack && text.last() != Some(&b'\n');
    if !reader.read.is_cut {
        reader.end_of_stack();
    }
    reader.read.lines = reader.line;
    reader.read.stacks = with_short_names(&reader.read.stacks, &reader.names);
    reader.read
}

/// The same stacks with each name of a function as short as it can be without being that of another one.
fn with_short_names(stacks: &Stacks, functions: &[NameId]) -> Stacks {
    let functions: FxHashSet<NameId> = functions.iter().copied().collect();
    let mut short: FxHashMap<NameId, String> = FxHashMap::default();
    let mut alike: FxHashMap<String, usize> = FxHashMap::default();
    for &function in &functions {
        let name = tidy(stacks.text(function));
        *alike.entry(name.clone()).or_default() += 1;
        short.insert(function, name);
    }
    short.retain(|_, name| alike.get(name) == Some(&1));
    let mut out = Stacks::new(stacks.weight_unit());
    let mut renamed = Vec::new();
    for (stack, count) in stacks.iter() {
        renamed.clear();
        renamed.extend(stack.iter().enumerate().map(|(place, &name)| {
            // The first is the thread.
            let short = short.get(&name).filter(|_| place > 0);
            out.name(short.map_or_else(|| stacks.text(name), String::as_str))
        }));
        out.add(&renamed, count);
    }
    out
}

#[derive(Default)]
struct Reader<'a> {
    read: PerfScript,
    /// Frames as they stand in the text, from behind the address, and what they mean: functions, innermost first.
    frames: FxHashMap<&'a [u8], (u32, u32)>,
    names: Vec<NameId>,
    /// Names of threads as they stand in the text.
    threads: FxHashMap<&'a [u8], NameId>,
    /// Functions of the stack that is being read, innermost first.
    stack: Vec<NameId>,
    thread: Option<NameId>,
    in_stack: bool,
    line: u64,
}

impl<'a> Reader<'a> {
    fn line(&mut self, line: &'a [u8]) {
        self.line += 1;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match line.first() {
            None => self.end_of_stack(),
            Some(b'\t' | b' ') => self.frame(line),
            Some(b'#') => {}
            Some(_) => self.head(line),
        }
    }

    fn end_of_stack(&mut self) {
        match self.thread.take() {
            Some(_) if self.stack.is_empty() => self.read.without_frames += 1,
            Some(thread) => {
                self.stack.push(thread);
                self.stack.reverse();
                self.read.stacks.add(&self.stack, 1);
            }
            None => {}
        }
        self.stack.clear();
        self.in_stack = false;
    }

    fn head(&mut self, line: &'a [u8]) {
        let Some(head) = Head::read(line) else { return self.odd() };
        // An empty line is missing; what came before is a whole stack all the same.
        self.end_of_stack();
        self.in_stack = true;
        if let Some(event) = head.event {
            match &self.read.event {
                None => self.read.event = Some(String::from_utf8_lossy(event).into_owned()),
                Some(first) if first.as_bytes() == event => {}
                Some(_) => {
                    self.read.other_events += 1;
                    return;
                }
            }
        }
        let stacks = &mut self.read.stacks;
        let thread = self.threads.entry(head.thread);
        self.thread =
            Some(*thread.or_insert_with_key(|thread| stacks.name(&String::from_utf8_lossy(thread).replace(' ', "_"))));
        if let Some(only) = head.only {
            self.frame(only);
        }
    }

    fn frame(&mut self, line: &'a [u8]) {
        if self.thread.is_none() {
            // Of an event that is left out, or behind a head that means nothing.
            if !self.in_stack {
                self.odd();
            }
            return;
        }
        let Some(key) = behind_address(line) else { return self.odd() };
        let (from, to) = match self.frames.get(key) {
            Some(&known) => known,
            None => {
                let from = self.names.len() as u32;
                let Some(frame) = frame(line) else { return self.odd() };
                for name in frame.names() {
                    self.names.push(self.read.stacks.name(&name));
                }
                let range = (from, self.names.len() as u32);
                self.frames.insert(key, range);
                range
            }
        };
        let names = self.names.get(from as usize..to as usize);
        self.stack.extend_from_slice(names.expect("ranges of `frames` lie in `names`, which only grows"));
    }

    fn odd(&mut self) {
        self.read.odd += 1;
        if self.read.odd_lines.len() < ODD_LINES_MAX {
            self.read.odd_lines.push(self.line);
        }
    }
}

/// The first line of a sample.
#[derive(Debug, PartialEq, Eq)]
struct Head<'a> {
    thread: &'a [u8],
    event: Option<&'a [u8]>,
    /// The only frame of a sample without a call chain.
    only: Option<&'a [u8]>,
}

impl<'a> Head<'a> {
    /// The name may hold blanks: it ends before the first number that stands alone, or two of them as `4711/4712`.
    fn read(line: &'a [u8]) -> Option<Head<'a>> {
        if line.first().is_none_or(|byte| byte.is_ascii_whitespace()) {
            return None;
        }
        for blank in memchr_iter(b' ', line) {
            let (name, rest) = line.split_at_checked(blank)?;
            let rest = rest.trim_ascii_start();
            let number = rest.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'/').count();
            let is_number =
                number > 0 && !rest.starts_with(b"/") && rest.get(number).is_some_and(u8::is_ascii_whitespace);
            if is_number {
                let (head, only) = match only_frame(line) {
                    Some((head, only)) => (head, Some(only)),
                    None => (line, None),
                };
                return Some(Head { thread: name.trim_ascii_end(), event: event(head), only });
            }
        }
        None
    }
}

/// `… 9031.127:   1001001 cpu-clock:pppH:` or `… 9031.127: cycles:`; what stands between the time and the last colon.
fn event(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii_end().strip_suffix(b":")?;
    let name = line.get(memrchr(b' ', line)? + 1..)?;
    (!name.is_empty() && !name.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')).then_some(name)
}

/// A head with a frame behind it, in two: `… cycles:u:` and `   7f00aa inner+0x2 (/x/srv)`.
fn only_frame(line: &[u8]) -> Option<(&[u8], &[u8])> {
    if !line.trim_ascii_end().ends_with(b")") {
        return None;
    }
    let ends = line.windows(2).enumerate().rev().filter(|(_, pair)| *pair == b": ").map(|(at, _)| at + 1);
    ends.filter_map(|at| line.split_at_checked(at)).find(|(_, behind)| {
        let address = behind.trim_ascii_start().split(|byte| *byte == b' ').next().unwrap_or_default();
        address.iter().all(u8::is_ascii_hexdigit) && frame(behind).is_some()
    })
}

/// Place of the parenthesis that the last one closes.
fn opening(text: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    text.iter().enumerate().rev().find_map(|(at, byte)| {
        match byte {
            b')' => depth += 1,
            b'(' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        (depth == 0).then_some(at)
    })
}

/// One line of a stack.
struct Frame<'a> {
    function: &'a [u8],
    module: &'a [u8],
}

/// Text after the address: the same for all samples of a place.
fn behind_address(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii_start();
    let address = line.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let rest = line.get(address..)?;
    (address > 0 && rest.first().is_some_and(|byte| *byte == b' ')).then_some(rest)
}

/// `  address function+0xoffset (module)`.
fn frame(line: &[u8]) -> Option<Frame<'_>> {
    let rest = behind_address(line)?.trim_ascii();
    let module = rest.strip_suffix(b")")?;
    // Names of files hold parentheses too: `(/x/srv (deleted))`. Where those do not match, the last one begins the module.
    let is_begin = |at: &usize| *at == 0 || rest.get(at - 1) == Some(&b' ');
    let open = opening(rest).filter(is_begin).or_else(|| {
        // ` (module)` alone: no function, as perf prints without symbols.
        let last = module.windows(2).rposition(|pair| pair == b" (").map(|at| at + 1);
        last.or_else(|| (module.first() == Some(&b'(')).then_some(0))
    })?;
    let (function, module) = module.split_at_checked(open)?;
    let (function, module) = (function.trim_ascii(), module.get(1..)?);
    Some(Frame { function, module })
}

impl Frame<'_> {
    /// The functions, innermost first: perf joins inlined calls by arrows, callers first.
    fn names(&self) -> Vec<String> {
        let function = String::from_utf8_lossy(self.function);
        let function = match function.rsplit_once("+0x") {
            Some((name, offset)) if offset.bytes().all(|byte| byte.is_ascii_hexdigit()) => name,
            _ => &function,
        };
        // The name of the process stands in parentheses in some profiles.
        if function.starts_with('(') && !function.starts_with("(anonymous namespace)") {
            return Vec::new();
        }
        calls(function)
            .into_iter()
            .rev()
            .map(|name| if name == "[unknown]" || name.is_empty() { self.unknown() } else { name.to_owned() })
            .collect()
    }

    fn unknown(&self) -> String {
        let module = String::from_utf8_lossy(self.module);
        let module = module.strip_suffix(" (deleted)").unwrap_or(&module);
        let name = module.rsplit('/').next().unwrap_or_default();
        match name {
            "" | "[unknown]" => "[unknown]".to_owned(),
            name => format!("[{name}]"),
        }
    }
}

/// Parts of a name between the arrows that stand for inlined calls: those within parentheses and behind `operator` are C++.
fn calls(function: &str) -> Vec<&str> {
    let (mut parts, mut from, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, byte) in function.bytes().enumerate() {
        match byte {
            b'(' | b'{' => depth += 1,
            b')' | b'}' => depth = depth.saturating_sub(1),
            b'-' if depth == 0 && function[at..].starts_with("->") && !function[..at].ends_with("operator") => {
                parts.push(&function[from..at]);
                from = at + 2;
            }
            _ => {}
        }
    }
    parts.push(&function[from..]);
    parts
}

/// What C++ writes behind the parameters of a method.
const QUALIFIERS: [&str; 6] = [" const", " volatile", " noexcept", "&", "[abi:cxx11]", " "];

/// Without the list of parameters at its end, what stands behind it, and quotes. Other parentheses tell functions apart: those of a
/// lambda's place, of a template's arguments, of a receiver in Go.
fn tidy(name: &str) -> String {
    let mut end = name;
    while let Some(shorter) = QUALIFIERS.iter().find_map(|qualifier| end.strip_suffix(qualifier)) {
        end = shorter;
    }
    let list = end.ends_with(')').then(|| opening(end.as_bytes())).flatten().filter(|&open| open > 0);
    let name = match list.map(|open| end.split_at(open)) {
        // `operator()` is a name, and so is a namespace without one.
        Some((before, "()")) if before.ends_with("operator") => end,
        Some((_, "(anonymous namespace)")) => end,
        Some((before, _)) => before,
        None => name,
    };
    name.replace(['"', '\''], "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "\
# captured on: today
server 4711/4712 [001]  9031.127:    1001001 cpu-clock:pppH: 
\t    5581a0c1 CServer::DoTick(int)+0x31 (/usr/games/server)
\t    5581a0a0 main+0x1f0 (/usr/games/server)

V8 Worker Thread 99 [000] 9031.130: cpu-clock:pppH:
\t          13 RegExp:[&<>\\\"'] (/tmp/perf-99.map)
\t          12 net/http.(*Client).Do+0x1 (/bin/x)
\t          11 (anonymous namespace)::f(int)+0x2 (/bin/x)
\t          11 sort::operator()(int)+0x2 (/bin/x)
\t          10 [unknown] (/lib/libz.so.1)
\t           9 [unknown] ([unknown])

server 4711/4712 [001]  9032.127:    1 context-switches:
\t    5581a0c1 poll+0x31 (/lib/libc.so)

";

    #[test]
    fn stacks_come_out_as_stackcollapse_has_them() {
        let read = read_perf_script(TEXT.as_bytes());
        assert_eq!(
            read.stacks.folded(),
            "V8_Worker_Thread;[unknown];[libz.so.1];sort::operator();(anonymous namespace)::f;net/http.(*Client).Do;RegExp:[&<>\\] 1\n\
             server;main;CServer::DoTick 1\n"
        );
        assert_eq!((read.event.as_deref(), read.other_events), (Some("cpu-clock:pppH"), 1));
        assert_eq!((read.odd, read.is_cut), (0, false));
        assert!(looks_like_perf_script(TEXT.as_bytes()));
        assert!(!looks_like_perf_script(b"server;main;tick 3\nserver;main 4\n"));
    }

    #[test]
    fn inlined_calls_become_frames_of_their_own() {
        let text = "a 1 1.0: cycles:\n\t 1 outer->middle->inner+0x3 (/x)\n\n";
        assert_eq!(read_perf_script(text.as_bytes()).stacks.folded(), "a;outer;middle;inner 1\n");
    }

    #[test]
    fn overloads_keep_their_parameters() {
        let text = "a 1 1.0: cycles:\n\t 1 f(int)+0x3 (/x)\n\t 2 f(int)+0x7 (/x)\n\t 3 f(double)+0x3 (/x)\n\t 4 g(int)+0x3 (/x)\n\n\
                    f 2 1.0: cycles:\n\t 4 g(int)+0x3 (/x)\n\n";
        assert_eq!(read_perf_script(text.as_bytes()).stacks.folded(), "a;g;f(double);f(int);f(int) 1\nf;g 1\n");
    }

    #[test]
    fn what_distinguishes_functions_stays_in_their_names() {
        for (name, kept) in [
            ("Loop::run(long)", "Loop::run"),
            (
                "Loop::run(long)::{lambda(long)#1}::operator()(long) const",
                "Loop::run(long)::{lambda(long)#1}::operator()",
            ),
            (
                "std::_Function_handler<void (int), App::start()::{lambda(int)#1}>::_M_invoke(std::_Any_data const&, int&&)",
                "std::_Function_handler<void (int), App::start()::{lambda(int)#1}>::_M_invoke",
            ),
            ("call(void (*)(int), long)", "call"),
            ("f(int)::Local::g() &&", "f(int)::Local::g"),
            ("sort::operator()", "sort::operator()"),
            ("A::operator->() const", "A::operator->"),
            ("operator new(unsigned long)", "operator new"),
            ("(anonymous namespace)::f(int)", "(anonymous namespace)::f"),
            ("std::string::str[abi:cxx11]() const", "std::string::str[abi:cxx11]"),
            ("net/http.(*Client).Do", "net/http.(*Client).Do"),
            ("<alloc::vec::Vec<T> as core::ops::Drop>::drop", "<alloc::vec::Vec<T> as core::ops::Drop>::drop"),
        ] {
            assert_eq!(tidy(name), kept, "{name}");
        }
        assert_eq!(
            calls("outer(int)->middle::{lambda(A*)#1}->A::operator->()"),
            ["outer(int)", "middle::{lambda(A*)#1}", "A::operator->()"]
        );
    }

    #[test]
    fn an_object_may_have_parentheses_and_a_sample_no_call_chain() {
        let text = "a 1 1.0: 250 cycles: \n\t 401b97 tick(int)+0x1f (/x/srv (deleted))\n\t 9 [unknown] (/x/srv (deleted))\n\n\
                    a 1 1.1: 250 cycles:   7f00aa inner+0x2 (/x/srv)\na 1 1.2: 250 cycles: \n\n";
        let read = read_perf_script(text.as_bytes());
        assert_eq!(read.stacks.folded(), "a;[srv];tick 1\na;inner 1\n");
        assert_eq!((read.without_frames, read.odd, read.event.as_deref()), (1, 0, Some("cycles")));
    }

    #[test]
    fn a_damaged_text_keeps_what_is_whole_and_names_the_lines_that_are_not() {
        let cut = &TEXT[..TEXT.find("Do+").expect("it is there")];
        let read = read_perf_script(cut.as_bytes());
        assert!(read.is_cut);
        assert_eq!(read.stacks.folded(), "server;main;CServer::DoTick 1\n");
        let odd = "\t 77 lost (/x)\n!!\na 1 1.0: cycles:\n\t nothing\n\t 1 f (/x)\n\n";
        let read = read_perf_script(odd.as_bytes());
        assert_eq!((read.stacks.folded().as_str(), read.odd, read.odd_lines), ("a;f 1\n", 3, vec![1, 2, 4]));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(text: Vec<u8>) {
            read_perf_script(&text);
            looks_like_perf_script(&text);
        }

        #[test]
        fn any_change_of_a_text_is_read(at in 0..TEXT.len(), byte: u8) {
            let mut text = TEXT.as_bytes().to_vec();
            text[at] = byte;
            let read = read_perf_script(&text);
            prop_assert!(read.stacks.total() <= 3);
        }
    }
}
