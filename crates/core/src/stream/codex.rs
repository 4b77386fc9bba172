//! Lines of `codex exec --json`.
//!
//! A tool call is an item that starts and completes; an item that only completes is both. The usage of a turn is the total
//! of the thread, resumed runs included.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::EventSink;
use super::event::{AgentEvent, AgentFailure, AgentResult, Text as TextEvent};
use super::message::{Ordinals, ToolOutput};
use super::usage::{Before, Usage, UsageScope};
use super::wire::{Count, WireNumber, WireObject, WireText, status_after, wire_object};

/// How many items may be open at once before the oldest is forgotten.
const OPEN_LIMIT: usize = 64;

#[derive(Debug)]
pub(super) struct Codex {
    before: Before,
    ordinals: Ordinals,
    thread: Option<String>,
    /// Tool items that started and did not complete yet.
    open: Vec<String>,
}

impl Codex {
    pub(super) fn new(before: Before) -> Codex {
        Codex { before, ordinals: Ordinals::default(), thread: None, open: Vec::new() }
    }

    pub(super) fn line(&mut self, line: &str, sink: &mut EventSink<'_>) -> Result<(), serde_json::Error> {
        let line: CodexLine<'_> = serde_json::from_str(line)?;
        match line.kind.as_str() {
            "thread.started" => {
                self.thread = Some(line.thread_id.as_str().to_owned());
                sink(AgentEvent::Session { id: line.thread_id.or_empty(), model: None, cwd: None });
            }
            "turn.started" | "item.updated" => sink(AgentEvent::Alive),
            "item.started" => self.started(&line.item.0.unwrap_or_default(), sink),
            "item.completed" => self.completed(line.item.0.unwrap_or_default(), sink),
            "turn.completed" => self.turn_completed(&line.usage.0.unwrap_or_default(), sink),
            "turn.failed" => {
                let error = line.error.0.unwrap_or_default().message.or_empty();
                sink(self.result("failed", true, vec![error]));
            }
            "error" => sink(error(line.message.or_empty())),
            _ => sink(AgentEvent::Unknown { word: line.kind.or_empty() }),
        }
        Ok(())
    }

    fn started(&mut self, item: &CodexItem<'_>, sink: &mut EventSink<'_>) {
        if !item.is_tool() {
            return sink(AgentEvent::Alive);
        }
        if self.open.len() == OPEN_LIMIT {
            self.open.remove(0);
        }
        self.open.push(item.id.as_str().to_owned());
        sink(item.tool_use());
    }

    fn completed(&mut self, item: CodexItem<'_>, sink: &mut EventSink<'_>) {
        match item.kind.as_str() {
            "agent_message" => sink(AgentEvent::Text(TextEvent {
                ordinal: self.ordinals.next(),
                message: item.id.0,
                parent: None,
                delta: false,
                text: item.text.or_empty(),
            })),
            "reasoning" => sink(AgentEvent::Thinking { parent: None }),
            "error" => sink(AgentEvent::Notice { level: None, text: item.message.or_empty() }),
            "todo_list" => sink(AgentEvent::Alive),
            _ if item.is_tool() => self.tool_completed(item, sink),
            kind => sink(AgentEvent::Unknown { word: format!("item/{kind}").into() }),
        }
    }

    fn tool_completed(&mut self, item: CodexItem<'_>, sink: &mut EventSink<'_>) {
        match self.open.iter().position(|id| id == item.id.as_str()) {
            Some(index) => drop(self.open.remove(index)),
            None => sink(item.tool_use()),
        }
        sink(AgentEvent::ToolResult {
            is_error: !matches!(item.status.as_str(), "completed" | "")
                || item.exit_code.0.is_some_and(|code| code != 0.0),
            id: item.id.or_empty(),
            content: item.aggregated_output.0,
            parent: None,
        });
    }

    fn turn_completed(&mut self, tokens: &CodexTokens, sink: &mut EventSink<'_>) {
        let total = tokens.usage();
        let (scope, usage) = match self.before.advance(total) {
            Some(added) => (UsageScope::Settled, added),
            None => (UsageScope::Estimate, total),
        };
        sink(AgentEvent::Usage { scope, usage });
        let mut event = self.result("success", false, Vec::new());
        if let AgentEvent::Result(result) = &mut event {
            result.session_usage = Some(total);
        }
        sink(event);
    }

    fn result<'a>(&self, subtype: &'a str, is_error: bool, errors: Vec<Cow<'a, str>>) -> AgentEvent<'a> {
        let session = self.thread.clone().map(Cow::Owned);
        let subtype = Cow::Borrowed(subtype);
        AgentEvent::Result(Box::new(AgentResult {
            subtype,
            is_error,
            errors,
            session,
            ..AgentResult::default()
        }))
    }
}

/// An error line: `Reconnecting... 1/2 (why)` is a retry, anything else a failure. A status is in the words, as in
/// `unexpected status 429 Too Many Requests`.
fn error(message: Cow<'_, str>) -> AgentEvent<'_> {
    match retry(&message) {
        Some((attempt, max, why)) => AgentEvent::Retry {
            attempt,
            max: Some(max),
            delay_ms: None,
            status: status_after("status ", why),
            class: Cow::Owned(why.to_owned()),
        },
        None => AgentEvent::Failure(Box::new(AgentFailure {
            status: status_after("status ", &message),
            message,
            ..AgentFailure::default()
        })),
    }
}

fn retry(message: &str) -> Option<(u64, u64, &str)> {
    let (counts, why) = message.strip_prefix("Reconnecting... ")?.split_once(' ').unwrap_or_default();
    let (attempt, max) = counts.split_once('/')?;
    let why = why.strip_prefix('(').and_then(|why| why.strip_suffix(')')).unwrap_or(why);
    Some((attempt.parse().ok()?, max.parse().ok()?, why))
}

wire_object! {
    struct CodexLine<'a> {
        "type" => kind: WireText<'a>,
        "thread_id" => thread_id: WireText<'a>,
        "item" => item: WireObject<CodexItem<'a>>,
        "usage" => usage: WireObject<CodexTokens>,
        "error" => error: WireObject<CodexError<'a>>,
        "message" => message: WireText<'a>,
    }
}

wire_object! {
    struct CodexError<'a> {
        "message" => message: WireText<'a>,
    }
}

wire_object! {
    struct CodexItem<'a> {
        "id" => id: WireText<'a>,
        "type" => kind: WireText<'a>,
        "text" => text: WireText<'a>,
        "message" => message: WireText<'a>,
        "status" => status: WireText<'a>,
        "aggregated_output" => aggregated_output: ToolOutput<'a>,
        "exit_code" => exit_code: WireNumber,
        /// The name of an MCP or collaboration tool.
        "tool" => tool: WireText<'a>,
        "command" => command: Option<&'a RawValue>,
        "changes" => changes: Option<&'a RawValue>,
        "arguments" => arguments: Option<&'a RawValue>,
        "query" => query: Option<&'a RawValue>,
        "prompt" => prompt: Option<&'a RawValue>,
    }
}

impl<'a> CodexItem<'a> {
    fn is_tool(&self) -> bool {
        let kind = self.kind.as_str();
        matches!(kind, "command_execution" | "file_change" | "web_search") || kind.ends_with("_tool_call")
    }

    fn tool_use(&self) -> AgentEvent<'a> {
        let input = [self.command, self.changes, self.arguments, self.query, self.prompt];
        AgentEvent::ToolUse {
            id: self.id.clone().or_empty(),
            name: self.tool.0.clone().unwrap_or_else(|| self.kind.clone().or_empty()),
            input: input.into_iter().flatten().next().map_or("null", RawValue::get),
            parent: None,
        }
    }
}

wire_object! {
    /// Input includes what the cache gave and took.
    struct CodexTokens {
        "input_tokens" => input_tokens: Count,
        "cached_input_tokens" => cached_input_tokens: Count,
        "cache_write_input_tokens" => cache_write_input_tokens: Count,
        "output_tokens" => output_tokens: Count,
    }
}

impl CodexTokens {
    fn usage(&self) -> Usage {
        let (read, written) = (self.cached_input_tokens.or_zero(), self.cache_write_input_tokens.or_zero());
        Usage {
            input_tokens: self.input_tokens.or_zero().saturating_sub(read).saturating_sub(written),
            output_tokens: self.output_tokens.or_zero(),
            cache_read_tokens: read,
            cache_write_tokens: written,
            cost_usd: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::stream::tests::{tell, told};
    use crate::stream::{Agent, Decoder, Usage};

    fn check(lines: &[&str], expected: &[&str]) {
        assert_eq!(told(Agent::Codex, lines), expected);
    }

    #[test]
    fn a_tool_is_told_once_whether_it_started_or_only_completed() {
        check(
            &[
                r#"{"type":"item.started","item":{"id":"i1","type":"command_execution","command":"ls","status":"in_progress"}}"#,
                r#"{"type":"item.updated","item":{"id":"i1","type":"command_execution","aggregated_output":"half"}}"#,
                r#"{"type":"item.completed","item":{"id":"i1","type":"command_execution","command":"ls","aggregated_output":"out","exit_code":2,"status":"completed"}}"#,
                r#"{"type":"item.completed","item":{"id":"i2","type":"file_change","changes":[{"path":"a"}],"status":"completed"}}"#,
                r#"{"type":"item.completed","item":{"id":"i3","type":"mcp_tool_call","server":"s","tool":"signal","arguments":{"v":2},"status":"failed"}}"#,
            ],
            &[
                r#"use i1 command_execution "ls""#,
                "alive",
                "bad i1 out",
                r#"use i2 file_change [{"path":"a"}]"#,
                "ok i2 ",
                r#"use i3 signal {"v":2}"#,
                "bad i3 ",
            ],
        );
    }

    #[test]
    fn only_an_agent_message_is_text() {
        check(
            &[
                r#"{"type":"item.started","item":{"id":"i0","type":"agent_message","text":""}}"#,
                r#"{"type":"item.completed","item":{"id":"i0","type":"agent_message","text":"Hi."}}"#,
                r#"{"type":"item.completed","item":{"id":"i1","type":"reasoning","text":"**hm**"}}"#,
                r#"{"type":"item.completed","item":{"id":"i2","type":"error","message":"metadata not found"}}"#,
                r#"{"type":"item.completed","item":{"id":"i3","type":"todo_list","items":[]}}"#,
                r#"{"type":"item.completed","item":{"id":"i4","type":"hologram"}}"#,
                r#"{"type":"item.completed"}"#,
            ],
            &[
                "alive",
                "text0 Hi.",
                "thinking",
                "notice metadata not found",
                "alive",
                "unknown item/hologram",
                "unknown item/",
            ],
        );
    }

    #[test]
    fn reconnecting_is_a_retry_and_no_failure() {
        check(
            &[
                r#"{"type":"error","message":"Reconnecting... 2/5 (unexpected status 429 Too Many Requests: slow)"}"#,
                r#"{"type":"error","message":"Reconnecting... soon"}"#,
                r#"{"type":"error","message":"unexpected status 401 Unauthorized: no key"}"#,
                r#"{"type":"turn.failed","error":{"message":"no key"}}"#,
            ],
            &[
                "retry 2/Some(5) Some(429) unexpected status 429 Too Many Requests: slow",
                "failure None None None Reconnecting... soon",
                "failure None Some(401) None unexpected status 401 Unauthorized: no key",
                r#"result failed true None ["no key"]"#,
            ],
        );
    }

    #[test]
    fn a_threads_total_is_differenced() {
        let line = r#"{"type":"turn.completed","usage":{"input_tokens":20222,"cached_input_tokens":222,"output_tokens":20,"reasoning_output_tokens":9}}"#;
        let before = Usage { input_tokens: 10_000, output_tokens: 10, ..Usage::default() };
        let decoder = || Decoder::new(Agent::Codex);
        for (decoder, expected) in [
            (decoder(), "settled 20000+20 r222 w0 $?"),
            (decoder().resuming(Some(before)), "settled 10000+10 r222 w0 $?"),
            (decoder().resuming(None), "estimate 20000+20 r222 w0 $?"),
        ] {
            assert_eq!(tell(decoder, &[line]), [expected, "result success false None []"]);
        }
    }
}
