//! Options with which the running kernel was built.

use std::fs::File;
use std::io::Read;

use crate::Tree;

/// A configuration is a quarter of this; a larger file is none.
const BYTES_MAX: u64 = 4 << 20;

/// True if the kernel was built with an option, such as `CONFIG_NO_HZ_FULL`; `None` if its configuration cannot be read.
pub(super) fn option(tree: &Tree, name: &str) -> Option<bool> {
    let text = configuration(tree)?;
    // An option whose requirements are not met has no line at all.
    Some(text.lines().any(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with("=y"))))
}

fn configuration(tree: &Tree) -> Option<String> {
    let unpacked = File::open(tree.place("/proc/config.gz")).ok().and_then(|file| {
        let mut text = String::new();
        flate2::read::GzDecoder::new(file).take(BYTES_MAX).read_to_string(&mut text).ok()?;
        Some(text)
    });
    unpacked.or_else(|| {
        let release = tree.line("/proc/sys/kernel/osrelease")?;
        // Debian's place, and that of Fedora and Arch.
        let places = [format!("/boot/config-{release}"), format!("/lib/modules/{release}/config")];
        places.iter().find_map(|place| tree.read(place).ok())
    })
}
