//! `prony bench` and `prony selftest` on small real programs.

mod answers;
mod failures;
mod layouts;
mod several;
mod workers;

use std::process::Command;

use prony_testing::scratch::Scratch;

/// A directory for a test of this suite.
fn scratch() -> Scratch {
    Scratch::new("bench")
}

/// Compiles the program of known work to `./burn`.
fn compile_burn(scratch: &Scratch) {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../subjects/burn/burn.c");
    let built = Command::new("cc").args(["-O1", "-pthread", "-o"]).arg(scratch.file("burn")).arg(source).status();
    assert!(built.expect("cc is there: apt-get install gcc libc6-dev").success());
}
