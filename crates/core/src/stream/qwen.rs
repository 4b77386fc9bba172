//! Lines of `qwen --output-format stream-json`: claude's schema with differences of its own.
//!
//! Input counts include the cache, there is no cost, and an API error is an assistant text in brackets.

use super::EventSink;
use super::event::{AgentEvent, AgentFailure, AgentResult};
use super::message::{MessageTokens, Ordinals, WireMessage};
use super::usage::{Usage, UsageScope};
use super::wire::{Count, Flag, Length, WireObject, WireText, status_after, wire_object};

#[derive(Debug, Default)]
pub(super) struct Qwen {
    ordinals: Ordinals,
}

impl Qwen {
    pub(super) fn line(&mut self, line: &str, sink: &mut EventSink<'_>) -> Result<(), serde_json::Error> {
        let line: QwenLine<'_> = serde_json::from_str(line)?;
        match (line.kind.as_str(), line.subtype.as_str()) {
            ("assistant", _) => self.assistant(line, sink),
            ("user", _) => match line.message.0 {
                Some(message) => message.answered(&line.parent_tool_use_id, sink),
                None => sink(AgentEvent::Alive),
            },
            ("stream_event", _) => sink(AgentEvent::Alive),
            ("system", "init") => sink(AgentEvent::Session {
                id: line.session_id.or_empty(),
                model: line.model.0,
                cwd: line.cwd.0,
            }),
            ("result", _) => result(line, sink),
            ("system", subtype) => sink(AgentEvent::Unknown { word: format!("system/{subtype}").into() }),
            _ => sink(AgentEvent::Unknown { word: line.kind.or_empty() }),
        }
        Ok(())
    }

    fn assistant(&mut self, line: QwenLine<'_>, sink: &mut EventSink<'_>) {
        let Some(message) = line.message.0 else { return sink(AgentEvent::Alive) };
        let parent = line.parent_tool_use_id;
        if message.single_text().is_some_and(is_api_error) {
            let message = message.into_text();
            let status = status_after(API_ERROR, &message);
            return sink(AgentEvent::Failure(Box::new(AgentFailure {
                message,
                status,
                parent: parent.0,
                ..AgentFailure::default()
            })));
        }
        if let (Some(id), Some(tokens)) = (&message.id.0, message.usage.0) {
            let scope = UsageScope::Live { message: id.clone() };
            sink(AgentEvent::Usage { scope, usage: usage(&tokens) });
        }
        message.said(&parent, &mut self.ordinals, sink);
    }
}

/// How an API error begins; a status follows, as in `[API Error: 429 …]`.
const API_ERROR: &str = "[API Error: ";

fn is_api_error(text: &str) -> bool {
    text.starts_with(API_ERROR) && text.ends_with(']')
}

fn result(line: QwenLine<'_>, sink: &mut EventSink<'_>) {
    if let Some(tokens) = line.usage.0 {
        sink(AgentEvent::Usage { scope: UsageScope::Settled, usage: usage(&tokens) });
    }
    let error = line.error.0.and_then(|error| error.message.0);
    sink(AgentEvent::Result(Box::new(AgentResult {
        subtype: line.subtype.or_empty(),
        is_error: line.is_error.is_set(),
        text: line.result.0,
        api_error_status: error.as_deref().and_then(|error| status_after(API_ERROR, error)),
        errors: Vec::from_iter(error),
        num_turns: line.num_turns.0,
        permission_denials: line.permission_denials.0.unwrap_or(0),
        session: line.session_id.0,
        ..AgentResult::default()
    })));
}

fn usage(tokens: &MessageTokens) -> Usage {
    let usage = tokens.usage();
    let cached = usage.cache_read_tokens.saturating_add(usage.cache_write_tokens);
    Usage { input_tokens: usage.input_tokens.saturating_sub(cached), ..usage }
}

wire_object! {
    struct QwenLine<'a> {
        "type" => kind: WireText<'a>,
        "subtype" => subtype: WireText<'a>,
        "session_id" => session_id: WireText<'a>,
        "parent_tool_use_id" => parent_tool_use_id: WireText<'a>,
        "message" => message: WireObject<WireMessage<'a>>,
        "model" => model: WireText<'a>,
        "cwd" => cwd: WireText<'a>,
        "is_error" => is_error: Flag,
        "result" => result: WireText<'a>,
        "error" => error: WireObject<QwenError<'a>>,
        "num_turns" => num_turns: Count,
        "permission_denials" => permission_denials: Length,
        "usage" => usage: WireObject<MessageTokens>,
    }
}

wire_object! {
    struct QwenError<'a> {
        "message" => message: WireText<'a>,
    }
}

#[cfg(test)]
mod tests {
    use crate::stream::Agent;
    use crate::stream::tests::told;

    fn check(lines: &[&str], expected: &[&str]) {
        assert_eq!(told(Agent::Qwen, lines), expected);
    }

    #[test]
    fn input_counts_leave_out_the_cache() {
        check(
            &[
                r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"a"}],"usage":{"input_tokens":10,"output_tokens":2,"cache_read_input_tokens":4}}}"#,
                r#"{"type":"result","subtype":"success","is_error":false,"result":"a","usage":{"input_tokens":10,"output_tokens":3,"cache_read_input_tokens":4}}"#,
            ],
            &[
                "live m 6+2 r4 w0 $?",
                "text0 a",
                "settled 6+3 r4 w0 $?",
                r#"result success false Some("a") []"#,
            ],
        );
    }

    #[test]
    fn an_api_error_in_brackets_is_a_failure_and_not_text() {
        check(
            &[
                r#"{"type":"assistant","message":{"content":[{"type":"text","text":"[API Error: 400 malformed]"}]}}"#,
                r#"{"type":"assistant","message":{"content":[{"type":"text","text":"[API Error: 400] is what I saw"}]}}"#,
                r#"{"type":"result","subtype":"error_during_execution","is_error":true,"error":{"message":"[API Error: no]"}}"#,
            ],
            &[
                "failure None Some(400) None [API Error: 400 malformed]",
                "text0 [API Error: 400] is what I saw",
                r#"result error_during_execution true None ["[API Error: no]"]"#,
            ],
        );
    }

    #[test]
    fn the_rest_is_alive_or_unknown() {
        check(
            &[
                r#"{"type":"stream_event","event":{"type":"goal_state"}}"#,
                r#"{"type":"user","message":{"content":[{"type":"text","text":"<pilot:completed>"}]}}"#,
                r#"{"type":"user"}"#,
                r#"{"type":"assistant"}"#,
                r#"{"type":"system","subtype":"telepathy"}"#,
                r#"{"type":"telepathy"}"#,
            ],
            &["alive", "alive", "alive", "alive", "unknown system/telepathy", "unknown telepathy"],
        );
    }
}
