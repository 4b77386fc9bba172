//! A person steps in: `pilot cancel`, `pilot resume`, Ctrl-C.

use std::fs;
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::hostile::SAME;
use crate::program::{PATIENCE, run, within};
use crate::yard::Yard;

const CANCELLED: (&str, &str, Option<i32>) = ("cancelled", "cancelled", Some(130));

/// An agent that has a commit, a loose file, and no wish to end.
const STUBBORN: &str = "commit a; echo b >b; exec $AGENT ignore-term mark=@/ready stays";

/// An agent that says the same five times and stays; once it was told to go on, it does its work.
const PAUSED: &str = "if [ -e @/again ]; then commit b; . @/done; exit 0; fi; touch @/again; commit a; N=5; STUCK=1; . @/stuck; exec $AGENT stays";

fn interrupt(child: &Child) {
    send(child, Signal::INT);
}

fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a number")).expect("a process");
    kill_process(pid, signal).expect("it is there");
}

/// The only run there is.
fn key(yard: &Yard) -> String {
    let listed = run(yard.pilot(&["logs", "--json"]));
    let row: Value = serde_json::from_str(listed.stdout.lines().next().expect("a run")).expect("JSON");
    let task = row["task"].as_str().or(row["task_id"].as_str());
    task.unwrap_or_else(|| panic!("no task in {row}")).to_owned()
}

fn order(yard: &Yard, word: &str) {
    let ended = run(yard.pilot(&[word, &key(yard)]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

/// A setting so long that no test waits for it: a run that ends did not wait for it either.
const LONG_GRACE: &str = "grace: 2h";

/// It ends, although its agent and everything it waits for would go on for hours.
fn expect_end(child: &mut Child) {
    let over = within(PATIENCE, || child.try_wait().expect("a child").is_some());
    assert!(over, "it waits for its agent, or for a time that is configured");
}

/// A yard whose agent is about to be paused.
fn paused() -> Yard {
    let yard = Yard::new();
    fs::write(yard.file("stuck"), SAME).expect("a file");
    fs::write(yard.file("done"), format!("N=0; {SAME}")).expect("a file");
    yard.agent(PAUSED, &["stream-json"]);
    yard
}

/// Waits until the run is paused: the store says why, and its agent is gone.
fn expect_pause(yard: &Yard, why: &str) {
    yard.expect_file("again");
    let waits = || run(yard.pilot(&["logs", &key(yard), "--json"])).stdout.contains(why);
    assert!(within(PATIENCE, waits), "never paused");
    assert!(within(PATIENCE, || yard.alive().len() <= 1), "{:?}", yard.alive());
}

/// The same, and it prints without end.
const LOUD: &str = "commit a; echo b >b; exec $AGENT ignore-term mark=@/ready lines=1000000000000";

#[test]
fn a_run_is_cancelled_without_waiting_for_its_agent_and_its_work_kept() {
    for (by_signal, script) in [(false, STUBBORN), (true, STUBBORN), (false, LOUD), (true, LOUD)] {
        let yard = Yard::new();
        yard.agent(script, &[LONG_GRACE]);
        let before = yard.state();
        let mut child = yard.start();
        yard.expect_file("ready");
        match by_signal {
            true => interrupt(&child),
            false => order(&yard, "cancel"),
        }
        expect_end(&mut child);
        let finished = yard.finish(child, &before);
        assert_eq!(finished.verdict(), CANCELLED, "{finished:?}");
        assert_eq!(finished.result["files_changed"], 2, "{finished:?}");
    }
}

#[test]
fn a_paused_run_goes_on_when_told_so() {
    let yard = paused();
    let before = yard.state();
    let child = yard.start();
    expect_pause(&yard, "stagnation");
    order(&yard, "resume");
    let finished = yard.finish(child, &before);
    assert_eq!(finished.verdict(), ("completed", "", Some(0)), "{finished:?}");
    assert_eq!((&finished.result["attempts"], &finished.result["files_changed"]), (&2.into(), &2.into()));
}

#[test]
fn a_paused_run_can_be_cancelled() {
    for by_signal in [false, true] {
        let yard = paused();
        let before = yard.state();
        let mut child = yard.start();
        expect_pause(&yard, "stagnation");
        match by_signal {
            true => interrupt(&child),
            false => order(&yard, "cancel"),
        }
        expect_end(&mut child);
        let finished = yard.finish(child, &before);
        assert_eq!(finished.verdict(), CANCELLED, "{finished:?}");
        assert_eq!(finished.result["files_changed"], 1, "{finished:?}");
    }
}

/// Uses more than it may and stays; once it was told to go on, it uses more and does its work.
const DEAR: &str = r#"[ -e @/again ] && AGAIN=2; commit a$AGAIN; touch @/again
printf '%s\n' '{"type":"system","subtype":"init","session_id":"s","model":"claude-sonnet-4-6"}' '{"type":"assistant","message":{"id":"m","model":"claude-sonnet-4-6","content":[{"type":"text","text":"on it"}],"usage":{"input_tokens":9000,"output_tokens":3000}},"session_id":"s"}'
[ $AGAIN ] || exec $AGENT stays
printf '%s\n' '{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s","usage":{"input_tokens":9000,"output_tokens":3000}}'"#;

/// A task that is held beyond its own cap, unless no command comes in time.
fn start_dear(yard: &Yard, pause: &str) -> Child {
    yard.agent(DEAR, &["stream-json", &format!("pause_timeout: {pause}")]);
    let mut pilot = yard.pilot(&["task", "--json", "Do it"]);
    pilot.env("PILOT_BUDGET_PER_TASK_MAX_TOKENS", "10000").env("PILOT_BUDGET_ON_EXCEED_PER_TASK", "pause");
    pilot.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("Pilot starts")
}

#[test]
fn a_run_beyond_its_cap_waits_for_a_person_and_goes_on_when_told_so() {
    let yard = Yard::new();
    let before = yard.state();
    let child = start_dear(&yard, "1h");
    expect_pause(&yard, "12000 tokens are more than the task's 10000 tokens");
    order(&yard, "resume");
    let finished = yard.finish(child, &before);
    assert_eq!(finished.verdict(), ("completed", "", Some(0)), "{finished:?}");
    assert_eq!((&finished.result["attempts"], &finished.result["files_changed"]), (&2.into(), &2.into()));
    assert_eq!(finished.result["usage"]["input_tokens"], 18_000, "both sessions are counted");
    assert!(finished.stderr.contains("pilot resume TASK-"), "{}", finished.stderr);
}

#[test]
fn a_run_beyond_its_cap_that_nobody_lets_go_on_ends_with_its_work_kept() {
    let yard = Yard::new();
    let before = yard.state();
    let child = start_dear(&yard, "1s");
    let finished = yard.finish(child, &before);
    assert_eq!(finished.verdict(), ("failed", "budget_exceeded", Some(1)), "{finished:?}");
    assert!(finished.text("reason").contains("budget.per_task.max_tokens"), "{finished:?}");
    assert_eq!(finished.result["files_changed"], 1, "{finished:?}");
}

/// The agent is being stopped for a pause when the person stops everything.
#[test]
fn an_interrupt_on_the_way_to_a_pause_ends_the_run() {
    let yard = Yard::new();
    fs::write(yard.file("stuck"), SAME).expect("a file");
    let script = "trap '' TERM; commit a; touch @/ready; N=5; STUCK=1; . @/stuck; exec $AGENT stays";
    yard.agent(script, &["stream-json", LONG_GRACE]);
    let before = yard.state();
    let mut child = yard.start();
    yard.expect_file("ready");
    let waits = || run(yard.pilot(&["logs", &key(&yard), "--json"])).stdout.contains("stagnation");
    assert!(within(PATIENCE, waits), "never stopped for a pause");
    interrupt(&child);
    expect_end(&mut child);
    let finished = yard.finish(child, &before);
    assert_eq!(finished.verdict(), CANCELLED, "{finished:?}");
}

#[test]
fn orders_for_a_run_that_is_over_are_refused() {
    let yard = Yard::new();
    yard.agent("commit a", &[]);
    yard.task();
    for word in ["cancel", "resume"] {
        let ended = run(yard.pilot(&[word, &key(&yard)]));
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains("is over") && ended.stderr.contains("pilot logs"), "{}", ended.stderr);
    }
}

/// The user cancels at once: either nothing was begun, or it is removed.
#[test]
fn an_interrupt_at_any_early_moment_leaves_nothing() {
    for moment in (0..160).step_by(20) {
        let yard = Yard::new();
        yard.agent("exec $AGENT stays", &[LONG_GRACE]);
        let before = yard.state();
        let mut child = yard.start();
        // Not a wait for something, but a time to be somewhere in the middle of things.
        within(Duration::from_millis(moment), || false);
        // Not Ctrl-C's signal: a shell that runs the tests in the background has it ignored until Pilot listens.
        send(&child, Signal::TERM);
        expect_end(&mut child);
        let ended = child.wait_with_output().expect("a child");
        assert!(matches!(ended.status.code(), None | Some(130)), "after {moment} ms: {ended:?}");
        yard.check(&before);
    }
}
