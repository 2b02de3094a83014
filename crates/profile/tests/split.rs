//! Split debug information (`.dwo`, `.dwp`) and debug links: regular files only, and no other user's.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use object::{Object as _, ObjectSymbol as _};
use prony_profile::names_in_file;
use tempfile::TempDir;

/// A user without any files: `nobody`.
const OTHER: u32 = 65534;
/// Long after everything is read; only a test that hangs waits for it.
const HANGS: Duration = Duration::from_secs(60);

/// A program whose call of `inner` is inlined into `outer`, with split debug information.
struct Program {
    directory: TempDir,
}

impl Program {
    fn build(options: &[&str]) -> Program {
        let directory = tempfile::tempdir().expect("the temporary directory is writable");
        let source = "static inline __attribute__((always_inline)) int inner(int x) { volatile int y = x; return y * 7; }\n\
                      __attribute__((noinline)) int outer(int x) { return inner(x); }\n\
                      int main(int argc, char **argv) { return outer(argc); }\n";
        fs::write(directory.path().join("a.c"), source).expect("it is writable");
        run(directory.path(), "gcc", &[&["-O1", "-g", "-c", "a.c"], options].concat());
        run(directory.path(), "gcc", &["-o", "a", "a.o"]);
        Program { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Names at all bytes of `outer`, each list once.
    fn names(&self) -> Vec<Vec<String>> {
        let path = self.path("a");
        let (done, names) = mpsc::channel();
        thread::spawn(move || {
            let bytes = fs::read(&path).expect("the program was built");
            let file = object::File::parse(&*bytes).expect("it is an ELF file");
            let outer = file.symbols().find(|symbol| symbol.name() == Ok("outer")).expect("a function");
            // The code of a position-independent program lies where it does in the file.
            let offsets = outer.address()..outer.address() + outer.size();
            let mut all: Vec<Vec<String>> =
                offsets.map(|offset| names_in_file(&path, offset).expect("it has names")).collect();
            all.sort();
            all.dedup();
            done.send(all)
        });
        names.recv_timeout(HANGS).expect("a file that is not regular is not waited for")
    }
}

fn run(directory: &Path, program: &str, arguments: &[&str]) {
    let status = Command::new(program).args(arguments).current_dir(directory).status();
    assert!(status.unwrap_or_else(|error| panic!("`{program}`: {error}")).success(), "{program} {arguments:?}");
}

fn make_fifo(path: &Path) {
    let _ = fs::remove_file(path);
    run(Path::new("/"), "mkfifo", &[path.to_str().expect("a path in UTF-8")]);
}

fn list(names: &[&[&str]]) -> Vec<Vec<String>> {
    names.iter().map(|names| names.iter().map(|&name| name.to_owned()).collect()).collect()
}

#[test]
fn inlined_calls_have_the_names_of_split_debug_information() {
    for version in ["-gdwarf-5", "-gdwarf-4"] {
        let program = Program::build(&["-gsplit-dwarf", version]);
        assert_eq!(program.names(), list(&[&["inner", "outer"], &["outer"]]), "{version}");
        fs::remove_file(program.path("a.dwo")).expect("gcc wrote it");
        assert_eq!(program.names(), list(&[&["outer"]]), "{version}");
    }
}

#[test]
fn compressed_debug_information_is_read() {
    let program = Program::build(&["-gz"]);
    assert_eq!(program.names(), list(&[&["inner", "outer"], &["outer"]]));
}

#[test]
fn a_pipe_in_place_of_split_debug_information_is_not_waited_for() {
    let program = Program::build(&["-gsplit-dwarf"]);
    make_fifo(&program.path("a.dwp"));
    assert_eq!(program.names(), list(&[&["inner", "outer"], &["outer"]]));
    make_fifo(&program.path("a.dwo"));
    assert_eq!(program.names(), list(&[&["outer"]]));
}

#[test]
fn a_pipe_in_place_of_linked_debug_information_is_not_waited_for() {
    let program = Program::build(&[]);
    run(program.directory.path(), "objcopy", &["--only-keep-debug", "a", "a.debug"]);
    run(program.directory.path(), "objcopy", &["--strip-debug", "--add-gnu-debuglink=a.debug", "a"]);
    assert_eq!(program.names(), list(&[&["inner", "outer"], &["outer"]]));
    make_fifo(&program.path("a.debug"));
    assert_eq!(program.names(), list(&[&["outer"]]));
}

#[test]
fn a_directory_or_a_device_in_place_of_split_debug_information_is_not_read() {
    let program = Program::build(&["-gsplit-dwarf"]);
    let split = program.path("a.dwo");
    fs::remove_file(&split).expect("gcc wrote it");
    fs::create_dir(&split).expect("it is writable");
    assert_eq!(program.names(), list(&[&["outer"]]));
    fs::remove_dir(&split).expect("it is empty");
    std::os::unix::fs::symlink("/dev/zero", &split).expect("it is writable");
    assert_eq!(program.names(), list(&[&["outer"]]));
}

#[test]
fn a_program_leads_only_to_files_that_its_owner_may_read() {
    let program = Program::build(&["-gsplit-dwarf"]);
    let (file, split) = (program.path("a"), program.path("a.dwo"));
    let (with, without) = (list(&[&["inner", "outer"], &["outer"]]), list(&[&["outer"]]));
    let set = |path: &Path, owner: u32, mode: u32| {
        let root = "run as root: only root gives a file to another user";
        chown(path, Some(owner), None).expect(root);
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect(root);
    };
    set(&split, OTHER, 0o644);
    assert_eq!(program.names(), without, "root's program, another user's file");
    set(&file, OTHER, 0o755);
    assert_eq!(program.names(), with, "both another user's");
    set(&split, OTHER - 1, 0o644);
    assert_eq!(program.names(), without, "a third user's file");
    set(&split, 0, 0o644);
    assert_eq!(program.names(), with, "another user's program, root's file that all may read");
    set(&split, 0, 0o600);
    assert_eq!(program.names(), without, "another user's program, root's private file");
}
