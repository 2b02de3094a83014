//! State directories in a demo are tar archives: names and contents may be rewritten, the numbers
//! of a header may not, and its checksum has to follow.

const BLOCK_BYTES: usize = 512;
/// Name, link name, user, group and prefix of a `ustar` header (POSIX pax, "ustar Interchange Format").
const TEXTS: [std::ops::Range<usize>; 5] = [0..100, 157..257, 265..297, 297..329, 345..500];
const SIZE: std::ops::Range<usize> = 124..136;
const CHECKSUM: std::ops::Range<usize> = 148..156;

/// Calls `text` with every name and content of the archive, then makes the checksums right again.
/// What does not look like a header ends the archive; from there on all bytes are text.
pub(super) fn each_text(archive: &mut [u8], mut text: impl FnMut(&mut [u8])) {
    let mut rest = archive;
    while rest.len() >= BLOCK_BYTES {
        let (header, after) = rest.split_at_mut(BLOCK_BYTES);
        if header.iter().all(|&byte| byte == 0) {
            rest = after;
            continue;
        }
        let Some(size) = octal(&header[SIZE]).filter(|_| octal(&header[CHECKSUM]) == Some(checksum(header))) else {
            text(header);
            rest = after;
            break;
        };
        for field in TEXTS {
            text(&mut header[field]);
        }
        let sum = checksum(header);
        header[CHECKSUM].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let length = usize::try_from(size).unwrap_or(usize::MAX).min(after.len());
        let (content, after) = after.split_at_mut(length);
        text(content);
        let padding = (length.next_multiple_of(BLOCK_BYTES) - length).min(after.len());
        rest = &mut after[padding..];
    }
    text(rest);
}

/// Digits, ended by a space or zero byte; GNU's base-256 form begins with a byte above 127.
fn octal(field: &[u8]) -> Option<u64> {
    if field[0] & 0x80 != 0 {
        return field[1..]
            .iter()
            .try_fold(u64::from(field[0] & 0x7f), |value, &byte| value.checked_mul(256)?.checked_add(byte.into()));
    }
    let digits = field.iter().skip_while(|&&byte| byte == b' ').take_while(|byte| byte.is_ascii_digit());
    digits
        .map(|&digit| u64::from(digit - b'0'))
        .try_fold(0u64, |value, digit| if digit < 8 { value.checked_mul(8)?.checked_add(digit) } else { None })
}

/// The sum of the header's bytes, its own checksum counted as spaces.
fn checksum(header: &[u8]) -> u64 {
    let spaces = CHECKSUM.len() as u64 * u64::from(b' ');
    let outside = header.iter().enumerate().filter(|(place, _)| !CHECKSUM.contains(place));
    spaces + outside.map(|(_, &byte)| u64::from(byte)).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str, content: &[u8]) -> Vec<u8> {
        let mut header = vec![0; BLOCK_BYTES];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[100..107].copy_from_slice(b"0000644");
        header[SIZE].copy_from_slice(format!("{:011o}\0", content.len()).as_bytes());
        header[257..263].copy_from_slice(b"ustar\0");
        let sum = checksum(&header);
        header[CHECKSUM].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let mut all = [&header, content].concat();
        all.resize(all.len().next_multiple_of(BLOCK_BYTES), 0);
        all
    }

    fn swap(text: &mut [u8]) {
        for at in 0..text.len().saturating_sub(2) {
            if &text[at..at + 3] == b"bob" || &text[at..at + 3] == b"064" {
                text[at..at + 3].copy_from_slice(b"tim");
            }
        }
    }

    #[test]
    fn names_and_contents_change_and_headers_stay_valid() {
        let mut archive = [member("bob.cfg", b"name bob 064"), member("x", &[b'b'; 600]), vec![0; 1024]].concat();
        let expected = [member("tim.cfg", b"name tim tim"), member("x", &[b'b'; 600]), vec![0; 1024]].concat();
        each_text(&mut archive, swap);
        assert!(archive == expected);
    }

    #[test]
    fn what_is_no_archive_is_text() {
        let mut bytes = [b"bob ".repeat(300), b"bob".to_vec()].concat();
        each_text(&mut bytes, swap);
        assert!(
            !bytes.windows(3).any(|three| three == b"bob"),
            "also across what would be blocks, but for their edges"
        );
    }

    #[test]
    fn sizes_may_be_octal_or_base_256() {
        assert_eq!(octal(b"00000000017\0"), Some(15));
        assert_eq!(octal(b"      17 "), Some(15));
        assert_eq!(octal(&[0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2]), Some(258));
        assert_eq!(octal(&[0xff; 12]), None);
        assert_eq!(octal(b"9"), None);
    }
}
