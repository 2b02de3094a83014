//! The files of a demo in place of those of this machine, where these are missing or differ: seen by the server
//! alone, gone afterwards. Directories on the way that are missing here, the working directory among them, too.
#![deny(clippy::indexing_slicing)]

use crate::files::layout::{LayoutError, UnpackOptions, lay_out};
use crate::files::mount::Mount;
use crate::files::regular::is_below_made_up;
use crate::files::scratch::Scratch;
use prony_demo::{ArchiveError, ArchiveLimits, Demo, FILES_ARCHIVE, Member, MemberKind, StateArchiveWalk};

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Read, Seek};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

/// Files and directories of a replay that this machine lacks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plan {
    /// Names in the archive of files, and under which paths they are seen.
    pub(crate) packed: BTreeMap<PathBuf, Vec<PathBuf>>,
    /// Files of this machine that are seen under other paths.
    pub(crate) assets: Vec<(PathBuf, PathBuf)>,
    /// Directories that have to be there.
    pub(crate) directories: Vec<PathBuf>,
    /// Bytes of the packed files.
    pub(crate) bytes: u64,
}

/// Files laid out for one replay; gone when dropped.
#[derive(Debug)]
pub(crate) struct Overlay {
    _scratch: Scratch,
    pub(crate) mounts: Vec<Mount>,
}

/// Error of placing the files of a demo.
#[derive(Debug, thiserror::Error)]
pub enum OverlayError {
    /// Nothing can be put there.
    #[error("`{}`: expected a path on a disk, found one of a kernel file system", .0.display())]
    Place(PathBuf),
    /// A directory of the root directory is missing, and only root makes one.
    #[error("`{}` does not exist: {error}", path.display())]
    Root {
        /// Path of the directory.
        path: PathBuf,
        /// Error that the system returned.
        error: io::Error,
    },
    /// The system refused something else.
    #[error("`{}`: {error}", path.display())]
    Io {
        /// Path of the file or directory.
        path: PathBuf,
        /// Error that the system returned.
        error: io::Error,
    },
    /// The archive cannot be laid out.
    #[error(transparent)]
    Layout(#[from] LayoutError),
}

impl From<ArchiveError> for OverlayError {
    fn from(error: ArchiveError) -> OverlayError {
        OverlayError::Layout(error.into())
    }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> OverlayError + '_ {
    |error| OverlayError::Io { path: path.to_owned(), error }
}

/// A path as far as it is there, without links, and what of it is missing.
#[derive(Debug, PartialEq, Eq)]
struct ResolvedPath {
    there: PathBuf,
    missing: PathBuf,
}

impl ResolvedPath {
    /// `file`: the last part is a file, and counts as missing.
    fn of(path: &Path, file: bool) -> Result<ResolvedPath, OverlayError> {
        let names: Vec<&Path> = path
            .components()
            .filter_map(|part| match part {
                Component::Normal(name) => Some(Path::new(name)),
                _ => None,
            })
            .collect();
        let directories = names.len() - usize::from(file && !names.is_empty());
        let mut there = PathBuf::from("/");
        let mut found = 0;
        for name in names.iter().take(directories) {
            if !there.join(name).is_dir() {
                break;
            }
            there.push(name);
            found += 1;
        }
        let there = fs::canonicalize(&there).map_err(at(&there))?;
        if is_below_made_up(&there) {
            return Err(OverlayError::Place(path.to_owned()));
        }
        Ok(ResolvedPath { there, missing: names.iter().skip(found).collect() })
    }

    /// As [`ResolvedPath::of`]; a directory missing in the root directory is made, as nothing can be merged with that.
    fn below_root(path: &Path, file: bool, scratch: &Scratch) -> Result<ResolvedPath, OverlayError> {
        let place = ResolvedPath::of(path, file)?;
        let mut names = place.missing.components();
        match (place.there == Path::new("/"), names.next(), names.next().is_some() || !file) {
            (true, Some(first), true) => {
                let first = Path::new("/").join(first);
                scratch.make_elsewhere(&first).map_err(|error| OverlayError::Root { path: first, error })?;
                ResolvedPath::of(path, file)
            }
            (true, Some(_), false) => Err(OverlayError::Place(path.to_owned())),
            _ => Ok(place),
        }
    }

    fn path(&self) -> PathBuf {
        self.there.join(&self.missing)
    }
}

/// Directories below which files of a demo may be seen instead of those here.
#[derive(Debug, Default)]
pub(crate) struct Roots(Vec<PathBuf>);

/// Directories of the system: a demo that was recorded at or below one, or above all of them, does not have it.
const SYSTEM: [&str; 12] =
    ["/etc", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/boot", "/proc", "/sys", "/dev"];

impl Roots {
    /// `stated`: directories that the demo states. `named`: those that the user names, which may be any.
    pub(crate) fn of(stated: impl IntoIterator<Item = PathBuf>, named: &[PathBuf]) -> Roots {
        let is_system = |path: &Path| path == Path::new("/") || SYSTEM.iter().any(|system| path.starts_with(system));
        let stated = stated.into_iter().filter(|path| !is_system(path));
        let stated = stated.filter_map(|path| resolved(&path).ok()).filter(|path| !is_system(path));
        let named = named.iter().filter_map(|path| {
            let absolute = fs::canonicalize(path).or_else(|_| std::path::absolute(path)).ok()?;
            resolved(&absolute).ok()
        });
        Roots(stated.chain(named).collect())
    }

    /// True if this path lies below one of them, links on the way followed. `file`: its last part is a file.
    pub(crate) fn hold(&self, path: &Path, file: bool) -> bool {
        ResolvedPath::of(path, file).is_ok_and(|place| self.0.iter().any(|root| place.path().starts_with(root)))
    }
}

/// A path without the links on the way, as far as it is there.
///
/// # Errors
/// [`OverlayError::Place`] for one below `/proc`, `/sys` or `/dev`.
pub(crate) fn resolved(path: &Path) -> Result<PathBuf, OverlayError> {
    if is_below_made_up(path) {
        return Err(OverlayError::Place(path.to_owned()));
    }
    ResolvedPath::of(path, false).map(|place| place.path())
}

/// Where it lies below the directory in which everything is laid out as below the root directory.
fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

impl Plan {
    pub(crate) fn is_empty(&self) -> bool {
        self.packed.is_empty() && self.assets.is_empty() && self.directories.is_empty()
    }

    /// Number of files that the plan places.
    pub(crate) fn files(&self) -> usize {
        self.packed.values().map(Vec::len).sum::<usize>() + self.assets.len()
    }

    /// Lays out what is needed and says what to mount.
    pub(crate) fn lay_out<R: Read + Seek>(
        &self,
        demo: &mut Demo<R>,
        left: &mut ArchiveLimits,
        options: UnpackOptions,
    ) -> Result<Overlay, OverlayError> {
        let targets = self.packed.values().flatten().chain(self.assets.iter().map(|(_, place)| place));
        let files: Vec<&PathBuf> = targets.collect();
        // Which directories are merged decides where the scratch may lie, which is needed to make those of the root.
        let mut merged = BTreeSet::new();
        for (path, file) in
            files.iter().map(|path| (*path, true)).chain(self.directories.iter().map(|path| (path, false)))
        {
            merged.insert(ResolvedPath::of(path, file)?.there);
        }
        let scratch = Scratch::outside_of(&merged, self.bytes).map_err(at(Path::new("/dev/shm")))?;
        let mut places = BTreeMap::new();
        let mut directories = Vec::new();
        for path in files {
            places.insert(path.clone(), ResolvedPath::below_root(path, true, &scratch)?);
        }
        for path in &self.directories {
            directories.push(ResolvedPath::below_root(path, false, &scratch)?);
        }
        let root = scratch.path().join("files");
        DirBuilder::new().mode(0o700).create(&root).map_err(at(&root))?;
        self.lay_out_packed(demo, left, options, &root, &places)?;
        let make = |path: &Path| DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(at(path));
        let mut mounts = Vec::new();
        for (asset, path) in &self.assets {
            let path = places.get(path).map_or_else(|| path.clone(), ResolvedPath::path);
            let here = below(&root, &path);
            make(here.parent().unwrap_or(&root))?;
            // Something to mount it on.
            File::create(&here).map_err(at(&here))?;
            mounts.push(Mount::Bind { what: asset.clone(), place: path });
        }
        for place in &directories {
            make(&below(&root, &place.path()))?;
        }
        let ends = places.values().filter_map(|place| place.path().parent().map(Path::to_owned));
        open_directories(&root, ends.chain(directories.iter().map(ResolvedPath::path)), options.owners)?;
        let there = places.values().chain(&directories).map(|place| place.there.clone()).collect();
        let mut merges = merges(there, &root, &scratch)?;
        merges.append(&mut mounts);
        Ok(Overlay { _scratch: scratch, mounts: merges })
    }

    fn lay_out_packed<R: Read + Seek>(
        &self,
        demo: &mut Demo<R>,
        left: &mut ArchiveLimits,
        options: UnpackOptions,
        root: &Path,
        places: &BTreeMap<PathBuf, ResolvedPath>,
    ) -> Result<(), OverlayError> {
        if self.packed.is_empty() {
            return Ok(());
        }
        let folder = File::open(root).map_err(at(root))?;
        let mut archive = StateArchiveWalk::new(demo.state_archive(FILES_ARCHIVE), *left);
        lay_out(&mut archive, &folder, options, |member| {
            // A link could lead what is put below it elsewhere.
            if !matches!(member.kind, MemberKind::File { .. }) {
                return false;
            }
            let Some([first, ..]) = self.packed.get(&name_of(member)).map(Vec::as_slice) else { return false };
            let path = places[first].path();
            let names = path.components().filter_map(|part| match part {
                Component::Normal(name) => Some(name.as_bytes().to_vec()),
                _ => None,
            });
            member.path = names.collect();
            true
        })?;
        let used = archive.used();
        left.bytes -= used.bytes.min(left.bytes);
        left.entries -= used.entries.min(left.entries);
        for paths in self.packed.values() {
            let Some((first, others)) = paths.split_first() else { continue };
            let first = below(root, &places[first].path());
            for other in others {
                let other = below(root, &places[other].path());
                let parent = other.parent().unwrap_or(root);
                DirBuilder::new().recursive(true).mode(0o700).create(parent).map_err(at(parent))?;
                fs::hard_link(&first, &other).map_err(at(&other))?;
            }
        }
        Ok(())
    }
}

/// The path of a member, as the archive of files names it.
fn name_of(member: &Member) -> PathBuf {
    member.path.iter().map(|name| OsString::from_vec(name.clone())).collect()
}

/// Permissions and modification time of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Attributes {
    /// Permission bits, as `chmod` takes them.
    mode: u32,
    /// When it was changed: seconds since 1970-01-01 UTC, and nanoseconds.
    changed: (i64, u32),
}

impl Attributes {
    /// True if a file of this machine has these attributes.
    pub(crate) fn are_those_of(self, path: &Path) -> bool {
        path.metadata().is_ok_and(|data| {
            data.permissions().mode() & 0o7777 == self.mode & 0o7777
                && (data.mtime(), data.mtime_nsec()) == (self.changed.0, i64::from(self.changed.1))
        })
    }
}

/// Attributes of the members of the archive of files, by name.
pub(crate) fn attributes<R: Read + Seek>(
    demo: &mut Demo<R>,
    limits: ArchiveLimits,
) -> Result<BTreeMap<PathBuf, Attributes>, ArchiveError> {
    let mut found = BTreeMap::new();
    let mut archive = StateArchiveWalk::new(demo.state_archive(FILES_ARCHIVE), limits);
    while let Some(member) = archive.next_member()? {
        found.insert(name_of(&member), Attributes { mode: member.mode, changed: member.changed });
    }
    Ok(found)
}

/// Gives the directories that lead to these what the real ones have: the kernel shows those of the upper directory.
/// Those that are not there are open to everybody.
fn open_directories(root: &Path, ends: impl Iterator<Item = PathBuf>, owners: bool) -> Result<(), OverlayError> {
    let all: BTreeSet<PathBuf> = ends.flat_map(|end| end.ancestors().map(Path::to_owned).collect::<Vec<_>>()).collect();
    for path in all {
        let here = below(root, &path);
        let real = path.metadata().ok().filter(|data| data.is_dir());
        let mode = real.as_ref().map_or(0o755, |data| data.permissions().mode() & 0o7777);
        if let Some(data) = real.filter(|_| owners) {
            std::os::unix::fs::chown(&here, Some(data.uid()), Some(data.gid())).map_err(at(&here))?;
        }
        fs::set_permissions(&here, Permissions::from_mode(mode)).map_err(at(&here))?;
    }
    Ok(())
}

/// What to merge: the outermost of these directories, and those that others hide from them.
fn merges(there: BTreeSet<PathBuf>, root: &Path, scratch: &Scratch) -> Result<Vec<Mount>, OverlayError> {
    let mounted = mounted();
    let mut merges: Vec<Mount> = Vec::new();
    for (number, place) in there.into_iter().enumerate() {
        let covered = merges.iter().any(|merge| match merge {
            Mount::Merge { place: outer, inner, .. } => {
                place.starts_with(outer) && !inner.iter().any(|inner| place.starts_with(inner))
            }
            Mount::Bind { .. } => false,
        });
        if covered {
            continue;
        }
        let mut inner: Vec<PathBuf> = Vec::new();
        for path in mounted.iter().filter(|path| path.starts_with(&place) && **path != place) {
            // Sorted: what is below another of them comes with it.
            if !inner.iter().any(|outer| path.starts_with(outer)) {
                inner.push(path.clone());
            }
        }
        let work = scratch.path().join(format!("work{number}"));
        DirBuilder::new().mode(0o700).create(&work).map_err(at(&work))?;
        merges.push(Mount::Merge { upper: below(root, &place), work, place, inner });
    }
    Ok(merges)
}

/// Where something is mounted, sorted (proc_pid_mountinfo(5)).
fn mounted() -> BTreeSet<PathBuf> {
    let text = fs::read("/proc/self/mountinfo").unwrap_or_default();
    let field = |line: &[u8]| line.split(|&byte| byte == b' ').nth(4).map(unescaped);
    text.split(|&byte| byte == b'\n').filter_map(field).map(|path| PathBuf::from(OsString::from_vec(path))).collect()
}

/// Spaces and the like stand as a backslash and three octal digits.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|digits| digits.iter().all(|digit| (b'0'..b'8').contains(digit)));
        match digits.filter(|_| first == b'\\') {
            Some(digits) => {
                out.push(digits.iter().fold(0u8, |value, digit| value.wrapping_mul(8).wrapping_add(digit - b'0')));
                rest = after.get(3..).unwrap_or_default();
            }
            None => {
                out.push(first);
                rest = after;
            }
        }
    }
    out
}

/// Directories that `path` goes through and leaves again by `..`: they have to be there, too.
pub(crate) fn climbed(path: &Path) -> Vec<PathBuf> {
    let mut at = PathBuf::from("/");
    let mut found = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => at.push(name),
            Component::ParentDir => {
                found.push(at.clone());
                at.pop();
            }
            _ => {}
        }
    }
    found
}

/// The name of a file in the archive: its absolute path without `.`, `..` and the slash in front. `None` where links on
/// the way would lead such a path elsewhere.
pub(crate) fn archived_name(path: &Path) -> Option<PathBuf> {
    let mut name = PathBuf::new();
    let mut climbs = false;
    for component in path.components() {
        match component {
            Component::Normal(part) => name.push(part),
            Component::ParentDir => {
                climbs = true;
                name.pop();
            }
            Component::RootDir | Component::CurDir => {}
            Component::Prefix(_) => return None,
        }
    }
    let direct = Path::new("/").join(&name);
    let same = || fs::canonicalize(path).ok() == fs::canonicalize(&direct).ok();
    (path.is_absolute() && direct.file_name().is_some() && (!climbs || same())).then_some(name)
}

/// The path under which a file is seen that a demo names so.
pub(crate) fn seen_as(path: &Path) -> Option<PathBuf> {
    archived_name(path).map(|name| Path::new("/").join(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_demo::{Header, Trailer, Writer, WriterOptions};

    #[test]
    fn a_path_is_there_as_far_as_its_directories_are() {
        let folder = tempfile::tempdir().expect("the temporary directory is writable");
        let real = fs::canonicalize(folder.path()).expect("it is there");
        fs::create_dir(real.join("game")).expect("writable");
        fs::write(real.join("game/x.cfg"), b"").expect("writable");
        std::os::unix::fs::symlink("game", real.join("link")).expect("writable");
        let place = |path: &str, file| ResolvedPath::of(&real.join(path), file).expect("no place of the kernel's");
        let expected = |there: &str, missing: &str| ResolvedPath {
            there: real.join(there).components().collect(),
            missing: missing.into(),
        };
        assert_eq!(place("game/x.cfg", true), expected("game", "x.cfg"));
        assert_eq!(place("link/maps/dm1", true), expected("game", "maps/dm1"));
        assert_eq!(place("game", false), expected("game", ""));
        assert_eq!(place("game/x.cfg/y", true), expected("game", "x.cfg/y"));
        assert!(matches!(ResolvedPath::of(Path::new("/proc/self/x"), true), Err(OverlayError::Place(_))));
    }

    /// A demo whose archive of files has these members.
    fn demo(members: &[(tar::EntryType, &Path, &[u8])]) -> Demo<io::Cursor<Vec<u8>>> {
        let mut archive = tar::Builder::new(Vec::new());
        for (kind, path, content) in members {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_mode(0o644);
            let name = path.strip_prefix("/").expect("an absolute path");
            match kind {
                tar::EntryType::Symlink => {
                    header.set_size(0);
                    archive.append_link(&mut header, name, Path::new(std::ffi::OsStr::from_bytes(content)))
                }
                _ => {
                    header.set_size(content.len() as u64);
                    archive.append_data(&mut header, name, *content)
                }
            }
            .expect("memory takes it");
        }
        let archive = archive.into_inner().expect("memory takes it");
        let mut writer =
            Writer::new(Vec::new(), &Header::default(), WriterOptions::default()).expect("memory takes it");
        writer.state_chunk(FILES_ARCHIVE, &archive).expect("memory takes it");
        let (bytes, _) = writer.finish(&Trailer::default()).expect("memory takes it");
        Demo::open(io::Cursor::new(bytes)).expect("it is a demo")
    }

    const OPTIONS: UnpackOptions = UnpackOptions { owners: false, set_ids: false, stop: None };

    #[test]
    fn no_link_of_a_demo_leads_what_is_laid_out_elsewhere() {
        let folder = tempfile::tempdir().expect("the temporary directory is writable");
        let real = fs::canonicalize(folder.path()).expect("it is there");
        fs::write(real.join("victim"), b"precious").expect("writable");
        fs::write(real.join("asset"), b"other").expect("writable");
        let link = real.join("missing/link");
        let mut demo = demo(&[(tar::EntryType::Symlink, &link, real.as_os_str().as_bytes())]);
        let plan = Plan {
            packed: [(link.strip_prefix("/").expect("absolute").to_owned(), vec![link.clone()])].into(),
            assets: vec![(real.join("asset"), link.join("victim"))],
            ..Plan::default()
        };
        let mut left = ArchiveLimits { bytes: 1 << 20, entries: 100 };
        let overlay = plan.lay_out(&mut demo, &mut left, OPTIONS).expect("the link is passed over");
        assert_eq!(fs::read(real.join("victim")).expect("it is there"), b"precious");
        assert!(below(&overlay._scratch.path().join("files"), &link).is_dir());
    }

    #[test]
    fn one_merge_serves_all_that_lies_below_it_and_links_on_the_way_are_followed() {
        let folder = tempfile::tempdir().expect("the temporary directory is writable");
        let real = fs::canonicalize(folder.path()).expect("it is there");
        fs::create_dir_all(real.join("game/maps")).expect("writable");
        fs::set_permissions(real.join("game"), Permissions::from_mode(0o750)).expect("it is ours");
        std::os::unix::fs::symlink("game", real.join("link")).expect("writable");
        let (map, config) = (real.join("link/maps/dm1"), real.join("x.cfg"));
        let mut demo = demo(&[(tar::EntryType::Regular, &map, b"map"), (tar::EntryType::Regular, &config, b"cfg")]);
        let name = |path: &Path| path.strip_prefix("/").expect("absolute").to_owned();
        let plan = Plan {
            packed: [(name(&map), vec![map.clone(), real.join("copy/dm1")]), (name(&config), vec![config.clone()])]
                .into(),
            ..Plan::default()
        };
        let mut left = ArchiveLimits { bytes: 1 << 20, entries: 100 };
        let overlay = plan.lay_out(&mut demo, &mut left, OPTIONS).expect("harmless");
        let root = overlay._scratch.path().join("files");
        let places: Vec<_> = overlay
            .mounts
            .iter()
            .map(|mount| match mount {
                Mount::Merge { upper, place, .. } => (upper.clone(), place.clone()),
                Mount::Bind { .. } => panic!("nothing is bound"),
            })
            .collect();
        assert_eq!(places, [(below(&root, &real), real.clone())]);
        assert_eq!(fs::read(below(&root, &real.join("game/maps/dm1"))).expect("laid out"), b"map");
        assert_eq!(fs::read(below(&root, &real.join("copy/dm1"))).expect("laid out"), b"map");
        let mode =
            |path: &str| below(&root, &real.join(path)).metadata().expect("laid out").permissions().mode() & 0o7777;
        assert_eq!((mode("game"), mode("copy")), (0o750, 0o755));
        assert!(left.bytes < 1 << 20, "what was read is counted");
        drop(overlay);
        assert!(!root.exists());
    }

    #[test]
    fn directories_that_a_path_leaves_again_are_needed() {
        assert_eq!(climbed(Path::new("/a/b/../c/../../d")), [PathBuf::from("/a/b"), "/a/c".into(), "/a".into()]);
        assert_eq!(climbed(Path::new("/a/b")), [] as [PathBuf; 0]);
    }

    #[test]
    fn mount_points_are_unescaped() {
        assert_eq!(unescaped(br"/a\040b\134c"), b"/a b\\c");
        assert_eq!(unescaped(br"/a\04"), br"/a\04");
        assert!(mounted().contains(Path::new("/")));
    }
}
