//! Which agent printed a line.

use super::Agent;
use super::wire::{WireNumber, WireText, wire_object};

/// The agent whose output this line begins, or nothing when the line does not tell.
///
/// An `assistant` or `user` line could be claude's or qwen's; both begin their output with a line that tells, so claude's is
/// assumed for a line from the middle.
pub fn detect(line: &[u8]) -> Option<Agent> {
    let line: Probe<'_> = serde_json::from_slice(line).ok()?;
    let kind = line.kind.as_str();
    if line.opencode_session.0.is_some() {
        return Some(Agent::Opencode);
    }
    match kind {
        "system" if line.qwen_code_version.0.is_some() => Some(Agent::Qwen),
        "system" | "rate_limit_event" | "stream_event" | "assistant" | "user" => Some(Agent::Claude),
        "result" if line.status.0.is_some() => Some(Agent::Gemini),
        "result" if line.total_cost_usd.0.is_some() => Some(Agent::Claude),
        "result" if line.subtype.0.is_some() => Some(Agent::Qwen),
        "init" => Some(Agent::Gemini),
        "message" if line.role.0.is_some() => Some(Agent::Gemini),
        "tool_use" | "tool_result" if line.tool_id.0.is_some() => Some(Agent::Gemini),
        "error" if line.severity.0.is_some() => Some(Agent::Gemini),
        "error" if line.message.0.is_some() => Some(Agent::Codex),
        _ if ["thread.", "turn.", "item."].iter().any(|begin| kind.starts_with(begin)) => Some(Agent::Codex),
        _ => None,
    }
}

wire_object! {
    struct Probe<'a> {
        "type" => kind: WireText<'a>,
        "subtype" => subtype: WireText<'a>,
        "sessionID" => opencode_session: WireText<'a>,
        "qwen_code_version" => qwen_code_version: WireText<'a>,
        "total_cost_usd" => total_cost_usd: WireNumber,
        "status" => status: WireText<'a>,
        "role" => role: WireText<'a>,
        "tool_id" => tool_id: WireText<'a>,
        "severity" => severity: WireText<'a>,
        "message" => message: WireText<'a>,
    }
}

#[cfg(test)]
mod tests {
    use super::{Agent, detect};

    #[test]
    fn the_first_line_tells_the_agent() {
        for (line, agent) in [
            (
                r#"{"type":"system","subtype":"init","cwd":"/r","claude_code_version":"2"}"#,
                Some(Agent::Claude),
            ),
            (r#"{"type":"system","subtype":"hook_started"}"#, Some(Agent::Claude)),
            (r#"{"subtype":"init","qwen_code_version":"0.24.4","type":"system"}"#, Some(Agent::Qwen)),
            (r#"{"subtype":"success","total_cost_usd":0,"type":"result"}"#, Some(Agent::Claude)),
            (r#"{"type":"result","subtype":"error_during_execution"}"#, Some(Agent::Qwen)),
            (r#"{"type":"result","status":"error","stats":{}}"#, Some(Agent::Gemini)),
            (r#"{"type":"init","session_id":"s","model":"m"}"#, Some(Agent::Gemini)),
            (r#"{"type":"error","severity":"warning","message":"m"}"#, Some(Agent::Gemini)),
            (r#"{"type":"error","message":"m"}"#, Some(Agent::Codex)),
            (r#"{"type":"thread.started","thread_id":"t"}"#, Some(Agent::Codex)),
            (r#"{"type":"error","sessionID":"ses","error":{}}"#, Some(Agent::Opencode)),
            (r#"{"type":"text","sessionID":"ses","part":{}}"#, Some(Agent::Opencode)),
            (r#"{"type":"banner"}"#, None),
            (r#"{"type":7}"#, None),
            ("[]", None),
            ("Reading prompt…", None),
            ("", None),
        ] {
            assert_eq!(detect(line.as_bytes()), agent, "{line}");
        }
    }
}
