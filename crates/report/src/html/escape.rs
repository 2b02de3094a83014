//! Data of a page inside its own script.

/// JSON that is safe inside a `script` element, where `</script>` and `<!--` would end or change it.
pub fn json_in_script(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_in_a_script_cannot_end_it_and_reads_back_the_same() {
        let text = "</script><!-- & ]]>";
        let json = json_in_script(&serde_json::to_string(text).expect("text is JSON"));
        assert!(!json.contains(['<', '>', '&']));
        assert_eq!(serde_json::from_str::<String>(&json).expect("it is JSON"), text);
    }
}
