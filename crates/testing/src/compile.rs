//! C programs around the stock library.

use std::path::PathBuf;
use std::process::Command;

/// Compiles the text of a program, in place of what was compiled under that name before.
pub fn compile(name: &str, text: &str) -> PathBuf {
    let folder = crate::target_tmp();
    // Tests of several crates may compile it at once.
    let fresh = folder.join(format!("{name}-{}", std::process::id()));
    let (program, source) = (folder.join(name), fresh.with_extension("c"));
    std::fs::write(&source, text).expect("the folder is ours");
    let compiled = Command::new("cc")
        .args(["-O2", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&fresh)
        .arg(&source)
        .arg("-lenet")
        .output()
        .expect("a C compiler is installed: apt-get install gcc libc6-dev");
    assert!(
        compiled.status.success(),
        "the stock library is installed: apt-get install libenet-dev\n{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    std::fs::remove_file(&source).expect("it was just written");
    std::fs::rename(&fresh, &program).expect("the folder is ours");
    program
}
