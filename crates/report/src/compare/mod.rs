//! Stored files that are compared: options of the answer, and what differs besides what is compared.

mod differences;

use prony_stats::compare::{Compared, LeftOut};

pub use differences::of as differences;

/// Options of the answer, and the benchmarks that it could not use.
#[derive(Debug)]
pub struct CompareOptions<'a> {
    /// Probability of any false alarm.
    pub alpha: f64,
    /// Smaller differences count as none, as a share.
    pub margin: f64,
    /// Sections by the value of this metadatum or parameter.
    pub group_by: Option<&'a str>,
    /// Sections by what was found.
    pub group_by_speed: bool,
    /// Tables in Markdown.
    pub markdown: bool,
    /// Benchmarks that only some files have.
    pub left_out: Vec<LeftOut>,
}

/// What to know before the answer is relied on, each a sentence: what was left out, and what differs besides.
pub fn warnings(options: &CompareOptions<'_>, compared: &[Compared<'_>]) -> Vec<String> {
    let left_out =
        |LeftOut { benchmark, lacking }: &LeftOut| format!("`{benchmark}` skipped: {lacking} does not have it");
    options.left_out.iter().map(left_out).chain(differences(compared)).collect()
}
