//! A real agent on the scripted model, from label to merged pull request.

use serde_json::json;

use super::world::World;
use crate::forge::http::git;
use crate::program::run;
use crate::rig::{Cli, Scene, Stage};

/// `def add(a, b):\n    return a - b\n`, which the scripted model fixes.
const CALC: &str = "ZGVmIGFkZChhLCBiKToKICAgIHJldHVybiBhIC0gYgo=";

const WORKS: Scene = Scene {
    scenario: "edit_commit",
    set: &[],
    env: &[],
    executor: "grace: 2s",
    says: ("completed", ""),
    code: 0,
    commits: 1,
    reason: "",
};

#[test]
fn a_labelled_issue_is_solved_by_claude() {
    let Some(stage) = Stage::set(Cli::Claude, &WORKS) else { return };
    let world = World::new();
    world.change("PUT", "contents/calc.py", &json!({"message": "calc", "content": CALC}));
    for args in [["config", "user.name", "Ann"], ["config", "user.email", "ann@example.org"]] {
        assert_eq!(run(git(&world.shop(), &args)).code, Some(0));
    }
    world.reconfigure("backend: command", "backend: claude-code");
    let issue = world.file("fix: add adds", "Fix the bug in calc.py");
    let mut pilot = stage.pilot(&["start", "--once"]);
    pilot.env("PILOT_HOME", world.home()).current_dir(world.folder.path());
    let ended = run(pilot);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(world.stage(issue), "done", "{}", ended.stderr);
    let pulls = world.pulls();
    assert_eq!(pulls.len(), 1, "{pulls:?}");
    assert!(pulls[0]["merged_at"].is_string(), "{}", pulls[0]);
    assert_eq!(world.get(&format!("issues/{issue}"))["state"], "closed");
    let content = world.get("contents/calc.py")["content"].as_str().expect("a text").replace('\n', "");
    assert_ne!(content, CALC, "its work is on the base branch");
    assert_eq!(stage.leftovers(), Vec::<String>::new());
}
