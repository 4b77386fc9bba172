//! Every recording of a real agent is judged for what it was.

use pilot_core::outcome::{
    Claims, EndedBy, Evidence, Git, GitFacts, Goal, Outcome, ProcessEnd, Reports, Stderr, StreamFacts, decide,
};
use pilot_core::signal::{Found, scan};
use pilot_core::stream::{AgentEvent, Decoder, LineReader};
use serde_json::Value;

/// Name and class; `completed` for none. The status follows from the class, and a unit test says how.
#[rustfmt::skip]
const RECORDINGS: &[(&str, &str)] = &[
    ("bare", "no_changes"),
    ("bg_bash", "no_changes"),
    ("big_tool", "no_changes"),
    ("compact", "no_changes"),
    ("compact2", "no_changes"),
    ("cx_400", "api_error"),
    ("cx_drop", "no_changes"),
    ("cx_edit", "completed"),
    ("cx_kill_KILL", "unknown"),
    ("cx_kill_TERM", "unknown"),
    ("cx_no_apps", "no_changes"),
    ("cx_plain", "no_changes"),
    ("cx_ro", "no_changes"),
    ("cx_s2", "no_changes"),
    ("cx_s3", "session_not_found"),
    ("cx_sse", "no_changes"),
    ("cx_stall", "api_error"),
    ("cx_stdin", "no_changes"),
    ("cx_trace", "no_changes"),
    ("edit_commit", "completed"),
    ("empty_text", "no_changes"),
    ("envnoscrub", "no_changes"),
    ("envscrub", "invalid_config"),
    ("f_400", "api_error"),
    ("f_400_after", "api_error"),
    ("f_401", "auth"),
    ("f_403", "auth"),
    ("f_429_forever", "rate_limit"),
    ("f_429_long", "rate_limit"),
    ("f_429_x2", "no_changes"),
    ("f_500_forever", "api_error"),
    ("f_500_r2", "api_error"),
    ("f_500_x2", "no_changes"),
    ("f_529_forever", "api_error"),
    ("f_529_x2", "no_changes"),
    ("f_drop", "no_changes"),
    ("f_drop_forever", "api_error"),
    ("f_garbage", "no_changes"),
    ("f_reset", "no_changes"),
    ("f_reset0", "no_changes"),
    ("f_sse_overloaded", "no_changes"),
    ("fallback_ok", "no_changes"),
    ("fl_append", "no_changes"),
    ("fl_badflag", "invalid_config"),
    ("fl_effort_bad", "no_changes"),
    ("fl_effort_max", "no_changes"),
    ("fl_model_alias", "no_changes"),
    ("fl_model_bogus", "no_changes"),
    ("fl_system", "no_changes"),
    ("gm_400", "api_error"),
    ("gm_edit", "completed"),
    ("gm_plain", "no_changes"),
    ("hook_stop", "completed"),
    ("hook_stop_always", "completed"),
    ("hostile_a", "no_changes"),
    ("hostile_b", "no_changes"),
    ("hostile_c", "no_changes"),
    ("hostile_d", "no_changes"),
    ("hostile_e", "no_changes"),
    ("in_arg_131071", "no_changes"),
    ("in_stdin", "no_changes"),
    ("in_stdin_2m", "no_changes"),
    ("in_stdin_open_noarg", "invalid_config"),
    ("in_stdin_plus_arg", "no_changes"),
    ("in_stream", "no_changes"),
    ("in_stream_replay", "no_changes"),
    ("kill_INT_bash", "unknown"),
    ("kill_KILL_bash", "unknown"),
    ("kill_int_bash", "no_changes"),
    ("kill_kill", "unknown"),
    ("kill_kill_bash", "no_changes"),
    ("kill_term_bash", "no_changes"),
    ("max_budget", "budget_exceeded"),
    ("max_turns", "budget_exceeded"),
    ("mcp", "no_changes"),
    ("nonroot", "no_changes"),
    ("noverbose", "invalid_config"),
    ("oc_400", "api_error"),
    ("oc_429", "no_changes"),
    ("oc_500", "timeout"),
    ("oc_anthropic", "no_changes"),
    ("oc_plain", "no_changes"),
    ("oc_stdin", "no_changes"),
    ("partial", "no_changes"),
    ("perm_allowed", "completed"),
    ("perm_default", "no_changes"),
    ("perm_disallow", "completed"),
    ("perm_dontask", "no_changes"),
    ("perm_none", "no_changes"),
    ("perm_tools", "completed"),
    ("plain", "no_changes"),
    ("qw_400", "api_error"),
    ("qw_429", "no_changes"),
    ("qw_edit", "completed"),
    ("qw_maxturns", "budget_exceeded"),
    ("qw_plain", "no_changes"),
    ("qw_stdin", "no_changes"),
    ("rl_headers_oauth", "no_changes"),
    ("rl_rejected_oauth", "rate_limit"),
    ("safemode", "no_changes"),
    ("sess1", "no_changes"),
    ("sess2_resume", "no_changes"),
    ("sess3_continue", "no_changes"),
    ("sess4_fork", "no_changes"),
    ("sess6_missing", "session_not_found"),
    ("sess7_othercwd", "no_changes"),
    ("sess9_resume_killed", "no_changes"),
    ("signal_xml", "no_changes"),
    ("stop_max_tokens", "api_error"),
    ("stop_refusal", "refused"),
    ("subagent_fwd", "no_changes"),
    ("v1.0.128_400", "api_error"),
    ("v1.0.128_500r", "no_changes"),
    ("v1.0.128_edit", "completed"),
    ("v1.0.128_plain", "no_changes"),
    ("v2.0.76_500r", "no_changes"),
    ("v2.0.76_edit", "completed"),
    ("v2.0.76_maxturns", "budget_exceeded"),
    ("v2.0.76_plain", "no_changes"),
    ("v2.1.200_400", "api_error"),
    ("v2.1.200_budget", "budget_exceeded"),
    ("v2.1.200_edit", "completed"),
    ("v2.1.200_plain", "no_changes"),
    ("v2.1.76_400", "api_error"),
    ("v2.1.76_500r", "no_changes"),
    ("v2.1.76_budget", "budget_exceeded"),
    ("v2.1.76_maxturns", "budget_exceeded"),
    ("v2.1.76_plain", "no_changes"),
    ("v2.1.76_sub", "no_changes"),
];

/// What a kill by the test bench meant: its own time limit, or a stranger.
const TIMED_OUT: &[&str] = &["oc_500"];

#[test]
fn the_table_names_every_recording() {
    let mut found: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(".meta.json").map(str::to_owned))
        .collect();
    found.sort();
    let mut named: Vec<&str> = RECORDINGS.iter().map(|(name, _)| *name).collect();
    named.sort_unstable();
    assert_eq!(found, named);
}

#[test]
fn every_recording_has_its_verdict() {
    let mut wrong = Vec::new();
    for &(name, expected) in RECORDINGS {
        let outcome = judge(name);
        let class = outcome.class().map_or("completed", |class| class.as_str());
        if class != expected {
            wrong.push(format!("{name}: {class} instead of {expected}: {}", outcome.reason()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn reasons_say_what_happened() {
    for (name, reason) in [
        ("edit_commit", "1 commit, 1 file changed"),
        ("plain", "nothing changed; the agent said: Hello from the scripted model. Nothing to do."),
        ("perm_none", "nothing changed: 2 tool calls were not allowed"),
        ("empty_text", "nothing changed and the agent said nothing"),
        ("kill_INT_bash", "the agent exited with status 0 after an error: interrupted from outside"),
        ("kill_KILL_bash", "killed by signal 9 from outside"),
        ("f_400_after", "API Error: 400 bad thing (1 commit is kept)"),
        ("cx_stall", "stream disconnected before completion: idle timeout waiting for SSE"),
        ("max_turns", "Reached maximum number of turns (3)"),
        ("v2.1.76_maxturns", "the agent exited with status 0 after an error: error_max_turns"),
        ("sess6_missing", "No conversation found with session ID: 99999999-2222-4333-8444-555555555555"),
        ("fl_badflag", "the agent exited with status 1: error: unknown option '--no-such-flag'"),
    ] {
        let said = judge(name).reason().to_owned();
        assert!(said.starts_with(reason), "{name}: {said}");
    }
}

#[test]
fn only_a_limit_has_a_reset_time() {
    for &(name, _) in RECORDINGS {
        let reset = judge(name).reset_at();
        assert_eq!(reset.is_some(), name == "rl_rejected_oauth", "{name}: {reset:?}");
    }
}

fn judge(name: &str) -> Outcome {
    let meta: Value = serde_json::from_slice(&file(name, "meta.json")).expect("a recording");
    let (stream, claims, agent) = read(name);
    let exit = meta["exit"].as_i64().expect("an exit status");
    let end = match i32::try_from(exit).expect("a recording") {
        code @ 0.. => ProcessEnd::Code(code),
        signal => ProcessEnd::Signal(-signal),
    };
    let stderr = meta["stderr"].as_str().expect("a text");
    decide(&Evidence {
        goal: Goal::Change,
        agent,
        reports: Reports::Always,
        end: Ok(end),
        ended_by: if TIMED_OUT.contains(&name) { EndedBy::Deadline } else { EndedBy::Itself },
        oom: false,
        stream: &stream,
        claims: &claims,
        git: &Git::Read(git(meta["git"].as_str().expect("a text"))),
        stderr: Stderr { head: stderr, tail: stderr },
    })
}

/// What git would say after the leftover changes are committed, from `git log --oneline --all` and `git status --short`.
fn git(recorded: &str) -> GitFacts {
    let is_commit = |line: &&str| line.len() > 8 && line.as_bytes()[..7].iter().all(u8::is_ascii_hexdigit);
    let made = recorded
        .lines()
        .filter(is_commit)
        .filter(|line| !line.ends_with(" init") && !line.contains("Notes added"));
    let made = made.count() as u64;
    let left = recorded.lines().filter(|line| !is_commit(line)).count() as u64;
    let commits = made + u64::from(left > 0);
    GitFacts { commits, files_changed: made + left, head_moved: commits > 0 }
}

fn read(name: &str) -> (StreamFacts, Claims, Option<pilot_core::stream::Agent>) {
    let (mut stream, mut claims) = (StreamFacts::default(), Claims::default());
    let mut decoder = Decoder::detecting();
    let mut observe = |event: AgentEvent<'_>| {
        stream.observe(&event);
        if let AgentEvent::Text(text) = &event
            && text.parent.is_none()
        {
            for found in scan(text.text.as_bytes()) {
                if let Found::Signal(signal) = found {
                    claims.observe(&signal);
                }
            }
        }
    };
    let mut reader = LineReader::new();
    reader.push(&file(name, "jsonl"), &mut |line| decoder.line(line, &mut observe));
    reader.finish(&mut |line| decoder.line(line, &mut observe));
    decoder.finish(&mut observe);
    let agent = decoder.agent();
    (stream, claims, agent)
}

fn folder() -> &'static str {
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/recordings")
}

fn file(name: &str, kind: &str) -> Vec<u8> {
    let path = format!("{}/{name}.{kind}", folder());
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}
