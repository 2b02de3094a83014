use std::io::Read;

use super::*;

#[test]
fn everything_that_was_written_comes_back() {
    let blocks: Vec<_> = (0..5).map(|block| (0..20).flat_map(|at| turn(block * 20 + at)).collect()).collect();
    let bytes = write(&blocks);
    let mut demo = open(&bytes);
    assert_eq!(demo.truncation(), None);
    assert_eq!(demo.header(), &header());
    let totals = demo.trailer().expect("the demo is complete").totals;
    assert_eq!(demo.trailer(), Some(&Trailer { totals, ..trailer() }));
    assert_eq!((totals.records, totals.frames, totals.processes), (800, 100, 2));
    assert_eq!(totals.file_bytes, bytes.len() as u64);
    assert_eq!(read_all(&mut demo).expect("all blocks are whole"), kept(blocks.iter().flatten()));
    let mut archive = Vec::new();
    demo.state_archive(0).read_to_end(&mut archive).expect("all blocks are whole");
    assert_eq!(archive, b"archive of the first directory");
    let report = demo.verify().expect("the stream does not fail");
    assert!(report.is_sound(), "{:?}", report.problems);
    assert_eq!(report.totals, totals);
}
