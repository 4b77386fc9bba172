//! The life of a workspace when the agent behaves.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::sync::{Arc, Barrier};

use pilot_exec::git::{Head, Identity, Program};
use pilot_exec::workspace::{Intent, RunFinding, WorkspaceError};

use crate::user_repo::{UserRepo, branch_name, write};

#[test]
fn commits_of_the_agent_are_the_result() {
    let user_repo = UserRepo::new();
    let base = user_repo.sha("HEAD");
    let finalised = user_repo.run(|tree| {
        assert_eq!(user_repo.git_in(tree, &["status", "--porcelain"]), "");
        assert_eq!(user_repo.git_in(tree, &["branch", "--show-current"]), "pilot/GH-1");
        write(tree, "src/two.rs", "fn two() {}\n");
        user_repo.git_in(tree, &["add", "-A"]);
        user_repo.git_in(tree, &["commit", "-q", "-m", "feat: two"]);
        write(tree, "src/lib.rs", "fn one() { two() }\n");
        user_repo.git_in(tree, &["commit", "-q", "-a", "-m", "feat: one uses two"]);
    });
    assert_eq!(finalised.base, base);
    let subjects: Vec<&str> = finalised.commits.iter().map(|commit| commit.subject.as_str()).collect();
    assert_eq!(subjects, ["feat: one uses two", "feat: two"]);
    assert_eq!(finalised.files_changed(), 2);
    assert_eq!((finalised.diff.added(), finalised.diff.removed()), (2, 1));
    assert!(!finalised.leftover_committed() && finalised.has_changes());
    assert_eq!(finalised.found, []);
    assert_eq!(user_repo.sha("refs/heads/pilot/GH-1"), finalised.head);
    assert_eq!(user_repo.sha("refs/pilot/keep/run-1"), finalised.head);
}

#[test]
fn leftovers_are_committed_as_the_user() {
    let user_repo = UserRepo::new();
    user_repo.write(".gitignore", "*.log\n");
    user_repo.git(&["add", "-A"]);
    user_repo.git(&["commit", "-q", "-m", "ignore"]);
    let finalised = user_repo.run(|tree| {
        write(tree, "new.txt", "new\n");
        write(tree, "debug.log", "ignored\n");
        write(tree, "src/lib.rs", "fn changed() {}\n");
        fs::remove_file(tree.join("README.md")).unwrap();
    });
    assert!(finalised.leftover_committed());
    assert_eq!(finalised.files_changed(), 3);
    assert_eq!(finalised.leftover.as_ref(), Some(&finalised.head));
    assert_eq!(finalised.commits[0].subject, "Leftovers of the run");
    assert_eq!(user_repo.git(&["log", "-1", "--format=%an %ce", "pilot/GH-1"]), "Ada ada@example.org");
    assert_eq!(
        user_repo.git(&["ls-tree", "-r", "--name-only", "pilot/GH-1"]),
        ".gitignore\nnew.txt\nsrc/lib.rs"
    );
}

#[test]
fn commits_and_leftovers_go_together() {
    let user_repo = UserRepo::new();
    let finalised = user_repo.run(|tree| {
        write(tree, "forced.log", "wanted\n");
        write(tree, ".gitignore", "*.log\n");
        user_repo.git_in(tree, &["add", "-f", "-A"]);
        user_repo.git_in(tree, &["commit", "-q", "-m", "agent"]);
        write(tree, "more.txt", "more\n");
    });
    assert_eq!(finalised.commits.len(), 2);
    assert_eq!(
        finalised.files_changed(),
        3,
        "a file that is ignored and tracked stays: {:?}",
        finalised.diff
    );
}

#[test]
fn no_difference_is_no_change_and_leaves_no_branch() {
    let user_repo = UserRepo::new();
    let base = user_repo.sha("HEAD");
    let finalised = user_repo.run(|tree| {
        write(tree, "src/lib.rs", "fn one() {}\n");
    });
    assert!(!finalised.has_changes() && finalised.commits.is_empty());
    assert_eq!((finalised.head, finalised.pin), (base, None));
    assert!(!user_repo.try_git(&user_repo.repo(), &["rev-parse", "--verify", "pilot/GH-1"]).0);
    // The name is free again.
    user_repo.start_run("run-2", "pilot/GH-1").unwrap();
}

#[test]
fn an_empty_commit_is_kept_and_is_no_change() {
    let user_repo = UserRepo::new();
    let finalised = user_repo.run(|tree| {
        user_repo.git_in(tree, &["commit", "-q", "--allow-empty", "-m", "nothing"]);
    });
    assert_eq!(finalised.commits.len(), 1);
    assert!(!finalised.has_changes());
    assert!(finalised.pin.is_some());
}

#[test]
fn a_branch_is_continued_where_it_is_expected() {
    let user_repo = UserRepo::new();
    let first = user_repo.run(|tree| write(tree, "a", "a\n"));
    let repository = user_repo.open();
    let branch = branch_name("pilot/GH-1");
    let elsewhere =
        Intent::Continue { branch: branch.clone(), expected: repository.base(None).unwrap(), since: None };
    let error = user_repo.create(&repository, elsewhere, "run-2").unwrap_err();
    assert!(matches!(error, WorkspaceError::BranchMoved { .. }), "{error}");
    let intent = Intent::Continue { branch, expected: first.head.clone(), since: None };
    let mut workspace = user_repo.create(&repository, intent, "run-2").unwrap();
    assert!(workspace.path().join("a").exists());
    write(workspace.path(), "b", "b\n");
    let second = workspace.finalise("more").unwrap();
    workspace.remove(&second).unwrap();
    assert_eq!(second.base, first.head);
    assert_eq!(second.commits.len(), 1);
    assert_eq!(user_repo.sha("pilot/GH-1"), second.head);
    assert_eq!(user_repo.sha("pilot/GH-1~1"), first.head);
}

/// The agent finds the work of the run before in its worktree, and both are this run's work.
#[test]
fn what_a_run_that_was_cut_off_left_is_built_upon() {
    let user_repo = UserRepo::new();
    let first = user_repo.run(|tree| write(tree, "a", "a\n"));
    for (number, agent) in
        ["true", "git add -A && git commit -qam again", "git reset -q --hard HEAD~1"].into_iter().enumerate()
    {
        let repository = user_repo.open();
        let since = Some(first.base.clone());
        let branch = branch_name("pilot/GH-1");
        let intent = Intent::Continue { branch, expected: first.head.clone(), since };
        let mut workspace = user_repo.create(&repository, intent, &format!("run-{}", 2 + number)).unwrap();
        let tree = workspace.path().to_owned();
        assert!(tree.join("a").exists(), "{agent}");
        assert_eq!(user_repo.git_in(&tree, &["status", "--porcelain"]), "", "{agent}");
        write(&tree, "b", "b\n");
        user_repo.git_in(&tree, &["-c", &format!("alias.x=!{agent}"), "x"]);
        let is_reset = !tree.join("a").exists();
        if is_reset {
            write(&tree, "c", "c\n");
        }
        let second = workspace.finalise("more").unwrap();
        workspace.remove(&second).unwrap();
        assert_eq!(second.base, first.base, "{agent}");
        let files: Vec<&str> = second.diff.files.iter().map(|file| file.path.to_str().unwrap()).collect();
        let expected = if is_reset { ["b", "c"] } else { ["a", "b"] };
        assert_eq!(files, expected, "{agent}");
        user_repo.git(&["branch", "-f", "pilot/GH-1", first.head.as_str()]);
    }
}

#[test]
fn intents_that_cannot_be_met_are_refused_and_leave_nothing() {
    let user_repo = UserRepo::new();
    user_repo.git(&["branch", "taken"]);
    let before = user_repo.user_state();
    let repository = user_repo.open();
    let base = repository.base(None).unwrap();
    let cases = [
        (Intent::NewBranch { name: branch_name("taken"), base: base.clone() }, "exists"),
        (Intent::NewBranch { name: branch_name("taken/below"), base: base.clone() }, "taken"),
        (
            Intent::Continue { branch: branch_name("none"), expected: base.clone(), since: None },
            "does not exist",
        ),
        (
            Intent::Continue { branch: branch_name("trunk/main"), expected: base, since: None },
            "checked out elsewhere",
        ),
    ];
    for (intent, words) in cases {
        let error = user_repo.create(&repository, intent.clone(), "run-1").unwrap_err().to_string();
        assert!(error.contains(words), "{intent:?}: {error}");
        assert!(!user_repo.home().join("worktrees/run-1").exists(), "{intent:?}");
    }
    for run in ["", "../../x", "a b"] {
        let error = user_repo.start_run(run, "pilot/x").unwrap_err();
        assert!(matches!(error, WorkspaceError::BadRun { .. }), "{error}");
    }
    let _held = user_repo.start_run("same", "pilot/x").unwrap();
    let error = user_repo.start_run("same", "pilot/y").unwrap_err();
    assert!(matches!(error, WorkspaceError::RunExists { .. }), "{error}");
    let after = user_repo.user_state();
    assert_eq!(before, after);
}

#[test]
fn a_branch_that_appears_between_looking_and_making_is_left_alone() {
    let user_repo = UserRepo::new();
    let repository = user_repo.open();
    user_repo.git(&["branch", "pilot/GH-1"]);
    let intent = Intent::NewBranch { name: branch_name("pilot/GH-1"), base: repository.base(None).unwrap() };
    let error = user_repo.create(&repository, intent, "run-1").unwrap_err();
    assert!(matches!(error, WorkspaceError::BranchExists { .. }), "{error}");
    assert_eq!(user_repo.sha("pilot/GH-1"), user_repo.sha("HEAD"));
}

#[test]
fn a_dirty_and_detached_checkout_is_fine_and_stays_so() {
    let user_repo = UserRepo::new();
    user_repo.git(&["checkout", "-q", "--detach"]);
    user_repo.write("README.md", "dirty\n");
    user_repo.write("staged", "staged\n");
    user_repo.git(&["add", "staged"]);
    let repository = user_repo.open();
    assert!(matches!(repository.head, Head::Detached { .. }));
    assert!(repository.is_dirty().unwrap());
    let finalised = user_repo.run(|tree| {
        assert_eq!(fs::read_to_string(tree.join("README.md")).unwrap(), "hello\n");
        write(tree, "x", "x\n");
    });
    assert_eq!(finalised.files_changed(), 1);
}

/// `git worktree add` fails now and then beside another one. Ours never runs beside another one: a git that takes its time
/// and leaves a mark while it adds a worktree sees none of the others.
#[test]
fn eight_runs_at_once_add_their_worktrees_one_after_the_other() {
    let mut user_repo = UserRepo::new();
    let before = user_repo.user_state();
    let slow = user_repo.root().join("slow-git");
    let script = "#!/bin/sh\ncase \" $* \" in *\" worktree add \"*) ;; *) exec git \"$@\" ;; esac
mkdir @/adding || echo \"$*\" >>@/beside\nsleep 0.1\ngit \"$@\"\ncode=$?\nrmdir @/adding\nexit $code\n";
    pilot_testkit::program::write(&slow, script.replace("@/", &format!("{}/", user_repo.root().display())));
    user_repo.program = Arc::new(Program::clone(&user_repo.program).with_git(slow));
    let user_repo = &user_repo;
    let all_are_here = &Barrier::new(8);
    std::thread::scope(|scope| {
        for number in 0..8 {
            scope.spawn(move || {
                let run = format!("run-{number}");
                all_are_here.wait();
                let mut workspace = user_repo.start_run(&run, &format!("pilot/GH-{number}")).unwrap();
                write(workspace.path(), &format!("file-{number}"), "x\n");
                let finalised = workspace.finalise("x").unwrap();
                assert_eq!(finalised.files_changed(), 1);
                assert!(!finalised.found.iter().any(RunFinding::is_tampering), "{:?}", finalised.found);
                // No workspace is removed before all of them were there at once.
                all_are_here.wait();
                let finalised = workspace.finalise("x").unwrap();
                assert_eq!(finalised.files_changed(), 1);
                workspace.remove(&finalised).unwrap();
            });
        }
    });
    let beside = fs::read_to_string(user_repo.root().join("beside")).unwrap_or_default();
    assert_eq!(beside, "", "added beside another");
    assert!(!user_repo.repo().join(".git/worktrees").exists());
    assert_eq!(before, user_repo.user_state());
}

#[test]
fn names_of_any_bytes_survive() {
    let user_repo = UserRepo::new();
    let names: [&[u8]; 5] = [b"new\nline", b"quo\"te", b"\xff\xfe", b" spaces ", b":(top)x"];
    let finalised = user_repo.run(|tree| {
        for name in names {
            fs::write(tree.join(OsStr::from_bytes(name)), [0, 1, 2]).unwrap();
        }
    });
    let mut found: Vec<&[u8]> =
        finalised.diff.files.iter().map(|file| file.path.as_os_str().as_bytes()).collect();
    found.sort_unstable();
    let mut names = names.to_vec();
    names.sort_unstable();
    assert_eq!(found, names);
    assert!(finalised.diff.files.iter().all(|file| file.added.is_none()), "binary files have no lines");
}

#[test]
fn links_stay_links() {
    let user_repo = UserRepo::new();
    let finalised = user_repo.run(|tree| {
        symlink(user_repo.repo(), tree.join("the-users")).unwrap();
        fs::remove_dir_all(tree.join("src")).unwrap();
        symlink("/etc", tree.join("src")).unwrap();
    });
    let paths: Vec<_> = finalised.diff.files.iter().map(|file| file.path.to_str().unwrap()).collect();
    assert_eq!(paths, ["src", "src/lib.rs", "the-users"]);
}

#[test]
fn twenty_thousand_files() {
    let user_repo = UserRepo::new();
    let finalised = user_repo.run(|tree| {
        // Links to one file: as many names for git, and far less work for the file system.
        write(tree, "d0/f0", "same\n");
        for number in 1..20_000 {
            let folder = tree.join(format!("d{}", number / 100));
            if number % 100 == 0 {
                fs::create_dir(&folder).unwrap();
            }
            fs::hard_link(tree.join("d0/f0"), folder.join(format!("f{}", number % 100))).unwrap();
        }
    });
    assert_eq!(finalised.files_changed(), 20_000);
}

#[test]
fn submodules_stay_as_they_are() {
    let user_repo = UserRepo::new();
    let module = user_repo.root().join("module");
    fs::create_dir(&module).unwrap();
    user_repo.git_in(&module, &["init", "-q"]);
    write(&module, "m", "m\n");
    user_repo.git_in(&module, &["add", "-A"]);
    user_repo.git_in(&module, &["commit", "-q", "-m", "m"]);
    let path = module.to_str().unwrap();
    user_repo.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", path, "sub"]);
    user_repo.git(&["commit", "-q", "-m", "with a submodule"]);

    let finalised = user_repo.run(|tree| {
        assert_eq!(fs::read_dir(tree.join("sub")).unwrap().count(), 0);
        write(tree, "x", "x\n");
    });
    assert_eq!(finalised.files_changed(), 1);
    assert_eq!(finalised.found, []);

    // Entered, with a commit of its own and a trap in its configuration.
    let mut workspace = user_repo.start_run("run-2", "pilot/GH-2").unwrap();
    let tree = workspace.path().to_owned();
    user_repo
        .git_in(&tree, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init"]);
    let sub = tree.join("sub");
    user_repo.git_in(&sub, &["commit", "-q", "--allow-empty", "-m", "inside"]);
    write(&sub, "m", "changed\n");
    user_repo.git_in(&sub, &["config", "core.fsmonitor", user_repo.trap().to_str().unwrap()]);
    write(&tree, "y", "y\n");
    let finalised = workspace.finalise("y").unwrap();
    assert!(!user_repo.marker().exists());
    assert_eq!(finalised.files_changed(), 1);
    assert!(finalised.found.iter().any(|finding| matches!(finding, RunFinding::Submodule { .. })));
    workspace.remove(&finalised).unwrap();
    assert!(user_repo.home().join("kept/run-2/modules").is_dir(), "the submodule's commits are kept aside");
}

#[test]
fn pointers_stay_pointers() {
    let user_repo = UserRepo::new();
    user_repo.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    user_repo.write("data.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n");
    user_repo.git(&["add", "-A"]);
    user_repo.git(&["commit", "-q", "-m", "pointers"]);
    let finalised = user_repo.run(|tree| {
        assert!(fs::read_to_string(tree.join("data.bin")).unwrap().starts_with("version https://git-lfs"));
        write(tree, "x", "x\n");
    });
    assert_eq!(finalised.files_changed(), 1);
}

#[test]
fn line_ends_are_those_of_the_users_configuration() {
    let user_repo = UserRepo::new();
    user_repo.git(&["config", "core.autocrlf", "true"]);
    let finalised = user_repo.run(|tree| {
        assert_eq!(fs::read(tree.join("README.md")).unwrap(), b"hello\r\n");
        write(tree, "new.txt", "a\r\nb\r\n");
    });
    assert_eq!(finalised.files_changed(), 1);
    assert_eq!(user_repo.git(&["cat-file", "-s", "pilot/GH-1:new.txt"]), "4");
}

#[test]
fn the_users_own_ignore_rules_hold() {
    let user_repo = UserRepo::new();
    write(&user_repo.root().join("user"), ".config/git/ignore", ".DS_Store\n");
    write(&user_repo.repo(), ".git/info/exclude", "private\n");
    let finalised = user_repo.run(|tree| {
        write(tree, ".DS_Store", "x");
        write(tree, "private", "x");
        write(tree, "wanted", "x");
    });
    assert_eq!(finalised.files_changed(), 1);
}

#[test]
fn other_kinds_of_repositories() {
    // Longer names of objects.
    let user_repo = UserRepo::empty(&["--object-format=sha256"]);
    user_repo.write("a", "a\n");
    user_repo.git(&["add", "-A"]);
    user_repo.git(&["commit", "-q", "-m", "a"]);
    assert!(user_repo.open().is_sha256);
    let finalised = user_repo.run(|tree| write(tree, "b", "b\n"));
    assert_eq!((finalised.files_changed(), finalised.head.as_str().len()), (1, 64));

    // A history that is cut off.
    let origin = UserRepo::new();
    origin.write("b", "b\n");
    origin.git(&["add", "-A"]);
    origin.git(&["commit", "-q", "-m", "second"]);
    let user_repo = UserRepo::empty(&[]);
    fs::remove_dir_all(user_repo.repo()).unwrap();
    let url = format!("file://{}", origin.repo().display());
    user_repo.git_in(user_repo.root(), &["clone", "-q", "--depth=1", &url, "project"]);
    assert!(user_repo.open().is_shallow);
    let finalised = user_repo.run(|tree| write(tree, "c", "c\n"));
    assert_eq!((finalised.files_changed(), finalised.commits.len()), (1, 1));

    // No checkout at all.
    let user_repo = UserRepo::empty(&[]);
    fs::remove_dir_all(user_repo.repo()).unwrap();
    user_repo.git_in(user_repo.root(), &["clone", "-q", "--bare", &url, "project"]);
    let repository = user_repo.open();
    assert_eq!(repository.root(), None);
    let intent = Intent::NewBranch {
        name: branch_name("pilot/x"),
        base: repository.base(Some("trunk/main")).unwrap(),
    };
    let mut workspace = user_repo.create(&repository, intent, "bare").unwrap();
    write(workspace.path(), "c", "c\n");
    let finalised = workspace.finalise("c").unwrap();
    assert_eq!(finalised.files_changed(), 1);
    workspace.remove(&finalised).unwrap();
}

#[test]
fn pilot_commits_in_its_own_name_when_the_user_has_none() {
    let user_repo = UserRepo::new();
    fs::remove_file(user_repo.root().join("user/.gitconfig")).unwrap();
    assert_eq!(user_repo.open().settings.identity, Identity::default());
    user_repo.run(|tree| write(tree, "x", "x\n"));
    assert_eq!(user_repo.git(&["log", "-1", "--format=%an <%ae>", "pilot/GH-1"]), "Pilot <pilot@localhost>");
}

#[test]
fn few_processes_are_started() {
    let user_repo = UserRepo::new();
    let before = user_repo.program.started();
    let mut workspace = user_repo.start();
    let made = user_repo.program.started() - before;
    write(workspace.path(), "x", "x\n");
    user_repo.git_in(workspace.path(), &["add", "-A"]);
    user_repo.git_in(workspace.path(), &["commit", "-q", "-m", "x"]);
    let finalised = workspace.finalise("x").unwrap();
    workspace.remove(&finalised).unwrap();
    let all = user_repo.program.started() - before;
    assert_eq!((made, all), (5, 13), "git processes to make a workspace, and in the whole life of one");
}

#[test]
fn a_later_run_does_not_take_an_earlier_ones_traps_for_the_users() {
    let user_repo = UserRepo::new();
    let before = user_repo.user_state();
    let mut first = user_repo.start_run("run-1", "pilot/GH-1").unwrap();
    user_repo.git_in(first.path(), &["config", "core.hooksPath", "/evil"]);
    let mut second = user_repo.start_run("run-2", "pilot/GH-2").unwrap();
    let finalised = first.finalise("x").unwrap();
    first.remove(&finalised).unwrap();
    let finalised = second.finalise("x").unwrap();
    second.remove(&finalised).unwrap();
    assert_eq!(before, user_repo.user_state());
}

#[test]
fn the_same_commit_made_by_two_runs_is_the_result_of_both() {
    let user_repo = UserRepo::new();
    let mut first = user_repo.start_run("run-1", "pilot/GH-1").unwrap();
    write(first.path(), "x", "x\n");
    user_repo.git_in(first.path(), &["add", "-A"]);
    user_repo.git_in(first.path(), &["commit", "-q", "-m", "x"]);
    let one = first.finalise("x").unwrap();
    let mut second = user_repo.start_run("run-2", "pilot/GH-2").unwrap();
    user_repo.git_in(second.path(), &["reset", "-q", "--hard", one.head.as_str()]);
    let two = second.finalise("x").unwrap();
    assert_eq!((&two.head, two.commits.len(), two.files_changed()), (&one.head, 1, 1));
}
