//! Servers of 32 bits on x86-64. They need `scripts/setup i386`, before prony is built.

use crate::calls::{compiled, prove_every_call};
use prony_testing::recording::{Server, record_with, replay};
use prony_testing::scratch::{Scratch, Turn, free_address, program, run};
use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::process::Command;
use std::time::Duration;

#[test]
fn a_server_of_32_bits_with_every_kind_of_call_replays_identically() {
    prove_every_call("lines-i386", &["-m32"]);
}

#[test]
fn a_server_of_32_bits_with_times_and_offsets_of_64_replays_identically() {
    prove_every_call("lines-time64", &["-m32", "-D_TIME_BITS=64", "-D_FILE_OFFSET_BITS=64"]);
}

/// Asks what `answers.c` answers, until the recording is over.
fn ask(address: SocketAddr, stop: &prony_testing::recording::Stop) {
    let socket = UdpSocket::bind(("127.0.0.1", 0)).expect("loopback has a free port");
    socket.connect(address).expect("loopback is reachable");
    socket.set_read_timeout(Some(Duration::from_millis(100))).expect("the timeout is not zero");
    let mut answered = 0;
    stop.until(|| {
        let _ = socket.send(b"question");
        answered += u32::from(socket.recv(&mut [0; 700]).is_ok());
        answered == 20
    });
    let _ = socket.send(b"quit");
}

#[test]
fn programs_of_both_classes_become_each_other_without_a_word_of_the_loader() {
    let _turn = Turn::take();
    for (first, then) in [("-m32", "-m64"), ("-m64", "-m32")] {
        let scratch = Scratch::new(&format!("becomes{then}"));
        let address = free_address();
        let names = scratch.write("names", "answer\n");
        let server = compiled(&scratch, "answers.c", &[then]);
        let command = vec![compiled(&scratch, "becomes.c", &[first]), server, address.port().to_string(), names];
        let (recording, demo) = record_with(&scratch, &Server::new(command), &[], |stop| ask(address, stop));
        assert!(!recording.said.contains("wrong ELF class"), "{recording}");
        let replayed = replay(&scratch, &demo, &["--repeat", "2"], &[]);
        replayed.assert_identical();
        assert!(replayed.number("output_bytes_verified") >= 400, "{replayed}");
    }
}

#[test]
fn a_server_that_is_older_than_the_streams_of_today_gets_those_that_it_was_linked_with() {
    let _turn = Turn::take();
    let scratch = Scratch::new("old-streams");
    let address = free_address();
    let names = scratch.write("names", "answer\n");
    let server = compiled(&scratch, "answers.c", &["-m32", "-DOLD_STREAMS"]);
    let command = vec![server, address.port().to_string(), names];
    let (_, demo) = record_with(&scratch, &Server::new(command), &[], |stop| ask(address, stop));
    replay(&scratch, &demo, &[], &[]).assert_identical();
}

#[test]
fn a_build_of_another_architecture_is_refused_unless_allowed() {
    let _turn = Turn::take();
    let scratch = Scratch::new("architecture");
    let address = free_address();
    let arguments = [address.port().to_string(), scratch.write("names", "answer\n")];
    let built = |class: &str| [vec![compiled(&scratch, "answers.c", &[class])], arguments.to_vec()].concat();
    let (_, demo) = record_with(&scratch, &Server::new(built("-m32")), &[], |stop| ask(address, stop));
    let refused = replay(&scratch, &demo, &[], &built("-m64"));
    assert_eq!(refused.code, 2, "{refused}");
    assert!(refused.said.contains("was built for x86_64, and the recorded server for i386"), "{refused}");
    let tried = replay(&scratch, &demo, &["--other-architecture"], &built("-m64"));
    assert_eq!((tried.code, &tried.answer["verdict"]), (3, &"weak".into()), "{tried}");
    assert!(tried.number("output_bytes_verified") >= 400, "{tried}");
}

/// What `prony record` says of a program, which it does not start.
fn refused(scratch: &Scratch, program: String) -> String {
    let (recording, demo) = record_with(scratch, &Server::new([program]), &[], |_| {});
    assert_eq!(recording.code, 2, "{recording}");
    assert!(!demo.exists(), "{recording}");
    recording.said
}

#[test]
fn programs_that_cannot_run_here_are_refused_with_what_is_missing() {
    let _turn = Turn::take();
    let scratch = Scratch::new("refused");
    let server = compiled(&scratch, "answers.c", &["-m32"]);
    let altered = |name: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = fs::read(&server).expect("it was just compiled");
        change(&mut bytes);
        let path = scratch.write(name, bytes);
        run(Command::new("chmod").args(["+x", &path]));
        path
    };
    // The machine of an ELF header is its tenth word of 16 bits; 62 is x86-64, which in a file of class 32 means x32.
    let x32 = altered("x32", &|bytes| bytes[18..20].copy_from_slice(&62u16.to_le_bytes()));
    let said = refused(&scratch, x32);
    assert!(said.contains("is built for x32, an ABI that is not supported"), "{said}");
    assert!(said.contains("use a build for x86-64 or for i386"), "{said}");
    let arm = altered("arm", &|bytes| bytes[18..20].copy_from_slice(&40u16.to_le_bytes()));
    assert!(refused(&scratch, arm).contains("is built for another architecture"));
    let loader = b"/lib/ld-linux.so.2";
    let without_loader = altered("without-loader", &|bytes| {
        let at = bytes.windows(loader.len()).position(|name| name == loader).expect("it names its loader");
        bytes[at..at + loader.len()].copy_from_slice(b"/lib/ld-linux.so.9");
    });
    let said = refused(&scratch, without_loader);
    assert!(said.contains("is loaded by `/lib/ld-linux.so.9`, which is not there"), "{said}");
    assert!(said.contains("the package libc6-i386 of Debian"), "{said}");
}

#[test]
fn a_plugin_of_the_other_class_is_refused_in_the_loader_s_own_words() {
    let _turn = Turn::take();
    for (class, other) in [("-m32", "-m64"), ("-m64", "-m32")] {
        let scratch = Scratch::new(&format!("plugin{other}"));
        let server = compiled(&scratch, "plugins.c", &[class]);
        let plugin = compiled(&scratch, "plugin.c", &[other, "-shared", "-fPIC"]);
        let alone = Command::new(&server).args(["1", &plugin]).output().expect("the server starts");
        let words = String::from_utf8_lossy(&alone.stderr).into_owned();
        assert!(words.contains("wrong ELF class"), "{words}");
        let (recording, demo) = record_with(&scratch, &Server::new([server, "1".into(), plugin]), &[], |_| {});
        assert_eq!(recording.code, 1, "{recording}");
        assert!(recording.said.contains(words.trim_end()), "expected `{words}`: {recording}");
        assert_eq!(recording.said.matches("wrong ELF class").count(), 1, "{recording}");
        let replayed = replay(&scratch, &demo, &["--explain"], &[]);
        assert_eq!(replayed.answer["verdict"], "weak", "it ends as it did, and sent nothing: {replayed}");
    }
}

#[test]
fn a_program_below_another_root_directory_is_named_and_not_left_to_the_loader() {
    let _turn = Turn::take();
    for class in ["-m32", "-m64"] {
        let scratch = Scratch::new(&format!("chroot{class}"));
        let root = scratch.directory("root");
        let server = compiled(&scratch, "becomes.c", &[class]);
        let libraries = run(Command::new("ldd").arg(&server));
        let libraries = libraries.split_whitespace().filter(|word| word.starts_with('/'));
        for path in libraries.chain([server.as_str()]) {
            let name = if path == server { "/server" } else { path };
            let to = format!("{root}{name}");
            let folder = std::path::Path::new(&to).parent().expect("it lies below the root");
            fs::create_dir_all(folder).expect("the scratch directory is ours");
            fs::copy(path, &to).expect("the libraries are there");
        }
        // Alone, `becomes` says how it is used: exit code 2.
        let command = ["/usr/sbin/chroot".to_owned(), root, "/server".to_owned()];
        let (recording, demo) = record_with(&scratch, &Server::new(command), &[], |_| {});
        assert_eq!(recording.code, 2, "{recording}");
        let note = "exec in a root directory without /proc (chroot): what it does is not recorded";
        assert!(recording.said.contains(note), "{recording}");
        assert!(!recording.said.contains("cannot be preloaded"), "{recording}");
        assert_eq!(replay(&scratch, &demo, &[], &[]).answer["verdict"], "weak");
    }
}

#[test]
fn a_long_demo_of_32_bits_is_counted_where_valgrind_has_its_own_memory() {
    let _turn = Turn::take();
    let scratch = Scratch::new("long-i386");
    program("/usr/bin/valgrind", "valgrind");
    let server = compiled(&scratch, "large.c", &["-m32"]);
    let (_, demo) = record_with(&scratch, &Server::new([server.as_str(), "1500"]), &[], |stop| stop.wait());
    replay(&scratch, &demo, &[], &[]).assert_identical();
    let counted = scratch.prony(&["count", "story.demo", "--runs", "1", "--trust-demo"]);
    assert_eq!(counted.code, Some(0), "{counted:?}");
    assert!(counted.stdout.contains("instructions"), "{counted:?}");
}
