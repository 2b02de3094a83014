//! Verb `prony demo info`: prints facts about a demo.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::Path;

use prony_demo::dump::call_name;
use prony_demo::{Exit as ServerExit, FileEntry, FileRole, FrameRule, Head, Header, PartKind, Parts, Totals, Trailer};
use prony_replay::{CodeFile, CodeKind, FileInspection, SetIdFile, exit_text};
use prony_text::{Untrusted, bytes, count, printable_line, significant, thousands};
use serde::Serialize;
use serde_json::{Value, json};

use crate::cli::InfoArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::numbers::date;
use crate::output;
use crate::trust;

/// Files that a demo still needs and that are named one by one.
const NEEDED_MOST: usize = 10;

/// Files of one kind that load code and that are named one by one.
const CODE_FILES_MOST: usize = 5;

/// Facts about a demo that need no reading of its records.
struct Facts<'a> {
    header: &'a Header,
    trailer: Option<&'a Trailer>,
    /// Readable rest of a truncated demo.
    remains: Option<String>,
    records: u64,
    frames: u64,
    file_bytes: u64,
    duration_ns: u64,
    /// This user recorded it on this machine.
    known: bool,
    /// A hash or a key in the user's configuration vouches for it.
    listed: bool,
    /// Files that run as their owner or load code; `None` when the archives cannot be read.
    files: Option<FileInspection>,
    calls: Option<BTreeMap<String, CallCount>>,
}

/// Number of times that a call was made, and bytes that it moved.
#[derive(Debug, Clone, Copy, Default, Serialize)]
struct CallCount {
    calls: u64,
    bytes_in: u64,
    bytes_out: u64,
}

/// # Errors
/// When the demo cannot be read.
pub fn run(args: &InfoArgs) -> Result<Exit, Failure> {
    let mut demo = super::open("read", &args.demo)?;
    let calls = if args.calls { Some(count_calls(&mut demo, &args.demo)?) } else { None };
    let files = match prony_replay::inspect_files(&mut demo) {
        Ok(found) => Some(found),
        Err(error) => {
            eprintln!("warning: {error}");
            None
        }
    };
    let totals = demo.trailer().map(|trailer| trailer.totals);
    let last_frame_ns = demo.frames().last().map_or(0, |frame| frame.time_ns);
    let facts = Facts {
        header: demo.header(),
        trailer: demo.trailer(),
        remains: demo.truncation().map(ToString::to_string),
        records: demo.truncation().map_or_else(|| totals.map_or(0, |totals| totals.records), |cut| cut.records),
        frames: demo.frames().len() as u64,
        file_bytes: demo.file_bytes(),
        duration_ns: demo.trailer().map_or(last_frame_ns, |trailer| trailer.duration_ns),
        known: trust::is_known(&args.demo),
        listed: trust::is_listed(&args.demo),
        files,
        calls,
    };
    if args.json {
        output::print_json(&answer(&facts))?
    } else {
        output::print(&text(&args.demo, &facts))?
    }
    Ok(Exit::Good)
}

fn count_calls(demo: &mut super::OpenDemo, path: &Path) -> Result<BTreeMap<String, CallCount>, Failure> {
    let mut counts: BTreeMap<u16, CallCount> = BTreeMap::new();
    let read = demo.for_each_record(|_, record| {
        if let Some(head) = Head::from_bytes(record) {
            let count = counts.entry(head.op).or_default();
            count.calls += 1;
            for part in Parts::new(record) {
                match PartKind::from_number(part.kind) {
                    Some(PartKind::In) => count.bytes_in += part.bytes.len() as u64,
                    Some(PartKind::Out) => count.bytes_out += part.bytes.len() as u64,
                    _ => {}
                }
            }
        }
        ControlFlow::Continue(())
    });
    read.map_err(|error| Failure::demo("read", path, &error))?;
    Ok(counts.into_iter().map(|(op, count)| (call_name(op), count)).collect())
}

fn text(path: &Path, facts: &Facts<'_>) -> String {
    let Facts { header, trailer, .. } = facts;
    let mut out = String::new();
    let mut line = |name: &str, value: String| {
        if !value.is_empty() {
            let _ = writeln!(out, "  {name:<12}{}", printable_line(&value));
        }
    };
    line("command", trust::command(header));
    line("executable", executable(header));
    line("in", Untrusted::bytes(&header.cwd).to_string());
    let machine = [header.architecture.as_str(), &header.cpu_model, &header.kernel_release];
    line("machine", machine.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", "));
    line("recorded", format!("{} by prony {}", date(header.recorded_at_unix_ns), header.prony_version));
    let seconds = facts.duration_ns as f64 / 1e9;
    line(
        "holds",
        format!("{} s, {}, {}", significant(seconds), count(facts.frames, "frame"), count(facts.records, "call")),
    );
    line("frames end", frame_rule(header.frame_rule));
    if let Some(Totals { processes, raw_bytes, state_bytes, .. }) = trailer.map(|trailer| trailer.totals) {
        let ratio = if facts.file_bytes > 0 { raw_bytes as f64 / facts.file_bytes as f64 } else { 0.0 };
        line(
            "file",
            format!("{}, records unpack to {} ({}×)", bytes(facts.file_bytes), bytes(raw_bytes), significant(ratio)),
        );
        line("processes", if processes > 1 { processes.to_string() } else { String::new() });
        if state_bytes > 0 || !header.state_directories.is_empty() {
            line("state", format!("{}: {}", bytes(state_bytes), list(&header.state_directories)));
        }
    } else {
        line("file", bytes(facts.file_bytes));
        line("state", list(&header.state_directories));
    }
    line("left out", list(&header.excluded_objects));
    line("environment", count(header.environment.len() as u64, "variable"));
    let known = match (facts.known, facts.listed) {
        (true, _) => "recorded here by you",
        (false, true) => "trusted by your configuration",
        (false, false) => "no: not recorded here by you",
    };
    line("known", known.to_owned());
    let kept = trust::variables_kept(header);
    let kept = if kept.is_empty() { "no variable".to_owned() } else { kept.join(", ") };
    line("if unknown", format!("a build gets {kept}"));
    line("loads code", trust::code_variables(header).join(", "));
    for kind in facts.files.iter().flat_map(code_kinds) {
        line("loads code", kind);
    }
    for file in facts.files.iter().flat_map(|files| &files.set_id) {
        line("set-id", format!("{} (mode {:04o})", Untrusted::new(&file.path), file.mode));
    }
    if !header.state_directories.is_empty() {
        line("in place", format!("{} would be emptied by --restore-in-place", list(&header.state_directories)));
    }
    if let Some(trailer) = trailer {
        line("server", server_exit(trailer.exit));
        let opened = |role| trailer.files.iter().filter(|file| file.role == role).count() as u64;
        let roles = [
            (FileRole::Read, "read"),
            (FileRole::WrittenByOthers, "read and written by others"),
            (FileRole::Written, "written"),
            (FileRole::State, "in state"),
        ];
        let roles = roles.into_iter().filter(|&(role, _)| opened(role) > 0);
        let roles: Vec<String> = roles.map(|(role, word)| format!("{} {word}", thousands(opened(role)))).collect();
        line("files", roles.join(", "));
        let packed = trailer.files.iter().filter(|file| file.content.is_some()).count() as u64;
        line("has", if packed > 0 { format!("{packed} of the read files") } else { String::new() });
        let needed: Vec<&FileEntry> = prony_replay::needed(&trailer.files).collect();
        if needed.is_empty() {
            line("needs", "only its program and libraries".to_owned());
        }
        for file in needed.iter().take(NEEDED_MOST) {
            line("needs", format!("{} ({})", Untrusted::bytes(&file.path), bytes(file.size_bytes)));
        }
        let more = needed.len().saturating_sub(NEEDED_MOST) as u64;
        line("needs", if more > 0 { format!("{more} more, listed by --json") } else { String::new() });
        for note in &trailer.notes {
            line("note", Untrusted::new(note).to_string());
        }
    }
    if let Some(remains) = &facts.remains {
        line("cut", remains.clone());
    }
    if let Some(calls) = &facts.calls {
        let _ = writeln!(out, "\n  {:<26}{:>12}{:>12}{:>12}", "call", "calls", "in", "out");
        let mut calls: Vec<_> = calls.iter().collect();
        calls.sort_by_key(|(_, count)| std::cmp::Reverse(count.calls));
        for (name, count) in calls {
            let moved = |number: u64| if number > 0 { bytes(number) } else { String::new() };
            let row = format!(
                "  {name:<26}{:>12}{:>12}{:>12}",
                thousands(count.calls),
                moved(count.bytes_in),
                moved(count.bytes_out)
            );
            let _ = writeln!(out, "{}", row.trim_end());
        }
    }
    format!("{}\n{out}", Untrusted::new(path))
}

pub(super) fn executable(header: &Header) -> String {
    match hex(&header.build_id) {
        id if id.is_empty() => Untrusted::bytes(&header.executable).to_string(),
        id => format!("{} (build id {id})", Untrusted::bytes(&header.executable)),
    }
}

fn frame_rule(rule: FrameRule) -> String {
    match rule {
        FrameRule::BlockingWait => "at the first wait that may block".to_owned(),
        FrameRule::On(op) => format!("at {}", op.name()),
    }
}

pub(super) fn server_exit(exit: ServerExit) -> String {
    match exit {
        ServerExit::Code(_) | ServerExit::Signal(_) => exit_text(exit),
        ServerExit::Cut => "was still running when the recording ended".to_owned(),
    }
}

fn list(paths: &[Vec<u8>]) -> String {
    paths.iter().map(|path| Untrusted::bytes(path).to_string()).collect::<Vec<_>>().join(", ")
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn answer(facts: &Facts<'_>) -> Value {
    let header = facts.header;
    let texts = |list: &[Vec<u8>]| list.iter().map(|text| lossy(text)).collect::<Vec<_>>();
    let pairs = header.environment.iter().map(|(name, value)| [lossy(name), lossy(value)]).collect::<Vec<_>>();
    let properties: BTreeMap<&str, String> =
        header.properties.iter().map(|(name, value)| (name.as_str(), lossy(value))).collect();
    let mut answer = json!({
        "argv": texts(&header.argv),
        "executable": lossy(&header.executable),
        "build_id": hex(&header.build_id),
        "cwd": lossy(&header.cwd),
        "architecture": header.architecture,
        "cpu_model": header.cpu_model,
        "cpu_flags": header.cpu_flags,
        "kernel_release": header.kernel_release,
        "recorded_at_unix_ns": header.recorded_at_unix_ns,
        "recorded_at": date(header.recorded_at_unix_ns),
        "prony_version": header.prony_version,
        "frame_on": match header.frame_rule {
            FrameRule::BlockingWait => None,
            FrameRule::On(op) => Some(op.name()),
        },
        "state_directories": texts(&header.state_directories),
        "known": facts.known,
        "trusted_by_configuration": facts.listed,
        "variables_kept_if_unknown": trust::variables_kept(header),
        "code_variables": trust::code_variables(header),
        "code_files": facts.files.as_ref().map(|files| files.code.iter().map(code_file).collect::<Vec<_>>()),
        "code_file_counts": facts.files.as_ref().map(code_file_counts),
        "set_id_files": facts.files.as_ref().map(|files| files.set_id.iter().map(set_id_file).collect::<Vec<_>>()),
        "excluded_objects": texts(&header.excluded_objects),
        "environment": pairs,
        "properties": properties,
        "recorded_s": facts.duration_ns as f64 / 1e9,
        "records": facts.records,
        "frames": facts.frames,
        "file_bytes": facts.file_bytes,
        "complete": facts.remains.is_none(),
    });
    if let Some(remains) = &facts.remains {
        answer["cut"] = json!(remains);
    }
    if let Some(trailer) = facts.trailer {
        answer["processes"] = json!(trailer.totals.processes);
        answer["blocks"] = json!(trailer.totals.blocks);
        answer["raw_bytes"] = json!(trailer.totals.raw_bytes);
        answer["state_bytes"] = json!(trailer.totals.state_bytes);
        answer["exit"] = match trailer.exit {
            ServerExit::Code(code) => json!({ "code": code }),
            ServerExit::Signal(signal) => json!({ "signal": signal }),
            ServerExit::Cut => Value::Null,
        };
        answer["self_contained"] = json!(prony_replay::needed(&trailer.files).next().is_none());
        answer["files"] = trailer.files.iter().map(file).collect();
        answer["objects"] = trailer
            .objects
            .iter()
            .map(|object| json!({ "path": lossy(&object.path), "build_id": hex(&object.build_id) }))
            .collect();
        answer["notes"] = json!(trailer.notes);
        answer["unsearched_objects"] = json!(texts(&trailer.unsearched));
    }
    if let Some(calls) = &facts.calls {
        answer["calls"] = json!(calls);
    }
    answer
}

/// One line for each kind of file that loads code: how many there are, and which.
fn code_kinds(files: &FileInspection) -> Vec<String> {
    let shown = |(&kind, &all): (&CodeKind, &u64)| {
        let names = files.code.iter().filter(|file| file.kind == kind).take(CODE_FILES_MOST);
        let names: Vec<String> = names.map(|file| Untrusted::new(&file.path).to_string()).collect();
        let what = match kind {
            CodeKind::Object => count(all, "ELF file"),
            CodeKind::Executable => count(all, "executable"),
            CodeKind::Bytecode => count(all, "bytecode file"),
            CodeKind::Configuration => count(all, "configuration file"),
            CodeKind::Source => count(all, "source file"),
            CodeKind::StartFile => count(all, "hidden file"),
        };
        match all.saturating_sub(names.len() as u64) {
            0 => format!("{what}: {}", names.join(", ")),
            _ if names.is_empty() => format!("{what}, not listed"),
            more => format!("{what}: {}, and {} more", names.join(", "), thousands(more)),
        }
    };
    files.code_files.iter().map(shown).collect()
}

const fn kind_name(kind: CodeKind) -> &'static str {
    match kind {
        CodeKind::Object => "object",
        CodeKind::Executable => "executable",
        CodeKind::Bytecode => "bytecode",
        CodeKind::Configuration => "configuration",
        CodeKind::Source => "source",
        CodeKind::StartFile => "start_file",
    }
}

fn code_file(file: &CodeFile) -> Value {
    json!({ "path": file.path.to_string_lossy(), "kind": kind_name(file.kind) })
}

fn code_file_counts(files: &FileInspection) -> BTreeMap<&'static str, u64> {
    files.code_files.iter().map(|(&kind, &all)| (kind_name(kind), all)).collect()
}

fn set_id_file(file: &SetIdFile) -> Value {
    json!({ "path": file.path.to_string_lossy(), "mode": format!("{:04o}", file.mode) })
}

fn file(file: &FileEntry) -> Value {
    let role = match file.role {
        FileRole::WrittenByOthers => "read, written by others".to_owned(),
        FileRole::Other(number) => format!("role {number}"),
        known => format!("{known:?}").to_lowercase(),
    };
    json!({
        "path": lossy(&file.path),
        "size_bytes": file.size_bytes,
        "hash": hex(&file.hash),
        "role": role,
        "in_demo": file.content.is_some(),
    })
}

#[cfg(test)]
mod tests;
