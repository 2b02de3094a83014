//! Stack samples of replays of both builds, apart from the measured ones: which functions account for the difference.

use std::time::Instant;

use prony_machine::Interrupt;
use prony_profile::{
    Options, Profile, ProfileMode, Recording, Sampler, SamplerError, TimeChanges, TimedStacks, Walk, time_changes,
};
use prony_replay::{ReplayError, Replayer};
use prony_stats::Seed;

use super::chosen::Choice;

/// Samples a second of a replay, as `prony profile` takes them. Each costs the replay time: 4 kHz made one on a virtual machine
/// 16 % longer.
const FREQUENCY_HZ: u32 = 999;
/// Samples of each build that are wanted: the time of a function with a tenth of them is known to 9 %, at two standard errors.
const SAMPLES: f64 = 5_000.0;
/// Rounds, a replay of each build, at least, and where time is up.
const ROUNDS_MIN: usize = 12;
const ROUNDS_LEAST: usize = 4;
/// Rounds at most; a replay has little of its time in frames then.
const ROUNDS_MAX: usize = 400;
/// Number of runs that consecutive replays are grouped into, of which the variation between runs is known.
const RUNS: usize = 8;
/// Error of all intervals together.
const LEVEL: f64 = 0.05;

/// Both builds, profiled on the judged frames of the demo.
#[derive(Debug)]
pub struct ProfiledBuilds {
    /// Number of profiled replays of each build.
    pub replays: usize,
    /// Stack samples in the judged frames, of A and of B.
    pub samples: [u64; 2],
    /// Number of judged frames of a replay.
    pub frames: u64,
    /// Times of functions in one replay.
    pub changes: TimeChanges,
    /// Names of threads and objects of A that are other ones in B.
    pub renamed: Vec<[String; 2]>,
    /// False if time in the kernel was not sampled: it counts for the functions that were, by their shares.
    pub kernel: bool,
}

/// Reasons why there is no profile of both builds.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The kernel gives no samples.
    #[error(transparent)]
    Sampler(#[from] SamplerError),
    /// A replay could not be run.
    #[error("a profiled replay failed: {0}")]
    Replay(#[from] ReplayError),
    /// No sample in a judged frame of one of the builds.
    #[error("no stack sample in the compared frames of {0} replays of each build")]
    NoSamples(usize),
    /// A signal requested a stop.
    #[error("interrupted")]
    Interrupted,
}

/// A profiled replay: its build, when its judged frames began and ended, and their CPU time.
struct Replayed {
    build: usize,
    spans: Vec<(u64, u64)>,
    cpu_s: f64,
}

/// Sampler for replays that this thread starts.
///
/// # Errors
/// [`SamplerError`], above all that it is not permitted.
fn sampler() -> Result<Sampler, SamplerError> {
    Sampler::of_children(&Options {
        mode: ProfileMode::OnCpu,
        frequency_hz: FREQUENCY_HZ,
        cpus: None,
        walk: Walk::FramePointers,
    })
}

/// Replays both builds alternately in random order while they are sampled, until there are enough samples or `budget_s` is over.
/// `entries`: of frame times, those that are compared. `progress` gets the number of replays of each build.
///
/// # Errors
/// [`ProfileError`].
pub(super) fn profile(
    builds: &mut [Replayer; 2],
    choice: &Choice,
    entries: Option<usize>,
    budget_s: f64,
    seed: &mut Seed,
    interrupt: Option<&Interrupt>,
    progress: &mut dyn FnMut(usize),
) -> Result<ProfiledBuilds, ProfileError> {
    let sampler = sampler()?;
    let began = Instant::now();
    let mut replays: Vec<Replayed> = Vec::new();
    let mut cpu_s = [0.0; 2];
    for round in 1..=ROUNDS_MAX {
        let order = if seed.coin() { [0, 1] } else { [1, 0] };
        for build in order {
            if interrupt.is_some_and(Interrupt::is_requested) {
                return Err(ProfileError::Interrupted);
            }
            let mut timing = builds[build].replay(&mut |_| ())?.timing;
            if let Some(entries) = entries {
                timing.frame_cpu_ns.truncate(entries);
            }
            let starts = choice.select(&timing.frame_start_ns[..timing.frame_cpu_ns.len()]);
            let lengths = choice.select(&timing.frame_wall_ns);
            let spans = starts.iter().zip(&lengths).map(|(&start, &ns)| (start, start.saturating_add(ns))).collect();
            let of_replay = choice.select(&timing.frame_cpu_ns).iter().sum::<u64>() as f64 / 1e9;
            cpu_s[build] += of_replay;
            replays.push(Replayed { build, spans, cpu_s: of_replay });
        }
        progress(round);
        let is_enough = cpu_s.iter().all(|cpu_s| cpu_s * f64::from(FREQUENCY_HZ) >= SAMPLES);
        let is_late = began.elapsed().as_secs_f64() >= budget_s;
        if (is_enough && round >= ROUNDS_MIN) || (is_late && round >= ROUNDS_LEAST) {
            break;
        }
    }
    compared(&sampler.finish()?, &replays, choice)
}

/// Times of functions in the judged frames of both builds.
fn compared(recording: &Recording, replays: &[Replayed], choice: &Choice) -> Result<ProfiledBuilds, ProfileError> {
    let profile = Profile::of(recording);
    let each = replays.len() / 2;
    let mut runs = [Vec::new(), Vec::new()];
    for (build, runs) in runs.iter_mut().enumerate() {
        let of_build: Vec<&Replayed> = replays.iter().filter(|replay| replay.build == build).collect();
        for together in of_build.chunks(each.div_ceil(RUNS).max(1)) {
            let mut run = TimedStacks::default();
            for replay in together {
                let stacks = profile.of_main_thread(&replay.spans);
                run.add(&TimedStacks { stacks, cpu_s: replay.cpu_s, times: 1 });
            }
            runs.push(run);
        }
    }
    let [a, b] = &runs;
    let changes = time_changes(a, b, LEVEL).ok_or(ProfileError::NoSamples(each))?;
    let samples = [a, b].map(|runs| runs.iter().map(|run| run.stacks.total()).sum());
    let stacks = |runs: &[TimedStacks]| runs.iter().map(|run| run.stacks.clone()).collect::<Vec<_>>();
    Ok(ProfiledBuilds {
        replays: each,
        samples,
        frames: choice.counts()[0],
        changes,
        renamed: prony_profile::pair(&stacks(a), &stacks(b)).renamed,
        kernel: recording.kernel,
    })
}
