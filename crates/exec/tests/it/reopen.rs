//! Reopening a workspace after its work was committed.

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use pilot_exec::workspace::{Finalised, Recovery, Workspace};

use crate::stale::{kill, only};
use crate::user_repo::{UserRepo, write};

/// A workspace after one round of an agent that committed one file and left another.
fn after_a_round(user_repo: &UserRepo) -> (Workspace, Finalised) {
    user_repo.write(".gitignore", "*.log\n");
    user_repo.git(&["add", "-A"]);
    user_repo.git(&["commit", "-q", "-m", "ignore"]);
    let mut workspace = user_repo.start();
    write(workspace.path(), "one.txt", "one\n");
    user_repo.git_in(workspace.path(), &["add", "-A"]);
    user_repo.git_in(workspace.path(), &["commit", "-q", "-m", "feat: one"]);
    write(workspace.path(), "two.txt", "two\n");
    let finalised = workspace.finalise("chore: leftovers").expect("the round is finalised");
    (workspace, finalised)
}

fn clean(user_repo: &UserRepo, tree: &Path) {
    assert_eq!(user_repo.git_in(tree, &["status", "--porcelain"]), "");
    assert_eq!(user_repo.git_in(tree, &["branch", "--show-current"]), "pilot/GH-1");
}

#[test]
fn a_second_round_builds_on_the_first() {
    let user_repo = UserRepo::new();
    let (mut workspace, first) = after_a_round(&user_repo);
    workspace.reopen(&first).unwrap();
    clean(&user_repo, workspace.path());
    write(workspace.path(), "one.txt", "one, fixed\n");
    user_repo.git_in(workspace.path(), &["commit", "-q", "-am", "fix: one"]);
    let second = workspace.finalise("chore: leftovers").unwrap();
    let subjects: Vec<&str> = second.commits.iter().map(|commit| commit.subject.as_str()).collect();
    assert_eq!(subjects, ["fix: one", "chore: leftovers", "feat: one"]);
    assert_eq!(second.found, []);
    user_repo.check_kept(&second);
    workspace.remove(&second).unwrap();
    user_repo.check_gone("run-1");
}

#[test]
fn what_a_gate_did_is_thrown_away_and_ignored_files_stay() {
    let user_repo = UserRepo::new();
    let (mut workspace, result) = after_a_round(&user_repo);
    workspace.reopen(&result).unwrap();
    let tree = workspace.path().to_owned();
    let config = fs::read(user_repo.repo().join(".git/config")).unwrap();
    write(&tree, "one.txt", "formatted\n");
    write(&tree, "report/out.xml", "junk\n");
    write(&tree, "build.log", "cache\n");
    fs::remove_file(tree.join("two.txt")).unwrap();
    user_repo.git_in(&tree, &["commit", "-q", "--allow-empty", "-m", "a gate that commits"]);
    user_repo.git_in(&tree, &["checkout", "-q", "--detach"]);
    user_repo.git_in(&tree, &["config", "core.hooksPath", "/evil"]);
    workspace.reopen(&result).unwrap();
    clean(&user_repo, &tree);
    assert_eq!(fs::read_to_string(tree.join("one.txt")).unwrap(), "one\n");
    assert_eq!(fs::read_to_string(tree.join("two.txt")).unwrap(), "two\n");
    assert!(!tree.join("report").exists() && tree.join("build.log").exists());
    assert_eq!(user_repo.sha("refs/heads/pilot/GH-1"), result.head);
    assert_eq!(workspace.seal(&result).unwrap(), []);
    assert_eq!(fs::read(user_repo.repo().join(".git/config")).unwrap(), config);
    workspace.remove(&result).unwrap();
    user_repo.check_gone("run-1");
    user_repo.check_kept(&result);
}

#[test]
fn a_later_result_is_left_aside_and_kept() {
    let user_repo = UserRepo::new();
    let (mut workspace, first) = after_a_round(&user_repo);
    workspace.reopen(&first).unwrap();
    assert_eq!(workspace.step_back(&first).unwrap(), None);
    write(workspace.path(), "one.txt", "worse\n");
    let second = workspace.finalise("chore: worse").unwrap();
    let kept = workspace.step_back(&first).unwrap().unwrap();
    assert_eq!(user_repo.sha(&kept), second.head);
    workspace.reopen(&first).unwrap();
    assert_eq!(fs::read_to_string(workspace.path().join("one.txt")).unwrap(), "one\n");
    workspace.seal(&first).unwrap();
    workspace.remove(&first).unwrap();
    user_repo.check_gone("run-1");
    user_repo.check_kept(&first);
    assert_eq!(user_repo.sha("refs/heads/pilot/GH-1"), first.head);
}

#[test]
fn a_reopened_workspace_whose_owner_died_is_collected_again() {
    let user_repo = UserRepo::new();
    let (mut workspace, first) = after_a_round(&user_repo);
    workspace.reopen(&first).unwrap();
    write(workspace.path(), "three.txt", "three\n");
    drop(workspace);
    kill(&user_repo, |_| {});
    let orphan = only(&user_repo);
    let Recovery::Rescued(rescued) = &orphan.recovery else { panic!("{orphan:?}") };
    assert_eq!(user_repo.show(rescued.head.as_str(), "three.txt"), "three");
}

#[test]
fn a_worktree_that_was_taken_apart_is_put_together_again() {
    let user_repo = UserRepo::new();
    let (mut workspace, _) = after_a_round(&user_repo);
    let (tree, git_dir) = (workspace.path().to_owned(), workspace.owner().git_dir.clone().unwrap());
    fs::remove_dir_all(&tree).unwrap();
    fs::remove_dir_all(&git_dir).unwrap();
    symlink("/tmp", &tree).unwrap();
    let result = workspace.finalise("chore: leftovers").unwrap();
    workspace.reopen(&result).unwrap();
    clean(&user_repo, &tree);
    assert_eq!(fs::read_to_string(tree.join("two.txt")).unwrap(), "two\n");
    write(&tree, "three.txt", "three\n");
    let more = workspace.finalise("chore: three").unwrap();
    assert_eq!(more.files_changed(), 3);
    workspace.remove(&more).unwrap();
    user_repo.check_gone("run-1");
}

/// Waits until a file that is written now is told from those before it.
fn expect_tick(user_repo: &UserRepo) {
    let modified = || {
        let file = user_repo.root().join("tick");
        fs::write(&file, "").and_then(|()| file.metadata()?.modified()).expect("a fresh place")
    };
    let before = modified();
    while modified() == before {}
}

#[test]
fn an_untouched_result_is_not_computed_again() {
    let user_repo = UserRepo::new();
    let (mut workspace, _) = after_a_round(&user_repo);
    expect_tick(&user_repo);
    // The index is written again, later than every file in it.
    write(workspace.path(), "two.txt", "two, fixed\n");
    expect_tick(&user_repo);
    let result = workspace.finalise("chore: leftovers").unwrap();
    let started = || user_repo.program.started();
    let before = started();
    workspace.reopen(&result).unwrap();
    assert!(workspace.revert(&result).unwrap().is_empty());
    assert_eq!(started() - before, 0, "nothing is asked of git");
    clean(&user_repo, workspace.path());
    let again = workspace.finalise("chore: leftovers").unwrap();
    assert_eq!(started() - before, 1, "only where the refs are");
    assert_eq!(again, Finalised { leftover: None, ..result.clone() });
    // What is ignored takes one more question.
    write(workspace.path(), "build.log", "cache\n");
    let again = workspace.finalise("chore: leftovers").unwrap();
    assert_eq!((started() - before, &again.head), (3, &result.head));
    workspace.remove(&again).unwrap();
    user_repo.check_gone("run-1");
}

/// A change in the tree of a result, and the expected number of changed files, side commits and findings.
type Touch = (&'static str, fn(&UserRepo, &Path), (usize, usize, usize));

const TOUCHES: [Touch; 8] = [
    ("the same length at the same time", same_length, (2, 0, 0)),
    ("a mode", |_, tree| set_mode(&tree.join("README.md"), 0o755), (3, 0, 0)),
    ("a file more", |_, tree| write(tree, "src/new.rs", "new\n"), (3, 0, 0)),
    ("a file less", |_, tree| fs::remove_file(tree.join("README.md")).expect("a fresh place"), (3, 0, 0)),
    ("a folder for a file", folder_for_file, (4, 0, 0)),
    ("a commit that was taken back", taken_back, (2, 1, 0)),
    ("another branch", |user_repo, tree| drop(user_repo.git_in(tree, &["branch", "else"])), (2, 0, 1)),
    (
        "a repository inside",
        |user_repo, tree| drop(user_repo.git_in(tree, &["init", "-q", "src/inner"])),
        (2, 0, 1),
    ),
];

fn same_length(_: &UserRepo, tree: &Path) {
    let file = tree.join("one.txt");
    let modified = file.metadata().expect("a fresh place").modified().expect("a fresh place");
    fs::write(&file, "two\n").expect("a fresh place");
    let times = FileTimes::new().set_modified(modified);
    File::options().write(true).open(&file).expect("a fresh place").set_times(times).expect("a fresh place");
}

fn set_mode(file: &Path, mode: u32) {
    fs::set_permissions(file, fs::Permissions::from_mode(mode)).expect("a fresh place");
}

fn folder_for_file(_: &UserRepo, tree: &Path) {
    fs::remove_file(tree.join("README.md")).expect("a fresh place");
    write(tree, "README.md/inner", "hello\n");
}

fn taken_back(user_repo: &UserRepo, tree: &Path) {
    user_repo.git_in(tree, &["commit", "-q", "--allow-empty", "-m", "never mind"]);
    user_repo.git_in(tree, &["reset", "-q", "--hard", "HEAD~1"]);
}

#[test]
fn whatever_touched_a_result_is_seen() {
    for (name, touch, expect) in TOUCHES {
        let user_repo = UserRepo::new();
        let (mut workspace, result) = after_a_round(&user_repo);
        expect_tick(&user_repo);
        workspace.reopen(&result).unwrap();
        touch(&user_repo, workspace.path());
        let after = workspace.finalise("chore: what was touched").unwrap();
        let got = (after.files_changed(), after.others.len(), after.found.len());
        assert_eq!(got, expect, "{name}: {after:?}");
        if name == "the same length at the same time" {
            assert_eq!(user_repo.show(after.head.as_str(), "one.txt"), "two");
        }
        // And put back.
        workspace.reopen(&after).unwrap();
        write(workspace.path(), "src/lib.rs", "junk\n");
        workspace.reopen(&after).unwrap();
        clean(&user_repo, workspace.path());
        workspace.seal(&after).unwrap();
        workspace.remove(&after).unwrap();
        user_repo.check_gone("run-1");
    }
}
