//! What `pilot status` shows of a real daemon, and in which order.

use super::world::{PATIENCE, World};
use crate::program::{run, within};

fn status(world: &World) -> String {
    run(world.pilot(&["status"])).stdout
}

/// Waits until the screen shows some words.
fn shows(world: &World, words: &str) {
    let shown = within(PATIENCE, || status(world).contains(words));
    assert!(shown, "{words:?} is not in\n{}\n{}", status(world), world.log());
}

#[test]
fn what_needs_a_person_comes_first_and_the_queue_has_reasons() {
    let world = World::new();
    world.reconfigure("execution_mode: parallel", "execution_mode: sequential");
    let held = world.file("feat: one", "Depends on: #99");
    let running = world.file("feat: two", "please wait");
    let daemon = world.start();
    world.until(held, "held");
    world.until(running, "running");
    let queued = world.file("feat: three", "x");
    world.until(queued, "queued");
    shows(&world, "Queued behind GH-2.");
    let text = status(&world);
    let place = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words:?} is not in\n{text}"));
    let order = ["Needs you (1)", "GH-1  held", "Running (1)", "GH-2", "Queue (1)", "GH-3  1.  feat: three"];
    let places: Vec<usize> = order.iter().map(|words| place(words)).collect();
    assert!(places.is_sorted(), "{places:?} in\n{text}");
    assert!(!text.contains('\u{1b}') && !text.contains('`'), "plain where there is no terminal: {text}");
    assert_eq!(run(world.pilot(&["pause"])).code, Some(0));
    shows(&world, "Paused by the operator: no run starts, nothing is merged. 'pilot resume' continues.");
    daemon.kill();
    shows(&world, "The daemon is not running");
}

#[test]
fn a_failed_task_is_shown_without_asking_and_its_reason_is_whole() {
    let world = World::new();
    pilot_testkit::program::write(&world.path("agent.sh"), "#!/bin/sh\necho 'boom: no module' >&2; exit 1\n");
    world.file("feat: one", "x");
    world.once();
    let text = status(&world);
    assert!(text.contains("Needs you (1)") && text.contains("GH-1  failed"), "{text}");
    assert!(text.contains("boom: no module") && !text.contains('…'), "the reason is whole: {text}");
    let mut narrow = world.pilot(&["status"]);
    narrow.env("COLUMNS", "60");
    let narrow = run(narrow);
    assert!(narrow.stdout.lines().all(|line| line.chars().count() <= 60), "{}", narrow.stdout);
}

#[test]
fn a_forge_that_does_not_answer_is_shown_until_it_does() {
    let mut world = World::new();
    let daemon = world.start();
    shows(&world, "There are no tasks");
    world.fall();
    shows(&world, "No answer from the forge since ");
    shows(&world, "pilot/shop\n");
    world.rise();
    let over = within(PATIENCE, || !status(&world).contains("No answer"));
    assert!(over, "{}\n{}", status(&world), world.log());
    daemon.kill();
}

#[test]
fn a_token_that_is_refused_is_shown_before_any_task_is_known() {
    let world = World::new();
    let token = world.client.token.clone();
    world.reconfigure(&token, "ghp_wrong");
    let daemon = world.start();
    shows(&world, "No answer from the forge since ");
    let text = status(&world);
    assert!(text.contains("Needs you (1)") && text.contains("token"), "{text}");
    daemon.kill();
}
