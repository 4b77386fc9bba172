//! The crash drill as its user runs it.

use serde_json::Value;

use crate::program::{pilot, run};

fn drill(args: &[&str]) -> (crate::program::Ended, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = pilot(args);
    command.env_clear().env("PATH", env!("PATH")).env("HOME", folder.path()).env("TMPDIR", folder.path());
    (run(command), folder)
}

#[test]
fn nothing_is_lost_and_nothing_is_done_twice() {
    let (ended, folder) = drill(&["drill", "--kills", "3", "--seed", "7", "--json"]);
    assert_eq!(ended.code, Some(0), "{} {}", ended.stdout, ended.stderr);
    let report: Value = serde_json::from_str(&ended.stdout).expect("one object");
    assert_eq!((&report["ok"], &report["seed"]), (&Value::Bool(true), &Value::from(7)), "{report}");
    assert_eq!(report["kills"].as_array().expect("a list").len(), 3, "{report}");
    let checks = report["checks"].as_array().expect("a list");
    assert!(checks.iter().all(|check| check["ok"] == true), "{report}");
    let found = |what: &str| &checks.iter().find(|check| check["check"] == what).expect("a check")["found"];
    assert_eq!(found("issues closed"), "3");
    assert_eq!(found("one merged pull request each"), "3");
    assert_eq!(found("agents alive a second after a kill"), "none");
    let left = std::fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(left, 0, "its folder is gone");
}

#[test]
fn a_drill_without_kills_is_a_plain_run() {
    let (ended, _folder) = drill(&["drill", "--kills", "0"]);
    assert_eq!(ended.code, Some(0), "{} {}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("Killed 0 times"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("FAIL"), "{}", ended.stdout);
}
