//! Lines of `gemini --output-format stream-json`.
//!
//! The model's text comes only in pieces; a message ends where something else begins. The prompt is echoed as a message of
//! the user and is never text. A shell command that failed is still called a success.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::EventSink;
use super::event::{AgentEvent, AgentFailure, AgentResult, Text as TextEvent};
use super::message::{Ordinals, ToolOutput};
use super::usage::{Usage, UsageScope};
use super::wire::{Count, Flag, WireObject, WireText, wire_object};

#[derive(Debug, Default)]
pub(super) struct Gemini {
    ordinals: Ordinals,
    open: Option<u64>,
    session: Option<String>,
}

impl Gemini {
    pub(super) fn line(&mut self, line: &str, sink: &mut EventSink<'_>) -> Result<(), serde_json::Error> {
        let line: GeminiLine<'_> = serde_json::from_str(line)?;
        if line.kind.as_str() == "message" && line.role.as_str() == "assistant" {
            self.said(line, sink);
            return Ok(());
        }
        self.finish(sink);
        sink(match line.kind.as_str() {
            "init" => {
                self.session = line.session_id.0.as_deref().map(str::to_owned);
                AgentEvent::Session { id: line.session_id.or_empty(), model: line.model.0, cwd: None }
            }
            "message" => AgentEvent::Alive,
            "tool_use" => AgentEvent::ToolUse {
                id: line.tool_id.or_empty(),
                name: line.tool_name.or_empty(),
                input: line.parameters.map_or("null", RawValue::get),
                parent: None,
            },
            "tool_result" => tool_result(line),
            "error" => error(line),
            "result" => return self.result(line, sink),
            _ => AgentEvent::Unknown { word: line.kind.or_empty() },
        });
        Ok(())
    }

    /// Ends the message that is coming in.
    pub(super) fn finish(&mut self, sink: &mut EventSink<'_>) {
        if let Some(ordinal) = self.open.take() {
            sink(AgentEvent::MessageEnd { ordinal });
        }
    }

    fn said(&mut self, line: GeminiLine<'_>, sink: &mut EventSink<'_>) {
        let delta = line.delta.is_set();
        if !delta {
            self.finish(sink);
        }
        let ordinal = self.open.take().unwrap_or_else(|| self.ordinals.next());
        self.open = delta.then_some(ordinal);
        let text = line.content.or_empty();
        sink(AgentEvent::Text(TextEvent { ordinal, message: None, parent: None, delta, text }));
    }

    fn result(&self, line: GeminiLine<'_>, sink: &mut EventSink<'_>) -> Result<(), serde_json::Error> {
        if let Some(stats) = line.stats.0 {
            sink(AgentEvent::Usage { scope: UsageScope::Settled, usage: stats.usage() });
        }
        let error = line.error.0;
        sink(AgentEvent::Result(Box::new(AgentResult {
            is_error: line.status.as_str() != "success",
            subtype: line.status.or_empty(),
            errors: error.into_iter().filter_map(|error| error.message.0).collect(),
            session: self.session.clone().map(Cow::Owned),
            ..AgentResult::default()
        })));
        Ok(())
    }
}

fn tool_result(line: GeminiLine<'_>) -> AgentEvent<'_> {
    let is_error = line.status.as_str() == "error";
    let told = line.error.0.and_then(|error| error.message.0);
    AgentEvent::ToolResult {
        id: line.tool_id.or_empty(),
        is_error,
        content: if line.output.0.is_empty() { told.unwrap_or_default() } else { line.output.0 },
        parent: None,
    }
}

fn error(line: GeminiLine<'_>) -> AgentEvent<'_> {
    let text = line.message.or_empty();
    match line.severity.as_str() {
        "error" => AgentEvent::Failure(Box::new(AgentFailure { message: text, ..AgentFailure::default() })),
        _ => AgentEvent::Notice { level: line.severity.0, text },
    }
}

wire_object! {
    struct GeminiLine<'a> {
        "type" => kind: WireText<'a>,
        "session_id" => session_id: WireText<'a>,
        "model" => model: WireText<'a>,
        "role" => role: WireText<'a>,
        "content" => content: WireText<'a>,
        "delta" => delta: Flag,
        "tool_id" => tool_id: WireText<'a>,
        "tool_name" => tool_name: WireText<'a>,
        "parameters" => parameters: Option<&'a RawValue>,
        "status" => status: WireText<'a>,
        "output" => output: ToolOutput<'a>,
        "error" => error: WireObject<GeminiError<'a>>,
        "stats" => stats: WireObject<Stats>,
        "severity" => severity: WireText<'a>,
        "message" => message: WireText<'a>,
    }
}

wire_object! {
    struct GeminiError<'a> {
        "message" => message: WireText<'a>,
    }
}

wire_object! {
    /// Input includes what the cache gave; only the total includes thinking.
    struct Stats {
        "total_tokens" => total_tokens: Count,
        "input_tokens" => input_tokens: Count,
        "output_tokens" => output_tokens: Count,
        "cached" => cached: Count,
    }
}

impl Stats {
    fn usage(&self) -> Usage {
        let input = self.input_tokens.or_zero();
        Usage {
            input_tokens: input.saturating_sub(self.cached.or_zero()),
            output_tokens: self
                .output_tokens
                .or_zero()
                .max(self.total_tokens.or_zero().saturating_sub(input)),
            cache_read_tokens: self.cached.or_zero(),
            cache_write_tokens: 0,
            cost_usd: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::stream::Agent;
    use crate::stream::tests::told;

    fn check(lines: &[&str], expected: &[&str]) {
        assert_eq!(told(Agent::Gemini, lines), expected);
    }

    #[test]
    fn pieces_belong_together_until_something_else_comes() {
        check(
            &[
                r#"{"type":"message","role":"assistant","content":"<pilot:comp","delta":true}"#,
                "not a line of the protocol",
                r#"{"type":"message","role":"assistant","content":"leted>","delta":true}"#,
                r#"{"type":"tool_use","tool_name":"ls","tool_id":"t","parameters":{}}"#,
                r#"{"type":"message","role":"assistant","content":"whole"}"#,
                r#"{"type":"message","role":"assistant","content":"a","delta":true}"#,
                r#"{"type":"message","role":"assistant","content":"whole again"}"#,
                r#"{"type":"message","role":"assistant","content":"last","delta":true}"#,
            ],
            &[
                "text+0 <pilot:comp",
                "undecodable NotAnObject 26",
                "text+0 leted>",
                "end 0",
                "use t ls {}",
                "text1 whole",
                "text+2 a",
                "end 2",
                "text3 whole again",
                "text+4 last",
                "end 4",
            ],
        );
    }

    #[test]
    fn the_echoed_prompt_is_never_text() {
        let echo = r#"{"type":"message","role":"user","content":"<pilot:completed>x</pilot:completed>"}"#;
        check(&[echo, r#"{"type":"message","content":"whose?"}"#], &["alive", "alive"]);
    }

    #[test]
    fn tools_errors_and_stats_are_told() {
        check(
            &[
                r#"{"type":"tool_result","tool_id":"t","status":"success","output":"out"}"#,
                r#"{"type":"tool_result","tool_id":"t","status":"error","output":"","error":{"type":"x","message":"no"}}"#,
                r#"{"type":"error","severity":"warning","message":"loop"}"#,
                r#"{"type":"error","severity":"error","message":"max turns"}"#,
                r#"{"type":"result","status":"success","stats":{"total_tokens":140,"input_tokens":100,"output_tokens":25,"cached":30}}"#,
                r#"{"type":"result"}"#,
                r#"{"type":"telepathy"}"#,
            ],
            &[
                "ok t out",
                "bad t no",
                "notice loop",
                "failure None None None max turns",
                "settled 70+40 r30 w0 $?",
                "result success false None []",
                "result  true None []",
                "unknown telepathy",
            ],
        );
    }
}
