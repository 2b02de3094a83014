//! `prony study effects`: what each level of each factor does.

mod human;
mod json;

use prony_stats::effects::{self, Effect, Effects, Size, Term};
use prony_study::{Results, Role, State};
use prony_text::Untrusted;

use super::found;
use crate::cli::study::EffectsArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// A study and its effects.
struct Found {
    results: Results,
    alpha: f64,
    effects: Effects,
    /// Every factor at its last level against every factor at its first.
    whole: Option<Effect>,
    /// Difference that comparisons find where there is none.
    controls: Option<Size>,
}

/// # Errors
/// When the study cannot be read, or has no values.
pub fn run(args: &EffectsArgs) -> Result<Exit, Failure> {
    let results = found::load("read", &args.study)?;
    let design = prony_study::effects::design(&results);
    if design.observations.is_empty() {
        let place = args.study.display();
        return Err(Failure::new(format!(
            "cannot estimate effects of {place}: expected cells with values, found \
                                         none"
        ))
        .hint(format!("see `prony study status {place}`")));
    }
    let found = Found {
        alpha: args.alpha,
        effects: effects::effects(&design, args.alpha),
        whole: prony_study::effects::whole(&results, args.alpha),
        controls: prony_study::effects::controls(&results, args.alpha),
        results,
    };
    if args.json {
        output::print_json(&json::answer(&found))?;
    } else {
        output::print(&human::text(&found))?;
    }
    for warning in found.warnings() {
        eprintln!("warning: {warning}");
    }
    Ok(found.exit())
}

impl Found {
    /// Cells that count, and those of them that have a value.
    fn cells(&self) -> (usize, usize) {
        let measured = self.results.cells.iter().filter(|cell| cell.role == Role::Measured);
        let done = |cell: &&prony_study::Cell| cell.state == State::Done;
        (measured.clone().count(), measured.filter(done).count())
    }

    fn level(&self, factor: usize, level: usize) -> &str {
        &self.results.factors[factor].levels[level]
    }

    /// The name of a factor, for people.
    fn factor(&self, factor: usize) -> Untrusted<'_> {
        Untrusted::new(&self.results.factors[factor].name)
    }

    /// The name of a level, for people.
    fn shown(&self, factor: usize, level: usize) -> Untrusted<'_> {
        Untrusted::new(self.level(factor, level))
    }

    /// Term of the design in words: `Engine=Opt` or `Engine=Opt × Plugins=Opt`.
    fn term(&self, term: &Term) -> String {
        let name = |(factor, level): (usize, usize)| {
            format!("{}={}", self.results.factors[factor].name, self.level(factor, level))
        };
        match *term {
            Term::Main { factor, level } => name((factor, level)),
            Term::Interaction { first, second } => format!("{} × {}", name(first), name(second)),
        }
    }

    /// Main effects that other terms hide.
    fn hidden(&self) -> impl Iterator<Item = &effects::Alias> {
        self.effects.aliases.iter().filter(|alias| matches!(alias.term, Term::Main { .. }))
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let (cells, done) = self.cells();
        if done < cells {
            warnings.push(format!("{} of {cells} cells have no value; effects are based on the others", cells - done));
        }
        if self.effects.effects.iter().any(|effect| matches!(effect.work, effects::Work::Different { .. })) {
            let by = self.results.metric.normalise.as_ref().map_or("work", |normalise| &normalise.by);
            warnings.push(format!(
                "some configurations ran on different workloads: differences between these, for the same number \
                 of {by}, are part of the effect"
            ));
        }
        if let Some(controls) = self.controls.as_ref().filter(|controls| controls.is_found(self.alpha)) {
            warnings.push(format!(
                "identical configurations differ by {}: run order or the machine affects the effects",
                found::bounds(controls)
            ));
        }
        warnings
    }

    fn exit(&self) -> Exit {
        let without_interval = |effect: &Effect| effect.size.p.is_none();
        if self.hidden().next().is_some() {
            Exit::Finding
        } else if self.effects.effects.iter().any(without_interval) {
            Exit::NotTrusted
        } else {
            Exit::Good
        }
    }
}
