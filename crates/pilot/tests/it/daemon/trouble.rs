//! What goes wrong outside: each is said with what to do about it, tried again where that helps, and loses nothing.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::world::{PATIENCE, World};
use crate::forge::http::git;
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
    once(&world, 1);
    daemon.kill();
}

/// Everything was done once: so many agents, one pull request that was merged.
fn once(world: &World, agents: usize) {
    let merged = world.pulls().iter().filter(|pull| pull["merged_at"].is_string()).count();
    assert_eq!((world.agents().len(), merged), (agents, 1), "{}", world.log());
}

/// Something that goes wrong while an agent is at work.
struct Mishap {
    happens: fn(&World, u64),
    /// What is said of it, with what to do about it.
    says: &'static [&'static str],
    /// Whether the forge takes a comment meanwhile.
    commented: bool,
    repaired: fn(&World, u64),
}

/// The task is held with the reason, and continues with the work that it has when a person fixes that.
fn overcome(world: &World, mishap: &Mishap) {
    let issue = world.file("feat: one", "please wait");
    let daemon = world.start();
    world.until(issue, "running");
    (mishap.happens)(world, issue);
    world.go();
    world.until(issue, "held");
    let (why, status) = (why(world, issue), run(world.pilot(&["status"])).stdout);
    for words in mishap.says {
        assert!(why.contains(words), "{words:?} is not in {why}");
    }
    assert!(status.contains(mishap.says[0]), "{:?} is not in {status}", mishap.says[0]);
    let said = |comment: &Value| comment["body"].as_str().is_some_and(|body| body.contains(mishap.says[0]));
    if mishap.commented {
        let told = within(PATIENCE, || world.comments(issue).iter().any(said));
        assert!(told, "{:?} is not in {:?}", mishap.says[0], world.comments(issue));
    }
    (mishap.repaired)(world, issue);
    world.change("POST", &format!("issues/{issue}/comments"), &json!({"body": "/pilot retry"}));
    world.until(issue, "done");
    once(world, 1);
    assert_eq!(world.pulls().len(), 1);
    assert!(world.files().contains(&format!("GH-{issue}.txt")));
    daemon.kill();
}

#[test]
fn a_branch_that_somebody_else_moved_is_not_overwritten() {
    overcome(
        &World::new(),
        &Mishap {
            happens: |world, issue| {
                let sha = world.get("git/ref/heads/main")["object"]["sha"].clone();
                let name = format!("refs/heads/pilot/GH-{issue}");
                world.change("POST", "git/refs", &json!({"ref": name, "sha": sha}));
            },
            says: &["could not push the branch", "the branch was moved meanwhile", "`/pilot retry`"],
            commented: true,
            repaired: |world, issue| {
                world.change("DELETE", &format!("git/refs/heads/pilot/GH-{issue}"), &Value::Null);
            },
        },
    );
}

#[test]
fn a_base_branch_that_is_deleted_meanwhile_is_held() {
    let develop = |world: &World| {
        let sha = world.get("git/ref/heads/main")["object"]["sha"].clone();
        world.change("POST", "git/refs", &json!({"ref": "refs/heads/develop", "sha": sha}));
    };
    let world = World::new();
    develop(&world);
    world.reconfigure("path: ", "default_branch: develop, path: ");
    let issue = world.file("feat: one", "please wait");
    let daemon = world.start();
    world.until(issue, "running");
    world.change("DELETE", "git/refs/heads/develop", &Value::Null);
    world.go();
    world.until(issue, "held");
    let words = why(&world, issue);
    assert!(words.contains("could not open the pull request") && words.contains("base"), "{words}");
    develop(&world);
    assert_eq!(run(world.pilot(&["retry", &format!("GH-{issue}")])).code, Some(0));
    world.until(issue, "done");
    once(&world, 1);
    daemon.kill();
}

#[test]
fn a_repository_that_is_archived_meanwhile_is_held() {
    overcome(
        &World::new(),
        &Mishap {
            happens: |world, _| drop(world.change("PATCH", "", &json!({"archived": true}))),
            says: &["could not push the branch", "check that the repository is not archived"],
            commented: false,
            repaired: |world, _| drop(world.change("PATCH", "", &json!({"archived": false}))),
        },
    );
}

#[test]
fn a_repository_that_is_renamed_meanwhile_is_held() {
    overcome(
        &World::new(),
        &Mishap {
            happens: |world, _| drop(world.change("PATCH", "", &json!({"name": "store"}))),
            says: &[
                "could not open the pull request",
                "put the new name into the configuration",
                "pilot/store",
            ],
            commented: false,
            repaired: |world, _| {
                let back = world.client.ask("PATCH", "/repos/pilot/store", &json!({"name": "shop"}));
                assert_eq!(back.expect("an answer").status, 200);
            },
        },
    );
}

/// What the owner of the token may do.
fn permit(world: &World, what: &str) {
    world.change("PUT", "collaborators/ann", &json!({"permission": what}));
}

#[test]
fn a_token_that_loses_its_rights_meanwhile_is_held() {
    let world = World::new();
    let user = world.client.ask("POST", "/_forge/users", &json!({"login": "ann"})).expect("an answer").json;
    permit(&world, "push");
    world.reconfigure(&world.client.token, user["token"].as_str().expect("a token"));
    overcome(
        &world,
        &Mishap {
            happens: |world, _| permit(world, "pull"),
            says: &["could not push the branch", "give the token the missing permission"],
            commented: true,
            repaired: |world, _| permit(world, "push"),
        },
    );
}

#[test]
fn a_push_that_a_rule_refuses_is_held_and_the_fix_is_kept() {
    let world = World::new();
    let issue = world.file("feat: one", "please break it");
    let daemon = world.start();
    assert!(within(PATIENCE, || !world.pulls().is_empty()), "{}", world.log());
    // The branch is there, and its CI takes a while to fail twice.
    let protection = format!("branches/pilot/GH-{issue}/protection");
    let rule = json!({"required_pull_request_reviews": {"required_approving_review_count": 1}, "enforce_admins": true});
    world.change("PUT", &protection, &rule);
    let fixes = || world.get("issues?state=all&labels=autopilot-fix");
    assert!(within(PATIENCE, || fixes()[0]["number"].is_u64()), "{}", world.log());
    let fix = fixes()[0]["number"].as_u64().expect("a number");
    // Before it is known whose fix it is, it is held as well.
    let refused = within(PATIENCE, || why(&world, fix).contains("could not push the branch"));
    assert!(refused, "{}", why(&world, fix));
    assert_eq!(world.stage(fix), "held");
    let words = why(&world, fix);
    for part in ["could not push the branch", "the push was refused", "rules allow it", "`/pilot retry`"] {
        assert!(words.contains(part), "{part:?} is not in {words}");
    }
    world.change("DELETE", &protection, &Value::Null);
    assert_eq!(run(world.pilot(&["retry", &format!("GH-{fix}")])).code, Some(0));
    world.until(issue, "done");
    once(&world, 2);
    assert_eq!(world.pulls().len(), 2, "the one that failed, and the fix");
    daemon.kill();
}

/// Starts what follows with its home on a small disk of its own.
const SMALL: &str = "cp \"$PILOT_HOME/config.yaml\" \"$HOME/kept.yaml\" && \
                     mount -t tmpfs -o size=32m,mode=700 tmpfs \"$PILOT_HOME\" && \
                     cp \"$HOME/kept.yaml\" \"$PILOT_HOME/config.yaml\" && exec \"$@\"";

#[test]
fn a_full_disk_is_said_and_waited_for() {
    let world = World::new();
    let pilot = world.pilot(&["start"]);
    let mut small = command("unshare");
    small.args(["-rm", "sh", "-c", SMALL, "sh"]).arg(pilot.get_program()).args(pilot.get_args());
    small.env_clear().envs(pilot.get_envs().filter_map(|(name, value)| Some((name, value?))));
    small.current_dir(world.folder.path());
    let mut daemon = world.spawn(small);
    let started = within(PATIENCE, || daemon.is_over() || world.log().contains("working on"));
    if daemon.is_over() {
        println!("skipped: there may be no disk of its own here: {}", world.log());
        return;
    }
    assert!(started, "{}", world.log());
    let home = world.home().to_string_lossy().into_owned();
    let filler = std::path::PathBuf::from(format!("/proc/{}/root{home}/filler", daemon.id()));
    let mut file = fs::File::create(&filler).expect("a file");
    for size in [1 << 20, 1 << 12, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
    let issue = world.file("feat: one", "Please.");
    said(&world, "the disk is full");
    assert!(world.agents().is_empty() && world.pulls().is_empty());
    drop(file);
    fs::remove_file(&filler).expect("a file");
    let closed = || world.get(&format!("issues/{issue}"))["state"] == "closed";
    assert!(within(PATIENCE, closed), "{}", world.log());
    assert!(world.log().contains("the database can be written again"), "{}", world.log());
    once(&world, 1);
    assert_eq!(world.pulls().len(), 1);
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

/// A git that was killed left its lock: the branch of merged work stays here, which is said, and goes at the next start.
#[test]
fn a_branch_that_git_does_not_delete_is_said_and_deleted_later() {
    let world = World::new();
    let lock = world.shop().join(".git/packed-refs.lock");
    fs::write(&lock, "").expect("a lock");
    let issue = world.file("feat: one", "Please.");
    let ended = world.once();
    assert_eq!((ended.code, world.stage(issue).as_str()), (Some(0), "done"), "{}", ended.stderr);
    let said = "warn  shop: a branch of merged work is still in the checkout";
    assert!(ended.stderr.contains(said) && ended.stderr.contains("packed-refs.lock"), "{}", ended.stderr);
    fs::remove_file(&lock).expect("it is there");
    let ended = world.once();
    assert_eq!((ended.code, ended.stderr.contains(said)), (Some(0), false), "{}", ended.stderr);
    let branches = run(git(&world.shop(), &["for-each-ref", "--format=%(refname)", "refs/heads"])).stdout;
    assert_eq!(branches.trim(), "refs/heads/main");
}
