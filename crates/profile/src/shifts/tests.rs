use super::*;
use prony_stats::Seed;

fn stacks(text: &str) -> Stacks {
    Stacks::from_folded(text.as_bytes()).stacks
}

fn of(a: &str, b: &str) -> Shifts {
    shifts(&[stacks(a)], &[stacks(b)], 0.05)
}

fn find<'a>(shifts: &'a Shifts, name: &str) -> &'a Shift {
    shifts.functions.iter().find(|shift| shift.name == name).expect("it is in one of the two")
}

#[test]
fn a_function_that_is_new_has_grown() {
    let shifts = of("t;main;f 900\nt;main;g 100\n", "t;main;f 700\nt;main;g 100\nt;main;h 200\n");
    let order: Vec<&str> = shifts.functions.iter().map(|shift| shift.name.as_str()).collect();
    assert_eq!(order, ["f", "h", "g", "main"]);
    let h = &shifts.functions[1];
    assert!(h.stands_out() && h.own.growth.low > 0.15 && h.own.growth.high < 0.25, "{h:?}");
    assert_eq!((h.own.samples, h.own.shares), ([0, 200], [0.0, 0.2]));
    assert!(!shifts.functions[2].stands_out());
}

#[test]
fn one_run_of_a_build_is_not_judged() {
    let run = || stacks("t;main;f 900\nt;main;g 100\n");
    let judged = |a: usize, b: usize| {
        let runs = |n: usize| (0..n).map(|_| run()).collect::<Vec<_>>();
        shifts(&runs(a), &runs(b), 0.05).is_judged
    };
    assert_eq!([judged(1, 1), judged(5, 1), judged(1, 5), judged(2, 2)], [false, false, false, true]);
}

#[test]
fn a_caller_that_grew_is_found_by_what_it_calls() {
    // The parent does nothing itself, and each of what it calls grew by less than chance.
    let text = |parent: u64| {
        let children: String = (0..23).map(|child| format!("t;main;parent;child{child} {}\n", parent / 23)).collect();
        format!("{children}t;main;other {}\n", 1000 - parent / 23 * 23)
    };
    let shifts = of(&text(210), &text(440));
    let parent = find(&shifts, "parent");
    assert_eq!((parent.own.shares, parent.own.growth.estimate), ([0.0, 0.0], 0.0));
    assert!(parent.stands_out() && parent.inclusive.growth.low > 0.15, "{parent:?}");
    assert!((0..23).all(|child| !find(&shifts, &format!("child{child}")).stands_out()));
}

#[test]
fn recursion_counts_once() {
    let shifts = of("t;main;f;f;f 50\nt;main;g 50\n", "t;main;f;f 50\nt;main;f;g 50\n");
    assert_eq!(find(&shifts, "f").inclusive.shares, [0.5, 1.0]);
    assert_eq!(find(&shifts, "f").own.shares, [0.5, 0.5]);
}

#[test]
fn functions_of_the_same_samples_are_one_question() {
    let text = "t;main;a;b;c;d 500\nt;main;e 500\n";
    // Inclusive: main, a to d at once, e; their own shares are the same samples again, or none.
    assert_eq!(of(text, text).questions, 3);
    let chains: String = (0..50).map(|rare| format!("t;main;e;rare{rare} 1\n")).collect();
    let with_rare = format!("{text}{chains}");
    assert!(of(&with_rare, &with_rare).questions <= 5, "what is seen once takes no error from others");
}

#[test]
fn interrupts_are_nobodys_and_not_judged() {
    let quiet = "t;main;f 1000\nt;main;read_[k] 500\n";
    let noisy = "t;main;f 800\nt;main;read_[k] 500\n\
                 t;main;f;asm_common_interrupt_[k];net_rx_[k] 100\nt;main;f;asm_sysvec_call_function_[k];net_rx_[k] 100\n";
    let shifts = of(quiet, noisy);
    assert!(find(&shifts, "net_rx_[k]").is_interrupt && !find(&shifts, "net_rx_[k]").stands_out());
    assert!(!find(&shifts, "asm_common_interrupt_[k]").stands_out());
    assert!(!find(&shifts, "read_[k]").is_interrupt);
}

/// A program whose stacks have these shares.
struct Program {
    stacks: Vec<String>,
    shares: Vec<f64>,
}

impl Program {
    /// A tree of calls of three levels; how often each of its leaves is seen falls as 1/rank.
    fn tree(leaves: usize) -> Program {
        let stacks = (0..leaves).map(|leaf| format!("t;main;a{};b{};c{leaf}", leaf % 3, leaf % 11)).collect();
        Program { stacks, shares: (1..=leaves).map(|rank| 1.0 / rank as f64).collect() }
    }

    /// The profile of a run of `n` samples. `scatter`: how far shares of runs lie apart besides, as a part of each.
    fn run(&self, n: usize, scatter: f64, seed: &mut Seed) -> Stacks {
        let uniform = |seed: &mut Seed| (seed.bits() >> 11) as f64 / (1u64 << 53) as f64;
        let mut sum = 0.0;
        let cumulative: Vec<f64> = self
            .shares
            .iter()
            .map(|share| {
                sum += share * (1.0 + scatter * (uniform(seed) * 2.0 - 1.0) * 3f64.sqrt());
                sum
            })
            .collect();
        let mut counts = vec![0u64; self.shares.len()];
        for _ in 0..n {
            let drawn = uniform(seed) * sum;
            counts[cumulative.partition_point(|&below| below <= drawn)] += 1;
        }
        let lines = self.stacks.iter().zip(counts).filter(|(_, count)| *count > 0);
        stacks(&lines.map(|(stack, count)| format!("{stack} {count}\n")).collect::<String>())
    }
}

/// In how many of `trials` comparisons of a program with itself some function is said to differ.
fn false_alarms(program: &Program, n: [usize; 2], runs: usize, scatter: f64, trials: usize) -> usize {
    let mut seed = Seed::new(n[0] as u64 + runs as u64);
    let wrong = (0..trials).filter(|_| {
        let [a, b] = n.map(|n| (0..runs).map(|_| program.run(n, scatter, &mut seed)).collect::<Vec<_>>());
        shifts(&a, &b, 0.05).functions.iter().any(Shift::stands_out)
    });
    wrong.count()
}

/// This many false alarms in `trials` at most, where 5 % are allowed: 3.1 standard errors more, once in a thousand.
fn allowed(trials: usize) -> usize {
    let trials = trials as f64;
    (0.05 * trials + 3.1 * (0.05 * 0.95 * trials).sqrt()) as usize
}

#[test]
fn a_build_against_itself_names_a_function_in_at_most_5_of_100_comparisons() {
    const TRIALS: usize = 150;
    for leaves in [5, 40, 200] {
        for n in [[300, 300], [2000, 2000], [400, 6000]] {
            let wrong = false_alarms(&Program::tree(leaves), n, 1, 0.0, TRIALS);
            assert!(wrong <= allowed(TRIALS), "{leaves} leaves, {n:?} samples: {wrong} of {TRIALS}");
        }
    }
}

#[test]
fn runs_that_scatter_more_than_counts_do_name_no_more() {
    const TRIALS: usize = 100;
    let program = Program::tree(40);
    // Shares that are 15 % apart from run to run: of 3,000 samples the largest has 700, and its counts scatter by 3 %.
    for runs in [2, 3, 6] {
        let wrong = false_alarms(&program, [3000, 3000], runs, 0.15, TRIALS);
        assert!(wrong <= allowed(TRIALS), "{runs} runs: {wrong} of {TRIALS}");
    }
    let blind = false_alarms(&program, [3000, 3000], 1, 0.15, TRIALS);
    assert!(blind > TRIALS / 2, "one run on each side cannot know: {blind} of {TRIALS}");
}

#[test]
fn a_function_that_took_half_as_much_again_is_found() {
    const TRIALS: usize = 50;
    let (before, mut after) = (Program::tree(40), Program::tree(40));
    // The fifth leaf, 4.7 % of the samples.
    after.shares[4] *= 1.5;
    let mut seed = Seed::new(5);
    for runs in [1, 5] {
        let found = (0..TRIALS).filter(|_| {
            let a: Vec<Stacks> = (0..runs).map(|_| before.run(5000, 0.0, &mut seed)).collect();
            let b: Vec<Stacks> = (0..runs).map(|_| after.run(5000, 0.0, &mut seed)).collect();
            find(&shifts(&a, &b, 0.05), "c4").stands_out()
        });
        let found = found.count();
        assert!(found >= TRIALS * 9 / 10, "{runs} runs: {found} of {TRIALS}");
    }
}
