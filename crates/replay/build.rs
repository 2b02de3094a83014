//! Builds the preload library, so that it can be carried inside the command.
//!
//! The library exports `recv`, `read` and many more: it must not be linked into an ordinary
//! program, so it cannot be a plain dependency. It is built apart, always optimised, with a panic
//! that aborts, because nothing may unwind into C.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    let variable = |name: &str| env::var(name).unwrap_or_else(|_| panic!("cargo sets {name} for build scripts"));
    let out = PathBuf::from(variable("OUT_DIR"));
    let preload = PathBuf::from(variable("DEP_PRONY_PRELOAD_ROOT"));
    for path in ["src", "Cargo.toml"] {
        println!("cargo::rerun-if-changed={}", preload.join(path).display());
    }
    println!("cargo::rerun-if-changed={}", variable("DEP_PRONY_PRELOAD_CHANNEL"));
    println!("cargo::rerun-if-changed={}", variable("DEP_PRONY_PRELOAD_DEMO"));
    println!("cargo::rerun-if-changed=build.rs");

    let target = variable("TARGET");
    let status = Command::new(variable("CARGO"))
        .args(["rustc", "--quiet", "--release", "--lib", "--crate-type", "cdylib", "--features", "hooks"])
        .args(["--target", &target])
        .arg("--manifest-path")
        .arg(preload.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(out.join("preload"))
        // Its initialiser runs before those of all other libraries, so that what they ask for while
        // they are loaded (randomness for the seed of a hash) is recorded too.
        .args(["--", "-C", "link-arg=-Wl,-z,initfirst"])
        // What it calls itself is its own: a program that exports a hooked function, as the runtime of
        // Erlang does `sigaction`, must neither be called by the library nor call itself through it.
        .args(["-C", "link-arg=-Wl,-Bsymbolic"])
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
        .env_remove("CLIPPY_ARGS")
        .status()
        .expect("cargo is running this script, so it can be run");
    assert!(status.success(), "the preload library did not build");
    let library = out.join("preload").join(target).join("release/libprony_preload.so");
    println!("cargo::rustc-env=PRONY_PRELOAD_LIBRARY={}", library.display());
}
