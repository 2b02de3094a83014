//! `prony study effects`: what each level of each factor does.

use prony_report::{json, text};
use prony_study::effects::Found;

use super::found;
use crate::cli::study::EffectsArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// # Errors
/// When the study cannot be read, or has no values.
pub fn run(args: &EffectsArgs) -> Result<Exit, Failure> {
    let results = found::load("read", &args.study)?;
    let found = Found::of(results, args.alpha).ok_or_else(|| {
        let place = args.study.display();
        Failure::new(format!("cannot estimate effects of {place}: expected cells with values, found none"))
            .hint(format!("see `prony study status {place}`"))
    })?;
    if args.json {
        output::print_json(&json::study::effects::answer(&found))?;
    } else {
        output::print(&text::study::effects::text(&found))?;
    }
    for warning in text::study::effects::warnings(&found) {
        eprintln!("warning: {warning}");
    }
    Ok(match (found.hidden().next(), found.is_incomplete()) {
        (Some(_), _) => Exit::Finding,
        (None, true) => Exit::NotTrusted,
        (None, false) => Exit::Good,
    })
}
