//! Names in which paths are shortened.

use std::borrow::Cow;

/// A name without the directories of the absolute paths in it: of `handler:/usr/lib/python3.11/json/decoder.py` remains
/// `handler:decoder.py`, and of `[/usr/lib/libc.so.6]` `[libc.so.6]`. What only looks like a path, as `net/http.Get` or
/// `operator/`, stays.
pub fn without_directories(name: &str) -> Cow<'_, str> {
    if !name.contains('/') {
        return Cow::Borrowed(name);
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find('/') {
        let before = &rest[..at];
        let is_start = before.chars().next_back().map_or(out.is_empty(), |last| " :[(<@'\"".contains(last));
        let token = &rest[at..];
        let end =
            token.find(|letter: char| letter.is_whitespace() || ":])>'\"".contains(letter)).unwrap_or(token.len());
        let file = token[..end].rfind('/').map_or(0, |slash| slash + 1);
        let is_path = is_start
            && file < end
            && token[1..].starts_with(|first: char| first.is_alphanumeric() || "._-".contains(first));
        out.push_str(before);
        out.push_str(if is_path { &token[file..end] } else { &token[..end] });
        rest = &token[end..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::without_directories;

    #[test]
    fn directories_of_paths_are_left_out_and_nothing_else() {
        for (name, short) in [
            ("py::handler:/usr/lib/python3.11/json/decoder.py", "py::handler:decoder.py"),
            ("LazyCompile:~tick /home/me/app/server.js:12:3", "LazyCompile:~tick server.js:12:3"),
            ("[/usr/lib/x86_64-linux-gnu/libc.so.6]", "[libc.so.6]"),
            ("/usr/bin/server", "server"),
            ("<impl at /rustc/ab12/library/core/src/x.rs:3>", "<impl at x.rs:3>"),
            ("net/http.(*Client).Do", "net/http.(*Client).Do"),
            ("Lorg/game/Server;::tick", "Lorg/game/Server;::tick"),
            ("Vec::operator/(double)", "Vec::operator/(double)"),
            ("Vec::operator /=(double)", "Vec::operator /=(double)"),
            ("a / b", "a / b"),
            ("/", "/"),
            ("/etc/", "/etc/"),
            ("main", "main"),
        ] {
            assert_eq!(without_directories(name), short, "{name}");
        }
    }
}
