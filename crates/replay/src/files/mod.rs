//! Files: those that a server reads, the directories that a replay restores, what a demo brings along, and whom it is trusted from.

pub(crate) mod manifest;
pub(crate) mod regular;

pub(crate) mod limits;
pub(crate) mod mount;
pub(crate) mod partial;
pub(crate) mod scratch;

pub(crate) mod layout;
pub(crate) mod overlay;
pub(crate) mod state;

pub(crate) mod inspection;
pub(crate) mod pack;

pub(crate) mod known;
pub(crate) mod trusted;
