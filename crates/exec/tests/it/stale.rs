//! Workspaces whose process died: the next start saves what they hold.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pilot_exec::workspace::{Recovery, StaleWorkspace, recover_stale};
use serde_json::{Value, json};

use crate::user_repo::{UserRepo, write};

fn owner_file(user_repo: &UserRepo) -> PathBuf {
    user_repo.home().join("worktrees/run-1/owner.json")
}

/// Makes the owner file say that its process is one that ended, and perhaps more.
pub(crate) fn kill(user_repo: &UserRepo, change: impl FnOnce(&mut Value)) {
    let path = owner_file(user_repo);
    let mut owner: Value =
        serde_json::from_slice(&fs::read(&path).expect("an owner file and a working collector"))
            .expect("an owner file and a working collector");
    owner["pid_start"] = json!(1);
    change(&mut owner);
    fs::write(path, owner.to_string()).expect("an owner file and a working collector");
}

fn collect(user_repo: &UserRepo) -> Vec<StaleWorkspace> {
    recover_stale(&user_repo.program, &user_repo.home(), "Left by a run that was cut short")
        .expect("an owner file and a working collector")
}

/// The only stale workspace. A process that another test is just starting holds our lock until it is another program.
pub(crate) fn only(user_repo: &UserRepo) -> StaleWorkspace {
    let mut orphans =
        (0..1000).map(|_| collect(user_repo)).find(|orphans| !orphans.is_empty()).unwrap_or_default();
    assert_eq!(orphans.len(), 1, "{orphans:?}");
    orphans.remove(0)
}

#[test]
fn killed_while_the_agent_worked() {
    let user_repo = UserRepo::new();
    let before = user_repo.user_state();
    let workspace = user_repo.start();
    let tree = workspace.path().to_owned();
    write(&tree, "x", "x\n");
    user_repo.git_in(&tree, &["add", "-A"]);
    user_repo.git_in(&tree, &["commit", "-q", "-m", "x"]);
    write(&tree, "y", "y\n");
    user_repo.git_in(&tree, &["config", "core.hooksPath", "/evil"]);
    // Its process lives, so it is not recovered.
    assert!(collect(&user_repo).is_empty());
    drop(workspace);
    assert!(collect(&user_repo).is_empty(), "its process still runs");
    kill(&user_repo, |_| {});
    let orphan = only(&user_repo);
    let Recovery::Rescued(finalised) = &orphan.recovery else { panic!("{orphan:?}") };
    assert_eq!((finalised.files_changed(), finalised.commits.len()), (2, 2));
    assert_eq!(orphan.owner.unwrap().branch.as_str(), "pilot/GH-1");
    user_repo.check_kept(finalised);
    user_repo.check_gone("run-1");
    assert_eq!(before, user_repo.user_state());
    assert!(collect(&user_repo).is_empty());
}

#[test]
fn killed_before_the_worktree_was_made() {
    let user_repo = UserRepo::new();
    let before = user_repo.user_state();
    // Only the folder.
    fs::create_dir_all(user_repo.home().join("worktrees/run-0")).unwrap();
    assert!(matches!(only(&user_repo).recovery, Recovery::NeverStarted));
    user_repo.check_gone("run-0");
    // The owner file, the branch and git's half of the worktree, but no files.
    let workspace = user_repo.start();
    let tree = workspace.path().to_owned();
    drop(workspace);
    fs::remove_dir_all(&tree).unwrap();
    kill(&user_repo, |owner| {
        owner["stage"] = json!("planned");
        owner["git_dir"] = Value::Null;
    });
    assert!(matches!(only(&user_repo).recovery, Recovery::NeverStarted));
    user_repo.check_gone("run-1");
    assert_eq!(before, user_repo.user_state());
    assert!(!user_repo.try_git(&user_repo.repo(), &["rev-parse", "--verify", "pilot/GH-1"]).0);
}

#[test]
fn killed_together_with_the_git_that_made_the_worktree() {
    let user_repo = UserRepo::new();
    let workspace = user_repo.start();
    let tree = workspace.path().to_owned();
    drop(workspace);
    // As far as git comes before it links the two: a folder with a reason.
    let entry = user_repo.repo().join(".git/worktrees/project");
    for file in ["gitdir", "HEAD", "commondir", "index"] {
        fs::remove_file(entry.join(file)).unwrap();
    }
    fs::remove_dir_all(&tree).unwrap();
    kill(&user_repo, |owner| {
        owner["stage"] = json!("planned");
        owner["git_dir"] = Value::Null;
    });
    assert!(matches!(only(&user_repo).recovery, Recovery::NeverStarted));
    user_repo.check_gone("run-1");
}

#[test]
fn entries_of_runs_that_are_gone_are_struck_out() {
    let user_repo = UserRepo::new();
    let trees = user_repo.home().join("worktrees");
    let add = |run: &str, path: &Path, reason: &str| {
        let path = path.join(run);
        let path = path.to_str().unwrap();
        let args = ["worktree", "add", "-q", "--no-checkout", "--lock", "--reason", reason, "--detach", path];
        user_repo.git(&args);
    };
    add("ours", &trees.join("dead-1/tree"), "pilot run dead-1");
    // A foreign one, another Pilot's, one in which an agent may have worked, and one whose folder exists.
    add("theirs", &trees.join("dead-2/tree"), "on a stick");
    add("other", &user_repo.root().join("other-home/worktrees/dead-3/tree"), "pilot run dead-3");
    add("worked", &trees.join("dead-4/tree"), "pilot run dead-4");
    add("here", &trees.join("run-5/tree"), "pilot run run-5");
    fs::write(user_repo.repo().join(".git/worktrees/worked/index"), "").unwrap();
    for folder in ["dead-1", "dead-2", "dead-4"] {
        fs::remove_dir_all(trees.join(folder)).unwrap();
    }
    fs::remove_dir_all(user_repo.root().join("other-home")).unwrap();
    drop(user_repo.start());
    let mut left: Vec<String> = fs::read_dir(user_repo.repo().join(".git/worktrees"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["here", "other", "project", "theirs", "worked"]);
}

#[test]
fn killed_in_the_middle_of_the_checkout() {
    let user_repo = UserRepo::new();
    let workspace = user_repo.start();
    let tree = workspace.path().to_owned();
    drop(workspace);
    fs::remove_file(tree.join("README.md")).unwrap();
    kill(&user_repo, |owner| owner["stage"] = json!("planned"));
    assert!(matches!(only(&user_repo).recovery, Recovery::NeverStarted), "half a checkout is no work");
    user_repo.check_gone("run-1");
}

#[test]
fn killed_between_the_pin_and_the_owner_file() {
    for detached in [false, true] {
        let user_repo = UserRepo::new();
        let mut workspace = user_repo.start();
        let tree = workspace.path().to_owned();
        if detached {
            user_repo.git_in(&tree, &["checkout", "-q", "--detach"]);
        }
        write(&tree, "x", "x\n");
        let first = workspace.finalise("x").unwrap();
        drop(workspace);
        kill(&user_repo, |owner| owner["stage"] = json!("ready"));
        let orphan = only(&user_repo);
        let Recovery::Rescued(second) = &orphan.recovery else { panic!("{orphan:?}") };
        assert_eq!(second.files_changed(), 1);
        user_repo.check_kept(second);
        let contained = user_repo.git(&["for-each-ref", "--contains", first.head.as_str(), "refs/pilot/"]);
        assert!(!contained.is_empty(), "what was pinned first is still kept");
        user_repo.check_gone("run-1");
    }
}

#[test]
fn killed_after_finalising_or_while_removing() {
    for gone in [None, Some("tree"), Some("shadow.git")] {
        let user_repo = UserRepo::new();
        let mut workspace = user_repo.start();
        write(workspace.path(), "x", "x\n");
        let finalised = workspace.finalise("x").unwrap();
        drop(workspace);
        if let Some(gone) = gone {
            fs::remove_dir_all(user_repo.home().join("worktrees/run-1").join(gone)).unwrap();
        }
        kill(&user_repo, |_| {});
        let orphan = only(&user_repo);
        assert!(
            matches!(&orphan.recovery, Recovery::AlreadyFinalised { head } if *head == finalised.head),
            "{orphan:?}"
        );
        user_repo.check_gone("run-1");
        user_repo.check_kept(&finalised);
    }
}

#[test]
fn what_cannot_be_saved_is_left() {
    let user_repo = UserRepo::new();
    let workspace = user_repo.start();
    let tree = workspace.path().to_owned();
    write(&tree, "x", "x\n");
    drop(workspace);
    kill(&user_repo, |owner| owner["repository"] = json!("/nowhere/project/.git"));
    let orphan = only(&user_repo);
    assert!(matches!(orphan.recovery, Recovery::Left(_)), "{orphan:?}");
    assert!(tree.join("x").exists());
    fs::write(owner_file(&user_repo), "{").unwrap();
    let orphan = only(&user_repo);
    assert!(matches!(orphan.recovery, Recovery::Left(_)) && tree.join("x").exists(), "{orphan:?}");
}

#[test]
fn many_collectors_save_each_orphan_once() {
    let user_repo = UserRepo::new();
    let workspace = user_repo.start();
    write(workspace.path(), "x", "x\n");
    drop(workspace);
    kill(&user_repo, |_| {});
    let together = || -> Vec<StaleWorkspace> {
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| collect(&user_repo))).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        })
    };
    let all = (0..1000).map(|_| together()).find(|all| !all.is_empty()).unwrap_or_default();
    let [StaleWorkspace { recovery: Recovery::Rescued(_), .. }] = all.as_slice() else { panic!("{all:?}") };
    user_repo.check_gone("run-1");
}

#[test]
fn a_home_without_workspaces_has_no_orphans() {
    let user_repo = UserRepo::new();
    assert!(recover_stale(&user_repo.program, Path::new("/nonexistent/home"), "x").unwrap().is_empty());
    assert!(collect(&user_repo).is_empty());
}

#[test]
fn finalising_has_one_limit_for_all_of_it() {
    let user_repo = UserRepo::new();
    let workspace = user_repo.start();
    write(workspace.path(), "x", "x\n");
    drop(workspace);
    // Each call is well within the limit, all together are not.
    let slow = user_repo.root().join("slow-git");
    pilot_testkit::program::write(&slow, "#!/bin/sh\nsleep 0.5\nexec git \"$@\"\n");
    let hasty = user_repo.program.limited(Duration::from_secs(2)).with_git(slow);
    kill(&user_repo, |_| {});
    let orphan = recover_stale(&Arc::new(hasty), &user_repo.home(), "x").unwrap().remove(0);
    // What could not be staged in time is set aside as it is; on a slow machine not even that is reached.
    let (said, kept) = match &orphan.recovery {
        Recovery::Rescued(finalised) => {
            (format!("{:?}", finalised.found), user_repo.home().join("kept/run-1/tree"))
        }
        Recovery::Left(error) => (error.to_string(), orphan.owner.unwrap().tree),
        Recovery::NeverStarted | Recovery::AlreadyFinalised { .. } => panic!("{orphan:?}"),
    };
    assert!(said.contains("timed out after 2s"), "{said}");
    assert!(kept.join("x").exists(), "{said}");
}
