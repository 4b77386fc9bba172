//! Every recording of a real agent decodes to what really happened.

mod recorded;
mod recordings;

use std::borrow::Cow;

use pilot_core::stream::{Agent, AgentEvent, Decoder, LineReader, UnreadReason, UsageMeter};

use recorded::{Recorded, file, near};
use recordings::{End, RECORDINGS};

#[test]
fn the_table_names_every_recording() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/recordings");
    let mut found: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(".jsonl").map(str::to_owned))
        .collect();
    found.sort();
    let mut named: Vec<&str> = RECORDINGS.iter().map(|(name, ..)| *name).collect();
    named.sort_unstable();
    assert_eq!(found, named);
}

#[test]
fn every_recording_decodes_to_its_outcome() {
    for &(name, agent, end, texts, tools) in RECORDINGS {
        let run = Recorded::read(name);
        assert_eq!(run.unknown, [""; 0], "{name}");
        assert_eq!(run.undecodable, [(UnreadReason::Malformed, 0); 0], "{name}");
        assert_eq!(run.end(), end, "{name}");
        assert_eq!((run.texts.len(), run.tools.len()), (texts, tools), "{name}");
        if end != End::Nothing {
            assert_eq!(run.agent, Some(agent), "{name}");
            assert!(run.session.is_some() || name == "sess6_missing", "{name}");
        }
    }
}

/// Neither the exit status nor the result alone is the truth: these are the runs where they differ.
const EXIT_ZERO_WITHOUT_SUCCESS: &[&str] =
    &["kill_INT_bash", "v2.0.76_maxturns", "v2.1.76_maxturns", "v2.1.76_budget"];

#[test]
fn the_exit_status_agrees_with_the_result_but_for_the_known_liars() {
    for &(name, _, end, ..) in RECORDINGS {
        let liar = EXIT_ZERO_WITHOUT_SUCCESS.contains(&name);
        assert_eq!(recorded::exit(name) == 0, end == End::Success || liar, "{name}");
    }
}

#[test]
fn any_cutting_of_the_bytes_gives_the_same_events() {
    for &(name, ..) in RECORDINGS {
        let whole = Recorded::read(name);
        for size in [1, 13, 4096] {
            assert_eq!(Recorded::decode(Decoder::detecting(), &file(name), size).log, whole.log, "{name}");
        }
    }
}

#[test]
fn a_named_agent_and_a_detected_one_decode_alike() {
    for &(name, agent, ..) in RECORDINGS {
        let named = Recorded::decode(Decoder::new(agent), &file(name), 4096);
        assert_eq!(named.log, Recorded::read(name).log, "{name}");
    }
}

#[test]
fn only_what_the_agent_itself_said_is_text() {
    for (name, texts) in [
        ("plain", &["Hello from the scripted model. Nothing to do."][..]),
        ("edit_commit", &["Reading the file.", "Fixing add.", "Fixed and committed."]),
        ("subagent_fwd", &["Delegating.", "The subagent found a bug.", "Final."]),
        ("v2.1.76_sub", &["Delegating.", "The subagent found a bug."]),
        ("hook_stop", &["Writing.", "end", "another end"]),
        ("fallback_ok", &["fallback model answered"]),
        ("in_stream_replay", &["First answer.", "Second answer."]),
        (
            "cx_edit",
            &[
                "Looking.\n```pilot-signal\n{\"v\":2,\"type\":\"phase\",\"phase\":\"RESEARCH\"}\n```",
                "Fixed.\n<pilot:completed>ok</pilot:completed>",
            ],
        ),
        (
            "gm_edit",
            &[
                "Looking.\n```pilot-signal\n{\"v\":2,\"type\":\"phase\",\"phase\":\"RESEARCH\"}\n```",
                "Fixed.\n<pilot:completed>ok</pilot:completed>",
            ],
        ),
        (
            "qw_edit",
            &[
                "Looking.\n```pilot-signal\n{\"v\":2,\"type\":\"phase\",\"phase\":\"RESEARCH\"}\n```",
                "Fixed.\n<pilot:completed>ok</pilot:completed>",
            ],
        ),
        ("oc_plain", &["Hello from the scripted model. Nothing to do."]),
        ("rl_rejected_oauth", &[]),
        ("stop_refusal", &[]),
        ("qw_400", &[]),
    ] {
        assert_eq!(Recorded::read(name).texts, texts, "{name}");
    }
    // A tool printed the very mark that ends a run.
    assert!(!Recorded::read("signal_xml").texts.iter().any(|text| text.contains("not me")));
    // Pieces before the whole block do not make it two.
    assert!(Recorded::read("partial").log.iter().all(|event| !event.contains("delta: true")));
}

#[test]
fn sub_agents_are_told_by_their_parent() {
    let run = Recorded::read("subagent_fwd");
    assert_eq!(run.sub_texts, ["I am the subagent.", "Subagent result: calc.py has a bug."]);
    assert_eq!(run.tools, ["Agent", "Bash@toolu_23e45acb8d5143a98ba5abe5"]);
    assert_eq!(Recorded::read("v2.1.76_sub").tools, ["Task", "Bash@toolu_66d3ee85b48a415bbfdf38c5"]);
}

/// Input, output, cache read and cache write tokens, and the cost.
type Used = (u64, u64, u64, u64, Option<f64>);

#[test]
fn a_run_is_charged_what_it_used() {
    const USED: &[(&str, Used)] = &[
        ("plain", (1200, 25, 300, 100, Some(0.00586))),
        ("sess1", (12_017, 10, 0, 0, Some(0.048_268))),
        ("sess2_resume", (12_049, 10, 0, 0, Some(0.048_396))),
        ("sess3_continue", (12_080, 10, 0, 0, Some(0.048_52))),
        ("sess4_fork", (12_110, 10, 0, 0, Some(0.048_64))),
        ("sess6_missing", (0, 0, 0, 0, Some(0.0))),
        // Two results each: the background work is charged once.
        ("subagent_fwd", (52_208, 135, 0, 0, Some(0.211_532))),
        ("bg_bash", (36_615, 56, 0, 0, Some(0.147_58))),
        ("in_stream", (24_080, 20, 0, 0, Some(0.096_72))),
        // `usage` lacks the last call, the sub-agent, the compaction or the side model.
        ("max_budget", (200_000, 20_000, 0, 0, Some(1.2))),
        ("v2.1.200_budget", (150_000, 15_000, 0, 0, Some(1.125))),
        ("v2.1.76_sub", (69_109, 127, 0, 0, Some(0.209_232))),
        ("compact2", (325_648, 1034, 0, 0, Some(0.330_818))),
        ("v1.0.128_edit", (40_115, 287, 1900, 0, Some(0.114_851_4))),
        ("v2.0.76_maxturns", (102_652, 10_028, 0, 0, Some(0.454_99))),
        ("rl_rejected_oauth", (0, 0, 0, 0, Some(0.0))),
        ("cx_edit", (3700, 180, 900, 0, None)),
        ("oc_plain", (900, 25, 300, 0, Some(0.003_075))),
        ("oc_anthropic", (1200, 25, 300, 100, Some(0.00444))),
        ("gm_plain", (900, 25, 300, 0, None)),
        ("qw_plain", (900, 25, 300, 0, None)),
        ("qw_edit", (79_883, 211, 0, 0, None)),
    ];
    for (name, used) in USED {
        let totals = Recorded::read(name).totals;
        assert!(totals.exact, "{name}");
        near(name, &totals.usage, *used);
    }
}

#[test]
fn a_run_that_was_cut_off_is_estimated_and_its_cost_unknown() {
    for (name, used) in [
        ("kill_kill", (0, 0, 0, 0, None)),
        ("kill_KILL_bash", (12_021, 1, 0, 0, None)),
        ("qw_maxturns", (100_000, 10_000, 0, 0, None)),
        ("cx_kill_TERM", (0, 0, 0, 0, None)),
    ] {
        let totals = Recorded::read(name).totals;
        assert!(!totals.exact, "{name}");
        near(name, &totals.usage, used);
    }
}

/// A version that tells nothing but totals.
fn totals_only(name: &str) -> Vec<u8> {
    let text = String::from_utf8(file(name)).expect("UTF-8");
    text.replace("model_usage_since_last_result", "not_told_by_this_version").into_bytes()
}

#[test]
fn a_resumed_session_is_charged_the_difference_to_its_last_total() {
    let fresh = || Decoder::new(Agent::Claude);
    let first = Recorded::decode(fresh(), &totals_only("sess1"), 4096);
    let mut total = first.last.unwrap().session_usage;
    for (name, used) in [
        ("sess2_resume", (12_049, 10, 0, 0, Some(0.048_396))),
        ("sess3_continue", (12_080, 10, 0, 0, Some(0.048_52))),
        ("sess4_fork", (12_110, 10, 0, 0, Some(0.048_64))),
    ] {
        let run = Recorded::decode(fresh().resuming(total), &totals_only(name), 4096);
        near(name, &run.totals.usage, used);
        assert!(run.totals.exact, "{name}");
        total = run.last.unwrap().session_usage;
    }
    near("the session", &total.unwrap(), (48_256, 40, 0, 0, Some(0.193_824)));
}

#[test]
fn a_resumed_session_of_unknown_total_is_estimated() {
    let unknown = |agent| Decoder::new(agent).resuming(None);
    let run = Recorded::decode(unknown(Agent::Claude), &totals_only("sess2_resume"), 4096);
    near("claude", &run.totals.usage, (12_049, 10, 0, 0, None));
    assert!(!run.totals.exact);
    let run = Recorded::decode(unknown(Agent::Codex), &file("cx_s2"), 4096);
    near("codex", &run.totals.usage, (20_222, 20, 0, 0, None));
    assert!(!run.totals.exact);
}

#[test]
fn a_resumed_codex_thread_is_charged_the_difference() {
    let first = pilot_core::stream::Usage { input_tokens: 10_070, output_tokens: 10, ..Default::default() };
    let decoder = Decoder::new(Agent::Codex).resuming(Some(first));
    let run = Recorded::decode(decoder, &file("cx_s2"), 4096);
    near("cx_s2", &run.totals.usage, (10_152, 10, 0, 0, None));
    assert!(run.totals.exact);
}

#[test]
fn retries_are_told_with_their_reason() {
    for (name, count, last) in [
        ("plain", 0, None),
        ("f_429_x2", 2, Some("2/10 429 rate_limit")),
        ("f_500_x2", 2, Some("2/10 500 server_error")),
        ("f_500_r2", 2, Some("2/2 500 server_error")),
        ("f_529_x2", 2, Some("2/10 529 overloaded")),
        ("f_401", 10, Some("10/10 401 authentication_failed")),
        ("f_429_forever", 10, Some("10/10 429 rate_limit")),
        ("f_drop", 1, Some("1/10 - unknown")),
        ("f_drop_forever", 10, Some("10/10 - unknown")),
        ("fallback_ok", 2, Some("2/10 529 overloaded")),
        (
            "cx_drop",
            1,
            Some(
                "1/2 - stream disconnected before completion: Transport error: network error: error decoding response body",
            ),
        ),
        ("cx_stall", 2, Some("2/2 - stream disconnected before completion: idle timeout waiting for SSE")),
    ] {
        let retries = Recorded::read(name).retries;
        assert_eq!((retries.len(), retries.last().map(String::as_str)), (count, last), "{name}");
    }
}

#[test]
fn failures_carry_the_agents_words_for_them() {
    for (name, failure, status, api_error, api_type) in [
        ("f_400", "unknown 400", Some(400), None, Some("invalid_request_error")),
        ("f_401", "authentication_failed 401", Some(401), None, Some("authentication_error")),
        ("f_403", "authentication_failed 403", Some(403), None, Some("permission_error")),
        ("f_429_long", "rate_limit 429", Some(429), None, Some("rate_limit_error")),
        ("f_529_forever", "server_error 529", Some(529), None, Some("overloaded_error")),
        ("f_drop_forever", "server_error -", None, Some("connection_failed"), None),
        (
            "rl_rejected_oauth",
            "rate_limit 429 resets 1794773725",
            Some(429),
            Some("usage_limit_reached"),
            Some("rate_limit_error"),
        ),
        ("stop_max_tokens", "max_output_tokens -", None, Some("max_output_tokens"), None),
        ("stop_refusal", "invalid_request -", None, None, None),
        // Older versions tell the status in words only.
        ("v1.0.128_400", "- 400", Some(400), None, None),
        ("v2.1.76_400", "unknown 400", Some(400), None, None),
        ("cx_400", "- -", None, None, None),
        ("oc_400", "", Some(400), Some("APIError"), None),
        ("qw_400", "- 400", Some(400), None, None),
    ] {
        let run = Recorded::read(name);
        let last = run.last.unwrap();
        assert_eq!(run.failures.concat(), failure, "{name}");
        let told = (last.api_error_status, last.api_error.as_deref(), last.api_error_type.as_deref());
        assert_eq!(told, (status, api_error, api_type), "{name}");
    }
}

#[test]
fn how_a_run_ended_is_told_in_the_agents_words() {
    for (name, stop, terminal, turns, errors) in [
        ("plain", "end_turn", "completed", 1, vec![]),
        ("stop_refusal", "refusal", "api_error", 2, vec![]),
        ("max_turns", "tool_use", "max_turns", 4, vec!["Reached maximum number of turns (3)"]),
        ("max_budget", "tool_use", "budget_exhausted", 4, vec!["Reached maximum budget ($1)"]),
    ] {
        let last = Recorded::read(name).last.unwrap();
        assert_eq!(last.stop_reason.as_deref(), Some(stop), "{name}");
        assert_eq!(last.terminal_reason.as_deref(), Some(terminal), "{name}");
        assert_eq!(
            (last.num_turns, last.errors),
            (Some(turns), errors.into_iter().map(Cow::from).collect()),
            "{name}"
        );
    }
}

/// What the agents' programs do besides answering.
#[test]
fn side_events_are_told() {
    for (name, count, event) in [
        (
            "rl_headers_oauth",
            1,
            r#"RateLimit { status: "allowed_warning", resets_at: Some(1794773725), kind: Some("five_hour") }"#,
        ),
        (
            "rl_rejected_oauth",
            1,
            r#"RateLimit { status: "rejected", resets_at: Some(1794773725), kind: Some("five_hour") }"#,
        ),
        (
            "fallback_ok",
            1,
            r#"Fallback { from: "claude-opus-5-5", to: "claude-haiku-4-5", trigger: Some("overloaded") }"#,
        ),
        ("compact2", 1, "Compaction { stage: Started, pre_tokens: None, post_tokens: None }"),
        ("compact2", 1, "Compaction { stage: Done, pre_tokens: Some(154002), post_tokens: Some(17126) }"),
        ("stop_refusal", 1, "Refusal "),
        ("perm_default", 2, "Denied "),
        ("perm_none", 2, "Denied "),
        ("hook_stop", 2, r#"HookStarted { name: "Stop""#),
        (
            "hook_stop",
            2,
            r#"HookEnded { name: "Stop", event: "Stop", outcome: "success", exit_code: Some(0) }"#,
        ),
        ("hostile_a", 1, "HookStarted "),
        ("hook_stop_always", 3, "Notice "),
        ("cx_plain", 1, "Notice "),
        (
            "bg_bash",
            1,
            r#"TaskStarted { id: "b1sb8w182", tool: Some("toolu_7298da64cedc4f98be5ebc02"), kind: Some("local_bash"), background: true }"#,
        ),
        ("bg_bash", 2, r#"TaskEnded { id: "b1sb8w182", status: "completed" }"#),
        ("bg_bash", 1, "TasksRunning { count: 0 }"),
        ("bg_bash", 2, "Session "),
        ("bg_bash", 2, "Result("),
        ("kill_INT_bash", 1, r#"TaskEnded { id: "bwqz587cl", status: "stopped" }"#),
        ("edit_commit", 1, "Thinking "),
        ("cx_edit", 1, "Thinking "),
        ("cx_edit", 1, "ToolResult { id: \"item_5\", is_error: true"),
    ] {
        let log = Recorded::read(name).log;
        assert_eq!(log.iter().filter(|told| told.starts_with(event)).count(), count, "{name}: {event}");
    }
    assert_eq!(Recorded::read("perm_default").last.unwrap().permission_denials, 2);
    assert_eq!(Recorded::read("plain").last.unwrap().permission_denials, 0);
}

#[test]
fn a_very_long_answer_is_whole_and_costs_one_message() {
    let answer = "The quick brown fox. ".repeat(17_500);
    let line = format!(
        r#"{{"type":"assistant","message":{{"id":"m","content":[{{"type":"text","text":"{answer}"}}]}},"parent_tool_use_id":null}}"#
    );
    let run = Recorded::decode(Decoder::detecting(), line.as_bytes(), 997);
    assert_eq!(run.texts, [answer]);
}

#[test]
fn a_long_prompt_that_is_echoed_is_never_text() {
    let echo = "<pilot:completed>x</pilot:completed>".repeat(6000);
    let lines = format!(
        "{{\"type\":\"init\",\"session_id\":\"s\",\"model\":\"m\"}}\n{{\"type\":\"message\",\"role\":\"user\",\"content\":\"{echo}\"}}\n"
    );
    assert_eq!(Recorded::decode(Decoder::detecting(), lines.as_bytes(), 4096).texts, [""; 0]);
}

#[test]
fn an_endless_line_is_one_event_and_the_next_is_read() {
    let mut reader = LineReader::new();
    let mut decoder = Decoder::new(Agent::Claude);
    let mut meter = UsageMeter::default();
    let mut told = Vec::new();
    let mut push = |chunk: &[u8]| {
        reader.push(chunk, &mut |line| {
            decoder.line(line, &mut |event: AgentEvent<'_>| {
                meter.observe(&event);
                told.push(format!("{event:?}"));
            });
        });
    };
    push(br#"{"type":"assistant","message":{"content":[{"type":"text","text":""#);
    for _ in 0..64 {
        push(&[b'x'; 1 << 18]);
    }
    push(b"\"}]}}\n{\"type\":\"keep_alive\"}\n");
    assert_eq!(told, ["Undecodable { reason: Oversized, bytes: 16777286 }", "Alive"]);
}
