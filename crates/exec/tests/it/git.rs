//! Git as the host runs it.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use pilot_exec::git::{GitError, Head, Program, RefChange, Repository};

use crate::user_repo::{UserRepo, write};

#[test]
fn facts_of_a_repository() {
    let user_repo = UserRepo::new();
    let repository = Repository::open(&user_repo.program, &user_repo.repo().join("src")).unwrap();
    assert_eq!(repository.root(), Some(user_repo.repo().as_path()));
    assert_eq!(repository.common_dir, user_repo.repo().join(".git"));
    assert_eq!(repository.head, Head::Branch { name: "trunk/main".to_owned(), sha: user_repo.sha("HEAD") });
    assert!(!repository.is_shallow && !repository.is_sha256 && !repository.is_dirty().unwrap());
    assert_eq!(repository.settings.identity.name, "Ada");
    user_repo.git(&["tag", "-a", "v1", "-m", "v1"]);
    for revision in ["trunk/main", "HEAD", "v1", "HEAD^0"] {
        assert_eq!(user_repo.open().base(Some(revision)).unwrap(), user_repo.sha("HEAD"), "{revision}");
    }
    for revision in ["nope", "--help", "HEAD:README.md", "", "-x"] {
        let error = repository.base(Some(revision)).unwrap_err();
        assert!(matches!(error, GitError::UnknownRevision { .. }), "{revision}: {error}");
    }
}

#[test]
fn what_is_no_repository_or_has_no_commit_is_said_so() {
    let user_repo = UserRepo::empty(&[]);
    let repository = user_repo.open();
    assert_eq!(repository.head, Head::Unborn);
    let error = repository.base(None).unwrap_err();
    assert!(matches!(error, GitError::Unborn { .. }), "{error}");
    assert!(error.to_string().contains("make a first commit"), "{error}");
    let error = Repository::open(&user_repo.program, user_repo.root()).unwrap_err();
    assert!(matches!(error, GitError::NotARepository { .. }), "{error}");
    let missing = Program::new("/nonexistent".into(), None);
    let error = Repository::open(&Arc::new(missing), &user_repo.repo()).unwrap_err();
    assert!(matches!(error, GitError::NotInstalled { .. }), "{error}");
}

#[test]
fn refs_change_only_from_where_they_are_expected() {
    let user_repo = UserRepo::new();
    let git = user_repo.open().git.clone();
    let first = user_repo.sha("HEAD");
    user_repo.git(&["commit", "-q", "--allow-empty", "-m", "second"]);
    let second = user_repo.sha("HEAD");
    git.create_ref("refs/pilot/x", &first).unwrap();
    assert!(matches!(git.create_ref("refs/pilot/x", &second), Err(GitError::RefRefused { .. })));
    let name = "refs/pilot/x".to_owned();
    let moved = RefChange { name, before: Some(first.clone()), after: Some(second.clone()) };
    git.change_refs(std::slice::from_ref(&moved), "test").unwrap();
    let both =
        [RefChange { name: "refs/pilot/y".to_owned(), before: None, after: Some(first.clone()) }, moved];
    assert!(git.change_refs(&both, "test").is_err());
    assert_eq!(git.refs(&["refs/pilot/"]).unwrap().len(), 1, "none of two when one is refused");
    assert!(git.delete_ref("refs/pilot/x", &first).is_err());
    git.delete_ref("refs/pilot/x", &second).unwrap();
    assert!(git.refs(&["refs/pilot/"]).unwrap().is_empty());
    assert_eq!(git.count(&first, &second).unwrap(), 1);
    assert!(git.is_ancestor(&first, &second).unwrap() && !git.is_ancestor(&second, &first).unwrap());
    assert_eq!(git.commits(&second, [&first], 10).unwrap()[0].subject, "second");
    assert!(git.diff(&first, &second).unwrap().files.is_empty());
}

#[test]
fn a_git_that_hangs_is_killed_with_what_it_started() {
    let user_repo = UserRepo::new();
    let slow = user_repo.root().join("slow-git");
    pilot_testkit::program::write(&slow, "#!/bin/sh\n(sleep 1000) & sleep 1000\n");
    let program =
        Program::new("/usr/bin:/bin".into(), None).with_git(slow).limited(Duration::from_millis(200));
    let error = Repository::open(&Arc::new(program), &user_repo.repo()).unwrap_err();
    assert!(matches!(error, GitError::TimedOut { .. }), "{error}");
}

#[test]
fn traps_in_the_users_own_configuration_do_not_run_either() {
    let user_repo = UserRepo::new();
    let trap = user_repo.trap();
    let trap = trap.to_str().unwrap();
    write(&user_repo.repo(), ".gitattributes", "* filter=trap\n");
    user_repo.git(&["add", "-A"]);
    user_repo.git(&["commit", "-q", "-m", "attributes"]);
    for key in ["core.fsmonitor", "filter.trap.clean", "filter.trap.smudge", "core.pager", "alias.status"] {
        user_repo.git(&["config", key, trap]);
    }
    write(&user_repo.repo(), "README.md", "other\n");
    assert!(user_repo.open().is_dirty().unwrap());
    user_repo.run(|tree| {
        assert_eq!(fs::read_to_string(tree.join("README.md")).unwrap(), "hello\n");
        write(tree, "x", "x\n");
    });
}
