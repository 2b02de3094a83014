//! Game servers: one thread, a fixed tick, UDP.

use std::process::Command;
use std::sync::atomic::Ordering;

use crate::proof::{Flip, divergence_frame, prove};
use prony_testing::clients::{quake, teeworlds};
use prony_testing::recording::{Server, record, replay};
use prony_testing::scratch::{Scratch, Turn, free_address, program, run};

const PLAYERS: usize = 8;

/// Eight players that move; the demo of the stock build.
pub fn record_teeworlds(scratch: &Scratch) -> std::path::PathBuf {
    let address = free_address();
    scratch.write(
        "server.cfg",
        format!(
            "sv_name prony\nbindaddr 127.0.0.1\nsv_port {}\nsv_register 0\nsv_map dm1\nsv_max_clients 16\n\
             sv_player_slots 16\nsv_max_clients_per_ip 16\nsv_inactivekick_time 0\n",
            address.port()
        ),
    );
    let home = scratch.directory("home");
    let server =
        Server::new([program("/usr/games/teeworlds-server", "teeworlds-server"), "-f".into(), "server.cfg".into()])
            .with_state(home.clone())
            .with_variable("HOME", home);
    let tally = teeworlds::Tally::default();
    let demo = record(scratch, &server, |stop| {
        teeworlds::play(address, PLAYERS, &tally, stop.flag()).expect("no player is thrown out");
    });
    assert_eq!(tally.joined.load(Ordering::Relaxed) as usize, PLAYERS, "every player gets into the game");
    // Twenty-five snapshots a second and player; a quarter of them would show a stuck game.
    assert!(tally.snapshots.load(Ordering::Relaxed) > 500, "snapshots arrive: {tally:?}");
    demo
}

#[test]
fn teeworlds_with_eight_moving_players_replays_identically() {
    let _turn = Turn::take();
    let scratch = Scratch::new("teeworlds");
    let demo = record_teeworlds(&scratch);
    // The token that a new player gives the server for its answers (control message 5).
    prove(&scratch, &demo, Flip::input(|packet| (packet.len() > 500 && packet[7] == 5).then_some(8)));
}

#[test]
fn openarena_with_twelve_bots_replays_identically() {
    let _turn = Turn::take();
    let scratch = Scratch::new("openarena");
    let address = free_address();
    let command = openarena(&scratch, address, &[]);
    let home = scratch.directory("home");
    let server = Server::new(command).with_state(home.clone()).with_variable("HOME", home.clone());
    let (mut answers, mut players) = (0, 0);
    let demo = record(&scratch, &server, |stop| (answers, players) = quake::watch(address, stop));
    assert!(answers > 5, "{answers} status queries were answered");
    assert_eq!(players, 12, "every bot plays");
    // The challenge comes back in the answer.
    prove(&scratch, &demo, Flip::input(|query| query.windows(5).position(|word| word == b"prony")));
}

/// The command of an OpenArena server with twelve bots; `settings` come before its map.
pub fn openarena(scratch: &Scratch, address: std::net::SocketAddr, settings: &[&str]) -> Vec<String> {
    let bots = ["sarge", "grunt", "major", "angelyss", "arachna", "assassin", "ayumi", "beret", "dark", "gargoyle"];
    let lines: String = bots.iter().chain(&["grism", "kyonshi"]).map(|bot| format!("addbot {bot} 3\n")).collect();
    let home = scratch.directory("home");
    // Executed after the map has loaded: bots cannot join before.
    scratch.write("home/baseoa/bots.cfg", lines);
    let own = [
        ("com_basegame", "baseoa"),
        ("com_legacyprotocol", "71"),
        ("com_protocol", "71"),
        ("fs_basepath", "/usr/lib/openarena-server"),
        ("fs_homepath", &home),
        ("dedicated", "1"),
        ("net_ip", "127.0.0.1"),
        ("net_port", &address.port().to_string()),
        ("sv_maxclients", "16"),
        ("sv_master1", ""),
    ];
    let mut command = vec![program("/usr/lib/ioquake3/ioq3ded", "openarena-server")];
    program("/usr/lib/openarena-server/baseoa/qagamex86_64.so", "openarena-server");
    command.extend(own.iter().flat_map(|(name, value)| ["+set", name, value]).map(str::to_owned));
    command.extend(settings.iter().map(|&word| word.to_owned()));
    command.extend(["+map", "oa_dm1", "+exec", "bots.cfg"].map(str::to_owned));
    command
}

/// Builds the server from Debian's source package with these flags, or finds it built before.
pub fn rebuilt(name: &str, flags: &[&str]) -> Vec<String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/build-teeworlds");
    let path = run(Command::new(script).arg(name).args(flags));
    [path.trim(), "-f", "server.cfg"].map(str::to_owned).to_vec()
}

#[test]
fn a_demo_of_the_stock_teeworlds_replays_against_rebuilt_ones() {
    // Without the last flag, GCC joins a product and a sum to an instruction that rounds once
    // where the stock build rounds twice, and after some seconds a player stands elsewhere.
    let optimized = rebuilt("o3-native", &["-O3", "-march=native", "-ffp-contract=off"]);
    let inexact = rebuilt("fast-math", &["-O3", "-march=native", "-ffast-math"]);
    let _turn = Turn::take();
    let scratch = Scratch::new("rebuilt");
    let demo = record_teeworlds(&scratch);
    replay(&scratch, &demo, &[], &optimized).assert_identical();

    // Whether reordered arithmetic shows in a game of ten seconds depends on the game: either
    // every byte was equal, or the replay says where the first one was not.
    let answer = replay(&scratch, &demo, &[], &inexact);
    if answer.code == 0 {
        return answer.assert_identical();
    }
    assert_eq!(answer.code, 1, "expected identity or a divergence: {answer}");
    divergence_frame(&answer);
    // Snapshots are packed as a whole, so no byte range stands for a number: all of a packet
    // behind its head is masked.
    let rules = scratch.write(
        "tolerance.toml",
        "[[datagram]]\nsize = \"8..1400\"\nfields = [{ at = 7, length = 1, mask = true, repeat = \"end\", stride = 1 }]\n",
    );
    let tolerant = replay(&scratch, &demo, &["--tolerance", &rules], &inexact);
    assert_ne!(tolerant.answer["verdict"], "identical", "tolerant is never called identical: {tolerant}");
}
