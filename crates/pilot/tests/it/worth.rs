//! A run worth merging, as its user sees it: routed, kept within its budget, judged by gates, tried again, looked over.

use std::fs;
use std::process::Command;

use crate::program::run;
use crate::yard::{Finished, Yard};

/// Keeps every prompt in a file of its own, `@/prompt.1`, `@/prompt.2`, …; `$CALL` is the number.
const PROMPT: &str = "CALL=$(($(ls @/ | grep -c '^prompt') + 1)); cat >@/prompt.$CALL; ";

/// Fixes what its gate reports, and when it reviews, commits something and answers.
const AGENT: &str = r#"
case "$CALL $(cat @/prompt.$CALL)" in
*pilot-review*)
  [ -e @/sulky ] && exit 0
  commit "$(cat @/reviewer 2>/dev/null || echo reviewed)"
  printf 'Looked.\n```pilot-review\n{"findings":[{"severity":"minor","file":"a","line":1,"text":"no newline","fixed":true}]}\n```\n' ;;
*"What happened"*) commit good; echo fixed ;;
*) commit bad; echo done ;;
esac"#;

const FAILS_FIRST: &str = "test -e good || { echo 'FAIL src/lib.rs:7: good is missing'; exit 1; }";

struct World(Yard);

impl World {
    /// A project whose gate passes only with a file `good`, and an agent that makes it when told.
    fn new(keys: &[&str]) -> World {
        World::with(AGENT, keys, &format!("  - {{name: test, command: \"{FAILS_FIRST}\"}}\n"))
    }

    fn with(agent: &str, keys: &[&str], gates: &str) -> World {
        let yard = Yard::new();
        yard.agent(&format!("{PROMPT}{agent}"), keys);
        if !gates.is_empty() {
            fs::create_dir_all(yard.repo().join(".pilot")).expect("a folder");
            fs::write(yard.repo().join(".pilot/config.yaml"), format!("quality:\n  gates:\n{gates}"))
                .expect("a configuration");
        }
        World(yard)
    }

    fn task(&self, flags: &[&str], variables: &[(&str, &str)]) -> Finished {
        let before = self.0.state();
        let args = [&["task", "--json"], flags, &["Add the thing that the other thing needs"]].concat();
        let finished = self.0.finished(&run(with(self.0.pilot(&args), variables)));
        self.0.check(&before);
        finished
    }

    fn prompt(&self, number: u32) -> String {
        fs::read_to_string(self.0.file(&format!("prompt.{number}"))).unwrap_or_default()
    }
}

fn with(mut command: Command, variables: &[(&str, &str)]) -> Command {
    command.envs(variables.iter().copied());
    command
}

fn gates(finished: &Finished) -> String {
    let Some(gates) = finished.result["gates"].as_array() else { return "null".to_owned() };
    let words = gates.iter().map(|gate| {
        format!("{} {}", gate["name"].as_str().unwrap_or("?"), gate["status"].as_str().unwrap_or("?"))
    });
    words.collect::<Vec<_>>().join(", ")
}

const DONE: (&str, &str, Option<i32>) = ("completed", "", Some(0));
const GATE_FAILED: (&str, &str, Option<i32>) = ("failed", "gate_failed", Some(1));

#[test]
fn a_gate_that_fails_goes_back_to_the_agent_and_its_mending_is_judged_again() {
    let world = World::new(&[]);
    let finished = world.task(&[], &[]);
    assert_eq!(finished.verdict(), DONE, "{finished:?}");
    assert_eq!((gates(&finished).as_str(), &finished.result["attempts"]), ("test passed", &2.into()));
    assert_eq!(finished.text("reason"), "2 commits, 2 files changed");
    let told = world.prompt(2);
    assert!(
        told.starts_with("[PILOT-EXEC]\n") && told.contains("FAIL src/lib.rs:7: good is missing"),
        "{told}"
    );
    assert!(world.prompt(1).contains(FAILS_FIRST), "the agent knows its checks: {}", world.prompt(1));
}

#[test]
fn what_follows_from_a_gate_is_configured() {
    for (flags, variables, verdict, said) in [
        (&[][..], &[("PILOT_QUALITY_ON_FAILURE_MAX_RETRIES", "0")][..], GATE_FAILED, "test failed"),
        (&[], &[("PILOT_QUALITY_ON_FAILURE_ACTION", "fail")], GATE_FAILED, "test failed"),
        (&[], &[("PILOT_QUALITY_ON_FAILURE_ACTION", "warn")], DONE, "test failed"),
        (&[], &[("PILOT_QUALITY_ENABLED", "false")], DONE, ""),
        (&["--no-gates"], &[], DONE, "null"),
    ] {
        let finished = World::new(&[]).task(flags, variables);
        assert_eq!(finished.verdict(), verdict, "{variables:?} {finished:?}");
        assert_eq!(gates(&finished), said, "{variables:?}");
        let kept = finished.text("branch").starts_with("pilot/");
        assert!(kept, "the work is kept: {finished:?}");
    }
}

#[test]
fn a_failed_task_prints_the_next_step_and_its_gate_can_be_read() {
    let world = World::new(&[]);
    let task = world.0.pilot(&["task", "Add the thing that the other thing needs"]);
    let ended = run(with(task, &[("PILOT_QUALITY_ON_FAILURE_MAX_RETRIES", "0")]));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let key = ended.stdout.split_whitespace().next().expect("a key").to_owned();
    assert!(
        ended.stdout.contains(&format!("  next    See the output with `pilot logs {key} --gate NAME`")),
        "{ended:?}"
    );
    let gate = run(world.0.pilot(&["logs", &key, "--gate", "test"])).stdout;
    assert!(gate.contains("failed (exit code 1)\n\nFAIL src/lib.rs:7: good is missing"), "{gate}");
}

#[test]
fn gates_side_by_side_can_wait_for_one_another() {
    let gate = |mine: &str, other: &str| {
        format!(
            "  - {{name: {mine}, timeout: 5s, command: \"touch $TMPDIR/{mine}; while ! test -e $TMPDIR/{other}; do sleep 0.05; done\"}}\n"
        )
    };
    let agent = "commit a; echo done";
    for (parallel, verdict) in [("true", DONE), ("false", GATE_FAILED)] {
        let world = World::with(agent, &[], &[gate("one", "two"), gate("two", "one")].concat());
        let variables = [("PILOT_QUALITY_PARALLEL", parallel), ("PILOT_QUALITY_ON_FAILURE_MAX_RETRIES", "0")];
        let finished = world.task(&[], &variables);
        assert_eq!(finished.verdict(), verdict, "{finished:?}");
    }
}

#[test]
fn a_reviewer_mends_and_the_gates_judge_the_new_commit() {
    let reviewed = &["review: {enabled: true}"][..];
    let world = World::new(reviewed);
    let finished = world.task(&[], &[]);
    assert_eq!(finished.verdict(), DONE, "{finished:?}");
    assert_eq!(finished.text("review"), "review: 1 finding, 1 fixed");
    assert_eq!(finished.result["files_changed"], 3, "{finished:?}");
    assert_eq!(finished.stderr.matches("Gate test passed").count(), 0, "quiet with --json");
    let log = run(world.0.pilot(&["logs", finished.text("task")])).stdout;
    assert_eq!(log.matches("Gate test passed").count(), 2, "{log}");
    assert!(world.prompt(3).contains("+bad"), "the reviewer sees the change: {}", world.prompt(3));
}

#[test]
fn what_a_reviewer_breaks_is_left_aside_and_what_it_does_not_say_is_asked_once_more() {
    let reviewed = &["review: {enabled: true}"][..];
    // What it breaks is left aside; the delivery stands.
    let world = World::with(
        AGENT,
        reviewed,
        "  - {name: test, command: \"test -e good || exit 1; ! test -e evil\"}\n",
    );
    fs::write(world.0.file("reviewer"), "evil").expect("a file");
    let finished = world.task(&[], &[]);
    assert_eq!((finished.verdict(), gates(&finished).as_str()), (DONE, "test passed"), "{finished:?}");
    assert_eq!(finished.text("review"), "review: 1 finding, 0 fixed", "its fix is left aside: {finished:?}");
    assert_eq!(finished.result["files_changed"], 2, "{finished:?}");
    assert!(finished.stderr.contains("kept at refs/pilot/also/"), "{finished:?}");
    // What says nothing approves nothing and stops nothing.
    let world = World::new(reviewed);
    fs::write(world.0.file("sulky"), "").expect("a file");
    let finished = world.task(&[], &[]);
    assert_eq!(finished.verdict(), DONE, "{finished:?}");
    assert!(finished.text("review").starts_with("review not done: "), "{finished:?}");
    assert!(world.prompt(4).contains("An earlier review of this change could not be read: "), "once more");
    assert_eq!(world.prompt(5), "", "and no more");
}

#[test]
fn whether_and_how_it_is_looked_over_is_configured() {
    let trivial = ["--complexity", "trivial"];
    for (flags, variables, said) in [
        (&[][..], &[("PILOT_EXECUTOR_REVIEW_ENABLED", "true")][..], "review: 1 finding, 1 fixed"),
        (&[], &[("PILOT_EXECUTOR_REVIEW_ENABLED", "false")], "review skipped: it is turned off"),
        (&["--no-review"], &[("PILOT_EXECUTOR_REVIEW_ENABLED", "true")], "review skipped: it is turned off"),
        (&trivial, &[("PILOT_EXECUTOR_REVIEW_ENABLED", "true")], "review skipped: the task is trivial"),
    ] {
        let finished = World::new(&[]).task(flags, variables);
        assert_eq!(finished.text("review"), said, "{variables:?} {finished:?}");
    }
    let world = World::new(&["review: {enabled: true}"]);
    world.task(&[], &[("PILOT_EXECUTOR_REVIEW_MAY_FIX", "false")]);
    assert!(world.prompt(3).contains("pilot-review") && !world.prompt(3).contains("\"fixed\":true"));
    assert_ne!(world.prompt(3), {
        let other = World::new(&["review: {enabled: true}"]);
        other.task(&[], &[]);
        other.prompt(3)
    });
    let slow = AGENT.replace("*pilot-review*)", "*pilot-review*) sleep 30;");
    let world = World::with(&slow, &["review: {enabled: true}"], "");
    let finished = world.task(&[], &[("PILOT_EXECUTOR_REVIEW_TIMEOUT", "1s")]);
    assert!(finished.text("review").contains("timeout"), "{finished:?}");
    assert_eq!(finished.verdict(), DONE);
}

#[test]
fn what_the_review_finds_and_does_not_fix_holds_as_configured() {
    let with = |severity: &str, fixed: &str, commits: &str| {
        format!(
            r#"case "$(cat @/prompt.$CALL)" in
*pilot-review*) {commits}
  printf '```pilot-review\n{{"findings":[{{"severity":"{severity}","file":"a","line":1,"text":"deletes the database","fixed":{fixed}}}]}}\n```\n' ;;
*) commit a; echo done ;;
esac"#
        )
    };
    let held = ("completed", "", Some(3));
    for (severity, fixed, commits, blocking, verdict) in [
        ("blocker", "false", "", "blocker", held),
        ("blocker", "false", "", "none", DONE),
        ("major", "false", "", "blocker", DONE),
        ("major", "false", "", "major", held),
        ("minor", "false", "", "major", DONE),
        ("blocker", "true", "commit fixed;", "blocker", DONE),
        // It says so, and nothing was committed.
        ("blocker", "true", "", "blocker", held),
    ] {
        let world = World::with(&with(severity, fixed, commits), &["review: {enabled: true}"], "");
        let finished = world.task(&[], &[("PILOT_EXECUTOR_REVIEW_BLOCKING", blocking)]);
        let case = format!("{severity} {fixed} {commits} {blocking}: {finished:?}");
        assert_eq!(finished.verdict(), verdict, "{case}");
        assert_eq!(finished.result["findings"][0]["text"], "deletes the database", "{case}");
        assert_eq!(finished.result["held"].is_string(), verdict == held, "{case}");
    }
    let world = World::with(&with("blocker", "false", ""), &["review: {enabled: true}"], "");
    let ended = run(world.0.pilot(&["task", "Add the thing that the other thing needs"]));
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let said = "  review  1 finding, 0 fixed\n          blocker a:1: deletes the database\n  held    ";
    assert!(ended.stdout.contains(said), "{ended:?}");
}

/// Programs that stand for known agents: they write down how they were called, and commit.
fn known_agents(yard: &Yard) -> String {
    let bin = yard.file("bin");
    fs::create_dir(&bin).expect("a folder");
    for name in ["claude", "codex"] {
        let script = format!(
            "#!/bin/sh\necho \"{name} $*\" >>{}/args\ncat >/dev/null\necho {name} >{name} && git add -A && git commit -q -m {name}\n\
             echo '{{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"done\",\"session_id\":\"s\"}}'\n",
            yard.file("").display()
        );
        pilot_testkit::program::write(&bin.join(name), script);
    }
    format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display())
}

#[test]
fn another_agent_looks_it_over_and_claude_asks_before_it_stops() {
    let called = |variables: &[(&str, &str)]| {
        let world =
            World::with("true", &["review: {enabled: true}"], "  - {name: test, command: \"true\"}\n");
        let path = known_agents(&world.0);
        let ours = [("PILOT_EXECUTOR_BACKEND", "claude-code"), ("PATH", path.as_str())];
        let all = [&ours[..], variables].concat();
        let finished = world.task(&[], &all);
        assert_eq!(finished.verdict(), DONE, "{finished:?}");
        fs::read_to_string(world.0.file("args")).unwrap_or_default()
    };
    let plain = called(&[]);
    assert!(!plain.contains("codex") && !plain.contains("--settings"), "{plain}");
    let hooked = called(&[("PILOT_QUALITY_STOP_HOOK", "true")]);
    assert!(hooked.contains("--settings") && hooked.contains("__stop-gate"), "{hooked}");
    let other = called(&[("PILOT_EXECUTOR_REVIEW_BACKEND", "codex")]);
    assert!(other.lines().nth(1).is_some_and(|line| line.starts_with("codex ")), "{other}");
    let model = called(&[("PILOT_EXECUTOR_REVIEW_MODEL", "my-reviewer")]);
    assert!(model.lines().nth(1).is_some_and(|line| line.contains("my-reviewer")), "{model}");
}

#[test]
fn an_agent_that_changes_nothing_is_told_so_once() {
    let lazy = "[ $CALL = 1 ] && { echo 'I would do it.'; exit; }; commit a; echo done";
    let world = World::with(lazy, &["retry: {enabled: true}"], "");
    let finished = world.task(&[], &[]);
    assert_eq!((finished.verdict(), &finished.result["attempts"]), (DONE, &2.into()), "{finished:?}");
    assert!(world.prompt(2).contains("nothing in the repository has changed"), "{}", world.prompt(2));
    let world = World::with("echo 'I would do it.'", &["retry: {enabled: true}"], "");
    let finished = world.task(&[], &[]);
    assert_eq!(finished.verdict(), ("no_changes", "no_changes", Some(1)), "{finished:?}");
    assert_eq!(finished.result["attempts"], 2, "{finished:?}");
}

#[test]
fn a_mark_that_cannot_be_read_is_asked_for_once() {
    let garbled = "[ $CALL = 1 ] && { printf '```pilot-signal\\n{\"type\":\"exit\",\"success\":tru}\\n```\\n'; exit; }
        printf '```pilot-signal\\n{\"v\":2,\"type\":\"exit\",\"exit_signal\":true,\"success\":false,\"reason\":\"no key\"}\\n```\\n'";
    let world = World::with(garbled, &["retry: {enabled: true}"], "");
    let finished = world.task(&[], &[]);
    assert_eq!(finished.verdict(), ("blocked", "blocked", Some(3)), "{finished:?}");
    let told = world.prompt(2);
    assert!(told.contains("in line 1 of your message") && told.contains("tru}"), "{told}");
    let finished = World::with(garbled, &["retry: {enabled: true}"], "")
        .task(&[], &[("PILOT_EXECUTOR_RETRY_MALFORMED_SIGNAL_MAX_ATTEMPTS", "0")]);
    assert!(finished.stderr.contains("changed nothing") || finished.result["attempts"] == 2, "{finished:?}");
}

const LIMITED: &str = r#"printf '%s\n' '{"type":"system","subtype":"init","session_id":"s","model":"m"}' '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":RESET}}' '{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"limit reached","session_id":"s"}'; exit 1"#;

#[test]
fn a_limit_is_waited_for_or_its_end_is_named() {
    let resets = |seconds: &str| {
        let reset = format!("'\"$(($(date +%s) + {seconds}))\"'");
        format!(
            "[ $CALL = 1 ] || {{ commit a; echo '{{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"done\",\"session_id\":\"s\"}}'; exit; }}\n{}",
            LIMITED.replace("RESET", &reset)
        )
    };
    let world = World::with(&resets("2"), &["retry: {enabled: true}", "stream-json"], "");
    let finished = world.task(&[], &[]);
    assert_eq!((finished.verdict(), &finished.result["attempts"]), (DONE, &2.into()), "{finished:?}");
    let world = World::with(&resets("7200"), &["retry: {enabled: true}", "stream-json"], "");
    let finished = world.task(&[], &[]);
    assert_eq!(finished.verdict(), ("failed", "rate_limit", Some(1)), "{finished:?}");
    assert_eq!(finished.result["attempts"], 1, "{finished:?}");
}

/// Uses 3000 tokens with each message, as long as it is let.
const DEAR: &str = r#"commit a; printf '%s\n' '{"type":"system","subtype":"init","session_id":"s","model":"claude-sonnet-4-6"}'
N=0; while [ $N -lt 40 ]; do N=$((N + 1)); printf '%s\n' '{"type":"assistant","message":{"id":"m'$N'","model":"claude-sonnet-4-6","content":[{"type":"text","text":"on it"}],"usage":{"input_tokens":2000,"output_tokens":1000}},"session_id":"s"}'; sleep 0.1; done
printf '%s\n' '{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s"}'"#;

#[test]
fn a_run_beyond_its_cap_is_stopped_within_one_message_and_its_work_kept() {
    let world = World::with(DEAR, &["stream-json"], "");
    let finished = world.task(&[], &[("PILOT_BUDGET_PER_TASK_MAX_TOKENS", "10000")]);
    assert_eq!(finished.verdict(), ("failed", "budget_exceeded", Some(1)), "{finished:?}");
    assert_eq!(finished.result["commits"], 1, "{finished:?}");
    let used = finished.result["usage"]["input_tokens"].as_u64().unwrap_or(0)
        + finished.result["usage"]["output_tokens"].as_u64().unwrap_or(0);
    assert!((10_000..=15_000).contains(&used), "{finished:?}");
    let cost = finished.result["usage"]["cost_usd"].as_f64().unwrap_or(0.0);
    assert!(cost > 0.0, "{finished:?}");
    // It is on the books, and a day that is used up admits no run.
    let books = run(world.0.pilot(&["budget", "--json"])).stdout;
    assert!(!books.contains("\"spent_usd\":0.0,"), "{books}");
    let ended = run(with(
        world.0.pilot(&["task", "--json", "More"]),
        &[("PILOT_BUDGET_DAILY_LIMIT", "0.01"), ("PILOT_BUDGET_ON_EXCEED_DAILY", "pause")],
    ));
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stdout.contains("budget_exceeded"), "{ended:?}");
}

#[test]
fn a_task_that_takes_too_long_is_stopped_and_its_work_kept() {
    let world = World::with("commit a; exec $AGENT stays", &[], "");
    let finished = world.task(&[], &[("PILOT_BUDGET_PER_TASK_MAX_DURATION", "1s")]);
    assert_eq!(finished.verdict(), ("failed", "budget_exceeded", Some(1)), "{finished:?}");
    assert!(finished.text("reason").contains("budget.per_task.max_duration"), "{finished:?}");
    assert_eq!(finished.result["commits"], 1, "{finished:?}");
}

/// Ends as the API's failures do.
const NO_ANSWER: &str = r#"printf '%s\n' '{"type":"system","subtype":"init","session_id":"s","model":"m"}' '{"type":"result","subtype":"success","is_error":true,"api_error_status":529,"result":"overloaded","session_id":"s"}'; exit 1"#;

#[test]
fn attempts_go_on_for_so_long_and_no_longer() {
    let often =
        "retry: {max_attempts: 1000, max_elapsed: 1s, api_error: {max_attempts: 1000, initial_backoff: 0s}}";
    let world = World::with(&format!("commit a$CALL; {NO_ANSWER}"), &[often, "stream-json"], "");
    let finished = world.task(&[], &[]);
    assert_eq!(finished.verdict(), ("failed", "api_error", Some(1)), "{finished:?}");
    assert!(finished.text("reason").contains("executor.retry.max_elapsed"), "{finished:?}");
    let attempts = finished.result["attempts"].as_u64().unwrap_or(0);
    assert!((2..1000).contains(&attempts), "{finished:?}");
    assert_eq!(finished.result["commits"], attempts, "each builds on the one before: {finished:?}");
}

#[test]
fn another_agent_takes_over_when_all_attempts_have_failed() {
    let world = World::with(
        &format!("commit a$CALL; {NO_ANSWER}"),
        &["retry: {api_error: {max_attempts: 2, initial_backoff: 0s}}", "stream-json"],
        "",
    );
    let path = known_agents(&world.0);
    let variables = [("PILOT_EXECUTOR_FALLBACK", "claude-code"), ("PATH", path.as_str())];
    let finished = world.task(&[], &variables);
    assert_eq!((finished.verdict(), &finished.result["attempts"]), (DONE, &4.into()), "{finished:?}");
    assert_eq!(finished.result["commits"], 4, "it builds on what was there: {finished:?}");
    let called = fs::read_to_string(world.0.file("args")).unwrap_or_default();
    assert_eq!(called.matches("claude ").count(), 1, "{called}");
    let log = run(world.0.pilot(&["logs", finished.text("task")])).stdout;
    assert!(log.contains("api_error: the fallback agent (executor.fallback) takes over"), "{log}");
}

#[test]
fn the_route_follows_the_task_and_every_cell_can_be_set() {
    let yard = Yard::new();
    yard.agent("true", &[]);
    let bin = yard.file("bin");
    fs::create_dir(&bin).expect("a folder");
    fs::copy("/bin/true", bin.join("claude")).expect("a program");
    let route = |complexity: &str, variable: Option<(&str, &str)>| {
        let mut pilot = yard.pilot(&["task", "--dry-run", "--complexity", complexity, "Do it"]);
        pilot.env("PILOT_EXECUTOR_BACKEND", "claude-code");
        pilot.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
        pilot.envs(variable);
        let ended = run(pilot);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.stdout.lines().find(|line| line.starts_with("route: ")).unwrap_or_default().to_owned()
    };
    fs::write(yard.home().join("config.yaml"), "").expect("a configuration");
    assert_eq!(route("trivial", None), "route: trivial, claude-haiku-4-5-20251001, at most 5m");
    assert_eq!(route("simple", None), "route: simple, claude-sonnet-4-6, at most 15m");
    assert_eq!(route("medium", None), "route: medium, claude-sonnet-4-6, at most 30m");
    assert_eq!(route("complex", None), "route: complex, claude-opus-4-6, at most 1h");
    for level in ["trivial", "simple", "medium", "complex"] {
        for (section, value, seen) in [
            ("MODEL_ROUTING", "mine", "mine"),
            ("EFFORT_ROUTING", "high", "effort high"),
            ("TIMEOUT_ROUTING", "7m", "at most 7m"),
        ] {
            let variable = format!("PILOT_EXECUTOR_{section}_{}", level.to_uppercase());
            assert!(route(level, Some((&variable, value))).contains(seen), "{variable}");
        }
    }
    let off = route("complex", Some(("PILOT_EXECUTOR_MODEL_ROUTING_ENABLED", "false")));
    assert!(off.contains("the agent's own model"), "{off}");
    fs::write(yard.home().join("config.yaml"), "executor: {effort_routing: {complex: high}}\n").expect("it");
    let off = route("complex", Some(("PILOT_EXECUTOR_EFFORT_ROUTING_ENABLED", "false")));
    assert!(!off.contains("effort"), "{off}");
}

#[test]
fn a_small_model_is_asked_once_and_can_only_raise() {
    let agent = r#"case "$(cat @/prompt.$CALL)" in
      *"How much work is this ticket"*) sleep ${SLOW:-0}; echo "{\"complexity\":\"$(cat @/says)\",\"why\":\"it is\"}" ;;
      *) commit a$CALL; echo done ;; esac"#;
    let world = World::with(agent, &["classifier: {enabled: true}"], "");
    fs::write(world.0.file("says"), "complex").expect("a file");
    let finished = world.task(&[], &[]);
    assert_eq!(finished.result["route"]["complexity"], "complex", "{finished:?}");
    let again = world.task(&[], &[]);
    assert_eq!(again.result["route"]["complexity"], "complex", "{again:?}");
    assert!(world.prompt(1).contains("How much work") && world.prompt(4).is_empty(), "asked once");
    let world = World::with(agent, &["classifier: {enabled: true}"], "");
    fs::write(world.0.file("says"), "trivial").expect("a file");
    let finished = world.task(&[], &[]);
    assert_ne!(finished.result["route"]["complexity"], "trivial", "{finished:?}");
    let world = World::with(
        agent,
        &["classifier: {enabled: true, timeout: 1s}", "env: {pass: [SLOW, YARD_MARK]}"],
        "",
    );
    fs::write(world.0.file("says"), "complex").expect("a file");
    let finished = world.task(&[], &[("SLOW", "30")]);
    assert_eq!(finished.result["route"]["complexity"], "medium", "{finished:?}");
    let off = World::with(agent, &[], "");
    off.task(&[], &[]);
    assert!(!off.prompt(1).contains("How much work"));
}

/// Says that a task is complex, for a quarter of a dollar, or does it, for a whole one.
const ASKED: &str = r#"printf '%s\n' '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
case "$(cat @/prompt.$CALL)" in
*"How much work is this ticket"*) SAYS='{\"complexity\":\"complex\",\"why\":\"it is\"}'; COST=0.25; TOKENS=100 ;;
*) commit a$CALL; SAYS=done; COST=1; TOKENS=1000 ;;
esac
printf '%s\n' '{"type":"assistant","message":{"id":"m","model":"m","content":[{"type":"text","text":"'"$SAYS"'"}]},"session_id":"s"}' \
  '{"type":"result","subtype":"success","is_error":false,"result":"'"$SAYS"'","session_id":"s","total_cost_usd":'$COST',"usage":{"input_tokens":'$TOKENS',"output_tokens":0}}'"#;

#[test]
fn what_asking_costs_is_charged_whatever_comes_of_it() {
    let spent = |world: &World| {
        let books = run(world.0.pilot(&["budget", "--json"])).stdout;
        let books: serde_json::Value = serde_json::from_str(&books).expect("JSON");
        (books["today"]["spent_usd"].clone(), books["reserved_usd"].clone())
    };
    let world = World::with(ASKED, &["classifier: {enabled: true}", "stream-json"], "");
    let finished = world.task(&[], &[]);
    assert_eq!(finished.verdict(), DONE, "{finished:?}");
    assert_eq!(finished.result["route"]["complexity"], "complex", "{finished:?}");
    let usage = &finished.result["usage"];
    assert_eq!((&usage["cost_usd"], &usage["input_tokens"]), (&1.25.into(), &1100.into()), "{finished:?}");
    assert_eq!(spent(&world), (1.25.into(), 0.0.into()));
    // It is known now, so the model is not asked.
    world.task(&[], &[]);
    assert_eq!(spent(&world), (2.25.into(), 0.0.into()));
    // There is enough for what it looked like, but not for what it is: it was asked for, and is paid for.
    let world = World::with(ASKED, &["classifier: {enabled: true}", "stream-json"], "");
    let little = [("PILOT_BUDGET_DAILY_LIMIT", "2")];
    let args = ["task", "--json", "Add the thing that the other thing needs"];
    let ended = run(with(world.0.pilot(&args), &little));
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stdout.contains("a task like this reserves $3; only $2.00 is left today"), "{ended:?}");
    assert_eq!(spent(&world), (0.25.into(), 0.0.into()));
    // And where no budget is left the model is not asked.
    let world = World::with(ASKED, &["classifier: {enabled: true}", "stream-json"], "");
    run(with(world.0.pilot(&args), &[("PILOT_BUDGET_DAILY_LIMIT", "0.5")]));
    assert_eq!((spent(&world), world.prompt(1).as_str()), ((0.0.into(), 0.0.into()), ""));
}

#[test]
fn a_broken_prompt_of_the_project_is_said_before_anything_runs() {
    let world = World::with("commit a", &[], "");
    let folder = world.0.repo().join(".pilot/prompts");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("executor.md"), "Please:\n\n{{task}}\n\nMind the {{rulez}}.\n").expect("a file");
    let ended = run(world.0.pilot(&["task", "--json", "Do it"]));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("executor.md") && ended.stderr.contains("rules"), "{ended:?}");
    assert_eq!(world.0.git(&["branch", "--list", "pilot/*"]), "");
    fs::write(folder.join("executor.md"), "Please:\n\n{{task}}\n\nMind: {{rules}}.\n").expect("a file");
    assert_eq!(world.task(&[], &[]).verdict(), DONE);
    assert!(world.prompt(1).starts_with("[PILOT-EXEC]\n\nPlease:\n"), "{}", world.prompt(1));
}
