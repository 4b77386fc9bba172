//! `kill -9` at any time: what was answered is there, nothing is half done, git is sound, and the next start works at once.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::Served;
use super::http::{Client, git};
use crate::program::{is_full, run, within};

const REPO: &str = "/repos/pilot/demo";
const WORKERS: u64 = 3;

/// What the forge has answered.
#[derive(Debug, Default)]
struct Ledger {
    /// Issues by number and title.
    issues: Vec<(i64, String)>,
    /// Comments by their issue, id and text.
    comments: Vec<(i64, i64, String)>,
    /// Pull requests that were opened: number and head.
    pulls: Vec<(i64, String)>,
    /// Pull requests that were merged, and the commit of the merge.
    merges: Vec<(i64, String)>,
    /// Branches that were pushed, and what they point to.
    pushes: Vec<(String, String)>,
}

#[test]
fn what_was_answered_survives_kill_9_at_any_time() {
    let kills = if is_full() { 200 } else { 8 };
    let home = tempfile::tempdir().unwrap();
    let (root, ledger) = (home.path().join("forge"), Mutex::new(Ledger::default()));
    let mut forge = start(&root);
    prepare(&client(&forge), home.path());
    for kill in 0..kills {
        let me = client(&forge);
        let answered = AtomicU64::new(0);
        // Another moment every time: after so many answers, whatever is under way then.
        let enough = 3 + (kill * 7) % 23;
        std::thread::scope(|scope| {
            for worker in 0..WORKERS {
                let (me, ledger, answered) = (me.clone(), &ledger, &answered);
                let place = home.path().join(format!("clone-{worker}"));
                scope.spawn(move || work(&me, &place, kill * 1000 + worker * 100_000_000, ledger, answered));
            }
            let time = std::time::Duration::from_secs(120);
            assert!(within(time, || answered.load(Ordering::SeqCst) >= enough), "no work is done");
            assert_eq!(forge.end(Signal::KILL), None);
        });
        forge = start(&root);
        let ledger = ledger.lock().unwrap();
        check(&client(&forge), &ledger, 12);
    }
    let me = client(&forge);
    let ledger = ledger.into_inner().unwrap();
    check(&me, &ledger, usize::MAX);
    nothing_is_half_done(&me);
    assert_eq!(forge.end(Signal::TERM), Some(0));
    let fsck = run(git(&root.join("repos/1.git"), &["fsck", "--strict", "--no-dangling"]));
    assert_eq!(fsck.code, Some(0), "{} {}", fsck.stdout, fsck.stderr);
    println!(
        "{kills} kills: {} issues, {} comments, {} pull requests, {} merges, {} pushes, all there",
        ledger.issues.len(),
        ledger.comments.len(),
        ledger.pulls.len(),
        ledger.merges.len(),
        ledger.pushes.len()
    );
}

fn start(root: &Path) -> Served {
    Served::at(root, &["--lags", "none", "--rate-limit", "100000000"])
}

fn client(forge: &Served) -> Client {
    Client { url: forge.word("url").to_owned(), token: forge.word("token").to_owned() }
}

fn prepare(me: &Client, home: &Path) {
    let made = me.ask("POST", "/user/repos", &json!({"name": "demo", "auto_init": true})).expect("an answer");
    assert_eq!(made.status, 201, "{}", made.json);
    for worker in 0..WORKERS {
        let clone =
            run(git(home, &["clone", "--quiet", &me.clone_url("pilot/demo"), &format!("clone-{worker}")]));
        assert_eq!(clone.code, Some(0), "{}", clone.stderr);
    }
}

/// Does one thing after the other until the forge is gone.
fn work(me: &Client, place: &Path, first: u64, ledger: &Mutex<Ledger>, answered: &AtomicU64) {
    for turn in first.. {
        let done = match turn % 5 {
            0 | 3 => open_issue(me, turn, ledger),
            1 => comment(me, turn, ledger),
            2 => push(me, place, turn, ledger),
            _ => pull(me, turn, ledger),
        };
        if done.is_none() {
            return;
        }
        answered.fetch_add(1, Ordering::SeqCst);
    }
}

fn open_issue(me: &Client, turn: u64, ledger: &Mutex<Ledger>) -> Option<()> {
    let title = format!("Issue {turn}");
    let answer = me.ask("POST", &format!("{REPO}/issues"), &json!({"title": title, "labels": ["pilot"]}))?;
    assert_eq!(answer.status, 201, "{}", answer.json);
    ledger.lock().expect("no thread panicked").issues.push((answer.json["number"].as_i64()?, title));
    Some(())
}

fn comment(me: &Client, turn: u64, ledger: &Mutex<Ledger>) -> Option<()> {
    let Some((issue, _)) = ledger.lock().expect("no thread panicked").issues.last().cloned() else {
        return Some(());
    };
    let body = format!("Comment {turn}");
    let answer = me.ask("POST", &format!("{REPO}/issues/{issue}/comments"), &json!({"body": body}))?;
    assert_eq!(answer.status, 201, "{}", answer.json);
    ledger.lock().expect("no thread panicked").comments.push((issue, answer.json["id"].as_i64()?, body));
    Some(())
}

/// A push by git itself.
fn push(me: &Client, place: &Path, turn: u64, ledger: &Mutex<Ledger>) -> Option<()> {
    let branch = format!("pushed-{turn}");
    let local = |args: &[&str]| {
        let ended = run(git(place, args));
        assert_eq!(ended.code, Some(0), "git {args:?}: {}", ended.stderr);
        ended.stdout.trim().to_owned()
    };
    local(&["commit", "--quiet", "--allow-empty", "-m", &format!("Push {turn}")]);
    let sha = local(&["rev-parse", "HEAD"]);
    let ended = run(git(
        place,
        &["push", "--quiet", &me.clone_url("pilot/demo"), &format!("HEAD:refs/heads/{branch}")],
    ));
    if ended.code != Some(0) {
        return None;
    }
    ledger.lock().expect("no thread panicked").pushes.push((branch, sha));
    Some(())
}

/// A branch with a file, a pull request, and its merge.
fn pull(me: &Client, turn: u64, ledger: &Mutex<Ledger>) -> Option<()> {
    let head = format!("pull-{turn}");
    let main = me.ask("GET", &format!("{REPO}/git/ref/heads/main"), &Value::Null)?;
    let made = me.ask(
        "POST",
        &format!("{REPO}/git/refs"),
        &json!({"ref": format!("refs/heads/{head}"), "sha": main.json["object"]["sha"]}),
    )?;
    assert_eq!(made.status, 201, "{}", made.json);
    let file = json!({"message": format!("Add {turn}"), "content": "eA==", "branch": head});
    let written = me.ask("PUT", &format!("{REPO}/contents/file-{turn}"), &file)?;
    assert_eq!(written.status, 201, "{}", written.json);
    let wish = json!({"title": format!("Pull {turn}"), "head": head, "base": "main"});
    let opened = me.ask("POST", &format!("{REPO}/pulls"), &wish)?;
    assert_eq!(opened.status, 201, "{}", opened.json);
    let number = opened.json["number"].as_i64()?;
    ledger.lock().expect("no thread panicked").pulls.push((number, head));
    let merged =
        me.ask("PUT", &format!("{REPO}/pulls/{number}/merge"), &json!({"merge_method": "squash"}))?;
    assert_eq!(merged.status, 200, "{}", merged.json);
    ledger.lock().expect("no thread panicked").merges.push((number, merged.json["sha"].as_str()?.to_owned()));
    Some(())
}

/// The newest of everything that was answered, so many of each kind.
fn check(me: &Client, ledger: &Ledger, most: usize) {
    for (number, title) in ledger.issues.iter().rev().take(most) {
        let issue = me.get(&format!("{REPO}/issues/{number}"));
        assert_eq!(
            (issue["title"].as_str(), issue["labels"][0]["name"].as_str()),
            (Some(title.as_str()), Some("pilot"))
        );
    }
    for (issue, id, body) in ledger.comments.iter().rev().take(most) {
        let comment = me.get(&format!("{REPO}/issues/comments/{id}"));
        assert_eq!(comment["body"], body.as_str());
        let of = comment["issue_url"].as_str().unwrap_or_default();
        assert!(of.ends_with(&format!("/{issue}")), "{of}");
    }
    for (number, head) in ledger.pulls.iter().rev().take(most) {
        assert_eq!(me.get(&format!("{REPO}/pulls/{number}"))["head"]["ref"], head.as_str());
    }
    for (number, sha) in ledger.merges.iter().rev().take(most) {
        let pull = me.get(&format!("{REPO}/pulls/{number}"));
        assert_eq!(
            (pull["merged"].as_bool(), pull["merge_commit_sha"].as_str()),
            (Some(true), Some(sha.as_str()))
        );
        let status = &me.get(&format!("{REPO}/compare/{sha}...main"))["status"];
        assert!(status == "ahead" || status == "identical", "#{number} is on main: {status}");
    }
    for (branch, sha) in ledger.pushes.iter().rev().take(most) {
        assert_eq!(me.get(&format!("{REPO}/git/ref/heads/{branch}"))["object"]["sha"], sha.as_str());
    }
}

/// Every number is given, and a pull request is merged if and only if its commit is on main.
fn nothing_is_half_done(me: &Client) {
    let landed: Vec<String> = all(me, "/commits?sha=main")
        .iter()
        .filter_map(|commit| commit["commit"]["message"].as_str()?.lines().next().map(str::to_owned))
        .collect();
    let issues = all(me, "/issues?state=all");
    let mut numbers: Vec<i64> = issues.iter().filter_map(|issue| issue["number"].as_i64()).collect();
    numbers.sort_unstable();
    assert_eq!(
        numbers,
        (1..=i64::try_from(issues.len()).expect("a number")).collect::<Vec<_>>(),
        "no number is missing"
    );
    for pull in all(me, "/pulls?state=all") {
        let ending = format!("(#{})", pull["number"]);
        let on_main = landed.iter().any(|subject| subject.ends_with(&ending));
        let merged = !pull["merged_at"].is_null();
        assert_eq!(merged, on_main, "{ending}: merged, and on main");
        assert_eq!(merged, pull["state"] == "closed", "{ending}: merged, and closed");
    }
}

fn all(me: &Client, path: &str) -> Vec<Value> {
    let mut found = Vec::new();
    for page in 1.. {
        let items = me.get(&format!("{REPO}{path}&per_page=100&page={page}"));
        let items = items.as_array().expect("a list").clone();
        if items.is_empty() {
            break;
        }
        found.extend(items);
    }
    found
}
