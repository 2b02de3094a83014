//! The numbers of a channel that are not acknowledged yet.

#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use alloc::collections::VecDeque;

use crate::incoming::{WINDOW, WINDOWS};
use crate::invariant::{InvariantError, agree};
use crate::slab::NONE;

/// Windows, from a number's own on, in which nothing may be in flight when its window is begun: receivers that
/// still wait for one of them could not tell the number from an old one. Stock hosts keep ten free since 1.3.17.
const FREE_WINDOWS: u32 = 10;

/// Commands by number, so that an acknowledgement finds its command in one look.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    /// Number of the first command below.
    first: u16,
    commands: VecDeque<u32>,
    /// Commands in flight in each window, and which windows have any.
    windows: [u16; WINDOWS as usize],
    used: u16,
}

impl InFlight {
    pub fn len(&self) -> usize {
        self.commands.len()
    }

    /// The commands in flight.
    pub fn commands(&self) -> impl Iterator<Item = u32> {
        self.commands.iter().copied().filter(|&command| command != NONE)
    }

    /// Checks that the counts of the windows are those of the commands.
    pub fn check(&self) -> Result<(), InvariantError> {
        let mut windows = [0u16; WINDOWS as usize];
        for (ahead, _) in (0u16..).zip(&self.commands).filter(|(_, command)| **command != NONE) {
            let window = u32::from(self.first.wrapping_add(ahead)) / WINDOW;
            if let Some(commands) = windows.get_mut(window as usize) {
                *commands = commands.saturating_add(1);
            }
        }
        for (window, (expected, &found)) in windows.into_iter().zip(&self.windows).enumerate() {
            agree("window, commands in flight", expected, found)?;
            agree("window, in use", u16::from(expected > 0), self.used >> window & 1)?;
        }
        Ok(())
    }

    /// True if `sequence`, never sent before, would begin a window that must wait.
    pub fn is_blocked(&self, sequence: u16) -> bool {
        if u32::from(sequence) % WINDOW != 0 {
            return false;
        }
        let window = u32::from(sequence) / WINDOW;
        let before = window.wrapping_sub(1) % WINDOWS;
        let ahead = ((1u16 << FREE_WINDOWS) - 1).rotate_left(window);
        self.windows.get(before as usize).is_some_and(|&commands| u32::from(commands) >= WINDOW)
            || self.used & ahead != 0
    }

    /// Takes in a command that is sent for the first time; numbers come in order.
    pub fn insert(&mut self, sequence: u16, command: u32) {
        if self.commands.is_empty() {
            self.first = sequence;
        }
        // A number may be missing: some commands are numbered and not acknowledged.
        while self.first.wrapping_add(self.commands.len() as u16) != sequence {
            self.commands.push_back(NONE);
        }
        self.commands.push_back(command);
        let window = u32::from(sequence) / WINDOW;
        if let Some(commands) = self.windows.get_mut(window as usize) {
            *commands = commands.saturating_add(1);
        }
        self.used |= 1 << window;
    }

    /// Takes out the command that was acknowledged, if it is in flight.
    pub fn remove(&mut self, sequence: u16) -> Option<u32> {
        let at = usize::from(sequence.wrapping_sub(self.first));
        let command = core::mem::replace(self.commands.get_mut(at)?, NONE);
        if command == NONE {
            return None;
        }
        while self.commands.front() == Some(&NONE) {
            self.commands.pop_front();
            self.first = self.first.wrapping_add(1);
        }
        let window = u32::from(sequence) / WINDOW;
        if let Some(commands) = self.windows.get_mut(window as usize) {
            *commands = commands.saturating_sub(1);
            if *commands == 0 {
                self.used &= !(1 << window);
            }
        }
        Some(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_by_number_across_the_wrap_and_once() {
        let mut channel = InFlight::default();
        for (command, sequence) in [65_534, 65_535, 0, 2].into_iter().enumerate() {
            channel.insert(sequence, command as u32);
        }
        assert_eq!(channel.remove(1), None, "never sent");
        assert_eq!(channel.remove(0), Some(2));
        assert_eq!(channel.remove(0), None);
        assert_eq!(channel.len(), 5);
        assert_eq!(channel.remove(65_534), Some(0));
        assert_eq!(channel.remove(65_535), Some(1));
        assert_eq!(channel.len(), 1, "what is acknowledged at the front is forgotten");
        assert_eq!(channel.remove(65_535), None);
        assert_eq!(channel.remove(2), Some(3));
    }

    #[test]
    fn a_window_is_not_begun_while_one_of_the_next_ten_is_in_use() {
        let mut channel = InFlight::default();
        channel.insert(5, 0);
        for sequence in 6..4096 {
            channel.insert(sequence, u32::from(sequence));
        }
        assert!(!channel.is_blocked(4096), "4,091 numbers of the window before");
        let wrapped: Vec<bool> = (1..16).map(|window| channel.is_blocked(window * 4096)).collect();
        // Window 0 is among the ten from window 7 on.
        assert_eq!(wrapped, (1..16).map(|window| window >= 7).collect::<Vec<_>>());
        assert!(!channel.is_blocked(7 * 4096 + 1));
        use alloc::vec::Vec;
    }
}
