//! Flags of `prony debug`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use prony_replay::StopPlace;

use super::{DemoLimits, FileArgs, ReplayArgs, TrustArgs, variable};

const DEBUG_EXAMPLES: &str = "\
Examples:
  prony debug match.demo --divergence -- ./server-new +map dm1
  prony debug match.demo --frame 812
  prony debug match.demo --record 20441 --gdb-command 'break sv_send' --gdb-command continue
  prony debug match.demo --divergence --batch --gdb-command 'backtrace full' -- ./server-new +map dm1
  prony debug match.demo --divergence --both './server-old +map dm1' './server-new +map dm1'
  prony debug match.demo --frame 812 --gdb-port 2345      then: gdb -ex 'target remote localhost:2345' ./server

The build runs natively up to the place. There gdb stops it before the call is answered, with the frame of the server that makes the
call selected; `continue` replays on. The replay ends when gdb does. If the build diverges before the place, gdb stops it at the divergence.
In gdb, `help prony` lists how to replay again: to the frame before, to a record, to the last change of a variable.

Exit codes:
  0  gdb was there, and what was replayed did not diverge
  1  the build diverged
  2  could not run, or gdb could not attach
  3  nothing diverged, so gdb was not started, and the result of the replay proves little";

/// Stop a build in gdb at a place of its replay.
#[derive(Debug, Args)]
#[command(after_help = DEBUG_EXAMPLES)]
pub struct DebugArgs {
    /// Demo file
    #[arg(value_name = "FILE")]
    pub demo: PathBuf,
    /// Build to run, with its arguments [default: the recorded command]
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "both")]
    pub command: Vec<OsString>,

    #[command(flatten)]
    pub place: PlaceArgs,
    #[command(flatten)]
    pub both: BothArgs,
    #[command(flatten)]
    pub gdb: GdbArgs,

    /// Set a variable of the build, instead of what was recorded; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable, help_heading = "Execution")]
    pub env: Vec<(OsString, OsString)>,
    /// Show the server's output
    #[arg(long, help_heading = "Execution")]
    pub show_output: bool,
    /// Replay a truncated demo up to its last complete block
    #[arg(long, help_heading = "Execution")]
    pub allow_truncated: bool,

    #[command(flatten)]
    pub files: FileArgs,
    #[command(flatten)]
    pub trust: TrustArgs,
    #[command(flatten)]
    pub limits: DemoLimits,
}

/// Place at which the build is stopped.
#[derive(Debug, Args)]
pub struct PlaceArgs {
    /// Stop at the first call of this frame
    #[arg(long, value_name = "N", required_unless_present_any = ["record", "divergence"], conflicts_with_all = ["record", "divergence"])]
    pub frame: Option<u64>,
    /// Stop at the call of this record
    #[arg(long, value_name = "N", conflicts_with = "divergence")]
    pub record: Option<u64>,
    /// Process of --record; 0 is the server that was started
    #[arg(long, value_name = "N", default_value_t = 0, requires = "record")]
    pub process: u16,
    /// Stop where the build diverges
    #[arg(long)]
    pub divergence: bool,
}

impl PlaceArgs {
    /// The place that was requested.
    pub fn place(&self) -> StopPlace {
        match (self.frame, self.record) {
            (Some(frame), _) => StopPlace::Frame(frame),
            (None, Some(record)) => StopPlace::Record { process: self.process, record },
            (None, None) => StopPlace::Divergence,
        }
    }
}

/// Two builds beside each other.
#[derive(Debug, Args)]
pub struct BothArgs {
    /// Stop two builds where NEW diverges, and show where each of them computed the byte that differs; each is a command
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"], requires = "divergence", conflicts_with_all = ["frame", "record", "gdb_command", "batch", "gdb_port"], help_heading = "Two builds")]
    pub both: Vec<String>,
    /// Print the comparison as JSON
    #[arg(long, requires = "both", help_heading = "Two builds")]
    pub json: bool,
    /// Write a page with both builds beside each other
    #[arg(long, visible_alias = "html", value_name = "FILE", requires = "both", help_heading = "Two builds")]
    pub export_html: Option<PathBuf>,
}

/// Debugger, and what it does.
#[derive(Debug, Args)]
pub struct GdbArgs {
    /// Run this command in gdb once the build is stopped; may be repeated
    #[arg(long, value_name = "COMMAND", help_heading = "Debugger")]
    pub gdb_command: Vec<String>,
    /// End gdb after these commands, as `gdb -batch` does
    #[arg(long, help_heading = "Debugger")]
    pub batch: bool,
    /// Wait for a debugger on this port of localhost, with gdbserver
    #[arg(long, value_name = "PORT", conflicts_with_all = ["gdb_command", "batch"], help_heading = "Debugger")]
    pub gdb_port: Option<u16>,
    /// With --gdb-port, write what the gdb that connects is to run into this file, for the settings of an editor
    #[arg(long, value_name = "FILE", requires = "gdb_port", help_heading = "Debugger")]
    pub gdb_script: Option<PathBuf>,
    /// Program to run as gdb, or lldb [default: gdb, or gdbserver with --gdb-port]
    #[arg(long, value_name = "FILE", help_heading = "Debugger")]
    pub debugger: Option<OsString>,
}

impl DebugArgs {
    /// Arguments of the replay.
    pub fn replay(&self) -> ReplayArgs {
        let mut args = ReplayArgs::of(self.demo.clone());
        args.command.clone_from(&self.command);
        args.execution.env.clone_from(&self.env);
        args.execution.show_output = self.show_output;
        args.comparison.allow_truncated = self.allow_truncated;
        args.files = self.files.clone();
        args.trust = self.trust.clone();
        args.limits = self.limits;
        args
    }
}
