//! Colours that people with any kind of colour vision tell apart, on light and on dark.
//!
//! The hues of Okabe & Ito, "Color universal design" (2008), after a grey for what everything is compared with, moved by a search
//! until any two are 20 apart in L*a*b* with normal, protan, deutan and tritan vision, and each stands out from what is behind it
//! 3 : 1, as WCAG 2.2 requires of graphics (1.4.11); text has 4.5 : 1 (1.4.3). Colour is never
//! alone: marks have shapes, bars have an order, and everything has a label.

use std::fmt::Write;

/// Colour scheme of the page.
#[derive(Debug)]
pub struct Scheme {
    /// Background colour of the page, as `#rrggbb`.
    pub page: &'static str,
    /// Background of tables and charts.
    pub card: &'static str,
    /// Colour of text, as `#rrggbb`.
    pub ink: &'static str,
    /// Text that may be passed over.
    pub soft: &'static str,
    /// Lines of tables and grids.
    pub rule: &'static str,
    /// Links and what can be pressed.
    pub link: &'static str,
    /// Colour of improvements, as `#rrggbb`.
    pub good: &'static str,
    /// Colour of regressions and failures.
    pub bad: &'static str,
    /// Colour of warnings, as `#rrggbb`.
    pub warn: &'static str,
    /// Colours of the configurations, in their order, again from the first when there are more.
    pub series: [&'static str; SERIES],
    /// Boxes of a flame graph, which differ so that neighbours can be distinguished; text on them is `ink`.
    pub flame: [&'static str; 5],
}

/// Colours of flame graphs have this letter and a number.
const FLAME: char = 'f';

/// Configurations that differ in colour; after as many they differ in shape only.
pub const SERIES: usize = 8;

/// Colour scheme on a white background.
pub const LIGHT: Scheme = Scheme {
    page: "#fbfbfd",
    card: "#ffffff",
    ink: "#1b1b22",
    soft: "#5b5b6b",
    rule: "#dcdce4",
    link: "#0059a3",
    good: "#00694c",
    bad: "#a8380a",
    warn: "#855600",
    series: ["#6e6e78", "#0451bc", "#b88800", "#0b843e", "#9153a0", "#3c92f7", "#aa1803", "#262630"],
    flame: ["#f7c948", "#f4a640", "#ee8b3a", "#f9da7a", "#f0b95c"],
};

/// Colour scheme on near black.
pub const DARK: Scheme = Scheme {
    page: "#121217",
    card: "#1a1a21",
    ink: "#ececf2",
    soft: "#a9a9b8",
    rule: "#34343f",
    link: "#7cc4f5",
    good: "#3fcf9f",
    bad: "#ff8f5a",
    warn: "#efb43a",
    series: ["#9a9aa6", "#4383d7", "#ffad00", "#00c27b", "#ffd0ce", "#a6d5f7", "#e36c31", "#e6fca9"],
    flame: ["#7a5a0c", "#7d4a12", "#84401a", "#6b5a22", "#6f4d20"],
};

impl Scheme {
    /// Names of all colours with the colours.
    fn colours(&self) -> Vec<(String, &'static str)> {
        let named = [
            ("page", self.page),
            ("card", self.card),
            ("ink", self.ink),
            ("soft", self.soft),
            ("rule", self.rule),
            ("link", self.link),
            ("good", self.good),
            ("bad", self.bad),
            ("warn", self.warn),
        ];
        let named = named.into_iter().map(|(name, colour)| (name.to_owned(), colour));
        let numbered = |letter: char, colours: &[&'static str]| {
            let numbered = colours.iter().enumerate().map(|(place, &colour)| (format!("{letter}{place}"), colour));
            numbered.collect::<Vec<_>>()
        };
        named.chain(numbered('s', &self.series)).chain(numbered(FLAME, &self.flame)).collect()
    }

    /// CSS variables, without braces around them: all but those of flame graphs.
    pub fn variables(&self) -> String {
        self.declared(|name| !name.starts_with(FLAME))
    }

    /// CSS variables of flame graphs.
    pub fn flame_variables(&self) -> String {
        self.declared(|name| name.starts_with(FLAME))
    }

    fn declared(&self, is_wanted: impl Fn(&str) -> bool) -> String {
        let wanted = self.colours().into_iter().filter(|(name, _)| is_wanted(name));
        wanted.fold(String::new(), |mut css, (name, colour)| {
            let _ = write!(css, "--{name}:{colour};");
            css
        })
    }

    /// `css` with each `var(--name)` replaced by its colour: not everything that shows an SVG knows variables.
    pub fn applied(&self, css: &str) -> String {
        self.colours().iter().fold(css.to_owned(), |css, (name, colour)| css.replace(&format!("var(--{name})"), colour))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linear(colour: &str) -> [f64; 3] {
        [1, 3, 5].map(|at| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).expect("a hexadecimal colour")) / 255.0;
            // IEC 61966-2-1.
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        })
    }

    /// Contrast ratio of two colours, by WCAG 2.2.
    fn contrast(a: &str, b: &str) -> f64 {
        let luminance = |colour: &str| {
            let [r, g, b] = linear(colour);
            0.2126 * r + 0.7152 * g + 0.0722 * b
        };
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// CIE 1976 L*a*b*, white D65.
    fn lab([r, g, b]: [f64; 3]) -> [f64; 3] {
        let f = |t: f64| if t > 216.0 / 24389.0 { t.cbrt() } else { (24389.0 / 27.0 * t + 16.0) / 116.0 };
        let x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047);
        let y = f(0.2126 * r + 0.7152 * g + 0.0722 * b);
        let z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883);
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    /// Matrices for colours as dichromats see them: Machado, Oliveira & Fernandes 2009, severity 1.0.
    const VISIONS: [(&str, [[f64; 3]; 3]); 4] = [
        ("all cones", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        (
            "protanopia",
            [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        ),
        (
            "deuteranopia",
            [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
        ),
        (
            "tritanopia",
            [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
        ),
    ];

    #[test]
    fn text_and_marks_stand_out_from_what_is_behind_them() {
        for scheme in [&LIGHT, &DARK] {
            for behind in [scheme.page, scheme.card] {
                for text in [scheme.ink, scheme.soft, scheme.link, scheme.good, scheme.bad, scheme.warn] {
                    assert!(contrast(text, behind) >= 4.5, "{text} on {behind}: {}", contrast(text, behind));
                }
                for boxed in scheme.flame {
                    assert!(contrast(scheme.ink, boxed) >= 4.5, "{boxed}: {}", contrast(scheme.ink, boxed));
                }
                for mark in scheme.series {
                    assert!(contrast(mark, behind) >= 3.0, "{mark} on {behind}: {}", contrast(mark, behind));
                }
            }
        }
    }

    #[test]
    fn everybody_can_tell_the_series_apart() {
        for scheme in [&LIGHT, &DARK] {
            for (vision, matrix) in VISIONS {
                let seen = scheme.series.map(|colour| {
                    let [r, g, b] = linear(colour);
                    lab(matrix.map(|row| (row[0] * r + row[1] * g + row[2] * b).clamp(0.0, 1.0)))
                });
                for one in 0..SERIES {
                    for other in 0..one {
                        let distance = (0..3).map(|i| (seen[one][i] - seen[other][i]).powi(2)).sum::<f64>().sqrt();
                        let pair = (scheme.series[one], scheme.series[other]);
                        // 2.3 is just noticeable side by side (Mahy 1994); marks lie apart from each other.
                        assert!(distance >= 20.0, "{pair:?} with {vision}: {distance:.1}");
                    }
                }
            }
        }
    }
}
