//! Git as the host runs it.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use pilot_exec::git::{GitError, Head, Program, RefChange, Repository};

use crate::yard::{Yard, write};

#[test]
fn facts_of_a_repository() {
    let yard = Yard::new();
    let repository = Repository::open(&yard.program, &yard.repo().join("src")).unwrap();
    assert_eq!(repository.root(), Some(yard.repo().as_path()));
    assert_eq!(repository.common_dir(), yard.repo().join(".git"));
    assert_eq!(*repository.head(), Head::Branch { name: "trunk/main".to_owned(), sha: yard.sha("HEAD") });
    assert!(!repository.is_shallow() && !repository.is_sha256() && !repository.is_dirty().unwrap());
    assert_eq!(repository.settings().identity.name, "Ada");
    yard.git(&["tag", "-a", "v1", "-m", "v1"]);
    for revision in ["trunk/main", "HEAD", "v1", "HEAD^0"] {
        assert_eq!(yard.open().base(Some(revision)).unwrap(), yard.sha("HEAD"), "{revision}");
    }
    for revision in ["nope", "--help", "HEAD:README.md", "", "-x"] {
        let error = repository.base(Some(revision)).unwrap_err();
        assert!(matches!(error, GitError::UnknownRevision { .. }), "{revision}: {error}");
    }
}

#[test]
fn what_is_no_repository_or_has_no_commit_is_said_so() {
    let yard = Yard::empty(&[]);
    let repository = yard.open();
    assert_eq!(*repository.head(), Head::Unborn);
    let error = repository.base(None).unwrap_err();
    assert!(matches!(error, GitError::Unborn { .. }), "{error}");
    assert!(error.to_string().contains("make a first commit"), "{error}");
    let error = Repository::open(&yard.program, yard.root()).unwrap_err();
    assert!(matches!(error, GitError::NotARepository { .. }), "{error}");
    let missing = Program::new("/nonexistent".into(), None);
    let error = Repository::open(&Arc::new(missing), &yard.repo()).unwrap_err();
    assert!(matches!(error, GitError::NotInstalled { .. }), "{error}");
}

#[test]
fn refs_change_only_from_where_they_are_expected() {
    let yard = Yard::new();
    let git = yard.open().git().clone();
    let first = yard.sha("HEAD");
    yard.git(&["commit", "-q", "--allow-empty", "-m", "second"]);
    let second = yard.sha("HEAD");
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
    let yard = Yard::new();
    let slow = yard.root().join("slow-git");
    pilot_testkit::program::write(&slow, "#!/bin/sh\n(sleep 1000) & sleep 1000\n");
    let program =
        Program::new("/usr/bin:/bin".into(), None).with_git(slow).with_limit(Duration::from_millis(200));
    let error = Repository::open(&Arc::new(program), &yard.repo()).unwrap_err();
    assert!(matches!(error, GitError::TimedOut { .. }), "{error}");
}

#[test]
fn traps_in_the_users_own_configuration_do_not_run_either() {
    let yard = Yard::new();
    let trap = yard.trap();
    let trap = trap.to_str().unwrap();
    write(&yard.repo(), ".gitattributes", "* filter=trap\n");
    yard.git(&["add", "-A"]);
    yard.git(&["commit", "-q", "-m", "attributes"]);
    for key in ["core.fsmonitor", "filter.trap.clean", "filter.trap.smudge", "core.pager", "alias.status"] {
        yard.git(&["config", key, trap]);
    }
    write(&yard.repo(), "README.md", "other\n");
    assert!(yard.open().is_dirty().unwrap());
    yard.run(|tree| {
        assert_eq!(fs::read_to_string(tree.join("README.md")).unwrap(), "hello\n");
        write(tree, "x", "x\n");
    });
}
