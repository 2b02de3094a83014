//! `prony demo …`: looks into a demo.

pub mod anonymize;
pub mod dump;
pub mod frames;
pub mod info;
pub mod pack;
pub mod pcap;
pub mod verify;
pub mod view;

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use prony_demo::{Demo, FramesIter, Head};

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
#[derive(Debug)]
pub struct FrameOf<'a> {
    frame: u64,
    /// Place of the last record of that frame, if it is whole, and the frames behind it.
    last_record: Option<u64>,
    frames: FramesIter<'a>,
}

impl<'a> FrameOf<'a> {
    /// Iterator for records from frame `first` on.
    pub fn from_frame(mut frames: FramesIter<'a>, first: u64) -> FrameOf<'a> {
        let last_record = frames.nth(usize::try_from(first).unwrap_or(usize::MAX)).map(|frame| frame.last_record);
        FrameOf { frame: first, last_record, frames }
    }

    /// The frame of this record: that of process 0, which counts for all processes.
    pub fn of(&mut self, process: u16, record: &[u8]) -> u64 {
        if process == 0
            && let Some(head) = Head::from_bytes(record)
        {
            while self.last_record.is_some_and(|last| last < head.order) {
                self.frame += 1;
                self.last_record = self.frames.next().map(|frame| frame.last_record);
            }
        }
        self.frame
    }
}
