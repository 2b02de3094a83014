//! Calls that only set what the kernel keeps for a process: limits, priority, locked memory. A replay makes them for real, and a tool
//! may refuse them.

/// Names of these calls, as notes of failed calls have them.
pub const OWN_STATE_CALLS: [&str; 5] = ["setrlimit", "prlimit", "setpriority", "mlock", "mlockall"];

/// Bit of one of these calls in a set of them; 0 for another call.
pub fn own_state_bit(name: &[u8]) -> u32 {
    OWN_STATE_CALLS.iter().position(|call| call.as_bytes() == name).map_or(0, |place| 1 << place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_has_a_bit_of_its_own_and_others_have_none() {
        let all = OWN_STATE_CALLS.iter().fold(0, |all, call| all | own_state_bit(call.as_bytes()));
        assert_eq!(all.count_ones() as usize, OWN_STATE_CALLS.len());
        assert_eq!(own_state_bit(b"open"), 0);
    }
}
