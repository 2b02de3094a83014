//! State directories in a demo are tar archives: names and contents may be rewritten, the numbers
//! of a header may not, and its checksum has to follow.

use crate::file::read_up_to as fill;
pub(super) use crate::state_archive::BLOCK_BYTES;
use crate::state_archive::{CHECKSUM, SIZE, checksum, number};
use std::io::{self, Read};

/// Name, link name, user, group and prefix of a `ustar` header (POSIX pax, "ustar Interchange Format").
pub(super) const TEXTS: [std::ops::Range<usize>; 5] = [0..100, 157..257, 265..297, 297..329, 345..500];

/// Bytes of a content that are given at once.
const CONTENT_BYTES: usize = 1 << 18;

/// Elements of an archive, in the order of the file.
pub(super) enum Event<'a> {
    /// A header; after a change of its texts, [`mend`] is due.
    Header(&'a mut [u8; BLOCK_BYTES]),
    /// A piece of what follows a header, padding included; `last`: nothing more of it comes.
    Content { bytes: &'a [u8], last: bool },
}

/// Reads an archive to its end. What does not look like a header ends it; from there on all bytes
/// are one content.
///
/// # Errors
/// Those of `from` and of `each`.
pub(super) fn walk<E: From<io::Error>>(
    mut from: impl Read,
    mut each: impl FnMut(Event<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut header = [0; BLOCK_BYTES];
    let mut buffer = vec![0; CONTENT_BYTES];
    loop {
        let found = fill(&mut from, &mut header)?;
        let size = number(&header[SIZE]).filter(|_| number(&header[CHECKSUM]) == Some(checksum(&header)));
        match size {
            _ if found == 0 => return Ok(()),
            _ if found == BLOCK_BYTES && header.iter().all(|&byte| byte == 0) => {
                each(Event::Content { bytes: &header, last: true })?;
            }
            Some(size) if found == BLOCK_BYTES => {
                each(Event::Header(&mut header))?;
                // A size that is no multiple of a block any more cannot be: the archive ends before.
                contents(
                    &mut from,
                    size.checked_next_multiple_of(BLOCK_BYTES as u64).unwrap_or(u64::MAX),
                    &mut buffer,
                    &mut each,
                )?;
            }
            _ => {
                each(Event::Content { bytes: header.get(..found).unwrap_or_default(), last: false })?;
                contents(&mut from, u64::MAX, &mut buffer, &mut each)?;
                return Ok(());
            }
        }
    }
}

fn contents<E: From<io::Error>>(
    from: &mut impl Read,
    mut size: u64,
    buffer: &mut [u8],
    each: &mut impl FnMut(Event<'_>) -> Result<(), E>,
) -> Result<(), E> {
    if size == 0 {
        return Ok(());
    }
    loop {
        let wanted = buffer.len().min(usize::try_from(size).unwrap_or(usize::MAX));
        let found = fill(from, buffer.get_mut(..wanted).unwrap_or_default())?;
        size -= found as u64;
        let last = found < wanted || size == 0;
        each(Event::Content { bytes: buffer.get(..found).unwrap_or_default(), last })?;
        if last {
            return Ok(());
        }
    }
}

/// Makes the checksum of a header right again.
pub(super) fn mend(header: &mut [u8; BLOCK_BYTES]) {
    let sum = checksum(header);
    header[CHECKSUM].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

/// A text field of a header.
#[expect(clippy::indexing_slicing, reason = "fields of a header lie within it, and are written here as constants")]
pub(super) fn text(header: &[u8; BLOCK_BYTES], field: std::ops::Range<usize>) -> &[u8] {
    &header[field]
}

/// As [`text`], to be changed.
#[expect(clippy::indexing_slicing, reason = "as for `text`")]
pub(super) fn text_mut(header: &mut [u8; BLOCK_BYTES], field: std::ops::Range<usize>) -> &mut [u8] {
    &mut header[field]
}

/// The path that a header gives its entry.
pub(super) fn entry_name(header: &[u8; BLOCK_BYTES]) -> Vec<u8> {
    let field = |range: std::ops::Range<usize>| {
        text(header, range).split(|&byte| byte == 0).next().unwrap_or_default().to_vec()
    };
    match field(345..500) {
        prefix if prefix.is_empty() => field(0..100),
        prefix => [prefix, b"/".to_vec(), field(0..100)].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str, content: &[u8]) -> Vec<u8> {
        let mut header = vec![0; BLOCK_BYTES];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[100..107].copy_from_slice(b"0000644");
        header[SIZE].copy_from_slice(format!("{:011o}\0", content.len()).as_bytes());
        header[257..263].copy_from_slice(b"ustar\0");
        let sum = checksum(&header);
        header[CHECKSUM].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let mut all = [&header, content].concat();
        all.resize(all.len().next_multiple_of(BLOCK_BYTES), 0);
        all
    }

    fn swap(text: &mut [u8]) {
        for at in 0..text.len().saturating_sub(2) {
            if &text[at..at + 3] == b"bob" || &text[at..at + 3] == b"064" {
                text[at..at + 3].copy_from_slice(b"tim");
            }
        }
    }

    /// The archive with every text swapped, and how many contents it has.
    fn swapped(archive: &[u8]) -> (Vec<u8>, usize) {
        let (mut all, mut contents) = (Vec::new(), 0);
        let walked = walk(archive, |event| -> io::Result<()> {
            match event {
                Event::Header(header) => {
                    TEXTS.into_iter().for_each(|field| swap(&mut header[field]));
                    mend(header);
                    all.extend_from_slice(header);
                }
                Event::Content { bytes, last } => {
                    all.extend_from_slice(bytes);
                    let start = all.len() - bytes.len();
                    swap(&mut all[start..]);
                    contents += usize::from(last);
                }
            }
            Ok(())
        });
        walked.expect("memory does not fail");
        (all, contents)
    }

    #[test]
    fn names_and_contents_change_and_headers_stay_valid() {
        let archive = [member("bob.cfg", b"name bob 064"), member("x", &[b'b'; 600]), vec![0; 1024]].concat();
        let expected = [member("tim.cfg", b"name tim tim"), member("x", &[b'b'; 600]), vec![0; 1024]].concat();
        assert!(swapped(&archive) == (expected, 4));
    }

    #[test]
    fn what_is_no_archive_and_what_ends_early_is_text() {
        let bytes = [b"bob ".repeat(300), b"bob".to_vec()].concat();
        let (all, contents) = swapped(&bytes);
        assert_eq!((all.len(), contents), (bytes.len(), 1));
        assert!(all.ends_with(b"tim tim"));
        let cut = &member("x", &[b'b'; 600])[..700];
        assert_eq!(swapped(cut), (cut.to_vec(), 1));
        assert_eq!(swapped(b""), (Vec::new(), 0));
    }

    #[test]
    fn an_entry_is_named_by_prefix_and_name() {
        let mut header: [u8; BLOCK_BYTES] = member("name", b"")[..BLOCK_BYTES].try_into().expect("a block");
        assert_eq!(entry_name(&header), b"name");
        header[345..348].copy_from_slice(b"a/b");
        assert_eq!(entry_name(&header), b"a/b/name");
    }
}
