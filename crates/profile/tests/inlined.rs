//! Names of functions that were inlined: with their scopes, and as symbols of the same functions have them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use object::{Object as _, ObjectSymbol as _};
use prony_profile::names_in_file;

/// Functions that GCC gives no symbol once they are inlined, and some that have one.
const SOURCE: &str = r#"
volatile double sum;
#define INLINE __attribute__((always_inline))
namespace engine {
struct Point { double x; };
namespace { INLINE inline void hidden(Point const &point) { sum = sum + point.x; } }
INLINE static inline void local(unsigned long n) { sum = sum + n; }
INLINE inline void add(int n) { sum = sum + n; }
INLINE inline void add(double n) { sum = sum - n; }
INLINE static inline void only(int n) { sum = sum / n; }
INLINE static inline void twice(int n) { sum = sum * n; }
INLINE static inline void twice(const char *text, void (*callback)(int), unsigned long long) { sum = sum * text[0]; callback(1); }
template <class T> struct Box {
    T value;
    INLINE void open() const { sum = sum + value; }
};
}
extern "C" void callback(int) { sum = 0; }
__attribute__((noinline)) void run(long n, const char *text) {
    auto small = [](long n) INLINE { for (long i = 0; i < n; i++) sum = sum + 1; };
    auto large = [](long n) INLINE { for (long i = 0; i < n; i++) sum = sum * 1.5; };
    auto other = [n](const char *text) INLINE { sum = sum + n + text[0]; };
    struct Local {
        long n;
        INLINE void call() const { sum = sum - n; }
    };
    small(n);
    large(n);
    other(text);
    Local{n}.call();
    engine::hidden({1.0});
    engine::local(n);
    engine::add(3);
    engine::add(3.0);
    engine::only(3);
    engine::twice(3);
    engine::twice(text, callback, 1);
    engine::Box<long>{n}.open();
    struct { long n; INLINE void call() { sum = sum + n; } } unnamed{n};
    unnamed.call();
}
int main(int argc, char **arguments) { run(argc, arguments[0]); }
"#;

/// All names that the code of functions has, of a program built with these options.
fn names(source: &str, options: &[&str], function: &str) -> BTreeSet<String> {
    let directory = tempfile::tempdir().expect("the temporary directory is writable");
    fs::write(directory.path().join("a.cpp"), source).expect("it is writable");
    let command = [&["-O1", "-g", "-o", "a", "a.cpp"], options].concat();
    let status = Command::new("g++").args(&command).current_dir(directory.path()).status();
    assert!(status.expect("`scripts/setup demo` installs g++").success(), "g++ {command:?}");
    names_of_code(&directory.path().join("a"), function)
}

fn names_of_code(path: &Path, function: &str) -> BTreeSet<String> {
    let bytes = fs::read(path).expect("the program was built");
    let file = object::File::parse(&*bytes).expect("it is an ELF file");
    let symbol = file.symbols().find(|symbol| symbol.name() == Ok(function)).expect("a function");
    // The code of a position-independent program lies where it does in the file.
    let offsets = symbol.address()..symbol.address() + symbol.size();
    offsets.flat_map(|offset| names_in_file(path, offset).expect("it has names")).collect()
}

#[test]
fn inlined_functions_have_the_names_of_their_scopes() {
    for options in [&["-gdwarf-5"][..], &["-gdwarf-4"], &["-gsplit-dwarf"], &["-flto"]] {
        let names = names(SOURCE, options, "_Z3runlPKc");
        // GCC before 13 numbers all lambdas of a function, later those with the same parameters.
        let names: BTreeSet<String> =
            names.iter().map(|name| name.replace("(char const*)#3", "(char const*)#1")).collect();
        let expected = [
            "run",
            "run::{lambda(long)#1}::operator()",
            "run::{lambda(long)#2}::operator()",
            "run::{lambda(char const*)#1}::operator()",
            "run::Local::call",
            "run::{unnamed type#1}::call",
            "engine::(anonymous namespace)::hidden",
            "engine::local",
            "engine::add(int)",
            "engine::add(double)",
            "engine::only",
            "engine::twice(int)",
            "engine::twice(char const*, void (*)(int), unsigned long long)",
            "engine::Box<long>::open",
            "callback",
        ];
        // Which symbols there are in split debug information is not known beforehand: they keep their parameters.
        let is_split = options.contains(&"-gsplit-dwarf");
        let expected = expected.map(|name| name.replace("::open", if is_split { "::open() const" } else { "::open" }));
        assert_eq!(names, expected.into(), "{options:?}");
    }
}

/// Both of these are symbols, where nothing is inlined, and names of scopes, where everything is.
#[test]
fn a_function_has_one_name_inlined_or_not() {
    let inlined = names(SOURCE, &[], "_Z3runlPKc");
    let source = SOURCE.replace("__attribute__((always_inline))", "__attribute__((noinline))");
    let directory = tempfile::tempdir().expect("the temporary directory is writable");
    fs::write(directory.path().join("a.cpp"), source).expect("it is writable");
    let status = Command::new("g++").args(["-O0", "-o", "a", "a.cpp"]).current_dir(directory.path()).status();
    assert!(status.expect("`scripts/setup demo` installs g++").success());
    let path = directory.path().join("a");
    let bytes = fs::read(&path).expect("the program was built");
    let file = object::File::parse(&*bytes).expect("it is an ELF file");
    let symbols = file.symbols().filter(|symbol| symbol.is_definition() && symbol.size() > 0);
    let symbols = symbols.filter(|symbol| symbol.kind() == object::SymbolKind::Text);
    let compiled: BTreeSet<String> =
        symbols.flat_map(|symbol| names_in_file(&path, symbol.address()).expect("it has names")).collect();
    let missing: Vec<_> = inlined.difference(&compiled).collect();
    assert!(missing.is_empty(), "{missing:?} of {compiled:?}");
}
