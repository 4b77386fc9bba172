//! Going on in a workspace after its work was taken into git.

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::{PermissionsExt, symlink};
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

/// Waits until a file that is written now is told from those before it.
fn expect_tick(yard: &Yard) {
    let modified = || {
        let file = yard.root().join("tick");
        fs::write(&file, "").and_then(|()| file.metadata()?.modified()).expect("a fresh place")
    };
    let before = modified();
    while modified() == before {}
}

#[test]
fn a_result_that_nobody_touched_is_not_worked_out_again() {
    let yard = Yard::new();
    let (mut workspace, _) = after_a_round(&yard);
    expect_tick(&yard);
    // The index is written anew, later than all it notes.
    write(workspace.path(), "two.txt", "two, mended\n");
    expect_tick(&yard);
    let result = workspace.finalise("chore: leftovers").unwrap();
    let started = || yard.program.started();
    let before = started();
    workspace.reopen(&result).unwrap();
    assert!(workspace.revert(&result).unwrap().is_empty());
    assert_eq!(started() - before, 0, "nothing is asked of git");
    clean(&yard, workspace.path());
    let again = workspace.finalise("chore: leftovers").unwrap();
    assert_eq!(started() - before, 1, "only where the refs are");
    assert_eq!(again, Finalised { leftover: None, ..result.clone() });
    // What is ignored takes one more question.
    write(workspace.path(), "build.log", "cache\n");
    let again = workspace.finalise("chore: leftovers").unwrap();
    assert_eq!((started() - before, &again.head), (3, &result.head));
    workspace.remove(&again).unwrap();
    yard.check_gone("run-1");
}

/// What somebody does in the tree of a result, and how many files it then changes, commits it has beside it, and things were
/// found.
type Touch = (&'static str, fn(&Yard, &Path), (usize, usize, usize));

const TOUCHES: [Touch; 8] = [
    ("the same length at the same time", same_length, (2, 0, 0)),
    ("a mode", |_, tree| set_mode(&tree.join("README.md"), 0o755), (3, 0, 0)),
    ("a file more", |_, tree| write(tree, "src/new.rs", "new\n"), (3, 0, 0)),
    ("a file less", |_, tree| fs::remove_file(tree.join("README.md")).expect("a fresh place"), (3, 0, 0)),
    ("a folder for a file", folder_for_file, (4, 0, 0)),
    ("a commit that was taken back", taken_back, (2, 1, 0)),
    ("another branch", |yard, tree| drop(yard.git_in(tree, &["branch", "else"])), (2, 0, 1)),
    ("a repository inside", |yard, tree| drop(yard.git_in(tree, &["init", "-q", "src/inner"])), (2, 0, 1)),
];

fn same_length(_: &Yard, tree: &Path) {
    let file = tree.join("one.txt");
    let modified = file.metadata().expect("a fresh place").modified().expect("a fresh place");
    fs::write(&file, "two\n").expect("a fresh place");
    let times = FileTimes::new().set_modified(modified);
    File::options().write(true).open(&file).expect("a fresh place").set_times(times).expect("a fresh place");
}

fn set_mode(file: &Path, mode: u32) {
    fs::set_permissions(file, fs::Permissions::from_mode(mode)).expect("a fresh place");
}

fn folder_for_file(_: &Yard, tree: &Path) {
    fs::remove_file(tree.join("README.md")).expect("a fresh place");
    write(tree, "README.md/inner", "hello\n");
}

fn taken_back(yard: &Yard, tree: &Path) {
    yard.git_in(tree, &["commit", "-q", "--allow-empty", "-m", "never mind"]);
    yard.git_in(tree, &["reset", "-q", "--hard", "HEAD~1"]);
}

#[test]
fn whatever_touched_a_result_is_seen() {
    for (name, touch, expect) in TOUCHES {
        let yard = Yard::new();
        let (mut workspace, result) = after_a_round(&yard);
        expect_tick(&yard);
        workspace.reopen(&result).unwrap();
        touch(&yard, workspace.path());
        let after = workspace.finalise("chore: what was touched").unwrap();
        let got = (after.files_changed(), after.others.len(), after.found.len());
        assert_eq!(got, expect, "{name}: {after:?}");
        if name == "the same length at the same time" {
            assert_eq!(yard.show(after.head.as_str(), "one.txt"), "two");
        }
        // And put back.
        workspace.reopen(&after).unwrap();
        write(workspace.path(), "src/lib.rs", "junk\n");
        workspace.reopen(&after).unwrap();
        clean(&yard, workspace.path());
        workspace.seal(&after).unwrap();
        workspace.remove(&after).unwrap();
        yard.check_gone("run-1");
    }
}
