//! Going on in a workspace after its work was taken into git.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use pilot_exec::workspace::{Fate, Finalised, Workspace};

use crate::orphans::{kill, only};
use crate::yard::{Yard, write};

/// A workspace after one round of an agent that committed one file and left another.
fn after_a_round(yard: &Yard) -> (Workspace, Finalised) {
    yard.write(".gitignore", "*.log\n");
    yard.git(&["add", "-A"]);
    yard.git(&["commit", "-q", "-m", "ignore"]);
    let mut workspace = yard.start();
    write(workspace.path(), "one.txt", "one\n");
    yard.git_in(workspace.path(), &["add", "-A"]);
    yard.git_in(workspace.path(), &["commit", "-q", "-m", "feat: one"]);
    write(workspace.path(), "two.txt", "two\n");
    let finalised = workspace.finalise("chore: leftovers").expect("the round is finalised");
    (workspace, finalised)
}

fn clean(yard: &Yard, tree: &Path) {
    assert_eq!(yard.git_in(tree, &["status", "--porcelain"]), "");
    assert_eq!(yard.git_in(tree, &["branch", "--show-current"]), "pilot/GH-1");
}

#[test]
fn a_second_round_builds_on_the_first() {
    let yard = Yard::new();
    let (mut workspace, first) = after_a_round(&yard);
    workspace.reopen(&first).unwrap();
    clean(&yard, workspace.path());
    write(workspace.path(), "one.txt", "one, mended\n");
    yard.git_in(workspace.path(), &["commit", "-q", "-am", "fix: one"]);
    let second = workspace.finalise("chore: leftovers").unwrap();
    let subjects: Vec<&str> = second.commits.iter().map(|commit| commit.subject.as_str()).collect();
    assert_eq!(subjects, ["fix: one", "chore: leftovers", "feat: one"]);
    assert_eq!(second.found, []);
    yard.check_kept(&second);
    workspace.remove(&second).unwrap();
    yard.check_gone("run-1");
}

#[test]
fn what_a_gate_did_is_thrown_away_and_ignored_files_stay() {
    let yard = Yard::new();
    let (mut workspace, result) = after_a_round(&yard);
    workspace.reopen(&result).unwrap();
    let tree = workspace.path().to_owned();
    let config = fs::read(yard.repo().join(".git/config")).unwrap();
    write(&tree, "one.txt", "formatted\n");
    write(&tree, "report/out.xml", "junk\n");
    write(&tree, "build.log", "cache\n");
    fs::remove_file(tree.join("two.txt")).unwrap();
    yard.git_in(&tree, &["commit", "-q", "--allow-empty", "-m", "a gate that commits"]);
    yard.git_in(&tree, &["checkout", "-q", "--detach"]);
    yard.git_in(&tree, &["config", "core.hooksPath", "/evil"]);
    workspace.reopen(&result).unwrap();
    clean(&yard, &tree);
    assert_eq!(fs::read_to_string(tree.join("one.txt")).unwrap(), "one\n");
    assert_eq!(fs::read_to_string(tree.join("two.txt")).unwrap(), "two\n");
    assert!(!tree.join("report").exists() && tree.join("build.log").exists());
    assert_eq!(yard.sha("refs/heads/pilot/GH-1"), result.head);
    assert_eq!(workspace.seal(&result).unwrap(), []);
    assert_eq!(fs::read(yard.repo().join(".git/config")).unwrap(), config);
    workspace.remove(&result).unwrap();
    yard.check_gone("run-1");
    yard.check_kept(&result);
}

#[test]
fn a_later_result_is_left_aside_and_kept() {
    let yard = Yard::new();
    let (mut workspace, first) = after_a_round(&yard);
    workspace.reopen(&first).unwrap();
    assert_eq!(workspace.step_back(&first).unwrap(), None);
    write(workspace.path(), "one.txt", "worse\n");
    let second = workspace.finalise("chore: worse").unwrap();
    let kept = workspace.step_back(&first).unwrap().unwrap();
    assert_eq!(yard.sha(&kept), second.head);
    workspace.reopen(&first).unwrap();
    assert_eq!(fs::read_to_string(workspace.path().join("one.txt")).unwrap(), "one\n");
    workspace.seal(&first).unwrap();
    workspace.remove(&first).unwrap();
    yard.check_gone("run-1");
    yard.check_kept(&first);
    assert_eq!(yard.sha("refs/heads/pilot/GH-1"), first.head);
}

#[test]
fn a_reopened_workspace_whose_owner_died_is_collected_again() {
    let yard = Yard::new();
    let (mut workspace, first) = after_a_round(&yard);
    workspace.reopen(&first).unwrap();
    write(workspace.path(), "three.txt", "three\n");
    drop(workspace);
    kill(&yard, |_| {});
    let orphan = only(&yard);
    let Fate::Rescued(rescued) = &orphan.fate else { panic!("{orphan:?}") };
    assert_eq!(yard.show(rescued.head.as_str(), "three.txt"), "three");
}

#[test]
fn a_worktree_that_was_taken_apart_is_put_together_again() {
    let yard = Yard::new();
    let (mut workspace, _) = after_a_round(&yard);
    let (tree, git_dir) = (workspace.path().to_owned(), workspace.owner().git_dir.clone().unwrap());
    fs::remove_dir_all(&tree).unwrap();
    fs::remove_dir_all(&git_dir).unwrap();
    symlink("/tmp", &tree).unwrap();
    let result = workspace.finalise("chore: leftovers").unwrap();
    workspace.reopen(&result).unwrap();
    clean(&yard, &tree);
    assert_eq!(fs::read_to_string(tree.join("two.txt")).unwrap(), "two\n");
    write(&tree, "three.txt", "three\n");
    let more = workspace.finalise("chore: three").unwrap();
    assert_eq!(more.files_changed(), 3);
    workspace.remove(&more).unwrap();
    yard.check_gone("run-1");
}
