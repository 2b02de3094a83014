//! The table in every language.

use std::fmt::Write;

use crate::table::{Access, Register, Table};

/// A generated file: its path from this crate's directory, and its text.
pub type File = (&'static str, String);

pub fn files(table: &Table) -> Vec<File> {
    let language = |path, head: &str, tail: &str, style: &Style| (path, foreign(table, head, tail, style));
    vec![
        ("src/registers.rs", rust(table)),
        language(
            "../../subjects/forwarder/c/registers.h",
            "/* %. */\n#ifndef FORWARDER_REGISTERS_H\n#define FORWARDER_REGISTERS_H\n\n#include <stdint.h>\n",
            "\n#endif\n",
            &Style {
                comment: "\n/* % */\n",
                constant: "#define % $u\n",
                array: "static inline uint32_t %(uint32_t n) { return $u + n * @u; }\n",
                name: Case::Same,
                array_name: Case::Lower,
            },
        ),
        language(
            "../../subjects/forwarder/go/registers.go",
            "// %. DO NOT EDIT.\n\npackage main\n",
            "",
            &Style {
                comment: "\n// %\n",
                constant: "const % uint32 = $\n",
                array: "func %(n uint32) uint32 { return $ + n*@ }\n",
                name: Case::Camel("reg"),
                array_name: Case::Camel("reg"),
            },
        ),
        language(
            "../../subjects/forwarder/python/registers.py",
            "# %.\n",
            "",
            &Style {
                comment: "\n# %\n",
                constant: "% = $\n",
                array: "def %(n: int) -> int:\n    return $ + n * @\n\n",
                name: Case::Same,
                array_name: Case::Lower,
            },
        ),
        language(
            "../../subjects/forwarder/csharp/Registers.cs",
            "// %.\nnamespace Forwarder\n{\n    public static class Registers\n    {\n",
            "    }\n}\n",
            &Style {
                comment: "\n        // %\n",
                constant: "        public const uint % = $;\n",
                array: "        public static uint %(uint n) => $ + n * @;\n",
                name: Case::Camel("^"),
                array_name: Case::Camel("^"),
            },
        ),
        language(
            "../../subjects/forwarder/java/Registers.java",
            "// %.\nfinal class Registers {\n    private Registers() {}\n",
            "}\n",
            &Style {
                comment: "\n    // %\n",
                constant: "    static final int % = $;\n",
                array: "    static int %(int n) {\n        return $ + n * @;\n    }\n",
                name: Case::Same,
                array_name: Case::Camel(""),
            },
        ),
        language(
            "../../subjects/forwarder/javascript/registers.js",
            "// %.\n'use strict';\n",
            "",
            &Style {
                comment: "\n// %\n",
                constant: "exports.% = $;\n",
                array: "exports.% = (n) => $ + n * @;\n",
                name: Case::Same,
                array_name: Case::Camel(""),
            },
        ),
        language(
            "../../subjects/forwarder/swift/Sources/forwarder/Registers.swift",
            "// %.\n\nenum Registers {\n",
            "}\n",
            &Style {
                comment: "\n    // %\n",
                constant: "    static let %: UInt32 = $\n",
                array: "    @inline(__always) static func %(_ n: Int) -> Int { return $ + n * @ }\n",
                name: Case::Camel(""),
                array_name: Case::Camel(""),
            },
        ),
    ]
}

const GENERATED: &str =
    "Generated from crates/ixgbe-regs/registers.toml by `cargo run -p prony-ixgbe-regs --example generate`";

fn rust(table: &Table) -> String {
    let mut out = format!("//! {GENERATED}.\n\nuse crate::table::{{Access, Register}};\n");
    let mut line = |text: String| {
        // A string takes everything.
        let _ = writeln!(out, "{text}");
    };
    let constants = table.constants();
    for register in &table.register {
        let Register { name, offset, stride, text, section, .. } = register;
        line(format!("\n/// {text}: {section}."));
        match register.count {
            None => line(format!("pub const {name}: u32 = {offset:#07x};")),
            Some(_) => line(format!(
                "#[inline]\npub const fn {}(n: u32) -> u32 {{\n    {offset:#07x} + n * {stride:#x}\n}}",
                name.to_lowercase()
            )),
        }
        for (name, value, _) in constants.iter().filter(|(_, _, of)| of == name) {
            line(rust_constant(name, *value));
        }
    }
    for descriptor in &table.descriptor {
        let (name, text, section, word) = (&descriptor.name, &descriptor.text, &descriptor.section, descriptor.word);
        line(format!("\n/// {text}: 32-bit word of the descriptor in which these bits lie; {section}."));
        line(format!("pub const {name}_WORD: u32 = {word};"));
        for (name, value, _) in constants.iter().filter(|(_, _, of)| of == name) {
            line(rust_constant(name, *value));
        }
    }
    for value in &table.value {
        line(format!("\n/// {}.\npub const {}: u32 = {:#010x};", value.text, value.name, value.value));
    }
    line("\n/// Every register of this table.\npub const REGISTERS: &[Register] = &[".to_owned());
    for register in &table.register {
        let access = match register.access {
            Access::Rw => "ReadWrite",
            Access::Ro => "ReadOnly",
            Access::Rc => "ReadClear",
            Access::Wc => "WriteClear",
            Access::Ws => "WriteSet",
            Access::Wo => "WriteOnly",
        };
        let alias =
            register.alias.as_ref().map(|alias| (format_args!("{:#07x}", alias.offset).to_string(), alias.stride));
        let alias = alias.map_or("None".to_owned(), |(offset, stride)| format!("Some(({offset}, {stride:#x}))"));
        let Register { name, offset, stride, count, reset, section, .. } = register;
        line(format!(
            "    Register {{\n        name: \"{name}\",\n        offset: {offset:#07x},\n        stride: {stride:#x},\n        \
             count: {},\n        alias: {alias},\n        reset: {reset:#010x},\n        access: Access::{access},\n        \
             is_array: {},\n        section: \"{section}\",\n    }},",
            count.unwrap_or(1),
            count.is_some()
        ));
    }
    line("];".to_owned());
    out
}

fn rust_constant(name: &str, value: u32) -> String {
    match name.ends_with("_SHIFT") {
        true => format!("/// Lowest bit of the field.\npub const {name}: u32 = {value};"),
        false => {
            format!("/// Bits of {}.\npub const {name}: u32 = {value:#010x};", name.split('_').next().unwrap_or(name))
        }
    }
}

/// How a language writes a comment, a constant and an array of registers: `%` is the name or the text, `$` the value or the
/// offset, `@` the stride.
struct Style {
    comment: &'static str,
    constant: &'static str,
    array: &'static str,
    name: Case,
    array_name: Case,
}

/// How a language writes a name.
#[derive(Clone, Copy)]
enum Case {
    /// `RDRXCTL_DMAIDONE`
    Same,
    /// `rdrxctl_dmaidone`
    Lower,
    /// `rdrxctlDmaidone`, behind a prefix `regRdrxctlDmaidone`; with `^`, `RdrxctlDmaidone`.
    Camel(&'static str),
}

impl Case {
    fn of(self, name: &str) -> String {
        match self {
            Case::Same => name.to_owned(),
            Case::Lower => name.to_lowercase(),
            Case::Camel(prefix) => {
                let mut out = prefix.trim_start_matches('^').to_owned();
                for part in name.split('_') {
                    let (first, rest) = part.split_at(1);
                    match prefix.is_empty() && out.is_empty() {
                        true => out.push_str(&first.to_lowercase()),
                        false => out.push_str(first),
                    }
                    out.push_str(&rest.to_lowercase());
                }
                out
            }
        }
    }
}

fn foreign(table: &Table, head: &str, tail: &str, style: &Style) -> String {
    let mut out = head.replace('%', GENERATED);
    let constants = table.constants();
    let constant = |name: &str, value: u32| {
        let value = if name.ends_with("_SHIFT") { value.to_string() } else { format!("0x{value:08x}") };
        style.constant.replace('%', &style.name.of(name)).replace('$', &value)
    };
    for register in &table.register {
        let Register { name, offset, stride, text, section, .. } = register;
        out += &style.comment.replace('%', &format!("{name}: {text}; {section}"));
        out += &match register.count {
            None => style.constant.replace('%', &style.name.of(name)).replace('$', &format!("0x{offset:05x}")),
            Some(_) => style
                .array
                .replace('%', &style.array_name.of(name))
                .replace('$', &format!("0x{offset:05x}"))
                .replace('@', &format!("0x{stride:x}")),
        };
        for (name, value, _) in constants.iter().filter(|(_, _, of)| of == name) {
            out += &constant(name, *value);
        }
    }
    for descriptor in &table.descriptor {
        let (name, text, section, word) = (&descriptor.name, &descriptor.text, &descriptor.section, descriptor.word);
        out += &style.comment.replace('%', &format!("{name}: {text}, 32-bit word {word}; {section}"));
        for (name, value, _) in constants.iter().filter(|(_, _, of)| of == name) {
            out += &constant(name, *value);
        }
    }
    out += &style.comment.replace('%', "Values of fields");
    for value in &table.value {
        out += &constant(&value.name, value.value);
    }
    out + tail
}
