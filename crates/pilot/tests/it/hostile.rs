//! Agents that misbehave in every way we know: each run gets the right verdict and leaves nothing but its work.

use std::fs;
use std::net::TcpStream;
use std::sync::Mutex;
use std::time::Duration;

use crate::program::{is_full, within};
use crate::yard::{Finished, Yard};

/// A behaviour and what must come of it.
struct Row {
    name: &'static str,
    /// The agent, a shell script; see [`Yard::agent`].
    script: &'static str,
    keys: &'static [&'static str],
    /// Status, class and exit code.
    verdict: (&'static str, &'static str, i32),
    /// Files that the result's branch changes.
    files: u64,
}

const COMPLETED: (&str, &str, i32) = ("completed", "", 0);
const NO_CHANGES: (&str, &str, i32) = ("no_changes", "no_changes", 1);
const BLOCKED: (&str, &str, i32) = ("blocked", "blocked", 3);
const UNKNOWN: (&str, &str, i32) = ("failed", "unknown", 1);
const TIMEOUT: (&str, &str, i32) = ("failed", "timeout", 1);
const STALLED: (&str, &str, i32) = ("failed", "stalled", 1);
const STAGNATED: (&str, &str, i32) = ("failed", "stagnated", 1);

const fn row(
    name: &'static str,
    script: &'static str,
    keys: &'static [&'static str],
    verdict: (&'static str, &'static str, i32),
    files: u64,
) -> Row {
    Row { name, script, keys, verdict, files }
}

/// Work as it should be, and every way to announce its end.
const ORDINARY: &[Row] = &[
    row("edits and commits", "commit a", &[], COMPLETED, 1),
    row("edits and does not commit", "echo a >a; rm README.md", &[], COMPLETED, 2),
    row(
        "says v2",
        "commit a; printf '```pilot-signal\\n{\"type\":\"exit\",\"success\":true}\\n```\\n'",
        &[],
        COMPLETED,
        1,
    ),
    row(
        "says v3",
        "commit a; echo '<!-- nav-signal:v3:{\"type\":\"exit\",\"success\":true} -->'",
        &[],
        COMPLETED,
        1,
    ),
    row("says xml", "commit a; echo '<pilot:completed>done</pilot:completed>'", &[], COMPLETED, 1),
    row("says legacy", "commit a; echo 'EXIT_SIGNAL: true'", &[], COMPLETED, 1),
    row("claims success and did nothing", "echo 'EXIT_SIGNAL: true'; echo All done.", &[], NO_CHANGES, 0),
    row("repeats its prompt", "cat; commit a", &[], COMPLETED, 1),
    row("repeats its prompt and does nothing", "cat", &[], NO_CHANGES, 0),
    row("changes nothing", "echo thinking", &[], NO_CHANGES, 0),
    row("says nothing", "true", &[], NO_CHANGES, 0),
    row("changes ignored files only", "echo x >x.log", &[], NO_CHANGES, 0),
    row("refuses with 0", "echo 'I cannot do that.'", &[], NO_CHANGES, 0),
    row("refuses with 1", "echo 'I cannot do that.'; exit 1", &[], NO_CHANGES, 0),
    row("declines", "echo 'DECLINED: it is wrong'", &[], ("declined", "declined", 1), 0),
    row("fails with work", "commit a; exit 7", &[], UNKNOWN, 1),
    row("dies of a signal", "commit a; kill -9 $$", &[], UNKNOWN, 1),
    row(
        "cannot succeed, v2",
        "commit a; printf '```pilot-signal\\n{\"type\":\"exit\",\"success\":false,\"reason\":\"no key\"}\\n```\\n'",
        &[],
        BLOCKED,
        1,
    ),
    row("cannot succeed, xml", "echo '<pilot:blocked>no key</pilot:blocked>'", &[], BLOCKED, 0),
    row(
        "two ends, success and failure",
        "commit a; printf '```pilot-signal\\n{\"type\":\"exit\",\"success\":true}\\n```\\n\\n```pilot-signal\\n{\"type\":\"exit\",\"success\":false}\\n```\\n'",
        &[],
        BLOCKED,
        1,
    ),
    row(
        "two ends, failure and success",
        "commit a; printf '```pilot-signal\\n{\"type\":\"exit\",\"success\":false}\\n```\\n\\n```pilot-signal\\n{\"type\":\"exit\",\"success\":true}\\n```\\n'",
        &[],
        BLOCKED,
        1,
    ),
];

const GIT: &[Row] = &[
    row("commits on another branch", "git checkout -q -b other && commit a", &[], COMPLETED, 1),
    row("commits on no branch", "git checkout -q --detach && commit a", &[], COMPLETED, 1),
    row("moves the user's branch", "commit a; git update-ref refs/heads/trunk/main HEAD", &[], COMPLETED, 1),
    row(
        "commits into another repository",
        "git init -q @/other && cd @/other && echo a >a && git add a && git commit -q -m a",
        &[],
        NO_CHANGES,
        0,
    ),
    row(
        "rewrites the base",
        "echo a >a && git add a && git commit -q --amend -m b && git rev-parse HEAD >>@/commits",
        &[],
        COMPLETED,
        1,
    ),
    row("starts a history of its own", "git checkout -q --orphan new && commit a", &[], COMPLETED, 1),
    row("drops its own commit", "commit a; git reset -q --hard HEAD~1; commit b", &[], COMPLETED, 1),
    row("drops all it did", "commit a; git reset -q --hard HEAD~1", &[], NO_CHANGES, 0),
    row("deletes the worktree", "commit a; cd /; rm -rf \"$PILOT_WORKSPACE\"", &[], COMPLETED, 1),
    row("deletes the worktree before any work", "cd /; rm -rf \"$PILOT_WORKSPACE\"", &[], NO_CHANGES, 0),
    row(
        "deletes its git directory",
        "commit a; rm -rf \"$(git rev-parse --absolute-git-dir)\"",
        &[],
        COMPLETED,
        1,
    ),
    row(
        "deletes its branch",
        "commit a; git checkout -q --detach; git branch -q -D \"$PILOT_BRANCH\"",
        &[],
        COMPLETED,
        1,
    ),
    row(
        "edits the configuration",
        "commit a; git config core.fsmonitor 'touch @/trap'; git config alias.st '!touch @/trap'; git config core.hooksPath /tmp",
        &[],
        COMPLETED,
        1,
    ),
    row(
        "sets core.worktree",
        "echo a >a; git config core.worktree /; git config core.bare true",
        &[],
        COMPLETED,
        1,
    ),
    row(
        "plants hooks",
        "d=$(git rev-parse --git-common-dir); for h in post-commit post-checkout reference-transaction; do printf '#!/bin/sh\\ntouch @/trap\\n' >$d/hooks/$h; chmod +x $d/hooks/$h; done; echo a >a",
        &[],
        COMPLETED,
        1,
    ),
    row(
        "leaves a lock",
        "commit a; touch \"$(git rev-parse --absolute-git-dir)/index.lock\"; echo b >b",
        &[],
        COMPLETED,
        2,
    ),
    row(
        "links to elsewhere",
        "rm README.md; ln -s /etc/passwd README.md; ln -s @/project all; ln -s nowhere dangling",
        &[],
        COMPLETED,
        3,
    ),
    row("deletes all runs", "commit a; cd /; rm -rf @/pilot/worktrees @/pilot/runs", &[], COMPLETED, 1),
    row("deletes Pilot's directory", "commit a; cd /; rm -rf @/pilot", &[], COMPLETED, 1),
    row("empties Pilot's store", "commit a; for f in @/pilot/data/*; do echo x >$f; done", &[], COMPLETED, 1),
    row(
        "puts a link in place of the worktree",
        "commit a; cd /; rm -rf \"$PILOT_WORKSPACE\"; ln -s @/project \"$PILOT_WORKSPACE\"",
        &[],
        COMPLETED,
        1,
    ),
    row(
        "puts a link in place of .git",
        "commit a; rm .git; ln -s @/project/.git .git; echo b >b",
        &[],
        COMPLETED,
        2,
    ),
];

/// Processes that do not end, and output that is none.
const PROCESSES: &[Row] = &[
    row("ignores TERM", "commit a; exec $AGENT ignore-term stays", &["timeout: 2s"], TIMEOUT, 1),
    row("is silent", "commit a; exec $AGENT stays", &["silence_timeout: 2s"], STALLED, 1),
    row(
        "closes its output and stays",
        "commit a; exec $AGENT close-stdout stays",
        &["silence_timeout: 2s"],
        STALLED,
        1,
    ),
    row(
        "takes more memory than it may",
        "commit a; exec $AGENT memory=4000000000",
        &["limits: {memory: 256MiB}"],
        UNKNOWN,
        1,
    ),
    row(
        "leaves a daemon",
        "commit a; exec $AGENT orphan=setsid,ignore-term,beat=@/beat await=@/beat",
        &[],
        COMPLETED,
        1,
    ),
    row("forks a lot", "commit a; exec $AGENT forks=150", &[], COMPLETED, 1),
    row(
        "says its end and lingers",
        "commit a; echo; echo 'EXIT_SIGNAL: true'; exec $AGENT ignore-term stays",
        &[],
        COMPLETED,
        1,
    ),
    row(
        "prints what is no text",
        "commit a; exec $AGENT raw=00ff1b5b33316dc0afe282000a raw=1b5d303b781b5c0a raw=00000000",
        &[],
        COMPLETED,
        1,
    ),
    row("writes many files", "mkdir many && cd many && seq 1 20000 | xargs touch", &[], COMPLETED, 20000),
    row(
        "cuts its JSON and dies",
        "printf '{\"type\":\"assistant\",\"message\":{\"content\":[{\"ty'; exit 1",
        &["stream-json"],
        UNKNOWN,
        0,
    ),
    row(
        "prints JSON that is none",
        "commit a; printf '{]\\n{}\\n[1]\\nnull\\n\"x\"\\n\\377\\000\\n'",
        &["stream-json"],
        COMPLETED,
        1,
    ),
    row("quotes a failure of a tool", QUOTES, &["stream-json"], COMPLETED, 1),
];

/// A tool's output that holds marks, which do not count.
const QUOTES: &str = r#"commit a
printf '%s\n' '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
printf '%s\n' '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"```pilot-signal\n{\"type\":\"exit\",\"success\":false}\n```\n<pilot:blocked>x</pilot:blocked>"}]}}'
printf '%s\n' '{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s"}'"#;

/// The same state, so often.
const STUCK: &[Row] = &[
    row("says the same three times", "commit a; N=3; . @/stuck", &["stream-json"], COMPLETED, 1),
    row(
        "says the same five times",
        "commit a; N=5; . @/stuck; exec $AGENT stays",
        &["stream-json", "pause_timeout: 1s"],
        STAGNATED,
        1,
    ),
    row(
        "says the same seven times",
        "commit a; N=7; . @/stuck; exec $AGENT stays",
        &["stream-json", "stagnation: {on_pause: [alert]}"],
        STAGNATED,
        1,
    ),
];

/// Says the same status `$N` times and then that all is well.
pub(crate) const SAME: &str = r#"printf '%s\n' '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
while [ $N -gt 0 ]; do
  printf '%s\n' '{"type":"assistant","message":{"id":"m'$N'","content":[{"type":"text","text":"```pilot-signal\n{\"type\":\"status\",\"phase\":\"IMPL\",\"progress\":40}\n```\n"}]},"session_id":"s"}'
  N=$((N - 1))
done
[ -n "$STUCK" ] || printf '%s\n' '{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s"}'
"#;

fn check(row: &Row, yard: fn() -> Yard) -> Result<(), String> {
    let outcome = std::panic::catch_unwind(|| {
        let yard = yard();
        fs::write(yard.file("stuck"), SAME).expect("a file");
        yard.agent(row.script, row.keys);
        let finished = yard.task();
        let (status, class, code) = row.verdict;
        assert_eq!(finished.verdict(), (status, class, Some(code)), "{finished:?}");
        assert_eq!(finished.result["files_changed"], row.files, "{finished:?}");
        let is_whole = finished.result["progress"] == 100 && finished.text("phase") == "complete";
        assert!(status != "completed" || is_whole, "{finished:?}");
        assert!(!finished.stderr.contains("panicked"), "{finished:?}");
    });
    outcome.map_err(|panic| {
        let words = panic.downcast_ref::<String>().map_or("", String::as_str);
        format!("{}: {words}", row.name)
    })
}

/// Goes through the rows, two at a time.
fn check_all(rows: &[Row]) {
    check_in(rows, Yard::new);
}

fn check_in(rows: &[Row], yard: fn() -> Yard) {
    let next = Mutex::new(rows.iter());
    let wrong = Mutex::new(Vec::new());
    let work = || {
        loop {
            let row = next.lock().expect("no thread panics with it").next();
            let Some(row) = row else { return };
            if let Err(words) = check(row, yard) {
                wrong.lock().expect("no thread panics with it").push(words);
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    let wrong = wrong.into_inner().expect("no thread panics with it");
    assert!(wrong.is_empty(), "{} of {} rows:\n\n{}", wrong.len(), rows.len(), wrong.join("\n\n"));
}

#[test]
fn ordinary_agents_get_their_verdict() {
    check_all(ORDINARY);
}

#[test]
fn git_misused_costs_neither_work_nor_the_users_things() {
    check_all(GIT);
}

#[test]
fn processes_that_misbehave_end_with_the_run() {
    check_all(PROCESSES);
}

#[test]
fn processes_that_misbehave_end_with_the_run_without_a_namespace_too() {
    if Yard::without_namespaces().is_none() {
        println!("skipped: no user namespaces here, in which to forbid the others");
        return;
    }
    let yard = || Yard::without_namespaces().expect("what worked works again");
    check_in(PROCESSES, yard);
}

#[test]
fn agents_that_get_nowhere_are_stopped_with_their_work() {
    check_all(STUCK);
}

/// A run of which more than the verdict counts.
fn one(script: &str, keys: &[&str]) -> (Yard, Finished) {
    let yard = Yard::new();
    yard.agent(script, keys);
    let finished = yard.task();
    (yard, finished)
}

#[test]
fn the_environment_holds_the_task_and_no_secret() {
    let yard = Yard::new();
    yard.agent("env >@/env; tr '\\0' '\\n' </proc/$PPID/environ >@/parent 2>/dev/null; commit a", &[]);
    let secrets = [
        "GITHUB_TOKEN",
        "GH_TOKEN",
        "SLACK_BOT_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "LINEAR_API_KEY",
        "SSH_AUTH_SOCK",
        "MY_OWN",
    ];
    let mut pilot = yard.pilot(&["task", "--json", "Do it"]);
    for name in secrets {
        pilot.env(name, "keep-this-secret");
    }
    let finished = yard.finished(&crate::program::run(pilot));
    assert_eq!(finished.verdict(), ("completed", "", Some(0)), "{finished:?}");
    let seen = fs::read_to_string(yard.file("env")).expect("the agent's environment");
    assert!(seen.lines().any(|line| line == "PILOT_EXECUTOR=1"), "{seen}");
    assert!(!seen.contains("keep-this-secret"), "{seen}");
    let parent = fs::read_to_string(yard.file("parent")).unwrap_or_default();
    assert!(!parent.contains("keep-this-secret"), "the agent read its parent's environment");
}

#[test]
fn a_port_is_closed_with_its_agent() {
    let (yard, finished) =
        one("commit a; exec $AGENT orphan=setsid,ignore-term,listen=@/port,stays await=@/port", &[]);
    assert_eq!(finished.verdict(), ("completed", "", Some(0)), "{finished:?}");
    let port: u16 = fs::read_to_string(yard.file("port")).expect("a port").parse().expect("a number");
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "port {port} still answers");
}

#[test]
fn a_tree_that_git_cannot_take_in_time_is_kept_beside_the_result() {
    let (yard, finished) =
        one("commit a; echo b >b; truncate -s 64G huge; echo done", &["finalise_timeout: 4s"]);
    assert_eq!(finished.verdict(), ("completed", "", Some(0)), "{finished:?}");
    assert_eq!(finished.result["files_changed"], 2, "{finished:?}");
    let kept = yard.home().join("kept").join(finished.text("run")).join("huge-huge");
    assert!(finished.stderr.contains(&kept.display().to_string()), "{}", finished.stderr);
    assert_eq!(fs::metadata(kept).expect("the huge file").len(), 64 << 30);
}

#[test]
fn a_branch_that_cannot_be_set_is_said_so() {
    let script = "commit a; git checkout -q --detach; git branch -q -D \"$PILOT_BRANCH\"; git update-ref refs/heads/pilot HEAD~1";
    let yard = Yard::new();
    yard.agent(script, &[]);
    let finished = yard.finished(&crate::program::run(yard.pilot(&["task", "--json", "Do it"])));
    assert_eq!(finished.verdict(), ("completed", "", Some(0)), "{finished:?}");
    let pin = format!("refs/pilot/keep/{}", finished.text("run"));
    assert!(finished.result["branch"].is_null() && finished.stderr.contains(&pin), "{finished:?}");
    assert_eq!(yard.git(&["rev-parse", &pin]), finished.text("commit_sha"));
}

/// What an agent says cannot steer the terminal of the person who watches.
#[test]
fn what_is_shown_to_people_holds_no_control_characters() {
    let yard = Yard::new();
    yard.agent("commit a; printf 'x\\033]0;title\\007\\033[2Jy\\000\\377z\\r\\b\\n'", &[]);
    for args in [&["task", "-v", "Do it"][..], &["task", "Do \u{1b}[31mit"]] {
        let ended = crate::program::run(yard.pilot(args));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let shown = format!("{}{}", ended.stdout, ended.stderr);
        let odd: Vec<char> = shown.chars().filter(|c| c.is_control() && *c != '\n' && *c != '\t').collect();
        assert!(odd.is_empty(), "{odd:?} in {shown:?}");
    }
}

#[test]
fn tasks_at_the_same_time_do_not_meet() {
    let yard = Yard::new();
    yard.agent("commit a-$$; commit b; exec $AGENT mark=@/ready await=@/go", &[]);
    let before = yard.state();
    let children: Vec<_> = (0..4).map(|_| yard.start()).collect();
    yard.expect_file("ready");
    fs::write(yard.file("go"), "").expect("a mark");
    for child in children {
        let ended = crate::program::Ended::from(child.wait_with_output().expect("Pilot ends"));
        let finished = yard.finished(&ended);
        assert_eq!(finished.verdict(), ("completed", "", Some(0)), "{finished:?}");
        assert_eq!(finished.result["commits"], 2, "{finished:?}");
        assert_eq!(finished.stderr, "");
    }
    yard.check(&before);
}

#[test]
fn output_without_end_costs_no_memory() {
    let (line, lines) = if is_full() { (1 << 30, 10 << 30) } else { (256_u64 << 20, 256_u64 << 20) };
    for (step, keys) in [
        (format!("line={line}"), &["timeout: 20m"][..]),
        (format!("lines={lines}"), &["timeout: 20m"]),
        (format!("line={line}"), &["timeout: 20m", "stream-json"]),
    ] {
        let yard = Yard::new();
        yard.agent(&format!("commit a; exec $AGENT mark=@/ready await=@/go {step}"), keys);
        let before = yard.state();
        let mut child = yard.start();
        yard.expect_file("ready");
        let (from, mut to) = (peak(child.id()), 0);
        fs::write(yard.file("go"), "").expect("a mark");
        let ended = within(Duration::from_secs(600), || {
            to = peak(child.id()).max(to);
            child.try_wait().expect("a child").is_some()
        });
        assert!(ended, "{step} takes too long");
        let finished = yard.finish(child, &before);
        assert_eq!(finished.result["files_changed"], 1, "{finished:?}");
        let grown = to.saturating_sub(from) / 1024;
        println!("{step}: {grown} MiB, {} ms", finished.result["duration_ms"]);
        assert!(grown < 64, "{step}: {grown} MiB more memory");
        let stored = fs::metadata(yard.file("pilot/data/pilot.db")).expect("a store").len();
        assert!(stored < 80 << 20, "{step}: {stored} bytes recorded");
    }
}

/// The most memory a process ever had, in KiB; 0 when it is gone.
fn peak(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}
