//! Messages of the kernel, as `dmesg` prints them.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;

use crate::Tree;

const LOG: &str = "/dev/kmsg";

/// A record is no longer: `PRINTK_MESSAGE_MAX`, include/linux/printk.h.
const RECORD_BYTES: usize = 8192;

/// Messages that the kernel still has, the oldest first; none without the permission to read them (`kernel.dmesg_restrict`).
pub(super) fn messages(tree: &Tree) -> Vec<String> {
    if !tree.is_machine() {
        return tree.read(LOG).unwrap_or_default().lines().filter_map(message).collect();
    }
    let Ok(mut log) = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(LOG) else { return Vec::new() };
    let mut messages = Vec::new();
    let mut record = vec![0; RECORD_BYTES];
    loop {
        // Each call reads one record, Documentation/ABI/testing/dev-kmsg.
        match log.read(&mut record) {
            Ok(0) => break,
            Ok(bytes) => {
                let text = String::from_utf8_lossy(record.get(..bytes).unwrap_or_default()).into_owned();
                messages.extend(text.lines().next().and_then(message));
            }
            // EPIPE: the record was overwritten meanwhile, and the next call goes on with the oldest one.
            Err(error) if error.kind() == ErrorKind::BrokenPipe || error.kind() == ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    messages
}

/// The text of a record: what follows priority, number, time and flags.
fn message(record: &str) -> Option<String> {
    Some(record.split_once(';')?.1.to_owned())
}
