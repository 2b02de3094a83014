//! `prony demo …`: looks into a demo.

pub mod anonymize;
pub mod dump;
pub mod frames;
pub mod info;
pub mod pack;
pub mod pcap;
pub mod verify;

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use prony_demo::{Demo, FrameEntry, Head};

use crate::failure::Failure;

/// A demo that is open for reading.
pub type OpenDemo = Demo<BufReader<File>>;

/// Opens a demo; says on standard error when it ends early, as every verb shows what remains.
///
/// # Errors
/// When nothing of it can be read.
pub fn open(verb: &str, path: &Path) -> Result<OpenDemo, Failure> {
    let demo = open_quietly(verb, path)?;
    if let Some(truncation) = demo.truncation() {
        eprintln!("warning: {} ends early: {truncation}", path.display());
    }
    Ok(demo)
}

/// Opens a demo for a verb that itself says how it ends.
///
/// # Errors
/// When nothing of it can be read.
pub fn open_quietly(verb: &str, path: &Path) -> Result<OpenDemo, Failure> {
    let file = File::open(path).map_err(|error| Failure::demo(verb, path, &error.into()))?;
    Demo::open(BufReader::new(file)).map_err(|error| Failure::demo(verb, path, &error))
}

/// Says for each record in turn which frame was going on.
#[derive(Debug, Default)]
pub struct FrameOf {
    frame: usize,
}

impl FrameOf {
    /// A place in the middle of a demo.
    pub fn from_frame(frame: u64) -> FrameOf {
        FrameOf { frame: usize::try_from(frame).unwrap_or(usize::MAX) }
    }

    /// The frame of this record: that of process 0, by which all processes are told.
    pub fn of(&mut self, frames: &[FrameEntry], process: u16, record: &[u8]) -> u64 {
        if process == 0
            && let Some(head) = Head::from_bytes(record)
        {
            while frames.get(self.frame).is_some_and(|frame| frame.last_record < head.order) {
                self.frame += 1;
            }
        }
        self.frame as u64
    }
}
