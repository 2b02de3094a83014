//! Instructions of two builds on demos: one verdict for all of them.

use std::path::PathBuf;
use std::time::Instant;

use prony_machine::Interrupt;

use crate::count::{CountComparison, CountError, CountOptions, CountReport, CountVerdict, Counter, count};

/// Instructions of two builds on several demos.
#[derive(Debug)]
pub struct CountedDemos {
    /// Number of demos that were requested.
    pub requested: usize,
    /// A share of A's instructions below which there is no difference.
    pub limit: f64,
    /// Names of A and B.
    pub builds: [String; 2],
    /// The demos, in the order in which they were requested.
    pub all: Vec<CountedDemo>,
}

/// Instructions of two builds on a demo.
#[derive(Debug)]
pub struct CountedDemo {
    /// Name of the demo.
    pub name: String,
    /// Path of the demo.
    pub path: PathBuf,
    /// Seconds that it took.
    pub elapsed_s: f64,
    /// What was counted, or why it was not.
    pub report: Result<CountReport, CountError>,
}

impl CountedDemo {
    /// Counts both builds on a demo. `progress`: see [`count`].
    pub fn count(
        name: String,
        options: &CountOptions,
        interrupt: Option<&Interrupt>,
        progress: &mut dyn FnMut(&str, u32),
    ) -> CountedDemo {
        let began = Instant::now();
        let report = count(options, interrupt, progress);
        CountedDemo { name, path: options.demo.path.clone(), elapsed_s: began.elapsed().as_secs_f64(), report }
    }

    /// B beside A; `None` where they were not counted.
    pub fn comparison(&self) -> Option<CountComparison> {
        match self.report.as_ref().ok()?.builds.as_slice() {
            [a, b] => Some(CountComparison::of(a, b)),
            _ => None,
        }
    }
}

impl CountedDemos {
    /// What has counted; `None` where no demo was counted.
    pub fn counter(&self) -> Option<&Counter> {
        self.all.iter().find_map(|demo| Some(&demo.report.as_ref().ok()?.counter))
    }

    /// The verdict on a demo; `None` where the builds were not counted.
    pub fn verdict_on(&self, demo: &CountedDemo) -> Option<CountVerdict> {
        demo.comparison().map(|compared| compared.verdict(self.limit))
    }

    /// The verdict for all demos: more instructions on one are more, whatever others say. `None` where one of them was not counted.
    pub fn verdict(&self) -> Option<CountVerdict> {
        let verdicts: Option<Vec<CountVerdict>> = self.all.iter().map(|demo| self.verdict_on(demo)).collect();
        let verdicts = verdicts.filter(|verdicts| verdicts.len() == self.requested)?;
        let order = [CountVerdict::More, CountVerdict::Fewer, CountVerdict::Same];
        Some(order.into_iter().find(|verdict| verdicts.contains(verdict)).unwrap_or(CountVerdict::Equal))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::CountedBuild;
    use prony_profile::FunctionCounts;

    fn demo(counts: Option<[u64; 2]>) -> CountedDemo {
        let build = |count: u64| CountedBuild {
            name: String::new(),
            replays: vec![
                FunctionCounts::read(format!("events: Ir\nob=/s\nfn=f\n1 {count}\n").as_bytes()).expect("it is sound"),
            ],
            not_counted: 0,
            calls: Vec::new(),
            frames: None,
            simulated: Vec::new(),
            inclusive: Vec::new(),
            stack_moves: false,
        };
        let report = match counts {
            Some(counts) => Ok(CountReport { builds: counts.map(build).to_vec(), frames: 1, counter: Counter::Own }),
            None => Err(CountError::Nothing("b".to_owned())),
        };
        CountedDemo { name: String::new(), path: PathBuf::new(), elapsed_s: 0.0, report }
    }

    fn verdict(demos: &[Option<[u64; 2]>]) -> Option<CountVerdict> {
        let all = demos.iter().copied().map(demo).collect();
        CountedDemos { requested: demos.len(), limit: 0.01, builds: [const { String::new() }; 2], all }.verdict()
    }

    #[test]
    fn more_on_one_demo_is_more() {
        let (same, more, fewer) = (Some([1000, 1001]), Some([1000, 1100]), Some([1000, 900]));
        assert_eq!(verdict(&[Some([7, 7]), Some([9, 9])]), Some(CountVerdict::Equal));
        assert_eq!(verdict(&[Some([7, 7]), same]), Some(CountVerdict::Same));
        assert_eq!(verdict(&[same, fewer]), Some(CountVerdict::Fewer));
        assert_eq!(verdict(&[fewer, more]), Some(CountVerdict::More));
        assert_eq!(verdict(&[more, None]), None);
    }
}
