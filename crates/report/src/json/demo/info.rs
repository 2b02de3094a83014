//! `prony demo info` as JSON.

use std::collections::BTreeMap;

use prony_demo::{Exit as ServerExit, FileEntry, FileRole, FrameRule};
use prony_replay::{CodeFile, CodeKind, FileInspection, SetIdFile, code_variables, variables_kept};
use prony_text::date;
use serde_json::{Value, json};

use crate::demo::{Facts, hex, lossy};

/// JSON value of the facts.
pub fn answer(facts: &Facts<'_>) -> Value {
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
        "variables_kept_if_unknown": variables_kept(header),
        "code_variables": code_variables(header),
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
