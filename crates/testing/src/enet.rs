//! ENet servers as processes, and hostile peers.

#[cfg(feature = "enet")]
pub mod attacker;
pub mod conversation;
#[cfg(feature = "enet")]
pub mod dice;
#[cfg(feature = "enet")]
pub mod raw;
pub mod server;
#[cfg(feature = "enet")]
pub mod strategies;
