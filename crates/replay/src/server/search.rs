//! What is found in the object files of a server, each of which is searched once.
//!
//! A hundred megabytes of code take a second, and a server would wait meanwhile. So the search is made in threads of its
//! own, its caller waits for a bounded time, and what took long is kept in this user's cache, by build ID
//! (`docs/formats/objects.md`).

use crate::files::known::directory_of_user;
use crate::files::regular;
use crate::server::objects::Loaded;
use crate::server::processor::Sought;
use crate::server::{processor, program, raw_calls};
use object::read::{Object, ObjectSymbol, ReadCache, ReadRef};
use prony_machine::own::{self, Ownership};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read, Write as _};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Offsets in a file, in order, with the room for a jump there; `None` for what may be no instruction.
pub(crate) type Places = Vec<(u64, Option<u8>)>;

/// What an object file holds.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// It makes system calls of its own.
    pub(crate) raw_calls: bool,
    /// It holds the runtime of a sanitizer, which makes such calls as well: a program that is linked with it.
    pub(crate) sanitizer: bool,
    /// Places where it queries the processor itself.
    pub(crate) places: Places,
    /// Offsets in the file of its system calls, as far as they are certainly instructions.
    pub(crate) calls: Vec<u64>,
}

/// Device, inode, bytes, seconds and nanoseconds of the last change: what a file is known by.
type Known = (u64, u64, u64, i64, i64);

/// The files that were searched, and those that are being searched.
#[derive(Default)]
struct Searches {
    found: Mutex<HashMap<Known, Option<Arc<Found>>>>,
    one_more: Condvar,
}

impl Searches {
    fn all() -> &'static Searches {
        static SEARCHES: OnceLock<Searches> = OnceLock::new();
        SEARCHES.get_or_init(Searches::default)
    }

    fn found(&self) -> MutexGuard<'_, HashMap<Known, Option<Arc<Found>>>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Searches object files. What was not found by `until` is missing in the answer, and is looked for further; without a
/// time, all is there.
pub(crate) fn search(objects: &[Loaded], until: Option<Instant>) -> HashMap<&Path, Arc<Found>> {
    let searches = Searches::all();
    let known: Vec<(&Path, Known)> =
        objects.iter().filter_map(|object| Some((object.path.as_path(), known_by(&object.path)?))).collect();
    begin(&known);
    let mut found = searches.found();
    loop {
        let is_done = |(_, known): &(&Path, Known)| found.get(known).is_some_and(Option::is_some);
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if known.iter().all(is_done) || left.is_some_and(|left| left.is_zero()) {
            return known.iter().filter_map(|(path, known)| Some((*path, found.get(known)?.clone()?))).collect();
        }
        found = match left {
            Some(left) => searches.one_more.wait_timeout(found, left).unwrap_or_else(PoisonError::into_inner).0,
            None => searches.one_more.wait(found).unwrap_or_else(PoisonError::into_inner),
        };
    }
}

fn known_by(path: &Path) -> Option<Known> {
    let data = fs::metadata(path).ok()?;
    Some((data.dev(), data.ino(), data.len(), data.mtime(), data.mtime_nsec()))
}

/// Has threads search the files that no thread has searched or is searching.
fn begin(known: &[(&Path, Known)]) {
    let mut found = Searches::all().found();
    let mut new: Vec<(PathBuf, Known)> = Vec::new();
    for &(path, known) in known {
        found.entry(known).or_insert_with(|| {
            new.push((path.to_owned(), known));
            None
        });
    }
    drop(found);
    // The largest, which is taken from the end, takes the longest.
    new.sort_by_key(|&(_, (_, _, bytes, ..))| bytes);
    let searchers = std::thread::available_parallelism().map_or(1, usize::from).min(new.len());
    let queue = Arc::new(Mutex::new(new));
    for _ in 0..searchers {
        let queue = Arc::clone(&queue);
        std::thread::spawn(move || {
            loop {
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop();
                let Some((path, known)) = next else { return };
                let mut result = SearchResult { known, found: Found::default() };
                result.found = of(&path).unwrap_or_default();
            }
        });
    }
}

/// The result of a search, which is published however the search ends: a file that cannot be searched holds nothing.
struct SearchResult {
    known: Known,
    found: Found,
}

impl Drop for SearchResult {
    fn drop(&mut self) {
        let searches = Searches::all();
        searches.found().insert(self.known, Some(Arc::new(std::mem::take(&mut self.found))));
        searches.one_more.notify_all();
    }
}

/// What takes longer is kept.
const LONG: Duration = Duration::from_millis(20);

fn of(path: &Path) -> Option<Found> {
    let bytes = &ReadCache::new(regular::open_object(path).ok()?);
    let kept = Kept::of(bytes);
    if let Some(found) = kept.as_ref().and_then(Kept::read) {
        return Some(found);
    }
    let start = Instant::now();
    let raw_calls = raw_calls::in_object(bytes);
    let found = Found {
        raw_calls,
        sanitizer: has_sanitizer(bytes),
        places: places(bytes),
        calls: if raw_calls { calls(bytes) } else { Vec::new() },
    };
    if let Some(kept) = kept.filter(|_| start.elapsed() > LONG) {
        // It is found again without.
        let _ = kept.write(&found);
    }
    Some(found)
}

/// True for an object whose symbols have a function with which the runtime of a sanitizer begins.
fn has_sanitizer(bytes: &ReadCache<fs::File>) -> bool {
    const BEGINNINGS: [&str; 4] = ["__asan_init", "__lsan_init", "__msan_init", "__tsan_init"];
    let Ok(object) = object::read::File::parse(bytes) else { return false };
    object.symbols().any(|symbol| symbol.is_definition() && symbol.name().is_ok_and(|name| BEGINNINGS.contains(&name)))
}

fn places(bytes: &ReadCache<fs::File>) -> Places {
    if !cfg!(target_arch = "x86_64") {
        return Places::new();
    }
    let reads = processor::in_object(bytes, Sought::Queries);
    let sure = reads.certain.iter().map(|place| (place.address, Some(place.room)));
    let doubtful = reads.doubtful.iter().map(|&address| (address, None));
    sure.chain(doubtful).filter_map(|(address, room)| Some((program::file_offset(bytes, address)?, room))).collect()
}

fn calls(bytes: &ReadCache<fs::File>) -> Vec<u64> {
    if !cfg!(target_arch = "x86_64") || program::is_32_bit(bytes) {
        return Vec::new();
    }
    let found = processor::in_object(bytes, Sought::SystemCalls).certain;
    found.iter().filter_map(|place| program::file_offset(bytes, place.address)).collect()
}

/// A file of the cache: what was found in the object of a build ID.
struct Kept {
    path: PathBuf,
}

/// Most bytes of such a file.
const MOST_BYTES: u64 = 1 << 20;
/// The last line, without which a file is not whole.
const END: &str = "end";

impl Kept {
    /// `None` for an object without a build ID, and for a user without a home.
    fn of(bytes: &ReadCache<fs::File>) -> Option<Kept> {
        let object = object::read::File::parse(bytes).ok()?;
        let id = object.build_id().ok().flatten().filter(|id| !id.is_empty())?;
        let folder = directory_of_user("XDG_CACHE_HOME", ".cache")?.join("prony/objects");
        // What another search found is not what this one would.
        let mut name = blake3::Hasher::new();
        for source in [
            &include_bytes!("search.rs")[..],
            include_bytes!("processor.rs"),
            include_bytes!("functions.rs"),
            include_bytes!("raw_calls.rs"),
        ] {
            name.update(source);
        }
        name.update(&bytes.len().unwrap_or(0).to_le_bytes()).update(id);
        Some(Kept { path: folder.join(name.finalize().to_hex().as_str()) })
    }

    fn read(&self) -> Option<Found> {
        let mut text = String::new();
        own::open(&self.path, Ownership::Ours).ok()?.take(MOST_BYTES).read_to_string(&mut text).ok()?;
        from_text(&text)
    }

    fn write(&self, found: &Found) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        own::make_directory(folder, 0o700).map_err(io::Error::other)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(to_text(found).as_bytes())?;
        file.persist(&self.path)?;
        Ok(())
    }
}

/// A line that says whether there are system calls, a line for each place and for each call, and [`END`].
fn to_text(found: &Found) -> String {
    let calls = match (found.raw_calls, found.sanitizer) {
        (_, true) => "sanitizer",
        (true, false) => "calls",
        (false, false) => "none",
    };
    let mut text = format!("{calls}\n");
    for (offset, room) in &found.places {
        let _ = match room {
            Some(room) => writeln!(text, "{offset:x} {room}"),
            None => writeln!(text, "{offset:x} ?"),
        };
    }
    for offset in &found.calls {
        let _ = writeln!(text, "{offset:x} call");
    }
    text + END + "\n"
}

fn from_text(text: &str) -> Option<Found> {
    let mut lines = text.lines();
    let (raw_calls, sanitizer) = match lines.next()? {
        "sanitizer" => (true, true),
        "calls" => (true, false),
        "none" => (false, false),
        _ => return None,
    };
    let (mut places, mut calls) = (Places::new(), Vec::new());
    loop {
        let line = lines.next()?;
        if line == END {
            return lines.next().is_none().then_some(Found { raw_calls, sanitizer, places, calls });
        }
        let (offset, room) = line.split_once(' ')?;
        let offset = u64::from_str_radix(offset, 16).ok()?;
        match room {
            "call" => calls.push(offset),
            "?" => places.push((offset, None)),
            room => places.push((offset, Some(room.parse().ok()?))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_comes_back_from_its_text_and_nothing_from_a_torn_one() {
        let found = Found {
            raw_calls: true,
            sanitizer: false,
            places: vec![(0x1000, Some(0)), (0x1f2e, Some(7)), (0x2000, None)],
            calls: vec![0x1234],
        };
        let text = to_text(&found);
        assert_eq!(from_text(&text), Some(found));
        assert_eq!(from_text(&to_text(&Found::default())), Some(Found::default()));
        for end in 0..text.len() - 1 {
            assert_eq!(from_text(&text[..end]), None, "{end}");
        }
    }

    #[test]
    fn a_file_that_is_no_object_holds_nothing_and_one_that_is_gone_is_not_waited_for() {
        let scratch = tempfile::tempdir().expect("the temporary directory is writable");
        let (text, gone) = (scratch.path().join("text"), scratch.path().join("gone"));
        fs::write(&text, "no object").expect("writable");
        let objects = [Loaded { path: text.clone() }, Loaded { path: gone }];
        let found = search(&objects, None);
        assert_eq!((found.len(), found[text.as_path()].as_ref()), (1, &Found::default()));
    }

    #[test]
    fn who_does_not_wait_finds_it_later() {
        let scratch = tempfile::tempdir().expect("the temporary directory is writable");
        let own = std::env::current_exe().expect("a test is a program");
        // Another file than any other test has searched.
        let copy = scratch.path().join("copy");
        fs::copy(own, &copy).expect("writable");
        let objects = [Loaded { path: copy }];
        assert_eq!(search(&objects, Some(Instant::now())).len(), 0);
        assert_eq!(search(&objects, None).len(), 1);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_random_device_of_cpp_queries_the_processor_and_libm_does_not() {
        let library = |name: &str| ["/usr/lib/x86_64-linux-gnu", "/usr/lib64"].map(|at| Path::new(at).join(name));
        let search = |name| library(name).iter().find(|path| path.is_file()).and_then(|path| of(path));
        let cpp = search("libstdc++.so.6").expect("libstdc++6 is installed wherever a C++ server runs").places;
        assert!(!cpp.is_empty() && cpp.iter().all(|(_, room)| room.is_some()), "{cpp:?}");
        let math = search("libm.so.6").expect("libm is a part of libc");
        assert_eq!(math.places, []);
    }
}
