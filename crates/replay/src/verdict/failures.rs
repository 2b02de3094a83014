//! Calls that fail in a replay, compared with those that failed while recording.

use crate::channel::FailedCall as Failed;
use crate::report::{FailedCall, Recorded};
use prony_channel::{CHANGED, NOTED, NOTED_FROM_HERE, NOTED_NO_MORE};
use prony_demo::{Class, Demo, DemoError, Head, Op, PartKind, Parts};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Seek};

/// Bytes of a path that the player keeps.
const PATH_BYTES: usize = 184;
/// Most that a report has of either kind.
const MOST: usize = 64;

/// Subject of a call: its process, name, path and descriptor.
type About = (u16, String, Vec<u8>, i32);

/// A failure that the recording has.
struct Noted {
    thread: u16,
    errno: i32,
    order: u64,
}

/// Failed calls in the recording.
#[derive(Default)]
struct Recording {
    failures: BTreeMap<About, Vec<Noted>>,
    /// Files that were opened, by process and path: the first record.
    opened: BTreeMap<(u16, Vec<u8>), u64>,
    /// It has notes of failures.
    notes: bool,
    /// Processes that had too many.
    incomplete: BTreeSet<u16>,
    /// For each failure of the replay: the record that its thread would have been answered with next.
    next: Vec<u64>,
}

/// Position at which a build left its recording: process, thread and record.
pub(crate) struct RecordPosition {
    pub(crate) process: u16,
    pub(crate) thread: u16,
    pub(crate) record: u64,
}

/// Calls that fail here and not in the recording, the latest first; and those of the thread that diverged that failed in
/// the recording alone. `all`: failures of the replay, kept or not.
pub(crate) fn compared<R: Read + Seek>(
    demo: &mut Demo<R>,
    failed: &[Failed],
    all: u32,
    place: &RecordPosition,
) -> Result<(Vec<FailedCall>, Vec<FailedCall>), DemoError> {
    let recording = Recording::of(demo, failed)?;
    let mut here: Vec<FailedCall> = failed
        .iter()
        .zip(&recording.next)
        .filter(|(failed, _)| failed.errno != CHANGED)
        .filter_map(|(failed, &next)| recording.hold_against(failed, next))
        .collect();
    here.reverse();
    here.truncate(MOST);
    let complete = all as usize == failed.len() && !recording.incomplete.contains(&place.process);
    let there = if complete { recording.alone(failed, place) } else { Vec::new() };
    Ok((here, there))
}

fn about(failed: &Failed) -> About {
    (failed.process as u16, failed.name.clone(), failed.path.clone(), failed.fd)
}

impl Recording {
    fn of<R: Read + Seek>(demo: &mut Demo<R>, failed: &[Failed]) -> Result<Recording, DemoError> {
        let mut found = Recording { next: vec![u64::MAX; failed.len()], ..Recording::default() };
        // Failures by thread, the latest first: the first record behind one is behind the end of the list.
        let mut pending: BTreeMap<(u16, u16), Vec<usize>> = BTreeMap::new();
        for (number, failed) in failed.iter().enumerate().rev() {
            pending.entry((failed.process as u16, failed.thread as u16)).or_default().push(number);
        }
        for list in pending.values_mut() {
            list.sort_by_key(|&number| std::cmp::Reverse(failed[number].record));
        }
        let paths: BTreeSet<&[u8]> = failed.iter().map(|failed| failed.path.as_slice()).collect();
        let mut records = demo.records();
        while let Some((process, record)) = records.next()? {
            let Some(head) = Head::from_bytes(record) else { continue };
            let op = Op::from_number(head.op);
            match op {
                Some(Op::NoteFailed) => found.add_note(process, &head, record),
                Some(Op::NoteFile | Op::OpenFile) if head.ret >= 0 => {
                    let path = path_of(record);
                    if paths.contains(path) {
                        found.opened.entry((process, path.to_vec())).or_insert(head.order);
                    }
                }
                _ => {}
            }
            if matches!(op.map(Op::class), Some(Class::Note | Class::Clock)) {
                continue;
            }
            let Some(list) = pending.get_mut(&(process, head.thread)) else { continue };
            while let Some(number) = list.pop_if(|number| failed[*number].record < head.order) {
                found.next[number] = head.order;
            }
        }
        Ok(found)
    }

    fn add_note(&mut self, process: u16, head: &Head, record: &[u8]) {
        match head.aux {
            NOTED => {
                let name = Parts::first(record, PartKind::Value).unwrap_or_default();
                let name = String::from_utf8_lossy(name).into_owned();
                let about = (process, name, path_of(record).to_vec(), head.fd);
                let errno = i32::try_from(head.ret.unsigned_abs()).unwrap_or_default();
                let noted = Noted { thread: head.thread, errno, order: head.order };
                self.failures.entry(about).or_default().push(noted);
            }
            NOTED_FROM_HERE => self.notes = true,
            NOTED_NO_MORE => {
                self.incomplete.insert(process);
            }
            _ => {}
        }
    }

    /// `None` for a failure that the recording has as well. `next`: the record behind it. The recording has the first
    /// of several failures; one that comes before it is a failure too many.
    fn hold_against(&self, failed: &Failed, next: u64) -> Option<FailedCall> {
        let (process, noted) = (failed.process as u16, self.failures.get(&about(failed)));
        let noted = noted.into_iter().flatten().filter(|noted| noted.order < next);
        let mut other = None;
        for noted in noted {
            if noted.errno == failed.errno {
                return None;
            }
            other = Some(noted.errno);
        }
        let opened = self.opened.get(&(process, failed.path.clone())).copied();
        let opened = opened.filter(|&record| failed.name == "open" && record < next);
        let recorded = match (other, opened) {
            (Some(errno), _) => Recorded::FailedWith(errno),
            (None, Some(record)) => Recorded::Succeeded(record),
            (None, None) if !self.notes || self.incomplete.contains(&process) => Recorded::NotNoted,
            (None, None) => Recorded::NotFailed,
        };
        Some(FailedCall {
            process,
            thread: failed.thread as u16,
            call: failed.name.clone(),
            path: String::from_utf8_lossy(&failed.path).into_owned(),
            fd: failed.fd,
            errno: failed.errno,
            after_record: failed.record,
            recorded,
        })
    }

    /// Failures of this thread before this place of which the replay has none.
    fn alone(&self, failed: &[Failed], place: &RecordPosition) -> Vec<FailedCall> {
        let seen: BTreeSet<About> = failed.iter().map(about).collect();
        let mut found = Vec::new();
        for ((process, call, path, fd), noted) in &self.failures {
            let about = (*process, call.clone(), path.clone(), *fd);
            if *process != place.process || seen.contains(&about) {
                continue;
            }
            let before = noted.iter().filter(|noted| noted.thread == place.thread && noted.order < place.record);
            found.extend(before.map(|noted| FailedCall {
                process: *process,
                thread: noted.thread,
                call: call.clone(),
                path: String::from_utf8_lossy(path).into_owned(),
                fd: *fd,
                errno: noted.errno,
                after_record: noted.order,
                recorded: Recorded::FailedWith(noted.errno),
            }));
        }
        found.sort_by_key(|failed| std::cmp::Reverse(failed.after_record));
        found.truncate(MOST);
        found
    }
}

/// As much of a path as the player keeps.
pub(super) fn path_of(record: &[u8]) -> &[u8] {
    let path = Parts::first(record, PartKind::Path).unwrap_or_default();
    &path[..path.len().min(PATH_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_demo::{Header, Record, Trailer, Writer, WriterOptions};
    use std::io::Cursor;

    const ENOENT: i32 = 2;
    const EACCES: i32 = 13;

    fn record(op: Op, order: u64, ret: i64, aux: u32) -> Record {
        Record::new(Head { size: 0, op: op as u16, thread: 0, order, time: 0, ret, fd: -1, aux })
    }

    fn note(order: u64, call: &str, path: &str, errno: i32) -> Record {
        record(Op::NoteFailed, order, -i64::from(errno), NOTED)
            .with_part(PartKind::Value, call.as_bytes())
            .with_part(PartKind::Path, path.as_bytes())
    }

    fn demo(records: &[Record]) -> Demo<Cursor<Vec<u8>>> {
        let mut writer = Writer::new(Vec::new(), &Header::default(), WriterOptions::default()).expect("memory");
        for record in records {
            writer.push(0, record.as_bytes()).expect("memory");
        }
        let (bytes, _) = writer.finish(&Trailer::default()).expect("memory");
        Demo::open(Cursor::new(bytes)).expect("it was just written")
    }

    fn failed(call: &str, path: &str, errno: i32, record: u64) -> Failed {
        Failed { process: 0, thread: 0, name: call.into(), path: path.into(), fd: -1, errno, record }
    }

    const PLACE: RecordPosition = RecordPosition { process: 0, thread: 0, record: 8 };

    fn reported(records: &[Record], failures: &[Failed]) -> (Vec<(String, Recorded)>, Vec<String>) {
        let (here, there) =
            compared(&mut demo(records), failures, failures.len() as u32, &PLACE).expect("the demo is whole");
        (
            here.into_iter().map(|failed| (format!("{} {}", failed.call, failed.path), failed.recorded)).collect(),
            there.into_iter().map(|failed| format!("{} {}", failed.call, failed.path)).collect(),
        )
    }

    /// Opens a file, fails to find another, waits, fails to find a third.
    fn recording() -> Vec<Record> {
        vec![
            record(Op::NoteFailed, 0, 0, NOTED_FROM_HERE),
            record(Op::NoteFile, 1, 3, 0).with_part(PartKind::Path, b"/opened"),
            note(2, "stat", "/never", ENOENT),
            record(Op::Poll, 3, 0, 10),
            record(Op::Getpid, 4, 77, 0),
            note(5, "access", "/later", ENOENT),
            record(Op::Poll, 6, 0, 10),
            record(Op::Poll, 7, 0, 10),
        ]
    }

    #[test]
    fn what_failed_in_both_is_not_reported() {
        let failures = [failed("stat", "/never", ENOENT, 0), failed("access", "/later", ENOENT, 4)];
        assert_eq!(reported(&recording(), &failures), (vec![], vec![]));
    }

    #[test]
    fn what_failed_here_alone_is_reported_with_what_the_recording_has() {
        let failures = [
            failed("open", "/opened", EACCES, 0),
            failed("stat", "/never", EACCES, 0),
            failed("chmod", "/other", ENOENT, 3),
            // Two calls too early: the recording has it behind them.
            failed("access", "/later", ENOENT, 0),
        ];
        let (here, there) = reported(&recording(), &failures);
        let expected = [
            ("access /later", Recorded::NotFailed),
            ("chmod /other", Recorded::NotFailed),
            ("stat /never", Recorded::FailedWith(ENOENT)),
            ("open /opened", Recorded::Succeeded(1)),
        ];
        assert_eq!(here, expected.map(|(call, recorded)| (call.to_owned(), recorded)));
        assert!(there.is_empty(), "{there:?}");
    }

    #[test]
    fn what_failed_in_the_recording_alone_is_reported_as_far_as_the_replay_came() {
        let mut records = recording();
        records.push(note(8, "access", "/behind", ENOENT));
        let (here, there) = reported(&records, &[failed("stat", "/never", ENOENT, 0)]);
        assert_eq!((here, there), (vec![], vec!["access /later".to_owned()]));
    }

    #[test]
    fn an_older_recording_knows_of_no_failures() {
        let records = [record(Op::Poll, 0, 0, 10), record(Op::Poll, 1, 0, 10)];
        let (here, there) = reported(&records, &[failed("chmod", "/other", ENOENT, 0)]);
        assert_eq!((here, there), (vec![("chmod /other".to_owned(), Recorded::NotNoted)], vec![]));
    }
}
