//! Lines of `claude --output-format stream-json`, versions 1.0 to 2.1.
//!
//! Everything a line may hold is one flat wire type, because `type` need not be the first key; which fields mean something
//! depends on `type` and `subtype`. With `--include-partial-messages` the pieces are signs of life only: the whole block
//! follows in an `assistant` line.

mod line;

use std::borrow::Cow;

use line::ClaudeLine;

use super::EventSink;
use super::event::{AgentEvent, AgentFailure, AgentResult, CompactionStage};
use super::message::{MessageTokens, Ordinals, WireMessage};
use super::usage::{Before, Usage, UsageScope};
use super::wire::{WireText, read_line, status_after};

#[derive(Debug)]
pub(super) struct Claude {
    before: Before,
    ordinals: Ordinals,
}

impl Claude {
    pub(super) fn new(before: Before) -> Claude {
        Claude { before, ordinals: Ordinals::default() }
    }

    pub(super) fn line(&mut self, text: &str, sink: &mut EventSink<'_>) -> Result<(), serde_json::Error> {
        let mut line = ClaudeLine::default();
        read_line(text, &mut line)?;
        match line.kind.as_str() {
            "assistant" => self.assistant(line, sink),
            "user" => user(line, sink),
            "stream_event" => partial(line, sink),
            "system" => system(line, sink),
            "result" => self.result(line, sink),
            "rate_limit_event" => sink(line.rate_limit_info.0.unwrap_or_default().event()),
            "tool_progress" | "tool_use_summary" | "keep_alive" | "auth_status" | "prompt_suggestion" => {
                sink(AgentEvent::Alive);
            }
            _ => sink(AgentEvent::Unknown { word: line.kind.or_empty() }),
        }
        Ok(())
    }

    fn assistant(&mut self, mut line: ClaudeLine<'_>, sink: &mut EventSink<'_>) {
        let Some(message) = line.message.message.take() else { return sink(AgentEvent::Alive) };
        if message.model.as_str() == "<synthetic>" || line.is_api_error_message.is_set() {
            return sink(failure(line, message));
        }
        if let (Some(id), Some(tokens)) = (&message.id.0, message.usage.0) {
            sink(live(id.clone(), &tokens));
        }
        if message.stop_reason.as_str() == "refusal" {
            sink(AgentEvent::Refusal { model: message.model.0.clone(), category: None });
        }
        message.said(&line.parent_tool_use_id, &mut self.ordinals, sink);
    }

    fn result(&mut self, line: ClaudeLine<'_>, sink: &mut EventSink<'_>) {
        let (scope, usage, session_usage) = self.used(&line);
        sink(AgentEvent::Usage { scope, usage });
        let error = line.result.0.as_deref().filter(|_| line.is_error.is_set());
        let api_error_status = line.api_error_status.status().or_else(|| status_after(API_ERROR, error?));
        sink(AgentEvent::Result(Box::new(AgentResult {
            subtype: line.subtype.or_empty(),
            is_error: line.is_error.is_set(),
            text: line.result.0,
            errors: line.errors.0,
            num_turns: line.num_turns.0,
            stop_reason: line.stop_reason.0,
            terminal_reason: line.terminal_reason.0,
            api_error_status,
            api_error: line.api_error.0,
            api_error_type: line.api_error_type.0,
            permission_denials: line.permission_denials.0.unwrap_or(0),
            session: line.session_id.0,
            session_usage,
        })));
    }

    /// What was used since the last result, and what the session used in all.
    ///
    /// `modelUsage` and `total_cost_usd` are totals of the session, earlier processes included; `usage` is this result's
    /// alone but leaves out sub-agents, side models and, on a budget stop, the last call.
    fn used(&mut self, line: &ClaudeLine<'_>) -> (UsageScope<'static>, Usage, Option<Usage>) {
        let total = line
            .model_usage
            .0
            .map(|usage| Usage { cost_usd: line.total_cost_usd.0.or(usage.cost_usd), ..usage });
        let difference = total.and_then(|total| self.before.advance(total));
        match line.model_usage_since_last_result.0.or(difference) {
            Some(added) => (UsageScope::Settled, added, total),
            // Without the models' totals the result's own count is all there is, with the session's cost if it is told.
            None => {
                let counted = line.usage.0.unwrap_or_default().usage();
                let cost_usd = line.total_cost_usd.0.filter(|_| total.is_none());
                let cost_usd = cost_usd.and_then(|total| self.before.advance_cost(total, &counted));
                (UsageScope::Estimate, Usage { cost_usd, ..counted }, total)
            }
        }
    }
}

fn live<'a>(message: Cow<'a, str>, tokens: &MessageTokens) -> AgentEvent<'a> {
    AgentEvent::Usage { scope: UsageScope::Live { message }, usage: tokens.usage() }
}

/// How an API error begins; older versions tell its status only here, as in `API Error: 400 {…}`.
const API_ERROR: &str = "API Error: ";

/// An API error comes as a synthetic assistant message: a failure, never text.
fn failure<'a>(line: ClaudeLine<'a>, message: WireMessage<'a>) -> AgentEvent<'a> {
    let told = line.api_error_params.0.and_then(|params| params.rate_limit_info.0);
    let message = message.into_text();
    AgentEvent::Failure(Box::new(AgentFailure {
        class: line.error.0,
        status: line.api_error_status.status().or_else(|| status_after(API_ERROR, &message)),
        api_error: line.api_error.0,
        api_error_type: line.api_error_type.0,
        resets_at: told.and_then(|limit| limit.resets_at.0).or_else(|| reset_in_words(&message)),
        message,
        parent: line.parent_tool_use_id.0,
    }))
}

/// Version 1 wrote `Claude AI usage limit reached|1794773725`.
fn reset_in_words(message: &str) -> Option<u64> {
    message.rsplit_once("limit reached|")?.1.trim().parse().ok()
}

fn user(line: ClaudeLine<'_>, sink: &mut EventSink<'_>) {
    match line.message.message {
        Some(message) => message.answered(&line.parent_tool_use_id, sink),
        None => sink(AgentEvent::Alive),
    }
}

fn partial(line: ClaudeLine<'_>, sink: &mut EventSink<'_>) {
    let event = line.event.0.unwrap_or_default();
    match (line.api_message_id.0, event.usage.0) {
        (Some(id), Some(tokens)) => sink(live(id, &tokens)),
        _ => sink(AgentEvent::Alive),
    }
}

fn system(line: ClaudeLine<'_>, sink: &mut EventSink<'_>) {
    sink(match line.subtype.as_str() {
        "init" => {
            AgentEvent::Session { id: line.session_id.or_empty(), model: line.model.0, cwd: line.cwd.0 }
        }
        "api_retry" => AgentEvent::Retry {
            attempt: line.attempt.or_zero(),
            max: line.max_retries.0,
            delay_ms: line.retry_delay_ms.0,
            status: line.error_status.status(),
            class: line.error.or_empty(),
        },
        "model_fallback" => AgentEvent::Fallback {
            from: line.original_model.or_empty(),
            to: line.fallback_model.or_empty(),
            trigger: line.trigger.0,
        },
        "model_refusal_no_fallback" | "model_refusal_fallback" => {
            AgentEvent::Refusal { model: line.original_model.0, category: line.api_refusal_category.0 }
        }
        "permission_denied" => AgentEvent::Denied {
            tool: line.tool_name.or_empty(),
            id: line.tool_use_id.0,
            message: line.message.text.or_empty(),
        },
        "status" | "compact_boundary" => compaction(line),
        "hook_started" | "hook_response" => hook(line),
        "notification" => AgentEvent::Notice { level: line.priority.0, text: line.text.or_empty() },
        "informational" => AgentEvent::Notice { level: line.level.0, text: line.content.or_empty() },
        "thinking_tokens"
        | "ui_invalidate"
        | "hook_progress"
        | "session_state_changed"
        | "files_persisted"
        | "local_command_output"
        | "post_turn_summary" => AgentEvent::Alive,
        subtype if subtype.starts_with("task_") || subtype == "background_tasks_changed" => task(line),
        _ => unknown(&line.subtype),
    });
}

fn compaction(line: ClaudeLine<'_>) -> AgentEvent<'_> {
    let stage = match (line.subtype.as_str(), line.status.as_str(), line.compact_result.as_str()) {
        ("compact_boundary", _, _) => CompactionStage::Done,
        (_, "compacting", _) => CompactionStage::Started,
        (_, _, "" | "success") => return AgentEvent::Alive,
        _ => CompactionStage::Failed,
    };
    let sizes = line.compact_metadata.0.unwrap_or_default();
    AgentEvent::Compaction { stage, pre_tokens: sizes.pre_tokens.0, post_tokens: sizes.post_tokens.0 }
}

fn hook(line: ClaudeLine<'_>) -> AgentEvent<'_> {
    let (name, event) = (line.hook_name.or_empty(), line.hook_event.or_empty());
    match line.subtype.as_str() {
        "hook_started" => AgentEvent::HookStarted { name, event },
        _ => AgentEvent::HookEnded {
            name,
            event,
            outcome: line.outcome.or_empty(),
            exit_code: line.exit_code.0,
        },
    }
}

fn task(line: ClaudeLine<'_>) -> AgentEvent<'_> {
    let patched = line.patch.0.unwrap_or_default().status;
    match (line.subtype.as_str(), patched.as_str()) {
        ("task_started", _) => AgentEvent::TaskStarted {
            id: line.task_id.or_empty(),
            tool: line.tool_use_id.0,
            kind: line.task_type.0,
            background: line.is_backgrounded.is_set(),
        },
        ("task_notification", _) => {
            AgentEvent::TaskEnded { id: line.task_id.or_empty(), status: line.status.or_empty() }
        }
        ("task_updated", "completed" | "failed" | "killed" | "stopped") => {
            AgentEvent::TaskEnded { id: line.task_id.or_empty(), status: patched.or_empty() }
        }
        ("background_tasks_changed", _) => {
            AgentEvent::TasksRunning { count: line.tasks.0.unwrap_or_default() }
        }
        ("task_progress" | "task_updated", _) => AgentEvent::Alive,
        _ => unknown(&line.subtype),
    }
}

fn unknown(subtype: &WireText<'_>) -> AgentEvent<'static> {
    AgentEvent::Unknown { word: format!("system/{}", subtype.as_str()).into() }
}

#[cfg(test)]
mod tests {
    use crate::stream::tests::{tell, told};
    use crate::stream::{Agent, Decoder, Usage};

    fn check(lines: &[&str], expected: &[&str]) {
        assert_eq!(told(Agent::Claude, lines), expected);
    }

    #[test]
    fn each_text_block_is_a_message_of_its_own() {
        check(
            &[
                r#"{"message":{"content":[{"type":"text","text":"a"},{"text":"b","type":"text"}],"id":"m"},"type":"assistant"}"#,
                r#"{"type":"assistant","parent_tool_use_id":"t1","message":{"content":[{"type":"text","text":"c"}]}}"#,
                r#"{"type":"assistant","message":{"content":"d"}}"#,
            ],
            &["text0 a", "text1 b", "text2 c@t1", "text3 d"],
        );
    }

    #[test]
    fn blocks_other_than_text_are_not_text() {
        check(
            &[
                r#"{"type":"assistant","message":{"id":"m","usage":{"input_tokens":5,"output_tokens":1},"content":[
                {"type":"thinking","thinking":"<pilot:completed>"},{"type":"redacted_thinking","data":"x"},
                {"type":"tool_use","id":"t","name":"Bash","input":{ "command": "ls" }},
                {"type":"web_search_tool_result","content":[]},{"type":"hologram"}]}}"#,
            ],
            &[
                "live m 5+1 r0 w0 $?",
                "thinking",
                "thinking",
                r#"use t Bash { "command": "ls" }"#,
                "alive",
                "unknown hologram",
            ],
        );
    }

    #[test]
    fn what_is_said_in_the_users_name_is_never_text() {
        check(
            &[
                r#"{"type":"user","message":{"content":"<pilot:completed>x</pilot:completed>"}}"#,
                r#"{"type":"user","isSynthetic":true,"message":{"content":[{"type":"text","text":"summary"}]}}"#,
                r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"out"}]}}"#,
                r#"{"type":"user","message":7}"#,
            ],
            &["alive", "alive", "ok t out", "alive"],
        );
    }

    #[test]
    fn an_api_error_dressed_as_an_answer_is_a_failure() {
        check(
            &[
                r#"{"type":"assistant","message":{"model":"<synthetic>","content":[{"type":"text","text":"API Error: x"}]}}"#,
                r#"{"type":"assistant","is_api_error_message":true,"error":"rate_limit","api_error_status":429,
                    "message":{"model":"opus","content":[{"type":"text","text":"limit"}]},
                    "api_error_params":{"rate_limit_info":{"resetsAt":1794773725}}}"#,
                r#"{"type":"assistant","message":{"model":"<synthetic>","content":[
                    {"type":"text","text":"Claude AI usage limit reached|1794773725"}]}}"#,
            ],
            &[
                "failure None None None API Error: x",
                r#"failure Some("rate_limit") Some(429) Some(1794773725) limit"#,
                "failure None None Some(1794773725) Claude AI usage limit reached|1794773725",
            ],
        );
    }

    #[test]
    fn tasks_end_by_notification_or_by_patch() {
        check(
            &[
                r#"{"type":"system","subtype":"task_started","task_id":"b","is_backgrounded":true}"#,
                r#"{"type":"system","subtype":"task_updated","task_id":"b","patch":{"is_backgrounded":true}}"#,
                r#"{"type":"system","subtype":"task_updated","task_id":"b","patch":{"status":"killed"}}"#,
                r#"{"type":"system","subtype":"task_notification","task_id":"b","status":"stopped"}"#,
                r#"{"type":"system","subtype":"background_tasks_changed","tasks":[{},{}]}"#,
                r#"{"type":"system","subtype":"task_teleported","task_id":"b"}"#,
            ],
            &[
                "task b true",
                "alive",
                "task b killed",
                "task b stopped",
                "tasks 2",
                "unknown system/task_teleported",
            ],
        );
    }

    #[test]
    fn a_compaction_has_a_begin_and_an_end() {
        check(
            &[
                r#"{"type":"system","subtype":"status","status":"compacting"}"#,
                r#"{"type":"system","subtype":"status","status":null,"compact_result":"success"}"#,
                r#"{"type":"system","subtype":"compact_boundary","compact_metadata":{"pre_tokens":9}}"#,
                r#"{"type":"system","subtype":"status","status":null,"compact_result":"failed"}"#,
                r#"{"type":"system","subtype":"status","status":"requesting"}"#,
            ],
            &["compaction Started", "alive", "compaction Done", "compaction Failed", "alive"],
        );
    }

    const TOTAL: &str = r#"{"type":"result","subtype":"success","total_cost_usd":0.75,
        "usage":{"input_tokens":100,"output_tokens":7},
        "modelUsage":{"opus":{"inputTokens":300,"outputTokens":20,"costUSD":0.5},"haiku":{"inputTokens":50,"costUSD":0.25}}}"#;
    const SINCE: &str = r#"{"type":"result","subtype":"success","total_cost_usd":0.75,"usage":{"input_tokens":1},
        "modelUsage":{"opus":{"inputTokens":350,"outputTokens":20,"costUSD":0.75}},
        "model_usage_since_last_result":{"opus":{"inputTokens":30,"outputTokens":2,"costUSD":0.05}}}"#;

    const COST: &str = r#"{"type":"result","subtype":"success","total_cost_usd":0.5,"usage":{"input_tokens":100,"output_tokens":7}}"#;

    #[test]
    fn usage_is_what_this_run_added() {
        let before = Usage { input_tokens: 200, output_tokens: 10, cost_usd: Some(0.25), ..Usage::default() };
        let decoder = || Decoder::new(Agent::Claude);
        for (decoder, lines, expected) in [
            (decoder(), vec![TOTAL], vec!["settled 350+20 r0 w0 $0.7500"]),
            (decoder().resuming(Some(before)), vec![TOTAL], vec!["settled 150+10 r0 w0 $0.5000"]),
            (decoder().resuming(None), vec![TOTAL], vec!["estimate 100+7 r0 w0 $?"]),
            (decoder().resuming(None), vec![SINCE], vec!["settled 30+2 r0 w0 $0.0500"]),
            // A cost without the models' totals.
            (decoder(), vec![COST], vec!["estimate 100+7 r0 w0 $0.5000"]),
            (decoder().resuming(Some(before)), vec![COST], vec!["estimate 100+7 r0 w0 $0.2500"]),
            (
                decoder().resuming(None),
                vec![COST, COST],
                vec!["estimate 100+7 r0 w0 $?", "estimate 100+7 r0 w0 $?"],
            ),
            (
                decoder(),
                vec![COST, TOTAL],
                vec!["estimate 100+7 r0 w0 $0.5000", "settled 250+13 r0 w0 $0.2500"],
            ),
            // A version that tells totals only, and two results in one process.
            (
                decoder(),
                vec![TOTAL, TOTAL],
                vec!["settled 350+20 r0 w0 $0.7500", "settled 0+0 r0 w0 $0.0000"],
            ),
            (
                decoder().resuming(None),
                vec![SINCE, TOTAL],
                vec!["settled 30+2 r0 w0 $0.0500", "settled 0+0 r0 w0 $0.0000"],
            ),
        ] {
            let mut told = tell(decoder, &lines);
            told.retain(|event| !event.starts_with("result"));
            assert_eq!(told, expected);
        }
    }

    #[test]
    fn pieces_are_signs_of_life_and_tell_the_output_so_far() {
        check(
            &[
                r#"{"type":"stream_event","event":{"type":"content_block_delta","delta":{"text":"<pilot:"}},"api_message_id":"m"}"#,
                r#"{"type":"stream_event","event":{"type":"message_delta","usage":{"input_tokens":9,"output_tokens":66}},"api_message_id":"m"}"#,
                r#"{"type":"system","subtype":"ui_invalidate","event":"ui.render"}"#,
            ],
            &["alive", "live m 9+66 r0 w0 $?", "alive"],
        );
    }

    #[test]
    fn new_words_are_unknown_and_odd_types_lose_only_themselves() {
        check(
            &[
                r#"{"type":"telepathy"}"#,
                r#"{"type":"system","subtype":"telepathy"}"#,
                r#"{"kind":"no type"}"#,
                r#"{"type":"system","subtype":"api_retry","attempt":"two","max_retries":10,"error":{"a":1}}"#,
                r#"{"type":"result","subtype":7,"is_error":"yes","errors":"none","usage":[],"modelUsage":3}"#,
                r#"{"type":"rate_limit_event"}"#,
            ],
            &[
                "unknown telepathy",
                "unknown system/telepathy",
                "unknown ",
                "retry 0/Some(10) None ",
                "estimate 0+0 r0 w0 $?",
                "result  false None []",
                "limit  None None",
            ],
        );
    }
}
