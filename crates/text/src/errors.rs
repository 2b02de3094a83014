//! Texts of errors of the operating system.

/// Leaves out the number that the standard library adds to what the kernel said.
pub fn without_error_numbers(text: &str) -> String {
    let mut parts = text.split(" (os error ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |before, part| before + part.split_once(')').map_or("", |(_, after)| after))
}

#[cfg(test)]
mod tests {
    use super::without_error_numbers;

    #[test]
    fn the_number_of_an_error_is_left_out() {
        let text = without_error_numbers("cannot read x: No such file or directory (os error 2), twice (os error 13)");
        assert_eq!(text, "cannot read x: No such file or directory, twice");
    }
}
