//! Functions whose time differs between two builds, in words: rows of a table, and what they rest on.

use prony_bench::{ProfileError, ProfiledBuilds};
use prony_profile::{TimeChange, TimeGrowth, shortened};
use prony_text::{Quantity, count, signed, thousands};

/// Functions that a table lists.
pub const LISTED: usize = 10;

/// Head of the table.
pub const HEAD: [&str; 5] = ["function", "A", "B", "self time a frame [95 %]", "of the difference"];

/// A row for each function whose time differs by more than chance, the largest difference first, and one for all functions.
pub fn rows(profiled: &ProfiledBuilds) -> Vec<[String; 5]> {
    let mut rows: Vec<[String; 5]> = found(profiled).take(LISTED).map(|change| row(profiled, change)).collect();
    rows.push(cells(profiled, "all functions".to_owned(), &profiled.changes.total, String::new()));
    rows
}

/// Functions whose time differs by more than chance.
fn found(profiled: &ProfiledBuilds) -> impl Iterator<Item = &TimeChange> {
    profiled.changes.functions.iter().filter(|change| profiled.changes.is_judged && change.stands_out())
}

fn row(profiled: &ProfiledBuilds, change: &TimeChange) -> [String; 5] {
    let share = profiled.changes.share_of_total(change);
    let share = share.map_or_else(String::new, |share| format!("{} %", signed(share * 100.0, 0)));
    cells(profiled, shortened(&change.name).to_string(), &change.own, share)
}

/// Times are of one frame: a replay has the same frames in both builds.
fn cells(profiled: &ProfiledBuilds, name: String, times: &TimeGrowth, share: String) -> [String; 5] {
    let frames = profiled.frames.max(1) as f64;
    let [a, b] = times.seconds.map(|seconds| seconds / frames);
    let quantity = Quantity::of(a.max(b), "second");
    let time = |seconds: f64| if seconds > 0.0 { quantity.value(seconds) } else { "–".to_owned() };
    let [estimate, low, high] =
        [times.growth.estimate, times.growth.low, times.growth.high].map(|seconds| seconds / frames);
    let difference = quantity.signed_interval(estimate, low, high).unwrap_or_else(|| "–".to_owned());
    [name, time(a), time(b), difference, share]
}

/// What the table rests on.
pub fn basis(profiled: &ProfiledBuilds) -> String {
    let ProfiledBuilds { replays, samples: [a, b], kernel, .. } = profiled;
    let number = found(profiled).count();
    let found = match number {
        0 if profiled.changes.is_judged => "no function's time differs by more than chance".to_owned(),
        _ => format!("{} by more than chance", differ(number)),
    };
    let of = format!(
        "{} of each build, {} and {} stack samples",
        count(*replays as u64, "profiled replay"),
        thousands(*a),
        thousands(*b)
    );
    let kernel = if *kernel { "" } else { "; time in the kernel was not sampled, and counts for the functions" };
    format!("{found}; {of}; simultaneous intervals{kernel}")
}

fn differ(number: usize) -> String {
    let listed = if number > LISTED { format!(", {LISTED} listed") } else { String::new() };
    match number {
        1 => "1 function differs".to_owned(),
        number => format!("{number} functions differ{listed}"),
    }
}

/// Why there is no profile.
pub fn failure(error: &ProfileError) -> String {
    format!("no profile: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_profile::TimeChanges;
    use prony_stats::Interval;

    /// Milliseconds of a replay of 1,000 frames.
    fn times(a: f64, b: f64, half: f64) -> TimeGrowth {
        let [a, b, half] = [a, b, half].map(|ms| ms / 1e3);
        let growth = Interval { estimate: b - a, low: b - a - half, high: b - a + half, confidence: 0.95, n: 5_000 };
        TimeGrowth { seconds: [a, b], growth }
    }

    fn profiled(functions: &[(&str, TimeGrowth)], is_judged: bool) -> ProfiledBuilds {
        let change = |(name, own): &(&str, TimeGrowth)| TimeChange {
            name: (*name).to_owned(),
            own: *own,
            inclusive: *own,
            is_interrupt: false,
        };
        let functions = functions.iter().map(change).collect();
        ProfiledBuilds {
            replays: 12,
            samples: [5_061, 6_640],
            frames: 1_000,
            changes: TimeChanges { total: times(21.0, 27.5, 0.6), functions, is_judged },
            renamed: Vec::new(),
            kernel: true,
        }
    }

    #[test]
    fn functions_have_the_time_of_a_frame_and_their_part_of_the_difference() {
        let functions =
            [("encode", times(12.0, 18.7, 0.6)), ("check", times(0.0, 0.2, 0.1)), ("log", times(1.0, 1.1, 0.3))];
        let found = profiled(&functions, true);
        assert_eq!(
            rows(&found),
            [
                ["encode", "12.0 µs", "18.7 µs", "+6.7 µs [+6.1, +7.3]", "+103 %"],
                ["check", "–", "200 ns", "+200 ns [+100, +300]", "+3 %"],
                ["all functions", "21.0 µs", "27.5 µs", "+6.5 µs [+5.9, +7.1]", ""],
            ]
        );
        assert_eq!(
            basis(&found),
            "2 functions differ by more than chance; 12 profiled replays of each build, 5,061 and 6,640 stack samples; \
             simultaneous intervals"
        );
    }

    #[test]
    fn without_a_difference_there_is_no_row_of_a_function() {
        let same = profiled(&[("log", times(1.0, 1.1, 0.3))], true);
        assert_eq!(rows(&same).len(), 1);
        assert!(basis(&same).starts_with("no function's time differs by more than chance; "));
        assert_eq!(rows(&profiled(&[("encode", times(12.0, 18.7, 0.6))], false)).len(), 1, "one run is not judged");
    }
}
