//! What directories contain: recorded at each listing, whether they have changed or not.

use crate::calls::compiled;
use prony_testing::recording::{Server, record_with, replay};
use prony_testing::scratch::{Scratch, Turn};

#[test]
fn a_directory_that_changes_after_it_has_long_been_the_same_is_recorded_as_it_is() {
    let _turn = Turn::take();
    let scratch = Scratch::new("listed");
    let directory = scratch.directory("listed");
    let server = Server::new([compiled(&scratch, "listed.c", &[]), directory.clone()]).with_state(directory);
    let (_, demo) = record_with(&scratch, &server, &[], |stop| stop.wait());
    let dump = scratch.prony(&["demo", "dump", "--json", "story.demo"]).stdout;
    let listings: Vec<&str> = dump.lines().filter(|line| line.contains(r#""call":"opendir""#)).collect();
    let with = |name: &str| listings.iter().map(|line| line.contains(&hex(name))).collect::<Vec<bool>>();
    assert_eq!(with("first"), [false, false, false, false, true, true], "{dump}");
    assert_eq!(with("second"), [false, false, false, false, false, true], "{dump}");
    replay(&scratch, &demo, &[], &[]).assert_identical();
}

fn hex(name: &str) -> String {
    name.bytes().map(|byte| format!("{byte:02x}")).collect()
}
