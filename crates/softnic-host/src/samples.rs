//! A report as samples: one value a window, so that runs can be compared.

use std::collections::BTreeMap;

use prony_machine::Tree;
use prony_softnic::Rate;
use prony_stats::samples::{Benchmark, Circumstances, Metadata, Run, Samples, Subject, Unit};

use crate::options::Mode;
use crate::report::Report;

impl Report {
    /// The report as samples of one process: of each window the time that a frame took, over all ports.
    ///
    /// `version`: of the program that measured; `warnings`: what to know before the numbers are trusted. `None` if no frame
    /// was forwarded.
    pub fn samples(&self, version: &str, warnings: Vec<String>) -> Option<Samples> {
        let windows = self.windows.iter().filter(|window| window.hz() > 0.0);
        let values: Vec<f64> = windows.map(|window| 1.0 / window.hz()).collect();
        if values.is_empty() {
            return None;
        }
        let run = Run { loops: 1, warmups: Vec::new(), values, metadata: Metadata::new(), measured: None };
        let parameters = self.parameters();
        let subject = Subject { metric: Some("packet".to_owned()), parameters, ..Subject::default() };
        let name = "load nic packet";
        let benchmark =
            Benchmark { unit: Unit::Second, runs: vec![run], subject: Some(subject), ..Benchmark::new(name) };
        let circumstances = Circumstances {
            prony_version: version.to_owned(),
            machine: serde_json::to_value(prony_machine::facts(&Tree::machine())).unwrap_or_default(),
            warnings,
            ..Circumstances::default()
        };
        Some(Samples { benchmarks: vec![benchmark], circumstances: Some(circumstances) })
    }

    fn parameters(&self) -> BTreeMap<String, String> {
        let options = &self.options;
        let command: Vec<_> = options.command.iter().map(|part| part.to_string_lossy()).collect();
        let rate = match options.rate {
            Rate::Max => "max".to_owned(),
            Rate::Fixed(hz) => hz.to_string(),
        };
        let mode = match options.mode {
            Mode::CrossCore => "cross-core",
            Mode::Slice { .. } => "slice",
        };
        let of = |name: &str, value: String| (name.to_owned(), value);
        BTreeMap::from([
            of("driver", command.join(" ")),
            of("ports", options.addresses.len().to_string()),
            of("rate_hz", rate),
            of("frame_bytes", options.sizes.to_string()),
            of("mode", mode.to_owned()),
        ])
    }
}
