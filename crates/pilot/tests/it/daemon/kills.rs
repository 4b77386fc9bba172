//! The daemon dies as by `kill -9` at every step of the way, and at any other moment: the next start goes on where it was.

use std::sync::Mutex;
use std::time::Duration;

use pilot_core::task::Lane;

use super::scene::Scene;
use crate::program::{is_full, turn, within};

/// Other places, some more than once.
const PLACES: [&str; 14] = [
    "turn-before",
    "turn-before@11",
    "turn-before@29",
    "turn-before@53",
    "turn-after",
    "turn-after@17",
    "turn-after@37",
    "turn-after@71",
    "claimed",
    "claimed@3",
    "run-starting",
    "run-starting@4",
    "run-ended",
    "message-between",
];

/// How many worlds there are at once: most of the time each waits.
const AT_ONCE: usize = 3;

/// How often one world's daemon is killed from outside.
const KILLS: u64 = 5;

fn points() -> Vec<String> {
    // It can die before an action, after it and before that is written down, and after that.
    let of_lane = |lane: &Lane| ["before", "done", "after"].map(|when| format!("{}-{when}", lane.as_str()));
    Lane::ALL.iter().flat_map(of_lane).chain(PLACES.iter().map(|&place| place.to_owned())).collect()
}

/// Dies at a point with four tasks in flight, and goes on.
fn survives(point: &str) -> Result<(), String> {
    let scene = Scene::new();
    let code = scene.end(scene.world.start_once(&[("PILOT_FAILPOINT", point)]))?;
    if code.is_some() {
        return Err(format!("it is never reached: {code:?}\n{}", scene.world.log()));
    }
    scene.nobody_works()?;
    scene.finish()
}

/// Is killed from outside again and again, and goes on.
fn survives_moments(seed: u64) -> Result<(), String> {
    let scene = Scene::new();
    for number in 0..KILLS {
        let daemon = scene.world.start();
        // Not a wait for something, but a time to be somewhere in the middle of things.
        within(Duration::from_millis(mix(seed, number) % 1500), || false);
        daemon.kill();
        scene.nobody_works()?;
    }
    scene.finish()
}

fn mix(seed: u64, number: u64) -> u64 {
    let mixed = (seed.wrapping_mul(1_000_003) ^ number).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}

/// Tries everything, some at once, and tells all that went wrong.
fn try_all<T: Sync + std::fmt::Debug>(what: &[T], tries: impl Fn(&T) -> Result<(), String> + Sync) {
    let (next, wrong) = (Mutex::new(what.iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(what.len()) {
            scope.spawn(|| {
                loop {
                    let Some(one) = next.lock().expect("no thread panics with it").next() else { return };
                    let tried = tries(one);
                    println!("{one:?}: {}", if tried.is_ok() { "well" } else { "wrong" });
                    if let Err(why) = tried {
                        wrong.lock().expect("no thread panics with it").push(format!("{one:?}: {why}"));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no thread panics with it");
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), what.len(), wrong.join("\n\n"));
}

#[test]
fn it_dies_at_every_step_and_goes_on() {
    let mut points = points();
    if !is_full() {
        let first = turn() % points.len() as u64;
        points.rotate_left(usize::try_from(first).expect("a place in a list"));
        // Neighbours are alike, so some that are far apart.
        points = points.into_iter().step_by(19).collect();
    }
    try_all(&points, |point| survives(point));
}

#[test]
fn there_is_no_good_moment_to_kill_it() {
    let worlds = if is_full() { 500 / KILLS } else { 1 };
    let first = if is_full() { 0 } else { turn() };
    let seeds: Vec<u64> = (first..first + worlds).collect();
    try_all(&seeds, |seed| survives_moments(*seed));
}
