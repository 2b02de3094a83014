//! The verbs on a small demo made here: the real command, its output, files and exit codes.

mod about;
mod anonymize;
mod demo;
mod pcap;
mod sample;
