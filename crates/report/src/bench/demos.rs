//! Two builds on demos in words: why they could not be compared, and the verdict for all of them.

use prony_bench::{DemoEnded, DemoOptions, DemoReport, Demos, FrameKind, JudgedFrames, OnDemo, UntilDivergence};
use prony_replay::ReplayReport;
use prony_stats::{Metric, Verdict};
use prony_text::{Quantity, Table, count, plain, printable_line, thousands, without_error_numbers};

use super::table::RowVerdict;
use crate::change::{self, change};
use crate::divergence;
use crate::words::{Judged, claim};

/// Why two builds could not be compared on a demo, or not as a whole. `None` where they were.
pub fn failure(options: &DemoOptions, report: &DemoReport) -> Option<String> {
    let demo = options.demo.path.display();
    let message = match &report.ended {
        DemoEnded::Complete | DemoEnded::Interrupted => return None,
        DemoEnded::Replay(build, error) => {
            format!("cannot replay {demo} against `{}`: {error}", options.builds[*build].name)
        }
        DemoEnded::NoFrame(kind, of) => no_frame(&demo.to_string(), *kind, *of),
        DemoEnded::Diverged(build, found) => {
            format!("`{}` diverged from {demo}{}", options.builds[*build].name, divergence_place(found))
        }
    };
    Some(without_error_numbers(&message))
}

/// ` at record 1,203 of frame 187: different output, …`; empty where nothing is known of it.
pub fn divergence_place(report: &ReplayReport) -> String {
    report.divergence.as_ref().map_or_else(String::new, |found| {
        let [record, frame] = [found.record, found.frame].map(thousands);
        format!(" at record {record} of frame {frame}: {}", divergence::in_short(found))
    })
}

/// That no frame is of the kind to be judged.
pub fn no_frame(demo: &str, kind: FrameKind, of_frames: u64) -> String {
    match of_frames {
        0 => format!("expected frames of {demo}, found none: the CPU time of a server is judged from frame to frame"),
        _ => format!("expected frames of {demo} {}, found none in {}", which(kind), count(of_frames, "frame")),
    }
}

/// What the frames of a kind do, as a clause.
pub fn which(kind: FrameKind) -> &'static str {
    match kind {
        FrameKind::Sending => "that send",
        FrameKind::Receiving => "that receive",
        FrameKind::Working => "that receive or send",
        FrameKind::All => "of any kind",
    }
}

/// `1,203 of 2,151 frames that send, 94 and 93 % of the CPU time`.
pub fn judged_frames(judged: &JudgedFrames) -> String {
    let JudgedFrames { kind, frames, of_frames, share_of_time, .. } = judged;
    let [a, b] = share_of_time.map(|share| format!("{:.0}", share * 100.0));
    let share = if a == b { a } else { format!("{a} and {b}") };
    let of = format!("{} of {}", thousands(*frames), count(*of_frames, "frame"));
    format!("{of} {}, {share} % of the CPU time", which(*kind))
}

/// What is known of two builds of which one diverged: `until frame 187 of 2,151: B is slower: +53 % [+51, +55] CPU time, 12 pairs, 4.0 s`.
pub fn until(options: &DemoOptions, report: &DemoReport) -> Option<String> {
    let (until, outcome) = (report.until.as_ref()?, report.outcome.as_ref()?);
    Some(format!("{}: {}", part(until), claim("B", outcome, Judged::TIMES, options.plan.margin, false)))
}

/// That one build diverged, and what is compared.
pub fn diverged(until: &UntilDivergence) -> String {
    let build = ["A", "B"][until.build.min(1)];
    format!("{build} diverged: the frames before are compared, {}", part(until))
}

/// `until frame 187 of 2,151`.
fn part(until: &UntilDivergence) -> String {
    format!("until frame {} of {}", thousands(until.frame), thousands(until.of_frames))
}

/// The verdict for all demos in a sentence. A build that diverges comes first: that is known for certain.
pub fn sentence(builds: [&str; 2], demos: &Demos) -> String {
    let (measured, demos, verdict) = (demos.all.as_slice(), demos.requested, demos.verdict());
    let failed: Vec<String> =
        [0, 1].into_iter().flat_map(|build| not_comparable(builds[build], build, measured, demos)).collect();
    if !failed.is_empty() {
        let of_others = [
            (Verdict::Slower, "slower"),
            (Verdict::Unclear, "unclear"),
            (Verdict::Faster, "faster"),
            (Verdict::Same, "same"),
        ]
        .into_iter()
        .map(|(verdict, word)| (measured.iter().filter(|one| one.verdict() == Some(verdict)).count(), word))
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| format!("{word} on {number}"));
        return failed.into_iter().chain(of_others).collect::<Vec<_>>().join("; ");
    }
    let number = |verdict| measured.iter().filter(|one| one.verdict() == Some(verdict)).count();
    verdict_sentence(builds, verdict, demos, number)
}

/// The verdict for all demos, none of which failed. `number`: of demos with a verdict.
pub fn verdict_sentence(
    [a, b]: [&str; 2],
    verdict: Verdict,
    demos: usize,
    number: impl Fn(Verdict) -> usize,
) -> String {
    let on = |verdict| match demos {
        1 => String::new(),
        _ => format!(" on {} of {demos} demos", number(verdict)),
    };
    match verdict {
        Verdict::Slower => format!("{b} is slower than {a}{}", on(Verdict::Slower)),
        Verdict::Faster => format!("{b} is faster than {a}{}, and slower on none", on(Verdict::Faster)),
        Verdict::Same => match demos {
            1 => format!("{b} and {a} are the same"),
            _ => format!("{b} and {a} are the same on all {demos} demos"),
        },
        Verdict::Unclear => format!("unclear{}", on(Verdict::Unclear)),
    }
}

/// On how many demos this build diverged or could not be replayed.
fn not_comparable(name: &str, build: usize, measured: &[OnDemo], demos: usize) -> Vec<String> {
    let count = |is: fn(&DemoEnded) -> Option<usize>| {
        measured.iter().filter(|one| is(&one.report.ended) == Some(build)).count()
    };
    let diverged = count(|ended| if let DemoEnded::Diverged(build, _) = ended { Some(*build) } else { None });
    let failed = count(|ended| if let DemoEnded::Replay(build, _) = ended { Some(*build) } else { None });
    let on = |number: usize| if demos == 1 { String::new() } else { format!(" on {number} of {demos} demos") };
    [(diverged, "diverged"), (failed, "could not be replayed")]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!("{name} {what}{}", on(number)))
        .collect()
}

fn word(measured: &OnDemo) -> &'static str {
    match measured.verdict() {
        Some(verdict) => RowVerdict::Compared(verdict, Metric::Cpu).text(),
        None => match measured.report.ended {
            DemoEnded::Diverged(..) => "diverged",
            _ => "failed",
        },
    }
}

/// What is said of one demo: its name, the CPU time of a frame of both builds, the change, pairs, and the verdict.
pub fn cells(one: &OnDemo) -> [String; 6] {
    let frame = |build: usize| match one.report.frames.as_ref().ok().filter(|_| one.verdict().is_some()) {
        Some(frames) => {
            let frame_s = [frames.a, frames.b][build].frame_s.estimate;
            Quantity::of(frame_s, "second").value(frame_s)
        }
        None => "–".to_owned(),
    };
    let change = one.change().as_ref().map_or_else(|| "–".to_owned(), change);
    [one.name.clone(), frame(0), frame(1), change, one.report.pairs.to_string(), word(one).to_owned()]
}

/// A row a demo. `names`: of the builds, as the head of their columns. `shown`: how the name of a demo is written.
pub fn table(names: [String; 2], demos: &Demos, shown: fn(&str) -> String) -> Table {
    let [a, b] = names;
    let head = ["demo".to_owned(), a, b, "change".to_owned(), "pairs".to_owned(), "verdict".to_owned()];
    let mut table = Table::with_head(head).numbers(1..5);
    for one in &demos.all {
        let [name, cells @ ..] = cells(one);
        table.row([shown(&name)].into_iter().chain(cells));
    }
    if let Some(mean) = demos.mean() {
        table.row(["geometric mean", "", "", &change(&mean), "", ""]);
    }
    table
}

/// What the table says of errors.
pub fn basis(demos: &Demos) -> String {
    let under = demos.all.first().and_then(|one| under_tool(&one.options)).map(|under| format!("; {under}"));
    format!(
        "CPU time per frame; same: within {}; probability of any false alarm: at most {} %{}",
        change::margin(demos.margin),
        plain(demos.alpha * 100.0),
        under.unwrap_or_default()
    )
}

/// The tool that started the builds, if one did.
pub fn under_tool(options: &DemoOptions) -> Option<String> {
    let words = options.demo.under.iter().map(|word| printable_line(&word.to_string_lossy()).to_string());
    let words: Vec<String> = words.collect();
    let times = "times are those of the tool and the build together";
    (!words.is_empty()).then(|| format!("under `{}`: {times}", words.join(" ")))
}
