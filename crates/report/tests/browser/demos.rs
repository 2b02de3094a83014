//! Pages of a demo and of a bench.

use std::collections::BTreeMap;
use std::fs;

use prony_demo::timeline::{Calls, Lane, Moved, Timeline, Unit, UnitKind};
use prony_report::{
    Bench, Change, CommandPoint, CommandSeries, Commands, Comparison, Divergence, Grid, GridCell, GridRow, Replay,
    Several, Stored, Tone, Verdict, View,
};
use prony_stats::samples::{Benchmark, Circumstances, Measured, Run, Samples};
use prony_stats::{Interval, Metric};
use serde_json::json;

use super::chromium::Chromium;
use super::{Page, assert_legible, assert_quiet};

const EVIL: &str = "<script>window.bad=1</script><img src=x onerror=window.bad=2>\"'></title></svg>\u{202e}";
/// Frames of 20 ms with a long one in the middle.
const FRAMES: u64 = 300;

fn timeline(name: &str) -> Timeline {
    let unit = |at: u64| Unit { end_ns: (at + 1) * 20_000_000, busy_ns: 1_000_000 + at * 1_000, calls: 4 };
    let moved = |at: u64| Moved { datagrams_in: 1, bytes_in: 40 + at, datagrams_out: 2, bytes_out: 200 + at };
    let calls = |at: u64| {
        let call =
            |text: u32, record: u64| Calls { time_ns: at * 20_000_000, thread: text % 2, text, count: 1, record };
        vec![call(0, at * 4), call(1, at * 4 + 1), Calls { count: 2, ..call(2 + (at == 150) as u32, at * 4 + 2) }]
    };
    Timeline {
        kind: UnitKind::Frames(1),
        frames: FRAMES,
        units: (0..=FRAMES).map(unit).collect(),
        clients: vec![
            Lane {
                name: format!("10.0.0.1:27005{name}"),
                cells: (0..FRAMES).map(|at| (at as u32, moved(at))).collect(),
            },
            Lane { name: "10.0.0.2:27005".to_owned(), cells: vec![(40, moved(1)), (41, moved(2))] },
        ],
        clients_all: 2,
        more_clients: false,
        threads: vec![
            Lane { name: "thread 0".to_owned(), cells: (0..FRAMES).map(|at| (at as u32, 3)).collect() },
            Lane { name: "thread 1".to_owned(), cells: (0..FRAMES).map(|at| (at as u32, 1)).collect() },
        ],
        threads_all: 2,
        // Of the last hundred frames the page has no calls.
        calls: (0..200).map(|at| (at as u32, calls(at))).collect::<BTreeMap<_, _>>(),
        texts: vec![
            format!("recvfrom(3, 1400) = 12 in 12: 67 65{name}"),
            "clock_gettime()".to_owned(),
            "sendto(3, 100) = 100 out 100: 01 02".to_owned(),
            "sendto(3, 100) = 100 out 100: 0a 0b special".to_owned(),
        ],
        thread_names: vec!["thread 0".to_owned(), "thread 1".to_owned()],
    }
}

fn replay(name: &str) -> Replay {
    let divergence = Divergence {
        place: format!("record 602, frame 150, thread 0: sendto{name}"),
        detail: name.to_owned(),
        frame: 150,
        record: 602,
        byte: Some(4),
        window_from: 0,
        expected: (0..40).collect(),
        found: (0..40).map(|byte| if byte == 4 || byte == 20 { 0xff } else { byte }).collect(),
        expected_call: format!("#602 sendto{name}"),
        recent: vec![format!("#601{name}")],
        backtrace: vec![format!("main{name}")],
        causes: vec![name.to_owned()],
    };
    Replay {
        verdict: Some(Verdict { tone: Tone::Bad, claim: format!("Diverged{name}"), basis: "2 outputs".to_owned() }),
        notes: vec![name.to_owned()],
        frame_ms: (0..3 * FRAMES).map(|at| if at % FRAMES == 77 { 9.0 } else { 0.01 + at as f64 * 1e-6 }).collect(),
        frames_in_each: 1,
        wall_s: vec![0.2, 0.21, 0.19],
        machine: json!({"cpu": {"model": format!("cpu{name}")}}),
        divergence: Some(divergence),
    }
}

fn page(html: String) -> Page {
    let dir = tempfile::tempdir().expect("a scratch directory");
    let path = dir.path().join("page.html");
    fs::write(&path, html).expect("a scratch directory takes it");
    Page { path, _dir: dir }
}

fn view(timeline: &Timeline, replay: Option<Replay>, name: &str) -> Page {
    let facts = vec![("command", format!("./server{name}")), ("machine", "x86_64".to_owned())];
    page(View { title: &format!("match.demo{name}"), facts, timeline, replay, version: "1.2.3" }.page())
}

/// A page fits at this width, and nothing in it complains or loads.
fn assert_fits(chromium: &mut Chromium, page: &Page) {
    for width in [1280, 390] {
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 700});
        chromium.call("Emulation.setDeviceMetricsOverride", size);
        let wide = chromium.evaluate("document.scrollingElement.scrollWidth");
        assert!(wide.as_u64() <= Some(width), "{wide} of {width}");
    }
    assert_legible(chromium);
    assert_quiet(chromium, page);
}

fn text(chromium: &mut Chromium, id: &str) -> String {
    let text = chromium.evaluate(&format!("document.getElementById('{id}').textContent"));
    text.as_str().unwrap_or_default().to_owned()
}

#[test]
fn every_page_of_a_demo_opens_without_a_complaint_and_without_a_request() {
    let mut chromium = Chromium::start();
    let empty = Timeline {
        kind: UnitKind::Slices(1),
        frames: 0,
        units: vec![Unit { end_ns: 1, ..Unit::default() }],
        clients: Vec::new(),
        clients_all: 0,
        threads: Vec::new(),
        threads_all: 0,
        calls: BTreeMap::new(),
        texts: Vec::new(),
        thread_names: Vec::new(),
        more_clients: false,
    };
    for page in [
        view(&timeline(""), None, ""),
        view(&timeline(""), Some(replay("")), ""),
        view(&timeline(""), Some(Replay::default()), ""),
        view(&empty, None, ""),
    ] {
        chromium.open(&page.path);
        assert_fits(&mut chromium, &page);
    }
}

#[test]
fn a_frame_is_chosen_zoomed_and_opened_by_keys() {
    let page = view(&timeline(""), None, "");
    let mut chromium = Chromium::start();
    chromium.open(&page.path);
    chromium.evaluate("document.getElementById('lanes').focus()");
    let said = text(&mut chromium, "said");
    assert!(
        said.starts_with(
            "frame 0 · at 0.000000 s · recorded 20.0 ms, of which work 1.00 ms · 4 calls · in 1 × 40 B · out 2 × 200 B"
        ),
        "{said}"
    );
    for _ in 0..3 {
        chromium.press("ArrowRight");
    }
    assert!(text(&mut chromium, "said").starts_with("frame 3 ·"));
    let range =
        "[document.getElementById('lanes').dataset.from, document.getElementById('lanes').dataset.to].map(Number)";
    let frame = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))";
    let after = |chromium: &mut Chromium, key: &str| {
        chromium.press(key);
        chromium.call("Runtime.evaluate", json!({"expression": frame, "awaitPromise": true}));
        chromium.evaluate(range)
    };
    assert_eq!(chromium.evaluate(range), json!([0, 6_020_000]));
    let zoomed = after(&mut chromium, "+");
    assert_eq!(zoomed[1].as_u64().zip(zoomed[0].as_u64()).map(|(to, from)| to - from), Some(3_010_000), "{zoomed}");
    assert_eq!(after(&mut chromium, "Home"), json!([0, 6_020_000]));
    // The slowest while recording is the last whole frame or what is behind it; from there the next slower one.
    chromium.press("Enter");
    let rows = "[...document.querySelectorAll('#calls tr')].map(row => row.textContent)";
    let calls = chromium.evaluate(rows);
    assert_eq!(calls.as_array().map(Vec::len), Some(3), "{calls}");
    assert!(calls[2].as_str().is_some_and(|row| row.contains("sendto(3, 100)") && row.ends_with("× 2")), "{calls}");
    chromium.evaluate("document.querySelector('button[data-unit=\"299\"]').click()");
    let about = text(&mut chromium, "about");
    assert!(about.contains("`prony demo dump DEMO --frames 299..300`"), "{about}");
    assert_quiet(&chromium, &page);
}

#[test]
fn a_run_of_equal_calls_is_one_line_until_it_is_opened() {
    let mut timeline = timeline("");
    // Frame 5 receives 1,540 datagrams, each with other bytes, between a clock and an answer.
    let texts = timeline.texts.len() as u32;
    timeline.texts.extend((0..1_540).map(|at| format!("recv(3, 1400) = 12 in 12: {at:04x}")));
    let call = |text: u32, record: u64| Calls { time_ns: 100_000_000, thread: 0, text, count: 1, record };
    let calls = (0..1_540).map(|at| call(texts + at, 1_000 + u64::from(at)));
    timeline.calls.insert(5, [call(1, 999)].into_iter().chain(calls).chain([call(2, 3_000)]).collect());
    let page = view(&timeline, None, "");
    let mut chromium = Chromium::start();
    chromium.open(&page.path);
    chromium.evaluate("document.getElementById('lanes').focus()");
    for _ in 0..5 {
        chromium.press("ArrowRight");
    }
    chromium.press("Enter");
    let rows = "[...document.querySelectorAll('#calls tr')].map(row => row.cells[2].textContent)";
    assert_eq!(
        chromium.evaluate(rows),
        json!(["clock_gettime()", "recv × 1,540", "sendto(3, 100) = 100 out 100: 01 02"])
    );
    chromium.evaluate("document.querySelector('#calls button').click()");
    let opened = chromium.evaluate(rows);
    let opened = opened.as_array().expect("a list");
    assert_eq!(opened.len(), 3 + 1_540);
    assert_eq!(
        (&opened[2], &opened[1_541]),
        (&json!("recv(3, 1400) = 12 in 12: 0000"), &json!("recv(3, 1400) = 12 in 12: 0603")),
        "in their order"
    );
    assert_quiet(&chromium, &page);
}

#[test]
fn the_rows_of_the_time_line_are_low_and_each_name_is_written_once() {
    let page = view(&timeline(""), Some(replay("")), "");
    let mut chromium = Chromium::start();
    // Texts that are drawn on the canvas.
    let spy = "const fill = CanvasRenderingContext2D.prototype.fillText; window.written = []; \
               CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) { window.written.push(text); return fill.call(this, text, ...rest); };";
    chromium.call("Page.addScriptToEvaluateOnNewDocument", json!({"source": spy}));
    chromium.open(&page.path);
    let size = json!({"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": false});
    chromium.call("Emulation.setDeviceMetricsOverride", size);
    chromium.evaluate("window.written = []");
    chromium.evaluate("dispatchEvent(new Event('resize'))");
    let frames = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))";
    chromium.call("Runtime.evaluate", json!({"expression": frames, "awaitPromise": true}));
    let written = chromium.evaluate("window.written");
    let written: Vec<&str> = written.as_array().expect("a list").iter().filter_map(|text| text.as_str()).collect();
    for name in ["10.0.0.1:27005", "10.0.0.2:27005", "thread 0", "thread 1", "replay", "recorded"] {
        assert_eq!(written.iter().filter(|text| **text == name).count(), 1, "{name}: {written:?}");
    }
    for words in ["bytes: ↑ out, ↓ in", "calls of each thread"] {
        assert_eq!(written.iter().filter(|text| **text == words).count(), 1, "{words}: {written:?}");
    }
    // Two lanes of frames, two clients, two threads, four headings and the axis: before, 370.
    let high = chromium.evaluate("document.getElementById('lanes').clientHeight");
    assert!(high.as_u64() <= Some(260), "{high}");
    assert_quiet(&chromium, &page);
}

#[test]
fn a_search_finds_frames_by_number_time_call_and_client() {
    let page = view(&timeline(""), Some(replay("")), "");
    let mut chromium = Chromium::start();
    chromium.open(&page.path);
    let mut search = |words: &str| {
        chromium.evaluate(&format!(
            "(() => {{ const s = document.getElementById('search'); s.value = '{words}'; s.oninput(); }})()"
        ));
        text(&mut chromium, "found")
    };
    assert_eq!(search("77"), "frame 77");
    assert_eq!(search("frame 9,999"), "there are 300");
    assert_eq!(search("1.5 s"), "frame 75");
    assert_eq!(search("special"), "1 frame; calls of 200 of 301 are on this page");
    assert_eq!(search("10.0.0.2"), "2 frames; calls of 200 of 301 are on this page");
    assert_eq!(search("nothing like it"), "0 frames; calls of 200 of 301 are on this page");
    assert_eq!(search("special"), "1 frame; calls of 200 of 301 are on this page");
    chromium.evaluate("document.getElementById('search').focus()");
    chromium.press("Enter");
    assert_eq!(text(&mut chromium, "which"), "Frame 150");
    assert_eq!(chromium.evaluate("document.querySelectorAll('#calls tr.hit, #calls tr.diverged').length"), json!(1));
    assert_quiet(&chromium, &page);
}

#[test]
fn a_divergence_shows_both_sides_and_its_frame() {
    let page = view(&timeline(""), Some(replay("")), "");
    let mut chromium = Chromium::start();
    chromium.open(&page.path);
    let marked = chromium.evaluate("[...document.querySelectorAll('.sides b')].map(byte => byte.textContent)");
    assert_eq!(marked, json!(["04", "ff", "14", "ff"]));
    assert_eq!(text(&mut chromium, "which"), "Frame 150");
    let row = chromium.evaluate("document.querySelector('#calls tr.diverged').textContent");
    assert!(row.as_str().is_some_and(|row| row.contains("special")), "{row}");
    // Both sides are seen beside each other on a phone.
    chromium.call(
        "Emulation.setDeviceMetricsOverride",
        json!({"width": 390, "height": 900, "deviceScaleFactor": 1, "mobile": true}),
    );
    let right = chromium.evaluate("document.querySelector('.sides').getBoundingClientRect().right");
    assert!(right.as_f64() <= Some(390.0), "{right}");
    assert_quiet(&chromium, &page);
}

#[test]
fn the_time_line_follows_light_and_dark() {
    let page = view(&timeline(""), None, "");
    let mut chromium = Chromium::start();
    chromium.open(&page.path);
    let picture = "document.getElementById('lanes').toDataURL()";
    let turn = |chromium: &mut Chromium| {
        chromium.evaluate("document.getElementById('theme').click()");
        let frame = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))";
        chromium.call("Runtime.evaluate", json!({"expression": frame, "awaitPromise": true}));
        chromium.evaluate(picture)
    };
    let light = chromium.evaluate(picture);
    assert_ne!(turn(&mut chromium), light);
    assert_eq!(turn(&mut chromium), light);
    assert_quiet(&chromium, &page);
}

#[test]
fn a_demo_of_a_stranger_is_shown_and_does_nothing() {
    let page = view(&timeline(EVIL), Some(replay(EVIL)), EVIL);
    let html = fs::read_to_string(&page.path).expect("it was written");
    assert!(!html.contains('\u{202e}'), "what turns the direction of the text is escaped");
    let mut chromium = Chromium::start();
    chromium.open(&page.path);
    chromium.evaluate("document.querySelector('button[data-unit]').click()");
    chromium.evaluate("(() => { const s = document.getElementById('search'); s.value = '<script'; s.oninput(); })()");
    chromium.evaluate("document.getElementById('search').focus()");
    chromium.press("Enter");
    assert!(text(&mut chromium, "calls").contains("<script>"));
    assert_eq!(chromium.evaluate("typeof window.bad"), json!("undefined"));
    assert_eq!(chromium.evaluate("document.images.length"), json!(0));
    assert_eq!(chromium.evaluate("document.scripts.length"), json!(2));
    assert_fits(&mut chromium, &page);
}

fn samples(name: &str, commands: usize) -> Samples {
    let run = |at: u64, time: f64| {
        let measured = Measured {
            pair: Some(at),
            wall_s: Some(time * 1.1),
            cpu_s: Some(time),
            wait_s: Some(time * 0.1),
            peak_rss_bytes: Some(12_000_000),
            ..Measured::default()
        };
        Run { measured: Some(Box::new(measured)), ..Run::of(time * 1.1) }
    };
    let benchmark = |which: usize| {
        let time = |at: u64| 0.02 * (1.0 + 0.03 * which as f64) * (1.0 + (at * 7919 % 100) as f64 / 2_000.0);
        let runs = (0..60).map(|at| run(at, if at == 30 { 0.4 } else { time(at) })).collect();
        Benchmark { runs, ..Benchmark::new(&format!("./server-{which} --fast{name}")) }
    };
    let circumstances = Circumstances {
        prony_version: "1.2.3".to_owned(),
        machine: json!({"cpu": {"model": format!("EPYC{name}"), "cores": 2}, "kernel": {"release": "6.1"}}),
        pairs_done_s: (1..=60).map(|at| at as f64 * 0.05).collect(),
        warnings: vec![format!("one run of `x` failed{name}")],
        ..Circumstances::default()
    };
    Samples { benchmarks: (0..commands).map(benchmark).collect(), circumstances: Some(circumstances) }
}

fn bench(samples: &Samples, name: &str) -> Page {
    let interval = Interval { estimate: 0.03, low: 0.024, high: 0.035, confidence: 0.95, n: 60 };
    let comparison = |b: usize| Comparison {
        letters: ["A", "B"].map(str::to_owned),
        a: 0,
        b,
        verdict: Verdict {
            tone: Tone::Bad,
            claim: format!("B is slower: +3.0 % [+2.4, +3.5] CPU time{name}"),
            basis: "60 pairs".to_owned(),
        },
        changes: vec![
            Change { name: format!("CPU{name}"), interval, is_judged: true },
            Change { name: "wall".to_owned(), interval: Interval { low: -0.01, ..interval }, is_judged: false },
        ],
        metric: Some(Metric::Cpu),
        interval,
    };
    let comparisons = (1..samples.benchmarks.len()).map(comparison).collect();
    page(Bench { samples, several: None, comparisons, tables: Vec::new(), margin: 0.01, version: "1.2.3" }.page())
}

#[test]
fn a_bench_of_any_number_of_commands_opens_without_a_complaint_and_without_a_request() {
    let mut chromium = Chromium::start();
    for commands in [1, 2, 3, 40] {
        let samples = samples("", commands);
        let page = bench(&samples, "");
        chromium.open(&page.path);
        assert_fits(&mut chromium, &page);
        let charts = chromium.evaluate("document.querySelectorAll('.two svg').length");
        // Distribution and values; with several commands, changes and pairs too.
        let expected = if commands == 1 { 2 } else { 3 + (commands - 1).min(6) };
        assert_eq!(charts, json!(expected), "{commands}");
    }
}

#[test]
fn builds_on_a_demo_show_each_frame_as_a_ratio_instead_of_two_clouds() {
    let mut samples = samples("", 2);
    for (which, benchmark) in samples.benchmarks.iter_mut().enumerate() {
        for run in &mut benchmark.runs {
            let measured = run.measured.as_mut().expect("it is measured");
            // B takes half as long in the first half of the frames and twice as long in the second.
            let time = |frame: u64| match (which, frame < 2_000) {
                (0, _) => 100_000 + frame,
                (_, true) => (100_000 + frame) / 2,
                (_, false) => (100_000 + frame) * 2,
            };
            measured.frame_ns = (0..4_000).map(time).collect();
        }
    }
    let page = bench(&samples, "");
    let mut chromium = Chromium::start();
    chromium.open(&page.path);
    let titles = "[...document.querySelectorAll('.two h3')].map(title => title.firstChild.textContent.trim())";
    let titles = chromium.evaluate(titles);
    assert_eq!(titles, json!(["Change", "Distribution", "Pairs in the order of time", "Each frame"]));
    let labels = "[...document.querySelectorAll('.two .card')][3].querySelectorAll('text')";
    let labels = chromium.evaluate(&format!("[...{labels}].map(text => text.textContent)"));
    assert_eq!(labels, json!(["×0.5", "×0.7", "×1", "×1.5", "×2", "0", "1,000", "2,000", "3,000", "4,000", "frame"]));
    assert_legible(&mut chromium);
    assert_quiet(&chromium, &page);
}

/// A scan of these values, and of a second series.
fn scan(samples: &Samples, name: &str, values: &[f64]) -> Page {
    let point = |at: f64| CommandPoint { at, value: 0.02 * at, interval: (0.019 * at, 0.021 * at) };
    let series = |of: &str| CommandSeries {
        name: format!("sort {of}{name}"),
        points: values.iter().map(|&at| point(at)).collect(),
    };
    let row = |at: usize| {
        let texts = ["A", &format!("sort n={at}{name}"), "20.1 ms [20.0, 20.2]", "1,234", "1.52 [1.49, 1.55]"];
        let cells = texts.into_iter().map(GridCell::plain).chain([GridCell::answer("slower", Tone::Plain)]);
        GridRow { cells: cells.collect() }
    };
    let several = Several {
        title: format!("sort along n{name}"),
        verdict: Verdict { tone: Tone::Good, claim: format!("A{name} is the fastest"), basis: String::new() },
        table: Grid {
            title: "Ranking".to_owned(),
            head: ["", "command", "CPU time [95 %]", "n", "against the fastest [95 %]", "verdict"]
                .map(str::to_owned)
                .to_vec(),
            names: 2,
            rows: (0..values.len()).map(row).collect(),
            basis: format!("12 rounds{name}"),
            ..Grid::default()
        },
        chart: Commands {
            title: format!("sort along n{name}"),
            metric: "CPU time".to_owned(),
            unit: "second".to_owned(),
            parameter: Some(format!("n{name}")),
            series: vec![series("big"), series("small")],
        },
        metric: Some(Metric::Cpu),
    };
    page(
        Bench {
            samples,
            several: Some(several),
            comparisons: Vec::new(),
            tables: Vec::new(),
            margin: 0.01,
            version: "1.2.3",
        }
        .page(),
    )
}

#[test]
fn a_scan_begins_with_its_ranking_and_its_plot() {
    let mut chromium = Chromium::start();
    for name in ["", EVIL] {
        let samples = samples(name, 3);
        let page = scan(&samples, name, &[1.0, 2.0, 4.0, 8.0, 16.0]);
        chromium.open(&page.path);
        let order = "[...document.querySelectorAll('main h2, main h3')].map(title => title.firstChild.textContent.trim().split(/[ <]/)[0])";
        let order = chromium.evaluate(order);
        assert_eq!(
            order.as_array().map(|order| order[..3].to_vec()),
            json!(["Ranking", "CPU", "Distribution"]).as_array().cloned()
        );
        assert_eq!(chromium.evaluate("typeof window.bad"), json!("undefined"));
        assert_fits(&mut chromium, &page);
        // At 390 px each row is a paragraph, and the plot is the one with letters of that width.
        let seen = "[...document.querySelectorAll('.broad svg, .narrow svg')].map(svg => svg.getBoundingClientRect().width > 0)";
        assert_eq!(chromium.evaluate(seen), json!([false, true]));
        assert_eq!(chromium.evaluate("getComputedStyle(document.querySelector('.grid td')).display"), json!("block"));
    }
}

#[test]
fn stored_samples_of_several_files_fit_into_any_page() {
    let mut chromium = Chromium::start();
    for name in ["", EVIL] {
        let samples = samples(name, 3);
        let interval = Interval { estimate: 0.03, low: 0.024, high: 0.035, confidence: 0.95, n: 60 };
        let changes =
            || (0..3).map(|at| Change { name: format!("benchmark {at}{name}"), interval, is_judged: true }).collect();
        let cells = || {
            let cell = GridCell::answer("20.1 ms, +3.0 % [+2.4, +3.5], slower", Tone::Bad);
            [GridCell::plain(format!("benchmark{name}")), GridCell::plain("19.5 ms, n = 60"), cell.clone(), cell]
                .to_vec()
        };
        let facts = json!({"cpu": {"model": format!("EPYC{name}")}});
        let stored = Stored {
            title: format!("old.json → new.json{name}"),
            below: "3 benchmarks of 3 files".to_owned(),
            verdict: Verdict { tone: Tone::Bad, claim: format!("3 slower{name}"), basis: name.to_owned() },
            notes: vec![format!("the machine differs{name}")],
            tables: vec![Grid {
                title: format!("Benchmarks{name}"),
                head: ["benchmark", "old.json", "new.json", "newer.json"].map(|head| format!("{head}{name}")).to_vec(),
                names: 1,
                rows: (0..3).map(|_| GridRow { cells: cells() }).collect(),
                ..Grid::default()
            }],
            changes: vec![(format!("new.json{name}"), changes()), ("newer.json".to_owned(), changes())],
            values: vec![(format!("b{name}"), samples.benchmarks.iter().map(|one| (one.name.clone(), one)).collect())],
            machines: vec![(format!("old.json{name}"), &facts)],
            margin: 0.01,
            each: "benchmark",
            version: "1.2.3",
        };
        let page = page(stored.page());
        chromium.open(&page.path);
        assert_eq!(chromium.evaluate("typeof window.bad"), json!("undefined"));
        assert_eq!(chromium.evaluate("document.querySelectorAll('.two svg').length"), json!(3));
        assert_fits(&mut chromium, &page);
    }
}

#[test]
fn commands_of_different_sizes_have_a_relative_scale_in_common() {
    let mut samples = samples("", 2);
    let text = "[...document.querySelectorAll('.two svg')].map(svg => svg.textContent).join()";
    let mut chromium = Chromium::start();
    for (factor, is_relative) in [(1.0, false), (10.0, true)] {
        for value in samples.benchmarks[1].runs.iter_mut().flat_map(|run| &mut run.values) {
            *value *= factor;
        }
        for run in &mut samples.benchmarks[1].runs {
            run.measured = None;
        }
        let page = page(
            Bench {
                samples: &samples,
                several: None,
                comparisons: Vec::new(),
                tables: Vec::new(),
                margin: 0.01,
                version: "1",
            }
            .page(),
        );
        chromium.open(&page.path);
        let text = chromium.evaluate(text);
        assert_eq!(text.as_str().map(|text| text.contains("from the median")), Some(is_relative), "{text}");
    }
}

#[test]
fn pairs_of_a_bench_say_what_they_are_to_the_keyboard() {
    let samples = samples("", 2);
    let page = bench(&samples, "");
    let mut chromium = Chromium::start();
    chromium.open(&page.path);
    chromium.evaluate("document.querySelectorAll('.two svg')[2].focus()");
    // The interval, then the pairs in their order.
    chromium.press("ArrowRight");
    chromium.press("ArrowRight");
    let said = text(&mut chromium, "tip");
    assert!(said.starts_with("+3.0"), "{said}");
    assert_quiet(&chromium, &page);
}

#[test]
fn a_samples_file_of_a_stranger_is_shown_and_does_nothing() {
    let samples = samples(EVIL, 2);
    let page = bench(&samples, EVIL);
    let mut chromium = Chromium::start();
    chromium.open(&page.path);
    assert_eq!(chromium.evaluate("typeof window.bad"), json!("undefined"));
    assert_eq!(chromium.evaluate("document.images.length"), json!(0));
    assert_eq!(chromium.evaluate("document.scripts.length"), json!(1));
    assert_fits(&mut chromium, &page);
}
