//! Facts about the recording machine, with which a replay elsewhere can name differences.

use prony_demo::Header;
use std::fs;

fn line(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

fn cpu_field(name: &str) -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = text.lines().find(|line| line.split(':').next().is_some_and(|field| field.trim() == name));
    field.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
}

/// Flags of the processor, sorted.
pub(crate) fn cpu_flags() -> Vec<String> {
    let name = if cfg!(target_arch = "x86_64") { "flags" } else { "Features" };
    let mut flags: Vec<String> = cpu_field(name).split_whitespace().map(str::to_owned).collect();
    flags.sort();
    flags
}

/// Fills in what the machine is.
pub(crate) fn describe_machine(header: &mut Header) {
    header.architecture = std::env::consts::ARCH.to_owned();
    header.cpu_flags = cpu_flags();
    header.cpu_model = cpu_field("model name");
    header.kernel_release = line("/proc/sys/kernel/osrelease");
    header.prony_version = env!("CARGO_PKG_VERSION").to_owned();
}

/// Flags that the recording's processor had and this one lacks: libraries choose their code by
/// them, so floating-point results may differ.
pub(crate) fn flags_lacking(header: &Header) -> Vec<String> {
    let here = cpu_flags();
    header.cpu_flags.iter().filter(|flag| !here.contains(flag)).cloned().collect()
}
