//! A table that was imported, as JSON.

use std::path::Path;

use prony_study::import::Roles;
use prony_study::{Results, State};
use serde_json::{Value, json};

/// What the results have, and which column is what. `directory`: where they are.
pub fn answer(directory: &Path, results: &Results, roles: &Roles) -> Value {
    let roles: Vec<_> = roles.listed().iter().map(|(role, column)| json!({"role": role, "column": column})).collect();
    let factors: Vec<_> = results
        .factors
        .iter()
        .map(|factor| json!({"name": factor.name, "levels": factor.levels, "random": factor.random}))
        .collect();
    json!({
        "directory": directory.to_string_lossy(),
        "metric": results.metric,
        "cells": results.cells.len(),
        "failed": results.cells.iter().filter(|cell| cell.state != State::Done).count(),
        "machines": results.machines.iter().map(|machine| &machine.name).collect::<Vec<_>>(),
        "workloads": results.workloads.iter().map(|workload| &workload.name).collect::<Vec<_>>(),
        "factors": factors,
        "columns": roles,
    })
}
