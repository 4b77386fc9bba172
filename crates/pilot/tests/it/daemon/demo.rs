//! `pilot demo` as a newcomer runs it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::world::PATIENCE;
use crate::forge::http::Client;
use crate::program::{pilot, run, within};

fn demo(folder: &Path, args: &[&str]) -> Command {
    let mut demo = pilot(args);
    demo.env_clear().env("PATH", env!("PATH")).env("HOME", folder).env("TMPDIR", folder);
    demo.env("GIT_CONFIG_NOSYSTEM", "1").current_dir(folder);
    demo
}

/// The folder of a demo that runs.
fn made_in(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    entries.map(|entry| entry.path()).find(|path| path.to_string_lossy().contains("pilot-demo-"))
}

/// The address and token of its forge.
fn client(home: &Path) -> Client {
    let text = fs::read_to_string(home.join("config.yaml")).expect("its configuration");
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(key));
        line.expect("a key").trim().to_owned()
    };
    Client { url: value("api_url:"), token: value("token:") }
}

#[test]
fn a_kept_demo_is_one_daemon_that_works_and_cleans_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = folder.path().join("said");
    let log = fs::File::create(&said).expect("a file");
    let mut demo = demo(folder.path(), &["demo", "--keep"]).stderr(log).spawn().expect("start");
    let text = || fs::read_to_string(&said).unwrap_or_default();
    let kept = within(PATIENCE, || text().contains("keep running until Ctrl-C"));
    assert!(kept, "{}", text());
    let place = made_in(folder.path()).expect("its folder");
    let home = place.join("home");
    let pilot_there = |args: &[&str]| {
        let mut there = self::demo(folder.path(), args);
        there.env("PILOT_HOME", &home);
        run(there)
    };
    let status = || pilot_there(&["status", "--all"]).stdout;
    assert!(within(PATIENCE, || status().contains("The daemon is running")), "{}", status());
    assert_eq!(pilot_there(&["start"]).code, Some(2), "there is one daemon");
    let new = json!({"title": "docs: anything", "body": "Whatever you like.", "labels": ["pilot"]});
    let filed: Value = client(&home).ask("POST", "/repos/pilot/greet/issues", &new).expect("an answer").json;
    let key = format!("GH-{}", filed["number"]);
    let is_done = || status().lines().any(|line| line.contains(&key) && line.contains("done"));
    assert!(within(PATIENCE, is_done), "{}\n{}", status(), text());
    assert!(text().contains(&key), "its story is told: {}", text());
    let pid = Pid::from_raw(i32::try_from(demo.id()).expect("a number")).expect("a process");
    kill_process(pid, Signal::INT).expect("it runs");
    demo.wait().expect("it ends");
    assert!(!place.exists(), "its folder is gone");
}

#[test]
fn an_agent_that_is_unknown_or_missing_is_named_before_anything_is_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let unknown = run(demo(folder.path(), &["demo", "--agent", "bogus"]));
    assert_eq!(unknown.code, Some(2), "{}", unknown.stderr);
    assert!(unknown.stderr.contains("claude, codex, opencode, gemini, qwen"), "{}", unknown.stderr);
    let mut missing = demo(folder.path(), &["demo", "--agent", "claude"]);
    missing.env("PATH", "/nowhere");
    let missing = run(missing);
    assert_eq!(missing.code, Some(2), "{}", missing.stderr);
    assert!(missing.stderr.contains("claude is not on the PATH"), "{}", missing.stderr);
    assert_eq!(made_in(folder.path()), None);
}

#[test]
fn the_cents_of_a_demo_add_up_and_an_address_is_told_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let ended = run(demo(folder.path(), &["demo"]));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let cents = |text: &str| text.replace('.', "").parse::<u32>().expect("cents");
    let amounts: Vec<u32> = ended
        .stdout
        .split(['$', ' ', '\n'])
        .filter(|word| word.len() == 4 && word.as_bytes()[1] == b'.')
        .map(cents)
        .collect();
    let (total, rows) = amounts.split_last().expect("a total");
    assert_eq!(rows.iter().sum::<u32>(), *total, "{}", ended.stdout);
    let story = &ended.stderr;
    assert!(!story.contains('`') && !story.contains('\u{1b}'), "{story}");
    assert_eq!(story.matches("/pull/4").count(), 1, "{story}");
    assert!(story.contains("Fix CI: feat: Shout the greeting"), "an issue is introduced: {story}");
    assert_eq!(made_in(folder.path()), None, "nothing is left behind");
}
