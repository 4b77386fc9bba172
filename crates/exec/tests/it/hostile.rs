//! Agents that do what they should not: the result is found, nothing of theirs runs, nothing of the user's changes.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use pilot_exec::workspace::{Finalised, GuardedChange, HalfDone, RunFinding};

use crate::user_repo::{UserRepo, write};

/// The repository's git directory, as the agent finds it.
fn common(user_repo: &UserRepo, tree: &Path) -> PathBuf {
    user_repo.git_in(tree, &["rev-parse", "--path-format=absolute", "--git-common-dir"]).into()
}

fn commit(user_repo: &UserRepo, tree: &Path, file: &str) {
    write(tree, file, format!("{file}\n"));
    user_repo.git_in(tree, &["add", "-A"]);
    user_repo.git_in(tree, &["commit", "-q", "-m", file]);
}

fn files(finalised: &Finalised) -> Vec<&str> {
    finalised.diff.files.iter().map(|file| file.path.to_str().expect("UTF-8")).collect()
}

fn guarded(finalised: &Finalised, name: &str) -> Option<GuardedChange> {
    finalised.found.iter().find_map(|finding| {
        let RunFinding::Guarded { path, touched, restored: true, .. } = finding else { return None };
        path.ends_with(name).then_some(*touched)
    })
}

#[test]
fn hooks_do_not_run_and_are_put_back() {
    let user_repo = UserRepo::new();
    write(&user_repo.repo(), ".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n");
    let trap = user_repo.trap();
    let finalised = user_repo.run(|tree| {
        let hooks = common(&user_repo, tree).join("hooks");
        let all =
            ["post-checkout", "pre-commit", "post-commit", "reference-transaction", "post-index-change"];
        write(tree, "x", "x\n");
        for hook in all {
            fs::copy(&trap, hooks.join(hook)).unwrap();
        }
    });
    assert_eq!(files(&finalised), ["x"]);
    assert_eq!(guarded(&finalised, "hooks/post-checkout"), Some(GuardedChange::Added));
    assert_eq!(guarded(&finalised, "hooks/pre-commit"), Some(GuardedChange::Changed));
    assert!(finalised.found.iter().all(RunFinding::is_tampering));
    let found = user_repo.home().join("kept/run-1/found-hooks-pre-commit");
    assert_eq!(fs::read(found).unwrap(), fs::read(user_repo.trap()).unwrap());
}

#[test]
fn programs_in_the_configuration_do_not_run_and_it_is_put_back() {
    let user_repo = UserRepo::new();
    let trap = user_repo.trap();
    let trap = trap.to_str().unwrap();
    let hooks = user_repo.root().join("hooks");
    fs::create_dir(&hooks).unwrap();
    for hook in ["post-commit", "reference-transaction", "post-index-change"] {
        fs::copy(trap, hooks.join(hook)).unwrap();
    }
    let finalised = user_repo.run(|tree| {
        write(tree, "x.txt", "x\n");
        write(tree, ".gitattributes", "* filter=trap diff=trap merge=trap\n");
        let config = common(&user_repo, tree).join("config");
        for (key, value) in [
            ("filter.trap.clean", trap),
            ("filter.trap.smudge", trap),
            ("filter.trap.required", "true"),
            ("diff.trap.textconv", trap),
            ("diff.trap.command", trap),
            ("diff.external", trap),
            ("core.hooksPath", hooks.to_str().unwrap()),
            ("core.sshCommand", trap),
            ("core.pager", trap),
            ("core.editor", trap),
            ("gpg.program", trap),
            ("commit.gpgSign", "true"),
            ("alias.add", trap),
            ("alias.write-tree", trap),
            ("core.worktree", user_repo.root().to_str().unwrap()),
            ("core.bare", "true"),
            ("extensions.worktreeConfig", "true"),
            ("extensions.unheardOf", "true"),
            ("core.repositoryFormatVersion", "1"),
            ("core.fsmonitor", trap),
        ] {
            user_repo.git_in(user_repo.root(), &["config", "--file", config.to_str().unwrap(), key, value]);
        }
    });
    assert_eq!(files(&finalised), [".gitattributes", "x.txt"]);
    assert_eq!(guarded(&finalised, "config"), Some(GuardedChange::Changed));
}

#[test]
fn configuration_of_the_worktree_alone_is_not_obeyed() {
    let user_repo = UserRepo::new();
    user_repo.git(&["config", "extensions.worktreeConfig", "true"]);
    let trap = user_repo.trap();
    let finalised = user_repo.run(|tree| {
        write(tree, "x.txt", "x\n");
        write(tree, ".gitattributes", "* filter=trap\n");
        user_repo.git_in(tree, &["config", "--worktree", "filter.trap.clean", trap.to_str().unwrap()]);
        user_repo
            .git_in(tree, &["config", "--worktree", "core.worktree", user_repo.repo().to_str().unwrap()]);
        user_repo.git_in(tree, &["config", "--worktree", "core.fsmonitor", trap.to_str().unwrap()]);
    });
    assert_eq!(files(&finalised), [".gitattributes", "x.txt"]);
}

#[test]
fn an_index_that_hides_changes_is_not_believed() {
    let user_repo = UserRepo::new();
    let finalised = user_repo.run(|tree| {
        user_repo.git_in(tree, &["update-index", "--assume-unchanged", "README.md"]);
        user_repo.git_in(tree, &["update-index", "--skip-worktree", "src/lib.rs"]);
        write(tree, "README.md", "changed\n");
        write(tree, "src/lib.rs", "changed\n");
        let git_dir = user_repo.git_in(tree, &["rev-parse", "--absolute-git-dir"]);
        fs::write(Path::new(&git_dir).join("index.lock"), "").unwrap();
    });
    assert_eq!(files(&finalised), ["README.md", "src/lib.rs"]);
    assert_eq!(finalised.found, [RunFinding::IndexLock]);
}

#[test]
fn excludes_and_alternates_are_put_back() {
    let user_repo = UserRepo::new();
    let finalised = user_repo.run(|tree| {
        let common = common(&user_repo, tree);
        write(&common, "info/exclude", "*\n");
        write(&common, "info/attributes", "* filter=x\n");
        write(&common, "objects/info/alternates", "/nowhere\n");
        write(tree, "x", "x\n");
    });
    assert_eq!(files(&finalised), ["x"]);
    assert_eq!(guarded(&finalised, "info/exclude"), Some(GuardedChange::Changed));
    assert_eq!(guarded(&finalised, "info/attributes"), Some(GuardedChange::Added));
    assert_eq!(guarded(&finalised, "objects/info/alternates"), Some(GuardedChange::Added));
}

#[test]
fn a_replaced_git_file_leads_nowhere() {
    let user_repo = UserRepo::new();
    let finalised = user_repo.run(|tree| {
        commit(&user_repo, tree, "kept");
        write(tree, "left", "left\n");
        write(tree, ".git", format!("gitdir: {}/.git\n", user_repo.repo().display()));
    });
    assert_eq!(files(&finalised), ["kept", "left"]);
    assert_eq!(finalised.commits.len(), 2);
    assert_eq!(finalised.found, [RunFinding::GitFileReplaced { kept: None }]);
}

#[test]
fn a_repository_in_place_of_the_worktree_is_kept_aside() {
    let user_repo = UserRepo::new();
    let finalised = user_repo.run(|tree| {
        fs::remove_file(tree.join(".git")).unwrap();
        user_repo.git_in(tree, &["init", "-q"]);
        user_repo.git_in(tree, &["config", "core.fsmonitor", user_repo.trap().to_str().unwrap()]);
        write(tree, "x", "x\n");
        let quiet = ["-c", "core.fsmonitor=false"];
        user_repo.git_in(tree, &[&quiet[..], &["add", "-A"]].concat());
        user_repo.git_in(tree, &[&quiet[..], &["commit", "-q", "-m", "elsewhere"]].concat());
    });
    assert_eq!(files(&finalised), ["x"]);
    let kept = user_repo.home().join("kept/run-1/worktree.git");
    assert_eq!(finalised.found, [RunFinding::GitFileReplaced { kept: Some(kept.clone()) }]);
    assert_eq!(user_repo.git_in(&kept, &["log", "--format=%s"]), "elsewhere");
}

#[test]
fn a_deleted_worktree_loses_no_commit() {
    let user_repo = UserRepo::new();
    let finalised = user_repo.run(|tree| {
        commit(&user_repo, tree, "kept");
        fs::remove_dir_all(tree).unwrap();
    });
    assert_eq!(files(&finalised), ["kept"]);
    assert_eq!(finalised.found, [RunFinding::TreeGone]);

    let user_repo = UserRepo::new();
    let finalised = user_repo.run(|tree| {
        commit(&user_repo, tree, "kept");
        for entry in fs::read_dir(tree).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
        }
    });
    assert_eq!(files(&finalised), ["kept"]);
    assert!(finalised.found.contains(&RunFinding::TreeGone), "{:?}", finalised.found);

    // By git itself: then its directory for the worktree is gone as well.
    let user_repo = UserRepo::new();
    let finalised = user_repo.run(|tree| {
        commit(&user_repo, tree, "kept");
        user_repo.git(&["worktree", "remove", "-f", "-f", tree.to_str().unwrap()]);
    });
    assert_eq!(files(&finalised), ["kept"]);
    assert!(finalised.found.contains(&RunFinding::GitDirGone), "{:?}", finalised.found);
}

#[test]
fn a_link_in_place_of_the_worktree_is_not_followed() {
    let user_repo = UserRepo::new();
    let finalised = user_repo.run(|tree| {
        commit(&user_repo, tree, "kept");
        fs::remove_dir_all(tree).unwrap();
        symlink(user_repo.repo(), tree).unwrap();
    });
    assert_eq!(files(&finalised), ["kept"]);
    assert_eq!(finalised.found, [RunFinding::TreeReplaced]);
    assert!(user_repo.repo().join("README.md").exists());
}

#[test]
fn commits_on_another_branch_are_found() {
    let user_repo = UserRepo::new();
    let finalised = user_repo.run(|tree| {
        user_repo.git_in(tree, &["checkout", "-q", "-b", "feature"]);
        commit(&user_repo, tree, "x");
        write(tree, "y", "y\n");
    });
    assert_eq!(files(&finalised), ["x", "y"]);
    assert_eq!(user_repo.sha("pilot/GH-1"), finalised.head);
    assert!(finalised.found.iter().any(|finding| matches!(finding, RunFinding::OffBranch { .. })));
    let restored = |finding: &RunFinding| matches!(finding, RunFinding::RefChanged { name, restored: true, .. } if name == "refs/heads/feature");
    assert!(finalised.found.iter().any(restored), "{:?}", finalised.found);
}

#[test]
fn commits_are_found_after_the_agent_went_elsewhere() {
    for away in [&["checkout", "-q", "--detach", "HEAD~1"][..], &["checkout", "-q", "other"]] {
        let user_repo = UserRepo::new();
        user_repo.git(&["branch", "other"]);
        let finalised = user_repo.run(|tree| {
            commit(&user_repo, tree, "x");
            user_repo.git_in(tree, away);
        });
        assert_eq!(files(&finalised), ["x"], "{away:?}");
        assert_eq!(user_repo.sha("pilot/GH-1"), finalised.head);
    }
}

#[test]
fn commits_of_others_are_not_the_result() {
    let user_repo = UserRepo::new();
    user_repo.git(&["checkout", "-q", "-b", "other"]);
    user_repo.git(&["commit", "-q", "--allow-empty", "-m", "theirs"]);
    user_repo.write("theirs", "theirs\n");
    user_repo.git(&["add", "-A"]);
    user_repo.git(&["commit", "-q", "-m", "theirs too"]);
    user_repo.git(&["checkout", "-q", "trunk/main"]);
    let finalised = user_repo.run(|tree| {
        user_repo.git_in(tree, &["checkout", "-q", "--detach", "other~1"]);
    });
    assert!(finalised.commits.is_empty() && !finalised.has_changes(), "{finalised:?}");
}

#[test]
fn what_the_user_does_meanwhile_is_the_users() {
    let user_repo = UserRepo::new();
    let mut workspace = user_repo.start();
    commit(&user_repo, workspace.path(), "agent");
    user_repo.write("mine", "mine\n");
    user_repo.git(&["add", "-A"]);
    user_repo.git(&["commit", "-q", "-m", "mine"]);
    user_repo.git(&["branch", "my-branch"]);
    user_repo.git(&["merge", "-q", "-m", "merged early", "pilot/GH-1"]);
    let before = user_repo.user_state();
    let finalised = workspace.finalise("x").unwrap();
    assert_eq!(files(&finalised), ["agent"]);
    workspace.remove(&finalised).unwrap();
    assert_eq!(before, user_repo.user_state());
    assert!(!finalised.found.iter().any(RunFinding::is_tampering), "{:?}", finalised.found);
}

#[test]
fn branches_that_the_agent_moved_are_moved_back_and_its_commits_kept() {
    let user_repo = UserRepo::new();
    user_repo.git(&["branch", "release"]);
    let finalised = user_repo.run_apart_from(".git/logs/refs/heads/release", |tree| {
        commit(&user_repo, tree, "x");
        user_repo.git_in(tree, &["update-ref", "refs/heads/release", "HEAD"]);
        user_repo.git_in(tree, &["checkout", "-q", "-b", "aside", "HEAD~1"]);
        commit(&user_repo, tree, "z");
        user_repo.git_in(tree, &["checkout", "-q", "pilot/GH-1"]);
        user_repo.git_in(tree, &["branch", "-D", "-q", "aside"]);
        user_repo.git_in(tree, &["branch", "aside2", "HEAD@{1}"]);
    });
    assert_eq!(files(&finalised), ["x"]);
    assert_eq!(finalised.others.len(), 1);
    assert_eq!(user_repo.show(&finalised.others[0].pin, "z"), "z");
}

#[test]
fn rewritten_history_is_the_result_and_said_so() {
    let user_repo = UserRepo::new();
    let finalised = user_repo.run(|tree| {
        user_repo.git_in(tree, &["checkout", "-q", "--orphan", "fresh"]);
        commit(&user_repo, tree, "x");
        user_repo.git_in(tree, &["branch", "-q", "-D", "pilot/GH-1"]);
    });
    assert_eq!(files(&finalised), ["x"]);
    assert_eq!(user_repo.sha("pilot/GH-1"), finalised.head);
    assert!(finalised.found.contains(&RunFinding::OffBase), "{:?}", finalised.found);
}

/// Only the log of the worktree's HEAD knows them, and that goes with the worktree.
#[test]
fn commits_the_agent_abandoned_are_kept() {
    for work_goes_on in [false, true] {
        let user_repo = UserRepo::new();
        let mut dropped = String::new();
        let finalised = user_repo.run(|tree| {
            commit(&user_repo, tree, "a");
            commit(&user_repo, tree, "b");
            dropped = user_repo.git_in(tree, &["rev-parse", "HEAD"]);
            user_repo.git_in(tree, &["reset", "-q", "--hard", "HEAD~2"]);
            if work_goes_on {
                commit(&user_repo, tree, "c");
            }
        });
        assert_eq!(finalised.has_changes(), work_goes_on);
        let others: Vec<&str> = finalised.others.iter().map(|other| other.sha.as_str()).collect();
        assert_eq!(others, [dropped.as_str()], "the last of them holds the first");
    }
}

#[test]
fn a_run_whose_whole_folder_is_gone_still_has_its_commits() {
    let user_repo = UserRepo::new();
    let finalised = user_repo.run(|tree| {
        commit(&user_repo, tree, "x");
        fs::remove_dir_all(user_repo.home()).unwrap();
    });
    assert_eq!(files(&finalised), ["x"]);
    assert_eq!(user_repo.sha("pilot/GH-1"), finalised.head);
}

#[test]
fn an_amended_base_is_the_result() {
    let user_repo = UserRepo::new();
    let finalised = user_repo.run(|tree| {
        write(tree, "x", "x\n");
        user_repo.git_in(tree, &["add", "-A"]);
        user_repo.git_in(tree, &["commit", "-q", "--amend", "-m", "amended"]);
    });
    assert_eq!((files(&finalised), finalised.commits.len()), (vec!["x"], 1));
    assert!(finalised.found.contains(&RunFinding::OffBase));
}

#[test]
fn half_done_operations_lose_nothing() {
    // A merge with a conflict: what lies in the tree is committed on top of HEAD.
    let user_repo = UserRepo::new();
    let finalised = user_repo.run(|tree| {
        user_repo.git_in(tree, &["checkout", "-q", "--detach"]);
        commit(&user_repo, tree, "README.md");
        let theirs = user_repo.git_in(tree, &["rev-parse", "HEAD"]);
        user_repo.git_in(tree, &["checkout", "-q", "pilot/GH-1"]);
        write(tree, "README.md", "mine\n");
        user_repo.git_in(tree, &["commit", "-q", "-a", "-m", "mine"]);
        assert!(!user_repo.try_git(tree, &["merge", &theirs]).0);
    });
    assert!(finalised.found.contains(&RunFinding::Unfinished(HalfDone::Merge)));
    assert!(user_repo.show("pilot/GH-1", "README.md").contains("<<<<<<<"));

    // A rebase that stopped: the branch has all of the work, HEAD a part.
    let user_repo = UserRepo::new();
    let finalised = user_repo.run(|tree| {
        commit(&user_repo, tree, "a");
        commit(&user_repo, tree, "README.md");
        user_repo.git_in(tree, &["checkout", "-q", "--detach", "HEAD~2"]);
        write(tree, "README.md", "onto\n");
        user_repo.git_in(tree, &["commit", "-q", "-a", "-m", "onto"]);
        let onto = user_repo.git_in(tree, &["rev-parse", "HEAD"]);
        user_repo.git_in(tree, &["checkout", "-q", "pilot/GH-1"]);
        assert!(!user_repo.try_git(tree, &["rebase", &onto]).0);
    });
    assert!(finalised.found.contains(&RunFinding::Unfinished(HalfDone::Rebase)));
    assert_eq!(files(&finalised), ["README.md", "a"]);
    assert_eq!(finalised.commits.len(), 2);
    assert_eq!(finalised.others.len(), 1, "what HEAD had is kept beside it");
}

#[test]
fn nested_repositories_lose_neither_files_nor_history() {
    let user_repo = UserRepo::new();
    let finalised = user_repo.run(|tree| {
        for (folder, born) in [("made", true), ("empty", false)] {
            let inner = tree.join(folder);
            fs::create_dir(&inner).unwrap();
            user_repo.git_in(&inner, &["init", "-q"]);
            write(&inner, "file", "x\n");
            if born {
                user_repo.git_in(&inner, &["add", "-A"]);
                user_repo.git_in(&inner, &["commit", "-q", "-m", "inner"]);
                write(&inner, "deeper/file", "y\n");
                user_repo.git_in(&inner.join("deeper"), &["init", "-q"]);
            }
            user_repo.git_in(&inner, &["config", "core.fsmonitor", user_repo.trap().to_str().unwrap()]);
        }
    });
    assert_eq!(files(&finalised), ["empty/file", "made/deeper/file", "made/file"]);
    let nested =
        finalised.found.iter().filter(|finding| matches!(finding, RunFinding::NestedRepository { .. }));
    assert_eq!(nested.count(), 3);
    let kept = user_repo.home().join("kept/run-1/nested-made.git");
    fs::remove_file(kept.join("config")).unwrap();
    assert_eq!(user_repo.git_in(&kept, &["log", "--format=%s"]), "inner");
}

#[test]
fn a_link_on_the_way_to_a_submodule_is_not_followed() {
    let user_repo = UserRepo::new();
    let finalised = user_repo.run(|tree| {
        let sha = user_repo.git_in(tree, &["rev-parse", "HEAD"]);
        user_repo
            .git_in(tree, &["update-index", "--add", "--cacheinfo", &format!("160000,{sha},out/project")]);
        user_repo.git_in(tree, &["commit", "-q", "-m", "a link to a commit"]);
        symlink(user_repo.root(), tree.join("out")).unwrap();
    });
    assert!(user_repo.repo().join(".git").is_dir());
    assert_eq!(files(&finalised), ["out"]);
}

#[test]
fn a_commit_in_another_repository_is_no_result() {
    let user_repo = UserRepo::new();
    let other = user_repo.root().join("other");
    fs::create_dir(&other).unwrap();
    user_repo.git_in(&other, &["init", "-q"]);
    let finalised = user_repo.run(|_| commit(&user_repo, &other, "x"));
    assert!(!finalised.has_changes() && finalised.commits.is_empty());
}

#[test]
fn locks_and_broken_refs_are_no_obstacle() {
    let user_repo = UserRepo::new();
    let finalised = user_repo.run(|tree| {
        commit(&user_repo, tree, "x");
        write(tree, "y", "y\n");
        let common = common(&user_repo, tree);
        write(&common, "refs/heads/pilot/GH-1.lock", "");
        write(&common, "refs/heads/pilot/broken", "0123456789012345678901234567890123456789\n");
        write(&common, "refs/heads/pilot/rubbish", "rubbish\n");
        write(&common, "refs/replace/0123456789012345678901234567890123456789", "rubbish\n");
        fs::remove_dir_all(common.join("refs/replace")).unwrap();
    });
    assert_eq!(files(&finalised), ["x", "y"]);
    assert_eq!(user_repo.sha("pilot/GH-1"), finalised.head);
}

#[test]
fn a_branch_that_points_elsewhere_does_not_drag_others_along() {
    let user_repo = UserRepo::new();
    let main = user_repo.sha("trunk/main");
    let finalised = user_repo.run(|tree| {
        user_repo.git_in(tree, &["checkout", "-q", "--detach"]);
        user_repo.git_in(tree, &["symbolic-ref", "refs/heads/pilot/GH-1", "refs/heads/trunk/main"]);
        commit(&user_repo, tree, "x");
    });
    assert_eq!(files(&finalised), ["x"]);
    assert_eq!(user_repo.sha("trunk/main"), main);
    assert_eq!(user_repo.sha("pilot/GH-1"), finalised.head);
}

#[test]
fn a_branch_in_the_way_costs_the_name_and_not_the_work() {
    let user_repo = UserRepo::new();
    let mut workspace = user_repo.start();
    commit(&user_repo, workspace.path(), "x");
    user_repo.git_in(workspace.path(), &["checkout", "-q", "--detach"]);
    user_repo.git_in(workspace.path(), &["branch", "-q", "-D", "pilot/GH-1"]);
    user_repo.git_in(workspace.path(), &["update-ref", "refs/heads/pilot", "HEAD~1"]);
    let finalised = workspace.finalise("x").unwrap();
    assert!(finalised.found.iter().any(|finding| matches!(finding, RunFinding::BranchNotSet { .. })));
    user_repo.check_kept(&finalised);
    assert_eq!(files(&finalised), ["x"]);
}

#[test]
fn folders_without_rights_are_removed() {
    let user_repo = UserRepo::new();
    user_repo.run(|tree| {
        write(tree, "locked/in/x", "x\n");
        fs::set_permissions(tree.join("locked/in"), fs::Permissions::from_mode(0o555)).unwrap();
        fs::set_permissions(tree.join("locked"), fs::Permissions::from_mode(0o555)).unwrap();
    });
}

#[test]
fn pipes_in_place_of_files_do_not_hang_us() {
    let user_repo = UserRepo::new().with_limit(Duration::from_secs(15));
    let fifo = |path: &Path| {
        let _ = fs::remove_file(path);
        assert!(crate::user_repo::command("mkfifo").arg(path).status().unwrap().success());
    };
    let finalised = user_repo.run(|tree| {
        commit(&user_repo, tree, "x");
        let common = common(&user_repo, tree);
        let git_dir = PathBuf::from(user_repo.git_in(tree, &["rev-parse", "--absolute-git-dir"]));
        for path in
            [common.join("config"), common.join("hooks/pre-commit"), git_dir.join("HEAD"), tree.join("pipe")]
        {
            fifo(&path);
        }
        fifo(&tree.join(".git"));
        fifo(&tree.join(".gitattributes"));
        write(tree, "y", "y\n");
    });
    assert_eq!(files(&finalised), ["x", "y"]);
    let obstacle = RunFinding::Obstacle { path: ".gitattributes".into(), kept: None };
    assert!(finalised.found.contains(&obstacle), "{:?}", finalised.found);
}
