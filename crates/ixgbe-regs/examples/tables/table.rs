//! `registers.toml` as it is read.

use std::collections::BTreeMap;

use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    pub register: Vec<Register>,
    pub descriptor: Vec<Descriptor>,
    pub value: Vec<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Register {
    pub name: String,
    pub offset: u32,
    #[serde(default = "four")]
    pub stride: u32,
    pub count: Option<u32>,
    pub alias: Option<Alias>,
    #[serde(default)]
    pub reset: u32,
    pub access: Access,
    pub section: String,
    pub text: String,
    #[serde(default)]
    pub bits: BTreeMap<String, Bits>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alias {
    pub offset: u32,
    pub stride: u32,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    Rw,
    Ro,
    Rc,
    Wc,
    Ws,
    Wo,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Descriptor {
    pub name: String,
    pub section: String,
    pub text: String,
    pub word: u32,
    pub bits: BTreeMap<String, Bits>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Value {
    pub name: String,
    pub value: u32,
    pub text: String,
}

/// One bit, or a field of several.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged)]
pub enum Bits {
    One(u32),
    Field(u32, u32),
}

impl Bits {
    pub fn low(self) -> u32 {
        match self {
            Bits::One(bit) | Bits::Field(bit, _) => bit,
        }
    }

    /// The mask in its place.
    pub fn mask(self) -> u32 {
        match self {
            Bits::One(bit) => 1 << bit,
            Bits::Field(low, width) => (((1u64 << width) - 1) << low) as u32,
        }
    }
}

fn four() -> u32 {
    4
}

pub fn read(text: &str) -> Result<Table, toml::de::Error> {
    toml::from_str(text)
}

impl Table {
    /// Every mask and shift: name, value, and what it is of. Fields of several bits also have a shift.
    pub fn constants(&self) -> Vec<(String, u32, String)> {
        let mut constants = Vec::new();
        let mut add = |of: &str, bits: &BTreeMap<String, Bits>| {
            let mut bits: Vec<_> = bits.iter().collect();
            bits.sort_by_key(|(_, bits)| bits.low());
            for (name, bits) in bits {
                let name = format!("{of}_{name}");
                if let Bits::Field(low, _) = bits {
                    constants.push((format!("{name}_MASK"), bits.mask(), of.to_owned()));
                    constants.push((format!("{name}_SHIFT"), *low, of.to_owned()));
                } else {
                    constants.push((name, bits.mask(), of.to_owned()));
                }
            }
        };
        for register in &self.register {
            add(&register.name, &register.bits);
        }
        for descriptor in &self.descriptor {
            add(&descriptor.name, &descriptor.bits);
        }
        constants
    }
}
