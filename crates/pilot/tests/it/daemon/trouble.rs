//! What goes wrong outside: each is said with what to do about it, tried again where that helps, and loses nothing.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::world::{PATIENCE, World};
use crate::program::{command, run, within};

/// Holds a database for as long as its input is open.
const HOLDS: &str = "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)\n\
                     c.execute('BEGIN IMMEDIATE')\nprint('held', flush=True)\nsys.stdin.read()\n";

fn said(world: &World, words: &str) {
    assert!(within(PATIENCE, || world.log().contains(words)), "{words:?} is not in {}", world.log());
}

fn why(world: &World, issue: u64) -> String {
    run(world.pilot(&["why", &format!("GH-{issue}")])).stdout
}

#[test]
fn a_forge_that_comes_late_is_waited_for() {
    let mut world = World::new();
    let issue = world.file("feat: one", "Please.");
    world.fall();
    let ended = world.once();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("`adapters.github.api_url` right?"), "{}", ended.stderr);
    let daemon = world.start();
    said(&world, "asked again until it works");
    world.rise();
    world.until(issue, "done");
    world.fall();
    said(&world, "the forge does not answer");
    world.rise();
    said(&world, "the forge answers again");
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.end(), Some(0));
    for words in ["asked again until it works", "the forge does not answer"] {
        assert_eq!(world.log().matches(words).count(), 1, "{}", world.log());
    }
}

#[test]
fn a_repository_that_cannot_be_worked_on_is_said_before_anything_is_done() {
    let world = World::new();
    let issue = world.file("feat: one", "Please.");
    let user = world.client.ask("POST", "/_forge/users", &json!({"login": "ann"})).expect("an answer").json;
    let token = user["token"].as_str().expect("a token").to_owned();
    world.change("PUT", "collaborators/ann", &json!({"permission": "pull"}));
    let cases: [(&str, &str, Value, Value); 3] = [
        (
            "does not allow the merge method",
            "",
            json!({"allow_squash_merge": false}),
            json!({"allow_squash_merge": true}),
        ),
        ("is archived: unarchive it", "", json!({"archived": true}), json!({"archived": false})),
        ("may not write to pilot/shop", &token, Value::Null, Value::Null),
    ];
    for (says, token, before, after) in cases {
        world.configure("");
        if !token.is_empty() {
            world.reconfigure(&world.client.token, token);
        }
        if before.is_object() {
            world.change("PATCH", "", &before);
        }
        let ended = world.once();
        assert_eq!(ended.code, Some(1), "{says}: {}", ended.stderr);
        assert!(ended.stderr.contains(says), "{says}: {}", ended.stderr);
        if after.is_object() {
            world.change("PATCH", "", &after);
        }
    }
    assert!(world.agents().is_empty() && world.comments(issue).is_empty(), "nothing was done");
    world.configure("");
    world.change("PATCH", "", &json!({"name": "store"}));
    let ended = world.once();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("renamed"), "{}", ended.stderr);
    assert!(ended.stderr.contains("put the new name into the configuration"), "{}", ended.stderr);
}

#[test]
fn a_base_branch_that_is_gone_is_named_and_waited_for() {
    let world = World::new();
    world.reconfigure("path: ", "default_branch: develop, path: ");
    let issue = world.file("feat: one", "Please.");
    let daemon = world.start();
    world.until(issue, "held");
    let words = why(&world, issue);
    assert!(words.contains("develop") && words.contains("the base branch exist"), "{words}");
    assert!(world.agents().is_empty());
    let sha = world.get("git/ref/heads/main")["object"]["sha"].clone();
    world.change("POST", "git/refs", &json!({"ref": "refs/heads/develop", "sha": sha}));
    assert_eq!(run(world.pilot(&["retry", &format!("GH-{issue}")])).code, Some(0));
    world.until(issue, "done");
    assert_eq!(world.pulls()[0]["base"]["ref"], "develop");
    daemon.kill();
}

#[test]
fn a_merge_method_that_is_forbidden_meanwhile_is_held() {
    let world = World::new();
    let issue = world.file("feat: one", "please wait");
    let daemon = world.start();
    world.until(issue, "running");
    world.change("PATCH", "", &json!({"allow_squash_merge": false}));
    world.go();
    world.until(issue, "held");
    let words = why(&world, issue);
    assert!(words.contains("could not merge") && words.contains("merge_method"), "{words}");
    world.change("PATCH", "", &json!({"allow_squash_merge": true}));
    assert_eq!(run(world.pilot(&["retry", &format!("GH-{issue}")])).code, Some(0));
    world.until(issue, "done");
    let merged = world.pulls().iter().filter(|pull| pull["merged_at"].is_string()).count();
    assert_eq!(merged, 1);
    daemon.kill();
}

#[test]
fn a_database_that_another_holds_is_waited_for() {
    let world = World::new();
    let daemon = world.start();
    said(&world, "working on");
    let mut python = command("python3");
    python.args(["-c", HOLDS]).arg(database(&world)).stdin(Stdio::piped()).stdout(Stdio::piped());
    let Ok(mut holder) = python.spawn() else {
        println!("skipped: there is no python3 that could hold the database");
        return;
    };
    let mut line = String::new();
    BufReader::new(holder.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
    assert_eq!(line, "held\n");
    let issue = world.file("feat: one", "Please.");
    said(&world, "tried again until it works");
    drop(holder.stdin.take());
    holder.wait().expect("it ends");
    world.until(issue, "done");
    assert!(world.log().contains("the database can be written again"), "{}", world.log());
    assert_eq!((world.agents().len(), world.pulls().len()), (1, 1));
    assert_eq!(run(world.pilot(&["stop"])).code, Some(0));
    assert_eq!(daemon.end(), Some(0));
}

#[test]
fn a_damaged_database_is_refused_and_a_copy_kept() {
    let world = World::new();
    let issue = world.file("feat: one", "Please.");
    assert_eq!(world.once().code, Some(0));
    assert_eq!(world.stage(issue), "done");
    let file = database(&world);
    let mut bytes = fs::read(&file).expect("a database");
    let half = bytes.len() / 2;
    bytes[half..].fill(0x5a);
    fs::write(&file, &bytes).expect("a file");
    for more in ["-wal", "-shm"] {
        let mut name = file.clone().into_os_string();
        name.push(more);
        let _ = fs::remove_file(name);
    }
    let ended = world.once();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("the database is damaged"), "{}", ended.stderr);
    let beside = fs::read_dir(file.parent().expect("a folder")).expect("a folder").flatten();
    let copies =
        beside.filter(|entry| entry.path() != file && fs::read(entry.path()).is_ok_and(|copy| copy == bytes));
    assert_eq!(copies.count(), 1, "{}", ended.stderr);
    assert_eq!(fs::read(&file).expect("a file"), bytes, "it is left as it is");
}

fn database(world: &World) -> std::path::PathBuf {
    let mut folders = vec![world.home()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            if entry.file_name() == "pilot.db" {
                return entry.path();
            }
            if entry.path().is_dir() {
                folders.push(entry.path());
            }
        }
    }
    panic!("there is no database");
}
