use proptest::prelude::*;

use super::*;

const RULES: &str = r#"
[[datagram]]
port = 8303
size = "8..64"
prefix = "ff 0A"
fields = [
    { at = 4, type = "f32le", within = 0.5 },
    { at = 8, type = "i16be", within = 2, repeat = 2, stride = 4 },
    { at = 20, length = 2, mask = true, repeat = "end", stride = 4 },
]

[[datagram]]
fields = [{ at = 0, type = "u8", within = 1 }]
"#;

const GAME: Ports = Ports { local: Some(8303), peer: Some(40000) };

fn rules() -> Rules {
    Rules::parse(RULES).expect("the rules above are valid")
}

fn datagram() -> Vec<u8> {
    let mut bytes = vec![0; 32];
    bytes[0] = 0xff;
    bytes[1] = 0x0a;
    bytes[4..8].copy_from_slice(&10.0f32.to_le_bytes());
    bytes
}

#[test]
fn equal_outputs_are_identical_whatever_the_rules_say() {
    assert_eq!(rules().judge(GAME, &datagram(), &datagram()), OutputComparison::Identical);
}

#[test]
fn differences_within_every_limit_are_tolerant_and_named() {
    let mut replayed = datagram();
    replayed[4..8].copy_from_slice(&10.25f32.to_le_bytes());
    replayed[12..14].copy_from_slice(&(-2i16).to_be_bytes());
    replayed[25] = 7;
    let OutputComparison::Tolerant(tolerated) = rules().judge(GAME, &datagram(), &replayed) else {
        panic!("not tolerant")
    };
    assert_eq!(tolerated.rule, 0);
    let found: Vec<_> = tolerated.fields.iter().map(|f| (f.field, f.offset, f.difference)).collect();
    assert_eq!(found, [(0, 4, Some(0.25)), (1, 12, Some(2.0)), (2, 24, None)]);
}

#[test]
fn a_difference_beyond_its_limit_names_the_first_byte_and_the_field() {
    let mut replayed = datagram();
    replayed[8..10].copy_from_slice(&3i16.to_be_bytes());
    let OutputComparison::Different { offset, exceeded } = rules().judge(GAME, &datagram(), &replayed) else {
        panic!("tolerated")
    };
    assert_eq!(offset, 9);
    let exceeded = exceeded.expect("a field covers byte 9");
    assert_eq!((exceeded.field, exceeded.offset, exceeded.recorded, exceeded.replayed), (1, 8, 0.0, 3.0));
}

#[test]
fn a_byte_outside_every_field_is_compared_strictly() {
    let mut replayed = datagram();
    replayed[4..8].copy_from_slice(&10.25f32.to_le_bytes());
    replayed[18] = 1;
    assert_eq!(rules().judge(GAME, &datagram(), &replayed), OutputComparison::Different { offset: 18, exceeded: None });
}

#[test]
fn another_length_is_different_where_the_shorter_ends() {
    let recorded = datagram();
    assert_eq!(
        rules().judge(GAME, &recorded, &recorded[..30]),
        OutputComparison::Different { offset: 30, exceeded: None }
    );
}

#[test]
fn the_first_rule_that_fits_the_recorded_output_applies() {
    let elsewhere = Ports { local: Some(1), peer: None };
    let mut replayed = datagram();
    replayed[0] = 0xfe;
    let OutputComparison::Tolerant(tolerated) = rules().judge(elsewhere, &datagram(), &replayed) else {
        panic!("not tolerant")
    };
    assert_eq!(tolerated.rule, 1);
    assert_eq!(
        rules().judge(GAME, &datagram(), &replayed),
        OutputComparison::Different { offset: 0, exceeded: None },
        "rule 0 fits and does not excuse the prefix"
    );
}

#[test]
fn a_limit_for_moved_outputs_allows_more_only_there() {
    let text =
        "[[decoded]]\nfields = [{ field = \"turn\", within = 1, moved = 9.5 }, { field = \"flash\", moved = \"any\" }]";
    let rules = Rules::parse(text).expect("both keys are known");
    let [one, ten, other] = [1, 10, 12].map(prony_decoder::Value::Integer);
    assert!(rules.allows_moved(GAME, "turn", Some(&one), Some(&ten)));
    assert!(
        !rules.allows_moved(GAME, "turn", Some(&one), Some(&other))
            && !rules.allows_moved(GAME, "turn", None, Some(&one))
    );
    assert!(rules.allows_moved(GAME, "flash", Some(&one), None) && !rules.allows_moved(GAME, "else", Some(&one), None));
    assert!(matches!(rules.compare_field(GAME, "turn", Some(&one), Some(&ten)), FieldComparison::Beyond { .. }));
    assert!(matches!(rules.compare_field(GAME, "flash", Some(&one), Some(&ten)), FieldComparison::Beyond { .. }));
}

#[test]
fn every_mistake_names_its_line_and_column() {
    let cases = [
        ("", "line 1, column 1: expected at least one [[datagram]] or [[decoded]], found none"),
        ("datagram = []", "line 1, column 1: expected at least one [[datagram]] or [[decoded]], found none"),
        (
            "[[decoded]]\nfields = [{ field = \"a\" }]",
            "line 2, column 11: expected within, within_relative, ulps, moved or mask = true next to the field, found none",
        ),
        (
            "[[decoded]]\nfields = [{ field = \"a\", moved = \"some\" }]",
            "line 2, column 34: moved: expected a number from 0 or \"any\", found \"some\"",
        ),
        (
            "[[decoded]]\nfields = [{ field = \"a\", mask = true, within = 1 }]",
            "line 2, column 48: a mask allows any difference and has no limit",
        ),
        (
            "[[decoded]]\nfields = [{ field = \"\", within = 1 }]",
            "line 2, column 21: field: expected a name such as \"snapshot.player[*].x\", found none",
        ),
        (
            "[[decoded]]\nfields = [{ field = \"a\", within = -1 }]",
            "line 2, column 35: within: expected a number from 0, found -1",
        ),
        (
            "[[decoded]]\nfields = []",
            "line 1, column 1: expected at least one field, found none: such a rule has no effect",
        ),
        (
            "[[datagram]]\nfields = []",
            "line 1, column 1: expected at least one field, found none: such a rule has no effect",
        ),
        (
            "[[datagram]]\nfields = [{ at = 0, type = \"f31le\", within = 1 }]",
            "line 2, column 28: type: expected one of f32le f32be f64le f64be i8 u8 i16le i16be u16le u16be i32le i32be u32le u32be i64le i64be u64le u64be, found \"f31le\"",
        ),
        (
            "[[datagram]]\nfields = [{ at = 0, type = \"i8\", within = 0.5 }]",
            "line 2, column 43: within: expected a whole number from 0, found 0.5",
        ),
        (
            "[[datagram]]\nfields = [{ at = 0, type = \"i8\", ulps = 1 }]",
            "line 2, column 41: within_relative and ulps are for floats; integers take within",
        ),
        (
            "[[datagram]]\nfields = [{ at = 0, type = \"f32le\" }]",
            "line 2, column 28: expected within, within_relative or ulps next to the type, found no limit",
        ),
        (
            "[[datagram]]\nfields = [{ at = 0, type = \"f32le\", within = nan }]",
            "line 2, column 46: within: expected a number from 0, found nan",
        ),
        ("[[datagram]]\nfields = [{ at = 0 }]", "line 2, column 11: expected type or mask = true, found neither"),
        (
            "[[datagram]]\nfields = [{ at = 0, mask = true }]",
            "line 2, column 11: mask: expected its length in bytes, above 0",
        ),
        (
            "[[datagram]]\nfields = [{ at = 0, mask = true, length = 2, within = 1 }]",
            "line 2, column 55: a mask allows any difference and has no limit",
        ),
        (
            "[[datagram]]\nprefix = \"ff f\"\nfields = [{ at = 0, type = \"i8\", within = 1 }]",
            "line 2, column 10: prefix: expected pairs of hex digits such as \"ff 0a\", found \"ff f\"",
        ),
        (
            "[[datagram]]\nsize = \"9..3\"\nfields = [{ at = 0, type = \"i8\", within = 1 }]",
            "line 2, column 8: size: expected bytes such as 120 or \"100..1400\", found \"9..3\"",
        ),
        (
            "[[datagram]]\nfields = [{ at = 0, type = \"i32le\", within = 1, repeat = 0 }]",
            "line 2, column 58: repeat: expected a number above 0 or \"end\", found 0",
        ),
        (
            "[[datagram]]\nfields = [{ at = 0, type = \"i32le\", within = 1, repeat = 3, stride = 2 }]",
            "line 2, column 70: stride: expected at least the field's 4 bytes, found 2",
        ),
        (
            "[[datagram]]\nports = 1\nfields = []",
            "line 2, column 1: unknown field `ports`, expected one of `port`, `size`, `prefix`, `fields`",
        ),
    ];
    for (text, expected) in cases {
        let error = Rules::parse(text).expect_err(text);
        assert_eq!(error.to_string(), expected, "{text}");
    }
}

#[test]
fn drift_reports_which_field_grew_and_how_fast() {
    let rules = rules();
    let mut drift = Drift::new();
    drift.add_identical();
    for frame in 1..=100u64 {
        let mut replayed = datagram();
        replayed[4..8].copy_from_slice(&(10.0 + frame as f32 / 256.0).to_le_bytes());
        let OutputComparison::Tolerant(tolerated) = rules.judge(GAME, &datagram(), &replayed) else {
            panic!("not tolerant")
        };
        drift.add(frame, frame * 10, &tolerated);
    }
    let summary = drift.summary(&rules);
    assert_eq!((summary.outputs_judged, summary.outputs_differing, summary.fields_differing), (101, 100, 100));
    let [field] = &summary.fields[..] else { panic!("one field differed") };
    assert_eq!(field.name, "f32le at 4");
    assert_eq!((field.largest, field.largest_frame, field.largest_record), (100.0 / 256.0, 100, 1000));
    let growth = field.growth.as_ref().expect("not masked");
    assert_eq!((growth.frames, growth.first_frame, growth.last_frame), (100, 1, 100));
    assert_eq!((growth.first_tenth_median, growth.last_tenth_median), (5.5 / 256.0, 95.5 / 256.0));
    assert!((growth.slope_per_frame - 1.0 / 256.0).abs() < 1e-12 && growth.r_squared > 0.999);
}

#[test]
fn one_frame_alone_has_no_slope_and_no_nan() {
    let mut drift = Drift::new();
    let fields = vec![FieldDifference { field: 0, offset: 4, difference: Some(0.25) }];
    drift.add(3, 9, &Tolerated { rule: 0, fields });
    let summary = drift.summary(&rules());
    let growth = summary.fields[0].growth.as_ref().expect("not masked");
    assert_eq!((growth.slope_per_frame, growth.r_squared, growth.last_tenth_median), (0.0, 0.0, 0.25));
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC{0,200}") {
        let _ = Rules::parse(&text);
    }

    #[test]
    fn identical_exactly_when_equal_and_never_a_panic(
        at in 0usize..80, width in 1usize..9, repeat in 1usize..5, stride in 0usize..9,
        recorded in proptest::collection::vec(any::<u8>(), 0..64),
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        kind in prop::sample::select(NumberKind::ALL),
    ) {
        let text = format!(
            "[[datagram]]\nfields = [{{ at = {at}, length = {width}, mask = true, repeat = {repeat}, stride = {} }}, \
             {{ at = {at}, type = \"{}\", within = 1, repeat = \"end\" }}]",
            width + stride, kind.name());
        let rules = Rules::parse(&text).expect("generated rules are valid");
        let mut replayed = recorded.clone();
        for (place, value) in flips {
            if !replayed.is_empty() {
                let at = place.index(replayed.len());
                replayed[at] = value;
            }
        }
        match rules.judge(Ports::default(), &recorded, &replayed) {
            OutputComparison::Identical => prop_assert_eq!(recorded, replayed),
            OutputComparison::Tolerant(tolerated) => {
                prop_assert_ne!(&recorded, &replayed);
                prop_assert!(!tolerated.fields.is_empty());
            }
            OutputComparison::Different { offset, .. } => {
                prop_assert_ne!(recorded[offset], replayed[offset]);
                let masked = (0..repeat).any(|n| {
                    let start = at + n * (width + stride);
                    (start..start + width).contains(&offset) && start + width <= recorded.len()
                });
                prop_assert!(!masked);
            }
        }
    }
}
