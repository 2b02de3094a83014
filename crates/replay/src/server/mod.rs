//! The server: its program and what is looked for in it, its environment, and how it is started.

pub(crate) mod environment;
pub(crate) mod inheritance;
pub(crate) mod launch;
pub(crate) mod library;
pub(crate) mod program;
pub(crate) mod recorded;

pub(crate) mod calls;
pub(crate) mod facts;
pub(crate) mod functions;
pub(crate) mod goes_on;
pub(crate) mod objects;
pub(crate) mod processor;
pub(crate) mod raw_calls;
pub(crate) mod search;
pub(crate) mod tool;
