//! The zones of a thread, as a tree: a node for each zone below each other.
//!
//! A thread writes only its own nodes, with plain loads and stores (relaxed atomics), so that the thread that writes the report
//! may read them meanwhile. Nodes live as long as the program: there are few, and threads end before the report.

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::ticks;

/// Zone below another one, with its counts.
#[derive(Debug)]
pub struct Node {
    pub(crate) name: &'static str,
    pub(crate) parent: Option<&'static Node>,
    pub(crate) hits: AtomicU64,
    pub(crate) inclusive: AtomicU64,
    /// Wraps below zero while a zone inside has ended and this one has not.
    pub(crate) exclusive: AtomicU64,
    pub(crate) bytes: AtomicU64,
    /// Child nodes; only the node's own thread adds to them.
    pub(crate) children: Mutex<Vec<&'static Node>>,
    /// Zones that were entered here and are one of the node's ancestors: recursion.
    again: Mutex<Vec<&'static Node>>,
}

/// A thread that had zones.
#[derive(Debug, Clone)]
pub(crate) struct Thread {
    pub(crate) name: String,
    pub(crate) root: &'static Node,
}

/// Start of the program's first zone: ticks, and the clock to compare them with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Began {
    pub(crate) ticks: u64,
    pub(crate) clock: std::time::Instant,
}

pub(crate) static THREADS: Mutex<Vec<Thread>> = Mutex::new(Vec::new());
pub(crate) static BEGAN: Mutex<Option<Began>> = Mutex::new(None);

thread_local! {
    static CURRENT: Cell<Option<&'static Node>> = const { Cell::new(None) };
}

/// Cache of a place in the code: the parent node that it saw last, and the node found below it.
#[derive(Debug)]
pub struct Cache(Cell<Option<(&'static Node, &'static Node)>>);

impl Cache {
    /// Cache that holds nothing yet.
    #[allow(clippy::new_without_default, reason = "a constant, which `default` cannot be")]
    pub const fn new() -> Cache {
        Cache(Cell::new(None))
    }
}

/// A zone that runs; it ends when this is dropped.
#[derive(Debug)]
pub struct Scope {
    node: &'static Node,
    parent: &'static Node,
    /// What the node had before: a zone that runs inside itself must not count twice.
    inclusive_before: u64,
    began: u64,
}

/// Enters a zone that ends when the scope is dropped.
#[inline(always)]
pub fn enter(cache: &Cache, name: &'static str, bytes: u64) -> Scope {
    let (parent, node) = match (CURRENT.get(), cache.0.get()) {
        (Some(current), Some((parent, node))) if std::ptr::eq(current, parent) => (parent, node),
        (current, _) => {
            let current = current.unwrap_or_else(first_zone);
            let node = below(current, name);
            cache.0.set(Some((current, node)));
            (current, node)
        }
    };
    if bytes > 0 {
        add(&node.bytes, bytes);
    }
    CURRENT.set(Some(node));
    let inclusive_before = node.inclusive.load(Ordering::Relaxed);
    // The time-stamp is read last here and first in `drop`, so that zones measure as little of themselves as can be.
    Scope { node, parent, inclusive_before, began: ticks() }
}

impl Drop for Scope {
    #[inline(always)]
    fn drop(&mut self) {
        let took = ticks().wrapping_sub(self.began);
        let Scope { node, parent, .. } = *self;
        CURRENT.set(Some(parent));
        add(&parent.exclusive, took.wrapping_neg());
        add(&node.exclusive, took);
        add(&node.hits, 1);
        node.inclusive.store(self.inclusive_before.wrapping_add(took), Ordering::Relaxed);
    }
}

/// Adds to a number that only this thread writes.
#[inline(always)]
fn add(number: &AtomicU64, by: u64) {
    number.store(number.load(Ordering::Relaxed).wrapping_add(by), Ordering::Relaxed);
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // What is in it is whole even if a thread panicked meanwhile.
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The root of a thread that had no zone yet.
#[cold]
fn first_zone() -> &'static Node {
    locked(&BEGAN).get_or_insert_with(|| Began { ticks: ticks(), clock: std::time::Instant::now() });
    let root = Node::below("", None);
    let thread = std::thread::current();
    locked(&THREADS).push(Thread { name: thread.name().unwrap_or("thread").to_owned(), root });
    root
}

/// The node of a zone below another: itself or an ancestor for one that recurs, a new one otherwise.
#[cold]
fn below(parent: &'static Node, name: &'static str) -> &'static Node {
    let named = |nodes: &Mutex<Vec<&'static Node>>| locked(nodes).iter().copied().find(|node| node.name == name);
    if let Some(known) = named(&parent.children).or_else(|| named(&parent.again)) {
        return known;
    }
    let mut ancestor = Some(parent);
    while let Some(node) = ancestor {
        if node.name == name && node.parent.is_some() {
            locked(&parent.again).push(node);
            return node;
        }
        ancestor = node.parent;
    }
    let node = Node::below(name, Some(parent));
    locked(&parent.children).push(node);
    node
}

impl Node {
    fn below(name: &'static str, parent: Option<&'static Node>) -> &'static Node {
        Box::leak(Box::new(Node {
            name,
            parent,
            hits: AtomicU64::new(0),
            inclusive: AtomicU64::new(0),
            exclusive: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            children: Mutex::new(Vec::new()),
            again: Mutex::new(Vec::new()),
        }))
    }
}

/// Cost of a zone in ticks: the least of several empty ones.
pub(crate) fn cost_ticks() -> u64 {
    let root = Node::below("", None);
    let cache = Cache::new();
    let before = CURRENT.replace(Some(root));
    let each = |_| {
        let began = ticks();
        for _ in 0..64 {
            drop(enter(&cache, "nothing", 0));
        }
        ticks().wrapping_sub(began) / 64
    };
    let cost = (0..32).map(each).min().unwrap_or(0);
    CURRENT.set(before);
    cost
}
