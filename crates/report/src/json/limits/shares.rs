//! How near workloads come to limits, as JSON.

use prony_limits::{Limits, Share, Workload, shares};
use serde::Serialize;

/// Workloads compared with the limits of a machine.
#[derive(Debug, Serialize)]
pub struct SharesDocument {
    fingerprint: String,
    workloads: Vec<WorkloadShares>,
}

#[derive(Debug, Serialize)]
struct WorkloadShares {
    #[serde(flatten)]
    rate: WorkloadRate,
    shares: Vec<ShareOut>,
}

/// Rate of a workload of known amount and its share of one limit, as `prony limits compare` and `prony bench` show it.
#[derive(Debug, Serialize)]
pub struct WorkloadRate {
    name: String,
    unit: &'static str,
    /// The median.
    value: f64,
    /// The bounds of the rate with 95 %; `null` with too few values.
    low: Option<f64>,
    high: Option<f64>,
    n: usize,
    /// Of what one thread loads from memory, or of what a core adds; `null` where that was not measured on this machine.
    share: Option<ShareOut>,
}

#[derive(Debug, Serialize)]
struct ShareOut {
    of: String,
    limit: f64,
    share: f64,
    n: usize,
    contaminated: f64,
}

/// All workloads.
pub fn answer(workloads: &[Workload], limits: &Limits) -> SharesDocument {
    let answered = |workload: &Workload| WorkloadShares {
        rate: rate_of(workload, Some(limits)),
        shares: shares(&limits.measured, workload.rate).into_iter().map(share_out).collect(),
    };
    SharesDocument { fingerprint: limits.fingerprint.to_string(), workloads: workloads.iter().map(answered).collect() }
}

/// Each workload and its share. `limits`: of this machine.
pub fn rates(workloads: &[Workload], limits: Option<&Limits>) -> Vec<WorkloadRate> {
    workloads.iter().map(|workload| rate_of(workload, limits)).collect()
}

fn rate_of(workload: &Workload, limits: Option<&Limits>) -> WorkloadRate {
    let [low, high] = workload.bounds();
    WorkloadRate {
        name: workload.name.clone(),
        unit: workload.unit(),
        value: workload.value(),
        low,
        high,
        n: workload.n,
        share: workload.share(limits).map(share_out),
    }
}

fn share_out(share: Share) -> ShareOut {
    let Share { of, limit, share, n, contaminated } = share;
    ShareOut { of, limit, share, n, contaminated }
}
