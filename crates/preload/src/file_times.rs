//! Times of files in a replay. A file that the server changes there is changed now, while the server's clock says when it
//! was recorded: code that compares the two, as to find stale lock files, would find a file of the future.

use super::state::control;
use super::widths::Status;
use std::sync::atomic::Ordering;

const SECOND: i128 = 1_000_000_000;

/// The time reported for a file's time, in seconds and nanoseconds, if the replay was begun and the recording was at these,
/// in nanoseconds.
fn shifted(seconds: i64, nanoseconds: i64, begun: i64, recorded: i64) -> (i64, i64) {
    let found = i128::from(seconds) * SECOND + i128::from(nanoseconds);
    let since = found - i128::from(begun);
    if since < 0 {
        return (seconds, nanoseconds);
    }
    let time = since + i128::from(recorded);
    (time.div_euclid(SECOND) as i64, time.rem_euclid(SECOND) as i64)
}

fn reported(seconds: i64, nanoseconds: i64) -> (i64, i64) {
    let begun = control().begun_unix_ns.load(Ordering::Relaxed);
    shifted(seconds, nanoseconds, begun, control().recorded_unix_ns.load(Ordering::Relaxed))
}

/// Shifts the times of a file status.
pub fn shift(status: &mut impl Status) {
    status.map_times(reported);
}

#[cfg(test)]
mod tests {
    use super::shifted;

    #[test]
    fn only_times_of_the_replay_are_shifted() {
        let (begun, recorded) = (1_000_500_000_000, 400_900_000_000);
        assert_eq!(shifted(1_000, 500_000_000, begun, recorded), (400, 900_000_000), "when it began");
        assert_eq!(shifted(1_002, 700_000_000, begun, recorded), (403, 100_000_000), "2.2 s later");
        assert_eq!(shifted(1_000, 499_999_999, begun, recorded), (1_000, 499_999_999), "before");
        assert_eq!(shifted(-5, 0, begun, recorded), (-5, 0), "before 1970");
        assert_eq!(shifted(i64::MAX, 0, begun, recorded).0, i64::MAX - 600, "no overflow");
        // The clock may have been set back since.
        assert_eq!(shifted(500, 0, 400_000_000_000, 900_000_000_000), (1_000, 0));
    }
}
