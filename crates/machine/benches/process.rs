//! What running a process costs beyond `posix_spawn` and `wait4`: `cargo bench -p prony-machine`.
//!
//! Runs `true` alternately through [`Runner`], through `posix_spawn` and `wait4` alone, and through the
//! standard library, and prints the median and the quartiles of each. `hyperfine -N true`
//! beside it shows that tool's figure for the same.

use std::error::Error;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::ptr;
use std::time::Instant;

use prony_machine::process::{Placement, Process, Runner};

const RUNS: usize = 2000;
const PROGRAM: &str = "/bin/true";

fn main() -> Result<(), Box<dyn Error>> {
    let nowhere = File::options().read(true).write(true).open("/dev/null")?;
    let arguments = [OsString::from(PROGRAM)];
    let environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let process = Process {
        program: Path::new(PROGRAM),
        arguments: &arguments,
        environment: &environment,
        directory: None,
        streams: [nowhere.as_fd(), nowhere.as_fd(), nowhere.as_fd()],
        extra: None,
        placement: Placement::default(),
    };
    let mut runner = Runner::new();
    let (mut whole, mut wall, mut spawn, mut standard) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut misjudged = 0;
    for _ in 0..RUNS {
        let begin = Instant::now();
        let run = runner.run(&process, &mut [], None)?;
        whole.push(begin.elapsed().as_secs_f64() * 1e6);
        wall.push(run.wall_ns as f64 / 1e3);
        misjudged += usize::from(!run.spawned.is_alone());
        spawn.push(spawn_and_wait(&environment)?);
        let begin = Instant::now();
        Command::new(PROGRAM).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        standard.push(begin.elapsed().as_secs_f64() * 1e6);
    }
    println!("{RUNS} runs of {PROGRAM} each, in turns; µs: quartile, median, quartile");
    for (name, values) in [
        ("prony, call to return", &mut whole),
        ("prony, wall time of the run", &mut wall),
        ("posix_spawn and wait4", &mut spawn),
        ("std::process::Command", &mut standard),
    ] {
        values.sort_by(f64::total_cmp);
        let [low, median, high] = [1, 2, 3].map(|quarter| values[values.len() * quarter / 4]);
        println!("{name:28} {low:7.0} {median:7.0} {high:7.0}");
    }
    println!("runs taken for more than one thread or process: {misjudged}");
    Ok(())
}

/// The least that starting a process and waiting for it takes, in microseconds.
fn spawn_and_wait(environment: &[(OsString, OsString)]) -> Result<f64, Box<dyn Error>> {
    use std::os::unix::ffi::OsStrExt;
    let variables = environment.iter().map(|(name, value)| {
        std::ffi::CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()).map_err(Into::into)
    });
    let variables = variables.collect::<Result<Vec<_>, Box<dyn Error>>>()?;
    let environment: Vec<*mut libc::c_char> =
        variables.iter().map(|variable| variable.as_ptr().cast_mut()).chain([ptr::null_mut()]).collect();
    let program = c"/bin/true";
    let arguments = [program.as_ptr().cast_mut(), ptr::null_mut()];
    let begin = Instant::now();
    // SAFETY: C strings and arrays that end in a null pointer, alive across the calls.
    unsafe {
        let mut pid = 0;
        let started = libc::posix_spawn(
            &raw mut pid,
            program.as_ptr(),
            ptr::null(),
            ptr::null(),
            arguments.as_ptr(),
            environment.as_ptr(),
        );
        let mut usage: libc::rusage = std::mem::zeroed();
        if started != 0 || libc::wait4(pid, ptr::null_mut(), 0, &raw mut usage) == -1 {
            return Err(std::io::Error::last_os_error().into());
        }
    }
    Ok(begin.elapsed().as_secs_f64() * 1e6)
}
