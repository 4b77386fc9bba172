//! A repository of 100 MB goes in and out, and the server never holds much of it.

use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::Served;
use super::http::{Client, git};
use crate::program::run;

const SIZE: usize = 100 << 20;

/// What the server may need in addition, in KiB; its own buffers are some hundred.
const ROOM: u64 = 48 << 10;

#[test]
fn a_hundred_megabytes_go_in_and_out_within_little_memory() {
    let home = tempfile::tempdir().unwrap();
    let forge = Served::at(&home.path().join("forge"), &["--lags", "none"]);
    let me = Client { url: forge.word("url").to_owned(), token: forge.word("token").to_owned() };
    let made =
        me.ask("POST", "/user/repos", &json!({"name": "large", "auto_init": true})).expect("an answer");
    assert_eq!(made.status, 201, "{}", made.json);
    let (url, before) = (me.clone_url("pilot/large"), peak(forge.child.id()));
    git_in(home.path(), &["clone", "--quiet", &url, "one"]);
    let one = home.path().join("one");
    std::fs::write(one.join("noise"), noise()).unwrap();
    // What cannot be made smaller need not be tried.
    git_in(&one, &["config", "core.compression", "0"]);
    git_in(&one, &["add", "noise"]);
    git_in(&one, &["commit", "--quiet", "-m", "Noise"]);
    git_in(&one, &["push", "--quiet", "origin", "main"]);
    git_in(home.path(), &["clone", "--quiet", "--depth=1", &url, "two"]);
    assert!(
        std::fs::read(home.path().join("two/noise")).unwrap() == noise(),
        "what comes back is what went in"
    );
    let page = me.ask("GET", "/repos/pilot/large/contents", &Value::Null).expect("it still answers");
    assert_eq!(page.status, 200);
    let grown = peak(forge.child.id()) - before;
    assert!(grown < ROOM, "the server needed {grown} KiB more");
    assert_eq!(forge.end(Signal::TERM), Some(0));
}

/// The most memory that a process ever had, in KiB.
fn peak(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

fn git_in(place: &Path, args: &[&str]) {
    let ended = run(git(place, args));
    assert_eq!(ended.code, Some(0), "git {args:?}: {}", ended.stderr);
}

/// Bytes that do not compress, always the same.
fn noise() -> Vec<u8> {
    let mut state = 7_u64;
    let mut bytes = Vec::with_capacity(SIZE);
    while bytes.len() < SIZE {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        bytes.extend_from_slice(&(state ^ (state >> 29)).to_be_bytes());
    }
    bytes
}
