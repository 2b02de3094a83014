//! How fast the text of `perf script` becomes folded stacks, beside inferno's `collapse-perf`, alternately.
//!
//! `cargo bench -p prony-profile --bench fold [-- perf.txt]`; without a file, a made-up profile of 400,000 samples. With
//! `STACKCOLLAPSE_PERF=stackcollapse-perf.pl`, a path of Brendan Gregg's script, that too is run on the file.

use std::fmt::Write;
use std::hint::black_box;
use std::io::Cursor;
use std::process::Command;
use std::time::Instant;

use inferno::collapse::Collapse;
use inferno::collapse::perf::{Folder, Options};
use prony_profile::read_perf_script;
use prony_stats::Seed;
use prony_stats::quantile::{quantile_of_sorted, sorted};

const ROUNDS: usize = 15;

fn main() {
    let file = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let text = match &file {
        Some(path) => std::fs::read(path).unwrap_or_else(|error| panic!("{path}: {error}")),
        None => made_up(400_000).into_bytes(),
    };
    let megabytes = text.len() as f64 / 1e6;
    let (mut ours, mut theirs, mut perl) = (Vec::new(), Vec::new(), Vec::new());
    let script = std::env::var_os("STACKCOLLAPSE_PERF").zip(file.as_ref());
    let mut stacks = [0; 3];
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let folded = read_perf_script(black_box(&text)).stacks.folded();
        ours.push(megabytes / began.elapsed().as_secs_f64());
        stacks[0] = folded.lines().count();

        let began = Instant::now();
        let mut options = Options::default();
        options.nthreads = 1;
        let mut folded = Vec::new();
        Folder::from(options).collapse(Cursor::new(black_box(&text)), &mut folded).expect("inferno reads it");
        theirs.push(megabytes / began.elapsed().as_secs_f64());
        stacks[1] = folded.iter().filter(|&&byte| byte == b'\n').count();

        if let Some((script, text)) = &script {
            let began = Instant::now();
            let output = Command::new("perl").arg(script).arg(text).output().expect("perl runs");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            perl.push(megabytes / began.elapsed().as_secs_f64());
            stacks[2] = output.stdout.iter().filter(|&&byte| byte == b'\n').count();
        }
    }
    println!("{megabytes:.0} MB of text, {} different stacks (inferno {}, perl {})", stacks[0], stacks[1], stacks[2]);
    for (name, speeds) in [("prony", &ours), ("inferno, one thread", &theirs), ("stackcollapse-perf.pl", &perl)] {
        let speeds = sorted(speeds);
        let at = |share| quantile_of_sorted(&speeds, share).unwrap_or(f64::NAN);
        println!("{name}: {:.0} MB/s [{:.0} {:.0}], n = {ROUNDS}", at(0.5), at(0.25), at(0.75));
    }
    for (name, theirs) in [("inferno", &theirs), ("perl", &perl)] {
        let ratios = sorted(&ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect::<Vec<_>>());
        println!("times as fast as {name}: {:.1}", quantile_of_sorted(&ratios, 0.5).unwrap_or(f64::NAN));
    }
}

/// Stacks of 5 to 40 frames out of 3,000 functions, each called at one of three places.
fn made_up(samples: usize) -> String {
    let mut seed = Seed::new(1);
    let mut text = String::new();
    let mut stacks = Vec::new();
    for _ in 0..4000 {
        let depth = 5 + seed.below(36);
        let frames: Vec<(usize, usize)> = (0..depth).map(|_| (seed.below(3000), seed.below(3))).collect();
        stacks.push(frames);
    }
    for sample in 0..samples {
        let (thread, ms) = (seed.below(8), sample);
        let _ = writeln!(
            text,
            "server-{thread} 4711/{} [00{}] {:>5}.{:06}:    1001001 cpu-clock:pppH: ",
            4711 + thread,
            seed.below(4),
            ms / 1000,
            ms % 1000 * 1000
        );
        for &(function, place) in &stacks[seed.below(stacks.len())] {
            let address = 0x5581_0000_0000usize + function * 256 + place * 16;
            let _ = writeln!(
                text,
                "\t{address:16x} engine::module{}::function_{function}(int, char const*)+0x{:x} (/usr/games/server)",
                function % 40,
                place * 16 + 7
            );
        }
        text.push('\n');
    }
    text
}
