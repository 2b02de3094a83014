use super::*;
use crate::results_file::{parse, to_json};

fn roles() -> Roles {
    let name = |text: &str| Some(text.to_owned());
    Roles {
        factors: vec!["Engine".to_owned(), "DLL".to_owned()],
        random: Vec::new(),
        workloads: vec!["Demo N".to_owned()],
        machine: name("CPU"),
        repeat: None,
        value: name("Duration, msec"),
        frames: name("Frames"),
        ignored: Vec::new(),
    }
}

const HEADER: &str = "Engine;DLL;Demo N;CPU;Duration, msec;Frames\n";

fn imported(rows: &str) -> Result<Results, TableError> {
    let table = Table::read(format!("{HEADER}{rows}").as_bytes())?;
    import(&table, &roles(), &Reading { normalise_to: Some(1000.0), ..Reading::default() })
}

#[test]
fn a_table_made_for_people_becomes_cells() {
    let results = imported("old;old;1;i3;3000;500\n;;;i5;2000;500\nold;new;1;i3;2500;500\n;;2;i3;1250;250\n;;;;;;\n")
        .expect("the table is sound");
    assert_eq!(results.metric.unit, "second");
    assert_eq!(results.metric.name, "duration");
    assert_eq!(results.metric.direction, Direction::Lower);
    assert_eq!(results.metric.normalise, Some(Normalise { by: "frames".to_owned(), to: 1000.0 }));
    assert_eq!(results.factors[1].levels, ["old", "new"]);
    let cells: Vec<_> =
        results.cells.iter().map(|cell| (cell.levels.clone(), cell.workload, cell.machine, cell.value)).collect();
    let expected = [
        (vec![0, 0], 0, 0, Some(6.0)),
        (vec![0, 0], 0, 1, Some(4.0)),
        (vec![0, 1], 0, 0, Some(5.0)),
        (vec![0, 1], 1, 0, Some(5.0)),
    ];
    assert_eq!(cells, expected);
    assert_eq!(results.workloads[1].axes["Demo N"], "2");
    let text = to_json(&results).expect("numbers are finite");
    assert_eq!(parse(&text, "results.json".as_ref()).expect("it was just written"), results);
}

#[test]
fn rows_that_are_alike_are_repeats() {
    let results = imported("old;old;1;i3;3000;500\n;;;;3100;500\n;;;;3200;500\n").expect("the table is sound");
    assert_eq!(results.cells.iter().map(|cell| cell.repeat).collect::<Vec<_>>(), [0, 1, 2]);
    let keys: std::collections::BTreeSet<&str> = results.cells.iter().map(|cell| cell.key.as_str()).collect();
    assert_eq!(keys.len(), 3);
}

#[test]
fn a_row_without_a_value_is_a_cell_that_failed() {
    let results = imported("old;old;1;i3;;500\n").expect("the table is sound");
    assert_eq!(results.cells[0].value, None);
    assert!(matches!(results.cells[0].state, State::Failed { kind: FailureKind::Permanent, .. }));
}

#[test]
fn errors_have_line_and_column() {
    let error = |rows: &str| imported(rows).expect_err("the table is not sound").to_string();
    assert_eq!(error("old;old;1;i3;fast;500\n"), "line 2, column `Duration, msec`: expected a number, found `fast`");
    assert_eq!(
        error("old;old;1;i3;12;500\n;;;;-3;500\n"),
        "line 3, column `Duration, msec`: expected a number above 0, found `-3`"
    );
    assert_eq!(error("old;old;1;i3;12;0\n"), "line 2, column `Frames`: expected a number above 0, found `0`");
    assert_eq!(error("old;;1;i3;12;5\n"), "line 2, column `DLL`: expected a text here or above, found nothing");
    let table = Table::read(b"a,b\n1,2\n").expect("the table is sound");
    let wrong = |roles: Roles| import(&table, &roles, &Reading::default()).expect_err("a role is wrong").to_string();
    let factors = |name: &str| vec![name.to_owned()];
    assert_eq!(
        wrong(Roles { factors: factors("c"), ..Roles::default() }),
        "expected one of the columns `a`, `b`, found `c`"
    );
    assert_eq!(
        wrong(Roles { factors: factors("a"), value: Some("a".to_owned()), ..Roles::default() }),
        "expected one role for column `a`, found two"
    );
    assert_eq!(
        wrong(Roles { factors: factors("a"), ..Roles::default() }),
        "expected a column with the values, found none among `a`, `b`"
    );
    let repeats = Table::read(b"a,run,ms\nx,1,5\nx,1,6\ny,1,6\n").expect("the table is sound");
    let roles = Roles { repeat: Some("run".to_owned()), ..Roles::default() }.guess(&repeats);
    assert_eq!(
        import(&repeats, &roles, &Reading::default()).expect_err("a repeat comes twice").to_string(),
        "line 3, column `run`: expected each repeat once, found `1` again, as on line 2"
    );
}

#[test]
fn levels_that_are_numbers_are_a_sweep_in_their_order() {
    let table = Table::read(b"clients,ms\n16,5\n4,6\n8,7\n").expect("the table is sound");
    let factors = vec!["clients".to_owned()];
    let roles = Roles { factors, value: Some("ms".to_owned()), ..Roles::default() };
    let results = import(&table, &roles, &Reading::default()).expect("the table is sound");
    assert_eq!(results.factors[0].levels, ["4", "8", "16"]);
    assert_eq!(results.factors[0].numbers, Some(vec![4.0, 8.0, 16.0]));
    assert_eq!(results.cells[0].levels, [2]);
    assert_eq!(results.cells[0].value, Some(0.005));
}

#[test]
fn amounts_of_work_are_made_round() {
    assert_eq!(round_number(&[120_242.0, 124_700.0, 120_464.0]), 120_000.0);
    assert_eq!(round_number(&[7.0]), 7.0);
    assert_eq!(round_number(&[1e-300]), 1e-300);
}

#[test]
fn units_are_read_from_the_header() {
    let of = |name| Unit::of_header(name).map(|unit| (unit.name, unit.factor));
    assert_eq!(of("Duration, msec"), Some(("second".to_owned(), 1e-3)));
    assert_eq!(of("time (s)"), Some(("second".to_owned(), 1.0)));
    assert_eq!(of("wall_ns"), Some(("second".to_owned(), 1e-9)));
    assert_eq!(of("Frames"), None);
    assert_eq!(Unit::named("packets/s"), Unit { name: "packets/s".to_owned(), factor: 1.0 });
}
