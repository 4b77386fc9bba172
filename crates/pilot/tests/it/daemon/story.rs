//! From label to merged pull request, and what people may say on the way.

use serde_json::json;

use super::world::World;
use crate::program::{run, within};

#[test]
fn a_labelled_issue_becomes_a_merged_pull_request() {
    let world = World::new();
    let issue = world.file("feat: add a file", "Please.");
    let ended = world.once();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let pulls = world.pulls();
    assert_eq!(pulls.len(), 1, "{pulls:?}");
    assert!(pulls[0]["merged_at"].is_string());
    assert!(pulls[0]["body"].as_str().unwrap().contains(&format!("Closes #{issue}")), "{}", pulls[0]["body"]);
    let closed = world.get(&format!("issues/{issue}"));
    assert_eq!(closed["state"], "closed");
    let labels: Vec<&str> =
        closed["labels"].as_array().unwrap().iter().map(|label| label["name"].as_str().unwrap()).collect();
    assert!(labels.contains(&"pilot-done") && !labels.contains(&"pilot-in-progress"), "{labels:?}");
    assert!(world.files().contains(&"GH-1.txt".to_owned()));
    assert_eq!(world.comments(issue).len(), 1, "one comment, written over");
    assert_eq!(world.get("branches").as_array().unwrap().len(), 1, "its branch is gone");
    assert_eq!(world.get("tags")[0]["name"], "v0.1.0");
    let why = run(world.pilot(&["why", "GH-1"]));
    assert!(why.stdout.contains("done: Done: #2 is merged"), "{}", why.stdout);
}

#[test]
fn progress_and_cost_are_in_the_snapshot_and_the_feed_goes_on_from_it() {
    let world = World::new();
    let issue = world.file("feat: add a file", "please wait");
    let daemon = world.start();
    world.until(issue, "running");
    let snapshot = || -> serde_json::Value {
        serde_json::from_str(&run(world.pilot(&["status", "--json"])).stdout).unwrap_or_default()
    };
    let shown = || snapshot()["tasks"][0]["phase"].is_string();
    assert!(within(super::world::PATIENCE, shown), "{}\n{}", snapshot(), world.log());
    let before = snapshot();
    let task = &before["tasks"][0];
    assert_eq!((&task["task"], &task["stage"]), (&json!("GH-1"), &json!("running")));
    assert!(task["percent"].is_u64() && task["elapsed_seconds"].is_u64(), "{task}");
    assert_eq!(before["projects"][0]["running"], 1);
    assert!(before["budget"]["daily_limit_usd"].is_number() && before["daemon"].is_u64(), "{before}");
    let text = run(world.pilot(&["status"])).stdout;
    assert!(text.contains("Running (1)") && text.contains(" %, ") && text.contains(", $"), "{text}");
    world.go();
    world.until(issue, "done");
    assert_eq!(run(world.pilot(&["stop"])).code, Some(0));
    assert_eq!(daemon.end(), Some(0));
    let since = before["feed_seq"].to_string();
    let events = run(world.pilot(&["events", "--since", &since, "--json"])).stdout;
    let events: Vec<serde_json::Value> =
        events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let first = before["feed_seq"].as_u64().unwrap() + 1;
    let numbers: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (first..first + numbers.len() as u64).collect::<Vec<u64>>(), "without gaps");
    let stages: Vec<&str> =
        events.iter().filter_map(|event| event["event"]["stage"]["stage"].as_str()).collect();
    assert!(stages.contains(&"awaiting_ci") && stages.contains(&"ended"), "{stages:?}");
    let text = run(world.pilot(&["events"])).stdout;
    assert!(text.contains("GH-1") && text.contains("is merged"), "{text}");
}

#[test]
fn a_failed_check_is_fixed_on_the_same_branch() {
    let world = World::new();
    let issue = world.file("feat: something", "please break it");
    let ended = world.once();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let fixes = world.get("issues?state=all&labels=autopilot-fix");
    let fix = &fixes.as_array().unwrap()[0];
    assert_eq!(fix["title"], "Fix CI: feat: something");
    assert!(fix["body"].as_str().unwrap().contains("broken is there"), "{}", fix["body"]);
    let pulls = world.pulls();
    let states: Vec<bool> = pulls.iter().map(|pull| pull["merged_at"].is_string()).collect();
    assert_eq!(states, [true, false], "the second was merged, the first closed");
    assert_eq!(pulls[0]["head"]["ref"], pulls[1]["head"]["ref"]);
    assert_eq!(world.get(&format!("issues/{issue}"))["state"], "closed");
    let files = world.files();
    assert!(files.contains(&format!("GH-{issue}.txt")) && !files.contains(&"broken".to_owned()), "{files:?}");
}

#[test]
fn people_are_obeyed() {
    let world = World::new();
    let (cancelled, unlabelled) = (world.file("one", "please wait"), world.file("two", "please wait"));
    let daemon = world.start();
    world.until(cancelled, "running");
    world.until(unlabelled, "running");
    assert!(within(super::world::PATIENCE, || world.agents().len() == 2));
    world.change("POST", &format!("issues/{cancelled}/comments"), &json!({"body": "/pilot cancel"}));
    world.until(cancelled, "cancelled");
    world.change("DELETE", &format!("issues/{unlabelled}/labels/pilot"), &json!(null));
    world.until(unlabelled, "held");
    world.change("POST", &format!("issues/{cancelled}/comments"), &json!({"body": "/pilot why"}));
    let answered = || {
        world.comments(cancelled).iter().any(|comment| {
            let body = comment["body"].as_str().unwrap_or_default();
            body.contains("Cancelled by") && !body.starts_with("/pilot")
        })
    };
    assert!(within(super::world::PATIENCE, answered), "{}", world.log());
    world.go();
    world.change("POST", &format!("issues/{cancelled}/comments"), &json!({"body": "/pilot retry"}));
    world.until(cancelled, "done");
    assert_eq!(run(world.pilot(&["stop"])).code, Some(0));
    assert_eq!(daemon.end(), Some(0));
}
