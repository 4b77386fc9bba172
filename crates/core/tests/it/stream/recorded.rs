//! One recording, decoded and summed up.

use std::borrow::Cow;

use pilot_core::stream::{
    Agent, AgentEvent, AgentFailure, AgentResult, Decoder, LineReader, RunUsage, UnreadReason, Usage,
    UsageMeter,
};

use super::recordings::End;

/// What a consumer would know at the end of the run.
pub(super) struct Recorded {
    pub(super) agent: Option<Agent>,
    pub(super) session: Option<String>,
    /// The agent's own messages, pieces joined.
    pub(super) texts: Vec<String>,
    pub(super) sub_texts: Vec<String>,
    /// Names of the tools called, with the parent of a sub-agent's.
    pub(super) tools: Vec<String>,
    pub(super) retries: Vec<String>,
    pub(super) failures: Vec<String>,
    pub(super) last: Option<AgentResult<'static>>,
    pub(super) totals: RunUsage,
    pub(super) unknown: Vec<String>,
    pub(super) undecodable: Vec<(UnreadReason, u64)>,
    /// Every event as it was told.
    pub(super) log: Vec<String>,
}

impl Recorded {
    /// The recording as a consumer meets it that does not know who speaks.
    pub(super) fn read(name: &str) -> Recorded {
        Recorded::decode(Decoder::detecting(), &file(name), 64 * 1024)
    }

    pub(super) fn decode(mut decoder: Decoder, bytes: &[u8], chunk: usize) -> Recorded {
        let mut run = Recorded::nothing();
        let mut meter = UsageMeter::default();
        let mut open = String::new();
        let mut observe = |event: AgentEvent<'_>| {
            meter.observe(&event);
            run.observe(&event, &mut open);
        };
        let mut reader = LineReader::new();
        for chunk in bytes.chunks(chunk) {
            reader.push(chunk, &mut |line| decoder.line(line, &mut observe));
        }
        reader.finish(&mut |line| decoder.line(line, &mut observe));
        decoder.finish(&mut observe);
        assert_eq!(open, "", "a message was left open");
        let counters = decoder.counters();
        assert_eq!(counters.unknown, run.unknown.len() as u64);
        assert_eq!(counters.undecodable, run.undecodable.len() as u64);
        Recorded { agent: decoder.agent(), totals: meter.totals(), ..run }
    }

    pub(super) fn end(&self) -> End {
        match &self.last {
            Some(result) if result.succeeded() => End::Success,
            Some(result) => End::Failed(known_word(&result.subtype)),
            None if self.log.is_empty() => End::Nothing,
            None => End::CutOff,
        }
    }

    fn nothing() -> Recorded {
        Recorded {
            agent: None,
            session: None,
            texts: Vec::new(),
            sub_texts: Vec::new(),
            tools: Vec::new(),
            retries: Vec::new(),
            failures: Vec::new(),
            last: None,
            totals: UsageMeter::default().totals(),
            unknown: Vec::new(),
            undecodable: Vec::new(),
            log: Vec::new(),
        }
    }

    fn observe(&mut self, event: &AgentEvent<'_>, open: &mut String) {
        self.log.push(format!("{event:?}"));
        match event {
            AgentEvent::Session { id, .. } => self.session = Some(id.to_string()),
            AgentEvent::Text(text) if text.parent.is_some() => self.sub_texts.push(text.text.to_string()),
            AgentEvent::Text(text) if text.delta => open.push_str(&text.text),
            AgentEvent::Text(text) => self.texts.push(text.text.to_string()),
            AgentEvent::MessageEnd { .. } => self.texts.push(std::mem::take(open)),
            AgentEvent::ToolUse { name, parent, input, .. } => {
                assert!(serde_json::from_str::<serde_json::Value>(input).is_ok(), "{input}");
                let parent = parent.as_ref().map(|parent| format!("@{parent}")).unwrap_or_default();
                self.tools.push(format!("{name}{parent}"));
            }
            AgentEvent::Retry { attempt, max, status, class, .. } => {
                let status = status.map_or("-".into(), |status| status.to_string());
                self.retries.push(format!("{attempt}/{} {status} {class}", max.unwrap_or(0)));
            }
            AgentEvent::Failure(failure) => self.failures.push(failure_words(failure)),
            AgentEvent::Result(result) => self.last = Some(owned(result)),
            AgentEvent::Unknown { word } => self.unknown.push(word.to_string()),
            AgentEvent::Undecodable { reason, bytes } => self.undecodable.push((*reason, *bytes)),
            AgentEvent::Thinking { .. }
            | AgentEvent::ToolResult { .. }
            | AgentEvent::Usage { .. }
            | AgentEvent::RateLimit { .. }
            | AgentEvent::Compaction { .. }
            | AgentEvent::Fallback { .. }
            | AgentEvent::Refusal { .. }
            | AgentEvent::TaskStarted { .. }
            | AgentEvent::TaskEnded { .. }
            | AgentEvent::TasksRunning { .. }
            | AgentEvent::Denied { .. }
            | AgentEvent::HookStarted { .. }
            | AgentEvent::HookEnded { .. }
            | AgentEvent::Notice { .. }
            | AgentEvent::Alive => {}
        }
    }
}

pub(super) fn file(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/fixtures/recordings/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The exit status the process really had; negative for a signal.
pub(super) fn exit(name: &str) -> i64 {
    let path = format!("{}/tests/fixtures/recordings/{name}.meta.json", env!("CARGO_MANIFEST_DIR"));
    let meta = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let meta: serde_json::Value = serde_json::from_slice(&meta).expect("JSON");
    meta["exit"].as_i64().expect("an exit status")
}

/// Compares usage; sums of prices are not exact.
pub(super) fn near(name: &str, usage: &Usage, expected: (u64, u64, u64, u64, Option<f64>)) {
    let (input, output, read, write, cost) = expected;
    let counts = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens);
    assert_eq!(counts, (input, output, read, write), "{name}");
    let off = usage.cost_usd.zip(cost).map(|(told, cost)| (told - cost).abs());
    assert!(
        usage.cost_usd.is_some() == cost.is_some() && off.is_none_or(|off| off < 1e-9),
        "{name}: {usage:?}"
    );
}

fn failure_words(failure: &AgentFailure<'_>) -> String {
    let class = failure.class.as_deref().unwrap_or("-");
    let status = failure.status.map_or("-".into(), |status| status.to_string());
    let resets = failure.resets_at.map(|at| format!(" resets {at}")).unwrap_or_default();
    format!("{class} {status}{resets}")
}

fn owned(result: &AgentResult<'_>) -> AgentResult<'static> {
    let own = |text: &Option<Cow<'_, str>>| text.as_ref().map(|text| Cow::Owned(text.to_string()));
    AgentResult {
        subtype: Cow::Owned(result.subtype.to_string()),
        is_error: result.is_error,
        text: own(&result.text),
        errors: result.errors.iter().map(|error| Cow::Owned(error.to_string())).collect(),
        num_turns: result.num_turns,
        stop_reason: own(&result.stop_reason),
        terminal_reason: own(&result.terminal_reason),
        api_error_status: result.api_error_status,
        api_error: own(&result.api_error),
        api_error_type: own(&result.api_error_type),
        permission_denials: result.permission_denials,
        session: own(&result.session),
        session_usage: result.session_usage,
    }
}

fn known_word(subtype: &str) -> &'static str {
    let known =
        ["success", "failed", "error", "error_during_execution", "error_max_turns", "error_max_budget_usd"];
    known.into_iter().find(|word| *word == subtype).expect("a subtype the table knows")
}
