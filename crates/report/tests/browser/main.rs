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
                  .map(part => part.outerHTML.slice(0, 120)); })";
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
