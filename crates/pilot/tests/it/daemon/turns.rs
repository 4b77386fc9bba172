//! One task at a time: the next one starts when the pull request before it is merged or given up.

use serde_json::{Value, json};

use super::world::{PATIENCE, World};
use crate::program::{run, within};

/// A world with one task at a time, in which a person merges.
fn one_at_a_time() -> World {
    let world = World::new();
    world.reconfigure("execution_mode: parallel", "execution_mode: sequential");
    world.reconfigure("environment: dev", "environment: prod");
    world
}

fn agents_of(world: &World, task: &str) -> usize {
    world.agents().iter().filter(|(of, _)| of == task).count()
}

fn why(world: &World, task: &str) -> String {
    run(world.pilot(&["why", task])).stdout
}

#[test]
fn the_next_task_starts_when_the_held_one_is_merged_or_given_up() {
    let world = one_at_a_time();
    for title in ["feat: one", "feat: two", "feat: three", "feat: four"] {
        world.file(title, "Please.");
    }
    let _daemon = world.start();
    let is_told = |waiting: &str, held: &str| {
        let expect = format!("Queued behind {held}, which is held: ");
        within(PATIENCE, || why(&world, waiting).contains(&expect))
    };
    world.until(1, "held");
    assert!(is_told("GH-2", "GH-1"), "{}", why(&world, "GH-2"));
    let status = run(world.pilot(&["status", "--json"])).stdout;
    let status: Value = serde_json::from_str(&status).expect("JSON");
    let second = status["tasks"].as_array().expect("a list").iter().find(|task| task["task"] == "GH-2");
    let second = second.expect("it is queued");
    assert_eq!((&second["stage"], &second["behind"]), (&json!("queued"), &json!("GH-1")), "{second}");
    world.change("POST", "issues/2/comments", &json!({"body": "/pilot why"}));
    let is_answered = || {
        let comments = world.comments(2);
        comments
            .iter()
            .any(|it| it["body"].as_str().is_some_and(|it| it.contains("Queued behind GH-1, which is held")))
    };
    assert!(within(PATIENCE, is_answered), "{:?}", world.comments(2));
    assert_eq!(world.agents().len(), 1, "{:?}", world.agents());

    // Merged by a person.
    let pulls = world.pulls();
    world.change("PUT", &format!("pulls/{}/merge", pulls[0]["number"]), &json!({}));
    world.until(2, "held");
    assert_eq!(agents_of(&world, "GH-3"), 0, "{:?}", world.agents());
    // Given up by a command.
    assert!(is_told("GH-3", "GH-2"), "{}", why(&world, "GH-3"));
    assert_eq!(run(world.pilot(&["cancel", "GH-2"])).code, Some(0));
    world.until(3, "held");
    assert_eq!(agents_of(&world, "GH-4"), 0, "{:?}", world.agents());
    // Given up by closing its pull request.
    let pulls = world.pulls();
    let third = pulls.iter().find(|pull| pull["head"]["ref"] == "pilot/GH-3").expect("it is open");
    world.change("PATCH", &format!("pulls/{}", third["number"]), &json!({"state": "closed"}));
    world.until(4, "held");
    assert_eq!(world.pulls().len(), 4);
}

#[test]
fn a_fix_is_the_current_task_and_what_it_leaves_red_keeps_its_turn() {
    let world = World::new();
    world.reconfigure("execution_mode: parallel", "execution_mode: sequential");
    world.reconfigure("environment: dev", "environment: dev\n    max_ci_fix_iterations: 1");
    let agent = world.path("agent.sh");
    let text = std::fs::read_to_string(&agent).expect("a file");
    std::fs::write(&agent, text.replacen("rm -f broken", "date >>broken", 1)).expect("a file");
    world.file("feat: one", "please break it");
    world.file("feat: two", "Please.");
    let _daemon = world.start();
    // The issue of the fix has the next number but those of two issues and one pull request.
    world.until(4, "held");
    let expect = "Queued behind GH-4, which is held: CI still fails";
    assert!(within(PATIENCE, || why(&world, "GH-2").contains(expect)), "{}", why(&world, "GH-2"));
    assert_eq!(agents_of(&world, "GH-2"), 0, "{:?}", world.agents());
    // A user closes the issue of the fix.
    world.change("PATCH", "issues/4", &json!({"state": "closed"}));
    world.until(2, "done");
}

#[test]
fn a_task_that_never_began_takes_no_turn() {
    let world = one_at_a_time();
    let second = world.file("feat: one", "Depends on: #2");
    world.file("feat: two", "Please.");
    let _daemon = world.start();
    world.until(2, "held");
    assert_eq!((world.stage(second).as_str(), agents_of(&world, "GH-1")), ("held", 0));
    // In the foreground what waits for a person says so, and ends.
    world.file("feat: three", "Please.");
    drop(_daemon);
    let ended = run(world.pilot(&["github", "run", "4"]));
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert!(ended.stdout.contains("Queued behind GH-2, which is held: "), "{}", ended.stdout);
}
