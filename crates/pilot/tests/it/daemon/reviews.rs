//! People's reviews of a pull request, and what they tell Pilot on it.

use std::fs;

use serde_json::{Value, json};

use super::world::{PATIENCE, World};
use crate::forge::http::{Client, git};
use crate::program::{run, within};

/// A world whose CI waits until it is let go.
fn world_with_slow_ci() -> World {
    let world = World::new();
    let (shop, green) = (world.shop(), world.path("green"));
    let wait = format!("while [ ! -e {} ]; do sleep 0.05; done\n", green.display());
    let ci = shop.join(".pilot/ci.sh");
    let before = fs::read_to_string(&ci).expect("a script");
    fs::write(&ci, format!("{wait}{before}")).expect("a file");
    let url = world.client.clone_url("pilot/shop");
    for args in [&["commit", "-qam", "slow ci"][..], &["push", "-q", &url, "HEAD:main"]] {
        let ended = run(git(&shop, args));
        assert_eq!(ended.code, Some(0), "{args:?}: {}", ended.stderr);
    }
    world
}

/// Lets CI go on.
fn finish_ci(world: &World) {
    fs::write(world.path("green"), "").expect("a file");
}

/// Another user, with this permission on the repository.
fn user(world: &World, login: &str, permission: &str) -> Client {
    let made = world.client.ask("POST", "/_forge/users", &json!({"login": login})).expect("an answer").json;
    if !permission.is_empty() {
        world.change("PUT", &format!("collaborators/{login}"), &json!({"permission": permission}));
    }
    Client { url: world.client.url.clone(), token: made["token"].as_str().expect("a token").to_owned() }
}

fn post(user: &Client, path: &str, body: &Value) -> Value {
    let answer = user.ask("POST", &format!("/repos/pilot/shop/{path}"), body).expect("an answer");
    assert!(answer.status < 300, "{path}: {}", answer.json);
    answer.json
}

fn review(user: &Client, pull: u64, event: &str) -> u64 {
    let body = json!({"event": event, "body": "This breaks billing."});
    post(user, &format!("pulls/{pull}/reviews"), &body)["id"].as_u64().expect("a number")
}

/// The number of the newest pull request.
fn pull(world: &World) -> u64 {
    world.pulls()[0]["number"].as_u64().expect("a number")
}

fn is_merged(world: &World) -> bool {
    world.pulls().iter().any(|pull| pull["merged_at"].is_string())
}

fn why(world: &World, issue: u64) -> String {
    run(world.pilot(&["why", &format!("GH-{issue}")])).stdout
}

fn is_said(world: &World, number: u64, words: &str) -> bool {
    let comments = world.comments(number);
    comments.iter().any(|comment| comment["body"].as_str().is_some_and(|body| body.contains(words)))
}

#[test]
fn a_pull_request_is_not_merged_while_a_user_with_write_access_requests_changes() {
    let world = world_with_slow_ci();
    let (ann, eve) = (user(&world, "ann", "push"), user(&world, "eve", "pull"));
    let issue = world.file("feat: one", "Please.");
    let daemon = world.start();
    world.until(issue, "awaiting_ci");
    let number = pull(&world);
    let request = review(&ann, number, "REQUEST_CHANGES");
    review(&ann, number, "COMMENT");
    review(&eve, number, "REQUEST_CHANGES");
    finish_ci(&world);
    world.until(issue, "held");
    let said = why(&world, issue);
    let words = "The review of @ann requests changes on #2. It continues when @ann approves or the review is dismissed.";
    assert!(said.contains(words) && !said.contains("@eve"), "{said}");
    assert!(within(PATIENCE, || is_said(&world, issue, words)), "{:?}", world.comments(issue));
    daemon.kill();
    let daemon = world.start();
    let before = world.log().len();
    world.change("POST", &format!("issues/{issue}/comments"), &json!({"body": "/pilot why"}));
    assert!(within(PATIENCE, || world.comments(issue).len() == 3), "{}", &world.log()[before..]);
    assert_eq!((world.stage(issue).as_str(), is_merged(&world)), ("held", false), "after a restart too");
    let dismissal = format!("pulls/{number}/reviews/{request}/dismissals");
    world.change("PUT", &dismissal, &json!({"message": "Talked about it."}));
    world.until(issue, "done");
    assert!(is_merged(&world));
    daemon.kill();
}

#[test]
fn a_user_who_approves_after_all_lets_the_work_go_on() {
    let world = world_with_slow_ci();
    let ann = user(&world, "ann", "push");
    let issue = world.file("feat: one", "please break it");
    let daemon = world.start();
    world.until(issue, "awaiting_ci");
    let number = pull(&world);
    review(&ann, number, "REQUEST_CHANGES");
    finish_ci(&world);
    world.until(issue, "held");
    let fixes = || world.get("issues?state=all&labels=autopilot-fix").as_array().map_or(0, Vec::len);
    assert_eq!(
        (fixes(), world.pulls()[0]["state"].as_str()),
        (0, Some("open")),
        "the review is not closed away"
    );
    review(&ann, number, "APPROVE");
    world.until(issue, "done");
    assert_eq!((fixes(), is_merged(&world)), (1, true));
    daemon.kill();
}

#[test]
fn commands_count_on_the_pull_request_too() {
    let world = world_with_slow_ci();
    let (ann, eve) = (user(&world, "ann", "push"), user(&world, "eve", "pull"));
    let issue = world.file("feat: one", "Please.");
    let daemon = world.start();
    world.until(issue, "awaiting_ci");
    let number = pull(&world);
    let say = |user: &Client, words: &str| {
        post(user, &format!("issues/{number}/comments"), &json!({"body": words}))
    };
    say(&eve, "/pilot cancel");
    say(&ann, "/pilot pause");
    world.until(issue, "held");
    finish_ci(&world);
    say(&ann, "/pilot why");
    assert!(within(PATIENCE, || is_said(&world, number, "Paused by @ann")), "{:?}", world.comments(number));
    assert!(!is_merged(&world));
    say(&ann, "/pilot resume");
    world.until(issue, "done");
    assert!(is_merged(&world));
    daemon.kill();
}
