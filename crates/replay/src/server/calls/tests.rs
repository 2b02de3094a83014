use super::*;
use crate::server::functions::Functions;
use crate::server::library;
use crate::server::program::code_sections;
use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File};
use std::path::PathBuf;

/// System calls below their classes.
const KERNEL: &str = include_str!("kernel.txt");

/// libc of this machine, if it is the one of the list.
fn libc_of_the_list() -> Option<PathBuf> {
    let path = PathBuf::from("/usr/lib/x86_64-linux-gnu/libc.so.6");
    let text = fs::read(&path).ok()?;
    let version = b"stable release version 2.36";
    text.windows(version.len()).any(|part| part == version).then_some(path)
}

/// What the library that a server loads exports.
fn hooked() -> BTreeSet<String> {
    let scratch = tempfile::NamedTempFile::new().expect("the temporary directory is writable");
    fs::write(scratch.path(), library::own_image().expect("it was packed by the build")).expect("writable");
    symbols(scratch.path(), true)
}

fn names(list: &str, class: Class) -> BTreeSet<&str> {
    classes(list).filter(|(_, found)| *found == class).map(|(name, _)| name).collect()
}

#[test]
fn no_name_has_two_classes_or_none() {
    for list in [LIBC, KERNEL] {
        let all: Vec<&str> = classes(list).map(|(name, _)| name).collect();
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
        let words = list.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace);
        let headings = Class::ALL.iter().filter(|(_, name)| list.lines().any(|line| line == *name)).count();
        assert_eq!(all.len() + headings, words.count());
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn every_function_of_libc_is_in_the_list() {
    let Some(libc) = libc_of_the_list() else { return };
    assert_eq!(unknown(&libc), BTreeSet::new());
    let listed: BTreeSet<String> = classes(LIBC).map(|(name, _)| name.to_owned()).collect();
    assert_eq!(listed.difference(&symbols(&libc, true)).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn what_is_said_to_be_recorded_or_reported_has_a_hook_and_what_is_pure_has_none() {
    let hooked = hooked();
    for class in [Class::Recorded, Class::Reported, Class::Refused] {
        let without: Vec<&str> = names(LIBC, class).into_iter().filter(|name| !hooked.contains(*name)).collect();
        assert_eq!(without, [""; 0], "{class:?} without a hook");
    }
    for class in [Class::Pure, Class::Obsolete] {
        let with: Vec<&str> = names(LIBC, class).into_iter().filter(|name| hooked.contains(*name)).collect();
        assert_eq!(with, [""; 0], "{class:?} with a hook");
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_function_that_has_two_names_has_a_hook_for_both() {
    let Some(libc) = libc_of_the_list() else { return };
    let hooked = hooked();
    let bytes = &ReadCache::new(File::open(libc).expect("it is there"));
    let object = ElfFile64::<Endianness, _>::parse(bytes).expect("it is an object");
    let public = symbols(&libc_of_the_list().expect("as before"), true);
    let mut at: BTreeMap<u64, BTreeSet<&str>> = BTreeMap::new();
    for symbol in object.dynamic_symbols().filter(|symbol| !symbol.is_undefined() && symbol.address() != 0) {
        if let Some(name) = symbol.name().ok().filter(|name| public.contains(*name)) {
            at.entry(symbol.address()).or_default().insert(name);
        }
    }
    // What is only named needs no other name that no program can be linked to any more.
    let reported = names(LIBC, Class::Reported);
    for names in at.values().filter(|names| names.iter().any(|name| hooked.contains(*name) && !reported.contains(name)))
    {
        let without: Vec<_> = names.iter().filter(|name| !hooked.contains(**name)).collect();
        assert_eq!(without, [&""; 0], "of {names:?}");
    }
}

/// Names behind `mark` in a part of the source of the hooks for system calls.
fn in_source<'a>(source: &'a str, from: &str, to: &str, mark: &str) -> BTreeSet<&'a str> {
    let part = source.split_once(from).unwrap_or_else(|| panic!("the source has `{from}`")).1;
    let part = part.split_once(to).unwrap_or_else(|| panic!("the source has `{to}` behind `{from}`")).0;
    let name = |rest: &'a str| rest.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').next();
    part.split(mark).skip(1).filter_map(name).collect()
}

#[test]
fn the_classes_of_system_calls_are_what_their_hook_does() {
    let source = include_str!("../../../../preload/src/hooks/raw.rs");
    let by_function = in_source(source, "by_function! {\n", "\n}\n", "SYS_");
    let by_hand = in_source(source, "match number {\n            libc::SYS_prctl", "number if is_harmless", "SYS_");
    let of_signals = in_source(source, "unsafe fn of_signals(", "\n}\n", "libc::SYS_");
    let made = in_source(source, "const HARMLESS: &[c_long] = &[", "\n];\n", "libc::SYS_");
    let refused = BTreeSet::from(["io_uring_setup", "io_uring_enter", "io_uring_register"]);
    // Made by `forked_by`, before the others are looked for.
    let forks = ["fork", "vfork", "clone", "clone3"];
    for (name, class) in classes(KERNEL) {
        let expected = match name {
            name if refused.contains(name) => Class::Refused,
            name if made.contains(name) || ["prctl", "seccomp"].contains(&name) => Class::Real,
            name if by_function.contains(name)
                || by_hand.contains(name)
                || of_signals.contains(name)
                || forks.contains(&name) =>
            {
                Class::Recorded
            }
            _ => Class::Reported,
        };
        assert_eq!(class, expected, "{name}");
    }
}

/// What the calls of a function come to, as far as its code shows: an address that is computed is not followed.
#[derive(Default)]
struct Reach {
    calls: HashMap<u64, HashSet<u64>>,
    /// System calls by their numbers; `None` for one whose number is not put into a register just before.
    makes: HashMap<u64, HashSet<Option<u64>>>,
}

impl Reach {
    fn of(bytes: &ReadCache<File>) -> Reach {
        let functions = Functions::of(bytes);
        let mut reach = Reach::default();
        for (address, code) in code_sections(bytes) {
            for function in functions
                .whole
                .iter()
                .filter(|function| function.start >= address && function.end <= address + code.len() as u64)
            {
                let code = &code[(function.start - address) as usize..(function.end - address) as usize];
                let mut decoder = Decoder::with_ip(64, code, function.start, DecoderOptions::NONE);
                let mut number = None;
                for instruction in &mut decoder {
                    let is_number = [Register::EAX, Register::RAX].contains(&instruction.op0_register());
                    match instruction.mnemonic() {
                        Mnemonic::Mov if is_number => number = immediate(&instruction),
                        Mnemonic::Xor if is_number && instruction.op1_register() == instruction.op0_register() => {
                            number = Some(0);
                        }
                        Mnemonic::Syscall => drop(reach.makes.entry(function.start).or_default().insert(number)),
                        _ => {}
                    }
                    let branch = matches!(instruction.op0_kind(), OpKind::NearBranch64);
                    let target = branch.then(|| functions.around(instruction.near_branch_target())).flatten();
                    if let Some(target) = target.filter(|target| target.start != function.start) {
                        reach.calls.entry(function.start).or_default().insert(target.start);
                    }
                }
            }
        }
        reach
    }

    /// System calls that a function comes to, without those behind the functions `cut`.
    fn from(&self, function: u64, cut: &HashSet<u64>) -> HashSet<Option<u64>> {
        let (mut seen, mut left) = (HashSet::from([function]), vec![function]);
        let mut makes = HashSet::new();
        while let Some(function) = left.pop() {
            makes.extend(self.makes.get(&function).into_iter().flatten());
            for &next in self.calls.get(&function).into_iter().flatten() {
                if !cut.contains(&next) && seen.insert(next) {
                    left.push(next);
                }
            }
        }
        makes
    }
}

fn immediate(instruction: &Instruction) -> Option<u64> {
    (instruction.op1_kind() == OpKind::Immediate32).then(|| instruction.immediate(1))
}

#[cfg(target_arch = "x86_64")]
#[test]
fn what_is_pure_reaches_no_system_call_but_for_memory_and_waiting() {
    // futex, mmap, munmap, brk, mprotect, mremap, madvise, rt_sigprocmask, rt_sigaction, rt_sigreturn, sigaltstack,
    // set_tid_address, set_robust_list, rseq, arch_prctl, prctl, and what the kernel says of scheduling without a moment.
    const ALLOWED: [u64; 21] =
        [202, 9, 11, 12, 10, 25, 28, 14, 13, 15, 131, 218, 273, 334, 158, 157, 143, 144, 145, 146, 147];
    // They end the process, or are of memory, by rule.
    const CUT: [&str; 18] = [
        "abort",
        "__stack_chk_fail",
        "__libc_fatal",
        "__assert_fail",
        "__assert",
        "__assert_perror_fail",
        "__chk_fail",
        "__fdelt_chk",
        "malloc",
        "free",
        "calloc",
        "realloc",
        "__libc_malloc",
        "__libc_free",
        "__libc_calloc",
        "__libc_realloc",
        "__libc_memalign",
        "__fortify_fail",
    ];
    // Of these families the code shows more than what happens: they take locks of the loader or of the allocator, read
    // the environment, or translate what they say.
    const BY_RULE: [&str; 17] = [
        "malloc",
        "calloc",
        "realloc",
        "free",
        "cfree",
        "mall",
        "memalign",
        "aligned_alloc",
        "valloc",
        "pvalloc",
        "dl",
        "cnd_",
        "pthread_cond_",
        "getopt",
        "posix_memalign",
        "posix_spawn_file_actions_add",
        "xdr",
    ];
    const BY_NAME: [&str; 20] = [
        "__assert_fail",
        "__cxa_thread_atexit_impl",
        "__nss_configure_lookup",
        "__nss_hostname_digits_dots",
        "__posix_getopt",
        "__strerror_r",
        "__xpg_strerror_r",
        "strerror",
        "strerror_l",
        "strerror_r",
        "ether_ntoa",
        "ether_ntoa_r",
        "hstrerror",
        "gai_strerror",
        "inet_ntoa",
        "inet_ntop",
        "qsort",
        "qsort_r",
        "pthread_barrier_destroy",
        "pthread_mutex_setprioceiling",
    ];
    let Some(libc) = libc_of_the_list() else { return };
    let bytes = &ReadCache::new(File::open(libc).expect("it is there"));
    let object = ElfFile64::<Endianness, _>::parse(bytes).expect("it is an object");
    let reach = Reach::of(bytes);
    let functions = Functions::of(bytes);
    let mut at: HashMap<&str, HashSet<u64>> = HashMap::new();
    for symbol in object.dynamic_symbols().filter(|symbol| symbol.address() != 0) {
        if let (Ok(name), Some(function)) = (symbol.name(), functions.around(symbol.address())) {
            at.entry(name).or_default().insert(function.start);
        }
    }
    let cut: HashSet<u64> = CUT.iter().flat_map(|name| at.get(name).into_iter().flatten().copied()).collect();
    let mut scanned = 0;
    for name in names(LIBC, Class::Pure) {
        if BY_NAME.contains(&name)
            || BY_RULE.iter().any(|family| name.trim_start_matches("__libc_").starts_with(family))
        {
            continue;
        }
        for &function in at.get(name).into_iter().flatten() {
            scanned += 1;
            let more: Vec<_> = reach.from(function, &cut).into_iter().collect();
            let beyond: Vec<_> = more.iter().filter(|number| number.is_none_or(|it| !ALLOWED.contains(&it))).collect();
            assert!(beyond.is_empty(), "`{name}` reaches {beyond:?}");
        }
    }
    assert!(scanned > 500, "{scanned}");
}

#[test]
fn the_guide_has_the_lists() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/calls.md");
    let expected = page();
    if std::env::var_os("PRONY_WRITE_PAGES").is_some() {
        fs::write(&path, &expected).expect("the guide is writable");
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "`PRONY_WRITE_PAGES=1 cargo test -p prony-replay the_guide` writes {}", path.display());
}

/// The lists as a page of the guide.
fn page() -> String {
    let meaning = |class| match class {
        Class::Recorded => {
            "**Recorded.** The answer is in the demo, or what a replay needs to come to the same: an order, a file's content."
        }
        Class::Real => {
            "**Real in both.** Made in a replay as in the recording: they act on files, on memory and on what the process is, \
             which a replay sets up as they were. That one failed while recording, or fails in a replay, is in the report."
        }
        Class::Reported => {
            "**Reported when used.** Made, and not recorded. The first use is named while recording, with who makes it, and \
             the demo is [weak](divergences.md#weak-nothing-diverged-but-the-result-proves-little--exit-3)."
        }
        Class::Refused => "**Refused.** Answered with an error, which is said.",
        Class::Pure => {
            "**Pure.** They reach no system call but those for memory and for waiting at locks. A test follows their code to \
             see it; by rule, allocators, the loader and functions that translate messages belong here too."
        }
        Class::Obsolete => {
            "**Obsolete.** No program can be linked to them any more, and they have no hook: an old program that has one is \
             not told about it."
        }
    };
    let mut page = String::from(
        "# Every call, and what prony does about it\n\nGenerated from the lists that the tests hold against Debian 12's libc, \
         against its kernel's numbers, and against the hooks. A function of another libc that is not in the list is named if \
         an object of the server refers to it; a system call that is not in the list is reported when used.\n",
    );
    let lists = [
        ("Functions of libc", LIBC),
        ("System calls by their numbers, through `syscall` or by an instruction of the program's own", KERNEL),
    ];
    for (title, list) in lists {
        page += &format!("\n## {title}\n");
        for (class, _) in Class::ALL {
            let names: Vec<String> = names(list, class).iter().map(|name| format!("`{name}`")).collect();
            if !names.is_empty() {
                page += &format!("\n{} ({})\n\n{}\n", meaning(class), names.len(), names.join(" "));
            }
        }
    }
    page
}
