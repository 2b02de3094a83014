//! Hosts on a network of virtual time, which loses, doubles, delays, reorders and corrupts as a seed says.

mod abuse;
mod attacker;
mod cost;
mod fairness;
mod hostile;
mod known_faults;
mod link;
mod lossy;
mod peers;
mod pieces;
mod rules;
