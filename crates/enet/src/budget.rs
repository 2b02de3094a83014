//! Memory that waits for what is missing before it: of one peer, of an address, of all.
//!
//! An address holds at most as much as is left for others when it requests more. One alone gets half of the budget,
//! two a third each, and whatever others do, something is left for the next. Source: Choudhury & Hahne 1998, dynamic
//! queue length thresholds for shared-memory packet switches.
//!
//! A peer may put together one reliable and one unreliable packet beyond all budgets, at a time: those that are next in
//! order on a channel. Without it, a peer whose budget is spent by what came early would wait forever for what is late.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::IpAddr;

use hashbrown::HashMap;

use crate::endpoint::words;
use crate::invariant::{InvariantError, agree, holds};
use crate::keyed::Keyed;
use crate::packet::{Kind, Received};

/// Bytes charged for a delivered packet in addition to its payload: its place in a queue that doubles, its allocation.
pub(crate) const DELIVERED_BYTES: usize = 96;

/// Reasons to grant memory although a budget is exhausted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exemption {
    /// The reliable packet that is next in order on a channel.
    Reliable,
    /// An unreliable packet that may be delivered once it is complete.
    Unreliable,
    /// The node of a tree that is empty but for such a packet.
    Node,
}

/// Size of one held item, and the budget that pays for it.
#[derive(Debug, Default)]
pub(crate) struct Charge {
    pub bytes: usize,
    exemption: Option<Exemption>,
}

impl Charge {
    /// True if no budget pays for it.
    pub fn is_exempt(&self) -> bool {
        self.exemption.is_some()
    }
}

/// Memory held by a peer.
#[derive(Debug, Default)]
pub(crate) struct Account {
    /// Bytes that count for the budgets.
    pub held: usize,
    /// Bytes that do not count for the budgets.
    pub exempt: usize,
    has_reliable: bool,
    has_unreliable: bool,
    share: Option<u32>,
}

impl Account {
    /// True between [`Budget::open`] and [`Budget::close`].
    pub fn is_open(&self) -> bool {
        self.share.is_some()
    }
}

/// Memory held by the peers of one network.
#[derive(Debug)]
struct Share {
    network: (u64, u64),
    peers: u32,
    held: usize,
}

/// Memory held by all peers, by network.
pub(crate) struct Budget {
    /// Bytes held by all peers that count for the budget.
    pub held: usize,
    /// Bytes that do not count for the budget.
    pub exempt: usize,
    shares: Vec<Share>,
    free: Vec<u32>,
    networks: HashMap<(u64, u64), u32, Keyed>,
}

/// Network of an address that shares a budget: an IPv4 address, or the 2^64 IPv6 addresses of one link, which a single
/// machine may all use.
fn network(address: IpAddr) -> (u64, u64) {
    match address.to_canonical() {
        address @ IpAddr::V4(_) => words(address),
        address @ IpAddr::V6(_) => (words(address).0, 0),
    }
}

impl Budget {
    pub fn new(keyed: Keyed) -> Budget {
        Budget { held: 0, exempt: 0, shares: Vec::new(), free: Vec::new(), networks: HashMap::with_hasher(keyed) }
    }

    /// Forgets all accounts.
    pub fn clear(&mut self) {
        *self = Budget::new(*self.networks.hasher());
    }

    /// Checks that sums and shares are those of `accounts`, which are all that are open, with their addresses.
    pub fn check<'a>(&self, accounts: impl Iterator<Item = (&'a Account, IpAddr)>) -> Result<(), InvariantError> {
        let (mut held, mut exempt) = (0, 0);
        let mut shares: Vec<(u32, usize)> = alloc::vec![(0, 0); self.shares.len()];
        for (account, address) in accounts {
            held += account.held;
            exempt += account.exempt;
            let Some(at) = account.share else {
                agree("account without a share, bytes", 0, account.held + account.exempt)?;
                continue;
            };
            let is_its_own = self.shares.get(at as usize).is_some_and(|share| share.network == network(address));
            holds("budget, share of an account", at as usize, is_its_own)?;
            if let Some((peers, held)) = shares.get_mut(at as usize) {
                *peers += 1;
                *held += account.held;
            }
        }
        agree("budget, bytes held", held, self.held)?;
        agree("budget, bytes exempt", exempt, self.exempt)?;
        for (at, (&(peers, held), share)) in (0..).zip(shares.iter().zip(&self.shares)) {
            agree("share, peers", peers, share.peers)?;
            agree("share, bytes held", held, share.held)?;
            let is_named = self.networks.get(&share.network) == Some(&at);
            holds("budget, share of a network", at as usize, is_named == (peers > 0))?;
        }
        agree("budget, free shares", shares.len().saturating_sub(self.networks.len()), self.free.len())
    }

    /// Opens the account of a peer at `address`.
    pub fn open(&mut self, account: &mut Account, address: IpAddr) {
        let network = network(address);
        let share = *self.networks.entry(network).or_insert_with(|| {
            let share = Share { network, peers: 0, held: 0 };
            match self.free.pop() {
                Some(at) => {
                    if let Some(place) = self.shares.get_mut(at as usize) {
                        *place = share;
                    }
                    at
                }
                None => {
                    self.shares.push(share);
                    (self.shares.len() - 1) as u32
                }
            }
        });
        if let Some(share) = self.shares.get_mut(share as usize) {
            share.peers += 1;
        }
        account.share = Some(share);
    }

    fn share(&mut self, at: Option<u32>) -> Option<&mut Share> {
        self.shares.get_mut(at? as usize)
    }

    /// Takes back all that a peer holds.
    pub fn empty(&mut self, account: &mut Account) {
        self.held -= account.held;
        self.exempt -= account.exempt;
        if let Some(share) = self.share(account.share) {
            share.held -= account.held;
        }
        *account = Account { share: account.share, ..Account::default() };
    }

    /// Returns the bytes of an account to the budget.
    pub fn close(&mut self, account: &mut Account) {
        self.empty(account);
        let Some(at) = account.share.take() else { return };
        let Some(share) = self.share(Some(at)) else { return };
        share.peers -= 1;
        if share.peers == 0 {
            let network = share.network;
            self.networks.remove(&network);
            self.free.push(at);
        }
    }
}

/// Bytes waiting for one peer and for all, against their limits.
pub(crate) struct ReceiveQuota<'a> {
    /// Packets of this peer that the application has not taken yet.
    pub delivered: &'a mut VecDeque<Received>,
    pub waiting: &'a mut usize,
    /// Bytes of this peer that wait for missing packets before them.
    pub account: &'a mut Account,
    /// Budget of all peers together.
    pub budget: &'a mut Budget,
    pub waiting_limit: usize,
    pub held_limit: usize,
    pub packet_limit: usize,
    /// Steps of the host's count.
    pub work: &'a mut u64,
}

impl ReceiveQuota<'_> {
    /// True if the application is behind, so that nothing more is delivered.
    pub fn is_behind(&self) -> bool {
        *self.waiting + DELIVERED_BYTES * self.delivered.len() >= self.waiting_limit
    }

    /// True if nothing more may wait that is not next in order.
    pub fn is_full(&self) -> bool {
        *self.waiting + self.account.held + DELIVERED_BYTES * self.delivered.len() >= self.waiting_limit
    }

    /// True if one more packet of `bytes` may wait for the application.
    pub fn admits(&self, bytes: usize) -> bool {
        bytes <= self.packet_limit && !self.is_behind()
    }

    pub fn deliver(&mut self, channel: u8, kind: Kind, payload: Vec<u8>) {
        *self.waiting += payload.len();
        self.delivered.push_back(Received { channel, kind, payload });
    }

    fn hold(&mut self, bytes: usize) -> bool {
        // What is left for others behind it.
        let Some(left) = self.held_limit.checked_sub(self.budget.held + bytes) else { return false };
        let Some(share) = self.budget.share(self.account.share) else { return false };
        if share.held + bytes > left || self.account.held + bytes > self.waiting_limit {
            return false;
        }
        share.held += bytes;
        self.budget.held += bytes;
        self.account.held += bytes;
        true
    }

    fn release(&mut self, bytes: usize) {
        if let Some(share) = self.budget.share(self.account.share) {
            share.held -= bytes;
        }
        self.budget.held -= bytes;
        self.account.held -= bytes;
    }

    /// Takes `exemption`, if it is free.
    fn exempt(&mut self, exemption: Exemption) -> bool {
        let taken = match exemption {
            Exemption::Reliable => &mut self.account.has_reliable,
            Exemption::Unreliable => &mut self.account.has_unreliable,
            Exemption::Node => return true,
        };
        !core::mem::replace(taken, true)
    }

    /// True if `exemption` could be granted.
    pub fn may_exempt(&self, exemption: Option<Exemption>) -> bool {
        match exemption {
            Some(Exemption::Reliable) => !self.account.has_reliable,
            Some(Exemption::Unreliable) => !self.account.has_unreliable,
            Some(Exemption::Node) => true,
            None => false,
        }
    }

    /// Makes `charge` one of `bytes`; false if no budget has room for it, and no exemption.
    pub fn charge(&mut self, charge: &mut Charge, bytes: usize, exemption: Option<Exemption>) -> bool {
        if charge.exemption.is_some() {
            self.account.exempt = self.account.exempt - charge.bytes + bytes;
            self.budget.exempt = self.budget.exempt - charge.bytes + bytes;
        } else if bytes <= charge.bytes {
            self.release(charge.bytes - bytes);
        } else if !self.hold(bytes - charge.bytes) {
            let Some(exemption) = exemption.filter(|&exemption| self.exempt(exemption)) else { return false };
            self.release(charge.bytes);
            self.account.exempt += bytes;
            self.budget.exempt += bytes;
            charge.exemption = Some(exemption);
        }
        charge.bytes = bytes;
        true
    }

    /// Gives back all of `charge`, and the exemption with it.
    pub fn discharge(&mut self, charge: &mut Charge) {
        self.charge(charge, 0, None);
        match charge.exemption.take() {
            Some(Exemption::Reliable) => self.account.has_reliable = false,
            Some(Exemption::Unreliable) => self.account.has_unreliable = false,
            Some(Exemption::Node) | None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 1200;

    /// What a peer at `address` gets by one byte after another.
    fn fill(budget: &mut Budget, address: &str) -> (Account, usize) {
        let mut account = Account::default();
        budget.open(&mut account, address.parse().unwrap());
        let (mut delivered, mut waiting, mut work) = (VecDeque::new(), 0, 0);
        let mut quota = ReceiveQuota {
            delivered: &mut delivered,
            waiting: &mut waiting,
            account: &mut account,
            budget,
            waiting_limit: usize::MAX,
            held_limit: LIMIT,
            packet_limit: 0,
            work: &mut work,
        };
        let taken = (0..LIMIT).take_while(|_| quota.hold(1)).count();
        (account, taken)
    }

    #[test]
    fn an_address_holds_no_more_than_it_leaves_for_others_whatever_its_peers() {
        let mut budget = Budget::new(Keyed::new(&[1; 16]));
        let (mut first, taken) = fill(&mut budget, "10.0.0.1");
        assert_eq!(taken, LIMIT / 2);
        assert_eq!(fill(&mut budget, "::ffff:10.0.0.1").1, 0, "the same address in another form");
        assert_eq!(fill(&mut budget, "10.0.0.2").1, LIMIT / 4);
        assert_eq!(fill(&mut budget, "2001:db8::1").1, LIMIT / 8);
        assert_eq!(fill(&mut budget, "2001:db8::ffff:2").1, 0, "the same network of 64 bits");
        assert!(fill(&mut budget, "2001:db8:0:1::1").1 > 0);
        budget.close(&mut first);
        assert!(fill(&mut budget, "10.0.0.3").1 > LIMIT / 8, "what was given back");
    }

    #[test]
    fn networks_without_peers_are_forgotten() {
        let mut budget = Budget::new(Keyed::new(&[1; 16]));
        for number in 0..1000 {
            let (mut account, taken) = fill(&mut budget, &std::format!("10.0.{}.{}", number / 256, number % 256));
            assert_eq!(taken, LIMIT / 2);
            budget.close(&mut account);
        }
        assert_eq!((budget.held, budget.networks.len(), budget.shares.len()), (0, 0, 1));
    }
}
