//! Lines of `opencode run --format json`.
//!
//! There is no line for the end: a step that finishes for another reason than its tools is the end of the turn. Usage is per
//! step; requests that are sent again are not told at all.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::EventSink;
use super::event::{AgentEvent, AgentResult, Text as TextEvent};
use super::message::{Ordinals, ToolOutput};
use super::usage::{Usage, UsageScope};
use super::wire::{Count, WireNumber, WireObject, WireText, wire_object};

#[derive(Debug, Default)]
pub(super) struct Opencode {
    ordinals: Ordinals,
    /// Every line names the session; it is told once.
    session_told: bool,
}

impl Opencode {
    pub(super) fn line(&mut self, line: &str, sink: &mut EventSink<'_>) -> Result<(), serde_json::Error> {
        let line: OpencodeLine<'_> = serde_json::from_str(line)?;
        if let (Some(id), false) = (&line.session_id.0, self.session_told) {
            self.session_told = true;
            sink(AgentEvent::Session { id: id.clone(), model: None, cwd: None });
        }
        let part = line.part.0.unwrap_or_default();
        match line.kind.as_str() {
            "step_start" => sink(AgentEvent::Alive),
            "text" => sink(AgentEvent::Text(TextEvent {
                ordinal: self.ordinals.next(),
                message: part.message_id.0,
                parent: None,
                delta: false,
                text: part.text.or_empty(),
            })),
            "reasoning" => sink(AgentEvent::Thinking { parent: None }),
            "tool_use" => tool(part, sink),
            "step_finish" => step_finished(part, line.session_id.0, sink),
            "error" => sink(error(line.error.0.unwrap_or_default(), line.session_id.0)),
            _ => sink(AgentEvent::Unknown { word: line.kind.or_empty() }),
        }
        Ok(())
    }
}

/// A tool is told once, when it is through.
fn tool(part: OpencodePart<'_>, sink: &mut EventSink<'_>) {
    let state = part.state.0.unwrap_or_default();
    let id = part.call_id.or_empty();
    sink(AgentEvent::ToolUse {
        id: id.clone(),
        name: part.tool.or_empty(),
        input: state.input.map_or("null", RawValue::get),
        parent: None,
    });
    let is_error = state.status.as_str() == "error";
    let content = if is_error { state.error.0 } else { state.output.0 };
    sink(AgentEvent::ToolResult { id, is_error, content, parent: None });
}

fn step_finished<'a>(part: OpencodePart<'a>, session: Option<Cow<'a, str>>, sink: &mut EventSink<'_>) {
    let usage = part.tokens.0.unwrap_or_default().usage(part.cost.0);
    sink(AgentEvent::Usage { scope: UsageScope::Settled, usage });
    let subtype = match part.reason.as_str() {
        // The agent continues after both.
        "tool-calls" | "unknown" => return,
        "stop" => Cow::Borrowed("success"),
        _ => part.reason.clone().or_empty(),
    };
    let stop_reason = part.reason.0;
    sink(AgentEvent::Result(Box::new(AgentResult {
        subtype,
        stop_reason,
        session,
        ..AgentResult::default()
    })));
}

fn error<'a>(error: OpencodeError<'a>, session: Option<Cow<'a, str>>) -> AgentEvent<'a> {
    let data = error.data.0.unwrap_or_default();
    AgentEvent::Result(Box::new(AgentResult {
        subtype: Cow::Borrowed("error"),
        is_error: true,
        errors: Vec::from_iter(data.message.0),
        api_error_status: data.status_code.status(),
        api_error: error.name.0,
        session,
        ..AgentResult::default()
    }))
}

wire_object! {
    struct OpencodeLine<'a> {
        "type" => kind: WireText<'a>,
        "sessionID" => session_id: WireText<'a>,
        "part" => part: WireObject<OpencodePart<'a>>,
        "error" => error: WireObject<OpencodeError<'a>>,
    }
}

wire_object! {
    struct OpencodePart<'a> {
        "messageID" => message_id: WireText<'a>,
        "text" => text: WireText<'a>,
        "tool" => tool: WireText<'a>,
        "callID" => call_id: WireText<'a>,
        "state" => state: WireObject<OpencodeToolState<'a>>,
        "reason" => reason: WireText<'a>,
        "tokens" => tokens: WireObject<OpencodeTokens>,
        "cost" => cost: WireNumber,
    }
}

wire_object! {
    struct OpencodeToolState<'a> {
        "status" => status: WireText<'a>,
        "input" => input: Option<&'a RawValue>,
        "output" => output: ToolOutput<'a>,
        "error" => error: ToolOutput<'a>,
    }
}

wire_object! {
    struct OpencodeError<'a> {
        "name" => name: WireText<'a>,
        "data" => data: WireObject<FailedData<'a>>,
    }
}

wire_object! {
    struct FailedData<'a> {
        "message" => message: WireText<'a>,
        "statusCode" => status_code: Count,
    }
}

wire_object! {
    /// Disjoint counts: input without the cache, output without reasoning.
    struct OpencodeTokens {
        "input" => input: Count,
        "output" => output: Count,
        "reasoning" => reasoning: Count,
        "cache" => cache: WireObject<Cache>,
    }
}

wire_object! {
    struct Cache {
        "read" => read: Count,
        "write" => write: Count,
    }
}

impl OpencodeTokens {
    fn usage(&self, cost_usd: Option<f64>) -> Usage {
        let (read, write) = self.cache.0.as_ref().map_or((0, 0), |c| (c.read.or_zero(), c.write.or_zero()));
        Usage {
            input_tokens: self.input.or_zero(),
            output_tokens: self.output.or_zero().saturating_add(self.reasoning.or_zero()),
            cache_read_tokens: read,
            cache_write_tokens: write,
            cost_usd,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::stream::Agent;
    use crate::stream::tests::told;

    fn check(lines: &[&str], expected: &[&str]) {
        assert_eq!(told(Agent::Opencode, lines), expected);
    }

    #[test]
    fn a_run_with_tools_sums_its_steps_and_ends_at_stop() {
        check(
            &[
                r#"{"type":"step_start","sessionID":"ses","part":{"type":"step-start"}}"#,
                r#"{"type":"reasoning","sessionID":"ses","part":{"text":"hm"}}"#,
                r#"{"type":"tool_use","sessionID":"ses","part":{"tool":"bash","callID":"c1","state":{"status":"completed","input":{"command":"ls"},"output":"out"}}}"#,
                r#"{"type":"tool_use","sessionID":"ses","part":{"tool":"read","callID":"c2","state":{"status":"error","input":{},"error":"no file"}}}"#,
                r#"{"type":"step_finish","sessionID":"ses","part":{"reason":"tool-calls","tokens":{"input":10,"output":2,"reasoning":3,"cache":{"read":4,"write":1}},"cost":0.25}}"#,
                r#"{"type":"text","sessionID":"ses","part":{"text":"Done."}}"#,
                r#"{"type":"step_finish","sessionID":"ses","part":{"reason":"stop","tokens":{"input":5,"output":1},"cost":0.5}}"#,
            ],
            &[
                "session ses None None",
                "alive",
                "thinking",
                r#"use c1 bash {"command":"ls"}"#,
                "ok c1 out",
                "use c2 read {}",
                "bad c2 no file",
                "settled 10+5 r4 w1 $0.2500",
                "text0 Done.",
                "settled 5+1 r0 w0 $0.5000",
                "result success false None []",
            ],
        );
    }

    #[test]
    fn an_error_ends_the_turn_and_a_cut_answer_is_no_success() {
        check(
            &[
                r#"{"type":"error","error":{"name":"APIError","data":{"message":"bad","statusCode":400}}}"#,
                r#"{"type":"step_finish","part":{"reason":"length"}}"#,
                r#"{"type":"error","error":"odd"}"#,
                r#"{"type":"telepathy","part":[]}"#,
            ],
            &[
                r#"result error true None ["bad"]"#,
                "settled 0+0 r0 w0 $?",
                "result length false None []",
                "result error true None []",
                "unknown telepathy",
            ],
        );
    }
}
