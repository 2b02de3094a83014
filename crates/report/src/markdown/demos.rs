//! Two builds on demos as a comment for a pull request.

use std::fmt::Write;

use prony_bench::{Demos, OnDemo};
use prony_text::printable_line;

use super::counted::beside_times;
use super::{around, unfolding};
use crate::bench::demos::{basis, failure, judged_frames, sentence, table, until};
use crate::text::bench::demos::{by_frame, by_function};

/// A comment for a pull request: the verdict, a row a demo, and more to unfold.
pub fn markdown(demos: &Demos, version: &str) -> String {
    // Outside of a table, a bar needs no backslash.
    let [a, b] = demos.builds().map(|name| prony_text::markdown_code(name).replace("\\|", "|"));
    let mut out = format!("### prony: {}\n\n", sentence([&a, &b], demos));
    out += &table([a.clone(), b.clone()], demos, prony_text::markdown_code).markdown();
    let notes: Vec<String> = demos
        .all
        .iter()
        .flat_map(|one| {
            let judged = one.report.judged.as_ref().map(judged_frames);
            let named = |text: String| format!("{}: {text}", printable_line(&one.name));
            let of_demo = until(&one.options, &one.report).into_iter().chain(judged).map(named);
            failure(&one.options, &one.report).into_iter().chain(of_demo).collect::<Vec<String>>()
        })
        .map(|message| format!("* {}\n", markdown_text(&message.replace(['\n', '\r'], " "))))
        .collect();
    if !notes.is_empty() {
        let _ = write!(out, "\n{}", notes.concat());
    }
    let _ = writeln!(out, "\n<sub>{}. {}</sub>", markdown_text(&basis(demos)), of_machine(&demos.all, version));
    for one in &demos.all {
        let Ok(frames) = &one.report.frames else { continue };
        let mut text = String::new();
        by_frame(&mut text, frames);
        if let Some(Ok(profile)) = &one.report.profile {
            by_function(&mut text, profile);
        }
        out += &unfolding(&one.name, "frames", &text);
    }
    out + &demos.counted.as_ref().map_or_else(String::new, |counted| beside_times([&a, &b], counted))
}

fn markdown_text(text: &str) -> String {
    prony_text::markdown(text)
}

/// What a reader who was not there wants to know of the machine.
fn of_machine(measured: &[OnDemo], version: &str) -> String {
    let pairs: usize = measured.iter().map(|one| one.report.pairs).sum();
    let seconds: f64 = measured.iter().map(|one| one.report.elapsed_s).sum();
    around("pair", pairs as u64, seconds, measured.first().map(|one| &one.options.machine), version)
}
