//! Names of the kernel's functions, from `/proc/kallsyms`.
#![deny(clippy::indexing_slicing)]

use super::function_names::FunctionNames;
use crate::elf::{Function, Functions};

/// The functions of the kernel and its modules.
pub(super) struct Kernel(FunctionNames);

impl Kernel {
    /// `None` where the kernel hides its addresses.
    pub(super) fn read() -> Option<Kernel> {
        let text = std::fs::read_to_string("/proc/kallsyms").ok()?;
        parse(&text).map(|functions| Kernel(FunctionNames::of(functions, None)))
    }

    pub(super) fn name(&self, address: u64) -> Option<String> {
        self.0.at(address)
    }
}

/// `ffffffff81000000 T _text`: address, kind, name; kinds t, T, w and W are code. Hidden addresses are all 0.
fn parse(text: &str) -> Option<Functions> {
    let functions = text.lines().filter_map(|line| {
        let mut fields = line.split_whitespace();
        let start = u64::from_str_radix(fields.next()?, 16).ok().filter(|&start| start > 0)?;
        let is_code = matches!(fields.next()?, "t" | "T" | "w" | "W");
        is_code.then_some(Function { start, end: start, name: fields.next()?.to_owned() })
    });
    Some(Functions::sorted(functions.collect())).filter(|functions| !functions.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_addresses_are_no_names() {
        assert_eq!(parse("0000000000000000 T _text\n0000000000000000 t do_one\n"), None);
        let functions =
            parse("ffff0000 T _text\nffff0100 t do_one\nffff0180 d data\nffff0200 T next [mod]\n").expect("names");
        assert_eq!(functions.at(0xffff_01ff).map(|function| function.name.as_str()), Some("do_one"));
        assert_eq!(functions.at(0xffff_9999).map(|function| function.name.as_str()), Some("next"));
    }
}
