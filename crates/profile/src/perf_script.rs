//! Reads the text of `perf script`.
//!
//! ```text
//! server  4711/4712 [001]  9031.127: 1001001 cpu-clock:pppH:
//!         5581a0c1 CServer::DoTick+0x31 (/usr/games/server)
//!         5581a0a0 main+0x1f0 (/usr/games/server)
//!
//! ```
//!
//! A head, frames from the innermost on, an empty line. Names of functions are shortened as FlameGraph's
//! `stackcollapse-perf.pl` does, and each stack counts 1, so that the result is the same. Profiles are long and their
//! lines few: each line of a frame is understood once and then only recognised.
#![deny(clippy::indexing_slicing)]

use memchr::{memchr, memchr_iter, memrchr};
use rustc_hash::FxHashMap;

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
    /// Lines that mean nothing, by their numbers: the first few.
    pub odd_lines: Vec<u64>,
    /// Number of lines that could not be read.
    pub odd: u64,
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
    reader.read
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
        if let Some(thread) = self.thread.take().filter(|_| !self.stack.is_empty()) {
            self.stack.push(thread);
            self.stack.reverse();
            self.read.stacks.add(&self.stack, 1);
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
                return Some(Head { thread: name.trim_ascii_end(), event: event(line) });
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
    let (function, module) = match rest.strip_suffix(b")") {
        Some(rest) => {
            let open = rest.windows(2).rposition(|pair| pair == b" (").map(|at| at + 1).or_else(|| {
                // ` (module)` alone: no function, as perf prints without symbols.
                (rest.first() == Some(&b'(')).then_some(0)
            })?;
            let (function, module) = rest.split_at_checked(open)?;
            (function.trim_ascii(), module.get(1..)?)
        }
        None => return None,
    };
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
        // An operator of C++ is no arrow.
        let joint = if function.contains("operator->") { "\n" } else { "->" };
        function
            .rsplit(joint)
            .map(|name| if name == "[unknown]" || name.is_empty() { self.unknown() } else { tidy(name) })
            .collect()
    }

    fn unknown(&self) -> String {
        let module = String::from_utf8_lossy(self.module);
        let name = module.rsplit('/').next().unwrap_or_default();
        match name {
            "" | "[unknown]" => "[unknown]".to_owned(),
            name => format!("[{name}]"),
        }
    }
}

/// Without parameters and quotes; Go's `net/http.(*Client).Do` keeps its parentheses.
fn tidy(name: &str) -> String {
    let is_go = name.find(".(").is_some_and(|open| name[open..].contains(")."));
    let mut end = name.len();
    if !is_go {
        let anonymous = "(anonymous namespace)";
        let mut at = 0;
        while let Some(open) = name[at..].find('(').map(|found| at + found) {
            // Parentheses that are part of the name: what C++ calls when an object is called, too.
            let own = match &name[open..] {
                rest if rest.starts_with(anonymous) => anonymous.len(),
                rest if rest.starts_with("()") && name[..open].ends_with("operator") => "()".len(),
                _ => {
                    end = open;
                    break;
                }
            };
            at = open + own;
        }
    }
    name[..end].replace(['"', '\''], "")
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
