//! Reads arbitrary bytes as samples: `cargo +nightly fuzz run samples fuzz/corpus/samples fuzz/seeds/samples`.
//!
//! What is read can be written, and is read again as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_stats::Metric;
use prony_stats::export::{self, Markup};
use prony_stats::rejudge::{Question, answer};
use prony_stats::samples::Samples;

fuzz_target!(|bytes: &[u8]| {
    let Ok(samples) = Samples::decode(bytes) else { return };
    let written = samples.encode().expect("what was read holds to the rules");
    assert_eq!(Samples::decode(&written).as_ref(), Ok(&samples));
    let _ = (export::hyperfine(&samples), export::csv(&samples));
    for markup in [Markup::Markdown, Markup::AsciiDoc, Markup::Org] {
        export::table(markup, &samples, &[], None);
    }
    let (a, b) = (&samples.benchmarks[0], &samples.benchmarks[samples.benchmarks.len() - 1]);
    let paired = samples.circumstances.as_ref();
    let questions = [Question { a, b, paired }, Question { a: b, b: a, paired: None }];
    for metric in [None, Some(Metric::Cpu), Some(Metric::Uncontended), Some(Metric::Wall)] {
        let _ = answer(&questions, 0.05, 0.01, true, metric);
    }
});
