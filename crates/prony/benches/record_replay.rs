//! What recording costs, how large demos are and how fast they replay: real servers, each row
//! against its peer in one interleaved run. `cargo bench -p prony` prints the rows that
//! `docs/results/README.md` keeps; a word on the command line chooses those whose name contains it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use prony_testing::clients::{quake, teeworlds};
use prony_testing::prony;
use prony_testing::recording::{self, Server, record_with, replay};
use prony_testing::scratch::{Scratch, free_address, program, run};

/// Measured replays of a demo.
const REPLAYS: &str = "9";

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let rows: [(&str, fn()); 9] = [
        ("hook cost", hook_cost),
        ("small records", small_records),
        ("redis cpu", redis_cpu),
        ("openarena cpu", openarena_cpu),
        ("memcached throughput", memcached_throughput),
        ("nginx throughput", nginx_throughput),
        ("postgres throughput", postgres_throughput),
        ("teeworlds demo", teeworlds_demo),
        ("openarena demo", openarena_demo),
    ];
    for (name, row) in rows {
        if wanted.is_empty() || wanted.iter().any(|word| name.contains(word.as_str())) {
            row();
        }
    }
}

/// Median, least and greatest of some values.
fn spread(values: &[f64]) -> (f64, f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    (sorted[sorted.len() / 2], sorted[0], sorted[sorted.len() - 1])
}

/// Compiles a C subject into the scratch directory.
fn compiled(scratch: &Scratch, source: &str) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../subjects").join(source);
    let program = scratch.arg("subject");
    run(Command::new("cc").args(["-O2", "-Wall", "-o", &program]).arg(source).arg("-ldl"));
    program
}

/// Nanoseconds that a hook adds to a call, by the subject's own interleaved measurement, and what
/// the same calls cost under strace.
fn hook_cost() {
    let scratch = Scratch::new("hook-cost");
    let subject = compiled(&scratch, "hook-cost/hook_cost.c");
    let plain = run(&mut Command::new(&subject));
    let demo = scratch.arg("cost.demo");
    let recorded = run(prony().args(["record", "--force", "-o", &demo, "--", &subject]).stderr(Stdio::null()));
    for (way, lines) in [("native", plain), ("record", recorded)] {
        for line in lines.lines().filter(|line| line.contains(" n=")) {
            println!("hook cost, {way}: {line}");
        }
    }
    program("/usr/bin/strace", "strace");
    let traced = run(Command::new("strace").args(["-f", "-o", "/dev/null", &subject, "40"]));
    for line in traced.lines().filter(|line| line.starts_with("sendto")) {
        println!("hook cost, strace -f: {line}");
    }
}

/// Calls a second that a replay answers when the server makes nothing but small ones.
fn small_records() {
    let scratch = Scratch::new("small-records");
    let subject = compiled(&scratch, "hook-cost/hook_cost.c");
    let demo = scratch.path().join("small.demo");
    run(prony().args(["record", "--force", "-o"]).arg(&demo).args(["--", &subject, "spin", "10000000"]));
    let answer = replay(&scratch, &demo, &["--repeat", REPLAYS], &[]);
    let records = answer.number("records") as f64;
    let times: Vec<f64> = times(&answer, "cpu_s").iter().map(|seconds| records / seconds / 1e6).collect();
    let (median, least, most) = spread(&times);
    println!("small records: {median:.1} M calls/s of CPU [{least:.1} {most:.1}], {records} calls, n={}", times.len());
}

/// The list behind a measured value of `replay --json --repeat`.
fn times(answer: &recording::Replay, name: &str) -> Vec<f64> {
    let list = &answer.answer[format!("{name}_list")];
    let list = list.as_array().unwrap_or_else(|| panic!("`{name}_list` is missing from {answer}"));
    list.iter().filter_map(serde_json::Value::as_f64).collect()
}

/// A child that is ended when dropped.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

/// A server, or the recorder that has one.
struct Running {
    _child: Ended,
    /// Process of the server itself.
    server: u32,
}

impl Running {
    /// With `flags`, it is recorded with these.
    fn start(command: &[String], flags: Option<&[&str]>, demo: &str) -> Running {
        let mut start = Command::new(&command[0]);
        if let Some(flags) = flags {
            start = prony();
            start.args(["record", "--force", "-o", demo]).args(flags).args(["--", &command[0]]);
        }
        start.args(&command[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = Ended(start.spawn().expect("the server starts"));
        let server = if flags.is_some() { child_of(child.0.id()) } else { child.0.id() };
        Running { _child: child, server }
    }
}

/// Median of the ratios of rounds, and order statistics that hold it with 95 %.
fn median_of_ratios(own: &[f64], other: &[f64]) -> (f64, f64, f64) {
    let mut ratios: Vec<f64> = own.iter().zip(other).map(|(own, other)| own / other).collect();
    ratios.sort_by(f64::total_cmp);
    let rounds = ratios.len();
    let out = (rounds as f64 / 2.0 - 0.98 * (rounds as f64).sqrt()) as usize;
    (ratios[rounds / 2], ratios[out], ratios[rounds - 1 - out])
}

/// Waits until the server listens.
fn until_reachable(address: SocketAddr) {
    while std::net::TcpStream::connect(address).is_err() {
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

/// CPU seconds of all threads of a process so far.
fn cpu_s(pid: u32) -> f64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("the server runs");
    tasks
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok())
        .filter_map(|stat| stat.split(' ').next()?.parse::<f64>().ok())
        .sum::<f64>()
        / 1e9
}

/// The one child of a process, once it is there.
fn child_of(pid: u32) -> u32 {
    let path = format!("/proc/{pid}/task/{pid}/children");
    loop {
        let children = std::fs::read_to_string(&path).expect("the recorder runs");
        if let Some(child) = children.split_whitespace().next() {
            return child.parse().expect("a number");
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// Compares the CPU time of a recorded server with that of a native one, and of a second native one
/// for the method's own error. All three run all the time; `work` keeps one of them busy for a
/// moment, and each has its turn before the next round.
fn compare_cpu(
    name: &str,
    rounds: usize,
    command: impl Fn(SocketAddr, &str) -> Vec<String>,
    ready: impl Fn(SocketAddr),
    work: impl Fn(SocketAddr),
) {
    let scratch = Scratch::new("cpu");
    let demo = scratch.arg("cpu.demo");
    let servers = [("native", None), ("again", None), ("recorded", Some(&[][..]))].map(|(way, flags)| {
        let address = free_address();
        let running = Running::start(&command(address, way), flags, &demo);
        ready(address);
        (running, address)
    });
    let mut used = [const { Vec::new() }; 3];
    for round in 0..=rounds {
        for turn in 0..3 {
            let place = (round + turn) % 3;
            let (running, address) = &servers[place];
            let before = cpu_s(running.server);
            work(*address);
            // The first round finds cold caches and a ring that was never touched.
            if round > 0 {
                used[place].push(cpu_s(running.server) - before);
            }
        }
    }
    for (what, place) in [("native / native", 1), ("recorded / native", 2)] {
        let (median, low, high) = median_of_ratios(&used[place], &used[0]);
        let total = used[place].iter().sum::<f64>() / used[0].iter().sum::<f64>();
        println!("{name}: {what} CPU {median:.3} [{low:.3} {high:.3}], of the sums {total:.3}, n={rounds} rounds");
    }
}

fn redis_cpu() {
    compare_cpu(
        "redis cpu",
        150,
        |address, _| {
            ["/usr/bin/redis-server", "--bind", "127.0.0.1", "--port", &address.port().to_string(), "--save", ""]
                .map(str::to_owned)
                .to_vec()
        },
        until_reachable,
        |address| {
            let port = address.port().to_string();
            run(Command::new("redis-benchmark").args(["-p", &port, "-n", "10000", "-c", "20", "-t", "set,get", "-q"]));
        },
    );
}

/// What clients of a server with threads, or with processes that share memory, notice: work a second while it is recorded, as
/// a share of what it is without. `command` makes the server of one way, and `load` is the work of a round.
fn throughput(name: &str, rounds: usize, command: impl Fn(SocketAddr, &str) -> Vec<String>, load: impl Fn(SocketAddr)) {
    const WAYS: [(&str, Option<&[&str]>); 4] = [
        ("native", None),
        ("native again", None),
        ("recorded", Some(&[])),
        ("recorded side by side", Some(&["--threads-side-by-side"])),
    ];
    let scratch = Scratch::new(&name.replace(' ', "-"));
    let servers = WAYS.map(|(way, flags)| {
        let address = free_address();
        let way = way.replace(' ', "-");
        let running = Running::start(&command(address, &way), flags, &scratch.arg(&way));
        until_reachable(address);
        (running, address)
    });
    let mut took_s = WAYS.map(|_| Vec::new());
    for round in 0..=rounds {
        for turn in 0..WAYS.len() {
            let place = (round + turn) % WAYS.len();
            let start = Instant::now();
            load(servers[place].1);
            // The first round finds cold caches and a ring that was never touched.
            if round > 0 {
                took_s[place].push(start.elapsed().as_secs_f64());
            }
        }
    }
    let native_s = spread(&took_s[0]).0;
    for place in 1..WAYS.len() {
        let (median, low, high) = median_of_ratios(&took_s[0], &took_s[place]);
        let way = WAYS[place].0;
        println!("{name}: {way} / native {median:.3} [{low:.3} {high:.3}], n={rounds} rounds of {native_s:.2} s");
    }
}

fn memcached_throughput() {
    throughput(
        "memcached throughput",
        30,
        |address, _| {
            let port = address.port().to_string();
            let memcached = program("/usr/bin/memcached", "memcached");
            [&memcached, "-t", "4", "-l", "127.0.0.1", "-p", &port, "-U", "0", "-u", "nobody"]
                .map(str::to_owned)
                .to_vec()
        },
        |address| {
            run(Command::new(program("/usr/bin/memcslap", "libmemcached-tools")).args([
                &format!("--servers={address}"),
                "--concurrency=8",
                "--execute-number=4000",
                "--test=get",
            ]));
        },
    );
}

/// Two workers, whose statistics lie in shared memory.
fn nginx_throughput() {
    let files = Scratch::new("nginx-files");
    throughput(
        "nginx throughput",
        30,
        |address, way| {
            let directory = files.directory(way);
            files.write(&format!("{way}/index.html"), "small page\n".repeat(60));
            let settings = format!(
                "daemon off; pid {directory}/pid; error_log /dev/null; worker_processes 2;\n\
                 events {{ worker_connections 256; }}\n\
                 http {{ access_log off; keepalive_requests 1000000;\n\
                 server {{ listen {address}; root {directory}; }} }}\n"
            );
            files.write(&format!("{way}/nginx.conf"), settings);
            let settings = format!("{directory}/nginx.conf");
            vec![program("/usr/sbin/nginx", "nginx-light"), "-p".into(), directory, "-c".into(), settings]
        },
        |address| {
            let page = format!("http://{address}/index.html");
            run(Command::new(program("/usr/bin/ab", "apache2-utils"))
                .args(["-q", "-k", "-n", "10000", "-c", "8", &page])
                .stderr(Stdio::null()));
        },
    );
}

/// The directory with the programs of the newest PostgreSQL.
fn postgres_programs() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = versions.map(|version| version.path().join("bin")).max();
    newest.unwrap_or_else(|| panic!("install postgresql: /usr/lib/postgresql has no version"))
}

/// A process for each client, with buffers and locks in shared memory. Not run as root, which it refuses.
fn postgres_throughput() {
    let files = Scratch::new("postgres-files");
    let programs = postgres_programs();
    let as_postgres = |program: &str| {
        let program = programs.join(program).display().to_string();
        ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", &program].map(str::to_owned)
    };
    run(Command::new("chmod").arg("755").arg(files.path()));
    throughput(
        "postgres throughput",
        20,
        |address, way| {
            let directory = files.directory(way);
            run(Command::new("chown").args(["postgres:postgres", &directory]));
            let [first, rest @ ..] = as_postgres("initdb");
            run(Command::new(first).args(rest).args(["--no-sync", "-A", "trust", "-D", &directory]));
            let port = format!("--port={}", address.port());
            let mut command = as_postgres("postgres").to_vec();
            command.extend([
                "-D".to_owned(),
                directory.clone(),
                port,
                format!("-k{directory}"),
                "-cfsync=off".to_owned(),
            ]);
            command
        },
        |address| {
            let port = address.port().to_string();
            let bench = programs.join("pgbench").display().to_string();
            let at = ["-h", "127.0.0.1", "-p", &port, "-U", "postgres"];
            // Its tables are made in the first round.
            let made = Command::new(&bench).args(at).args(["-n", "-c", "4", "-t", "200", "postgres"]).output();
            if !made.expect("pgbench is there").status.success() {
                run(Command::new(&bench).args(at).args(["-i", "-q", "-s", "2", "postgres"]).stderr(Stdio::null()));
            }
        },
    );
}

/// The dedicated server with twelve bots; its directory must outlive it.
fn openarena(home: &str, address: SocketAddr) -> Vec<String> {
    let settings = [
        ("com_basegame", "baseoa"),
        ("com_legacyprotocol", "71"),
        ("com_protocol", "71"),
        ("fs_basepath", "/usr/lib/openarena-server"),
        ("fs_homepath", home),
        ("dedicated", "1"),
        ("net_ip", "127.0.0.1"),
        ("net_port", &address.port().to_string()),
        ("sv_maxclients", "16"),
        ("sv_master1", ""),
    ];
    let mut command = vec![program("/usr/lib/ioquake3/ioq3ded", "openarena-server")];
    command.extend(settings.iter().flat_map(|(name, value)| ["+set", name, value]).map(str::to_owned));
    command.extend(["+map", "oa_dm1", "+exec", "bots.cfg"].map(str::to_owned));
    command
}

fn write_bots(scratch: &Scratch, name: &str) -> String {
    let bots = ["sarge", "grunt", "major", "angelyss", "arachna", "assassin", "ayumi", "beret", "dark", "gargoyle"];
    let lines: String = bots.iter().chain(&["grism", "kyonshi"]).map(|bot| format!("addbot {bot} 3\n")).collect();
    let home = scratch.directory(name);
    scratch.write(&format!("{name}/baseoa/bots.cfg"), lines);
    home
}

fn pass(time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        std::thread::park_timeout(end - Instant::now());
    }
}

fn openarena_cpu() {
    let scratch = Scratch::new("openarena-cpu");
    // The game runs in real time, so equal time is equal work, up to what the bots do.
    compare_cpu(
        "openarena cpu",
        60,
        |address, way| openarena(&write_bots(&scratch, way), address),
        |_| pass(Duration::from_secs(3)),
        |_| pass(Duration::from_secs(1)),
    );
}

/// Records for some time and says how large the demo is and how fast it replays.
fn demo_row(
    name: &str,
    scratch: &Scratch,
    server: &Server,
    seconds: &str,
    drive: impl FnOnce(&recording::Stop) + Send,
) {
    let (_, demo): (_, PathBuf) = record_with(scratch, server, &["--for", seconds], drive);
    let bytes = std::fs::metadata(&demo).expect("the demo was written").len();
    let answer = replay(scratch, &demo, &["--repeat", REPLAYS], &[]);
    let recorded = answer.answer["recorded_s"].as_f64().unwrap_or(f64::NAN);
    let wall: Vec<f64> = times(&answer, "wall_s").iter().map(|seconds| recorded / seconds).collect();
    let cpu: Vec<f64> = times(&answer, "cpu_s").iter().map(|seconds| recorded / seconds).collect();
    let ((wall, wall_least, wall_most), (cpu, cpu_least, cpu_most)) = (spread(&wall), spread(&cpu));
    println!(
        "{name}: {:.3} MB for {recorded:.1} s, {} records, {}; speed-up {wall:.0}x [{wall_least:.0} {wall_most:.0}] of \
         wall time, {cpu:.0}x [{cpu_least:.0} {cpu_most:.0}] of CPU time, n={REPLAYS}",
        bytes as f64 / 1e6,
        answer.number("records"),
        answer.answer["verdict"],
    );
}

fn teeworlds_demo() {
    let scratch = Scratch::new("teeworlds-demo");
    let address = free_address();
    scratch.write(
        "server.cfg",
        format!(
            "bindaddr 127.0.0.1\nsv_port {}\nsv_register 0\nsv_map dm1\nsv_max_clients 16\nsv_player_slots 16\n\
             sv_max_clients_per_ip 16\nsv_inactivekick_time 0\n",
            address.port()
        ),
    );
    let home = scratch.directory("home");
    let server =
        Server::new([program("/usr/games/teeworlds-server", "teeworlds-server"), "-f".into(), "server.cfg".into()])
            .with_state(home.clone())
            .with_variable("HOME", home);
    let tally = teeworlds::Tally::default();
    demo_row("teeworlds demo", &scratch, &server, "26s", |stop| {
        teeworlds::play(address, 8, &tally, stop.flag()).expect("no player is thrown out");
    });
}

fn openarena_demo() {
    for seconds in ["30s", "60s"] {
        let scratch = Scratch::new("openarena-demo");
        let home = write_bots(&scratch, "home");
        let address = free_address();
        let server =
            Server::new(openarena(&home, address)).with_state(home.clone()).with_variable("HOME", home.clone());
        demo_row("openarena demo", &scratch, &server, seconds, |stop| {
            quake::watch(address, stop);
        });
    }
}
