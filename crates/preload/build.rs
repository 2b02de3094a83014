//! Passes the linker options of the library.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Its initialiser runs before those of all other libraries, so that what they ask for while they are loaded
    // (randomness for the seed of a hash) is recorded too.
    println!("cargo::rustc-link-arg-cdylib=-Wl,-z,initfirst");
    // What it calls itself is its own: a program that exports a hooked function, as the runtime of Erlang does
    // `sigaction`, must neither be called by the library nor call itself through it.
    println!("cargo::rustc-link-arg-cdylib=-Wl,-Bsymbolic");
}
