//! The archive of a state directory, walked member by member. The maker of the demo wrote it, so nothing in it is
//! trusted: names lead below the directory or are refused, texts have a limit, and what is read is counted.

use std::io::{self, Read};

/// Bytes of a header, and what contents are padded to.
pub(crate) const BLOCK_BYTES: usize = 512;
pub(crate) const SIZE: std::ops::Range<usize> = 124..136;
pub(crate) const CHECKSUM: std::ops::Range<usize> = 148..156;

/// Longest name, target of a link, or extended header. Linux takes paths of 4,096 bytes (`PATH_MAX`).
const MOST_TEXT_BYTES: u64 = 1 << 16;
/// Most runs of data in one file with holes.
const MOST_RUNS: usize = 1 << 20;

/// Limits on the part of an archive that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchiveLimits {
    /// Bytes of the archive itself, which are never fewer than those of the files in it.
    pub bytes: u64,
    /// Headers in the archive, one for each member and each extension.
    pub entries: u64,
}

/// Reasons to stop reading an archive.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The stream could not be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A header, or what belongs to it, cannot be understood.
    #[error("header at byte {at:#x} of the archive: {what}")]
    Header {
        /// Offset of the header in the archive.
        at: u64,
        /// Problem of the header, for the message.
        what: &'static str,
    },
    /// A name that does not lead below the directory.
    #[error("name `{name}` at byte {at:#x} of the archive: expected a path below the directory")]
    Name {
        /// Offset of the header in the archive.
        at: u64,
        /// Name of the member; bytes that are not UTF-8 are replaced.
        name: String,
    },
    /// Something other than a directory, a file or a symbolic link.
    #[error(
        "`{name}` at byte {at:#x} of the archive: expected a file, directory or symbolic link, found type `{}`",
        .kind.escape_ascii()
    )]
    Kind {
        /// Offset of the header in the archive.
        at: u64,
        /// Name of the member; bytes that are not UTF-8 are replaced.
        name: String,
        /// The type of the header.
        kind: u8,
    },
    /// The archive has more bytes than are allowed.
    #[error("more than {limit} bytes")]
    MoreBytes {
        /// Largest permitted number of bytes.
        limit: u64,
    },
    /// The archive has more entries than are allowed.
    #[error("more than {limit} entries")]
    MoreEntries {
        /// Largest permitted number of entries.
        limit: u64,
    },
}

/// Kind of an archive member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberKind {
    /// Member that is a directory.
    Directory,
    /// A regular file, whose content [`StateArchiveWalk::next_run`] gives.
    File {
        /// Length in bytes, including holes.
        bytes: u64,
    },
    /// A symbolic link, which is never followed.
    Link {
        /// Target of the link, which may be anything.
        target: Vec<u8>,
    },
}

/// Member of an archive: its header, without the content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Names of the directories that lead to it and its own, none of them `.`, `..` or empty. No names at all: the
    /// archived directory itself.
    pub path: Vec<Vec<u8>>,
    /// Kind of the member: directory, file or link.
    pub kind: MemberKind,
    /// Permissions, with the bits for set-user-id, set-group-id and sticky.
    pub mode: u32,
    /// Numeric id of the owner.
    pub user: u32,
    /// Numeric id of the group.
    pub group: u32,
    /// Modification time: seconds since 1970-01-01 UTC, and nanoseconds.
    pub changed: (i64, u32),
}

impl Member {
    /// The path as text, `.` for the archived directory itself.
    pub fn shown(&self) -> String {
        if self.path.is_empty() { ".".to_owned() } else { String::from_utf8_lossy(&self.path.join(&b'/')).into_owned() }
    }
}

/// Walks over the members of an archive.
#[derive(Debug)]
pub struct StateArchiveWalk<R> {
    from: R,
    limits: ArchiveLimits,
    /// Bytes and headers so far.
    at: u64,
    entries: u64,
    /// Runs of data of the member at hand: place in the file and length; the first one is next.
    runs: std::vec::IntoIter<(u64, u64)>,
    run: (u64, u64),
    /// Bytes between the data of the member at hand and the next header.
    padding: u64,
}

/// Fields of extended headers for the member that follows them.
#[derive(Debug, Default)]
struct Extended {
    name: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
    bytes: Option<u64>,
    user: Option<u32>,
    group: Option<u32>,
    changed: Option<(i64, u32)>,
    any: bool,
}

impl<R: Read> StateArchiveWalk<R> {
    /// Begins with the first member.
    pub fn new(from: R, limits: ArchiveLimits) -> StateArchiveWalk<R> {
        StateArchiveWalk { from, limits, at: 0, entries: 0, runs: Vec::new().into_iter(), run: (0, 0), padding: 0 }
    }

    /// Bytes and entries read so far.
    pub fn used(&self) -> ArchiveLimits {
        ArchiveLimits { bytes: self.at, entries: self.entries }
    }

    /// The next member; `None` behind the last one. What was not read of the one before is passed over.
    ///
    /// # Errors
    /// [`ArchiveError`]; the archive should not be read on then.
    pub fn next_member(&mut self) -> Result<Option<Member>, ArchiveError> {
        self.pass_content()?;
        let mut extended = Extended::default();
        loop {
            let at = self.at;
            let Some(header) = self.header()? else {
                return if extended.any { Err(wrong(at, "missing after an extended header")) } else { Ok(None) };
            };
            self.entries += 1;
            if self.entries > self.limits.entries {
                return Err(ArchiveError::MoreEntries { limit: self.limits.entries });
            }
            let bytes = number(&header[SIZE]).ok_or(wrong(at, "the size is not a number"))?;
            match header[156] {
                b'L' => extended.name = Some(self.text(at, bytes)?),
                b'K' => extended.target = Some(self.text(at, bytes)?),
                b'x' => {
                    extended.read(&self.extended_text(at, bytes)?).ok_or(wrong(at, "extended header unreadable"))?
                }
                b'g' => {
                    self.pass(bytes)?;
                    self.pass(padding(bytes))?;
                    continue;
                }
                _ => return self.member(at, &header, bytes, extended).map(Some),
            }
            extended.any = true;
        }
    }

    fn member(
        &mut self,
        at: u64,
        header: &[u8; BLOCK_BYTES],
        bytes: u64,
        extended: Extended,
    ) -> Result<Member, ArchiveError> {
        let bytes = extended.bytes.unwrap_or(bytes);
        let name = extended.name.unwrap_or_else(|| name_of(header));
        let path = path_of(&name);
        let shown = || String::from_utf8_lossy(&name).into_owned();
        let path = path.ok_or_else(|| ArchiveError::Name { at, name: shown() })?;
        self.runs = Vec::new().into_iter();
        self.run = (0, bytes);
        self.padding = padding(bytes);
        let kind = match header[156] {
            b'0' | 0 | b'7' => MemberKind::File { bytes },
            b'S' => MemberKind::File { bytes: self.sparse(at, header, bytes)? },
            b'5' => MemberKind::Directory,
            b'2' => {
                let target = extended.target.unwrap_or_else(|| until_zero(&header[157..257]).to_vec());
                if target.is_empty() || target.contains(&0) {
                    return Err(wrong(at, "the link has no target"));
                }
                MemberKind::Link { target }
            }
            kind => return Err(ArchiveError::Kind { at, name: shown(), kind }),
        };
        if path.is_empty() && kind != MemberKind::Directory {
            return Err(ArchiveError::Name { at, name: shown() });
        }
        let id = |field: &[u8]| number(field).and_then(|id| u32::try_from(id).ok());
        let owner = |of: Option<u32>, field: &[u8]| {
            // The last number means "as it is" to the kernel.
            of.or_else(|| id(field)).filter(|&id| id != u32::MAX).ok_or(wrong(at, "the owner is not a number"))
        };
        let seconds = number(&header[136..148]).and_then(|seconds| i64::try_from(seconds).ok());
        Ok(Member {
            path,
            kind,
            mode: id(&header[100..108]).ok_or(wrong(at, "the mode is not a number"))? & 0o7777,
            user: owner(extended.user, &header[108..116])?,
            group: owner(extended.group, &header[116..124])?,
            changed: extended.changed.or(seconds.map(|s| (s, 0))).ok_or(wrong(at, "the time is not a number"))?,
        })
    }

    /// Reads where the data of a file with holes belongs (GNU tar, "Sparse formats, Old GNU Format"); returns the
    /// length of the file.
    fn sparse(&mut self, at: u64, header: &[u8; BLOCK_BYTES], stored: u64) -> Result<u64, ArchiveError> {
        let unreadable = || wrong(at, "the sparse map cannot be read");
        if &header[257..265] != b"ustar  \0" {
            return Err(unreadable());
        }
        let mut runs = Vec::new();
        let (mut end, mut data) = (0u64, 0u64);
        let mut add = |map: &[u8]| {
            for [from, length] in map.as_chunks::<12>().0.as_chunks().0 {
                if from.first() == Some(&0) || length.first() == Some(&0) {
                    continue;
                }
                let (from, length) = number(from).zip(number(length))?;
                let (until, all) = from.checked_add(length).zip(data.checked_add(length))?;
                if from < end || all > stored || runs.len() == MOST_RUNS {
                    return None;
                }
                runs.push((from, length));
                (end, data) = (until, all);
            }
            Some(())
        };
        add(&header[386..482]).ok_or_else(unreadable)?;
        let mut more = header[482] != 0;
        while more {
            let mut block = [0; BLOCK_BYTES];
            self.read_exact(&mut block)?;
            add(&block[..504]).ok_or_else(unreadable)?;
            more = block[504] != 0;
        }
        let bytes = number(&header[483..495]).filter(|&bytes| bytes >= end && data == stored);
        self.run = (0, 0);
        self.runs = runs.into_iter();
        bytes.ok_or_else(unreadable)
    }

    /// Fills `buffer` with the next bytes of the member at hand: their place in the file and how many they are;
    /// `None` behind the last ones. What is left out between two runs is a hole.
    ///
    /// # Errors
    /// [`ArchiveError::Io`] also where the archive ends too early.
    pub fn next_run(&mut self, buffer: &mut [u8]) -> Result<Option<(u64, usize)>, ArchiveError> {
        while self.run.1 == 0 {
            let Some(run) = self.runs.next() else { return Ok(None) };
            self.run = run;
        }
        let (place, left) = self.run;
        let bytes = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        self.read_exact(buffer.get_mut(..bytes).unwrap_or_default())?;
        self.run = (place + bytes as u64, left - bytes as u64);
        Ok(Some((place, bytes)))
    }

    fn pass_content(&mut self) -> Result<(), ArchiveError> {
        let mut left = std::mem::take(&mut self.run).1;
        for (_, length) in std::mem::take(&mut self.runs) {
            left += length;
        }
        self.pass(left)?;
        let padding = std::mem::take(&mut self.padding);
        self.pass(padding)
    }

    /// The next header, its checksum checked; `None` at the end of the archive.
    fn header(&mut self) -> Result<Option<[u8; BLOCK_BYTES]>, ArchiveError> {
        let mut header = [0; BLOCK_BYTES];
        let at = self.at;
        let found = crate::file::read_up_to(&mut self.from, &mut header)?;
        self.count(found as u64)?;
        if header.iter().all(|&byte| byte == 0) {
            return Ok(None);
        }
        if found < BLOCK_BYTES {
            return Err(wrong(at, "the archive ends in it"));
        }
        if number(&header[CHECKSUM]) != Some(checksum(&header)) {
            return Err(wrong(at, "its checksum is wrong"));
        }
        Ok(Some(header))
    }

    /// The content of an extended header.
    fn extended_text(&mut self, at: u64, bytes: u64) -> Result<Vec<u8>, ArchiveError> {
        if bytes > MOST_TEXT_BYTES {
            return Err(wrong(at, "a name or extended header has more than 65,536 bytes"));
        }
        let mut text = vec![0; bytes as usize];
        self.read_exact(&mut text)?;
        self.pass(padding(bytes))?;
        Ok(text)
    }

    /// The same up to the first zero byte.
    fn text(&mut self, at: u64, bytes: u64) -> Result<Vec<u8>, ArchiveError> {
        let mut text = self.extended_text(at, bytes)?;
        text.truncate(until_zero(&text).len());
        Ok(text)
    }

    fn count(&mut self, bytes: u64) -> Result<(), ArchiveError> {
        let at = self.at.checked_add(bytes).filter(|&at| at <= self.limits.bytes);
        self.at = at.ok_or(ArchiveError::MoreBytes { limit: self.limits.bytes })?;
        Ok(())
    }

    fn read_exact(&mut self, buffer: &mut [u8]) -> Result<(), ArchiveError> {
        self.count(buffer.len() as u64)?;
        Ok(self.from.read_exact(buffer)?)
    }

    fn pass(&mut self, bytes: u64) -> Result<(), ArchiveError> {
        self.count(bytes)?;
        let passed = io::copy(&mut (&mut self.from).take(bytes), &mut io::sink())?;
        if passed < bytes {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        Ok(())
    }
}

impl Extended {
    /// Records of POSIX pax: a length that counts itself, a space, key, `=`, value, newline. Keys that are not known
    /// here say nothing that a replay needs.
    fn read(&mut self, mut records: &[u8]) -> Option<()> {
        while !records.is_empty() {
            let space = records.iter().position(|&byte| byte == b' ')?;
            let length: usize = std::str::from_utf8(records.get(..space)?).ok()?.parse().ok()?;
            let (record, rest) = records.split_at_checked(length)?;
            let record = record.get(space + 1..)?.strip_suffix(b"\n")?;
            let equals = record.iter().position(|&byte| byte == b'=')?;
            let (key, value) = (record.get(..equals)?, record.get(equals + 1..)?);
            let text = || std::str::from_utf8(value).ok();
            match key {
                b"path" => self.name = Some(value.to_vec()),
                b"linkpath" => self.target = Some(value.to_vec()),
                b"size" => self.bytes = Some(text()?.parse().ok()?),
                b"uid" => self.user = Some(text()?.parse().ok()?),
                b"gid" => self.group = Some(text()?.parse().ok()?),
                b"mtime" => self.changed = Some(time_of(text()?)?),
                // Another form of files with holes: without the map the content would be another one.
                _ if key.starts_with(b"GNU.sparse") => return None,
                _ => {}
            }
            records = rest;
        }
        Some(())
    }
}

/// Seconds with decimals behind a point, before 1970 with a minus.
fn time_of(text: &str) -> Option<(i64, u32)> {
    let (seconds, decimals) = text.split_once('.').unwrap_or((text, ""));
    let whole: i64 = seconds.parse().ok()?;
    let digits: String = decimals.chars().chain("000000000".chars()).take(9).collect();
    let nanoseconds: u32 = digits.parse().ok()?;
    Some(match (seconds.starts_with('-'), nanoseconds) {
        (_, 0) | (false, _) => (whole, nanoseconds),
        (true, _) => (whole.checked_sub(1)?, 1_000_000_000 - nanoseconds),
    })
}

fn wrong(at: u64, what: &'static str) -> ArchiveError {
    ArchiveError::Header { at, what }
}

fn padding(bytes: u64) -> u64 {
    bytes.wrapping_neg() % BLOCK_BYTES as u64
}

fn until_zero(field: &[u8]) -> &[u8] {
    field.split(|&byte| byte == 0).next().unwrap_or(field)
}

/// The name in a header itself: with a prefix in those of POSIX, whose magic GNU's differs from.
fn name_of(header: &[u8; BLOCK_BYTES]) -> Vec<u8> {
    let name = until_zero(&header[..100]);
    match until_zero(&header[345..500]) {
        prefix if &header[257..263] == b"ustar\0" && !prefix.is_empty() => [prefix, b"/", name].concat(),
        _ => name.to_vec(),
    }
}

/// The components of a name that leads below the directory.
fn path_of(name: &[u8]) -> Option<Vec<Vec<u8>>> {
    if name.is_empty() || name.starts_with(b"/") || name.contains(&0) {
        return None;
    }
    let components = name.split(|&byte| byte == b'/').filter(|part| !part.is_empty() && *part != b".");
    components.map(|part| (part != b"..").then(|| part.to_vec())).collect()
}

/// Digits, ended by a space or zero byte; GNU's base-256 form begins with a byte above 127.
pub(crate) fn number(field: &[u8]) -> Option<u64> {
    let (&first, rest) = field.split_first()?;
    if first & 0x80 != 0 {
        return rest
            .iter()
            .try_fold(u64::from(first & 0x7f), |value, &byte| value.checked_mul(256)?.checked_add(byte.into()));
    }
    let digits = field.iter().skip_while(|&&byte| byte == b' ').take_while(|byte| byte.is_ascii_digit());
    digits
        .map(|&digit| u64::from(digit - b'0'))
        .try_fold(0u64, |value, digit| if digit < 8 { value.checked_mul(8)?.checked_add(digit) } else { None })
}

/// The sum of the header's bytes, its own checksum counted as spaces.
pub(crate) fn checksum(header: &[u8]) -> u64 {
    let spaces = CHECKSUM.len() as u64 * u64::from(b' ');
    let outside = header.iter().enumerate().filter(|(place, _)| !CHECKSUM.contains(place));
    spaces + outside.map(|(_, &byte)| u64::from(byte)).sum::<u64>()
}

#[cfg(test)]
mod tests;
