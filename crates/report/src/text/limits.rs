//! Limits for people: a table an experiment.

pub mod code;
pub mod shares;
mod tables;

use std::collections::BTreeSet;
use std::fmt::Write;

use prony_limits::{Experiment, Limits, Measured, Taint, plateaus};
use prony_text::{count, significant, thousands};

use crate::change;

use code::loop_text;
use tables::{ROW, figures, mark, quantity, row};

/// A loop that takes so much longer at some offset is worth a line.
const UNLUCKY: f64 = 1.2;
/// A rate of zeros that beats that of other values by more is another limit.
const ZEROS_ARE_OTHERS: f64 = 1.25;
/// A branch whose pattern costs less than this share of what chance costs has been learned.
const LEARNED: f64 = 0.5;

/// Text of all requested experiments.
pub fn text(limits: &Limits, requested: &[Experiment]) -> String {
    let mut out = head(limits);
    for experiment in Experiment::ALL.into_iter().filter(|experiment| requested.contains(experiment)) {
        let cases: Vec<&Measured> = limits.of(experiment).collect();
        if !cases.is_empty() {
            let _ = write!(out, "\n{experiment}: {}\n{}", title(experiment), table(experiment, &cases));
        }
        let skipped: Vec<_> = limits.skipped.iter().filter(|skipped| skipped.experiment == experiment).collect();
        let reasons: BTreeSet<&str> = skipped.iter().map(|skipped| skipped.reason.as_str()).collect();
        for reason in reasons {
            let names: Vec<_> = skipped.iter().filter(|skipped| skipped.reason == reason).collect();
            let what = match (&names[0].name, names.len()) {
                (None, _) => "all".to_owned(),
                (Some(name), 1) => name.clone(),
                (Some(name), more) => format!("{name} and {} more", more - 1),
            };
            let _ = writeln!(out, "  {experiment} not measured: {what}: {reason}");
        }
    }
    out + &trust(limits, requested)
}

/// Number of samples behind all figures, and the interference that was seen.
fn trust(limits: &Limits, requested: &[Experiment]) -> String {
    let cases: Vec<&Measured> = limits.measured.iter().filter(|case| requested.contains(&case.experiment)).collect();
    let taints: Vec<Option<Taint>> =
        cases.iter().flat_map(|case| case.series.samples.iter().map(|sample| sample.taint)).collect();
    let share = |is: &dyn Fn(Option<Taint>) -> bool| {
        let of = taints.iter().filter(|&&taint| is(taint)).count();
        significant(of as f64 / taints.len().max(1) as f64 * 100.0)
    };
    let reasons = Taint::ALL.map(|taint| format!("{} {} %", taint.word(), share(&|found| found == Some(taint))));
    let steal = limits.steal.map_or_else(
        || "; this kernel does not count steal".to_owned(),
        |steal| format!("; steal {} % of the CPU's time", significant(steal * 100.0)),
    );
    format!(
        "\n{} of {}, {} % of them disturbed: {}{steal}\n",
        count(taints.len() as u64, "sample"),
        count(cases.len() as u64, "case"),
        share(&|found| found.is_some()),
        reasons.join(", ")
    )
}

fn head(limits: &Limits) -> String {
    let clock = |name: &str| {
        let case = limits.of(Experiment::Clock).find(|case| case.name == name)?;
        Some(quantity(case.figure()?.value, &case.unit))
    };
    let mut out = limits.facts.cpu.model.clone().unwrap_or_else(|| "an unknown processor".to_owned());
    let _ = write!(out, ", machine {}, CPU {}", limits.fingerprint, limits.cpu);
    if let Some(core) = clock("core") {
        let _ = write!(out, ", core at {core}");
    }
    if let Some(ticks) = clock("time stamp counter") {
        let _ = write!(out, ", time stamps at {ticks}");
    }
    let _ = writeln!(out, ", {} s", significant(limits.elapsed.as_secs_f64()));
    out
}

fn title(experiment: Experiment) -> &'static str {
    match experiment {
        Experiment::Clock => "core clock, and the cost of reading the time",
        Experiment::Write => "writing memory byte by byte",
        Experiment::Ports => "instructions per cycle if independent, cycles per instruction if dependent; medians",
        Experiment::Decode => "instruction fetch and decode; medians",
        Experiment::Branch => "one branch, cycles per loop iteration; medians",
        Experiment::Simd => "the same work with wider registers; best (median); copies: bytes copied",
        Experiment::Cache => "latency of dependent loads; best (median)",
        Experiment::Bandwidth => "bandwidth of one thread; best (median)",
        Experiment::Contents => "bandwidth by data; best (median); copies: bytes copied",
        Experiment::Threads => "several cores; copies: bytes copied",
        Experiment::Fault => "first touch of 4 KiB",
        Experiment::File => "reading a file",
        Experiment::Net => "system calls, and datagrams over loopback in blocks of 64",
    }
}

fn table(experiment: Experiment, cases: &[&Measured]) -> String {
    match experiment {
        Experiment::Write => write_table(cases),
        Experiment::Ports => ports(cases),
        Experiment::Decode => decode(cases),
        Experiment::Branch => branch(cases),
        Experiment::Simd => simd(cases),
        Experiment::Cache => cache(cases),
        Experiment::Bandwidth => bandwidth(cases),
        Experiment::Contents => contents(cases),
        Experiment::Threads => threads(cases),
        Experiment::Fault | Experiment::File => with_faults(cases),
        Experiment::Clock | Experiment::Net => plain(cases),
    }
}

/// Cases as text, one line each.
fn plain(cases: &[&Measured]) -> String {
    let mut table = figures(ROW);
    cases.iter().for_each(|case| table.row(row(&case.name, case)));
    table.text()
}

/// A line a case, with the page faults of a pass.
fn with_faults(cases: &[&Measured]) -> String {
    let head: Vec<&str> = ROW.into_iter().chain(["faults"]).collect();
    let mut table = figures(head);
    for case in cases {
        let mut cells = row(&case.name, case);
        cells.extend(case.figure().map(|figure| thousands(figure.faults.round() as u64)));
        table.row(cells);
    }
    table.text()
}

/// A line a case, and how long a line of memory takes from each CPU to each other, as a matrix where there are more than two.
fn threads(cases: &[&Measured]) -> String {
    let lines: Vec<&Measured> = cases.iter().filter(|case| case.fact("to").is_some()).copied().collect();
    let cpus: BTreeSet<u64> = lines
        .iter()
        .flat_map(|case| [case.number("from"), case.number("to")])
        .flatten()
        .map(|cpu| cpu as u64)
        .collect();
    if cpus.len() < 3 {
        return plain(cases);
    }
    let others: Vec<&Measured> = cases.iter().filter(|case| case.fact("to").is_none()).copied().collect();
    let head: Vec<String> = cpus.iter().map(|cpu| format!("CPU {cpu}")).collect();
    let head: Vec<&str> = std::iter::once("line transfer, ns").chain(head.iter().map(String::as_str)).collect();
    let mut table = figures(head);
    for row in &cpus {
        let cell = |column: &u64| {
            let pair = (*row.min(column) as f64, *row.max(column) as f64);
            let case =
                lines.iter().find(|case| (case.number("from"), case.number("to")) == (Some(pair.0), Some(pair.1)));
            let figure = case.and_then(|case| Some((case, case.figure()?)));
            figure.map_or_else(|| "–".to_owned(), |(case, figure)| significant(figure.value * 1e9) + mark(case))
        };
        table.row(std::iter::once(format!("CPU {row}")).chain(cpus.iter().map(cell)));
    }
    plain(&others) + &table.text() + &rests_on(&lines)
}

/// The least, median and most time of a pass and the time of all, with bytes a second, faults, and cycles of the measured clock
/// beside each; then the loop.
fn write_table(cases: &[&Measured]) -> String {
    let mut table = figures(["", "time", "bytes a second", "faults", "cycles/byte"]);
    for case in cases.iter().filter(|case| case.fact("touch").is_some()) {
        let (Some(seconds), Some(faults)) = (case.seconds(), case.faults()) else { continue };
        table.row(vec![case.name.clone()]);
        let cycles = case.cycles_each_range().unwrap_or_default();
        for (place, name) in ["least", "median", "most"].into_iter().enumerate() {
            table.row(vec![
                format!("  {name}"),
                quantity(seconds[place], "second"),
                quantity(case.count / seconds[place], "B/s"),
                thousands(faults[place].round() as u64),
                significant(cycles[place]),
            ]);
        }
        // Of all samples, also those that something disturbed.
        let samples = &case.series.samples;
        let (total, n) = (samples.iter().map(|sample| sample.seconds).sum::<f64>(), samples.len() as f64);
        table.row(vec![
            format!("  all of {}{}", count(samples.len() as u64, "pass"), mark(case)),
            quantity(total, "second"),
            quantity(case.count * n / total, "B/s"),
            thousands(samples.iter().map(|sample| sample.faults).sum::<u64>()),
            String::new(),
        ]);
    }
    let mut out = table.text();
    let mut loops =
        figures(["loop, in the first cache", "bytes of code", "cycles", "worst offset", "cycles there", "n"]);
    for case in cases.iter().filter(|case| case.fact("loop").is_some() && case.fact("offset").is_none()) {
        let Some(figure) = case.figure() else { continue };
        let bytes = case.listing.as_ref().map_or_else(String::new, |listing| listing.loop_bytes.to_string());
        let (offset, there) = worst_offset(cases, case.fact("loop")).unwrap_or_default();
        let name = case.fact("loop").unwrap_or_default().to_owned();
        let n = format!("{}{}", figure.n, mark(case));
        loops.row(vec![name, bytes, significant(figure.value), offset, there, n]);
    }
    out += &loops.text();
    if let Some(listing) = cases.first().and_then(|case| case.listing.as_ref()) {
        out += "  the loop, from the memory in which it ran:\n";
        out += &loop_text(listing);
    }
    out
}

/// Offset at which a loop is slowest, if it is slower there by more than noise.
fn worst_offset(cases: &[&Measured], of: Option<&str>) -> Option<(String, String)> {
    let offsets = cases.iter().filter(|case| case.fact("loop") == of && case.fact("offset").is_some());
    let figures = offsets.filter_map(|case| Some((case.fact("offset")?, case.figure()?.value)));
    let best = figures.clone().map(|(_, value)| value).fold(f64::INFINITY, f64::min);
    let (offset, worst) = figures.max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(if worst > best * UNLUCKY {
        (offset.to_owned(), significant(worst))
    } else {
        ("none".to_owned(), String::new())
    })
}

fn ports(cases: &[&Measured]) -> String {
    let mut names: Vec<&str> = cases.iter().filter_map(|case| case.fact("instruction")).collect();
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(*name));
    let mut table = figures(["", "a cycle", "cycles each", "n"]);
    for name in names {
        let of = |question| {
            cases.iter().find(|case| case.fact("instruction") == Some(name) && case.fact("question") == Some(question))
        };
        let number = |case: Option<&&Measured>| {
            let figure = case.and_then(|case| Some((case, case.figure()?)));
            figure.map_or_else(String::new, |(case, figure)| significant(figure.value) + mark(case))
        };
        let (many, one) = (of("a cycle"), of("cycles each"));
        let n: Vec<String> =
            [many, one].into_iter().flatten().filter_map(|case| Some(case.figure()?.n.to_string())).collect();
        table.row(vec![name.to_owned(), number(many), number(one), n.join(", ")]);
    }
    table.text()
}

fn decode(cases: &[&Measured]) -> String {
    let mut nops = figures(["nop length, bytes", "nops/cycle", "bytes/cycle", "n"]);
    for case in cases {
        let (Some(length), Some(figure)) = (case.number("nop_bytes"), case.figure()) else { continue };
        let cells = [length, figure.value, figure.value * length].map(significant);
        let [_, each, bytes] = cells;
        nops.row(vec![format!("{length}"), each + mark(case), bytes, figure.n.to_string()]);
    }
    let mut footprint = figures(["loop footprint", "bytes/cycle", "n"]);
    for case in cases.iter().filter(|case| case.fact("footprint").is_some()) {
        let Some(figure) = case.figure() else { continue };
        footprint.row(vec![case.name.clone(), significant(figure.value) + mark(case), figure.n.to_string()]);
    }
    let offsets = cases.iter().filter(|case| case.fact("offset").is_some());
    let figures: Vec<(&str, f64)> =
        offsets.filter_map(|case| Some((case.fact("offset")?, case.figure()?.value))).collect();
    let mut out = nops.text() + &footprint.text();
    let ends = |pick: fn(f64, f64) -> f64, start| figures.iter().map(|figure| figure.1).fold(start, pick);
    if !figures.is_empty() {
        let (best, worst) = (ends(f64::min, f64::INFINITY), ends(f64::max, 0.0));
        let slow: Vec<&str> =
            figures.iter().filter(|figure| figure.1 > best * UNLUCKY).map(|figure| figure.0).collect();
        let at =
            if slow.is_empty() { "nowhere slower".to_owned() } else { format!("slow at offset {}", ranges(&slow)) };
        let _ = writeln!(
            out,
            "  a loop of 20 bytes takes {} to {} cycles at {}: {at}",
            significant(best),
            significant(worst),
            count(figures.len() as u64, "offset")
        );
    }
    out
}

/// `45–63` for offsets that follow each other; others are listed.
fn ranges(offsets: &[&str]) -> String {
    match offsets {
        [first, .., last] if offsets.len() > 3 => format!("{first} … {last}, {} of them", offsets.len()),
        few => few.join(", "),
    }
}

fn branch(cases: &[&Measured]) -> String {
    let mut table = figures(["pattern", "cycles", "worst", "n"]);
    let cycles = |name: &str| Some(cases.iter().find(|case| case.name == name)?.figure()?.value);
    for case in cases {
        let Some(figure) = case.figure() else { continue };
        let cells = [figure.value, figure.worst].map(significant);
        let [value, worst] = cells;
        table.row(vec![case.name.clone(), value + mark(case), worst, figure.n.to_string()]);
    }
    let mut out = table.text();
    let (Some(never), Some(always), Some(random)) = (cycles("never taken"), cycles("always taken"), cycles("random"))
    else {
        return out;
    };
    let known = f64::midpoint(never, always);
    let _ = writeln!(
        out,
        "  a misprediction costs about {} cycles; half of the random branches are mispredicted",
        significant((random - known) * 2.0)
    );
    let mut periods: Vec<(f64, f64)> =
        cases.iter().filter_map(|case| Some((case.number("period")?, case.figure()?.value))).collect();
    periods.sort_by(|a, b| a.0.total_cmp(&b.0));
    let learned = periods.iter().take_while(|(_, value)| value - known < (random - known) * LEARNED).last();
    if let Some((period, _)) = learned {
        let _ = writeln!(out, "  patterns with periods of up to {} branches are predicted", thousands(*period as u64));
    }
    out
}

/// Best value and median of a case: `207 GB/s (202)`.
fn best_and_median(case: Option<&&Measured>) -> String {
    let Some((case, figure)) = case.and_then(|case| Some((case, case.figure()?))) else { return "–".to_owned() };
    let best = quantity(figure.value, &case.unit);
    // The middle in the unit of the best: the number alone.
    let unit = best.split_once(' ').map_or("", |(_, unit)| unit);
    let factor = match unit {
        "GB/s" => 1e9,
        "MB/s" => 1e6,
        "ns" => 1e-9,
        "µs" => 1e-6,
        _ => 1.0,
    };
    format!("{best} ({}){}", significant(figure.median / factor), mark(case))
}

/// Number of samples behind the figures of some cases.
fn rests_on(cases: &[&Measured]) -> String {
    let counts: Vec<usize> = cases.iter().filter_map(|case| Some(case.figure()?.n)).collect();
    match (counts.iter().min(), counts.iter().max()) {
        (Some(least), Some(most)) => format!("  n = {least} to {most} samples each\n"),
        _ => String::new(),
    }
}

fn simd(cases: &[&Measured]) -> String {
    let bits = ["32", "64", "128", "256", "512"];
    let head: Vec<String> = bits.iter().map(|bits| format!("{bits} bits")).collect();
    let head: Vec<&str> = std::iter::once("").chain(head.iter().map(String::as_str)).collect();
    let mut table = figures(head);
    let mut rows: Vec<(&str, &str)> =
        cases.iter().filter_map(|case| Some((case.fact("way")?, case.fact("level")?))).collect();
    let mut seen = BTreeSet::new();
    rows.retain(|row| seen.insert(*row));
    for (way, level) in rows {
        let cell = |bits: &&str| {
            let is = |case: &&&Measured| {
                (case.fact("way"), case.fact("level"), case.fact("bits")) == (Some(way), Some(level), Some(bits))
            };
            best_and_median(cases.iter().find(is))
        };
        table.row(std::iter::once(format!("{way} in {level}")).chain(bits.iter().map(cell)));
    }
    table.text() + &rests_on(cases)
}

/// Kinds of pages in the order in which they were measured.
fn page_kinds<'a>(cases: &[&'a Measured]) -> Vec<&'a str> {
    let mut kinds: Vec<&str> = cases.iter().filter_map(|case| case.fact("pages")).collect();
    let mut seen = BTreeSet::new();
    kinds.retain(|kind| seen.insert(*kind));
    kinds
}

/// Sizes as powers of two, and those that stand for a level.
fn cache(cases: &[&Measured]) -> String {
    let kinds = page_kinds(cases);
    let head: Vec<String> = kinds.iter().flat_map(|kind| [format!("{kind} pages"), "cycles".to_owned()]).collect();
    let head: Vec<&str> = std::iter::once("").chain(head.iter().map(String::as_str)).collect();
    let mut table = figures(head);
    let mut sizes: Vec<u64> = cases.iter().filter_map(|case| Some(case.number("bytes")? as u64)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    for size in sizes.into_iter().filter(|size| size.is_power_of_two()) {
        let of_size = |kind: &&str| {
            cases.iter().find(|case| case.fact("pages") == Some(kind) && case.number("bytes") == Some(size as f64))
        };
        let level = kinds.first().and_then(of_size).and_then(|case| case.fact("level")).unwrap_or_default();
        let cells = kinds.iter().flat_map(|kind| {
            let case = of_size(kind);
            let cycles = case.and_then(|case| case.cycles_each()).map_or_else(String::new, significant);
            [best_and_median(case), cycles]
        });
        table.row(std::iter::once(format!("{} {level}", binary(size)).trim_end().to_owned()).chain(cells));
    }
    table.text() + &levels(cases, &kinds, "second") + &rests_on(cases)
}

/// Flat parts of the curve, for each kind of page.
fn levels(cases: &[&Measured], kinds: &[&str], unit: &str) -> String {
    let mut out = String::new();
    for kind in kinds {
        let of_kind = cases.iter().filter(|case| case.fact("pages") == Some(kind));
        let mut points: Vec<(f64, f64)> =
            of_kind.filter_map(|case| Some((case.number("bytes")?, case.figure()?.value))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let found = plateaus(&points)
            .into_iter()
            .map(|level| format!("{} up to {}", quantity(level.value, unit), binary(level.to as u64)));
        let found: Vec<String> = found.collect();
        if !found.is_empty() {
            let of = if unit == "second" { "" } else { " of loads" };
            let _ = writeln!(out, "  visible levels{of}, {kind} pages: {}", found.join(", "));
        }
    }
    out
}

fn bandwidth(cases: &[&Measured]) -> String {
    let mut out = String::new();
    let mut levels: Vec<(&str, f64)> =
        cases.iter().filter_map(|case| Some((case.fact("level")?, case.number("bytes")?))).collect();
    let mut seen = BTreeSet::new();
    levels.retain(|(level, _)| seen.insert(*level));
    levels.sort_by(|a, b| a.1.total_cmp(&b.1));
    for kind in page_kinds(cases) {
        let of_kind: Vec<&Measured> = cases
            .iter()
            .filter(|case| case.fact("pages") == Some(kind) && case.fact("level").is_some())
            .copied()
            .collect();
        let given: BTreeSet<&str> = of_kind.iter().filter_map(|case| case.fact("given_pages")).collect();
        let given = given.into_iter().collect::<Vec<_>>().join(" or ");
        let title = if given == kind || given.is_empty() { format!("{kind} pages") } else { given };
        let head: Vec<String> =
            levels.iter().map(|(level, bytes)| format!("{level}, {}", binary(*bytes as u64))).collect();
        let head: Vec<&str> = std::iter::once(title.as_str()).chain(head.iter().map(String::as_str)).collect();
        let mut table = figures(head);
        let mut ways: Vec<&str> = of_kind.iter().filter_map(|case| case.fact("way")).collect();
        let mut seen = BTreeSet::new();
        ways.retain(|way| seen.insert(*way));
        for way in ways {
            let at = |level: &str| {
                of_kind.iter().find(|case| case.fact("way") == Some(way) && case.fact("level") == Some(level))
            };
            let cells = levels.iter().map(|(level, _)| best_and_median(at(level)));
            table.row(std::iter::once(way.to_owned()).chain(cells));
            if levels.iter().any(|(level, _)| at(level).is_some_and(|case| case.fact("convention").is_some())) {
                let both = levels.iter().map(|(level, _)| {
                    let figure = at(level).and_then(|case| case.figure());
                    figure.map_or_else(|| "–".to_owned(), |figure| quantity(figure.value * 2.0, "B/s"))
                });
                table.row(std::iter::once(format!("{way}, read + written")).chain(both));
            }
        }
        out += &table.text();
    }
    let loads: Vec<&Measured> = cases.iter().filter(|case| case.fact("way") == Some("load")).copied().collect();
    // Where only the levels that are known were measured, none can show.
    let mut curves = page_kinds(&loads);
    curves.retain(|kind| loads.iter().any(|case| case.fact("pages") == Some(kind) && case.fact("level").is_none()));
    out + &self::levels(&loads, &curves, "B/s") + &rests_on(cases)
}

/// Each way to move memory by what is moved, and how much faster zeros are; medians are compared, as they repeat best.
fn contents(cases: &[&Measured]) -> String {
    let mut kinds: Vec<&str> = cases.iter().filter_map(|case| case.fact("contents")).collect();
    let mut seen = BTreeSet::new();
    kinds.retain(|kind| seen.insert(*kind));
    let head: Vec<&str> = std::iter::once("").chain(kinds.iter().copied()).chain(["zeros / noise"]).collect();
    let mut table = figures(head);
    let mut rows: Vec<(&str, &str)> =
        cases.iter().filter_map(|case| Some((case.fact("way")?, case.fact("level")?))).collect();
    let mut seen = BTreeSet::new();
    rows.retain(|row| seen.insert(*row));
    let mut faster: Vec<f64> = Vec::new();
    for (way, level) in rows {
        let of = |kind: &str| {
            let is = |case: &&&Measured| {
                (case.fact("way"), case.fact("level"), case.fact("contents")) == (Some(way), Some(level), Some(kind))
            };
            cases.iter().find(is)
        };
        let median = |kind: &str| Some(of(kind)?.figure()?.median);
        let ratio = median("zeros").zip(median("noise")).map(|(zeros, noise)| zeros / noise);
        if let Some(ratio) = ratio.filter(|&ratio| ratio > ZEROS_ARE_OTHERS) {
            faster.push(ratio);
        }
        let cells = kinds.iter().map(|kind| best_and_median(of(kind)));
        let ratio = ratio.map_or_else(|| "–".to_owned(), significant);
        table.row(std::iter::once(format!("{way} in {level}")).chain(cells).chain([ratio]));
    }
    let mut out = table.text();
    faster.sort_by(f64::total_cmp);
    if let (Some(&least), Some(&most)) = (faster.first(), faster.last()) {
        let _ = writeln!(
            out,
            "  this memory stores zeros faster than any other value: {}, {} GB/s",
            count(faster.len() as u64, "row"),
            change::extremes(least.ln(), most.ln())
        );
    }
    out + &rests_on(cases)
}

/// Number of bytes with a binary prefix: `16 KiB`.
fn binary(bytes: u64) -> String {
    match bytes {
        0..0x10_0000 => format!("{} KiB", bytes >> 10),
        0x10_0000..0x4000_0000 => format!("{} MiB", bytes >> 20),
        _ => format!("{} GiB", bytes >> 30),
    }
}

/// Appends the shares that a rate has of some limits, one on each line.
pub fn share_lines(out: &mut String, shares: &[prony_limits::Share], unit: &str) {
    for share in shares {
        let disturbed = if share.contaminated > 0.5 { ", mostly disturbed" } else { "" };
        let _ = writeln!(
            out,
            "  {:>6} % of {:<46} {} (n = {}{disturbed})",
            significant(share.share * 100.0),
            share.of,
            quantity(share.limit, unit),
            share.n
        );
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use prony_limits::{Sample, Series};
    use prony_stats::samples::Better;

    use super::*;

    fn case(experiment: Experiment, name: &str, facts: &[(&str, &str)], seconds: &[f64]) -> Measured {
        let sample = |&seconds: &f64| Sample { seconds, core_hz: 2e9, faults: 8, taint: None };
        Measured {
            experiment,
            name: name.to_owned(),
            unit: "second".to_owned(),
            better: Better::Lower,
            count: 1e9,
            facts: facts
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect::<BTreeMap<_, _>>(),
            values: seconds.to_vec(),
            series: Series { passes: 1, samples: seconds.iter().map(sample).collect(), steal: None },
            listing: None,
        }
    }

    #[test]
    fn lines_between_more_than_two_cpus_are_a_matrix() {
        let line = |from: &str, to: &str, seconds: f64| {
            case(Experiment::Threads, "a line", &[("from", from), ("to", to)], &[seconds, seconds, seconds])
        };
        let lines = [line("0", "2", 5e-8), line("0", "4", 9e-8), line("2", "4", 6e-8)];
        let cases: Vec<&Measured> = lines.iter().collect();
        let expected = "  line transfer, ns  CPU 0  CPU 2  CPU 4\n\
                        \x20 CPU 0                  –   50.0   90.0\n\
                        \x20 CPU 2               50.0      –   60.0\n\
                        \x20 CPU 4               90.0   60.0      –\n\
                        \x20 n = 3 to 3 samples each\n";
        assert_eq!(threads(&cases), expected);
        assert!(threads(&cases[..1]).contains("a line"), "of two it is a line");
    }

    #[test]
    fn faster_zeros_are_a_limit_of_their_own() {
        let of = |way: &str, contents: &str, rate: f64| Measured {
            unit: "B/s".to_owned(),
            better: Better::Higher,
            ..case(
                Experiment::Contents,
                "a name",
                &[("way", way), ("contents", contents), ("level", "DRAM")],
                &[rate; 3],
            )
        };
        let cases = [
            of("load", "noise", 4e10),
            of("load", "zeros", 4e10),
            of("NT store", "noise", 4e10),
            of("NT store", "zeros", 9e10),
        ];
        let cases: Vec<&Measured> = cases.iter().collect();
        let expected = "                               noise             zeros  zeros / noise\n\
                        \x20 load in DRAM      40.0 GB/s (40.0)  40.0 GB/s (40.0)           1.00\n\
                        \x20 NT store in DRAM  40.0 GB/s (40.0)  90.0 GB/s (90.0)           2.25\n\
                        \x20 this memory stores zeros faster than any other value: 1 row, ×2.25 GB/s\n\
                        \x20 n = 3 to 3 samples each\n";
        assert_eq!(contents(&cases), expected);
        assert!(!contents(&cases[..2]).contains("faster than any other value"));
    }

    #[test]
    fn a_gigabyte_has_least_median_most_and_all_with_faults_beside_each() {
        let written = case(Experiment::Write, "1 GiB", &[("touch", "again")], &[0.5, 1.0, 2.0]);
        let expected = "                       time  bytes a second  faults  cycles/byte\n\
                        \x20 1 GiB\n\
                        \x20   least            500 ms       2.00 GB/s       8         1.00\n\
                        \x20   median           1.00 s       1.00 GB/s       8         2.00\n\
                        \x20   most             2.00 s        500 MB/s       8         4.00\n\
                        \x20   all of 3 passes  3.50 s        857 MB/s      24\n";
        assert_eq!(write_table(&[&written]), expected);
    }
}
