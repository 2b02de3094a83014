//! Reasons why clients have no connection.

use prony_enet::DisconnectReason;

/// Reasons why a client has no connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Nothing was heard of the server for too long.
    TimedOut,
    /// The server's machine reports that the port is closed.
    PortClosed,
    /// The server ended the connection.
    ByServer,
    /// The server's answer did not fit what was requested.
    Unfit,
    /// Handling what the server sent failed here: a fault of this program, which it survived.
    Failed,
}

impl Reason {
    /// Every reason, in the order of reports.
    pub const ALL: [Reason; 5] =
        [Reason::TimedOut, Reason::PortClosed, Reason::ByServer, Reason::Unfit, Reason::Failed];

    /// The reason as a word for exports.
    pub fn name(self) -> &'static str {
        match self {
            Reason::TimedOut => "timed_out",
            Reason::PortClosed => "nobody_listens",
            Reason::ByServer => "by_server",
            Reason::Unfit => "unfit",
            Reason::Failed => "failed",
        }
    }
}

impl From<DisconnectReason> for Reason {
    fn from(reason: DisconnectReason) -> Reason {
        match reason {
            DisconnectReason::TimedOut => Reason::TimedOut,
            DisconnectReason::ByPeer | DisconnectReason::ByUs => Reason::ByServer,
            DisconnectReason::Refused => Reason::Unfit,
            DisconnectReason::Failed => Reason::Failed,
        }
    }
}

/// Clients without a connection, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Failures([u64; Reason::ALL.len()]);

impl Failures {
    /// Counts one more failure of this reason.
    pub fn add(&mut self, reason: Reason) {
        self.0[reason as usize] += 1;
    }

    /// Number of failures for this reason.
    pub fn of(&self, reason: Reason) -> u64 {
        self.0[reason as usize]
    }

    /// Number of failures for all reasons.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Takes in those of another.
    pub fn merge(&mut self, other: &Failures) {
        for (sum, more) in self.0.iter_mut().zip(other.0) {
            *sum += more;
        }
    }
}
