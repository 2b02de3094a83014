//! A page as Chromium shows it.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::chromium::Chromium;

/// How a page is shown.
#[derive(Debug)]
pub struct Shot {
    /// Width of the window, in pixels.
    pub width: u32,
    /// Height of the window, of which all is in the picture.
    pub height: u32,
    /// Script that runs before.
    pub before: &'static str,
}

/// Shows a page and writes what is seen of it.
pub fn write_png(file: &Path, page: &str, shot: &Shot) {
    let dir = tempfile::tempdir().expect("a scratch directory");
    let html = dir.path().join("page.html");
    fs::write(&html, page).expect("a scratch directory takes it");
    let mut chromium = Chromium::start();
    let size = json!({"width": shot.width, "height": shot.height, "deviceScaleFactor": 1, "mobile": false});
    chromium.call("Emulation.setDeviceMetricsOverride", size);
    chromium.call("Emulation.setScrollbarsHidden", json!({"hidden": true}));
    chromium.open(&html);
    chromium.evaluate(shot.before);
    let frames = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))";
    chromium.call("Runtime.evaluate", json!({"expression": frames, "awaitPromise": true}));
    let answer = chromium.call("Page.captureScreenshot", json!({"format": "png"}));
    fs::write(file, base64(answer["data"].as_str().expect("a picture"))).expect("the checkout can be written");
}

/// Bytes of base 64 (RFC 4648, 4).
fn base64(text: &str) -> Vec<u8> {
    let value = |letter: u8| match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|letter| *letter != b'=').map(value).collect();
    let four = |digits: &[u8]| {
        let bits = digits.iter().fold(0u32, |bits, digit| bits << 6 | u32::from(*digit)) << (6 * (4 - digits.len()));
        bits.to_be_bytes()[1..digits.len()].to_vec()
    };
    digits.chunks(4).flat_map(four).collect()
}

#[test]
fn base_64_is_read_as_it_is_defined() {
    for (text, bytes) in [("Zm9vYmFy", "foobar"), ("Zm9vYg==", "foob"), ("Zm8=", "fo"), ("", "")] {
        assert_eq!(base64(text), bytes.as_bytes(), "{text}");
    }
}
