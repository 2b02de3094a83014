use std::io::{Error, ErrorKind};

use prony_demo::BlockProblem;

use super::*;

#[test]
fn every_failure_names_the_thing_and_the_next_step() {
    let path = Path::new("match.demo");
    let block = |problem| DemoError::Block { index: 41, offset: 0x2c40, problem };
    let errors = [
        DemoError::Io(Error::from_raw_os_error(2)),
        DemoError::Io(Error::from_raw_os_error(13)),
        DemoError::Io(Error::from(ErrorKind::UnexpectedEof)),
        DemoError::TooShort { found: 9 },
        DemoError::NotADemo { found: *b"\x7fELF\x02\x01\x01\0" },
        DemoError::FileHead { expected: 0x5a3f_0001, found: 0x91c0_0002 },
        DemoError::Version { found: 2, supported: 1, newer: true },
        DemoError::Version { found: 0, supported: 1, newer: false },
        block(BlockProblem::Checksum { expected: 0x5a3f_0001, found: 0x91c0_0002 }),
        block(BlockProblem::Ends { expected: 4096, found: 12 }),
        DemoError::NoFrame { frame: 2000, frames: 1312 },
    ];
    let mut all: Vec<String> = errors.iter().map(|error| Failure::demo("replay", path, error).to_string()).collect();
    let checksum = Cause::Block(BlockProblem::Checksum { expected: 0x5a3f_0001, found: 0x91c0_0002 });
    for (cause, frames) in [(checksum, 1203), (Cause::NoCommit, 1), (Cause::BytesAfterCommit, 9), (Cause::Index, 0)] {
        let cut = Truncation { offset: 0x2c40, cause, blocks: 41, records: 20_000, frames };
        all.push(Failure::truncated(path, &cut).to_string());
    }
    all.push(Failure::write(path, &WriteError::Io(Error::from_raw_os_error(28))).to_string());
    all.push(Failure::write(path, &WriteError::Record { process: 1, order: 7, expected: 40, found: 8 }).to_string());
    all.push(Failure::stdout(&Error::from_raw_os_error(28)).to_string());
    for error in [
        ProgramError::NoCommand,
        ProgramError::NotFound("srv".to_owned(), "/usr/bin:/bin".to_owned()),
        ProgramError::Unreadable { path: "/srv/run".to_owned(), error: Error::from_raw_os_error(13).into() },
        ProgramError::WithoutI386("/srv/run".to_owned()),
        ProgramError::NoLoader { path: "/srv/run".to_owned(), loader: "/lib/ld-linux.so.2".to_owned(), i386: true },
        ProgramError::NoLoader { path: "/srv/run".to_owned(), loader: "/lib/ld-elsewhere.so".to_owned(), i386: false },
        ProgramError::OtherAbi { path: "/srv/run".to_owned(), abi: "x32, an ABI that is not supported" },
        ProgramError::Unhookable {
            path: "/srv/run".to_owned(),
            what: "is statically linked, so no library can be preloaded into it",
        },
    ] {
        all.push(Failure::program("record", &error).to_string());
    }
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn a_closed_pipe_is_no_failure() {
    assert!(Failure::stdout(&Error::from(ErrorKind::BrokenPipe)).is_closed_pipe());
    assert!(!Failure::stdout(&Error::from(ErrorKind::StorageFull)).is_closed_pipe());
}
