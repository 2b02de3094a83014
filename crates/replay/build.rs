//! Builds the preload library, so that it can be carried inside the command: for this architecture, and on x86-64 for i386 as
//! well, if there is a compiler for that.
//!
//! The library exports `recv`, `read` and many more: it must not be linked into an ordinary
//! program, so it cannot be a plain dependency. It is built apart, always optimised, with a panic
//! that aborts, because nothing may unwind into C.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const I386: &str = "i686-unknown-linux-gnu";

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name} for build scripts"))
}

fn main() {
    let out = PathBuf::from(variable("OUT_DIR"));
    let crates = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("..");
    let preload = crates.join("preload");
    for path in ["src", "build.rs", "Cargo.toml", "../channel/src", "../demo/src"] {
        println!("cargo::rerun-if-changed={}", preload.join(path).display());
    }
    println!("cargo::rerun-if-changed=build.rs");

    let target = variable("TARGET");
    let library = built(&preload, &out.join("preload"), &target, None, &[]).expect("the preload library did not build");
    println!("cargo::rustc-env=PRONY_PRELOAD_LIBRARY={}", packed(&library, &out.join("library.zst")).display());

    let without = out.join("no-library-for-i386");
    fs::write(&without, []).expect("the directory of a build script can be written to");
    let library = if target.starts_with("x86_64") { for_i386(&crates.join(".."), &preload, &out) } else { None };
    let library = library.map(|library| packed(&library, &out.join("library-i386.zst")));
    println!("cargo::rustc-env=PRONY_PRELOAD_LIBRARY_I386={}", library.unwrap_or(without).display());
}

/// Compresses a library to a quarter, of which the command has to carry less.
fn packed(library: &Path, to: &Path) -> PathBuf {
    let image = fs::read(library).expect("the library was built");
    let packed = zstd::bulk::compress(&image, 19).expect("memory for compression");
    fs::write(to, packed).expect("the directory of a build script can be written to");
    to.to_owned()
}

/// Builds the library; `None` if that failed. `compiler`: another one than that of the workspace.
fn built(preload: &Path, to: &Path, target: &str, compiler: Option<&Path>, flags: &[String]) -> Option<PathBuf> {
    let mut command = Command::new(variable("CARGO"));
    command
        .args(["build", "--quiet", "--release", "--lib"])
        .args(["--target", target])
        .arg("--manifest-path")
        .arg(preload.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(to)
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "3")
        .env("CARGO_PROFILE_RELEASE_PANIC", "abort")
        .env("CARGO_PROFILE_RELEASE_LTO", "fat")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "line-tables-only")
        .env("CARGO_PROFILE_RELEASE_STRIP", "debuginfo")
        // Flags of an instrumented outer build (coverage, sanitizers) would pull their runtime into
        // the recorded server.
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("RUSTFLAGS")
        // Under `cargo clippy` these would check the library instead of building it.
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("RUSTC_WRAPPER")
        .env_remove("CLIPPY_ARGS");
    if let Some(compiler) = compiler {
        command.env("RUSTC", compiler);
    }
    if !flags.is_empty() {
        command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
    }
    let status = command.status().expect("cargo is running this script, so it can be run");
    status.success().then(|| to.join(target).join("release/libprony_preload.so"))
}

/// The library for programs of i386. A build without it is complete but for those, and says so when it records one.
fn for_i386(workspace: &Path, preload: &Path, out: &Path) -> Option<PathBuf> {
    println!("cargo::rerun-if-env-changed=PRONY_I386_RUSTC");
    // What `scripts/setup i386` has put there.
    let unpacked = workspace.join("target/i386/rustc");
    // A file that is missing counts as changed, each time. `scripts/setup` touches this script when it has made one.
    if unpacked.is_file() {
        println!("cargo::rerun-if-changed={}", unpacked.display());
    }
    let compiler = match env::var_os("PRONY_I386_RUSTC").map(PathBuf::from) {
        Some(named) => named,
        None if unpacked.is_file() => unpacked.canonicalize().ok()?,
        None => PathBuf::from(variable("RUSTC")),
    };
    if !has_standard_library(&compiler) || !links(out) {
        return None;
    }
    // The unwinder is linked into it: a machine with i386 servers may have no `libgcc_s.so.1` for them.
    let linked = out.join("linked-i386");
    fs::create_dir_all(&linked).expect("the directory of a build script can be written to");
    fs::write(linked.join("libgcc_s.so"), "INPUT(-lgcc_eh -lgcc)\n").expect("it was just made");
    // Not LLD, which is the default of some compilers: it refuses `R_386_TLS_LE` in a shared object, which the loader knows.
    let flags = [format!("-Lnative={}", linked.display()), "-Clink-arg=-fuse-ld=bfd".to_owned()];
    let library = built(preload, &out.join("preload-i386"), I386, Some(&compiler), &flags);
    if library.is_none() {
        println!("cargo::warning=the preload library for i386 did not build; 32-bit programs will not be recorded");
    }
    library
}

/// True if the compiler has a standard library for i386.
fn has_standard_library(compiler: &Path) -> bool {
    let output = Command::new(compiler).args(["--print", "target-libdir", "--target", I386]).output();
    let Ok(output) = output else { return false };
    let Ok(entries) = fs::read_dir(String::from_utf8_lossy(&output.stdout).trim()) else { return false };
    let is_it =
        |name: OsString| name.to_string_lossy().starts_with("libstd-") && name.to_string_lossy().ends_with(".rlib");
    entries.flatten().any(|entry| is_it(entry.file_name()))
}

/// True if the linker has what programs of i386 are linked with: the package `gcc-multilib`.
fn links(out: &Path) -> bool {
    let source = out.join("empty.c");
    fs::write(&source, "int main(void) { return 0; }\n").expect("the directory of a build script can be written to");
    let linker = env::var_os("CARGO_TARGET_I686_UNKNOWN_LINUX_GNU_LINKER").unwrap_or_else(|| "cc".into());
    let tried = Command::new(linker).arg("-m32").arg(&source).arg("-o").arg(out.join("empty")).output();
    tried.is_ok_and(|answer| answer.status.success())
}
