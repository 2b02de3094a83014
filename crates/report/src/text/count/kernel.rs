//! How the kernel has counted an event.

use prony_machine::process::{KnownWork, UserEvent};
use prony_text::thousands;

/// What is counted, how exactly, and what is not known.
pub fn how(event: UserEvent, known: Option<KnownWork>) -> String {
    let name = event.name();
    let tested = match known {
        Some(KnownWork { expected, least, most, rounds }) => {
            let [expected, least, most] = [expected, least, most].map(thousands);
            let counted = if least == most { least } else { format!("{least} to {most}") };
            format!("self-test here: {expected} counted as {counted} in {rounds} rounds")
        }
        None => "no self-test: no work has a known number of them".to_owned(),
    };
    let untested = match event {
        UserEvent::Hardware(_) => "\nuntested: no machine with such counters has run this part of prony yet",
        UserEvent::PageFaults => "",
    };
    format!(
        "counted by the kernel ({name}:u), with a few of prony's library for each hooked call; functions are not known; {tested}{untested}\n"
    )
}
