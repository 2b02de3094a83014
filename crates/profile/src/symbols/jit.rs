//! Code that processes make themselves: the list `/tmp/perf-PID.map`, which Java, Node.js, .NET and Mono write on
//! request. A line each: where it begins and how long it is, in hexadecimal, and its name
//! (tools/perf/Documentation/jit-interface.txt of Linux).
#![deny(clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use prony_machine::own::{self, Ownership};

use crate::elf::{Function, Functions, read_opened};

/// The functions of one process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JitMap(Functions);

impl JitMap {
    /// Reads the list of a process; `None` without one that may be believed.
    pub(crate) fn of_process(pid: i32) -> Option<JitMap> {
        // A process in a container has another number there, and another /tmp; both can be seen while it lives.
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let inner = status.lines().find_map(|line| line.strip_prefix("NSpid:")?.split_whitespace().next_back());
        let inside = inner.map(|inner| format!("/proc/{pid}/root/tmp/perf-{inner}.map"));
        let paths = inside.into_iter().chain([format!("/tmp/perf-{pid}.map")]);
        let owner = status.lines().find_map(|line| line.strip_prefix("Uid:")?.split_whitespace().nth(1)?.parse().ok());
        paths.into_iter().find_map(|path| of_file(Path::new(&path), owner))
    }

    /// The function at an address.
    pub fn name(&self, address: u64) -> Option<&str> {
        self.0.at(address).map(|function| function.name.as_str())
    }
}

/// Anybody may put a file, a pipe or a link into `/tmp`: only files of the process's user, our own or root's are read.
///
/// `owner`: the user of the process, while it lives.
fn of_file(path: &Path, owner: Option<u32>) -> Option<JitMap> {
    let file = own::open(path, Ownership::Anybodys).ok()?;
    let found = file.metadata().ok()?.uid();
    let is_trusted = found == 0 || found == rustix::process::geteuid().as_raw() || Some(found) == owner;
    is_trusted.then(|| read_opened(file).ok().map(|text| read_map(&text)))?
}

/// Parses the list of functions that a just-in-time compiler wrote. Lines that are none are passed over; of code at the
/// same place the last is meant, as it took the place of what was there.
pub fn read_map(text: &[u8]) -> JitMap {
    let mut functions = BTreeMap::new();
    for line in text.split(|&byte| byte == b'\n') {
        if let Some(function) = line_of(line) {
            functions.insert(function.start, function);
        }
    }
    JitMap(Functions::sorted(functions.into_values().collect()))
}

fn line_of(line: &[u8]) -> Option<Function> {
    let line = std::str::from_utf8(line).ok()?;
    let (start, rest) = line.trim().split_once(' ')?;
    let (length, name) = rest.split_once(' ')?;
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    let (start, length) = (number(start)?, number(length)?);
    let end = start.checked_add(length)?;
    let name = plain(name.trim());
    (length > 0 && !name.is_empty()).then(|| Function { start, end, name: name.to_owned() })
}

/// Leaves out the result and the parameters that Java (`int p.Foo.baz(char[])`) and Mono (`p.Foo:baz (char[])`) tell
/// with a method. Other names stay as they are.
fn plain(name: &str) -> &str {
    if !name.ends_with(')') {
        return name;
    }
    // Mono's have a blank before the parameters.
    if let Some((method, _)) = name.rsplit_once(" (")
        && method.contains(':')
    {
        return method;
    }
    let mut words = name.split('(').next().unwrap_or_default().split_whitespace();
    match (words.next(), words.next(), words.next()) {
        (Some(_result), Some(method), None) if method.contains('.') => method,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_another_user_a_link_or_a_pipe_is_not_read() {
        use std::os::unix::fs::{chown, symlink};
        let place = tempfile::tempdir().expect("the temporary directory is writable");
        let path = place.path().join("perf-7.map");
        std::fs::write(&path, "7f00 20 Interpreter\n").expect("it is writable");
        assert_eq!(of_file(&path, None).expect("it is ours").name(0x7f10), Some("Interpreter"));
        let link = place.path().join("perf-8.map");
        symlink(&path, &link).expect("it is writable");
        assert_eq!(of_file(&link, None), None);
        let pipe = place.path().join("perf-9.map");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("`mkfifo` of the package coreutils is there").success());
        assert_eq!(of_file(&pipe, None), None);
        chown(&path, Some(65534), None).expect("run as root: only root gives a file to another user");
        assert_eq!(of_file(&path, None), None, "root believes no other user either");
        assert_eq!(of_file(&path, Some(1000)), None);
        assert!(of_file(&path, Some(65534)).is_some(), "the process's own user");
    }

    #[test]
    fn the_last_code_at_a_place_is_meant() {
        let map = read_map(
            b"7f00 20 Interpreter\n7f40 40 void Foo.bar(int)\n7f00 40 int Foo.baz()\nnonsense\n7g 1 x\n9 0 y\n",
        );
        assert_eq!(map.name(0x7f3f), Some("Foo.baz"));
        assert_eq!(map.name(0x7f40), Some("Foo.bar"));
        assert_eq!(map.name(0x7f80), None);
        assert_eq!(map.name(9), None);
    }

    #[test]
    fn methods_have_their_class_and_name_without_types() {
        for (name, shown) in [
            ("void com.x.Tokenizer$Basic.scan(char[], int)", "com.x.Tokenizer$Basic.scan"),
            ("java.lang.Object[] java.util.ArrayList.grow()", "java.util.ArrayList.grow"),
            ("System.String:Concat (string,string)", "System.String:Concat"),
            ("Mono.CSharp.Parser:yyparse (Mono.CSharp.yyParser.yyInput)", "Mono.CSharp.Parser:yyparse"),
            ("(wrapper managed-to-native) object:__icall (int)", "(wrapper managed-to-native) object:__icall"),
            ("Interpreter", "Interpreter"),
            ("I2C/C2I adapters", "I2C/C2I adapters"),
            ("LazyCompile:*tick /srv/a (old).js:12", "LazyCompile:*tick /srv/a (old).js:12"),
            ("JS:~(anonymous)", "JS:~(anonymous)"),
        ] {
            assert_eq!(plain(name), shown);
        }
    }
}
