use super::*;
use proptest::prelude::*;

const ALL: ArchiveLimits = ArchiveLimits { bytes: u64::MAX, entries: u64::MAX };

fn header(kind: u8, name: &[u8], size: usize) -> [u8; BLOCK_BYTES] {
    let mut header = [0; BLOCK_BYTES];
    header[..name.len()].copy_from_slice(name);
    header[100..107].copy_from_slice(b"0004755");
    header[108..115].copy_from_slice(b"0000017");
    header[116..123].copy_from_slice(b"0000020");
    header[SIZE].copy_from_slice(format!("{size:011o}\0").as_bytes());
    header[136..147].copy_from_slice(b"00000000100");
    header[156] = kind;
    header[257..265].copy_from_slice(b"ustar  \0");
    sealed(header)
}

fn sealed(mut header: [u8; BLOCK_BYTES]) -> [u8; BLOCK_BYTES] {
    let sum = checksum(&header);
    header[CHECKSUM].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

fn member(kind: u8, name: &[u8], content: &[u8]) -> Vec<u8> {
    let mut all = [&header(kind, name, content.len())[..], content].concat();
    all.resize(all.len().next_multiple_of(BLOCK_BYTES), 0);
    all
}

fn link(name: &[u8], target: &[u8]) -> Vec<u8> {
    let mut header = header(b'2', name, 0);
    header[157..157 + target.len()].copy_from_slice(target);
    sealed(header).to_vec()
}

type Read = (String, MemberKind, Vec<u8>);

fn walk(archive: &[u8], limits: ArchiveLimits) -> Result<Vec<Read>, ArchiveError> {
    let mut walk = StateArchiveWalk::new(archive, limits);
    let mut all = Vec::new();
    let mut buffer = [0; 100];
    while let Some(member) = walk.next_member()? {
        let mut content = Vec::new();
        if let MemberKind::File { bytes } = member.kind {
            while let Some((place, bytes)) = walk.next_run(&mut buffer)? {
                content.resize(place as usize, 0);
                content.extend_from_slice(&buffer[..bytes]);
            }
            content.resize(bytes as usize, 0);
        }
        all.push((member.shown(), member.kind, content));
    }
    Ok(all)
}

fn file(name: &str, content: &[u8]) -> Read {
    (name.to_owned(), MemberKind::File { bytes: content.len() as u64 }, content.to_vec())
}

#[test]
fn members_come_in_order_with_their_content() {
    let archive = [
        member(b'5', b"./", b""),
        member(b'0', b"./maps//dm1", &[7; 600]),
        link(b"./current", b"/srv/maps"),
        vec![0; 1024],
        member(b'0', b"behind the end", b""),
    ]
    .concat();
    let expected = vec![
        (".".to_owned(), MemberKind::Directory, vec![]),
        file("maps/dm1", &[7; 600]),
        ("current".to_owned(), MemberKind::Link { target: b"/srv/maps".to_vec() }, vec![]),
    ];
    assert_eq!(walk(&archive, ALL).expect("it is whole"), expected);
    let first = StateArchiveWalk::new(&archive[..], ALL).next_member().expect("whole").expect("there");
    assert_eq!((first.mode, first.user, first.group, first.changed), (0o4755, 0o17, 0o20, (64, 0)));
}

#[test]
fn names_that_lead_elsewhere_are_refused_in_every_place_a_name_can_stand() {
    let long = |name: &[u8]| [member(b'L', b"././@LongLink", name), member(b'0', b"harmless", b"")].concat();
    let pax = |name: &str| {
        let length = name.len() + " path=\n".len() + 2;
        let record = format!("{length} path={name}\n");
        [member(b'x', b"pax", record.as_bytes()), member(b'0', b"harmless", b"")].concat()
    };
    for archive in [
        member(b'0', b"/etc/passwd", b""),
        member(b'0', b"maps/../../outside", b""),
        member(b'5', b"..", b""),
        member(b'0', b".", b"a file in place of the directory"),
        link(b"./", b"elsewhere"),
        long(b"/etc/passwd\0"),
        long(b"a/../../outside"),
        pax("/etc/passwd"),
        pax("../outside"),
        pax("a\0b123456"),
    ] {
        let found = walk(&archive, ALL);
        assert!(matches!(found, Err(ArchiveError::Name { .. })), "{found:?}");
    }
}

#[test]
fn hard_links_devices_and_pipes_are_refused() {
    for kind in *b"1346V" {
        let found = walk(&member(kind, b"thing", b""), ALL);
        assert!(matches!(found, Err(ArchiveError::Kind { kind: found, .. }) if found == kind), "{found:?}");
    }
}

#[test]
fn a_long_name_and_a_time_stand_before_their_member() {
    let name = "long/".repeat(30) + "name";
    let record = b"24 mtime=1000.000000002\n11 a=bcdef\n";
    let archive =
        [member(b'x', b"mtime", record), member(b'L', b"link", name.as_bytes()), member(b'0', b"cut", b"x")].concat();
    let found = StateArchiveWalk::new(&archive[..], ALL).next_member().expect("whole").expect("there");
    assert_eq!((found.shown(), found.changed), (name, (1000, 2)));
    assert_eq!(time_of("-1.5"), Some((-2, 500_000_000)));
    assert_eq!(time_of("7"), Some((7, 0)));
}

#[test]
fn a_file_with_holes_has_its_runs_in_their_places() {
    let mut first = header(b'S', b"holes", 1024);
    first[483..495].copy_from_slice(format!("{:011o}\0", 3000).as_bytes());
    for (at, (from, length)) in [(0usize, (512, 512)), (1, (1536, 0)), (2, (2048, 512))] {
        first[386 + at * 24..398 + at * 24].copy_from_slice(format!("{from:011o}\0").as_bytes());
        first[398 + at * 24..410 + at * 24].copy_from_slice(format!("{length:011o}\0").as_bytes());
    }
    let archive = [&sealed(first)[..], &[1; 512], &[2; 512], &member(b'0', b"next", b"n")].concat();
    let content = [&[0; 512][..], &[1; 512], &[0; 1024], &[2; 512], &[0; 440]].concat();
    assert_eq!(walk(&archive, ALL).expect("it is whole"), [file("holes", &content), file("next", b"n")]);
    first[483..495].copy_from_slice(format!("{:011o}\0", 2000).as_bytes());
    let short = walk(&sealed(first), ALL);
    assert!(matches!(short, Err(ArchiveError::Header { .. })), "data behind the end: {short:?}");
}

#[test]
fn what_is_read_is_limited() {
    let archive = [member(b'0', b"a", &[0; 600]), member(b'0', b"b", b""), vec![0; 1024]].concat();
    assert_eq!(walk(&archive, ArchiveLimits { bytes: archive.len() as u64, entries: 2 }).expect("fits").len(), 2);
    let one = walk(&archive, ArchiveLimits { entries: 1, ..ALL });
    assert!(matches!(one, Err(ArchiveError::MoreEntries { limit: 1 })), "{one:?}");
    let few = walk(&archive, ArchiveLimits { bytes: 1535, ..ALL });
    assert!(matches!(few, Err(ArchiveError::MoreBytes { limit: 1535 })), "{few:?}");
    // A header may claim what it wants: neither memory nor a second pass is spent on it.
    let claim = header(b'L', b"name", (1 << 33) - 1);
    assert!(matches!(walk(&claim, ALL), Err(ArchiveError::Header { .. })));
}

#[test]
fn sizes_may_be_octal_or_base_256() {
    assert_eq!(number(b"00000000017\0"), Some(15));
    assert_eq!(number(b"      17 "), Some(15));
    assert_eq!(number(&[0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2]), Some(258));
    assert_eq!(number(&[0xff; 12]), None);
    assert_eq!(number(b"9"), None);
}

proptest! {
    #[test]
    fn any_bytes_end_in_an_answer(
        blocks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), BLOCK_BYTES), 0..8),
        kinds in proptest::collection::vec(proptest::sample::select(&b"0SLKxg52"[..]), 8),
    ) {
        let mut archive = Vec::new();
        for (mut block, kind) in blocks.into_iter().zip(kinds) {
            block[156] = kind;
            let sealed = sealed(block.try_into().expect("a block"));
            archive.extend_from_slice(&sealed);
        }
        let mut walk = StateArchiveWalk::new(&archive[..], ArchiveLimits { bytes: 1 << 16, entries: 100 });
        let mut buffer = [0; 100];
        while let Ok(Some(member)) = walk.next_member() {
            prop_assert!(member.path.iter().all(|part| !part.is_empty() && part != b".." && !part.contains(&b'/')));
            while let Ok(Some(_)) = walk.next_run(&mut buffer) {}
        }
    }
}
