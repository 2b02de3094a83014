//! The objects that the server loads, and what of them the recording has to know.

use super::Recording;
use crate::channel::{ScanRequest, Scans};
use crate::server::calls;
use crate::server::launch::Launched;
use crate::server::objects::{self, Loaded, is_excluded, is_ordinary};
use crate::server::search;
use prony_demo::Header;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A server waits that long for a search of its objects, which takes much longer in a build without optimization.
pub(super) const SEARCH: Duration = Duration::from_millis(if cfg!(debug_assertions) { 10_000 } else { 250 });

/// Objects that the server has loaded, and what a search of them found.
pub(super) struct ServerObjects {
    pub(super) scans: Scans,
    /// Beginnings of the names of objects whose calls are not the server's.
    excluded: Vec<Vec<u8>>,
    pub(super) loaded: Vec<Loaded>,
    /// Objects that were loaded while the server ran, of which it is not known yet whether they make system calls.
    pub(super) late: Vec<Loaded>,
    /// Functions of the server's libc of which nothing is known, once that libc was seen.
    unknown: Option<BTreeSet<String>>,
    /// Objects that were not searched in time.
    pub(super) unsearched: Vec<PathBuf>,
    /// The kernel reports raw system calls, from whatever object.
    raw_calls_trapped: bool,
}

impl ServerObjects {
    pub(super) fn new(scans: Scans, header: &Header) -> ServerObjects {
        ServerObjects {
            scans,
            excluded: header.excluded_objects.clone(),
            loaded: Vec::new(),
            late: Vec::new(),
            unknown: None,
            unsearched: Vec::new(),
            raw_calls_trapped: false,
        }
    }
}

impl Recording {
    /// Answers a server that waits for it, in time.
    pub(super) fn search_objects(&mut self, request: ScanRequest) {
        let code = objects::mapped_code(request.pid).unwrap_or_default();
        let excluded: Vec<&[u8]> = self.objects.excluded.iter().map(Vec::as_slice).collect();
        let found = objects::loaded_objects(&code);
        let searched = search::search(&found, Some(Instant::now() + SEARCH));
        let sites = objects::sites(&code, &searched, &excluded, false);
        let unsearched = found.iter().filter(|object| !searched.contains_key(object.path.as_path()));
        self.objects.unsearched.extend(unsearched.map(|object| object.path.clone()));
        self.objects.unsearched.sort();
        self.objects.unsearched.dedup();
        let mut raw_calls = false;
        if !request.loaded {
            // What was not searched may make some. Those of a runtime of a sanitizer are not the server's, and it changes masks.
            let makes = |object: &Loaded| {
                let found = searched.get(object.path.as_path());
                found.is_none_or(|found| found.raw_calls && !(found.sanitizer && is_excluded(&object.path, &excluded)))
            };
            raw_calls = found.iter().any(|object| !is_ordinary(&object.path) && makes(object));
            // Its calls cannot be distinguished from those of the server, and some of its threads are none of libc's.
            if let Some(path) = found
                .iter()
                .map(|object| object.path.as_path())
                .find(|path| searched.get(path).is_some_and(|found| found.sanitizer) && !is_excluded(path, &excluded))
            {
                raw_calls = false;
                self.notes.missed.push(format!(
                    "{} holds the runtime of a sanitizer: system calls that it makes by instructions of its own are \
                     not recorded",
                    path.display()
                ));
            }
            self.objects.raw_calls_trapped |= raw_calls;
        }
        let left_out = self.objects.scans.answer(raw_calls, &sites);
        if left_out > 0 {
            self.notes.missed.push(format!(
                "{left_out} instructions that read time, randomness or the CPU number from the processor exceed \
                 the number that can be recorded"
            ));
        }
        self.name_unknown(&found);
        self.look_at_new(found, request.loaded);
    }

    /// Names functions of a libc that is not the one of the list, if an object that is new refers to them.
    fn name_unknown(&mut self, found: &[Loaded]) {
        if self.objects.unknown.is_none() {
            let libc = found.iter().find(|object| object.path.ends_with("libc.so.6"));
            self.objects.unknown = libc.map(|libc| calls::unknown(&libc.path));
        }
        let Some(unknown) = self.objects.unknown.as_ref().filter(|unknown| !unknown.is_empty()) else { return };
        let new = found.iter().filter(|object| self.objects.loaded.binary_search(object).is_err());
        for object in new.filter(|object| !is_ordinary(&object.path)) {
            for name in calls::used(&object.path, unknown) {
                self.notes.missed.push(format!(
                    "{} refers to `{name}` of this libc, which prony does not know: what it brings from outside is not \
                     recorded",
                    object.path.display()
                ));
            }
        }
    }

    /// Searches what the server has loaded since it started: plugins. It is too late to have their raw system calls
    /// reported, so the objects are named.
    pub(super) fn search_new_objects(&mut self) {
        let Some(&pid) = self.channel.processes().iter().find(|&&pid| pid > 0 && Launched::runs(pid)) else { return };
        self.look_at_new(objects::loaded_objects(&objects::mapped_code(pid).unwrap_or_default()), true);
    }

    /// `late`: the objects were loaded while the server ran.
    fn look_at_new(&mut self, mut new: Vec<Loaded>, late: bool) {
        new.retain(|object| self.objects.loaded.binary_search(object).is_err());
        self.objects.loaded.extend_from_slice(&new);
        self.objects.loaded.sort();
        if late && !self.objects.raw_calls_trapped {
            self.objects.late.append(&mut new);
        }
        // What is not found yet is looked for with the next ones.
        let found = search::search(&self.objects.late, Some(Instant::now()));
        for (path, _) in found.iter().filter(|(_, found)| found.raw_calls) {
            self.notes.missed.push(format!(
                "{} was loaded while the server ran and contains system call instructions, which are not recorded",
                path.display()
            ));
        }
        let found: Vec<PathBuf> = found.into_keys().map(Path::to_owned).collect();
        self.objects.late.retain(|object| !found.contains(&object.path) && object.path.exists());
    }
}
