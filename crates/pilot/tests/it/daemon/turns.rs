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
    world.file("feat: one", "Please.");
    let _daemon = world.start();
    world.until(1, "held");
    let [second, third, fourth] = ["feat: two", "feat: three", "feat: four"].map(|title| {
        let issue = world.file(title, "Please.");
        world.until(issue, "queued");
        issue
    });
    let key = |issue: u64| format!("GH-{issue}");
    let is_told = |waiting: u64, held: u64| {
        let expect = format!("Queued behind GH-{held}, which is held: ");
        within(PATIENCE, || why(&world, &key(waiting)).contains(&expect))
    };
    assert!(is_told(second, 1), "{}", why(&world, &key(second)));
    let status = run(world.pilot(&["status", "--json"])).stdout;
    let status: Value = serde_json::from_str(&status).expect("JSON");
    let tasks = status["tasks"].as_array().expect("a list");
    let queued = tasks.iter().find(|task| task["task"] == key(second)).expect("it is queued");
    assert_eq!((&queued["stage"], &queued["behind"]), (&json!("queued"), &json!("GH-1")), "{queued}");
    world.change("POST", &format!("issues/{second}/comments"), &json!({"body": "/pilot why"}));
    let is_answered = || {
        let expect = "Queued behind GH-1, which is held";
        let comments = world.comments(second);
        comments.iter().any(|it| it["body"].as_str().is_some_and(|it| it.contains(expect)))
    };
    assert!(within(PATIENCE, is_answered), "{:?}", world.comments(second));
    assert_eq!(world.agents().len(), 1, "{:?}", world.agents());

    // Merged by a person.
    let pulls = world.pulls();
    world.change("PUT", &format!("pulls/{}/merge", pulls[0]["number"]), &json!({}));
    world.until(second, "held");
    assert_eq!(agents_of(&world, &key(third)), 0, "{:?}", world.agents());
    // Given up by a command.
    assert!(is_told(third, second), "{}", why(&world, &key(third)));
    assert_eq!(run(world.pilot(&["cancel", &key(second)])).code, Some(0));
    world.until(third, "held");
    assert_eq!(agents_of(&world, &key(fourth)), 0, "{:?}", world.agents());
    // Given up by closing its pull request.
    let (pulls, branch) = (world.pulls(), format!("pilot/{}", key(third)));
    let pull = pulls.iter().find(|pull| pull["head"]["ref"] == *branch).expect("it is open");
    world.change("PATCH", &format!("pulls/{}", pull["number"]), &json!({"state": "closed"}));
    world.until(fourth, "held");
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
    let _daemon = world.start();
    assert!(within(PATIENCE, || agents_of(&world, "GH-1") == 1), "{}", world.log());
    let second = world.file("feat: two", "Please.");
    let key = format!("GH-{second}");
    world.until(1, "continued");
    let fixes = world.get("issues?state=all&labels=autopilot-fix");
    let fix = fixes[0]["number"].as_u64().expect("an issue");
    world.until(fix, "held");
    let expect = format!("Queued behind GH-{fix}, which is held: CI still fails");
    assert!(within(PATIENCE, || why(&world, &key).contains(&expect)), "{}", why(&world, &key));
    assert_eq!(agents_of(&world, &key), 0, "{:?}", world.agents());
    // A user closes the issue of the fix.
    world.change("PATCH", &format!("issues/{fix}"), &json!({"state": "closed"}));
    world.until(second, "done");
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

#[test]
fn a_paused_run_is_shown_and_continues_when_a_user_says_so() {
    let world = World::new();
    let stagnation = "stagnation: {warn_timeout: 200ms, pause_timeout: 400ms, abort_timeout: 1h}";
    world.reconfigure("retry: {enabled: false}", &format!("retry: {{enabled: false}}\n  {stagnation}"));
    world.file("feat: one", "please wait");
    let _daemon = world.start();
    world.until(1, "paused");
    let why = why(&world, "GH-1");
    assert!(why.contains("paused: Paused since ") && why.contains("without either it ends at "), "{why}");
    let status: Value = serde_json::from_str(&run(world.pilot(&["status", "--json"])).stdout).expect("JSON");
    let pause = &status["tasks"][0]["pause"];
    assert!(pause["since"].is_string() && pause["until"].is_string() && pause["why"].is_string(), "{status}");
    let is_told = || {
        let comments = world.comments(1);
        comments.iter().any(|it| it["body"].as_str().is_some_and(|it| it.contains("Paused since ")))
    };
    assert!(within(PATIENCE, is_told), "{:?}", world.comments(1));
    world.go();
    // By a comment; and from this machine, should it pause once more.
    world.change("POST", "issues/1/comments", &json!({"body": "/pilot resume"}));
    assert!(within(PATIENCE, || agents_of(&world, "GH-1") == 2), "{}", world.log());
    let is_done = || {
        let stage = world.stage(1);
        if stage == "paused" {
            run(world.pilot(&["resume", "GH-1"]));
        }
        stage == "done"
    };
    assert!(within(PATIENCE, is_done), "{}", world.log());
}
