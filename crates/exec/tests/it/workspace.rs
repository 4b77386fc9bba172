//! The life of a workspace when the agent behaves.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use pilot_exec::git::{Head, Identity};
use pilot_exec::workspace::{Finding, Intent, Workspace, WorkspaceError};

use crate::yard::{Yard, branch_name, write};

#[test]
fn commits_of_the_agent_are_the_result() {
    let yard = Yard::new();
    let base = yard.sha("HEAD");
    let finalised = yard.run(|tree| {
        assert_eq!(yard.git_in(tree, &["status", "--porcelain"]), "");
        assert_eq!(yard.git_in(tree, &["branch", "--show-current"]), "pilot/GH-1");
        write(tree, "src/two.rs", "fn two() {}\n");
        yard.git_in(tree, &["add", "-A"]);
        yard.git_in(tree, &["commit", "-q", "-m", "feat: two"]);
        write(tree, "src/lib.rs", "fn one() { two() }\n");
        yard.git_in(tree, &["commit", "-q", "-a", "-m", "feat: one uses two"]);
    });
    assert_eq!(finalised.base, base);
    let subjects: Vec<&str> = finalised.commits.iter().map(|commit| commit.subject.as_str()).collect();
    assert_eq!(subjects, ["feat: one uses two", "feat: two"]);
    assert_eq!(finalised.files_changed(), 2);
    assert_eq!((finalised.diff.added(), finalised.diff.removed()), (2, 1));
    assert!(!finalised.leftover_committed() && finalised.has_changes());
    assert_eq!(finalised.found, []);
    assert_eq!(yard.sha("refs/heads/pilot/GH-1"), finalised.head);
    assert_eq!(yard.sha("refs/pilot/keep/run-1"), finalised.head);
}

#[test]
fn leftovers_are_committed_as_the_user() {
    let yard = Yard::new();
    yard.write(".gitignore", "*.log\n");
    yard.git(&["add", "-A"]);
    yard.git(&["commit", "-q", "-m", "ignore"]);
    let finalised = yard.run(|tree| {
        write(tree, "new.txt", "new\n");
        write(tree, "debug.log", "ignored\n");
        write(tree, "src/lib.rs", "fn changed() {}\n");
        fs::remove_file(tree.join("README.md")).unwrap();
    });
    assert!(finalised.leftover_committed());
    assert_eq!(finalised.files_changed(), 3);
    assert_eq!(finalised.leftover.as_ref(), Some(&finalised.head));
    assert_eq!(finalised.commits[0].subject, "Leftovers of the run");
    assert_eq!(yard.git(&["log", "-1", "--format=%an %ce", "pilot/GH-1"]), "Ada ada@example.org");
    assert_eq!(yard.git(&["ls-tree", "-r", "--name-only", "pilot/GH-1"]), ".gitignore\nnew.txt\nsrc/lib.rs");
}

#[test]
fn commits_and_leftovers_go_together() {
    let yard = Yard::new();
    let finalised = yard.run(|tree| {
        write(tree, "forced.log", "wanted\n");
        write(tree, ".gitignore", "*.log\n");
        yard.git_in(tree, &["add", "-f", "-A"]);
        yard.git_in(tree, &["commit", "-q", "-m", "agent"]);
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
    let yard = Yard::new();
    let base = yard.sha("HEAD");
    let finalised = yard.run(|tree| {
        write(tree, "src/lib.rs", "fn one() {}\n");
    });
    assert!(!finalised.has_changes() && finalised.commits.is_empty());
    assert_eq!((finalised.head, finalised.pin), (base, None));
    assert!(!yard.try_git(&yard.repo(), &["rev-parse", "--verify", "pilot/GH-1"]).0);
    // The name is free again.
    yard.start_run("run-2", "pilot/GH-1").unwrap();
}

#[test]
fn an_empty_commit_is_kept_and_is_no_change() {
    let yard = Yard::new();
    let finalised = yard.run(|tree| {
        yard.git_in(tree, &["commit", "-q", "--allow-empty", "-m", "nothing"]);
    });
    assert_eq!(finalised.commits.len(), 1);
    assert!(!finalised.has_changes());
    assert!(finalised.pin.is_some());
}

#[test]
fn a_branch_is_continued_where_it_is_expected() {
    let yard = Yard::new();
    let first = yard.run(|tree| write(tree, "a", "a\n"));
    let repository = yard.open();
    let branch = branch_name("pilot/GH-1");
    let elsewhere =
        Intent::Continue { branch: branch.clone(), expected: repository.base(None).unwrap(), since: None };
    let error = yard.create(&repository, elsewhere, "run-2").unwrap_err();
    assert!(matches!(error, WorkspaceError::BranchMoved { .. }), "{error}");
    let intent = Intent::Continue { branch, expected: first.head.clone(), since: None };
    let mut workspace = yard.create(&repository, intent, "run-2").unwrap();
    assert!(workspace.path().join("a").exists());
    write(workspace.path(), "b", "b\n");
    let second = workspace.finalise("more").unwrap();
    workspace.remove(&second).unwrap();
    assert_eq!(second.base, first.head);
    assert_eq!(second.commits.len(), 1);
    assert_eq!(yard.sha("pilot/GH-1"), second.head);
    assert_eq!(yard.sha("pilot/GH-1~1"), first.head);
}

#[test]
fn intents_that_cannot_be_met_are_refused_and_leave_nothing() {
    let yard = Yard::new();
    yard.git(&["branch", "taken"]);
    let before = yard.user_state();
    let repository = yard.open();
    let base = repository.base(None).unwrap();
    let cases = [
        (Intent::NewBranch { name: branch_name("taken"), base: base.clone() }, "exists"),
        (Intent::NewBranch { name: branch_name("taken/below"), base: base.clone() }, "taken"),
        (
            Intent::Continue { branch: branch_name("none"), expected: base.clone(), since: None },
            "none of that name",
        ),
        (
            Intent::Continue { branch: branch_name("trunk/main"), expected: base, since: None },
            "checked out elsewhere",
        ),
    ];
    for (intent, words) in cases {
        let error = yard.create(&repository, intent.clone(), "run-1").unwrap_err().to_string();
        assert!(error.contains(words), "{intent:?}: {error}");
        assert!(!yard.home().join("worktrees/run-1").exists(), "{intent:?}");
    }
    for run in ["", "../../x", "a b"] {
        let error = yard.start_run(run, "pilot/x").unwrap_err();
        assert!(matches!(error, WorkspaceError::BadRun { .. }), "{error}");
    }
    let _held = yard.start_run("same", "pilot/x").unwrap();
    let error = yard.start_run("same", "pilot/y").unwrap_err();
    assert!(matches!(error, WorkspaceError::RunExists { .. }), "{error}");
    let after = yard.user_state();
    assert_eq!(before, after);
}

#[test]
fn a_branch_that_appears_between_looking_and_making_is_left_alone() {
    let yard = Yard::new();
    let repository = yard.open();
    yard.git(&["branch", "pilot/GH-1"]);
    let intent = Intent::NewBranch { name: branch_name("pilot/GH-1"), base: repository.base(None).unwrap() };
    let error = yard.create(&repository, intent, "run-1").unwrap_err();
    assert!(matches!(error, WorkspaceError::BranchExists { .. }), "{error}");
    assert_eq!(yard.sha("pilot/GH-1"), yard.sha("HEAD"));
}

#[test]
fn a_dirty_and_detached_checkout_is_fine_and_stays_so() {
    let yard = Yard::new();
    yard.git(&["checkout", "-q", "--detach"]);
    yard.write("README.md", "dirty\n");
    yard.write("staged", "staged\n");
    yard.git(&["add", "staged"]);
    let repository = yard.open();
    assert!(matches!(repository.head(), Head::Detached { .. }));
    assert!(repository.is_dirty().unwrap());
    let finalised = yard.run(|tree| {
        assert_eq!(fs::read_to_string(tree.join("README.md")).unwrap(), "hello\n");
        write(tree, "x", "x\n");
    });
    assert_eq!(finalised.files_changed(), 1);
}

#[test]
fn two_workspaces_at_once_do_not_meet() {
    let yard = Yard::new();
    let before = yard.user_state();
    let make =
        |number: usize| yard.start_run(&format!("run-{number}"), &format!("pilot/GH-{number}")).unwrap();
    let mut workspaces: Vec<Workspace> = std::thread::scope(|scope| {
        let made: Vec<_> = (0..4).map(|number| scope.spawn(move || make(number))).collect();
        made.into_iter().map(|made| made.join().unwrap()).collect()
    });
    for (number, workspace) in workspaces.iter_mut().enumerate() {
        write(workspace.path(), &format!("file-{number}"), "x\n");
        let finalised = workspace.finalise("x").unwrap();
        assert_eq!(finalised.files_changed(), 1);
        assert!(!finalised.found.iter().any(Finding::is_tampering), "{:?}", finalised.found);
    }
    for mut workspace in workspaces {
        let finalised = workspace.finalise("x").unwrap();
        assert_eq!(finalised.files_changed(), 1);
        workspace.remove(&finalised).unwrap();
    }
    assert_eq!(before, yard.user_state());
}

#[test]
fn names_of_any_bytes_survive() {
    let yard = Yard::new();
    let names: [&[u8]; 5] = [b"new\nline", b"quo\"te", b"\xff\xfe", b" spaces ", b":(top)x"];
    let finalised = yard.run(|tree| {
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
    let yard = Yard::new();
    let finalised = yard.run(|tree| {
        symlink(yard.repo(), tree.join("the-users")).unwrap();
        fs::remove_dir_all(tree.join("src")).unwrap();
        symlink("/etc", tree.join("src")).unwrap();
    });
    let paths: Vec<_> = finalised.diff.files.iter().map(|file| file.path.to_str().unwrap()).collect();
    assert_eq!(paths, ["src", "src/lib.rs", "the-users"]);
}

#[test]
fn twenty_thousand_files() {
    let yard = Yard::new();
    let finalised = yard.run(|tree| {
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
    let yard = Yard::new();
    let module = yard.root().join("module");
    fs::create_dir(&module).unwrap();
    yard.git_in(&module, &["init", "-q"]);
    write(&module, "m", "m\n");
    yard.git_in(&module, &["add", "-A"]);
    yard.git_in(&module, &["commit", "-q", "-m", "m"]);
    let path = module.to_str().unwrap();
    yard.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", path, "sub"]);
    yard.git(&["commit", "-q", "-m", "with a submodule"]);

    let finalised = yard.run(|tree| {
        assert_eq!(fs::read_dir(tree.join("sub")).unwrap().count(), 0);
        write(tree, "x", "x\n");
    });
    assert_eq!(finalised.files_changed(), 1);
    assert_eq!(finalised.found, []);

    // Entered, with a commit of its own and a trap in its configuration.
    let mut workspace = yard.start_run("run-2", "pilot/GH-2").unwrap();
    let tree = workspace.path().to_owned();
    yard.git_in(&tree, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init"]);
    let sub = tree.join("sub");
    yard.git_in(&sub, &["commit", "-q", "--allow-empty", "-m", "inside"]);
    write(&sub, "m", "changed\n");
    yard.git_in(&sub, &["config", "core.fsmonitor", yard.trap().to_str().unwrap()]);
    write(&tree, "y", "y\n");
    let finalised = workspace.finalise("y").unwrap();
    assert!(!yard.marker().exists());
    assert_eq!(finalised.files_changed(), 1);
    assert!(finalised.found.iter().any(|finding| matches!(finding, Finding::Submodule { .. })));
    workspace.remove(&finalised).unwrap();
    assert!(yard.home().join("kept/run-2/modules").is_dir(), "the submodule's commits are kept aside");
}

#[test]
fn pointers_stay_pointers() {
    let yard = Yard::new();
    yard.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    yard.write("data.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n");
    yard.git(&["add", "-A"]);
    yard.git(&["commit", "-q", "-m", "pointers"]);
    let finalised = yard.run(|tree| {
        assert!(fs::read_to_string(tree.join("data.bin")).unwrap().starts_with("version https://git-lfs"));
        write(tree, "x", "x\n");
    });
    assert_eq!(finalised.files_changed(), 1);
}

#[test]
fn line_ends_are_those_of_the_users_configuration() {
    let yard = Yard::new();
    yard.git(&["config", "core.autocrlf", "true"]);
    let finalised = yard.run(|tree| {
        assert_eq!(fs::read(tree.join("README.md")).unwrap(), b"hello\r\n");
        write(tree, "new.txt", "a\r\nb\r\n");
    });
    assert_eq!(finalised.files_changed(), 1);
    assert_eq!(yard.git(&["cat-file", "-s", "pilot/GH-1:new.txt"]), "4");
}

#[test]
fn the_users_own_ignore_rules_hold() {
    let yard = Yard::new();
    write(&yard.root().join("user"), ".config/git/ignore", ".DS_Store\n");
    write(&yard.repo(), ".git/info/exclude", "private\n");
    let finalised = yard.run(|tree| {
        write(tree, ".DS_Store", "x");
        write(tree, "private", "x");
        write(tree, "wanted", "x");
    });
    assert_eq!(finalised.files_changed(), 1);
}

#[test]
fn other_kinds_of_repositories() {
    // Longer names of objects.
    let yard = Yard::empty(&["--object-format=sha256"]);
    yard.write("a", "a\n");
    yard.git(&["add", "-A"]);
    yard.git(&["commit", "-q", "-m", "a"]);
    assert!(yard.open().is_sha256());
    let finalised = yard.run(|tree| write(tree, "b", "b\n"));
    assert_eq!((finalised.files_changed(), finalised.head.as_str().len()), (1, 64));

    // A history that is cut off.
    let origin = Yard::new();
    origin.write("b", "b\n");
    origin.git(&["add", "-A"]);
    origin.git(&["commit", "-q", "-m", "second"]);
    let yard = Yard::empty(&[]);
    fs::remove_dir_all(yard.repo()).unwrap();
    let url = format!("file://{}", origin.repo().display());
    yard.git_in(yard.root(), &["clone", "-q", "--depth=1", &url, "project"]);
    assert!(yard.open().is_shallow());
    let finalised = yard.run(|tree| write(tree, "c", "c\n"));
    assert_eq!((finalised.files_changed(), finalised.commits.len()), (1, 1));

    // No checkout at all.
    let yard = Yard::empty(&[]);
    fs::remove_dir_all(yard.repo()).unwrap();
    yard.git_in(yard.root(), &["clone", "-q", "--bare", &url, "project"]);
    let repository = yard.open();
    assert_eq!(repository.root(), None);
    let intent = Intent::NewBranch {
        name: branch_name("pilot/x"),
        base: repository.base(Some("trunk/main")).unwrap(),
    };
    let mut workspace = yard.create(&repository, intent, "bare").unwrap();
    write(workspace.path(), "c", "c\n");
    let finalised = workspace.finalise("c").unwrap();
    assert_eq!(finalised.files_changed(), 1);
    workspace.remove(&finalised).unwrap();
}

#[test]
fn pilot_commits_in_its_own_name_when_the_user_has_none() {
    let yard = Yard::new();
    fs::remove_file(yard.root().join("user/.gitconfig")).unwrap();
    assert_eq!(yard.open().settings().identity, Identity::default());
    yard.run(|tree| write(tree, "x", "x\n"));
    assert_eq!(yard.git(&["log", "-1", "--format=%an <%ae>", "pilot/GH-1"]), "Pilot <pilot@localhost>");
}

#[test]
fn few_processes_are_started() {
    let yard = Yard::new();
    let before = yard.program.started();
    let mut workspace = yard.start();
    let made = yard.program.started() - before;
    write(workspace.path(), "x", "x\n");
    yard.git_in(workspace.path(), &["add", "-A"]);
    yard.git_in(workspace.path(), &["commit", "-q", "-m", "x"]);
    let finalised = workspace.finalise("x").unwrap();
    workspace.remove(&finalised).unwrap();
    let all = yard.program.started() - before;
    assert_eq!((made, all), (5, 13), "git processes to make a workspace, and in the whole life of one");
}

#[test]
fn a_later_run_does_not_take_an_earlier_ones_traps_for_the_users() {
    let yard = Yard::new();
    let before = yard.user_state();
    let mut first = yard.start_run("run-1", "pilot/GH-1").unwrap();
    yard.git_in(first.path(), &["config", "core.hooksPath", "/evil"]);
    let mut second = yard.start_run("run-2", "pilot/GH-2").unwrap();
    let finalised = first.finalise("x").unwrap();
    first.remove(&finalised).unwrap();
    let finalised = second.finalise("x").unwrap();
    second.remove(&finalised).unwrap();
    assert_eq!(before, yard.user_state());
}

#[test]
fn the_same_commit_made_by_two_runs_is_the_result_of_both() {
    let yard = Yard::new();
    let mut first = yard.start_run("run-1", "pilot/GH-1").unwrap();
    write(first.path(), "x", "x\n");
    yard.git_in(first.path(), &["add", "-A"]);
    yard.git_in(first.path(), &["commit", "-q", "-m", "x"]);
    let one = first.finalise("x").unwrap();
    let mut second = yard.start_run("run-2", "pilot/GH-2").unwrap();
    yard.git_in(second.path(), &["reset", "-q", "--hard", one.head.as_str()]);
    let two = second.finalise("x").unwrap();
    assert_eq!((&two.head, two.commits.len(), two.files_changed()), (&one.head, 1, 1));
}
