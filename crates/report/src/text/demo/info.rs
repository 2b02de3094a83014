//! `prony demo info` in the terminal.

use std::fmt::Write;
use std::path::Path;

use prony_demo::{FileEntry, FileRole, FrameRule, Totals};
use prony_replay::{CodeKind, FileInspection, code_variables, recorded_command, variables_kept};
use prony_text::{Untrusted, bytes, count, date, printable_line, significant, thousands};

use crate::demo::{Facts, executable, server_exit};

/// Files that a demo still needs and that are named one by one.
const NEEDED_MOST: usize = 10;

/// Files of one kind that load code and that are named one by one.
const CODE_FILES_MOST: usize = 5;

/// Text of the facts, for people.
pub fn text(path: &Path, facts: &Facts<'_>) -> String {
    let Facts { header, trailer, .. } = facts;
    let mut out = String::new();
    let mut line = |name: &str, value: String| {
        if !value.is_empty() {
            let _ = writeln!(out, "  {name:<12}{}", printable_line(&value));
        }
    };
    line("command", recorded_command(header));
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
    let kept = variables_kept(header);
    let kept = if kept.is_empty() { "no variable".to_owned() } else { kept.join(", ") };
    line("if unknown", format!("a build gets {kept}"));
    line("loads code", code_variables(header).join(", "));
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

fn frame_rule(rule: FrameRule) -> String {
    match rule {
        FrameRule::BlockingWait => "at the first wait that may block".to_owned(),
        FrameRule::On(op) => format!("at {}", op.name()),
    }
}

fn list(paths: &[Vec<u8>]) -> String {
    paths.iter().map(|path| Untrusted::bytes(path).to_string()).collect::<Vec<_>>().join(", ")
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
