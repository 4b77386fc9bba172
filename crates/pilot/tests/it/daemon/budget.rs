//! What does not fit into the budget waits, costs no attempt, and goes on when there is room.

use serde_json::Value;

use super::world::{PATIENCE, World};
use crate::program::{run, within};

/// Spends $1.30 and then, when `go` is there, $0.30 more for the first task and $2 for the others. Commits at its end.
const SPENDER: &str = r#"#!/bin/sh
cat >/dev/null
echo "$PILOT_TASK_ID $$" >>"@/agents"
said() {
  printf '%s\n' '{"type":"assistant","message":{"id":"'$1'","model":"claude-sonnet-4-6","content":[{"type":"text","text":"on it"}],"usage":{"input_tokens":0,"output_tokens":'$2'}},"session_id":"s"}'
}
printf '%s\n' '{"type":"system","subtype":"init","session_id":"s","model":"claude-sonnet-4-6"}'
said m1 86667
while [ ! -e "@/go" ]; do sleep 0.05; done
if [ "$PILOT_TASK_ID" = GH-1 ]; then said m2 20000; else sleep 600; said m2 133334; fi
sleep 600
"#;

fn budget(world: &World) -> Value {
    serde_json::from_str(&run(world.pilot(&["budget", "--json"])).stdout).unwrap_or_default()
}

fn status_comment(world: &World, issue: u64) -> String {
    let comments = world.comments(issue);
    let text = |comment: &Value| comment["body"].as_str().unwrap_or_default().to_owned();
    comments.iter().map(text).find(|body| body.contains("pilot-status")).unwrap_or_default()
}

#[test]
fn a_task_that_does_not_fit_is_held_and_goes_on_when_the_limit_is_raised() {
    let world = World::new();
    world.configure("budget: {daily_limit: 0.50}\n");
    let issues: Vec<u64> =
        (1..=4).map(|number| world.file(&format!("Add login {number}"), "Please.")).collect();
    let daemon = world.start();
    let words = "Not started: a task like this reserves $0.75; only $0.50 is left today";
    for issue in &issues {
        world.until(*issue, "held");
        let told = within(PATIENCE, || status_comment(&world, *issue).starts_with(words));
        assert!(told, "{}\n{}", status_comment(&world, *issue), world.log());
        let labels = world.get(&format!("issues/{issue}"))["labels"].to_string();
        assert!(!labels.contains("pilot-failed"), "{labels}");
    }
    assert!(world.agents().is_empty(), "no agent was started");
    let why = run(world.pilot(&["why", "GH-1"])).stdout;
    assert!(why.contains(words) && !why.contains("failed"), "{why}");
    let shown = run(world.pilot(&["budget"])).stdout;
    assert!(!shown.contains("open") && shown.contains("GH-1: Not started"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    let shown = budget(&world);
    assert_eq!((&shown["state"], shown["waiting"].as_array().map(Vec::len)), (&"holding".into(), Some(4)));
    assert_eq!(run(world.pilot(&["stop"])).code, Some(0));
    assert_eq!(daemon.end(), Some(0));
    assert!(!world.log().contains("failed in a row"), "{}", world.log());
    world.reconfigure("daily_limit: 0.50", "daily_limit: 50");
    let ended = world.once();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for issue in issues {
        assert_eq!(world.stage(issue), "done", "{}", ended.stderr);
    }
    assert_eq!(world.agents().len(), 4, "each ran once");
    assert_eq!(budget(&world)["state"], "open");
}

#[test]
fn three_runs_together_are_stopped_at_the_limit_and_wait_for_the_next_day() {
    let world = World::new();
    let place = world.folder.path().to_string_lossy().into_owned();
    pilot_testkit::program::write(&world.path("agent.sh"), SPENDER.replace('@', &place));
    world.configure("budget: {daily_limit: 4, on_exceed: {daily: stop}}\n");
    world.reconfigure("]}\n  retry: {", "], format: stream-json}\n  retry: {");
    let issues: Vec<u64> =
        (1..=3).map(|number| world.file(&format!("Add login {number}"), "Please.")).collect();
    let daemon = world.start();
    let all_noted = || budget(&world)["reserved_usd"].as_f64().is_some_and(|usd| usd > 3.89);
    assert!(within(PATIENCE, all_noted), "{}\n{}", budget(&world), world.log());
    assert_eq!(world.agents().len(), 3);
    world.go();
    for issue in &issues {
        world.until(*issue, "held");
        let words = "Stopped: today's budget ($4) is used up. It continues tomorrow at 00:00";
        let told = within(PATIENCE, || status_comment(&world, *issue).starts_with(words));
        assert!(told, "{}\n{}", status_comment(&world, *issue), world.log());
    }
    assert_eq!(world.agents().len(), 3, "none was started again");
    let spent = budget(&world)["today"]["spent_usd"].as_f64().unwrap_or_default();
    // What was under way when the limit was reached, and no more.
    assert!((4.0..4.3).contains(&spent), "{}", budget(&world));
    assert_eq!(run(world.pilot(&["stop"])).code, Some(0));
    assert_eq!(daemon.end(), Some(0));
    let log = world.log();
    assert!(!log.contains("failed in a row") && !log.contains("pilot-failed"), "{log}");
}
