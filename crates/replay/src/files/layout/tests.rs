use super::*;
use prony_demo::ArchiveLimits;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

const ALL: ArchiveLimits = ArchiveLimits { bytes: 1 << 30, entries: 1 << 20 };
const OPTIONS: UnpackOptions<'_> = UnpackOptions { owners: false, set_ids: false, stop: None };

fn header(kind: tar::EntryType, name: &str, mode: u32, bytes: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    // Names are put in as they are: `set_path` would refuse the interesting ones.
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(bytes);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(1_000_000_000);
    header.set_cksum();
    header
}

fn archive(members: &[(tar::EntryType, &str, u32, &str)]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for &(kind, name, mode, content) in members {
        let mut header = header(kind, name, mode, content.len() as u64);
        if kind == tar::EntryType::Symlink {
            header.set_size(0);
            header.set_link_name_literal(content).expect("short");
            header.set_cksum();
            archive.append(&header, std::io::empty()).expect("memory takes it");
        } else {
            archive.append(&header, content.as_bytes()).expect("memory takes it");
        }
    }
    archive.into_inner().expect("memory takes it")
}

fn laid_out(archive: &[u8], root: &Path, options: UnpackOptions) -> Result<u64, LayoutError> {
    lay_out(&mut StateArchiveWalk::new(archive, ALL), File::open(root).expect("it is there"), options, |_| true)
}

use tar::EntryType::{Directory, Regular, Symlink};

#[test]
fn nothing_is_made_or_changed_through_a_link() {
    let scratch = tempfile::tempdir().expect("the temporary directory is writable");
    let (root, outside) = (scratch.path().join("root"), scratch.path().join("outside"));
    fs::create_dir(&outside).expect("writable");
    fs::write(outside.join("file"), b"mine").expect("writable");
    let before = outside.join("file").metadata().expect("there");
    let to_outside = outside.to_str().expect("text");
    let to_file = format!("{to_outside}/file");
    for members in [
        &[(Symlink, "link", 0o777, to_outside), (Regular, "link/new", 0o644, "x")][..],
        &[(Symlink, "link", 0o777, to_outside), (Directory, "link", 0o700, "")],
        &[(Symlink, "link", 0o777, to_outside), (Directory, "link/new", 0o700, "")],
        &[(Symlink, "link", 0o777, &to_file), (Regular, "link", 0o644, "x")],
        &[(Symlink, "link", 0o777, "."), (Regular, "link/link", 0o644, "x")],
        &[(Regular, "file", 0o644, "x"), (Regular, "file", 0o644, "twice")],
    ] {
        let _ = fs::remove_dir_all(&root);
        fs::create_dir(&root).expect("writable");
        let found = laid_out(&archive(members), &root, OPTIONS);
        assert!(matches!(found, Err(LayoutError::Member { .. })), "{members:?}: {found:?}");
    }
    let after = outside.join("file").metadata().expect("there");
    assert_eq!(fs::read_dir(&outside).expect("there").count(), 1);
    assert_eq!((after.mode(), after.len(), after.mtime()), (before.mode(), before.len(), before.mtime()));
}

#[test]
fn modes_times_and_links_come_back() {
    let root = tempfile::tempdir().expect("the temporary directory is writable");
    let members = [
        (Directory, "./", 0o750, ""),
        (Directory, "closed", 0o500, ""),
        (Regular, "closed/file", 0o640, "content"),
        (Symlink, "away", 0o777, "/etc/passwd"),
        (Directory, "shared", 0o2775, ""),
    ];
    assert_eq!(laid_out(&archive(&members), root.path(), OPTIONS).expect("harmless"), 0);
    let data = |name: &str| root.path().join(name).symlink_metadata().expect("laid out");
    for (name, mode) in [("", 0o750), ("closed", 0o500), ("closed/file", 0o640), ("shared", 0o2775)] {
        assert_eq!((data(name).mode() & 0o7777, data(name).mtime()), (mode, 1_000_000_000), "{name}");
    }
    assert_eq!(fs::read(root.path().join("closed/file")).expect("readable"), b"content");
    assert_eq!(fs::read_link(root.path().join("away")).expect("a link"), Path::new("/etc/passwd"));
    fs::set_permissions(root.path().join("closed"), fs::Permissions::from_mode(0o700)).expect("it is ours");
}

#[test]
fn set_user_id_is_laid_out_only_on_request() {
    for (set_ids, mode, taken) in [(false, 0o755, 1), (true, 0o6755, 0)] {
        let root = tempfile::tempdir().expect("the temporary directory is writable");
        let archive = archive(&[(Regular, "tool", 0o6755, "#!"), (Regular, "plain", 0o755, "#!")]);
        assert_eq!(laid_out(&archive, root.path(), UnpackOptions { set_ids, ..OPTIONS }).expect("harmless"), taken);
        assert_eq!(root.path().join("tool").metadata().expect("laid out").mode() & 0o7777, mode);
    }
}

#[test]
fn what_the_recorder_archives_comes_back_with_its_holes() {
    use std::io::{Seek, SeekFrom, Write};
    let scratch = tempfile::tempdir().expect("the temporary directory is writable");
    let (from, root) = (scratch.path().join("from"), scratch.path().join("root"));
    fs::create_dir(&from).and_then(|()| fs::create_dir(&root)).expect("writable");
    let long = "a name of more than a hundred bytes ".repeat(5);
    fs::write(from.join(&long), b"long").expect("writable");
    let mut holes = File::create(from.join("holes")).expect("writable");
    // Enough runs of data that the map of holes takes more than its header.
    for run in 0..40 {
        holes.seek(SeekFrom::Start(run << 17)).and_then(|_| holes.write_all(&[run as u8; 4096])).expect("writable");
    }
    holes.set_len(1 << 23).expect("writable");
    let mut archive = tar::Builder::new(Vec::new());
    archive.append_dir_all(".", &from).expect("memory takes it");
    let archive = archive.into_inner().expect("memory takes it");
    laid_out(&archive, &root, OPTIONS).expect("harmless");
    assert_eq!(fs::read(root.join(&long)).expect("laid out"), b"long");
    assert!(fs::read(root.join("holes")).expect("laid out") == fs::read(from.join("holes")).expect("readable"));
    assert!(archive.len() < 1 << 20, "the file system of the temporary directory knows holes");
}

#[test]
fn it_ends_on_request() {
    let root = tempfile::tempdir().expect("the temporary directory is writable");
    let stop = AtomicBool::new(true);
    let found =
        laid_out(&archive(&[(Regular, "a", 0o644, "")]), root.path(), UnpackOptions { stop: Some(&stop), ..OPTIONS });
    assert!(matches!(found, Err(LayoutError::Interrupted)));
    assert_eq!(fs::read_dir(root.path()).expect("readable").count(), 0);
}
