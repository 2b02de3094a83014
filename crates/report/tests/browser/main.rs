//! Pages in a real browser: they run, they load nothing, and what can be pressed works.

mod chromium;
mod demos;

use std::fs;
use std::path::{Path, PathBuf};

use chromium::Chromium;
use prony_report::Report;
use prony_study::Results;
use prony_testing::studies;
use serde_json::json;
use tempfile::TempDir;

/// A page on disk.
struct Page {
    path: PathBuf,
    _dir: TempDir,
}

fn page(make: impl FnOnce(&Path) -> Results) -> Page {
    let dir = tempfile::tempdir().expect("a scratch directory");
    let results = make(dir.path());
    let path = dir.path().join("report.html");
    fs::write(&path, Report::read(&results, dir.path(), "1.2.3").page()).expect("a scratch directory takes it");
    Page { path, _dir: dir }
}

fn factorial() -> Results {
    studies::factorial(&["i7-3770K", "FX-8350", "Atom C2750"], &["de_dust2", "cs_office"], 2, 9)
}

fn assert_quiet(chromium: &Chromium, page: &Page) {
    assert_eq!(chromium.complaints(), Vec::<String>::new());
    let own = format!("file://{}", page.path.display());
    let others: Vec<String> =
        chromium.requests().into_iter().filter(|url| *url != own && !url.starts_with("data:")).collect();
    assert_eq!(others, Vec::<String>::new());
}

/// Texts of charts that are cut at an edge, lie on each other, or that the line at zero strikes through.
const ILLEGIBLE: &str = "[...document.querySelectorAll('main svg[role=img], main svg[role=group]')].flatMap(svg => { \
    const edge = svg.getBoundingClientRect(); if (!edge.width) return []; \
    const texts = [...svg.querySelectorAll('text')].filter(text => text.textContent).map(text => [text, text.getBoundingClientRect()]).filter(([, box]) => box.width); \
    const zeros = [...svg.querySelectorAll('.zero')].map(line => line.getBoundingClientRect()); \
    const say = (what, text) => what + ': ' + text.textContent + ' in ' + svg.getAttribute('aria-label'); \
    const meet = (a, b, by) => a.left < b.right - by && b.left < a.right - by && a.top < b.bottom - by && b.top < a.bottom - by; \
    return texts.flatMap(([text, box], at) => [ \
      ...(box.left < edge.left - 1 || box.right > edge.right + 1 || box.top < edge.top - 1 || box.bottom > edge.bottom + 1 ? [say('cut', text)] : []), \
      ...(zeros.some(zero => meet({left: zero.left - 1, right: zero.right + 1, top: zero.top - 1, bottom: zero.bottom + 1}, box, 2)) ? [say('struck through', text)] : []), \
      ...texts.slice(at + 1).filter(([, other]) => meet(box, other, 2.5)).map(([other]) => say('on ' + other.textContent, text))]); })";

/// Every text of every chart of the page that is open can be read.
fn assert_legible(chromium: &mut Chromium) {
    for width in [1280, 390] {
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 700});
        chromium.call("Emulation.setDeviceMetricsOverride", size);
        assert_eq!(chromium.evaluate(ILLEGIBLE), json!([]), "at {width}");
    }
}

/// Whether a configuration is seen in a section.
fn seen(section: &str, k: usize) -> String {
    format!(
        "[...document.querySelectorAll('#{section} svg .k{k}')].filter(mark => mark.getBoundingClientRect().width > 0).length"
    )
}

#[test]
fn every_kind_of_study_opens_without_a_complaint_and_without_a_request() {
    let mut chromium = Chromium::start();
    let pages = [
        page(|_| factorial()),
        page(|_| studies::sweep(1)),
        page(|_| studies::with_failures(1)),
        page(|dir| studies::replays(dir, 3000, 2, 1)),
        page(|_| Results { cells: Vec::new(), ..factorial() }),
    ];
    for page in &pages {
        chromium.open(&page.path);
        for width in [1200, 390] {
            let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 700});
            chromium.call("Emulation.setDeviceMetricsOverride", size);
            // Charts may scroll in their frame; the page does not.
            let wide = chromium.evaluate("document.scrollingElement.scrollWidth");
            assert!(wide.as_u64() <= Some(width), "{wide} of {width}");
        }
        assert_quiet(&chromium, page);
    }
}

#[test]
fn no_text_of_a_chart_is_cut_or_struck_through() {
    let mut chromium = Chromium::start();
    // From nanoseconds to hours, and rates of millions.
    for factor in [1e-9, 1e-3, 1.0, 9.9e4] {
        let scaled = |mut results: Results| {
            for cell in &mut results.cells {
                cell.value = cell.value.map(|value| value * factor);
                cell.spread = cell.spread.map(|mut spread| {
                    for end in [&mut spread.estimate, &mut spread.low, &mut spread.high] {
                        *end *= factor;
                    }
                    spread
                });
            }
            results
        };
        let rates = |mut results: Results| {
            results.metric.unit = "packets/s".to_owned();
            results
        };
        for page in [
            page(|_| scaled(factorial())),
            page(|_| scaled(studies::sweep(1))),
            page(|_| scaled(rates(factorial()))),
            page(|_| scaled(rates(studies::sweep(1)))),
        ] {
            chromium.open(&page.path);
            assert_legible(&mut chromium);
        }
    }
    let page = page(|dir| studies::replays(dir, 30_000, 2, 1));
    chromium.open(&page.path);
    assert_legible(&mut chromium);
}

#[test]
fn a_flame_graph_of_a_study_is_zoomed_by_key() {
    let page = page(|dir| {
        fs::create_dir(dir.join("profiles")).expect("a scratch directory takes it");
        let folded =
            "main;tick;send 30\nmain;tick;a_function_with_a_rather_long_name_that_does_not_fit 3\nmain;load 67\n";
        fs::write(dir.join("profiles/server.folded"), folded).expect("a scratch directory takes it");
        factorial()
    });
    let mut chromium = Chromium::start();
    chromium.open(&page.path);
    let focused = "(document.activeElement.getAttribute('aria-label') ?? '').split(':')[0]";
    let width = "+document.activeElement.getAttribute('width')";
    let shown = "document.querySelectorAll('#flames rect:not(.off)').length";
    chromium.evaluate("document.querySelector('#flames rect[tabindex=\"0\"]').focus()");
    assert_eq!(chromium.evaluate(focused), json!("main"));
    for (key, expected) in [("ArrowDown", "load"), ("ArrowRight", "tick"), ("ArrowDown", "send"), ("ArrowUp", "tick")] {
        chromium.press(key);
        assert_eq!(chromium.evaluate(focused), json!(expected), "{key}");
    }
    let (before, all) = (chromium.evaluate(width), chromium.evaluate(shown));
    chromium.press("Enter");
    assert_eq!((chromium.evaluate(width), chromium.evaluate(shown)), (json!(1080), json!(4)), "load is hidden");
    let long = "[...document.querySelectorAll('#flames text:not(.off)')].map(text => text.textContent).filter(text => text.startsWith('a_'))";
    assert_eq!(chromium.evaluate(long), json!(["a_function_w…"]), "a name keeps its start");
    chromium.press("Escape");
    assert_eq!((chromium.evaluate(width), chromium.evaluate(shown)), (before, all));
    assert_quiet(&chromium, &page);
}

#[test]
fn a_flame_graph_in_a_file_is_zoomed_by_key() {
    let dir = tempfile::tempdir().expect("a scratch directory");
    let path = dir.path().join("flame.svg");
    let folded = b"main;tick;send 30\nmain;tick;a_function_with_a_rather_long_name_that_does_not_fit_into_its_box 3\nmain;load 67\n";
    let stacks = prony_profile::Stacks::from_folded(folded).stacks;
    let svg = prony_profile::flame_graph(&stacks, "title", "how").expect("there are stacks");
    fs::write(&path, prony_report::flame_file(&svg)).expect("a scratch directory takes it");
    let page = Page { path, _dir: dir };
    let mut chromium = Chromium::start();
    chromium.open(&page.path);
    let focused = "(document.activeElement.getAttribute('aria-label') ?? '').split(' (')[0]";
    let width = "parseFloat(document.activeElement.querySelector('rect').getAttribute('width'))";
    let hidden = "document.querySelectorAll('#frames > .hide').length";
    chromium.evaluate("document.querySelector('#frames > [tabindex=\"0\"]').focus()");
    assert_eq!(chromium.evaluate(focused), json!("all"));
    for (key, expected) in
        [("ArrowUp", "main"), ("ArrowUp", "load"), ("ArrowRight", "tick"), ("ArrowUp", "send"), ("ArrowDown", "tick")]
    {
        chromium.press(key);
        assert_eq!(chromium.evaluate(focused), json!(expected), "{key}");
    }
    let before = chromium.evaluate(width);
    assert_eq!(before.as_f64().map(f64::round), Some(33.0));
    chromium.press("Enter");
    assert_eq!((chromium.evaluate(width), chromium.evaluate(hidden)), (json!(100), json!(1)), "load is hidden");
    let long = "[...document.querySelectorAll('#frames text')].map(text => text.textContent).filter(text => text.startsWith('a_func'))";
    let long = chromium.evaluate(long);
    assert!(long[0].as_str().is_some_and(|name| name.ends_with('…')), "a name keeps its start: {long}");
    chromium.press("Escape");
    assert_eq!((chromium.evaluate(width), chromium.evaluate(hidden)), (before, json!(0)));
    // Light and dark, as the reader's system says.
    let behind = "getComputedStyle(document.querySelector('svg > rect')).fill";
    let light = chromium.evaluate(behind);
    let scheme = json!({"features": [{"name": "prefers-color-scheme", "value": "dark"}]});
    chromium.call("Emulation.setEmulatedMedia", scheme);
    assert_ne!(chromium.evaluate(behind), light);
    assert_quiet(&chromium, &page);
}

#[test]
fn many_lines_of_a_sweep_are_small_multiples() {
    let page = page(|_| many_lines());
    let mut chromium = Chromium::start();
    chromium.open(&page.path);
    let panels = chromium.evaluate("[...document.querySelectorAll('#sweep0 .card')].map(card => [card.querySelector('h3').textContent, card.querySelectorAll('.l').length])");
    let panels = panels.as_array().expect("a list").clone();
    assert_eq!(panels.len(), 12, "{panels:?}");
    for panel in &panels {
        assert_eq!(panel[1], json!(4), "{panel}");
        assert!(panel[0].as_str().is_some_and(|name| name.starts_with("polls ")), "{panel}");
    }
    // The same line has the same colour in each panel, and its name once.
    let names = "[...document.querySelectorAll('#sweep0 .lines li')].map(line => line.textContent)";
    let names = chromium.evaluate(names);
    assert_eq!(names, json!(["stock/few", "stock/many", "own/few", "own/many"]));
    let colours = "[...document.querySelectorAll('#sweep0 .card .l.c3')].map(line => getComputedStyle(line).stroke)";
    let colours = chromium.evaluate(colours);
    let colours = colours.as_array().expect("a list");
    assert!(colours.len() == 12 && colours.iter().all(|colour| *colour == colours[0]), "{colours:?}");
    assert_legible(&mut chromium);
    assert_quiet(&chromium, &page);
}

/// A sweep over clients in 48 configurations.
fn many_lines() -> Results {
    let mut results = studies::sweep(1);
    let levels = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<String>>();
    let factor = |name: &str, names: &[&str], numbers: Option<Vec<f64>>| prony_study::Factor {
        name: name.to_owned(),
        levels: levels(names),
        numbers,
        random: false,
    };
    results.factors = vec![
        factor("library", &["stock", "own"], None),
        factor("slots", &["few", "many"], None),
        factor("polls", &["rare", "often"], None),
        factor("clients", &["1", "64", "1000", "3590"], Some(vec![1.0, 64.0, 1000.0, 3590.0])),
        factor("reply", &["none", "short", "long"], None),
        factor("reliable", &["no", "yes"], None),
    ];
    results.machines.truncate(1);
    results.workloads.truncate(1);
    let like = results.cells[0].clone();
    results.cells.clear();
    for one in 0..192usize {
        let of = [2, 2, 2, 4, 3, 2];
        let mut rest = one;
        let levels: Vec<usize> = of.iter().map(|&levels| (rest % levels, rest /= levels).0).collect();
        let value = 1e-3 * (1.0 + one as f64) * 4f64.powi(levels[3] as i32);
        results.cells.push(prony_study::Cell {
            key: format!("{one:032x}"),
            machine: 0,
            workload: 0,
            repeat: 0,
            role: prony_study::Role::Measured,
            state: prony_study::State::Done,
            levels,
            value: Some(value),
            spread: None,
            ..like.clone()
        });
    }
    results
}

#[test]
fn nothing_is_wider_than_its_card_at_any_width() {
    let long = |_: &Path| {
        let mut results = factorial();
        results.factors[0].name = "PYTHONHASHSEEDANDMORE".to_owned();
        results.factors[1].name = "environment/and/others/in/one/long/word".to_owned();
        results.factors[0].levels[1] = "-O3 -march=native -fno-semantic-interposition".to_owned();
        results
    };
    let pages = [page(|_| factorial()), page(long), page(|_| studies::sweep(1)), page(|_| studies::with_failures(1))];
    // What scrolls in a frame of its own may be wider than it.
    let beyond = "[...document.querySelectorAll('.card')].flatMap(card => { const edge = card.getBoundingClientRect(); \
                  return [...card.querySelectorAll('table,tr,th,td,h3,svg,b,em')].filter(part => !part.closest('.wide')) \
                  .filter(part => { const box = part.getBoundingClientRect(); return box.width > 0 && (box.right > edge.right + 0.5 || box.left < edge.left - 0.5 \
                  || part.matches('td,th') && part.scrollWidth > part.clientWidth + 1); }) \
                  .map(part => `${part.clientWidth} of ${part.scrollWidth}: ${part.outerHTML.slice(0, 120)}`); })";
    let mut chromium = Chromium::start();
    for page in &pages {
        chromium.open(&page.path);
        for width in [390, 800, 960, 961, 1000, 1200, 1600] {
            let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 700});
            chromium.call("Emulation.setDeviceMetricsOverride", size);
            assert_eq!(chromium.evaluate(beyond), json!([]), "at {width}");
            let wide = chromium.evaluate("document.scrollingElement.scrollWidth");
            assert!(wide.as_u64() <= Some(width), "{wide} of {width}");
        }
    }
}

#[test]
fn the_legend_hides_a_configuration_in_all_charts_and_shows_it_again() {
    let page = page(|_| factorial());
    let mut chromium = Chromium::start();
    chromium.open(&page.path);
    for section in ["bars", "machines"] {
        assert!(chromium.evaluate(&seen(section, 2)).as_u64() > Some(0), "{section}");
    }
    let press = "document.querySelector('.legend button[data-k=\"2\"]').click()";
    chromium.evaluate(press);
    for section in ["bars", "machines"] {
        assert_eq!(chromium.evaluate(&seen(section, 2)), json!(0), "{section}");
        assert!(chromium.evaluate(&seen(section, 1)).as_u64() > Some(0), "{section}");
    }
    let pressed = "document.querySelector('.legend button[data-k=\"2\"]').getAttribute('aria-pressed')";
    assert_eq!(chromium.evaluate(pressed), json!("false"));
    chromium.evaluate(press);
    assert!(chromium.evaluate(&seen("bars", 2)).as_u64() > Some(0));
    assert_quiet(&chromium, &page);
}

#[test]
fn the_page_is_dark_where_the_reader_likes_it_and_the_button_turns_it() {
    let page = page(|_| factorial());
    let mut chromium = Chromium::start();
    chromium.open(&page.path);
    let behind = "getComputedStyle(document.body).backgroundColor";
    let light = chromium.evaluate(behind);
    let scheme = json!({"features": [{"name": "prefers-color-scheme", "value": "dark"}]});
    chromium.call("Emulation.setEmulatedMedia", scheme);
    let dark = chromium.evaluate(behind);
    assert_ne!(light, dark);
    chromium.evaluate("document.getElementById('theme').click()");
    assert_eq!(chromium.evaluate(behind), light);
    chromium.evaluate("document.getElementById('theme').click()");
    assert_eq!(chromium.evaluate(behind), dark);
    chromium.call("Emulation.setEmulatedMedia", json!({"media": "print"}));
    assert_ne!(chromium.evaluate(behind), dark, "paper is light");
    assert_quiet(&chromium, &page);
}

#[test]
fn marks_say_what_they_are_to_the_keyboard() {
    let page = page(|_| factorial());
    let mut chromium = Chromium::start();
    chromium.open(&page.path);
    chromium.evaluate("document.querySelector('#machines svg').focus()");
    let said = "document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent";
    assert_eq!(chromium.evaluate(said), json!(""));
    chromium.press("ArrowRight");
    let first = chromium.evaluate(said);
    assert!(
        first.as_str().is_some_and(|text| text.starts_with("optimised/optimised/optimised, de_dust2: ")),
        "{first}"
    );
    chromium.press("ArrowRight");
    assert!(chromium.evaluate(said).as_str().is_some_and(|text| text.contains("cs_office")));
    chromium.press("Escape");
    assert_eq!(chromium.evaluate(said), json!(""));
    assert_quiet(&chromium, &page);
}

#[test]
fn frames_under_the_pointer_are_read_off() {
    let page = page(|dir| studies::replays(dir, 3000, 2, 1));
    let mut chromium = Chromium::start();
    chromium.open(&page.path);
    let point = "(() => { const svg = document.querySelector('#frames svg'); svg.scrollIntoView(); const box = svg.getBoundingClientRect(); \
                 svg.dispatchEvent(new PointerEvent('pointermove', {clientX: box.left + box.width / 2, clientY: box.top + 20})); \
                 return document.getElementById('tip').textContent; })()";
    let said = chromium.evaluate(point);
    let lines: Vec<&str> = said.as_str().unwrap_or_default().lines().collect();
    assert_eq!(lines.len(), 4, "{said}");
    assert!(lines[0].starts_with("frame 1,1"), "{said}");
    assert!(lines[1].starts_with("-O2: ") && lines[1].ends_with(" µs"), "{said}");
    assert_quiet(&chromium, &page);
}

#[test]
fn cells_are_sorted_and_filtered() {
    let page = page(|_| studies::with_failures(1));
    let mut chromium = Chromium::start();
    chromium.open(&page.path);
    let rows = "document.querySelectorAll('#cells tbody tr').length";
    assert_eq!(chromium.evaluate(rows), json!(0), "the table is made when it is opened");
    chromium.evaluate("document.getElementById('cells').open = true; document.getElementById('cells').ontoggle()");
    let all = chromium.evaluate(rows).as_u64().expect("a number");
    assert_eq!(all, 200);
    chromium.evaluate("document.getElementById('more').click()");
    assert_eq!(chromium.evaluate(rows), json!(216));
    let choose = "const s = document.getElementById('state'); s.value = 'failed'; s.oninput();";
    chromium.evaluate(choose);
    let failed = studies::with_failures(1);
    let failed = failed.cells.iter().filter(|cell| matches!(cell.state, prony_study::State::Failed { .. })).count();
    assert_eq!(chromium.evaluate(rows), json!(failed));
    chromium.evaluate("const f = document.getElementById('filter'); f.value = 'DIVERGED atom'; f.oninput();");
    let texts = "[...document.querySelectorAll('#cells tbody tr')].every(row => /diverged/.test(row.textContent) && /Atom/.test(row.textContent))";
    assert_eq!(chromium.evaluate(texts), json!(true));
    assert!(chromium.evaluate(rows).as_u64().is_some_and(|rows| rows > 0 && rows < failed as u64));
    chromium.evaluate("document.getElementById('filter').value = ''; document.getElementById('state').value = 'done'; document.getElementById('state').oninput()");
    let sort = "document.querySelectorAll('#cells th button')[6].click()";
    let values = "[...document.querySelectorAll('#cells tbody tr')].map(row => +row.cells[6].textContent)";
    for up in [true, false] {
        chromium.evaluate(sort);
        let values = chromium.evaluate(values);
        let values: Vec<f64> =
            values.as_array().expect("a list").iter().filter_map(serde_json::Value::as_f64).collect();
        assert!(values.windows(2).all(|pair| if up { pair[0] <= pair[1] } else { pair[0] >= pair[1] }), "{values:?}");
    }
    let sorted = "document.querySelectorAll('#cells th')[6].getAttribute('aria-sort')";
    assert_eq!(chromium.evaluate(sorted), json!("descending"));
    assert_quiet(&chromium, &page);
}

#[test]
fn names_that_are_markup_are_shown_and_do_nothing() {
    let evil = "<script>window.bad=1</script><img src=x onerror=window.bad=2>\"'></title></svg>";
    let page = page(|_| {
        let mut results = studies::with_failures(1);
        results.title = format!("t{evil}");
        results.metric.name = format!("m{evil}");
        results.factors[0].name = format!("f{evil}");
        results.factors[0].levels[0] = format!("l{evil}");
        results.machines[0].name = format!("c{evil}");
        results.machines[1].disturbances = vec![format!("d{evil}")];
        results.workloads[0].name = format!("w{evil}");
        for cell in &mut results.cells {
            cell.key = format!("{evil}{}", cell.key);
            cell.provenance.insert(format!("o{evil}"), evil.to_owned());
            if let prony_study::State::Failed { message, .. } = &mut cell.state {
                message.push_str(evil);
            }
        }
        results
    });
    let mut chromium = Chromium::start();
    chromium.open(&page.path);
    chromium.evaluate("document.getElementById('cells').open = true; document.getElementById('cells').ontoggle()");
    assert_eq!(chromium.evaluate("typeof window.bad"), json!("undefined"));
    assert_eq!(chromium.evaluate("document.images.length"), json!(0));
    assert_eq!(chromium.evaluate("document.scripts.length"), json!(2));
    assert_eq!(chromium.evaluate("document.querySelector('h1').textContent"), json!(format!("t{evil}")));
    assert!(chromium.evaluate("document.querySelectorAll('#cells tbody tr').length").as_u64() > Some(0));
    assert_quiet(&chromium, &page);
}
