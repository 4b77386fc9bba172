//! Faults of the forge, one at a time, on the way of a task from label to merged pull request: whatever is refused, lost, late,
//! cut or stale, there is exactly one merged pull request in the end, and nothing was wrongly closed or failed.

use std::collections::BTreeSet;
use std::sync::Mutex;

use serde_json::{Value, json};

use super::world::World;
use crate::program::{is_full, run, turn};

/// What can go wrong with a call: the fault, and what else its rule says.
const KINDS: &[&str] = &[
    r#"{"fault": "refuse"}"#,
    r#"{"fault": "lose_reply"}"#,
    r#"{"fault": "delay", "ms": 700}"#,
    r#"{"fault": "reset_mid_body"}"#,
    r#"{"fault": "truncated_json"}"#,
    r#"{"fault": "html", "status": 502}"#,
    r#"{"fault": "status", "status": 403, "reason": "secondary_limit", "retry_after": 1}"#,
    r#"{"fault": "status", "status": 404}"#,
    r#"{"fault": "status", "status": 409}"#,
    r#"{"fault": "status", "status": 422}"#,
    r#"{"fault": "status", "status": 429, "retry_after": 1}"#,
    r#"{"fault": "status", "status": 500}"#,
    r#"{"fault": "status", "status": 503}"#,
    r#"{"fault": "stale_read"}"#,
    r#"{"fault": "without_newest"}"#,
];

/// How many of the grid the ordinary run takes, at least.
const PART: usize = 60;

/// How many worlds there are side by side.
const SIDE_BY_SIDE: usize = 4;

/// A call the daemon makes, as the forge names it.
type Route = (String, String);

#[test]
fn every_fault_on_every_call_still_ends_in_one_merged_pull_request() {
    let routes = routes();
    let grid: Vec<(Route, &str)> =
        routes.iter().flat_map(|route| KINDS.iter().map(|kind| (route.clone(), *kind))).collect();
    // Some of every call, and others with another commit.
    let step = if is_full() { 1 } else { (grid.len() / PART).max(1) };
    let first = usize::try_from(turn() % step as u64).expect("a place in a list");
    let chosen: Vec<&(Route, &str)> = grid.iter().skip(first).step_by(step).collect();
    println!("{} of {} faults on {} calls, from {first}", chosen.len(), grid.len(), routes.len());
    let (next, wrong) = (Mutex::new(chosen.into_iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                loop {
                    let taken = next.lock().expect("no panic").next();
                    let Some(((method, route), kind)) = taken else { return };
                    let complaints = play(method, route, kind);
                    let complaints =
                        complaints.into_iter().map(|what| format!("{method} {route} {kind}: {what}"));
                    wrong.lock().expect("no panic").extend(complaints);
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no panic");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// The calls of a run without faults.
fn routes() -> BTreeSet<Route> {
    let world = World::new();
    world.file("feat: one", "Please.");
    let before = world.client.get("/_forge/requests")["total"].clone();
    let ended = world.once();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let asked = world.client.get(&format!("/_forge/requests?since={before}"));
    let word = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let rows = asked["requests"].as_array().expect("a list").iter();
    let rows = rows.map(|row| (word(row, "method"), word(row, "route")));
    rows.filter(|(_, route)| !route.is_empty() && !route.contains("_forge")).collect()
}

/// A task on a forge that does this to the first and the third of these calls.
fn play(method: &str, route: &str, kind: &str) -> Vec<String> {
    let world = World::new();
    let issue = world.file("feat: one", "Please.");
    let mut rule: Value = serde_json::from_str(kind).expect("JSON");
    rule["method"] = json!(method);
    rule["route"] = json!(route);
    rule["calls"] = json!([1, 3]);
    let put = world.client.ask("PUT", "/_forge/faults", &json!({"rules": [rule]})).expect("an answer");
    let mut wrong = Vec::new();
    if put.status >= 300 {
        return vec![format!("the plan is refused: {}", put.json)];
    }
    let mut ended = world.once();
    // A forge that fails the first question of all is an answer too.
    let mut said = ended.stderr.clone();
    for _ in 0..2 {
        if ended.code == Some(0) && world.stage(issue) == "done" {
            break;
        }
        ended = world.once();
        said.push_str(&ended.stderr);
    }
    let nothing = json!({"rules": []});
    world.client.ask("PUT", "/_forge/faults", &nothing).expect("an answer");
    let pulls = world.pulls();
    if pulls.len() != 1 || !pulls[0]["merged_at"].is_string() {
        let states: Vec<String> =
            pulls.iter().map(|pull| format!("{} {}", pull["state"], pull["merged_at"])).collect();
        wrong.push(format!("{} pull requests: {states:?}", pulls.len()));
    }
    if world.stage(issue) != "done" || world.get(&format!("issues/{issue}"))["state"] != "closed" {
        wrong.push(format!("the task is {}", world.stage(issue)));
    }
    if world.agents().len() != 1 {
        wrong.push(format!("{} agents", world.agents().len()));
    }
    if world.comments(issue).len() != 1 {
        wrong.push(format!("{} comments", world.comments(issue).len()));
    }
    if !wrong.is_empty() {
        let why = run(world.pilot(&["why", &format!("GH-{issue}")])).stdout;
        wrong.push(format!("{said}\n{why}"));
    }
    wrong
}
