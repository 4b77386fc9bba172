//! Workspaces whose process died: the next start saves what they hold.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pilot_exec::workspace::{Fate, Orphan, collect_orphans};
use serde_json::{Value, json};

use crate::yard::{Yard, write};

fn owner_file(yard: &Yard) -> PathBuf {
    yard.home().join("worktrees/run-1/owner.json")
}

/// Makes the owner file say that its process is one that ended, and perhaps more.
pub(crate) fn kill(yard: &Yard, change: impl FnOnce(&mut Value)) {
    let path = owner_file(yard);
    let mut owner: Value =
        serde_json::from_slice(&fs::read(&path).expect("an owner file and a working collector"))
            .expect("an owner file and a working collector");
    owner["pid_start"] = json!(1);
    change(&mut owner);
    fs::write(path, owner.to_string()).expect("an owner file and a working collector");
}

fn collect(yard: &Yard) -> Vec<Orphan> {
    collect_orphans(&yard.program, &yard.home(), "Left by a run that was cut short")
        .expect("an owner file and a working collector")
}

/// The one orphan there is. A process that another test is just starting holds our lock until it is another program.
pub(crate) fn only(yard: &Yard) -> Orphan {
    let mut orphans =
        (0..1000).map(|_| collect(yard)).find(|orphans| !orphans.is_empty()).unwrap_or_default();
    assert_eq!(orphans.len(), 1, "{orphans:?}");
    orphans.remove(0)
}

#[test]
fn killed_while_the_agent_worked() {
    let yard = Yard::new();
    let before = yard.user_state();
    let workspace = yard.start();
    let tree = workspace.path().to_owned();
    write(&tree, "x", "x\n");
    yard.git_in(&tree, &["add", "-A"]);
    yard.git_in(&tree, &["commit", "-q", "-m", "x"]);
    write(&tree, "y", "y\n");
    yard.git_in(&tree, &["config", "core.hooksPath", "/evil"]);
    // It lives, so it is nobody's business.
    assert!(collect(&yard).is_empty());
    drop(workspace);
    assert!(collect(&yard).is_empty(), "its process still runs");
    kill(&yard, |_| {});
    let orphan = only(&yard);
    let Fate::Rescued(finalised) = &orphan.fate else { panic!("{orphan:?}") };
    assert_eq!((finalised.files_changed(), finalised.commits.len()), (2, 2));
    assert_eq!(orphan.owner.unwrap().branch.as_str(), "pilot/GH-1");
    yard.check_kept(finalised);
    yard.check_gone("run-1");
    assert_eq!(before, yard.user_state());
    assert!(collect(&yard).is_empty());
}

#[test]
fn killed_before_the_worktree_was_made() {
    let yard = Yard::new();
    let before = yard.user_state();
    // Only the folder.
    fs::create_dir_all(yard.home().join("worktrees/run-0")).unwrap();
    assert!(matches!(only(&yard).fate, Fate::NeverStarted));
    yard.check_gone("run-0");
    // The owner file, the branch and git's half of the worktree, but no files.
    let workspace = yard.start();
    let tree = workspace.path().to_owned();
    drop(workspace);
    fs::remove_dir_all(&tree).unwrap();
    kill(&yard, |owner| {
        owner["stage"] = json!("planned");
        owner["git_dir"] = Value::Null;
    });
    assert!(matches!(only(&yard).fate, Fate::NeverStarted));
    yard.check_gone("run-1");
    assert_eq!(before, yard.user_state());
    assert!(!yard.try_git(&yard.repo(), &["rev-parse", "--verify", "pilot/GH-1"]).0);
}

#[test]
fn killed_together_with_the_git_that_made_the_worktree() {
    let yard = Yard::new();
    let workspace = yard.start();
    let tree = workspace.path().to_owned();
    drop(workspace);
    // As far as git comes before it links the two: a folder with a reason.
    let entry = yard.repo().join(".git/worktrees/project");
    for file in ["gitdir", "HEAD", "commondir", "index"] {
        fs::remove_file(entry.join(file)).unwrap();
    }
    fs::remove_dir_all(&tree).unwrap();
    kill(&yard, |owner| {
        owner["stage"] = json!("planned");
        owner["git_dir"] = Value::Null;
    });
    assert!(matches!(only(&yard).fate, Fate::NeverStarted));
    yard.check_gone("run-1");
}

#[test]
fn entries_of_runs_that_are_gone_are_struck_out() {
    let yard = Yard::new();
    let trees = yard.home().join("worktrees");
    let add = |run: &str, path: &Path, reason: &str| {
        let path = path.join(run);
        let path = path.to_str().unwrap();
        let args = ["worktree", "add", "-q", "--no-checkout", "--lock", "--reason", reason, "--detach", path];
        yard.git(&args);
    };
    add("ours", &trees.join("dead-1/tree"), "pilot run dead-1");
    // Somebody else's, another Pilot's, one in which an agent may have worked, and one whose folder is there.
    add("theirs", &trees.join("dead-2/tree"), "on a stick");
    add("other", &yard.root().join("other-home/worktrees/dead-3/tree"), "pilot run dead-3");
    add("worked", &trees.join("dead-4/tree"), "pilot run dead-4");
    add("here", &trees.join("run-5/tree"), "pilot run run-5");
    fs::write(yard.repo().join(".git/worktrees/worked/index"), "").unwrap();
    for folder in ["dead-1", "dead-2", "dead-4"] {
        fs::remove_dir_all(trees.join(folder)).unwrap();
    }
    fs::remove_dir_all(yard.root().join("other-home")).unwrap();
    drop(yard.start());
    let mut left: Vec<String> = fs::read_dir(yard.repo().join(".git/worktrees"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["here", "other", "project", "theirs", "worked"]);
}

#[test]
fn killed_in_the_middle_of_the_checkout() {
    let yard = Yard::new();
    let workspace = yard.start();
    let tree = workspace.path().to_owned();
    drop(workspace);
    fs::remove_file(tree.join("README.md")).unwrap();
    kill(&yard, |owner| owner["stage"] = json!("planned"));
    assert!(matches!(only(&yard).fate, Fate::NeverStarted), "half a checkout is no work");
    yard.check_gone("run-1");
}

#[test]
fn killed_between_the_pin_and_the_owner_file() {
    for detached in [false, true] {
        let yard = Yard::new();
        let mut workspace = yard.start();
        let tree = workspace.path().to_owned();
        if detached {
            yard.git_in(&tree, &["checkout", "-q", "--detach"]);
        }
        write(&tree, "x", "x\n");
        let first = workspace.finalise("x").unwrap();
        drop(workspace);
        kill(&yard, |owner| owner["stage"] = json!("ready"));
        let orphan = only(&yard);
        let Fate::Rescued(second) = &orphan.fate else { panic!("{orphan:?}") };
        assert_eq!(second.files_changed(), 1);
        yard.check_kept(second);
        let contained = yard.git(&["for-each-ref", "--contains", first.head.as_str(), "refs/pilot/"]);
        assert!(!contained.is_empty(), "what was pinned first is still kept");
        yard.check_gone("run-1");
    }
}

#[test]
fn killed_after_finalising_or_while_removing() {
    for gone in [None, Some("tree"), Some("shadow.git")] {
        let yard = Yard::new();
        let mut workspace = yard.start();
        write(workspace.path(), "x", "x\n");
        let finalised = workspace.finalise("x").unwrap();
        drop(workspace);
        if let Some(gone) = gone {
            fs::remove_dir_all(yard.home().join("worktrees/run-1").join(gone)).unwrap();
        }
        kill(&yard, |_| {});
        let orphan = only(&yard);
        assert!(
            matches!(&orphan.fate, Fate::AlreadyFinalised { head } if *head == finalised.head),
            "{orphan:?}"
        );
        yard.check_gone("run-1");
        yard.check_kept(&finalised);
    }
}

#[test]
fn what_cannot_be_saved_is_left() {
    let yard = Yard::new();
    let workspace = yard.start();
    let tree = workspace.path().to_owned();
    write(&tree, "x", "x\n");
    drop(workspace);
    kill(&yard, |owner| owner["repository"] = json!("/nowhere/project/.git"));
    let orphan = only(&yard);
    assert!(matches!(orphan.fate, Fate::Left(_)), "{orphan:?}");
    assert!(tree.join("x").exists());
    fs::write(owner_file(&yard), "{").unwrap();
    let orphan = only(&yard);
    assert!(matches!(orphan.fate, Fate::Left(_)) && tree.join("x").exists(), "{orphan:?}");
}

#[test]
fn many_collectors_save_each_orphan_once() {
    let yard = Yard::new();
    let workspace = yard.start();
    write(workspace.path(), "x", "x\n");
    drop(workspace);
    kill(&yard, |_| {});
    let together = || -> Vec<Orphan> {
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| collect(&yard))).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        })
    };
    let all = (0..1000).map(|_| together()).find(|all| !all.is_empty()).unwrap_or_default();
    let [Orphan { fate: Fate::Rescued(_), .. }] = all.as_slice() else { panic!("{all:?}") };
    yard.check_gone("run-1");
}

#[test]
fn a_home_without_workspaces_has_no_orphans() {
    let yard = Yard::new();
    assert!(collect_orphans(&yard.program, Path::new("/nonexistent/home"), "x").unwrap().is_empty());
    assert!(collect(&yard).is_empty());
}

#[test]
fn finalising_has_one_limit_for_all_of_it() {
    let yard = Yard::new();
    let workspace = yard.start();
    write(workspace.path(), "x", "x\n");
    drop(workspace);
    // Each call is well within the limit, all together are not.
    let slow = yard.root().join("slow-git");
    pilot_testkit::program::write(&slow, "#!/bin/sh\nsleep 0.5\nexec git \"$@\"\n");
    let hasty = yard.program.limited(Duration::from_secs(2)).with_git(slow);
    kill(&yard, |_| {});
    let orphan = collect_orphans(&Arc::new(hasty), &yard.home(), "x").unwrap().remove(0);
    // What could not be staged in time is set aside as it is; on a slow machine not even that is reached.
    let (said, kept) = match &orphan.fate {
        Fate::Rescued(finalised) => (format!("{:?}", finalised.found), yard.home().join("kept/run-1/tree")),
        Fate::Left(error) => (error.to_string(), orphan.owner.unwrap().tree),
        Fate::NeverStarted | Fate::AlreadyFinalised { .. } => panic!("{orphan:?}"),
    };
    assert!(said.contains("no end within 2s"), "{said}");
    assert!(kept.join("x").exists(), "{said}");
}
