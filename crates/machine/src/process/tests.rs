use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::account::{Schedstat, parse_migrations, parse_schedstat};
use super::family::Event;
use super::*;

/// The program of known work, built once.
fn burn() -> &'static Path {
    static BURN: OnceLock<PathBuf> = OnceLock::new();
    BURN.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../subjects/burn/burn.c");
        let program = env::temp_dir().join(format!("prony-burn-{}", std::process::id()));
        let built = Command::new("cc").args(["-O1", "-pthread", "-o"]).arg(&program).arg(source).status();
        assert!(built.expect("cc is there: apt-get install gcc libc6-dev").success());
        program
    })
}

/// Runs a program with its output in memory.
fn run_in(process: impl FnOnce(&mut Process), program: &Path, arguments: &[&str]) -> (Result<Run, RunError>, String) {
    let nowhere = File::open("/dev/null").expect("it is always there");
    let mut output = file_in_memory().expect("there is memory");
    let mut words: Vec<OsString> = vec![program.into()];
    words.extend(arguments.iter().map(OsString::from));
    let mut wanted = Process {
        program,
        arguments: &words,
        environment: &[],
        directory: None,
        streams: [nowhere.as_fd(), output.as_fd(), output.as_fd()],
        extra: None,
        placement: Placement::default(),
    };
    process(&mut wanted);
    let run = Runner::new().run(&wanted, &mut [], None);
    output.rewind().expect("it is a file");
    let mut text = String::new();
    output.read_to_string(&mut text).expect("the programs write text");
    (run, text)
}

fn run(program: impl AsRef<Path>, arguments: &[&str]) -> (Run, String) {
    let (run, text) = run_in(|_| (), program.as_ref(), arguments);
    (run.expect("the program is there"), text)
}

/// What `burn -v` says: its own CPU time and that of its children, in nanoseconds.
fn truth(text: &str) -> (u64, u64) {
    let numbers: Vec<u64> = text.split_whitespace().map(|word| word.parse().expect("a number")).collect();
    (numbers[0], numbers[1] * 1000)
}

/// Nothing is left out, as the program reads its time before it ends; and nothing is counted twice, as `at_once` tasks
/// get no more time than as many CPUs have.
fn assert_covers(run: &Run, truth_ns: u64, at_once: u64) {
    assert!(run.cpu_ns >= truth_ns, "{truth_ns} ns by the program's own account: {run:?}");
    assert!(run.cpu_ns <= at_once * run.wall_ns, "{at_once} tasks at once: {run:?}");
}

#[test]
fn the_time_of_one_thread_is_what_the_program_says() {
    let (run, text) = run(burn(), &["-v", "20000000"]);
    assert_eq!((run.ended, run.spawned), (Ended::Exited(0), SpawnedTasks::default()));
    assert_covers(&run, truth(&text).0, 1);
    let uncontended_ns = run.uncontended_ns().expect("one thread without children");
    assert!(uncontended_ns <= run.wall_ns && uncontended_ns >= run.cpu_ns, "{run:?}");
    assert!(run.faults.minor > 0, "{run:?}");
}

#[test]
fn the_time_of_threads_is_summed_and_net_is_off() {
    let (run, text) = run(burn(), &["-v", "-t", "3", "20000000"]);
    assert_eq!(run.spawned, SpawnedTasks { threads: true, children: false });
    assert_covers(&run, truth(&text).0, 3);
    assert_eq!(run.uncontended_ns(), None);
}

#[test]
fn the_time_of_children_is_summed_and_net_is_off() {
    let (run, text) = run(burn(), &["-v", "-c", "2", "20000000"]);
    assert_eq!(run.spawned, SpawnedTasks { threads: false, children: true });
    let (own_ns, children_ns) = truth(&text);
    assert!(children_ns > own_ns, "two children do twice the work");
    // A parent may still run while its child begins.
    assert_covers(&run, own_ns + children_ns, 2);
    assert_eq!(run.uncontended_ns(), None);
}

#[test]
fn tasks_on_one_cpu_take_no_more_time_than_the_clock() {
    for tasks in ["-t3", "-c3"] {
        let on_first = |process: &mut Process| process.placement.cpu = Some(first_cpu());
        let (run, text) = run_in(on_first, burn(), &["-v", tasks, "20000000"]);
        let (own_ns, children_ns) = truth(&text);
        assert_covers(&run.expect("it runs"), own_ns + children_ns, 1);
    }
}

/// Children and threads that take turns are known to the kernel's listeners only.
fn assert_heard(run: &Run) {
    assert_ne!(
        run.wait_ns,
        Err(NoWait::NotReported),
        "this test needs CAP_NET_ADMIN: sudo -E env PATH=\"$PATH\" cargo test -p prony-machine process"
    );
}

#[test]
fn children_that_take_turns_have_a_net() {
    let script = r#""$0" -v 40000000; "$0" -v 40000000; :"#;
    let burn = burn().to_str().expect("a name of ours");
    let (run, text) = run("/bin/sh", &["-c", script, burn]);
    assert_heard(&run);
    assert_eq!((run.ended, run.spawned), (Ended::Exited(0), SpawnedTasks { threads: false, children: true }));
    let children_ns: u64 = text.lines().map(|line| truth(line).0).sum();
    assert_covers(&run, children_ns, 2);
    let uncontended_ns = run.uncontended_ns().expect("a shell waits for its children");
    assert!(uncontended_ns >= run.cpu_ns && uncontended_ns <= run.wall_ns, "{run:?}");
}

#[test]
fn the_kernel_reports_cpu_time_and_wait_of_each_thread() {
    let exits = Exits::open().expect("CAP_NET_ADMIN: sudo -E env PATH=\"$PATH\" cargo test -p prony-machine process");
    exits.forget();
    let on_first = |process: &mut Process| process.placement.cpu = Some(first_cpu());
    // The shell becomes the program: the number that it writes is the program's.
    let script = r#"echo $$; exec "$0" -v -t 2 20000000"#;
    let burn = burn().to_str().expect("a name of ours");
    let (run, text) = run_in(on_first, Path::new("/bin/sh"), &["-c", script, burn]);
    let run = run.expect("it runs");
    assert_eq!(run.ended, Ended::Exited(0));
    let (events, records) = exits.received().expect("there is room for three tasks");
    let (number, account) = text.split_once('\n').expect("two lines");
    let number: u32 = number.parse().expect("a number");
    let truth_ns = truth(account).0;
    let record = |of: u32| records.iter().find(|record| record.task == of).map(|record| record.times);
    // Others on this machine begin threads too.
    let pair = events.iter().find_map(|event| match *event {
        Event::Fork { task, process, .. } if task != process && process == number => record(process).zip(record(task)),
        _ => None,
    });
    let Some((main, thread)) = pair else {
        panic!("process {number}: {events:?} {records:?}");
    };
    // The kernel brings a record up to date at its ticks, at least a hundred a second.
    const TICK_NS: u64 = 10_000_000;
    let ran_ns = main.ran_ns + thread.ran_ns;
    assert!(ran_ns + 2 * TICK_NS >= truth_ns, "{truth_ns} ns by the program's own account: {main:?} {thread:?}");
    assert!(ran_ns <= run.wall_ns, "on one CPU: {main:?} {thread:?} {run:?}");
    // On one CPU the two cannot run at once: while one works, the other waits or has ended.
    assert!(main.waited_ns + thread.waited_ns > main.ran_ns.min(thread.ran_ns) / 2, "{main:?} {thread:?}");
}

#[test]
fn threads_that_run_at_once_are_given_as_the_reason() {
    let (run, _) = run(burn(), &["-t", "3", "20000000"]);
    assert_heard(&run);
    assert_eq!(run.wait_ns, Err(NoWait::Overlap));
}

#[test]
fn a_child_that_runs_on_is_given_as_the_reason() {
    // The child that is waited for makes it a command with children; the other one reads until its pipe is shut.
    let (from, _writer) = io::pipe().expect("there are descriptors");
    let nowhere = File::open("/dev/null").expect("it is always there");
    let arguments = ["sh", "-c", r#""$0" 20000000; cat <&3 & :"#].map(OsString::from).into_iter();
    let process = Process {
        program: Path::new("/bin/sh"),
        arguments: &arguments.chain([burn().into()]).collect::<Vec<_>>(),
        environment: &[("PATH".into(), "/usr/bin:/bin".into())],
        directory: None,
        streams: [nowhere.as_fd(); 3],
        extra: Some(from.as_fd()),
        placement: Placement::default(),
    };
    let run = Runner::new().run(&process, &mut [], None).expect("the shell is there");
    assert_heard(&run);
    assert_eq!((run.spawned.children, run.wait_ns), (true, Err(NoWait::Outlived)));
}

#[test]
fn memory_that_was_touched_is_in_the_peak() {
    // More than we ever had ourselves: other tests run in this process, and some need much.
    let mebibytes = (account::own_rss_max_bytes() >> 20) + 64;
    let (run, _) = run(burn(), &["-m", &mebibytes.to_string(), &(mebibytes * 150_000).to_string()]);
    let expected = (mebibytes - 4) << 20..(mebibytes + 140) << 20;
    assert!(run.rss_max_bytes.is_some_and(|bytes| expected.contains(&bytes)), "{run:?}");
    assert!(run.faults.minor > 30, "{run:?}");
}

#[test]
fn memory_below_our_own_is_known_where_the_kernel_reports_exits() {
    let (small, large) = (run(burn(), &["-m", "1", "1000000"]).0, run(burn(), &["-m", "9", "1000000"]).0);
    assert!(account::own_rss_max_bytes() > 0);
    // Without exit records it is unknown, and not taken from this process.
    if let (Some(small), Some(large)) = (small.rss_max_bytes, large.rss_max_bytes) {
        assert!((7 << 20..10 << 20).contains(&(large - small)), "{small} {large}");
        assert!((1 << 20..8 << 20).contains(&small), "{small}");
    }
    assert_eq!(small.rss_max_bytes.is_some(), large.rss_max_bytes.is_some());
}

#[test]
fn codes_and_signals_are_distinguished() {
    assert_eq!(run(burn(), &["-e", "7", "1"]).0.ended, Ended::Exited(7));
    assert_eq!(run("/bin/sh", &["-c", "kill -SEGV $$"]).0.ended, Ended::Signalled(libc::SIGSEGV));
    // Our process ignores SIGPIPE, as every Rust program does; a program we start must not.
    assert_eq!(run("/bin/sh", &["-c", "kill -PIPE $$"]).0.ended, Ended::Signalled(libc::SIGPIPE));
}

#[test]
fn a_step_that_fails_is_named() {
    let (missing, _) = run_in(|_| (), Path::new("/no/such/program"), &[]);
    assert_eq!(
        missing.expect_err("it is not there").to_string(),
        "cannot execute `/no/such/program`: No such file or directory (os error 2)"
    );
    let (lost, _) =
        run_in(|process| process.directory = Some(Path::new("/no/such/place")), Path::new("/bin/true"), &[]);
    assert!(matches!(lost, Err(RunError::Start { step: Step::Directory, .. })), "{lost:?}");
    let (pinned, _) = run_in(|process| process.placement.cpu = Some(1_000_000), Path::new("/bin/true"), &[]);
    assert!(matches!(pinned, Err(RunError::Start { step: Step::Pin, .. })), "{pinned:?}");
    let (zero, _) = run_in(|_| (), Path::new("/bin/true"), &["a\0b"]);
    assert!(matches!(zero, Err(RunError::ZeroByte(_))), "{zero:?}");
}

/// What a `/proc/PID/status` says of CPUs.
fn allowed(text: &str) -> Option<String> {
    text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:").map(str::to_owned))
}

/// The first CPU that we may run on.
fn first_cpu() -> usize {
    let ours = allowed(&fs::read_to_string("/proc/self/status").expect("Linux has it")).expect("a line of it");
    ours.trim().split([',', '-']).next().and_then(|cpu| cpu.parse().ok()).expect("a list of CPUs")
}

#[test]
fn a_pinned_process_sees_one_cpu() {
    let first = first_cpu();
    let (run, text) =
        run_in(|process| process.placement.cpu = Some(first), Path::new("/bin/cat"), &["/proc/self/status"]);
    assert_eq!(run.expect("it runs").ended, Ended::Exited(0));
    assert_eq!(allowed(&text).expect("a line of it").trim(), first.to_string());
}

#[test]
fn environment_directory_and_descriptors_are_those_given() {
    let environment = [(OsString::from("COLOUR"), OsString::from("green"))];
    let (mut read, write) = io::pipe().expect("there are descriptors");
    let script = "echo $COLOUR; pwd; echo through >&3";
    let nowhere = File::open("/dev/null").expect("it is always there");
    let mut output = file_in_memory().expect("there is memory");
    let arguments = ["sh", "-c", script].map(OsString::from);
    let process = Process {
        program: Path::new("/bin/sh"),
        arguments: &arguments,
        environment: &environment,
        directory: Some(Path::new("/usr")),
        streams: [nowhere.as_fd(), output.as_fd(), output.as_fd()],
        extra: Some(write.as_fd()),
        placement: Placement::default(),
    };
    let run = Runner::new().run(&process, &mut [], None).expect("the shell is there");
    assert_eq!(run.ended, Ended::Exited(0));
    drop(write);
    let (mut printed, mut piped) = (String::new(), String::new());
    output.rewind().expect("it is a file");
    output.read_to_string(&mut printed).expect("text");
    read.read_to_string(&mut piped).expect("text");
    assert_eq!((printed.as_str(), piped.as_str()), ("green\n/usr\n", "through\n"));
}

#[test]
fn a_pipe_is_emptied_while_the_process_runs() {
    let (read, write) = io::pipe().expect("there are descriptors");
    let mut drains = [Drain::new(read, 3).expect("it is a pipe")];
    let nowhere = File::open("/dev/null").expect("it is always there");
    // Far more than a pipe holds.
    let arguments = ["sh", "-c", "head -c 1000000 /dev/zero"].map(OsString::from);
    let process = Process {
        program: Path::new("/bin/sh"),
        arguments: &arguments,
        environment: &[("PATH".into(), "/usr/bin:/bin".into())],
        directory: None,
        streams: [nowhere.as_fd(), write.as_fd(), nowhere.as_fd()],
        extra: None,
        placement: Placement::default(),
    };
    let run = Runner::new().run(&process, &mut drains, None).expect("the shell is there");
    assert_eq!((run.ended, drains[0].bytes.as_slice()), (Ended::Exited(0), &[0; 3][..]));
}

#[test]
fn a_stopped_process_is_gone_with_its_children() {
    let (stop, mut tell) = io::pipe().expect("there are descriptors");
    tell.write_all(b"!").expect("the pipe is empty");
    let (mut alive, write) = io::pipe().expect("there are descriptors");
    let nowhere = File::open("/dev/null").expect("it is always there");
    let arguments = ["sh", "-c", "sleep 1000 & wait"].map(OsString::from);
    let process = Process {
        program: Path::new("/bin/sh"),
        arguments: &arguments,
        environment: &[("PATH".into(), "/usr/bin:/bin".into())],
        directory: None,
        streams: [nowhere.as_fd(), write.as_fd(), nowhere.as_fd()],
        extra: None,
        placement: Placement::default(),
    };
    let run = Runner::new().run(&process, &mut [], Some(stop.as_fd())).expect("the shell is there");
    assert_eq!(run.ended, Ended::Stopped);
    // The pipe ends only when no process has it open, `sleep` included.
    drop(write);
    assert_eq!(alive.read(&mut [0]).expect("a pipe"), 0);
}

#[test]
fn counters_are_those_the_machine_has() {
    let (run, _) = run("/bin/true", &[]);
    let counted: Vec<Counter> = run.counts.0.iter().map(|&(counter, _)| counter).collect();
    assert_eq!(counted, Runner::new().counters());
    assert!(run.counts.0.iter().all(|&(counter, count)| counter != Counter::Instructions || count > 10_000));
}

#[test]
fn schedstat_and_sched_are_read_by_their_fields() {
    assert_eq!(
        parse_schedstat("20692897 17550181 16\n"),
        Some(Schedstat { ran_ns: 20_692_897, waited_ns: 17_550_181 })
    );
    for without in ["0 0 0\n", "", "1", "a b c"] {
        assert_eq!(parse_schedstat(without), None, "{without}");
    }
    let sched = "z (18125, #threads: 1)\nse.sum_exec_runtime   :   20.692897\nse.nr_migrations    :    3\n";
    assert_eq!(parse_migrations(sched), Some(3));
    assert_eq!(parse_migrations("z (1, #threads: 1)\n"), None);
}
