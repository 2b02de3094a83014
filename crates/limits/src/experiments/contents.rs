//! Effect of the data: noise, one value, zeros, by the same loops.
//!
//! Where zeros are moved faster, stores of zeros are a limit of their own, and no limit for a workload that stores anything else.

use crate::area::PageKind;
use crate::case::{Case, Measure, Outcome};
use crate::case_context::{CaseContext, Setting};
use crate::contents::Contents;
use crate::experiment::Experiment;
use crate::experiments::bandwidth::{Mover, copies, ways};
use crate::experiments::size_word;
use crate::tester::Passes;
use crate::unsupported::Unsupported;

/// Bytes of the source that a store-only loop uses: eight of the widest registers.
const STORED_BYTES: usize = 512;

pub fn cases(setting: &Setting) -> Result<Vec<Case>, Unsupported> {
    let kind = setting.huge;
    let mut levels = setting.levels();
    // Caches hold whatever it is; a look measures memory alone, and zeros alone.
    if !setting.effort.thorough {
        levels.drain(..levels.len() - 1);
    }
    let all = Contents::ALL.into_iter().filter(|&contents| setting.effort.thorough || contents != Contents::OneValue);
    let mut cases = Vec::new();
    for way in ways() {
        for (level, size) in &levels {
            for contents in all.clone() {
                let each = if copies(way) { size / 2 } else { *size };
                let name = format!("{way} of {} {}, {kind} pages", contents.word(), size_word(*size));
                let run = move |context: &mut CaseContext| measured(context, way, contents, each, kind);
                cases.push(
                    Case::new(Experiment::Contents, name, Measure::BytesEachSecond(each as f64), run)
                        .with("way", way)
                        .with("contents", contents.word())
                        .with("level", level)
                        .with("bytes", size)
                        .with("pages", kind),
                );
            }
        }
    }
    Ok(cases)
}

fn measured(
    context: &mut CaseContext,
    way: &'static str,
    contents: Contents,
    bytes: usize,
    kind: PageKind,
) -> Result<Outcome, Unsupported> {
    let mover = Mover::new(way)?;
    let CaseContext { memory, seed, tester, .. } = context;
    let (a, b) = memory.pair(kind)?;
    let (a, b) = (&mut a[..bytes], &mut b[..bytes]);
    let taken = if way == "load" || copies(way) { bytes } else { STORED_BYTES.min(bytes) };
    contents.fill(&mut a[..taken], seed);
    mover.run(1, a, b);
    let series = tester.repeat(Passes::Calibrated, |passes| mover.run(passes, a, b));
    Contents::Noise.fill(&mut a[..taken], seed);
    let facts = vec![("given_pages", memory.pages(kind))];
    Ok(Outcome { series: series?, listing: mover.listing(), facts })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use prony_stats::Seed;

    use super::*;
    use crate::case_context::Memory;
    use crate::probe::Probe;
    use crate::tester::{Effort, Tester};

    fn context() -> CaseContext {
        let area_bytes = 1 << 20;
        let setting = Setting {
            effort: Effort::QUICK,
            cpus: vec![0],
            caches: Vec::new(),
            area_bytes,
            huge: PageKind::Small,
            directory: PathBuf::new(),
        };
        CaseContext {
            setting,
            tester: Tester::new(Effort::QUICK, Probe::new().expect("a page of code")),
            memory: Memory::new(area_bytes, Seed::new(1)),
            seed: Seed::new(2),
            file: None,
        }
    }

    #[test]
    fn every_loop_stores_what_its_case_says_and_leaves_noise_behind() {
        let mut context = context();
        for case in cases(&context.setting).expect("memory is everywhere") {
            (case.run)(&mut context).expect("it runs here");
            let (a, b) = context.memory.pair(PageKind::Small).expect("it was made");
            let written = &b[..if copies(&case.facts["way"]) { 1 << 19 } else { 1 << 20 }];
            let zero = written.iter().all(|&byte| byte == 0);
            if case.facts["way"] != "load" {
                assert_eq!(zero, case.facts["contents"] == "zeros", "{}", case.name);
            }
            assert!(a.chunks_exact(64).all(|line| line.iter().any(|&byte| byte != line[0])), "{}", case.name);
        }
    }

    #[test]
    fn a_look_measures_memory_with_zeros_alone() {
        let mut setting = context().setting;
        let count = |setting: &Setting| {
            let mut counts: BTreeMap<String, usize> = BTreeMap::new();
            cases(setting).expect("memory is everywhere").iter().for_each(|case| {
                *counts.entry(case.facts["contents"].clone()).or_default() += 1;
            });
            counts.into_iter().collect::<Vec<_>>()
        };
        let ways = ways().count();
        assert_eq!(count(&setting), [("noise".to_owned(), ways), ("zeros".to_owned(), ways)]);
        setting.effort = Effort::FULL;
        assert_eq!(count(&setting).len(), 3);
    }
}
