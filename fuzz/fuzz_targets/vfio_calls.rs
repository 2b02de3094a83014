//! A driver that makes calls of VFIO as the input says, field by field: `cargo +nightly fuzz run vfio_calls`.
//!
//! Nothing panics, a refused call changes nothing, and the device reaches what the driver has given, at the bus addresses where it was given, and
//! nothing else. The memory is that of this process, which the device really maps.
//!
//! The modules are those of `prony-softnic-host` which answer a driver without a process: no public interface of that crate.
#![no_main]
#![allow(dead_code, reason = "a part of the modules is for what answers a process")]

#[path = "../../crates/softnic-host/src/dma_map.rs"]
mod dma_map;
#[path = "../../crates/softnic-host/src/guard.rs"]
mod guard;
#[path = "../../crates/softnic-host/src/iommu.rs"]
mod iommu;
#[path = "../../crates/softnic-host/src/mapped_file.rs"]
mod mapped_file;
// Paths within are relative to this directory.
#[path = "."]
mod vfio {
    #[path = "../../crates/softnic-host/src/vfio/abi.rs"]
    pub(crate) mod abi;
    #[path = "../../crates/softnic-host/src/vfio/config.rs"]
    pub(crate) mod config;
    #[path = "../../crates/softnic-host/src/vfio/conversation.rs"]
    pub(crate) mod conversation;
    #[path = "../../crates/softnic-host/src/vfio/machine.rs"]
    pub(crate) mod machine;
}

use libfuzzer_sys::fuzz_target;
use vfio::conversation::{Conversation, Source};

struct Bytes<'a>(&'a [u8]);

impl Source for Bytes<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut conversation = Conversation::new(Bytes(bytes));
    while conversation.step() {}
});
