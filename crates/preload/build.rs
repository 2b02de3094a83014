//! Tells dependents where this crate's sources are: `prony-replay` builds the library from them.

use std::env;
use std::path::Path;

fn main() {
    let here = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it for build scripts");
    println!("cargo::metadata=root={here}");
    println!("cargo::metadata=channel={}", Path::new(&here).join("../channel/src").display());
    println!("cargo::metadata=demo={}", Path::new(&here).join("../demo/src").display());
    println!("cargo::rerun-if-changed=build.rs");
}
