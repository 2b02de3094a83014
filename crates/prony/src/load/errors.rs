//! Errors of `prony load enet`, with their next step.

use prony_load::{GeneratorError, LoadError, Reason, SocketError};
use prony_report::text;

use crate::failure::Failure;

/// `server`: its address as it was given.
pub fn failure(server: &str, error: &LoadError) -> Failure {
    match error {
        LoadError::NoConnection { failures } => {
            let failure = Failure::new(format!("no client connected to {server}: {}", text::load::failures(failures)));
            match failures.of(Reason::PortClosed) > 0 {
                true => failure.hint("start the server first; `ss -uln` lists listening ports"),
                false => failure
                    .hint("check that it is an ENet 1.3 server, and that --checksum and --compress match its settings"),
            }
        }
        LoadError::Descriptors { .. } => Failure::new(error.to_string()).hint(
            "use --shared-socket, one socket for 2,048 clients, or raise \
                                                  `ulimit -Hn`",
        ),
        LoadError::NoServer { .. } => {
            Failure::new(error.to_string()).hint("--server-pid must be a process on this machine; omit it otherwise")
        }
        LoadError::Generator(GeneratorError::Socket { source: SocketError::Io(_), .. }) => {
            let failure = Failure::new(format!("cannot connect to {server}: {error}"));
            failure.hint("one address has ports for about 28,000 sockets; --shared-socket needs fewer")
        }
        LoadError::Generator(_) => Failure::new(format!("cannot load {server}: {error}")),
    }
}
