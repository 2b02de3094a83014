use std::path::Path;

use prony_demo::{FileEntry, FileRole, FrameRule, ObjectEntry, Totals};
use prony_replay::{CodeFile, CodeKind, SetIdFile};

use super::*;
use crate::{json, text};

fn header() -> Header {
    Header {
        architecture: "x86_64".to_owned(),
        executable: b"/usr/games/teeworlds-server".to_vec(),
        build_id: vec![0xab; 20],
        argv: ["teeworlds-server", "sv_port 8303; sv_name it's"].map(|text| text.as_bytes().to_vec()).to_vec(),
        cwd: b"/srv/teeworlds".to_vec(),
        environment: vec![
            (b"PATH".to_vec(), b"/usr/bin".to_vec()),
            (b"LD_PRELOAD".to_vec(), b"/srv/teeworlds/state/x.so".to_vec()),
        ],
        cpu_flags: vec!["avx2".to_owned()],
        cpu_model: "Prony Brake 1821".to_owned(),
        kernel_release: "6.1.0-18-amd64".to_owned(),
        recorded_at_unix_ns: 1_795_293_169_000_000_000,
        prony_version: "0.1.0".to_owned(),
        frame_rule: FrameRule::BlockingWait,
        state_directories: vec![b"/srv/teeworlds/state".to_vec()],
        excluded_objects: vec![b"libjemalloc.so.2".to_vec()],
        properties: vec![("aslr".to_owned(), b"off".to_vec())],
    }
}

fn trailer() -> Trailer {
    let file = |path: &str, role| FileEntry { path: path.into(), size_bytes: 9, hash: [1; 32], role, content: None };
    Trailer {
        files: vec![file("/srv/teeworlds/dm1.map", FileRole::Read), file("/tmp/log", FileRole::Written)],
        objects: vec![ObjectEntry { path: b"/lib/libc.so.6".to_vec(), build_id: vec![0xcd; 20] }],
        exit: ServerExit::Signal(2),
        totals: Totals {
            processes: 1,
            records: 318_204,
            frames: 1312,
            blocks: 60,
            raw_bytes: 84_000_000,
            state_bytes: 12_000,
            file_bytes: 982_114,
        },
        duration_ns: 26_000_000_000,
        notes: vec!["shared writable mapping of /dev/shm/x".to_owned()],
        unsearched: vec![b"/srv/bin/large".to_vec()],
    }
}

#[test]
fn a_demo_introduces_itself() {
    let (header, trailer) = (header(), trailer());
    let calls = [
        ("sendto".to_owned(), CallCount { calls: 5213, bytes_in: 0, bytes_out: 412_881 }),
        ("clock_gettime".to_owned(), CallCount { calls: 280_000, ..CallCount::default() }),
    ];
    let facts = Facts {
        header: &header,
        trailer: Some(&trailer),
        remains: None,
        records: 318_204,
        frames: 1312,
        file_bytes: 982_114,
        duration_ns: 26_000_000_000,
        known: true,
        listed: false,
        files: Some(FileInspection {
            set_id: vec![SetIdFile { path: "/srv/teeworlds/state/su".into(), mode: 0o4755 }],
            code: ["a.so", "b.so", "c.so", "d.so", "e.so"]
                .map(|name| CodeFile { path: format!("/srv/teeworlds/state/{name}").into(), kind: CodeKind::Object })
                .into_iter()
                .chain([CodeFile { path: "/etc/ld.so.preload".into(), kind: CodeKind::Configuration }])
                .collect(),
            code_files: [(CodeKind::Object, 1207), (CodeKind::Configuration, 1), (CodeKind::Source, 3)].into(),
        }),
        calls: Some(calls.into()),
    };
    insta::assert_snapshot!("info", text::demo::info::text(Path::new("teeworlds.demo"), &facts));
    insta::assert_snapshot!(
        "info_json",
        serde_json::to_string_pretty(&json::demo::info::answer(&facts)).expect("plain values")
    );
    let cut = Facts {
        trailer: None,
        known: false,
        listed: false,
        files: None,
        remains: Some(
            "ends at byte 0x2c40 without a commit marker; 41 complete blocks, 200 records and 9 frames remain".into(),
        ),
        calls: None,
        ..facts
    };
    insta::assert_snapshot!("info_cut", text::demo::info::text(Path::new("teeworlds.demo"), &cut));
}
