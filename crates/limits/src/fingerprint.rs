//! Fingerprint of the machine that a limit belongs to.

use std::fmt;
use std::str::FromStr;

use prony_machine::Facts;

/// Names a machine by what its limits depend on: 16 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(u64);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for Fingerprint {
    type Err = String;

    fn from_str(text: &str) -> Result<Fingerprint, String> {
        let wrong = || format!("expected 16 hexadecimal digits, found `{}`", text.chars().take(40).collect::<String>());
        if text.len() != 16 || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        u64::from_str_radix(text, 16).map(Fingerprint).map_err(|_| wrong())
    }
}

/// The fingerprint of a machine: processor, cores, caches, memory to the gigabyte, and the hypervisor.
///
/// Not in it: its name, the kernel and its settings, which change on one machine. So two machines of one make share a
/// fingerprint, and their limits. FNV-1a with 64 bits (Fowler, Noll & Vo 1991) over the facts, each ended by a zero byte.
pub fn fingerprint(facts: &Facts) -> Fingerprint {
    let cpu = &facts.cpu;
    let gigabytes = facts.memory_bytes.map(|bytes| (bytes as f64 / f64::from(1 << 30)).round());
    let mut parts = vec![
        cpu.model.clone().unwrap_or_default(),
        cpu.architecture.clone(),
        cpu.sockets.to_string(),
        cpu.cores.to_string(),
        cpu.online.clone(),
        gigabytes.map_or_else(String::new, |gigabytes| gigabytes.to_string()),
        facts.hypervisor.clone().unwrap_or_default(),
    ];
    parts.extend(cpu.caches.iter().map(|cache| format!("L{} {} {}", cache.level, cache.kind, cache.size_bytes)));
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    Fingerprint(bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)))
}

#[cfg(test)]
mod tests {
    use prony_machine::{Tree, facts};

    use super::*;

    #[test]
    fn a_machine_keeps_its_fingerprint_and_another_processor_has_another() {
        let here = facts(&Tree::machine());
        assert_eq!(fingerprint(&here), fingerprint(&here.clone()));
        let mut renamed = here.clone();
        renamed.host = Some("elsewhere".to_owned());
        renamed.kernel.release = Some("9.9".to_owned());
        assert_eq!(fingerprint(&renamed), fingerprint(&here));
        let mut other = here.clone();
        other.cpu.model = Some("another".to_owned());
        assert_ne!(fingerprint(&other), fingerprint(&here));
        let mut larger = here.clone();
        larger.memory_bytes = Some(here.memory_bytes.unwrap_or(0) + (8 << 30));
        assert_ne!(fingerprint(&larger), fingerprint(&here));
    }

    #[test]
    fn a_fingerprint_is_read_as_it_is_written() {
        let print = fingerprint(&facts(&Tree::machine()));
        assert_eq!(print.to_string().parse(), Ok(print));
        for wrong in ["", "0", "+123456789abcdef", "zzzzzzzzzzzzzzzz", "0123456789abcdef0"] {
            assert!(wrong.parse::<Fingerprint>().is_err(), "{wrong}");
        }
    }
}
