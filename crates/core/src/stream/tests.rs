//! Tests of the public face, and the shorthand the decoders' own tests are written in.

use proptest::prelude::*;

use super::{Agent, AgentEvent, Decoder, StreamCounters, StreamLine, Usage, UsageScope};

/// What these lines say, one short string an event.
pub(super) fn told(agent: Agent, lines: &[&str]) -> Vec<String> {
    tell(Decoder::new(agent), lines)
}

/// The same by a decoder of the caller's.
pub(super) fn tell(mut decoder: Decoder, lines: &[&str]) -> Vec<String> {
    let mut told = Vec::new();
    for line in lines {
        decoder.line(*line, &mut |event| told.push(short(&event)));
    }
    decoder.finish(&mut |event| told.push(short(&event)));
    told
}

fn short(event: &AgentEvent<'_>) -> String {
    let from = |parent: &Option<_>| parent.as_ref().map(|id| format!("@{id}")).unwrap_or_default();
    match event {
        AgentEvent::Session { id, model, cwd } => format!("session {id} {model:?} {cwd:?}"),
        AgentEvent::Text(text) => {
            let piece = if text.delta { "+" } else { "" };
            format!("text{piece}{} {}{}", text.ordinal, text.text, from(&text.parent))
        }
        AgentEvent::MessageEnd { ordinal } => format!("end {ordinal}"),
        AgentEvent::Thinking { parent } => format!("thinking{}", from(parent)),
        AgentEvent::ToolUse { id, name, input, parent } => format!("use {id} {name} {input}{}", from(parent)),
        AgentEvent::ToolResult { id, is_error, content, parent } => {
            format!("{} {id} {content}{}", if *is_error { "bad" } else { "ok" }, from(parent))
        }
        AgentEvent::Usage { scope, usage } => format!("{} {}", scope_word(scope), counts(usage)),
        AgentEvent::Retry { attempt, max, status, class, .. } => {
            format!("retry {attempt}/{max:?} {status:?} {class}")
        }
        AgentEvent::RateLimit { status, resets_at, kind } => format!("limit {status} {resets_at:?} {kind:?}"),
        AgentEvent::Compaction { stage, .. } => format!("compaction {stage:?}"),
        AgentEvent::Fallback { from, to, .. } => format!("fallback {from} {to}"),
        AgentEvent::Refusal { model, .. } => format!("refusal {model:?}"),
        AgentEvent::TaskStarted { id, background, .. } => format!("task {id} {background}"),
        AgentEvent::TaskEnded { id, status } => format!("task {id} {status}"),
        AgentEvent::TasksRunning { count } => format!("tasks {count}"),
        AgentEvent::Denied { tool, message, .. } => format!("denied {tool} {message}"),
        AgentEvent::HookStarted { name, .. } => format!("hook {name}"),
        AgentEvent::HookEnded { name, outcome, exit_code, .. } => {
            format!("hook {name} {outcome} {exit_code:?}")
        }
        AgentEvent::Result(result) => {
            format!("result {} {} {:?} {:?}", result.subtype, result.is_error, result.text, result.errors)
        }
        AgentEvent::Failure(failure) => {
            let (class, status, resets) = (&failure.class, failure.status, failure.resets_at);
            format!("failure {class:?} {status:?} {resets:?} {}", failure.message)
        }
        AgentEvent::Notice { text, .. } => format!("notice {text}"),
        AgentEvent::Alive => "alive".into(),
        AgentEvent::Unknown { word } => format!("unknown {word}"),
        AgentEvent::Undecodable { reason, bytes } => format!("undecodable {reason:?} {bytes}"),
    }
}

fn scope_word(scope: &UsageScope<'_>) -> String {
    match scope {
        UsageScope::Live { message } => format!("live {message}"),
        UsageScope::Settled => "settled".into(),
        UsageScope::Estimate => "estimate".into(),
    }
}

fn counts(usage: &Usage) -> String {
    let Usage { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost_usd } = usage;
    let cost = cost_usd.map_or("?".into(), |cost| format!("{cost:.4}"));
    format!("{input_tokens}+{output_tokens} r{cache_read_tokens} w{cache_write_tokens} ${cost}")
}

#[test]
fn names_are_read_and_written() {
    for agent in Agent::ALL {
        assert_eq!(agent.as_str().parse(), Ok(agent));
        assert_eq!(agent.to_string(), agent.as_str());
    }
    assert_eq!("claude-code".parse(), Ok(Agent::Claude));
    let error = "cluade".parse::<Agent>().unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"unknown agent "cluade", known are claude, codex, opencode, gemini and qwen"#
    );
}

#[test]
fn a_line_that_cannot_be_read_is_an_event_and_never_text() {
    let deep = format!(r#"{{"type":"assistant","message":{}"#, "[".repeat(100_000));
    for (line, event) in [
        (&b"<pilot:completed>x</pilot:completed>"[..], "undecodable NotAnObject 36"),
        (b"[1]", "undecodable NotAnObject 3"),
        (br#"{"type":"assistant""#, "undecodable Malformed 19"),
        (br#"{"type":"text"} {"type":"text"}"#, "undecodable Malformed 31"),
        (b"{\"type\":\"\xff\"}", "undecodable NotUtf8 12"),
        (deep.as_bytes(), "undecodable Malformed 100030"),
    ] {
        for agent in Agent::ALL {
            let mut told = Vec::new();
            Decoder::new(agent).line(line, &mut |event| told.push(short(&event)));
            assert_eq!(told, [event]);
        }
    }
}

#[test]
fn everything_odd_is_counted() {
    let mut decoder = Decoder::new(Agent::Codex);
    for line in ["", "  \r", "warning: x", r#"{"type":"new.thing"}"#, r#"{"type":"turn.started"}"#] {
        decoder.line(line, &mut |_| ());
    }
    decoder.line(StreamLine::Oversized { bytes: 1 << 33 }, &mut |event| {
        assert_eq!(short(&event), "undecodable Oversized 8589934592");
    });
    assert_eq!(decoder.counters(), StreamCounters { lines: 6, unknown: 1, undecodable: 2 });
}

#[test]
fn the_agent_is_detected_from_the_first_line_that_tells() {
    let lines = [
        "npm warn something",
        r#"{"type":"banner"}"#,
        r#"{"type":"system","subtype":"init","session_id":"s","qwen_code_version":"0.24.4"}"#,
        r#"{"type":"thread.started","thread_id":"t"}"#,
    ];
    assert_eq!(
        tell(Decoder::detecting(), &lines),
        [
            "undecodable NotAnObject 18",
            "unknown banner",
            "session s None None",
            // Once the agent is known, lines of other agents do not count.
            "unknown thread.started",
        ]
    );
}

#[test]
fn half_a_character_does_not_lose_the_line() {
    let line = r#"{"type":"item.completed","item":{"type":"agent_message","text":"cut \ud83d"}}"#;
    assert_eq!(told(Agent::Codex, &[line]), ["text0 cut \u{fffd}"]);
}

/// JSON that looks like an agent's, with any type in any place.
fn json() -> impl Strategy<Value = String> {
    let word = proptest::sample::select(vec![
        "assistant",
        "user",
        "system",
        "result",
        "text",
        "tool_use",
        "tool_result",
        "init",
        "error",
        "message",
        "item.completed",
        "turn.completed",
        "step_finish",
        "command_execution",
        "success",
        "stream_event",
        "rate_limit_event",
        "api_retry",
        "task_updated",
        "<synthetic>",
    ]);
    let key = proptest::sample::select(vec![
        "type",
        "subtype",
        "message",
        "content",
        "text",
        "usage",
        "item",
        "part",
        "role",
        "id",
        "model",
        "state",
        "tokens",
        "stats",
        "error",
        "errors",
        "result",
        "modelUsage",
        "input_tokens",
        "event",
        "sessionID",
        "status",
        "rate_limit_info",
        "api_error_params",
        "total_cost_usd",
        "delta",
        "reason",
        "input",
        "patch",
        "tasks",
    ]);
    let leaf = prop_oneof![
        word.prop_map(|word| format!("{word:?}")),
        Just("null".to_owned()),
        any::<bool>().prop_map(|flag| flag.to_string()),
        any::<i64>().prop_map(|number| number.to_string()),
        any::<f64>().prop_filter("JSON has finite numbers", |n| n.is_finite()).prop_map(|n| format!("{n:e}")),
        Just(r#""\ud83d""#.to_owned()),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            proptest::collection::btree_map(key.clone(), inner, 0..8).prop_map(|entries| {
                let entries: Vec<_> = entries.iter().map(|(key, value)| format!("{key:?}:{value}")).collect();
                format!("{{{}}}", entries.join(","))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for agent in Agent::ALL {
            Decoder::new(agent).line(&bytes[..], &mut |_| ());
        }
        Decoder::detecting().line(&bytes[..], &mut |_| ());
    }

    #[test]
    fn every_json_object_is_decoded_whatever_its_types(line in json()) {
        for agent in Agent::ALL {
            let mut events = 0;
            let mut decoder = Decoder::new(agent);
            decoder.line(&line[..], &mut |_| events += 1);
            prop_assert!(events > 0);
            prop_assert_eq!(decoder.counters().undecodable, u64::from(!line.starts_with('{')));
        }
    }
}
