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
    let crates = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("..");
    let preload = crates.join("preload");
    for path in ["src", "build.rs", "Cargo.toml", "../channel/src", "../demo/src"] {
        println!("cargo::rerun-if-changed={}", preload.join(path).display());
    }
    println!("cargo::rerun-if-changed=build.rs");

    let target = variable("TARGET");
    let status = Command::new(variable("CARGO"))
        .args(["build", "--quiet", "--release", "--lib"])
        .args(["--target", &target])
        .arg("--manifest-path")
        .arg(preload.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(out.join("preload"))
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
        .env_remove("CLIPPY_ARGS")
        .status()
        .expect("cargo is running this script, so it can be run");
    assert!(status.success(), "the preload library did not build");
    let library = out.join("preload").join(target).join("release/libprony_preload.so");
    println!("cargo::rustc-env=PRONY_PRELOAD_LIBRARY={}", library.display());
}
