//! Names the library as programs look for it: they are linked to `libenet.so.7`, whatever the file is called.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libenet.so.7");
}
