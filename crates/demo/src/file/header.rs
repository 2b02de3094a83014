//! Facts that a replay needs before the first record.

use super::error::BlockProblem;
use super::fields;
use super::varint::{self, Input};
use crate::{FrameRule, Op};

/// Facts about the recording: program, environment, machine. Paths, arguments and environment are bytes as the kernel
/// provides them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Header {
    /// Architecture that the server was built for: `x86_64`, `aarch64`, `i386`.
    pub architecture: String,
    /// Absolute path of the server's executable.
    pub executable: Vec<u8>,
    /// GNU build id of the server's executable; empty when it has none.
    pub build_id: Vec<u8>,
    /// The command and its arguments.
    pub argv: Vec<Vec<u8>>,
    /// Working directory at the start.
    pub cwd: Vec<u8>,
    /// All pairs of the environment in their order.
    pub environment: Vec<(Vec<u8>, Vec<u8>)>,
    /// Flags of the processor as `/proc/cpuinfo` lists them.
    pub cpu_flags: Vec<String>,
    /// Model name of the processor, as `/proc/cpuinfo` has it.
    pub cpu_model: String,
    /// Release of the kernel as `uname -r` says it.
    pub kernel_release: String,
    /// Start of the recording, in nanoseconds since 1970-01-01 UTC.
    pub recorded_at_unix_ns: u64,
    /// Version of prony that recorded.
    pub prony_version: String,
    /// Rule by which frames end.
    pub frame_rule: FrameRule,
    /// Directories whose archives are in the demo; state archive N belongs to entry N.
    pub state_directories: Vec<Vec<u8>>,
    /// Objects whose own calls were not recorded.
    pub excluded_objects: Vec<Vec<u8>>,
    /// Whatever else a replay needs, by name.
    pub properties: Vec<(String, Vec<u8>)>,
}

const ARCHITECTURE: u64 = 1;
const EXECUTABLE: u64 = 2;
const BUILD_ID: u64 = 3;
const ARGUMENT: u64 = 4;
const CWD: u64 = 5;
const ENVIRONMENT: u64 = 6;
const CPU_FLAGS: u64 = 7;
const CPU_MODEL: u64 = 8;
const KERNEL_RELEASE: u64 = 9;
const RECORDED_AT: u64 = 10;
const PRONY_VERSION: u64 = 11;
const FRAME_RULE: u64 = 12;
const STATE_DIRECTORY: u64 = 13;
const EXCLUDED_OBJECT: u64 = 14;
const PROPERTY: u64 = 15;

impl Header {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        fields::put(&mut out, ARCHITECTURE, self.architecture.as_bytes());
        fields::put(&mut out, EXECUTABLE, &self.executable);
        fields::put(&mut out, BUILD_ID, &self.build_id);
        for argument in &self.argv {
            fields::put(&mut out, ARGUMENT, argument);
        }
        fields::put(&mut out, CWD, &self.cwd);
        for (name, value) in &self.environment {
            fields::put(&mut out, ENVIRONMENT, &pair(name, value));
        }
        fields::put(&mut out, CPU_FLAGS, self.cpu_flags.join(" ").as_bytes());
        fields::put(&mut out, CPU_MODEL, self.cpu_model.as_bytes());
        fields::put(&mut out, KERNEL_RELEASE, self.kernel_release.as_bytes());
        fields::put_number(&mut out, RECORDED_AT, self.recorded_at_unix_ns);
        fields::put(&mut out, PRONY_VERSION, self.prony_version.as_bytes());
        let marker = match self.frame_rule {
            FrameRule::BlockingWait => 0,
            FrameRule::On(op) => op as u64,
        };
        fields::put_number(&mut out, FRAME_RULE, marker);
        for directory in &self.state_directories {
            fields::put(&mut out, STATE_DIRECTORY, directory);
        }
        for object in &self.excluded_objects {
            fields::put(&mut out, EXCLUDED_OBJECT, object);
        }
        for (name, value) in &self.properties {
            fields::put(&mut out, PROPERTY, &pair(name.as_bytes(), value));
        }
        out
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Header, BlockProblem> {
        let mut header = Header::default();
        fields::each(bytes, "header field", |tag, field| {
            match tag {
                ARCHITECTURE => header.architecture = fields::text(field)?,
                EXECUTABLE => header.executable = field.to_vec(),
                BUILD_ID => header.build_id = field.to_vec(),
                ARGUMENT => header.argv.push(field.to_vec()),
                CWD => header.cwd = field.to_vec(),
                ENVIRONMENT => {
                    let (name, value) = split(field)?;
                    header.environment.push((name.to_vec(), value.to_vec()));
                }
                CPU_FLAGS => header.cpu_flags = fields::text(field)?.split_whitespace().map(str::to_owned).collect(),
                CPU_MODEL => header.cpu_model = fields::text(field)?,
                KERNEL_RELEASE => header.kernel_release = fields::text(field)?,
                RECORDED_AT => header.recorded_at_unix_ns = fields::number(field)?,
                PRONY_VERSION => header.prony_version = fields::text(field)?,
                FRAME_RULE => {
                    header.frame_rule = match fields::number::<u16>(field)? {
                        0 => FrameRule::BlockingWait,
                        number => FrameRule::On(Op::from_number(number)?),
                    }
                }
                STATE_DIRECTORY => header.state_directories.push(field.to_vec()),
                EXCLUDED_OBJECT => header.excluded_objects.push(field.to_vec()),
                PROPERTY => {
                    let (name, value) = split(field)?;
                    header.properties.push((fields::text(name)?, value.to_vec()));
                }
                _ => {}
            }
            Some(())
        })?;
        Ok(header)
    }
}

fn pair(name: &[u8], value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len() + value.len() + 2);
    varint::put_bytes(&mut out, name);
    varint::put_bytes(&mut out, value);
    out
}

fn split(field: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut input = Input::new(field);
    input.prefixed().zip(input.prefixed())
}
