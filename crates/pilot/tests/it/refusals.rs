//! Calls that cannot be carried out: one sentence with the next step, exit code 2, and nothing was created.

use std::fs;

use crate::program::{Ended, feed, run};
use crate::yard::Yard;

/// A wrong call in an ordinary yard.
struct Wrong {
    name: &'static str,
    args: &'static [&'static str],
    keys: &'static [&'static str],
    /// What the sentence must hold.
    says: &'static [&'static str],
}

const fn wrong(
    name: &'static str,
    args: &'static [&'static str],
    keys: &'static [&'static str],
    says: &'static [&'static str],
) -> Wrong {
    Wrong { name, args, keys, says }
}

const WRONG: &[Wrong] = &[
    wrong("unknown backend", &["--backend", "cloud-code", "x"], &[], &["cloud-code", "claude-code"]),
    wrong("agent not installed", &["--backend", "codex", "x"], &[], &["codex", "PATH"]),
    wrong("unknown key", &["x"], &["tiemout: 3s"], &["tiemout", "timeout"]),
    wrong("unset variable", &["x"], &["model: ${NOBODY_SET_THIS}"], &["NOBODY_SET_THIS"]),
    wrong("bad duration", &["x"], &["timeout: soon"], &["timeout", "30m"]),
    wrong("no image", &["--image", "README.md", "x"], &[], &["README.md", "PNG"]),
    wrong("missing image", &["--image", "shot.png", "x"], &[], &["shot.png", "--image"]),
    wrong("empty task", &[""], &[], &["empty", "pilot task"]),
    wrong("blank task", &[" \n\t "], &[], &["empty", "pilot task"]),
    wrong("unknown base", &["--base", "v9.9", "x"], &[], &["v9.9", "--base"]),
    wrong("base like an option", &["--base=--all", "x"], &[], &["--all", "--base"]),
    wrong("bad branch", &["--branch", "a..b", "x"], &[], &["a..b", "--branch"]),
    wrong(
        "branch and base",
        &["--branch", "trunk/main", "--base", "HEAD", "x"],
        &[],
        &["trunk/main", "--base"],
    ),
    wrong("no such directory", &["-p", "/nowhere/at/all", "x"], &[], &["/nowhere/at/all", "-p"]),
    wrong("no repository", &["-p", "/", "x"], &[], &["git", "-p"]),
];

/// Runs it and sees that it is refused in a sentence, and that nothing was created.
fn refused(yard: &Yard, name: &str, args: &[&str], says: &[&str]) {
    let (before, home) = (yard.state(), yard.home_state());
    let ended = run(yard.pilot(&[&["task"], args].concat()));
    assert_eq!(ended.code, Some(2), "{name}: {ended:?}");
    assert_eq!(ended.stdout, "", "{name}");
    for words in says {
        assert!(ended.stderr.contains(words), "{name} does not say {words:?}: {}", ended.stderr);
    }
    let complaint =
        ended.stderr.strip_prefix("pilot: ").unwrap_or_else(|| panic!("{name}: {}", ended.stderr));
    // What is wrong with a configuration stands below that it is.
    let sentence = complaint.strip_prefix("wrong configuration\n").unwrap_or(complaint);
    assert_eq!(sentence.lines().count(), 1, "{name}: {}", ended.stderr);
    assert_eq!(yard.home_state(), home, "{name} left something in Pilot's directory");
    yard.check(&before);
    if yard.repo().join(".git/HEAD").exists() {
        let refs = yard.git(&["for-each-ref", "refs/heads/pilot", "refs/pilot"]);
        assert_eq!(refs, "", "{name} left refs");
    }
}

#[test]
fn wrong_calls_are_refused_before_anything_is_created() {
    let mut complaints = Vec::new();
    for wrong in WRONG {
        let outcome = std::panic::catch_unwind(|| {
            let yard = Yard::new();
            yard.agent("commit a", wrong.keys);
            refused(&yard, wrong.name, wrong.args, wrong.says);
        });
        if let Err(panic) = outcome {
            complaints.push(panic.downcast_ref::<String>().cloned().unwrap_or_default());
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
}

#[test]
fn a_repository_without_a_commit_is_refused() {
    let yard = Yard::bare();
    yard.git(&["init", "-q"]);
    yard.agent("commit a", &[]);
    refused(&yard, "unborn", &["x"], &["no commit yet", "first commit"]);
}

#[test]
fn a_folder_that_is_no_repository_is_refused() {
    let yard = Yard::bare();
    yard.agent("commit a", &[]);
    refused(&yard, "no repository", &["x"], &["git repository", "-p"]);
}

#[test]
fn an_agent_that_is_not_there_is_refused() {
    let yard = Yard::new();
    let config = "executor:\n  backend: command\n  command:\n    argv: [no-such-agent]\n";
    fs::write(yard.home().join("config.yaml"), config).expect("a configuration");
    refused(&yard, "no agent", &["x"], &["no-such-agent", "PATH"]);
    fs::write(yard.home().join("config.yaml"), "executor:\n  backend: command\n").expect("a configuration");
    refused(&yard, "no command", &["x"], &["executor.command.argv"]);
}

/// The longest text a program can be given as one argument, nearly.
#[test]
fn a_very_long_task_reaches_the_agent() {
    let yard = Yard::new();
    yard.agent("wc -c >@/size; commit a", &[]);
    let task = "x".repeat(130_000);
    let finished = yard.finished(&run(yard.pilot(&["task", "--json", &task])));
    assert_eq!(finished.verdict(), ("completed", "", Some(0)), "{finished:?}");
    let size = fs::read_to_string(yard.file("size")).expect("a number");
    assert!(size.trim().parse::<usize>().expect("a number") >= 130_000, "{size}");
}

/// The task of a yard from standard input.
fn given(yard: &Yard, task: &[u8]) -> Ended {
    feed(yard.pilot(&["task", "--json", "-"]), task)
}

#[test]
fn a_task_from_standard_input_may_be_so_long_and_not_longer() {
    let yard = Yard::new();
    yard.agent("wc -c >@/size; commit a", &[]);
    let longest = 256 * 1024;
    for (task, words) in [
        ("x".repeat(longest + 1), "more than 262144 bytes"),
        ("é".repeat(longest), "more than 262144 bytes"),
        ("x".repeat(5_000_000), "more than 262144 bytes"),
        (" \n".to_owned(), "the task is empty"),
    ] {
        let (before, home) = (yard.state(), yard.home_state());
        let ended = given(&yard, task.as_bytes());
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{ended:?}");
        assert!(ended.stderr.contains(words) && ended.stderr.lines().count() == 1, "{}", ended.stderr);
        assert_eq!(yard.home_state(), home, "something was created");
        yard.check(&before);
    }
    let ended = given(&yard, b"caf\xe9 and so on");
    assert!(ended.code == Some(2) && ended.stderr.contains("utf-8"), "{ended:?}");
    let finished = yard.finished(&given(&yard, "x".repeat(longest).as_bytes()));
    assert_eq!(finished.verdict(), ("completed", "", Some(0)), "{finished:?}");
    let size = fs::read_to_string(yard.file("size")).expect("a number");
    assert!(size.trim().parse::<usize>().expect("a number") >= longest, "{size}");
}

#[test]
fn a_checkout_that_is_detached_or_dirty_works_and_says_where_it_starts() {
    let yard = Yard::new();
    yard.agent("commit a", &[]);
    yard.git(&["checkout", "-q", "--detach"]);
    fs::write(yard.repo().join("README.md"), "mine, and not committed\n").expect("a file");
    fs::write(yard.repo().join("new"), "mine too\n").expect("a file");
    let before = yard.state();
    let ended = run(yard.pilot(&["task", "x"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let head = yard.git(&["rev-parse", "HEAD"]);
    for words in ["starting from", &head[..7], "detached HEAD", "uncommitted changes"] {
        assert!(ended.stderr.contains(words), "{words:?}: {}", ended.stderr);
    }
    yard.check(&before);
    let branch = yard.git(&["for-each-ref", "--format=%(refname)", "refs/heads/pilot"]);
    assert_eq!(yard.git(&["diff", "--name-only", &head, &branch]), "a");
}
