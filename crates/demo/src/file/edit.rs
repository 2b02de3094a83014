//! Writes a demo again with some of its records changed.

use std::io::{Read, Seek, Write};

use super::error::{DemoError, WriteError};
use super::trailer::{Totals, Trailer};
use super::{Demo, Header, Writer, WriterOptions};

/// Reasons why a demo could not be rewritten.
#[derive(Debug, thiserror::Error)]
pub enum RewriteError {
    /// The demo could not be read.
    #[error(transparent)]
    Read(#[from] DemoError),
    /// The new one could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// An archive in a demo is read as a stream, whose errors are those of the demo.
impl From<std::io::Error> for RewriteError {
    fn from(error: std::io::Error) -> RewriteError {
        RewriteError::Read(error.into())
    }
}

/// Copies a demo; `edit` may change every record's raw bytes, their number included, or clear
/// them to leave the record out. A cut demo becomes a complete one that holds what remained.
///
/// # Errors
/// [`RewriteError`] from either side.
pub fn rewrite<R: Read + Seek, W: Write>(
    demo: &mut Demo<R>,
    out: W,
    edit: impl FnMut(u16, &mut Vec<u8>),
) -> Result<(W, Totals), RewriteError> {
    let header = demo.header().clone();
    let trailer = demo.trailer().cloned().unwrap_or_default();
    rewrite_with(demo, out, WriterOptions::default(), &header, &trailer, edit)
}

/// Copies a demo as [`rewrite`] does, with another header and trailer.
///
/// # Errors
/// [`RewriteError`] from either side.
pub fn rewrite_with<R: Read + Seek, W: Write>(
    demo: &mut Demo<R>,
    out: W,
    options: WriterOptions,
    header: &Header,
    trailer: &Trailer,
    edit: impl FnMut(u16, &mut Vec<u8>),
) -> Result<(W, Totals), RewriteError> {
    let mut writer = Writer::new(out, header, options)?;
    let archives = demo.archives();
    copy(demo, &mut writer, archives, edit)?;
    Ok(writer.finish(trailer)?)
}

/// Copies these archives of a demo and all of its records, as [`rewrite`] does, to a demo that goes on after them.
///
/// # Errors
/// [`RewriteError`] from either side.
pub fn copy<R: Read + Seek, W: Write>(
    demo: &mut Demo<R>,
    writer: &mut Writer<W>,
    archives: impl Iterator<Item = u32>,
    mut edit: impl FnMut(u16, &mut Vec<u8>),
) -> Result<(), RewriteError> {
    let mut bytes = vec![0; 1 << 20];
    for number in archives {
        let mut archive = demo.state_archive(number);
        loop {
            let read = archive.read(&mut bytes).map_err(DemoError::from)?;
            if read == 0 {
                break;
            }
            writer.state_chunk(number, bytes.get(..read).unwrap_or_default())?;
        }
    }
    let mut records = demo.records();
    let mut record = Vec::new();
    while let Some((process, raw)) = records.next()? {
        record.clear();
        record.extend_from_slice(raw);
        edit(process, &mut record);
        if !record.is_empty() {
            writer.push(process, &record)?;
        }
    }
    Ok(())
}
