//! One issue, or one task, to its pull request in the foreground.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::world::{PATIENCE, World};
use crate::forge::http::git;
use crate::program::{Ended, run, within};

fn result(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{}{}", ended.stdout, ended.stderr))
}

#[test]
fn one_issue_is_merged_and_no_other_is_begun() {
    let world = World::new();
    let issue = world.file("feat: something", "please break it");
    world.file("another", "Please.");
    let ended = run(world.pilot(&["github", "run", "1", "--json"]));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let said = result(&ended);
    assert_eq!((&said["issue"], &said["status"]), (&json!(issue), &json!("merged")), "{said}");
    let pulls = world.pulls();
    assert_eq!(pulls.len(), 2, "the first failed CI, the second is its fix");
    assert_eq!((&said["pr_number"], &said["pr_url"]), (&pulls[0]["number"], &pulls[0]["html_url"]));
    assert!(ended.stderr.contains("GH-1"), "its story is told: {}", ended.stderr);
    assert!(world.agents().iter().all(|(task, _)| task != "GH-2"), "{:?}", world.agents());
    assert!(["", "queued"].contains(&world.stage(2).as_str()), "{}", world.stage(2));
}

#[test]
fn an_issue_that_nobody_labelled_is_left_alone_unless_asked() {
    let world = World::new();
    world.change("POST", "issues", &json!({"title": "feat: a file", "body": "Please."}));
    let ended = run(world.pilot(&["github", "run", "1"]));
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("#1 of pilot/shop has no label \"pilot\""), "{}", ended.stderr);
    assert!(world.agents().is_empty());
    let missing = run(world.pilot(&["github", "run", "77", "--label"]));
    assert_eq!(missing.code, Some(2), "{}", missing.stderr);
    let ended = run(world.pilot(&["github", "run", "1", "--label"]));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.starts_with("GH-1 merged: Merged: PR #2"), "{}", ended.stdout);
    let closed = run(world.pilot(&["github", "run", "1"]));
    assert_eq!(closed.code, Some(2), "{}", closed.stderr);
    assert!(closed.stderr.contains("is closed: reopen it"), "{}", closed.stderr);
}

#[test]
fn what_is_held_says_why_and_ends_with_three() {
    let world = World::new();
    let first = world.file("feat: one", "please wait");
    let second = world.file("feat: two", &format!("Depends on: #{first}"));
    let ended = run(world.pilot(&["github", "run", &second.to_string(), "--json"]));
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    let said = result(&ended);
    assert_eq!((&said["status"], &said["pr_number"]), (&json!("held"), &json!(null)));
    assert!(said["reason"].as_str().unwrap().contains(&format!("#{first}")), "{said}");
}

#[test]
fn one_that_is_interrupted_goes_on_and_a_daemon_goes_first() {
    let world = World::new();
    world.file("feat: one", "please wait");
    let interrupted = world.spawn(world.pilot(&["github", "run", "1"]));
    assert!(within(PATIENCE, || world.agents().len() == 1), "{}", world.log());
    interrupted.signal(Signal::INT);
    interrupted.signal(Signal::TERM);
    assert_eq!(interrupted.end(), Some(130), "{}", world.log());
    world.go();
    let ended = run(world.pilot(&["github", "run", "1"]));
    assert_eq!(ended.code, Some(0), "it goes on: {}", ended.stderr);
    assert_eq!(world.pulls().len(), 1);
    let daemon = world.start();
    assert!(within(PATIENCE, || run(world.pilot(&["status"])).stdout.starts_with("The daemon is running")));
    let ended = run(world.pilot(&["github", "run", "1"]));
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("a daemon runs already, with process"), "{}", ended.stderr);
    daemon.kill();
}

#[test]
fn a_task_is_published_as_one_pull_request() {
    let world = World::new();
    let shop = world.shop();
    let task = ["task", "--json", "-p", shop.to_str().unwrap(), "--branch", "pilot/file"];
    let quiet = result(&run(world.pilot(&[&task[..], &["Add a file"]].concat())));
    assert_eq!((&quiet["pr_number"], &quiet["pr_url"]), (&json!(null), &json!(null)));
    assert!(world.pulls().is_empty());
    let publish = [&task[..], &["--pr", "feat: add a file"]].concat();
    let ended = run(world.pilot(&publish));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let said = result(&ended);
    let pulls = world.pulls();
    assert_eq!(pulls.len(), 1);
    assert_eq!((&said["pr_number"], &said["pr_url"]), (&pulls[0]["number"], &pulls[0]["html_url"]));
    assert_eq!((&pulls[0]["title"], &pulls[0]["state"]), (&json!("feat: add a file"), &json!("open")));
    assert_eq!(pulls[0]["head"]["sha"], said["commit_sha"]);
    assert!(pulls[0]["body"].as_str().unwrap().contains("### How it was tested"), "{}", pulls[0]["body"]);
    let again = result(&run(world.pilot(&publish)));
    assert_eq!(again["pr_number"], said["pr_number"], "the same branch has the same pull request");
    assert_eq!(world.pulls()[0]["head"]["sha"], again["commit_sha"]);
    let logs = run(world.pilot(&["logs", "--json"]));
    assert!(logs.stdout.contains(said["pr_url"].as_str().unwrap()), "{}", logs.stdout);
}

#[test]
fn work_that_cannot_be_published_is_kept() {
    let world = World::new();
    let shop = world.shop();
    let url = world.client.clone_url("pilot/shop");
    for args in [
        &["checkout", "-q", "-b", "side"][..],
        &["commit", "-q", "--allow-empty", "-m", "theirs"],
        &["push", "-q", &url, "HEAD:refs/heads/pilot/taken"],
        &["checkout", "-q", "main"],
    ] {
        let ended = run(git(&shop, args));
        assert_eq!(ended.code, Some(0), "{args:?}: {}", ended.stderr);
    }
    let task = ["task", "--pr", "--json", "-p", shop.to_str().unwrap(), "Add a file", "--branch"];
    let ended = run(world.pilot(&[&task[..], &["pilot/taken"]].concat()));
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let said = result(&ended);
    assert_eq!((&said["status"], &said["pr_number"]), (&json!("completed"), &json!(null)));
    assert!(ended.stderr.contains("the branch has other commits on the forge"), "{}", ended.stderr);
    assert!(ended.stderr.contains("git push origin pilot/taken"), "{}", ended.stderr);
    let kept = run(git(&shop, &["rev-parse", "pilot/taken"]));
    assert_eq!(kept.stdout.trim(), said["commit_sha"]);
    let agents = world.agents().len();
    let ended = run(world.pilot(&[&task[..], &["mine"]].concat()));
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("does not begin with pilot/"), "{}", ended.stderr);
    assert_eq!(world.agents().len(), agents, "nothing was begun");
}
