//! Verb `prony profile zones`: prints the times of a program's zones.

use prony_profile::read_zones;
use prony_report::{json, text};

use super::stored;
use crate::cli::profile::ZonesArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// # Errors
/// When the file cannot be read, or is none of zones.
pub fn run(args: &ZonesArgs) -> Result<Exit, Failure> {
    let bytes = stored::bytes(&args.file)?;
    let zones = read_zones(&String::from_utf8_lossy(&bytes)).map_err(|error| {
        Failure::new(format!("cannot read {}: {error}", args.file.display()))
            .hint("a program compiled with -DPRONY_ZONES writes it at its exit, or one in Rust by write_to_end()")
    })?;
    if args.json {
        output::print_json(&json::profile::zones::answer(&zones))?;
    } else {
        output::print(&text::profile::zones::text(&zones))?;
    }
    Ok(Exit::Good)
}
