//! Which station of a link has which address.
//!
//! Nothing on an Ethernet proves who has an address: stations say so, and one that lies can take any address that is free.
//! What a hostile station can do here is bounded by rules:
//!
//! * The table has one place for each address of the link, made at the start. It never grows, and no address can push
//!   another one out. Addresses beyond the link have no place: theirs is that of the gateway.
//! * The first station that is heard with an address holds it. Another one that claims it is refused, until the holder has
//!   been silent for [`HOLD`]: by then its connections have ended. A station that speaks at least that often keeps its address.
//! * A place that is fixed is never changed by what is heard.

use std::net::Ipv4Addr;
use std::time::Duration;

use super::frame::Mac;

/// Time for which a silent station keeps its address: the longest after which ENet gives up a silent peer by default.
pub const HOLD: Duration = Duration::from_secs(30);
/// Time between two requests for one address.
const REQUEST_INTERVAL_MS: u32 = 1000;

/// Smallest and largest number of leading bits that the addresses of a link share: a table of 65,536 places at most.
pub const PREFIX_BITS: std::ops::RangeInclusive<u8> = 16..=30;

/// What is known of one address of the link. Times are in milliseconds since the start, cut to 32 bits.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    mac: Mac,
    state: State,
    /// It was requested at `requested_ms`.
    is_requested: bool,
    /// Its holder was heard last.
    heard_ms: u32,
    requested_ms: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Free,
    Held,
    Fixed,
}

/// Stations of a link, by their addresses.
#[derive(Debug)]
pub(super) struct Neighbours {
    network: u32,
    places: Box<[Place]>,
}

/// The address is held by another station.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Contested;

impl Neighbours {
    /// Places for the addresses that share their first `prefix_bits` bits, one of [`PREFIX_BITS`], with `address`.
    pub fn new(address: Ipv4Addr, prefix_bits: u8) -> Neighbours {
        let addresses = 1_u32 << (32 - prefix_bits.clamp(*PREFIX_BITS.start(), *PREFIX_BITS.end()));
        let network = address.to_bits() & !(addresses - 1);
        Neighbours { network, places: vec![Place::default(); addresses as usize].into() }
    }

    /// The number of an address within the link; `None` beyond it, and for the first and last address, which no station has.
    #[inline]
    fn number(&self, address: Ipv4Addr) -> Option<usize> {
        let number = address.to_bits().wrapping_sub(self.network) as usize;
        (number > 0 && number + 1 < self.places.len()).then_some(number)
    }

    #[inline]
    fn place(&mut self, address: Ipv4Addr) -> Option<&mut Place> {
        let number = self.number(address)?;
        self.places.get_mut(number)
    }

    /// True if the link has this address, and a station may have it.
    pub fn contains(&self, address: Ipv4Addr) -> bool {
        self.number(address).is_some()
    }

    /// True for the two addresses of the link that no station has: its own, and that of all stations.
    pub fn is_reserved(&self, address: Ipv4Addr) -> bool {
        let number = address.to_bits().wrapping_sub(self.network) as usize;
        number < self.places.len() && !self.contains(address)
    }

    /// Takes in that a station speaks as `address` of the link.
    #[inline]
    pub fn hear(&mut self, now: Duration, address: Ipv4Addr, mac: Mac) -> Result<(), Contested> {
        let now_ms = now.as_millis() as u32;
        let Some(place) = self.place(address) else { return Ok(()) };
        if place.mac != mac || place.state == State::Free {
            let is_held = now_ms.wrapping_sub(place.heard_ms) < HOLD.as_millis() as u32;
            if place.state == State::Fixed || place.state == State::Held && is_held {
                return Err(Contested);
            }
            (place.mac, place.state) = (mac, State::Held);
        }
        (place.heard_ms, place.is_requested) = (now_ms, false);
        Ok(())
    }

    /// Gives an address to a station for good.
    pub fn fix(&mut self, address: Ipv4Addr, mac: Mac) {
        if let Some(place) = self.place(address) {
            (place.mac, place.state) = (mac, State::Fixed);
        }
    }

    /// The station that has an address, as far as is known.
    #[inline]
    pub fn mac(&self, address: Ipv4Addr) -> Option<Mac> {
        let place = self.places.get(self.number(address)?)?;
        (place.state != State::Free).then_some(place.mac)
    }

    /// True if the station with an address is to be requested now: it is not known, or has been silent, and was not
    /// requested a moment ago. It counts as requested then.
    #[inline]
    pub fn is_to_be_requested(&mut self, now: Duration, address: Ipv4Addr) -> bool {
        let now_ms = now.as_millis() as u32;
        let Some(place) = self.place(address) else { return false };
        let is_silent = now_ms.wrapping_sub(place.heard_ms) >= HOLD.as_millis() as u32;
        let is_needed = match place.state {
            State::Free => true,
            State::Held => is_silent,
            State::Fixed => false,
        };
        let is_recent = place.is_requested && now_ms.wrapping_sub(place.requested_ms) < REQUEST_INTERVAL_MS;
        if !is_needed || is_recent {
            return false;
        }
        (place.is_requested, place.requested_ms) = (true, now_ms);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HONEST: Mac = [2, 0, 0, 0, 0, 2];
    const HOSTILE: Mac = [2, 0, 0, 0, 6, 66];

    fn address(last: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 0, 0, last)
    }

    fn neighbours() -> Neighbours {
        Neighbours::new(address(1), 24)
    }

    #[test]
    fn a_station_keeps_its_address_while_it_speaks_and_for_a_while_after() {
        let mut neighbours = neighbours();
        assert_eq!(neighbours.mac(address(2)), None);
        let mut now = Duration::from_secs(1);
        for _ in 0..1000 {
            assert_eq!(neighbours.hear(now, address(2), HONEST), Ok(()));
            now += HOLD - Duration::from_millis(1);
            assert_eq!(neighbours.hear(now, address(2), HOSTILE), Err(Contested));
            assert_eq!(neighbours.mac(address(2)), Some(HONEST));
        }
        // It was heard last one hold and a millisecond ago less than it will be.
        now += Duration::from_millis(1);
        assert_eq!(neighbours.hear(now, address(2), HOSTILE), Ok(()), "a new card, or an address that was given on");
        assert_eq!(neighbours.mac(address(2)), Some(HOSTILE));
    }

    #[test]
    fn claims_of_another_station_do_not_prolong_the_hold() {
        let mut neighbours = neighbours();
        neighbours.hear(Duration::ZERO, address(2), HONEST).expect("it is free");
        for seconds in 1..HOLD.as_secs() {
            assert_eq!(neighbours.hear(Duration::from_secs(seconds), address(2), HOSTILE), Err(Contested));
        }
        assert_eq!(neighbours.hear(HOLD, address(2), HOSTILE), Ok(()));
    }

    #[test]
    fn the_table_has_a_place_for_each_address_of_the_link_and_never_another() {
        for prefix_bits in PREFIX_BITS {
            let mut neighbours = Neighbours::new(address(1), prefix_bits);
            let places = neighbours.places.len();
            assert_eq!(places, 1 << (32 - prefix_bits));
            // A flood of forged senders.
            for number in 0..200_000_u32 {
                let address = Ipv4Addr::from(0x0a00_0000_u32.wrapping_add(number.wrapping_mul(0x9e37_79b9)));
                let _ = neighbours.hear(Duration::ZERO, address, HOSTILE);
            }
            assert_eq!(neighbours.places.len(), places);
            assert!(neighbours.mac(Ipv4Addr::new(11, 0, 0, 1)).is_none(), "beyond the link");
        }
    }

    #[test]
    fn a_flood_of_forged_addresses_takes_no_place_that_is_held() {
        let mut neighbours = neighbours();
        neighbours.hear(Duration::ZERO, address(2), HONEST).expect("it is free");
        for last in 0..=255 {
            let _ = neighbours.hear(Duration::from_secs(1), address(last), HOSTILE);
        }
        assert_eq!(neighbours.mac(address(2)), Some(HONEST));
        assert_eq!(neighbours.mac(address(3)), Some(HOSTILE), "it was free");
        for none in [0, 255] {
            assert!(neighbours.is_reserved(address(none)) && neighbours.mac(address(none)).is_none());
        }
    }

    #[test]
    fn a_fixed_place_never_changes() {
        let mut neighbours = neighbours();
        neighbours.fix(address(2), HONEST);
        assert_eq!(neighbours.hear(HOLD * 9, address(2), HOSTILE), Err(Contested));
        assert_eq!(neighbours.hear(HOLD * 9, address(2), HONEST), Ok(()));
        assert_eq!(neighbours.hear(HOLD * 99, address(2), HOSTILE), Err(Contested));
        assert!(!neighbours.is_to_be_requested(HOLD * 99, address(2)));
    }

    #[test]
    fn an_address_is_requested_once_a_second_until_it_is_heard_and_again_after_silence() {
        let mut neighbours = neighbours();
        let at = Duration::from_millis;
        let times = [5000, 5001, 5999, 6000, 6500, 7000];
        let requested = times.map(|ms| neighbours.is_to_be_requested(at(ms), address(2)));
        assert_eq!(requested, [true, false, false, true, false, true]);
        neighbours.hear(at(7001), address(2), HONEST).expect("it is free");
        assert!(!neighbours.is_to_be_requested(at(37_000), address(2)), "it spoke");
        assert!(neighbours.is_to_be_requested(at(37_001), address(2)), "it has been silent");
        assert_eq!(neighbours.mac(address(2)), Some(HONEST), "and is spoken to meanwhile");
        assert!(!neighbours.is_to_be_requested(at(90_000), Ipv4Addr::new(10, 0, 1, 2)), "beyond the link");
    }
}
