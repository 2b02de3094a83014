//! Checks that the parts of a host agree with each other: run by tests, and after a panic.

/// Two parts of a host that do not agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{part}: expected {expected}, found {found}")]
pub struct InvariantError {
    /// The part of the host, and what is counted there.
    pub part: &'static str,
    /// Value that follows from the other parts.
    pub expected: u64,
    /// Value that the part has.
    pub found: u64,
}

/// Checks that `part` has the `expected` value.
pub(crate) fn agree<T: TryInto<u64>>(part: &'static str, expected: T, found: T) -> Result<(), InvariantError> {
    let [expected, found] = [expected, found].map(|value| value.try_into().unwrap_or(u64::MAX));
    if expected == found { Ok(()) } else { Err(InvariantError { part, expected, found }) }
}

/// Checks that `part` has `item`, of which the error names the number.
pub(crate) fn holds(part: &'static str, item: usize, is_so: bool) -> Result<(), InvariantError> {
    if is_so { Ok(()) } else { Err(InvariantError { part, expected: item as u64, found: u64::MAX }) }
}
