//! Sets of CPUs as the kernel writes them: lists (`0-3,8`) and masks (`f,00000001`).

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// The kernel's own limit, `CONFIG_NR_CPUS` with `MAXSMP`: a list that names more is no list of CPUs.
const CPUS_MAX: u32 = 8192;

/// Set of CPUs by their numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CpuSet(BTreeSet<u32>);

/// Errors in the text of a set of CPUs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CpuSetError {
    /// A part of a list is neither a number nor a range.
    #[error("expected CPUs or ranges such as 0-3,8, found `{0}`")]
    List(String),
    /// A word of a mask is not hexadecimal.
    #[error("expected hexadecimal words such as f,00000001, found `{0}`")]
    Mask(String),
    /// The number is larger than that of any machine's CPUs.
    #[error("expected CPUs below {CPUS_MAX}, found {0}")]
    TooLarge(u64),
}

impl CpuSet {
    /// Reads a mask: hexadecimal words of 32 bits, the highest first.
    ///
    /// # Errors
    /// [`CpuSetError`] says which word is none.
    pub fn from_mask(text: &str) -> Result<CpuSet, CpuSetError> {
        let mut cpus = BTreeSet::new();
        for (place, word) in text.trim().rsplit(',').enumerate() {
            let digits = word.trim().trim_start_matches("0x");
            let wrong = || CpuSetError::Mask(word.to_owned());
            if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(wrong());
            }
            let bits = u32::from_str_radix(digits, 16).map_err(|_| wrong())?;
            for bit in (0..32).filter(|bit| bits >> bit & 1 == 1) {
                let cpu = place as u64 * 32 + bit;
                match u32::try_from(cpu) {
                    Ok(cpu) if cpu < CPUS_MAX => cpus.insert(cpu),
                    _ => return Err(CpuSetError::TooLarge(cpu)),
                };
            }
        }
        Ok(CpuSet(cpus))
    }

    /// The mask as the kernel reads it: words of eight digits, the first without leading zeros.
    pub fn mask(&self) -> String {
        let words = self.0.last().map_or(1, |last| last / 32 + 1);
        let word =
            |place: u32| self.0.range(place * 32..(place + 1) * 32).fold(0u32, |bits, cpu| bits | 1 << (cpu % 32));
        let rest = (0..words - 1).rev().map(|place| format!(",{:08x}", word(place)));
        format!("{:x}", word(words - 1)) + &rest.collect::<String>()
    }

    /// No CPU is in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of CPUs in the set.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True when `cpu` is one of them.
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }

    /// Iterator over the CPUs in ascending order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// Difference of sets: CPUs of this set that are not in `others`.
    pub fn without(&self, others: &CpuSet) -> CpuSet {
        CpuSet(self.0.difference(&others.0).copied().collect())
    }

    /// Intersection of sets: CPUs of this set that are also in `others`.
    pub fn within(&self, others: &CpuSet) -> CpuSet {
        CpuSet(self.0.intersection(&others.0).copied().collect())
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<T: IntoIterator<Item = u32>>(cpus: T) -> CpuSet {
        CpuSet(cpus.into_iter().collect())
    }
}

impl FromStr for CpuSet {
    type Err = CpuSetError;

    /// Reads a list. Empty text is the empty set, as in `/sys/devices/system/cpu/isolated`.
    fn from_str(text: &str) -> Result<CpuSet, CpuSetError> {
        let mut cpus = BTreeSet::new();
        for part in text.trim().split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let number = |text: &str| match text.parse::<u64>() {
                Ok(number) if number < u64::from(CPUS_MAX) => Ok(number as u32),
                Ok(number) => Err(CpuSetError::TooLarge(number)),
                Err(_) => Err(CpuSetError::List(part.to_owned())),
            };
            let (first, last) = match part.split_once('-') {
                None => (number(part)?, number(part)?),
                Some((first, last)) => (number(first)?, number(last)?),
            };
            if first > last {
                return Err(CpuSetError::List(part.to_owned()));
            }
            cpus.extend(first..=last);
        }
        Ok(CpuSet(cpus))
    }
}

impl fmt::Display for CpuSet {
    /// As the kernel prints a list: ranges of two and more with a hyphen.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().peekable();
        let mut comma = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while let Some(next) = cpus.next_if_eq(&(last + 1)) {
                last = next;
            }
            match last {
                last if last == first => write!(f, "{comma}{first}")?,
                last => write!(f, "{comma}{first}-{last}")?,
            }
            comma = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn list(text: &str) -> Result<CpuSet, CpuSetError> {
        text.parse()
    }

    #[test]
    fn lists_read_as_the_kernel_prints_them() {
        assert_eq!(list("0-3,8\n").map(|cpus| cpus.to_string()), Ok("0-3,8".to_owned()));
        assert_eq!(list("1,0").map(|cpus| cpus.to_string()), Ok("0-1".to_owned()));
        assert_eq!(list("\n"), Ok(CpuSet::default()));
        for wrong in ["a", "3-1", "1-", "-1", "0-1-2"] {
            assert_eq!(list(wrong), Err(CpuSetError::List(wrong.to_owned())), "{wrong}");
        }
        assert_eq!(list("0-4000000000"), Err(CpuSetError::TooLarge(4_000_000_000)));
    }

    #[test]
    fn masks_have_words_of_32_cpus() {
        let cpus = CpuSet::from_mask("f,00000001\n").expect("a mask");
        assert_eq!(cpus.to_string(), "0,32-35");
        assert_eq!(cpus.mask(), "f,00000001");
        assert_eq!(CpuSet::default().mask(), "0");
        for wrong in ["", "g", "123456789", "1,,1", "+1"] {
            assert!(CpuSet::from_mask(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn a_list_and_a_mask_come_back_as_they_went(cpus in proptest::collection::btree_set(0..CPUS_MAX, 0..40)) {
            let set: CpuSet = cpus.into_iter().collect();
            prop_assert_eq!(set.to_string().parse(), Ok(set.clone()));
            prop_assert_eq!(CpuSet::from_mask(&set.mask()), Ok(set));
        }

        #[test]
        fn no_text_makes_reading_panic(text in "[-0-9a-fx,\n ]{0,40}") {
            let _ = list(&text);
            let _ = CpuSet::from_mask(&text);
        }
    }
}
