//! The first touch of a page: what the kernel takes for it, by kind of page and by order.

use prony_stats::Seed;

use crate::area::{Area, PageKind};
use crate::case::{Case, Measure, Outcome};
use crate::case_context::{CaseContext, Setting};
use crate::experiment::Experiment;
use crate::permutation::single_cycle;
use crate::tester::Passes;
use crate::ticks::now_ns;
use crate::unsupported::Unsupported;

/// The page whose faults are counted; also the unit for larger ones.
const PAGE: usize = 4096;
/// Memory that is touched: enough for thousands of faults, or tens of huge ones.
const BYTES: usize = 64 << 20;

/// Ways to touch the pages of an area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Touch {
    /// Pages are written from the first to the last.
    Forward,
    /// Pages are written from the last to the first.
    Backward,
    /// Pages are written in random order.
    Random,
    /// Read, which maps the one page of zeros.
    ReadZero,
    /// Not at all: the kernel does, while it maps them.
    Populate,
}

impl Touch {
    fn word(self) -> &'static str {
        match self {
            Touch::Forward => "written forward",
            Touch::Backward => "written backward",
            Touch::Random => "written in random order",
            Touch::ReadZero => "read: the zero page",
            Touch::Populate => "populated at once",
        }
    }
}

pub fn cases(setting: &Setting) -> Result<Vec<Case>, Unsupported> {
    let all = [Touch::Forward, Touch::Backward, Touch::Random, Touch::ReadZero, Touch::Populate];
    let small = all.into_iter().map(|touch| (PageKind::Small, touch));
    let huge = [PageKind::Transparent, PageKind::Reserved]
        .into_iter()
        .flat_map(|kind| [Touch::Forward, Touch::Backward, Touch::Random, Touch::Populate].map(|touch| (kind, touch)));
    let bytes = BYTES.min(setting.area_bytes);
    let case = |(kind, touch): (PageKind, Touch)| {
        let run = move |context: &mut CaseContext| measured(context, kind, touch, bytes);
        let measure = Measure::SecondsEach((bytes / PAGE) as f64);
        Case::new(Experiment::Fault, format!("{kind} pages, {}, each 4 KiB", touch.word()), measure, run)
            .with("pages", kind)
            .with("touch", touch.word())
            .with("bytes", bytes)
    };
    Ok(small.chain(huge).map(case).collect())
}

fn measured(context: &mut CaseContext, kind: PageKind, touch: Touch, bytes: usize) -> Result<Outcome, Unsupported> {
    if kind == PageKind::Reserved && PageKind::huge(bytes) != kind {
        return Err(Unsupported::because("no reserved huge pages are free: reserve some with vm.nr_hugepages"));
    }
    let pages = bytes / PAGE;
    let mut given = String::new();
    let series = match touch {
        Touch::Populate => context.tester.repeat_timed(Passes::Single, |_| {
            let before = now_ns();
            let area = Area::populated(bytes, kind)?;
            let ns = now_ns() - before;
            given = area.pages();
            Ok(ns)
        })?,
        touch => {
            let order = order(touch, pages, &mut context.seed);
            let mut area = Area::untouched(bytes, kind)?;
            let series = context.tester.repeat_timed(Passes::Single, |_| {
                area.drop_pages();
                let before = now_ns();
                visit(&mut area, &order, touch);
                Ok(now_ns() - before)
            })?;
            given = area.pages();
            series
        }
    };
    Ok(Outcome { series, listing: None, facts: vec![("given_pages", given)] })
}

/// The pages in the order in which they are touched.
fn order(touch: Touch, pages: usize, seed: &mut Seed) -> Vec<u32> {
    let pages = u32::try_from(pages).unwrap_or(u32::MAX);
    match touch {
        Touch::Backward => (0..pages).rev().collect(),
        Touch::Random => {
            let next = single_cycle(pages, seed);
            std::iter::successors(Some(0u32), |&page| Some(next[page as usize])).take(next.len()).collect()
        }
        _ => (0..pages).collect(),
    }
}

fn visit(area: &mut Area, order: &[u32], touch: Touch) {
    for &page in order {
        let byte = &raw mut area[page as usize * PAGE];
        // SAFETY: the byte is the area's, which is borrowed; volatile, so that it is touched.
        unsafe {
            match touch {
                Touch::ReadZero => drop(std::ptr::read_volatile(byte)),
                _ => std::ptr::write_volatile(byte, 1),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread_usage::thread_usage;

    #[test]
    fn every_order_has_every_page_once() {
        for touch in [Touch::Forward, Touch::Backward, Touch::Random, Touch::ReadZero] {
            let mut pages = order(touch, 500, &mut Seed::new(1));
            pages.sort_unstable();
            assert_eq!(pages, (0..500).collect::<Vec<_>>(), "{touch:?}");
        }
        assert_eq!(order(Touch::Backward, 3, &mut Seed::new(1)), [2, 1, 0]);
    }

    #[test]
    fn each_small_page_is_one_fault() {
        let pages = 300;
        let mut area = Area::untouched(pages * PAGE, PageKind::Small).expect("a megabyte");
        let order = order(Touch::Random, pages, &mut Seed::new(1));
        let before = thread_usage().faults;
        visit(&mut area, &order, Touch::Random);
        let faults = thread_usage().faults - before;
        assert!((pages as u64..pages as u64 + 20).contains(&faults), "{faults}");
        assert_eq!(area.iter().filter(|&&byte| byte == 1).count(), pages);
    }
}
