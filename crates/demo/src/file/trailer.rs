//! Facts that are known only when a recording ends.

use super::error::BlockProblem;
use super::fields;
use super::varint::{self, Input};

/// Files that the server touched, its end, and the totals of the demo.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trailer {
    /// Files that the server opened.
    pub files: Vec<FileEntry>,
    /// Objects that were loaded into the server.
    pub objects: Vec<ObjectEntry>,
    /// Exit code or signal with which the server ended.
    pub exit: Exit,
    /// Totals of the demo; [`crate::Writer::finish`] counts them and overrides this field.
    pub totals: Totals,
    /// Duration of the recording, in nanoseconds.
    pub duration_ns: u64,
    /// Messages about everything that could not be recorded.
    pub notes: Vec<String>,
    /// Paths of the objects in which reads from the processor were not followed, as they were not searched in time.
    pub unsearched: Vec<Vec<u8>>,
}

/// A file that the server opened.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileEntry {
    /// Absolute path of the file.
    pub path: Vec<u8>,
    /// Size in bytes; 0 for a file that the server wrote or that a state directory holds.
    pub size_bytes: u64,
    /// Hash computed by the recorder; all zero when the file was not hashed.
    pub hash: [u8; 32],
    /// Use of the file by the server.
    pub role: FileRole,
    /// Under whose path its content is in [`crate::FILES_ARCHIVE`]: the place in [`Trailer::files`] of this entry, or of
    /// an equal one.
    pub content: Option<u32>,
}

/// Uses of a file by a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FileRole {
    /// File that was only read: must exist, and be equal, for a replay.
    #[default]
    Read,
    /// Written outside of any state directory.
    Written,
    /// File in a state directory, restored for each replay.
    State,
    /// The executable of the server itself.
    Executable,
    /// Looked for and not there.
    Missing,
    /// File that was only read, and that a program without records wrote while the server ran.
    WrittenByOthers,
    /// A role that this version does not know.
    Other(u8),
}

impl FileRole {
    /// True for a file that the server only read.
    pub const fn is_read(self) -> bool {
        matches!(self, FileRole::Read | FileRole::WrittenByOthers)
    }

    const fn number(self) -> u8 {
        match self {
            FileRole::Read => 0,
            FileRole::Written => 1,
            FileRole::State => 2,
            FileRole::Executable => 3,
            FileRole::Missing => 4,
            FileRole::WrittenByOthers => 5,
            FileRole::Other(number) => number,
        }
    }

    const fn from_number(number: u8) -> FileRole {
        match number {
            0 => FileRole::Read,
            1 => FileRole::Written,
            2 => FileRole::State,
            3 => FileRole::Executable,
            4 => FileRole::Missing,
            5 => FileRole::WrittenByOthers,
            _ => FileRole::Other(number),
        }
    }
}

/// An object that was loaded into the server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ObjectEntry {
    /// Absolute path of the object, as bytes.
    pub path: Vec<u8>,
    /// GNU build ID; empty when there is none.
    pub build_id: Vec<u8>,
}

/// Ways in which a recorded server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Exit {
    /// The server exited with this code.
    Code(i32),
    /// This signal ended the server.
    Signal(i32),
    /// The recording ended before the server did.
    #[default]
    Cut,
}

/// Counts of the content of a demo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Number of processes that have records.
    pub processes: u32,
    /// Number of records, of all processes.
    pub records: u64,
    /// Number of frames of process 0.
    pub frames: u64,
    /// Blocks, from the header to the commit marker.
    pub blocks: u32,
    /// Bytes of all records in their raw form.
    pub raw_bytes: u64,
    /// Bytes of all state archives.
    pub state_bytes: u64,
    /// Bytes of the whole file.
    pub file_bytes: u64,
}

const FILE: u64 = 1;
const OBJECT: u64 = 2;
const EXIT: u64 = 3;
const TOTALS: u64 = 4;
const DURATION: u64 = 5;
const NOTE: u64 = 6;
const UNSEARCHED: u64 = 7;

impl Trailer {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut field = Vec::new();
        for file in &self.files {
            field.clear();
            field.push(file.role.number());
            varint::put(&mut field, file.size_bytes);
            field.extend_from_slice(&file.hash);
            varint::put_bytes(&mut field, &file.path);
            if let Some(content) = file.content {
                varint::put(&mut field, u64::from(content));
            }
            fields::put(&mut out, FILE, &field);
        }
        for object in &self.objects {
            field.clear();
            varint::put_bytes(&mut field, &object.path);
            varint::put_bytes(&mut field, &object.build_id);
            fields::put(&mut out, OBJECT, &field);
        }
        let (kind, value) = match self.exit {
            Exit::Code(code) => (0, code),
            Exit::Signal(signal) => (1, signal),
            Exit::Cut => (2, 0),
        };
        field.clear();
        field.push(kind);
        varint::put_signed(&mut field, i64::from(value));
        fields::put(&mut out, EXIT, &field);
        let Totals { processes, records, frames, blocks, raw_bytes, state_bytes, file_bytes: _ } = self.totals;
        field.clear();
        for number in [u64::from(processes), records, frames, u64::from(blocks), raw_bytes, state_bytes] {
            varint::put(&mut field, number);
        }
        fields::put(&mut out, TOTALS, &field);
        fields::put_number(&mut out, DURATION, self.duration_ns);
        for note in &self.notes {
            fields::put(&mut out, NOTE, note.as_bytes());
        }
        for path in &self.unsearched {
            fields::put(&mut out, UNSEARCHED, path);
        }
        out
    }

    /// `file_bytes`: the size of the file, which cannot stand in itself.
    pub(crate) fn from_bytes(bytes: &[u8], file_bytes: u64) -> Result<Trailer, BlockProblem> {
        let mut trailer = Trailer::default();
        fields::each(bytes, "trailer field", |tag, field| {
            let mut input = Input::new(field);
            match tag {
                FILE => trailer.files.push(FileEntry {
                    role: FileRole::from_number(input.byte()?),
                    size_bytes: input.number()?,
                    hash: input.bytes(32)?.try_into().ok()?,
                    path: input.prefixed()?.to_vec(),
                    content: if input.is_empty() { None } else { Some(input.fitting()?) },
                }),
                OBJECT => trailer
                    .objects
                    .push(ObjectEntry { path: input.prefixed()?.to_vec(), build_id: input.prefixed()?.to_vec() }),
                EXIT => {
                    let (kind, value) = (input.byte()?, i32::try_from(input.signed()?).ok()?);
                    trailer.exit = match kind {
                        0 => Exit::Code(value),
                        1 => Exit::Signal(value),
                        2 => Exit::Cut,
                        _ => return None,
                    };
                }
                TOTALS => {
                    trailer.totals = Totals {
                        processes: input.fitting()?,
                        records: input.number()?,
                        frames: input.number()?,
                        blocks: input.fitting()?,
                        raw_bytes: input.number()?,
                        state_bytes: input.number()?,
                        file_bytes,
                    }
                }
                DURATION => trailer.duration_ns = input.number()?,
                NOTE => trailer.notes.push(fields::text(field)?),
                UNSEARCHED => trailer.unsearched.push(field.to_vec()),
                _ => {}
            }
            Some(())
        })?;
        Ok(trailer)
    }
}
