//! What a header says of the recorded process, in words: for a person who decides about it.

use prony_demo::Header;
use prony_text::Untrusted;

use super::environment::{kept_from_strangers, loads_code};

/// The recorded command, as a shell takes it.
pub fn recorded_command(header: &Header) -> String {
    let quoted = |argument: &Vec<u8>| {
        let text = shown(argument);
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_+=./:,@%".contains(c);
        if !text.is_empty() && text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
    };
    header.argv.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// Names of the recorded variables by which code or files are chosen.
pub fn code_variables(header: &Header) -> Vec<String> {
    header.environment.iter().filter(|(name, _)| loads_code(name)).map(|(name, _)| shown(name)).collect()
}

/// Names of the recorded variables that a build gets although the demo is neither own nor trusted.
pub fn variables_kept(header: &Header) -> Vec<String> {
    let kept = header.environment.iter().filter(|(name, value)| name == b"PATH" || kept_from_strangers(name, value));
    kept.map(|(name, _)| shown(name)).collect()
}

/// Bytes of a demo on a terminal.
fn shown(bytes: &[u8]) -> String {
    Untrusted::bytes(bytes).to_string()
}
