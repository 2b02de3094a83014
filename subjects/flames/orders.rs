//! A Rust program to be drawn: reads orders from text, counts words, sorts. Generics, closures, a trait object, and much
//! that is inlined.
//!
//!     rustc --edition 2024 -O -g -C force-frame-pointers=yes -o orders orders.rs && ./orders 300

use std::collections::BTreeMap;
use std::fmt::Write;

struct Order {
    price: f64,
    note: String,
}

trait Summary {
    fn add(&mut self, order: &Order);
    fn finish(&mut self) -> f64;
}

/// How often each word occurs.
#[derive(Default)]
struct Words(BTreeMap<String, u64>);

impl Summary for Words {
    fn add(&mut self, order: &Order) {
        for word in order.note.split(' ') {
            *self.0.entry(word.to_owned()).or_default() += 1;
        }
    }

    fn finish(&mut self) -> f64 {
        self.0.values().max().copied().unwrap_or(0) as f64
    }
}

/// The median of the prices.
#[derive(Default)]
struct Median(Vec<f64>);

impl Summary for Median {
    fn add(&mut self, order: &Order) {
        self.0.push(order.price);
    }

    fn finish(&mut self) -> f64 {
        self.0.sort_by(|a, b| a.total_cmp(b));
        self.0[self.0.len() / 2]
    }
}

fn made_up(orders: usize) -> String {
    const WORDS: [&str; 8] = ["brake", "engine", "shaft", "lever", "pulley", "flywheel", "governor", "valve"];
    let mut state = 88_172_645_463_325_252u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut text = String::new();
    for _ in 0..orders {
        let _ = write!(text, "{}.{:02}", next() % 1000, next() % 100);
        for _ in 0..8 {
            let _ = write!(text, " {}", WORDS[(next() % 8) as usize]);
        }
        text.push('\n');
    }
    text
}

fn read(text: &str) -> Vec<Order> {
    let order = |line: &str| {
        let (price, note) = line.split_once(' ')?;
        Some(Order { price: price.parse().ok()?, note: note.to_owned() })
    };
    text.lines().filter_map(order).collect()
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(300);
    let text = made_up(5_000);
    let mut sum = 0.0;
    for _ in 0..rounds {
        let orders = read(&text);
        let mut summaries: Vec<Box<dyn Summary>> = vec![Box::<Words>::default(), Box::<Median>::default()];
        for summary in &mut summaries {
            orders.iter().for_each(|order| summary.add(order));
            sum += summary.finish();
        }
    }
    println!("{sum}");
}
