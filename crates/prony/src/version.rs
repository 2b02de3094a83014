//! What this build is: version, commit, features.

use std::sync::LazyLock;

use prony_replay::has_i386;

/// Version and commit: `0.1.0 (0123456789ab)`; without the commit if the source did not have it.
pub fn short() -> &'static str {
    static SHORT: LazyLock<String> = LazyLock::new(|| match option_env!("PRONY_COMMIT") {
        Some(commit) if !commit.is_empty() => format!("{} ({commit})", env!("CARGO_PKG_VERSION")),
        _ => env!("CARGO_PKG_VERSION").to_owned(),
    });
    &SHORT
}

/// Version, commit, target and features, a line each.
pub fn long() -> &'static str {
    static LONG: LazyLock<String> = LazyLock::new(|| {
        let i386 = if has_i386() { "yes" } else { "no: built without a compiler for i386" };
        let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
        format!("{}\ntarget: {}\nprofile: {profile}\n32-bit servers: {i386}", short(), env!("PRONY_TARGET"))
    });
    &LONG
}
