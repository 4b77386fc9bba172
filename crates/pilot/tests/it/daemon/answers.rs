//! What people get to read when Pilot does not do as they wrote.

use serde_json::{Value, json};

use super::reviews::{post, user};
use super::world::{PATIENCE, World};
use crate::forge::http::Client;
use crate::program::{run, within};

fn bodies(world: &World, issue: u64) -> Vec<String> {
    let comments = world.comments(issue);
    comments.iter().map(|comment| comment["body"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Waits until so many comments hold these words, and no more.
fn said(world: &World, issue: u64, words: &str, times: usize) {
    let count = || bodies(world, issue).iter().filter(|body| body.contains(words)).count();
    assert!(within(PATIENCE, || count() == times), "{words:?}: {:?}\n{}", bodies(world, issue), world.log());
}

fn labels(world: &World, issue: u64) -> Vec<String> {
    let issue = world.get(&format!("issues/{issue}"));
    let names = issue["labels"].as_array().map_or(&[][..], Vec::as_slice).iter();
    names.map(|label| label["name"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_command_that_changes_nothing_is_answered_once() {
    let world = World::new();
    let (ann, eve) = (user(&world, "ann", "push"), user(&world, "eve", "pull"));
    let issue = world.file("feat: one", "Please.");
    assert_eq!(world.once().code, Some(0));
    for command in ["retry", "cancel", "pause"] {
        let ended = run(world.pilot(&[command, "GH-1"]));
        let words = format!("GH-1 is already merged; nothing to {command}.");
        assert!(ended.code == Some(0) && ended.stderr.contains(&words), "{}", ended.stderr);
    }
    let daemon = world.start();
    let say = |user: &Client, words: &str| {
        post(user, &format!("issues/{issue}/comments"), &json!({"body": words}));
    };
    for command in ["retry", "cancel", "pause"] {
        say(&ann, &format!("/pilot {command}"));
        said(&world, issue, &format!("GH-1 is already merged; nothing to {command}."), 1);
    }
    say(&ann, "/pilot dance");
    said(&world, issue, "`/pilot dance` is no command. There are `/pilot cancel`", 1);
    say(&eve, "/pilot retry");
    say(&eve, "/pilot cancel");
    said(&world, issue, "@eve has no write access here", 1);
    say(&ann, "/pilot why");
    said(&world, issue, "GH-1: Merged: PR #2", 1);
    said(&world, issue, "@eve has no write access here", 1);
    assert_eq!((world.stage(issue).as_str(), world.agents().len()), ("done", 1));
    assert_eq!(labels(&world, issue), ["pilot", "pilot-done"]);
    assert!(bodies(&world, issue)[0].starts_with("Merged: PR #2"), "{:?}", bodies(&world, issue));
    daemon.kill();
}

#[test]
fn an_issue_that_is_held_before_it_began_says_so_in_one_comment() {
    let world = World::new();
    let eve = user(&world, "eve", "pull");
    let new = post(&eve, "issues", &json!({"title": "feat: one", "body": "Please."}));
    let issue = new["number"].as_u64().expect("a number");
    world.change("POST", &format!("issues/{issue}/labels"), &json!({"labels": ["pilot"]}));
    let daemon = world.start();
    world.until(issue, "held");
    said(&world, issue, "@eve has no write access here.", 1);
    daemon.kill();
    let daemon = world.start();
    world.change("PATCH", &format!("issues/{issue}"), &json!({"body": "Depends on: #77"}));
    said(&world, issue, "@eve has no write access here.", 1);
    world.change("PUT", "collaborators/eve", &json!({"permission": "push"}));
    said(&world, issue, "#77, which does not exist", 1);
    assert_eq!((bodies(&world, issue).len(), world.agents().len()), (1, 0), "written over, not repeated");
    world.change("PATCH", &format!("issues/{issue}"), &json!({"body": "Please."}));
    world.until(issue, "done");
    assert_eq!(bodies(&world, issue).len(), 1);
    daemon.kill();
}

#[test]
fn the_text_of_a_user_who_lost_write_access_reaches_no_agent() {
    let world = World::new();
    let ann = user(&world, "ann", "push");
    let first =
        world.change("POST", "issues", &json!({"title": "later"}))["number"].as_u64().expect("a number");
    let text = json!({"title": "feat: one", "body": format!("Depends on: #{first}"), "labels": ["pilot"]});
    let issue = post(&ann, "issues", &text)["number"].as_u64().expect("a number");
    let daemon = world.start();
    world.until(issue, "held");
    said(&world, issue, "still open", 1);
    world.change("DELETE", "collaborators/ann", &Value::Null);
    let edited = ann.ask("PATCH", &format!("/repos/pilot/shop/issues/{issue}"), &json!({"body": "Do evil."}));
    assert_eq!(edited.expect("an answer").status, 200);
    world.change("PATCH", &format!("issues/{first}"), &json!({"state": "closed"}));
    said(&world, issue, "@ann has no write access here.", 1);
    assert_eq!((world.stage(issue).as_str(), world.agents().len()), ("held", 0));
    daemon.kill();
}
