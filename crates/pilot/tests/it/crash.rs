//! Pilot is killed at any moment of a task: its agent goes with it, the next start says what became of the run, and no work
//! is lost.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use crate::program::{is_full, run, within};
use crate::yard::Yard;

/// When Pilot is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// So many milliseconds after its start.
    Start(u64),
    /// When the agent is here, and stays.
    At(&'static str),
    /// So many milliseconds after the agent's last act: its end, the commit of the rest, the clearing up.
    Leaving(u64),
}

/// Leaves a mark at each step, and stays where it is told to.
const AGENT: &str = "step() { touch @/$1; [ ! -e @/stay-$1 ] || exec $AGENT orphan=setsid,ignore-term,stays ignore-term stays; }
step started; echo loose >loose; step edited; commit a; step committed; echo more >more; step leaving";

/// Those that matter, and some that are as good as any.
fn moments() -> Vec<Moment> {
    let chosen = ["started", "edited", "committed"].map(Moment::At);
    let (starts, leavings) = if is_full() { (50, 50) } else { (4, 5) };
    let starts = (0..starts).map(|number| Moment::Start(number * 160 / starts));
    let leavings = (0..leavings).map(|number| Moment::Leaving(number * 150 / leavings));
    chosen.into_iter().chain(starts).chain(leavings).collect()
}

fn kill(yard: &Yard, moment: Moment) {
    if let Moment::At(step) = moment {
        fs::write(yard.file(&format!("stay-{step}")), "").expect("a mark");
    }
    let mut child = yard.start();
    let later = match moment {
        Moment::At(step) => {
            yard.expect_file(step);
            0
        }
        Moment::Leaving(later) => {
            yard.expect_file("leaving");
            later
        }
        Moment::Start(later) => later,
    };
    // Not a wait for something, but a time to be somewhere in the middle of things.
    within(Duration::from_millis(later), || false);
    child.kill().expect("a child");
    child.wait().expect("a child");
    yard.expect_gone();
}

/// How many folders are in a folder.
fn folders(yard: &Yard, name: &str) -> usize {
    let entries = fs::read_dir(yard.file(name)).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).count()
}

fn survives(moment: Moment) {
    let yard = Yard::new();
    yard.agent(AGENT, &[]);
    let before = yard.state();
    kill(&yard, moment);
    let edited = yard.file("edited").exists();
    let worktree = folders(&yard, "pilot/worktrees") > 0;
    let known = yard.file("pilot/data/pilot.db").exists();
    let listed = if known { run(yard.pilot(&["logs", "--json"])).stdout } else { String::new() };
    let running = listed.contains("\"running\"");

    yard.agent("commit next", &[]);
    let next = yard.start();
    let next = yard.finish(next, &before);
    assert_eq!(next.verdict(), ("completed", "", Some(0)), "{next:?}");
    assert_eq!(next.stderr.contains("when Pilot died"), worktree, "{}", next.stderr);
    assert_eq!(next.stderr.contains("was abandoned"), running, "{}", next.stderr);
    let listed = run(yard.pilot(&["logs", "--json"])).stdout;
    assert!(!listed.contains("\"running\""), "{listed}");
    assert_eq!(listed.contains("\"abandoned\""), running, "{listed}");
    let refs = yard.git(&["for-each-ref", "--format=%(refname)", "refs/heads/pilot", "refs/pilot"]);
    let has = |file: &str| refs.lines().any(|name| yard.git(&["ls-tree", "--name-only", name, file]) == file);
    assert!(!edited || has("loose"), "the loose file is lost: {refs}");
    if let Moment::Leaving(_) = moment {
        assert!(has("more"), "the last file is lost: {refs}");
    }
    println!("{moment:?}: worktree {worktree}, running {running}: {}", next.stderr.replace('\n', " | "));
}

/// A git that waits in the middle of making a worktree until it is told to go on.
const SLOW_GIT: &str = "#!/bin/sh
if [ \"$1\" = worktree ]; then touch @/making; while [ ! -e @/go ]; do sleep 0.01; done; touch @/made; fi
exec git-itself \"$@\"";

#[test]
fn a_git_that_outlives_pilot_is_waited_for() {
    let yard = Yard::new();
    yard.agent("commit next", &[]);
    let before = yard.state();
    let path = yard.slow_git(SLOW_GIT);
    let mut first = yard.pilot(&["task", "--json", "Do it"]);
    let mut first =
        first.env("PATH", path).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("Pilot");
    yard.expect_file("making");
    first.kill().expect("a child");
    first.wait().expect("a child");
    let next = yard.start();
    // It may be anywhere by now, but not past the door.
    assert!(!within(Duration::from_millis(100), || yard.file("commits").exists()));
    fs::write(yard.file("go"), "").expect("a mark");
    let next = yard.finish(next, &before);
    assert_eq!(next.verdict(), ("completed", "", Some(0)), "{next:?}");
    assert!(
        yard.file("made").exists() && next.stderr.contains("had not started when Pilot died"),
        "{next:?}"
    );
    let branches = yard.git(&["for-each-ref", "--format=%(refname)", "refs/heads/pilot"]);
    assert_eq!(branches.lines().count(), 1, "the branch of the first is left: {branches}");
}

#[test]
fn there_is_no_good_moment_to_kill_pilot() {
    let moments = moments();
    let (even, odd): (Vec<_>, Vec<_>) = moments.iter().enumerate().partition(|(at, _)| at % 2 == 0);
    let go = |moments: Vec<(usize, &Moment)>| moments.into_iter().for_each(|(_, moment)| survives(*moment));
    std::thread::scope(|scope| {
        scope.spawn(|| go(even));
        go(odd);
    });
}
