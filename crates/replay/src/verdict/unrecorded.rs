//! Where a number in an output may come from that is not recorded: it is compared with what a replay has of its own.

use crate::report::Unrecorded;
use crate::verdict::numbers::{Number, NumberChange};
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::os::unix::fs::DirEntryExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// When a recording was made and a replay, where the server ran, and which files it opened.
pub(crate) struct Times<'a> {
    pub(crate) recorded_at_unix_ns: u64,
    pub(crate) recorded_for_ns: u64,
    pub(crate) replay_began: SystemTime,
    pub(crate) cwd: &'a Path,
    pub(crate) files: &'a [String],
}

/// Units a second in which programs count time.
const UNITS: [u64; 4] = [1, 1_000, 1_000_000, 1_000_000_000];

/// Where user programs lie that are not linked to fixed addresses.
const ADDRESSES: RangeInclusive<u64> = 0x5000_0000_0000..=0x7fff_ffff_ffff;

/// Smaller numbers meet an inode, or the time since the machine was started, by chance.
const LEAST: u64 = 10_000;

fn monotonic() -> Duration {
    let now = clock_gettime(ClockId::Monotonic);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// What the number that was found is, as far as it is known.
pub(crate) fn source(change: &NumberChange, times: &Times<'_>) -> Option<Unrecorded> {
    let since_1970 = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let begun = since_1970(times.replay_began);
    let recorded = Duration::from_nanos(times.recorded_at_unix_ns);
    let recorded_for = Duration::from_nanos(times.recorded_for_ns);
    if let Some(unit) = unit_of_time(change, (recorded, recorded_for), (begun, since_1970(SystemTime::now()) - begun)) {
        return Some(Unrecorded::Time(unit));
    }
    let (Number::Integer(expected), Number::Integer(found)) = (change.expected, change.found) else { return None };
    if [expected, found].iter().all(|number| ADDRESSES.contains(number)) {
        return Some(Unrecorded::Address);
    }
    if let Some(path) = (found >= LEAST).then(|| of_inode(found, times)).flatten() {
        return Some(Unrecorded::Inode(path));
    }
    let now = monotonic();
    let since = now.saturating_sub(times.replay_began.elapsed().unwrap_or_default());
    let within = |unit: u64| found >= LEAST && is_within(found as f64 / unit as f64, since, now.saturating_sub(since));
    UNITS.into_iter().skip(1).find(|&unit| within(unit)).map(Unrecorded::Uptime)
}

/// Entries of directories that are looked at for an inode.
const MOST_ENTRIES: usize = 10_000;

/// The file with this inode, in the working directory or that of a file that the server opened.
fn of_inode(inode: u64, times: &Times<'_>) -> Option<String> {
    let folders: BTreeSet<&Path> = times.files.iter().filter_map(|path| Path::new(path).parent()).collect();
    let entries =
        std::iter::once(times.cwd).chain(folders).filter_map(|folder| folder.read_dir().ok()).flatten().flatten();
    let mut entries = entries.take(MOST_ENTRIES);
    entries.find(|entry| entry.ino() == inode).map(|entry| entry.path().display().to_string())
}

/// The unit in which the expected number is a time of the recording, and the other one a time of the replay.
fn unit_of_time(change: &NumberChange, recorded: (Duration, Duration), replayed: (Duration, Duration)) -> Option<u64> {
    let in_seconds = |number: Number, unit: u64| match number {
        Number::Integer(number) => number as f64 / unit as f64,
        Number::Float(number) => number / unit as f64,
    };
    UNITS.into_iter().find(|&unit| {
        is_within(in_seconds(change.expected, unit), recorded.0, recorded.1)
            && is_within(in_seconds(change.found, unit), replayed.0, replayed.1)
    })
}

/// True for a time, in seconds, in a span that begins there and lasts so long, give or take a second.
fn is_within(time: f64, from: Duration, lasts: Duration) -> bool {
    (from.as_secs_f64() - 1.0..=(from + lasts).as_secs_f64() + 1.0).contains(&time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::numbers::NumberForm;
    use std::os::unix::fs::MetadataExt;

    fn source_of(expected: Number, found: Number, files: &[String]) -> Option<Unrecorded> {
        let times = Times {
            recorded_at_unix_ns: 1_700_000_000_500_000_000,
            recorded_for_ns: 3_000_000_000,
            replay_began: SystemTime::now(),
            cwd: Path::new("/nowhere"),
            files,
        };
        source(&NumberChange { byte: 0, form: NumberForm::Text, expected, found }, &times)
    }

    #[test]
    fn numbers_are_what_a_replay_has_of_its_own() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock that is set");
        let integers = |expected, found| source_of(Number::Integer(expected), Number::Integer(found), &[]);
        assert_eq!(integers(1_700_000_002, now.as_secs()), Some(Unrecorded::Time(1)));
        assert_eq!(integers(1_700_000_002_123, now.as_millis() as u64), Some(Unrecorded::Time(1_000)));
        assert_eq!(integers(1_700_000_001_000_000_009, now.as_nanos() as u64), Some(Unrecorded::Time(1_000_000_000)));
        let floats = source_of(Number::Float(1_700_000_001.25), Number::Float(now.as_secs_f64()), &[]);
        assert_eq!(floats, Some(Unrecorded::Time(1)));
        // A time of neither, and one that the replay has as it was recorded.
        assert_eq!(integers(1_700_000_002, 1_700_000_900), None);
        assert_eq!(integers(1_600_000_000, now.as_secs()), None);
        assert_eq!(integers(0x7fff_f7fc_1000, 0x5555_5555_4000), Some(Unrecorded::Address));
        let uptime = monotonic();
        if uptime.as_millis() as u64 > LEAST {
            assert_eq!(integers(123, uptime.as_nanos() as u64), Some(Unrecorded::Uptime(1_000_000_000)));
        }
        assert_eq!(integers(4, 5), None);
    }

    #[test]
    fn an_inode_is_that_of_a_file_that_the_server_opened() {
        let file = tempfile::NamedTempFile::new().expect("a temporary directory");
        let inode = file.as_file().metadata().expect("it is there").ino();
        let path = file.path().display().to_string();
        let found = source_of(Number::Integer(inode + 1), Number::Integer(inode), std::slice::from_ref(&path));
        assert_eq!(found, (inode >= LEAST).then_some(Unrecorded::Inode(path)));
    }
}
