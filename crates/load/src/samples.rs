//! A report as samples: one value a window, so that runs can be compared.

use std::collections::BTreeMap;

use prony_machine::Tree;
use prony_stats::samples::{Benchmark, Circumstances, Metadata, Run, Samples, Subject, Unit};

use crate::report::Report;

/// This machine and program, as samples name them.
pub(crate) fn circumstances(version: &str, warnings: Vec<String>) -> Circumstances {
    Circumstances {
        prony_version: version.to_owned(),
        machine: serde_json::to_value(prony_machine::facts(&Tree::machine())).unwrap_or_default(),
        warnings,
        ..Circumstances::default()
    }
}

impl Report {
    /// The report as samples of one process: of each window the median and the 99th percentile of the times to
    /// answers and the server's CPU time a second, and of each client the time to its connection.
    ///
    /// `version`: of the program that measured; `warnings`: what to know before the numbers are trusted. `None` if
    /// nothing was measured.
    pub fn samples(&self, version: &str, warnings: Vec<String>) -> Option<Samples> {
        let benchmarks = self.benchmarks();
        let circumstances = circumstances(version, warnings);
        (!benchmarks.is_empty()).then_some(Samples { benchmarks, circumstances: Some(circumstances) })
    }

    /// What [`Report::samples`] has, without the circumstances.
    pub(crate) fn benchmarks(&self) -> Vec<Benchmark> {
        let quantile = |q: f64| -> Vec<f64> {
            let windows = self.meter.windows().iter().filter(|window| !window.latency.is_empty());
            windows.map(|window| window.latency.value_at_quantile(q) as f64 / 1e9).collect()
        };
        let connects = self.batches.iter().flat_map(|batch| &batch.times_ns).map(|&ns| ns as f64 / 1e9).collect();
        let cpu = self.server.as_ref().map(|server| server.shares()).unwrap_or_default();
        let values: [(&str, &str, Vec<f64>); 4] = [
            ("load latency p50", "latency_p50", quantile(0.5)),
            ("load latency p99", "latency_p99", quantile(0.99)),
            ("load connect", "connect", connects),
            ("load server cpu", "server_cpu_s_per_s", cpu),
        ];
        values.into_iter().filter_map(|(name, metric, values)| self.benchmark(name, metric, values)).collect()
    }

    fn benchmark(&self, name: &str, metric: &str, mut values: Vec<f64>) -> Option<Benchmark> {
        // Nothing takes no time: a window in which the scheduler saw nothing of the server is not one of the values.
        values.retain(|&value| value > 0.0);
        if values.is_empty() {
            return None;
        }
        let run = Run { loops: 1, warmups: Vec::new(), values, metadata: Metadata::new(), measured: None };
        let subject = Subject { metric: Some(metric.to_owned()), parameters: self.parameters(), ..Subject::default() };
        Some(Benchmark { unit: Unit::Second, runs: vec![run], subject: Some(subject), ..Benchmark::new(name) })
    }

    fn parameters(&self) -> BTreeMap<String, String> {
        let options = &self.options;
        let traffic = &options.traffic;
        let of = |name: &str, value: &dyn ToString| (name.to_owned(), value.to_string());
        BTreeMap::from([
            of("clients", &options.clients),
            of("burst", &options.burst()),
            of("rate_hz", &traffic.rate_hz),
            of("payload_bytes", &traffic.payload_bytes),
            of("reply_bytes", &traffic.reply.bytes(traffic.payload_bytes)),
            of("channels", &traffic.channels),
            of("reliable", &traffic.reliable),
            of("throttle", &traffic.throttle),
            of("checksum", &traffic.checksum),
            of("range_coder", &traffic.range_coder),
            of("threads", &options.threads),
            of("seed", &options.seed),
        ])
    }
}
