//! Search for the register at an offset.

use crate::registers::REGISTERS;
use crate::table::Register;

/// Register at an offset, and its index; the second place of an aliased register counts as the first.
pub fn find(offset: u32) -> Option<(&'static Register, u32)> {
    REGISTERS.iter().find_map(|register| {
        let index = |(first, stride): (u32, u32)| {
            let distance = offset.checked_sub(first)?;
            (distance.is_multiple_of(stride) && distance / stride < register.count).then_some(distance / stride)
        };
        let index = index((register.offset, register.stride)).or_else(|| index(register.alias?));
        index.map(|index| (register, index))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registers::{rdt, srrctl};
    use crate::table::BAR_BYTES;

    #[test]
    fn every_register_lies_in_the_bar_at_a_place_of_its_own() {
        for register in REGISTERS {
            for index in 0..register.count {
                let offset = register.at(index).expect("below the count");
                assert!(offset.is_multiple_of(4) && (offset as usize) < BAR_BYTES, "{} {index}", register.name);
                assert_eq!(find(offset), Some((register, index)), "{} {index}", register.name);
            }
            assert_eq!(register.at(register.count), None);
        }
    }

    #[test]
    fn an_alias_is_the_register_itself() {
        let (register, index) = find(0x1014 + 3 * 0x40).expect("the second place of SRRCTL[3]");
        assert_eq!((register.name, register.at(index)), ("SRRCTL", Some(srrctl(3))));
        assert_eq!(find(rdt(15)).map(|(register, index)| (register.name, index)), Some(("RDT", 15)));
        assert_eq!(find(0x1002), None);
    }
}
