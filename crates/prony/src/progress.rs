//! Progress of a recording or a replay, on standard error if that is a terminal.

use std::io::{self, IsTerminal, Write};

use prony_text::{bytes, printable_line, thousands};

use prony_replay::Progress;

/// ECMA-48: erase in line, from the cursor to its end.
const ERASE_LINE: &str = "\r\x1b[K";

/// A line that is written over and over, and gone in the end.
#[derive(Debug)]
pub struct ProgressLine {
    wanted: bool,
    shown: bool,
}

impl ProgressLine {
    /// `wanted`: false where the line would disturb what else is printed. Never shown where no terminal is.
    pub fn new(wanted: bool) -> ProgressLine {
        ProgressLine { wanted: wanted && io::stderr().is_terminal(), shown: false }
    }

    /// Shows how far it is.
    pub fn show(&mut self, progress: Progress) {
        if self.wanted {
            self.show_text(&text(progress));
        }
    }

    /// Shows a line that is worded already.
    pub fn show_text(&mut self, text: &str) {
        if self.wanted {
            self.shown = true;
            // A terminal that went away is no reason to stop.
            let _ = write!(io::stderr(), "{ERASE_LINE}{}", printable_line(text));
        }
    }

    /// Takes the line away, so that something else can be said.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(io::stderr(), "{ERASE_LINE}");
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.clear();
    }
}

fn text(progress: Progress) -> String {
    match progress {
        Progress::Recording { seconds, raw_bytes, file_bytes } => {
            format!("recording {seconds:.0} s, {} of calls, {} on disk", bytes(raw_bytes), bytes(file_bytes))
        }
        Progress::Replaying { run, runs, records, of } => {
            let runs = if runs > 1 { format!(" {run} of {runs}") } else { String::new() };
            let percent = (records * 100).checked_div(of).unwrap_or(0).min(100);
            format!("replay{runs}: {percent} % of {} calls", thousands(of))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_one_short_line() {
        let recording = Progress::Recording { seconds: 12.4, raw_bytes: 84_000_000, file_bytes: 982_114 };
        assert_eq!(text(recording), "recording 12 s, 84.0 MB of calls, 982 kB on disk");
        let replaying = Progress::Replaying { run: 2, runs: 5, records: 100, of: 318_204 };
        assert_eq!(text(replaying), "replay 2 of 5: 0 % of 318,204 calls");
        let alone = Progress::Replaying { run: 1, runs: 1, records: 0, of: 0 };
        assert_eq!(text(alone), "replay: 0 % of 0 calls");
    }
}
