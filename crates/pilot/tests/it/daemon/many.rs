//! Several projects in one daemon: what it had in its hands for each goes on after a kill, and orders wait for all of them.

use std::fs;

use serde_json::json;

use super::world::{PATIENCE, World};
use crate::forge::http::git;
use crate::program::{run, within};

/// A second project on the same forge, and a configuration with both.
fn with_a_cafe() -> World {
    let world = World::new();
    let made = world.client.ask("POST", "/user/repos", &json!({"name": "cafe", "auto_init": true}));
    assert_eq!(made.expect("an answer").status, 201);
    let (place, url) = (world.folder.path(), world.client.clone_url("pilot/cafe"));
    assert_eq!(run(git(place, &["clone", "-q", &url, "cafe"])).code, Some(0));
    let cafe = world.path("cafe");
    fs::create_dir_all(cafe.join(".pilot")).expect("a folder");
    fs::write(cafe.join(".pilot/ci.sh"), "true\n").expect("a file");
    for args in [&["add", "-A"][..], &["commit", "-qm", "ci"], &["push", "-q", "origin", "HEAD"]] {
        assert_eq!(run(git(&cafe, args)).code, Some(0), "{args:?}");
    }
    let clean = format!("{}/pilot/cafe.git", world.client.url);
    assert_eq!(run(git(&cafe, &["remote", "set-url", "origin", &clean])).code, Some(0));
    world.configure(&also("cafe", &cafe.display().to_string()));
    world
}

fn also(repo: &str, path: &str) -> String {
    format!("  - {{name: {repo}, path: {path}, github: {{owner: pilot, repo: {repo}}}}}\n")
}

fn file_in_the_cafe(world: &World) {
    let new = json!({"title": "feat: a cup", "body": "Please.", "labels": ["pilot"]});
    let filed = world.client.ask("POST", "/repos/pilot/cafe/issues", &new);
    assert_eq!(filed.expect("an answer").status, 201);
}

#[test]
fn what_was_under_way_in_every_project_goes_on_after_a_kill() {
    let world = with_a_cafe();
    world.file("feat: a file", "Please.");
    file_in_the_cafe(&world);
    // The claim of the second is in its hands when it dies.
    assert_eq!(world.start_with(&[("PILOT_FAILPOINT", "claim-before@2")]).end(), None, "it dies");
    let daemon = world.start();
    let merged = |repo: &str| {
        let pulls = world.client.get(&format!("/repos/pilot/{repo}/pulls?state=all"));
        pulls.as_array().is_some_and(|pulls| pulls.len() == 1 && pulls[0]["merged_at"].is_string())
    };
    assert!(within(PATIENCE / 4, || merged("shop") && merged("cafe")), "{}", world.log());
    drop(daemon);
}

#[test]
fn a_command_is_for_the_task_of_one_project() {
    let world = with_a_cafe();
    world.file("feat: a file", "please wait");
    let new = json!({"title": "feat: a cup", "body": "please wait", "labels": ["pilot"]});
    assert_eq!(world.client.ask("POST", "/repos/pilot/cafe/issues", &new).expect("an answer").status, 201);
    let _daemon = world.start();
    let stage_in = |repo: &str| {
        let said = run(world.pilot(&["status", "--all", "--json"])).stdout;
        let said: serde_json::Value = serde_json::from_str(&said).unwrap_or_default();
        let tasks = said["tasks"].as_array().cloned().unwrap_or_default();
        let task = tasks.into_iter().find(|task| task["project"] == format!("github:pilot/{repo}"));
        task.map_or(String::new(), |task| task["stage"].as_str().unwrap_or_default().to_owned())
    };
    let runs = || run(world.pilot(&["logs", "--json"])).stdout.lines().count();
    let both_run = || stage_in("shop") == "running" && stage_in("cafe") == "running" && runs() == 2;
    assert!(within(PATIENCE / 4, both_run), "{}", world.log());
    let unclear = run(world.pilot(&["cancel", "GH-1"]));
    assert_eq!(unclear.code, Some(2), "{}", unclear.stderr);
    assert!(unclear.stderr.contains("github:pilot/cafe") && unclear.stderr.contains("--project"));
    for command in ["pause", "resume", "retry", "why", "logs", "replay"] {
        let unclear = run(world.pilot(&[command, "GH-1"]));
        assert_eq!(unclear.code, Some(2), "{command}: {}{}", unclear.stdout, unclear.stderr);
        let names = unclear.stderr.contains("shop") && unclear.stderr.contains("cafe");
        assert!(names, "{command}: {}", unclear.stderr);
    }
    for (command, key) in [("why", "pilot/cafe/GH-1"), ("logs", "cafe/GH-1"), ("replay", "pilot/cafe/GH-1")] {
        let said = run(world.pilot(&[command, key]));
        assert_eq!(said.code, Some(0), "{command} {key}: {}", said.stderr);
    }
    let why = run(world.pilot(&["why", "cafe/GH-1"])).stdout;
    assert!(why.contains("GH-1 of github:pilot/cafe: feat: a cup"), "{why}");
    let log = world.log();
    assert!(log.contains("cafe/GH-1 (feat: a cup): ") && log.contains("shop/GH-1 (feat: a file): "), "{log}");
    let wrong = run(world.pilot(&["cancel", "GH-1", "--project", "pilot/tea"]));
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
    let given = run(world.pilot(&["cancel", "GH-1", "--project", "pilot/cafe"]));
    assert_eq!(given.code, Some(0), "{}", given.stderr);
    assert!(within(PATIENCE / 4, || stage_in("cafe") == "cancelled"), "{}", world.log());
    assert_eq!(stage_in("shop"), "running", "the task of the other project goes on");
}

#[test]
fn a_command_for_a_project_that_is_not_configured_any_more_says_so() {
    let world = with_a_cafe();
    file_in_the_cafe(&world);
    let daemon = world.start();
    let is_known = || run(world.pilot(&["status", "--all", "--json"])).stdout.contains("\"GH-1\"");
    assert!(within(PATIENCE / 4, is_known), "{}", world.log());
    daemon.kill();
    world.configure("");
    let _daemon = world.start();
    let is_up = || {
        let said = run(world.pilot(&["status", "--json"])).stdout;
        serde_json::from_str::<serde_json::Value>(&said).is_ok_and(|said| said["daemon"].is_number())
    };
    assert!(within(PATIENCE / 4, is_up), "{}", world.log());
    let given = run(world.pilot(&["cancel", "GH-1"]));
    let not_done = || given.stderr.contains("does not work on github:pilot/cafe, so nothing was done");
    assert!(given.code == Some(2) && not_done(), "{given:?}\n{}", world.log());
    assert!(world.log().contains("does not work on github:pilot/cafe"), "{}", world.log());
}

#[test]
fn commands_of_the_version_before_are_carried_out_or_logged() {
    let world = World::new();
    let issue = world.file("feat: a file", "please wait");
    let daemon = world.start();
    world.until(issue, "running");
    daemon.kill();
    let orders = world.home().join("orders");
    fs::create_dir_all(&orders).expect("a folder");
    for name in ["00000000000000000001-cancel-GH-1", "00000000000000000002-retry-GH-99", "nonsense"] {
        fs::write(orders.join(name), "").expect("a file");
    }
    let _daemon = world.start();
    world.until(issue, "cancelled");
    let says = |words: &str| within(PATIENCE / 4, || world.log().contains(words));
    assert!(says("GH-99") && says("knew no such task: it is ignored"), "{}", world.log());
    assert!(says("nonsense is no command that this version can read"), "{}", world.log());
    let is_taken = || fs::read_dir(&orders).expect("a folder").count() == 0;
    assert!(within(PATIENCE / 4, is_taken), "{}", world.log());
}

#[test]
fn an_order_waits_for_a_project_whose_forge_has_not_answered() {
    let world = World::new();
    // A project whose repository is not there yet.
    let cafe = world.path("cafe");
    let url = world.client.clone_url("pilot/shop");
    assert_eq!(run(git(world.folder.path(), &["clone", "-q", &url, "cafe"])).code, Some(0));
    world.configure(&also("cafe", &cafe.display().to_string()));
    let _daemon = world.start();
    assert!(within(PATIENCE, || world.log().contains("working on")), "{}", world.log());
    assert_eq!(run(world.pilot(&["pause"])).code, Some(0));
    let made = world.client.ask("POST", "/user/repos", &json!({"name": "cafe", "auto_init": true}));
    assert_eq!(made.expect("an answer").status, 201);
    file_in_the_cafe(&world);
    let held = || {
        let said = run(world.pilot(&["status", "--json"])).stdout;
        said.contains("github:pilot/cafe") && said.contains("paused")
    };
    assert!(within(PATIENCE / 4, held), "{}\n{}", run(world.pilot(&["status"])).stdout, world.log());
    assert_eq!(world.agents().len(), 0, "nothing began in the paused project");
}
