//! `prony doctor`: what works here, and what would give the rest.

use std::env;
use std::fs;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use prony_machine::own::{make_directory, temporary_name};
use prony_machine::perf::PerfError;
use prony_machine::{Abilities, Tree, abilities};
use prony_replay::{KnownDemos, has_i386};
use prony_report::doctor::Check;
use prony_report::{json, text};

use crate::cli::{DoctorArgs, SubjectArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// Tries everything, answers and says how it went.
///
/// # Errors
/// When the answer cannot be written, or there is no temporary directory.
pub fn run(args: &DoctorArgs) -> Result<Exit, Failure> {
    let abilities = abilities(&Tree::machine());
    let mut checks = Vec::from(recording()?);
    checks.extend(known(&abilities));
    checks.extend(measuring(&abilities));
    checks.extend(programs());
    let exit = if checks.iter().all(|check| check.works) { Exit::Good } else { Exit::Finding };
    if args.json {
        output::print_json(&json::doctor::DoctorDocument { version: crate::version::short(), checks: &checks })?;
    } else {
        output::print(&text::doctor::text(crate::version::short(), &checks))?;
    }
    Ok(exit)
}

fn finding(name: &'static str, tried: Result<String, String>, next_step: impl FnOnce() -> String) -> Check {
    let works = tried.is_ok();
    let evidence = tried.unwrap_or_else(|error| error);
    Check { name, works, evidence, next_step: (!works).then(next_step) }
}

/// Records and replays this program itself.
fn recording() -> Result<[Check; 3], Failure> {
    let wrong = |error: std::io::Error| Failure::io("use", &env::temp_dir(), &error);
    let place = temporary_name(&env::temp_dir().join("prony-doctor")).map_err(wrong)?;
    make_directory(&place, 0o700).map_err(|error| Failure::new(error.to_string()))?;
    let program = env::current_exe().map_err(wrong)?;
    let plain = recorded(&program, &place, None);
    let state = place.join("state");
    let with_state = fs::create_dir(&state)
        .map_err(|error| error.to_string())
        .and_then(|()| recorded(&program, &place, Some(&state)));
    // What stays behind is a few kB in a temporary directory.
    let _ = fs::remove_dir_all(&place);
    let loader = Path::new("/lib/ld-linux.so.2");
    let i386 = match (has_i386(), loader.exists()) {
        (true, true) => Ok("library and loader for i386 are there".to_owned()),
        (true, false) => Err(format!("{} does not exist", loader.display())),
        (false, _) => Err("this prony was built without the library for i386".to_owned()),
    };
    let has_library = has_i386();
    Ok([
        finding("record, replay", plain, || {
            "a seccomp filter or another preloaded library may be in the way; run it outside of the container"
                .to_owned()
        }),
        finding("record --state", with_state, || {
            "allow user namespaces: `sysctl kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000` and, on \
             Ubuntu, `kernel.apparmor_restrict_unprivileged_userns=0`; or run as root"
                .to_owned()
        }),
        finding("32-bit servers", i386, || match has_library {
            true => "install the package libc6-i386 (Fedora: glibc.i686)".to_owned(),
            false => "run `scripts/setup i386` in prony's source directory and build it again".to_owned(),
        }),
    ])
}

/// Records the subject, and replays it; its state directory, if any, has other content by then.
fn recorded(program: &Path, place: &Path, state: Option<&Path>) -> Result<String, String> {
    let demo = place.join(if state.is_some() { "state.demo" } else { "plain.demo" });
    let mut record = Command::new(program);
    record.arg("record").arg("-o").arg(&demo);
    if let Some(state) = state {
        fs::write(state.join("file"), "recorded").map_err(|error| error.to_string())?;
        record.arg("--state").arg(state);
    }
    record.arg("--").arg(program).arg("doctor-subject").args(state);
    succeeds(&mut record, place)?;
    if let Some(state) = state {
        fs::write(state.join("file"), "changed").map_err(|error| error.to_string())?;
    }
    succeeds(Command::new(program).arg("replay").arg(&demo), place)?;
    Ok(match state {
        None => "recorded a program and replayed it identically".to_owned(),
        Some(_) => "restored a directory for the replay only".to_owned(),
    })
}

fn succeeds(command: &mut Command, place: &Path) -> Result<(), String> {
    let output =
        command.env("XDG_STATE_HOME", place).stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let (out, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let error = said.lines().find_map(|line| line.strip_prefix("error: ")).or_else(|| out.lines().next());
    Err(error.map_or_else(|| output.status.to_string(), str::to_owned))
}

/// A program with output to verify: a datagram to itself, and the content of a file that it changes.
///
/// # Errors
/// When the loopback interface, or the directory, cannot be used.
pub fn subject(args: &SubjectArgs) -> Result<Exit, Failure> {
    let wrong = |error: std::io::Error| Failure::new(format!("cannot use the loopback interface: {error}"));
    let mut content = b"prony".to_vec();
    if let Some(state) = &args.state {
        let path = state.join("file");
        content = fs::read(&path).map_err(|error| Failure::io("read", &path, &error))?;
        fs::write(&path, "written").map_err(|error| Failure::io("write", &path, &error))?;
    }
    let socket = UdpSocket::bind(("127.0.0.1", 0)).map_err(wrong)?;
    let address = socket.local_addr().map_err(wrong)?;
    socket.send_to(&content, address).map_err(wrong)?;
    let mut received = [0; 64];
    let length = socket.recv(&mut received).map_err(wrong)?;
    socket.send_to(&received[..length], address).map_err(wrong)?;
    Ok(Exit::Good)
}

fn known(abilities: &Abilities) -> [Check; 2] {
    /// Descriptors of the replay channel, and some for the server.
    const DESCRIPTORS: u64 = 1_100;
    let list = KnownDemos::of_user().map(|_| "its list can be used".to_owned()).map_err(|error| error.to_string());
    let descriptors = match abilities.descriptors {
        Some(most) if most < DESCRIPTORS => Err(format!("at most {most}")),
        Some(most) => Ok(format!("up to {most}")),
        None => Ok("any number".to_owned()),
    };
    [
        finding("own demos", list, || "set HOME, or XDG_STATE_HOME, to a directory that only you can write".to_owned()),
        finding("descriptors", descriptors, || format!("raise the hard limit: `ulimit -Hn {DESCRIPTORS}` as root")),
    ]
}

fn measuring(abilities: &Abilities) -> [Check; 9] {
    let root = |what: &str| match abilities.is_root {
        true => Ok(what.to_owned()),
        false => Err("this user is not root".to_owned()),
    };
    let waits = match fs::read_to_string("/proc/self/schedstat") {
        Ok(_) => Ok("the kernel accounts for it".to_owned()),
        Err(error) => Err(format!("/proc/self/schedstat: {error}")),
    };
    let exits = match abilities.reports_exits {
        true => Ok("the kernel reports it when a task ends".to_owned()),
        false => Err("the kernel does not report it to this user here".to_owned()),
    };
    let counters = match abilities.counters.as_slice() {
        [] => Err("none".to_owned()),
        some => Ok(some.iter().map(|counter| counter.name()).collect::<Vec<_>>().join(", ")),
    };
    let realtime =
        abilities.realtime.as_ref().map(|()| "SCHED_FIFO was given".to_owned()).map_err(|_| "refused".to_owned());
    let sampled = |tried: &Result<(), PerfError>| match tried {
        Ok(()) => Ok("opened an event".to_owned()),
        Err(error) => Err(error.to_string()),
    };
    let huge_pages =
        root("root, and the kernel has huge pages of 2 MiB").and_then(|works| match abilities.has_huge_pages {
            true => Ok(works),
            false => Err("the kernel has no huge pages of 2 MiB".to_owned()),
        });
    [
        finding("bench: wait for a CPU", waits, || "needs a kernel with CONFIG_SCHED_INFO".to_owned()),
        finding("bench: wait of threads", exits, || {
            "run as root (CAP_NET_ADMIN), outside of containers; without it, parallel programs are judged by wall time"
                .to_owned()
        }),
        finding("bench: hardware counters", counters, || {
            "`sysctl kernel.perf_event_paranoid=2`; in a virtual machine, the host has to provide a virtual PMU"
                .to_owned()
        }),
        finding("bench --fifo", realtime, || "run as root, or raise the limit: `ulimit -r 1`".to_owned()),
        finding("profile", sampled(&abilities.sampling), || paranoid(&abilities.sampling)),
        finding("profile --kernel", sampled(&abilities.kernel_sampling), || paranoid(&abilities.kernel_sampling)),
        finding("profile: all processes", sampled(&abilities.machine_sampling), || {
            paranoid(&abilities.machine_sampling)
        }),
        finding("machine tune", root("root"), || "run `sudo prony machine tune`".to_owned()),
        finding("nic, load nic", huge_pages, || "run as root, with a kernel that has CONFIG_HUGETLBFS".to_owned()),
    ]
}

fn paranoid(tried: &Result<(), PerfError>) -> String {
    match tried {
        Err(PerfError::NotPermitted { needed, .. }) => {
            format!("`sysctl kernel.perf_event_paranoid={needed}` as root, or run as root")
        }
        _ => "containers may block perf_event_open: run outside of the container, or with CAP_PERFMON".to_owned(),
    }
}

/// Other programs that verbs run, or that read what verbs write.
fn programs() -> Vec<Check> {
    let wanted = [
        ("bisect", "git", "install the package git"),
        ("bench --python", "python3", "install the package python3, or name an interpreter with --interpreter"),
        (
            "demo pcap | tshark -r -",
            "tshark",
            "install the package tshark (Fedora: wireshark-cli), if you want to read pcap files",
        ),
        (
            "study --executor slurm",
            "sbatch",
            "needed for studies on a Slurm cluster only: install the package slurm-client",
        ),
    ];
    let path = env::var_os("PATH").unwrap_or_default();
    let found = |name: &str| env::split_paths(&path).map(|directory| directory.join(name)).find(|file| file.is_file());
    let mut checks = Vec::new();
    for (verb, name, step) in wanted {
        let tried = found(name)
            .map(|path: PathBuf| path.display().to_string())
            .ok_or_else(|| format!("{name}: command not found"));
        checks.push(finding(verb, tried, || step.to_owned()));
    }
    checks
}
