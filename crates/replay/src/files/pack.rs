//! Files that a server only read, in its demo: small ones when it is recorded, others on request.

use crate::files::layout::{LayoutError, UnpackOptions, lay_out};
use crate::files::manifest::{self, path_of};
use crate::files::overlay::archived_name;
use crate::files::regular;
use crate::files::scratch::Scratch;
use crate::files::state::{Chunks, append_mtime};
use prony_demo::{ArchiveLimits, Demo, DemoError, FILES_ARCHIVE, FileEntry, MemberKind, StateArchiveWalk};
use prony_demo::{RewriteError, WriteError, Writer, WriterOptions};
use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{self, BufWriter, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Limits on the files that go into a demo, of those that a server only read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackLimits {
    /// Largest size of one file, in bytes.
    pub each_bytes: u64,
    /// Bytes of all of them.
    pub all_bytes: u64,
    /// Also those that not everybody may read: keys lie in such files.
    pub private: bool,
}

impl PackLimits {
    /// All of them, however large, but private ones.
    pub const ALL: PackLimits = PackLimits { each_bytes: u64::MAX, all_bytes: u64::MAX, private: false };
}

impl Default for PackLimits {
    /// 1 MiB of each, 16 MiB in all, none that is private.
    fn default() -> PackLimits {
        PackLimits { each_bytes: 1 << 20, all_bytes: 16 << 20, private: false }
    }
}

/// Files that went into a demo, and those that were left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PackReport {
    /// Files that were put in.
    pub files: u64,
    /// Size of the packed files together, in bytes.
    pub bytes: u64,
    /// Files that stayed out, each with its reason.
    pub left_out: Vec<LeftOut>,
}

/// A file that the server read and its demo does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Absolute path of the file.
    pub path: PathBuf,
    /// Size of the file in bytes.
    pub size_bytes: u64,
    /// Reason for leaving it out.
    pub why: LeaveOutReason,
}

/// Reason why a file is not in a demo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaveOutReason {
    /// Not everybody may read it.
    Private,
    /// The file exceeds the limit for one file, or the room that others left.
    Large,
    /// The file is missing, or is no longer the one that was recorded.
    Gone,
}

/// Bytes of a file that is there as it was recorded, and what is known of it.
struct Content {
    facts: Metadata,
    bytes: Vec<u8>,
}

impl Content {
    fn of(path: &Path, entry: &FileEntry) -> Option<Content> {
        let (file, facts) = regular::open(path).ok().filter(|(_, facts)| facts.len() == entry.size_bytes)?;
        let mut bytes = Vec::new();
        file.take(entry.size_bytes + 1).read_to_end(&mut bytes).ok()?;
        // An anonymized demo has other content than was hashed.
        let same = entry.hash == [0; 32] || *blake3::hash(&bytes).as_bytes() == entry.hash;
        same.then_some(Content { facts, bytes })
    }
}

/// What lies below these directories comes with packages.
const OF_PACKAGES: [&str; 5] = ["/usr", "/lib", "/lib64", "/bin", "/sbin"];

fn below(path: &Path, folders: &[&str]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

/// Files that a demo needs and does not have: with none, it is whole but for its programs and libraries.
pub fn needed(files: &[FileEntry]) -> impl Iterator<Item = &FileEntry> {
    files.iter().filter(|entry| is_needed(entry))
}

pub(crate) fn is_needed(entry: &FileEntry) -> bool {
    entry.role.is_read() && entry.content.is_none() && !regular::is_below_made_up(&path_of(entry))
}

/// Appends the archive of files to a demo and stores in each entry where its content is. `find` says where a file lies now.
pub(crate) fn pack<W: Write>(
    writer: &mut Writer<W>,
    files: &mut [FileEntry],
    limits: PackLimits,
    find: impl Fn(&Path, &FileEntry) -> Option<PathBuf>,
) -> io::Result<PackReport> {
    let mut report = PackReport::default();
    let mut candidates: Vec<(bool, u64, PathBuf, usize)> = Vec::new();
    for (number, entry) in files.iter().enumerate().filter(|(_, entry)| is_needed(entry)) {
        let path = path_of(entry);
        candidates.push((below(&path, &OF_PACKAGES), entry.size_bytes, path, number));
    }
    // Small ones first, and those that another machine has anyway last: so most of what it lacks finds room.
    candidates.sort();
    // Made with its first file: an empty archive has an end, too, which would stand in every demo.
    let mut writer = Some(writer);
    let mut archive = None;
    // One file may be opened under several names.
    let mut packed = HashMap::new();
    for (_, size_bytes, path, number) in candidates {
        let entry = &mut files[number];
        let why = match content(&path, entry, limits, limits.all_bytes - report.bytes, &find) {
            Ok((name, content)) => {
                let facts = &content.facts;
                let same = (entry.hash, facts.mode(), facts.uid(), facts.gid(), facts.mtime(), facts.mtime_nsec());
                let first = *packed.entry(same).or_insert(number);
                if first == number {
                    let archive = match &mut archive {
                        Some(archive) => archive,
                        none => none.insert(builder(writer.take().expect("taken once"))),
                    };
                    append(archive, &name, &content)?;
                    report.bytes += size_bytes;
                }
                entry.content = Some(first as u32);
                report.files += 1;
                continue;
            }
            Err(why) => why,
        };
        report.left_out.push(LeftOut { path, size_bytes, why });
    }
    if let Some(archive) = archive {
        archive.into_inner()?.flush()?;
    }
    Ok(report)
}

type Archive<'a, W> = tar::Builder<BufWriter<Chunks<'a, W>>>;

fn builder<W: Write>(writer: &mut Writer<W>) -> Archive<'_, W> {
    tar::Builder::new(BufWriter::with_capacity(1 << 20, Chunks { writer, dir: FILES_ARCHIVE }))
}

/// The name and content of a file that goes into the archive, or why it does not.
fn content(
    path: &Path,
    entry: &FileEntry,
    limits: PackLimits,
    room_bytes: u64,
    find: impl Fn(&Path, &FileEntry) -> Option<PathBuf>,
) -> Result<(PathBuf, Content), LeaveOutReason> {
    if entry.size_bytes > limits.each_bytes || entry.size_bytes > room_bytes {
        return Err(LeaveOutReason::Large);
    }
    let name = archived_name(path).ok_or(LeaveOutReason::Gone)?;
    let found = find(path, entry).ok_or(LeaveOutReason::Gone)?;
    let content = Content::of(&found, entry).ok_or(LeaveOutReason::Gone)?;
    const READ_BY_OTHERS: u32 = 0o004;
    match limits.private || content.facts.permissions().mode() & READ_BY_OTHERS != 0 {
        true => Ok((name, content)),
        false => Err(LeaveOutReason::Private),
    }
}

fn append<W: Write>(archive: &mut tar::Builder<W>, name: &Path, content: &Content) -> io::Result<()> {
    append_mtime(archive, content.facts.modified()?)?;
    let mut header = tar::Header::new_gnu();
    header.set_metadata(&content.facts);
    archive.append_data(&mut header, name, content.bytes.as_slice())
}

/// Error of packing files into a demo.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// The demo cannot be read.
    #[error(transparent)]
    Read(#[from] DemoError),
    /// The new one cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The files that it has already cannot be read.
    #[error(transparent)]
    Archive(#[from] LayoutError),
    /// The demo was cut, and what it read is known only at the end of a recording.
    #[error("it is truncated, and only a complete demo lists the files that the server read")]
    Cut,
}

impl From<RewriteError> for PackError {
    fn from(error: RewriteError) -> PackError {
        match error {
            RewriteError::Read(error) => PackError::Read(error),
            RewriteError::Write(error) => PackError::Write(error),
        }
    }
}

/// Copies a demo and puts the files into it that its server only read: those that it has already, those that are here as
/// they were recorded, and those that are found by their content below `assets`.
///
/// # Errors
/// [`PackError`]; a file that is not found is none.
pub fn pack_files<R: Read + Seek, W: Write>(
    demo: &mut Demo<R>,
    out: W,
    assets: &[PathBuf],
    limits: PackLimits,
) -> Result<(W, PackReport), PackError> {
    let mut trailer = demo.trailer().cloned().ok_or(PackError::Cut)?;
    let header = demo.header().clone();
    // What the demo has is laid out first: one archive holds everything.
    let scratch = Scratch::new().map_err(DemoError::Io)?;
    let root = File::open(scratch.path()).map_err(DemoError::Io)?;
    let limits_of_archive =
        ArchiveLimits { bytes: trailer.totals.state_bytes, entries: trailer.totals.state_bytes / 512 };
    let mut archive = StateArchiveWalk::new(demo.state_archive(FILES_ARCHIVE), limits_of_archive);
    let options = UnpackOptions { owners: rustix::process::geteuid().is_root(), set_ids: false, stop: None };
    lay_out(&mut archive, &root, options, |member| matches!(member.kind, MemberKind::File { .. }))?;
    let mut places = HashMap::new();
    for entry in &trailer.files {
        let of = entry.content.and_then(|content| trailer.files.get(content as usize));
        let name = of.and_then(|of| archived_name(&path_of(of)));
        places.extend(name.map(|name| (entry.path.clone(), scratch.path().join(name))));
    }
    trailer.files.iter_mut().for_each(|entry| entry.content = None);
    let assets = manifest::Assets::below(assets, &trailer.files);
    let mut writer = Writer::new(out, &header, WriterOptions::default())?;
    prony_demo::copy(demo, &mut writer, 0..header.state_directories.len() as u32, |_, _| {})?;
    let find = |path: &Path, entry: &FileEntry| match places.get(&entry.path).filter(|place| place.is_file()) {
        Some(place) => Some(place.clone()),
        None if manifest::is_as_recorded(path, entry) => Some(path.to_owned()),
        None => assets.find(entry).map(Path::to_owned),
    };
    let report = pack(&mut writer, &mut trailer.files, limits, find).map_err(WriteError::Io)?;
    Ok((writer.finish(&trailer)?.0, report))
}
