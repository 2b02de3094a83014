//! Number of values and warm-ups requested from a worker.

use prony_stats::variance_components::{components, values_worth_taking};
use prony_stats::warmup::warmups;

use crate::sample::{Measure, Observation};

/// Number of values and warm-ups requested from a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repetitions {
    /// Number of values a process that count.
    pub values: usize,
    /// Number of values before them that do not count.
    pub warmups: usize,
}

impl Repetitions {
    /// Requested until better ones are known: enough values to see where they settle.
    pub const FIRST: Repetitions = Repetitions { values: 8, warmups: 0 };
}

/// Processes of each worker after which warm-ups are known, and values a process for the first time.
pub const FIRST_ROUNDS: usize = 3;
/// Part of the time after which it must do with fewer.
pub const FIRST_TIME: f64 = 0.125;

/// Variance of workers' values within a process and between processes.
#[derive(Debug)]
pub struct WorkerVariance {
    measure: Measure,
    /// Values and times seen so far, one entry for each command.
    seen: Vec<Seen>,
    warmups: usize,
}

#[derive(Debug, Clone, Default)]
struct Seen {
    /// Values of each process that count.
    processes: Vec<Vec<f64>>,
    /// All values, those that do not count too.
    values: usize,
    /// Sum of the times of all values, in seconds.
    in_values_s: f64,
    /// Sum of the wall times of all processes, in seconds.
    whole_s: f64,
}

impl WorkerVariance {
    /// Nothing was seen yet of this many commands.
    pub fn new(measure: Measure, subjects: usize) -> WorkerVariance {
        WorkerVariance { measure, seen: vec![Seen::default(); subjects], warmups: 0 }
    }

    /// A round: a process of each command that still ran.
    pub fn add_round(&mut self, observations: &[Option<Observation>]) {
        for (subject, observation) in observations.iter().enumerate() {
            if let Some(observation) = observation {
                self.add(subject, observation);
            }
        }
    }

    fn add(&mut self, subject: usize, observation: &Observation) {
        let seen = &mut self.seen[subject];
        let of_judged = observation.values.iter().filter(|value| value.metric == self.measure.judged && !value.warmup);
        seen.processes.push(of_judged.map(|value| value.value).collect());
        let metric = &self.measure.metric;
        for value in observation.values.iter().filter(|value| value.metric == *metric && value.unit == "s") {
            seen.values += 1;
            seen.in_values_s += value.value * value.loops as f64;
        }
        seen.whole_s += observation.run.wall_ns as f64 / 1e9;
    }

    /// Finds the values at the start that are unlike the rest, and counts them no longer. As many for all commands: a
    /// pair must be the same work done by either.
    pub fn find_warmups(&mut self) -> usize {
        self.warmups = self.seen.iter().map(|seen| warmups(&seen.processes)).max().unwrap_or(0);
        for values in self.seen.iter_mut().flat_map(|seen| &mut seen.processes) {
            values.drain(..self.warmups.min(values.len()));
        }
        self.warmups
    }

    /// Repetitions to request from now on, based on all observations.
    pub fn repetitions(&self) -> Repetitions {
        let (mut within, mut between) = (0.0, 0.0);
        for components in self.seen.iter().filter_map(|seen| components(&seen.processes)) {
            within += components.within / components.mean.powi(2);
            // Rather too many processes than too few: what they share, no number of values averages out.
            between += (components.between + components.between_error) / components.mean.powi(2);
        }
        let sum = |of: fn(&Seen) -> f64| self.seen.iter().map(of).sum::<f64>();
        let value_s = sum(|seen| seen.in_values_s) / sum(|seen| seen.values as f64);
        let besides_s = sum(|seen| seen.whole_s - seen.in_values_s) / sum(|seen| seen.processes.len() as f64);
        let process_s = besides_s.max(0.0) + self.warmups as f64 * value_s;
        let values = match within > 0.0 && value_s > 0.0 {
            true => values_worth_taking(within, between, process_s, value_s, Repetitions::FIRST.values),
            false => 1,
        };
        Repetitions { values, warmups: self.warmups }
    }
}

/// Marks the first values of each metric as warm-ups.
pub fn mark_warmups(observation: &mut Observation, warmups: usize) {
    let mut seen: Vec<(String, usize)> = Vec::new();
    for value in observation.values.iter_mut().filter(|value| !value.warmup) {
        let place = seen.iter().position(|(metric, _)| *metric == value.metric).unwrap_or_else(|| {
            seen.push((value.metric.clone(), 0));
            seen.len() - 1
        });
        value.warmup = seen[place].1 < warmups;
        seen[place].1 += 1;
    }
}

#[cfg(test)]
mod tests {
    use prony_machine::process::{Counts, Ended, Faults, Run, SpawnedTasks, Switches};
    use prony_stats::Seed;

    use super::*;
    use crate::worker::Value;

    fn observation(values: &[f64]) -> Observation {
        let value =
            |&value: &f64| Value { metric: "wall".to_owned(), value, unit: "s".to_owned(), loops: 1, warmup: false };
        let run = Run {
            ended: Ended::Exited(0),
            wall_ns: ((values.iter().sum::<f64>() + 0.05) * 1e9) as u64,
            cpu_ns: 0,
            user_ns: 0,
            system_ns: 0,
            wait_ns: Ok(0),
            own_wait_ns: 0,
            spawned: SpawnedTasks::default(),
            faults: Faults::default(),
            switches: Switches::default(),
            blocks_written: 0,
            migrations: None,
            rss_max_bytes: None,
            counts: Counts::default(),
        };
        Observation { run, values: values.iter().map(value).collect(), duet: false }
    }

    fn seen(processes: [Vec<Observation>; 2]) -> WorkerVariance {
        let mut variance = WorkerVariance::new(Measure::of(&processes[0][0]), 2);
        for (subject, processes) in processes.iter().enumerate() {
            for process in processes {
                variance.add(subject, process);
            }
        }
        variance
    }

    #[test]
    fn what_comes_first_and_is_slow_is_cut_off_for_all() {
        let mut seed = Seed::new(1);
        let mut processes = |first: f64| -> Vec<Observation> {
            let mut values = || {
                [first, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
                    .map(|value| value * (0.99 + 0.02 * seed.below(1000) as f64 / 1000.0))
            };
            (0..3).map(|_| observation(&values())).collect()
        };
        let observations = [processes(0.2), processes(0.1)];
        let mut cut = observations[0][0].clone();
        assert_eq!(seen(observations).find_warmups(), 1);
        mark_warmups(&mut cut, 1);
        let marked: Vec<bool> = cut.values.iter().map(|value| value.warmup).collect();
        assert_eq!(marked, [true, false, false, false, false, false, false, false]);
    }

    #[test]
    fn values_are_worth_taking_where_processes_are_alike_and_dear() {
        // Alike within a process, unlike between them: another value adds nothing.
        let unlike = [0.1, 0.12, 0.09].map(|centre| observation(&[centre, centre * 1.001, centre, centre * 0.999]));
        assert_eq!(seen([unlike.to_vec(), unlike.to_vec()]).repetitions().values, 1);
        // The other way round, and a process costs half a value.
        let alike = [0.1, 0.1002, 0.0999].map(|centre| observation(&[centre, centre * 1.1, centre * 0.9, centre]));
        assert_eq!(seen([alike.to_vec(), alike.to_vec()]).repetitions().values, Repetitions::FIRST.values);
    }
}
