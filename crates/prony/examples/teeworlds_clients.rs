//! Lets players connect to a Teeworlds 0.7 server and move for a while; what `make demo` records.
//!
//! ```text
//! teeworlds_clients port                           prints a UDP port that is free on 127.0.0.1
//! teeworlds_clients 127.0.0.1:8303 8 15            8 players for 15 seconds from the first snapshot on
//! ```
//!
//! Exits 1 when not every player got into the game.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use prony_testing::clients::teeworlds::{Tally, play};

/// A server that has not answered any player by then never will.
const JOIN_WITHIN: Duration = Duration::from_secs(30);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["port"] => {
            println!("{}", prony_testing::scratch::free_address().port());
            Ok(())
        }
        [server, players, seconds] => match (server.parse(), players.parse(), seconds.parse()) {
            (Ok(server), Ok(players), Ok(seconds)) => run(server, players, Duration::from_secs(seconds)),
            _ => Err("expected ADDRESS:PORT PLAYERS SECONDS".into()),
        },
        _ => Err("expected `port` or ADDRESS:PORT PLAYERS SECONDS".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(1)
        }
    }
}

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn run(server: SocketAddr, players: usize, playing: Duration) -> Result<()> {
    let (tally, stop) = (Tally::default(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let game = scope.spawn(|| play(server, players, &tally, &stop));
        let started = Instant::now();
        let mut joined = None;
        while !game.is_finished() {
            if tally.joined.load(Ordering::Relaxed) > 0 {
                joined.get_or_insert_with(Instant::now);
            }
            if joined.map_or(started.elapsed() > JOIN_WITHIN, |joined| joined.elapsed() > playing) {
                break;
            }
            std::thread::park_timeout(Duration::from_millis(20));
        }
        stop.store(true, Ordering::Relaxed);
        game.join().expect("the game does not panic")
    })?;
    let joined = tally.joined.into_inner();
    println!(
        "{joined} of {players} players in the game, {} snapshots received, {} inputs sent",
        tally.snapshots.into_inner(),
        tally.inputs.into_inner()
    );
    if joined as usize == players {
        Ok(())
    } else {
        Err(format!("{joined} of {players} players got into the game").into())
    }
}
