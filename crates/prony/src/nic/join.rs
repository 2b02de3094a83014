//! `prony nic join`: a driver that is started by hand, and whose calls of VFIO go to the device.

use std::os::unix::process::CommandExt;
use std::process::Command;

use prony_softnic_host::join_device;

use crate::cli::nic::JoinArgs;
use crate::exit::Exit;
use crate::failure::Failure;

/// Becomes the driver.
///
/// # Errors
/// There is no device in this mount namespace, or no such program.
pub fn run(args: &JoinArgs) -> Result<Exit, Failure> {
    join_device().map_err(|error| {
        Failure::new(format!("cannot reach a device: {error}"))
            .hint("`prony nic --vfio` prints the command that starts a driver in its mount namespace")
    })?;
    let Some((program, arguments)) = args.command.split_first() else {
        return Err(Failure::new("no command was given"));
    };
    let error = Command::new(program).args(arguments).exec();
    Err(Failure::new(format!("cannot start {}: {error}", program.to_string_lossy())))
}
