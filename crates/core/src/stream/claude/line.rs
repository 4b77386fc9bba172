//! The wire type of claude's lines.

use serde::de::{IgnoredAny, MapAccess};
use serde::{Deserialize, Deserializer};

use crate::stream::event::AgentEvent;
use crate::stream::message::{MessageTokens, WireMessage};
use crate::stream::usage::Usage;
use crate::stream::wire::{
    Count, Flag, Length, Lenient, Texts, WireNumber, WireObject, WireText, read, wire_object,
};

wire_object! {
    pub(super) struct ClaudeLine<'a> {
        "type" => kind: WireText<'a>,
        "subtype" => subtype: WireText<'a>,
        "session_id" => session_id: WireText<'a>,

        // assistant, user
        "message" => message: MessageOrText<'a>,
        "parent_tool_use_id" => parent_tool_use_id: WireText<'a>,
        "is_api_error_message" => is_api_error_message: Flag,
        "api_error_params" => api_error_params: WireObject<ErrorParams<'a>>,

        // stream_event
        "event" => event: WireObject<Partial>,
        "api_message_id" => api_message_id: WireText<'a>,

        // result; the API error is told by assistant lines too
        "is_error" => is_error: Flag,
        "result" => result: WireText<'a>,
        "errors" => errors: Texts<'a>,
        "num_turns" => num_turns: Count,
        "stop_reason" => stop_reason: WireText<'a>,
        "terminal_reason" => terminal_reason: WireText<'a>,
        "api_error_status" => api_error_status: Count,
        "api_error" => api_error: WireText<'a>,
        "api_error_type" => api_error_type: WireText<'a>,
        "permission_denials" => permission_denials: Length,
        "total_cost_usd" => total_cost_usd: WireNumber,
        "usage" => usage: WireObject<MessageTokens>,
        "modelUsage" => model_usage: ByModel,
        "model_usage_since_last_result" => model_usage_since_last_result: ByModel,

        // rate_limit_event
        "rate_limit_info" => rate_limit_info: WireObject<RateLimit<'a>>,

        // system/init
        "cwd" => cwd: WireText<'a>,
        "model" => model: WireText<'a>,

        // system/api_retry; `error` is told by assistant lines too
        "attempt" => attempt: Count,
        "max_retries" => max_retries: Count,
        "retry_delay_ms" => retry_delay_ms: Count,
        "error_status" => error_status: Count,
        "error" => error: WireText<'a>,

        // system/model_*
        "original_model" => original_model: WireText<'a>,
        "fallback_model" => fallback_model: WireText<'a>,
        "trigger" => trigger: WireText<'a>,
        "api_refusal_category" => api_refusal_category: WireText<'a>,

        // system/status, compact_boundary
        "status" => status: WireText<'a>,
        "compact_result" => compact_result: WireText<'a>,
        "compact_metadata" => compact_metadata: WireObject<Sizes>,

        // system/task_*, permission_denied
        "task_id" => task_id: WireText<'a>,
        "task_type" => task_type: WireText<'a>,
        "tool_use_id" => tool_use_id: WireText<'a>,
        "tool_name" => tool_name: WireText<'a>,
        "is_backgrounded" => is_backgrounded: Flag,
        "patch" => patch: WireObject<Patch<'a>>,
        "tasks" => tasks: Length,

        // system/hook_*
        "hook_name" => hook_name: WireText<'a>,
        "hook_event" => hook_event: WireText<'a>,
        "outcome" => outcome: WireText<'a>,
        "exit_code" => exit_code: Count,

        // system/notification, informational
        "text" => text: WireText<'a>,
        "priority" => priority: WireText<'a>,
        "content" => content: WireText<'a>,
        "level" => level: WireText<'a>,
    }
}

wire_object! {
    pub(super) struct ErrorParams<'a> {
        "rate_limit_info" => rate_limit_info: WireObject<RateLimit<'a>>,
    }
}

wire_object! {
    pub(super) struct RateLimit<'a> {
        "status" => status: WireText<'a>,
        "resetsAt" => resets_at: Count,
        "rateLimitType" => kind: WireText<'a>,
    }
}

impl<'a> RateLimit<'a> {
    pub(super) fn event(self) -> AgentEvent<'a> {
        AgentEvent::RateLimit {
            status: self.status.or_empty(),
            resets_at: self.resets_at.0,
            kind: self.kind.0,
        }
    }
}

wire_object! {
    pub(super) struct Partial {
        /// In `message_delta`: the counts so far, the output right for once.
        "usage" => usage: WireObject<MessageTokens>,
    }
}

wire_object! {
    pub(super) struct Sizes {
        "pre_tokens" => pre_tokens: Count,
        "post_tokens" => post_tokens: Count,
    }
}

wire_object! {
    pub(super) struct Patch<'a> {
        "status" => status: WireText<'a>,
    }
}

/// `message` is an object in assistant and user lines, a sentence in `permission_denied`.
#[derive(Default)]
pub(super) struct MessageOrText<'a> {
    pub(super) message: Option<WireMessage<'a>>,
    pub(super) text: WireText<'a>,
}

impl<'de: 'a, 'a> Lenient<'de> for MessageOrText<'a> {
    fn borrowed(text: &'de str) -> Self {
        MessageOrText { message: None, text: WireText::borrowed(text) }
    }
    fn copied(text: &str) -> Self {
        MessageOrText { message: None, text: WireText::copied(text) }
    }
    fn object<A: MapAccess<'de>>(entries: A) -> Result<Self, A::Error> {
        let WireObject(message) = WireObject::object(entries)?;
        Ok(MessageOrText { message, text: WireText::default() })
    }
    fn fill<A: MapAccess<'de>>(&mut self, entries: A) -> Result<(), A::Error> {
        self.message.insert(WireMessage::default()).fill(entries)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for MessageOrText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

/// Usage by model, summed: `None` when the field is absent, nothing used when it is empty.
#[derive(Clone, Copy, Default)]
pub(super) struct ByModel(pub(super) Option<Usage>);

wire_object! {
    pub(super) struct OfModel {
        "inputTokens" => input_tokens: Count,
        "outputTokens" => output_tokens: Count,
        "cacheReadInputTokens" => cache_read_input_tokens: Count,
        "cacheCreationInputTokens" => cache_creation_input_tokens: Count,
        "costUSD" => cost: WireNumber,
    }
}

impl<'de> Lenient<'de> for ByModel {
    fn object<A: MapAccess<'de>>(mut entries: A) -> Result<Self, A::Error> {
        let mut sum = Usage::FREE;
        while let Some((_, WireObject(model))) = entries.next_entry::<IgnoredAny, WireObject<OfModel>>()? {
            let model = model.unwrap_or_default();
            sum = sum.plus(&Usage {
                input_tokens: model.input_tokens.or_zero(),
                output_tokens: model.output_tokens.or_zero(),
                cache_read_tokens: model.cache_read_input_tokens.or_zero(),
                cache_write_tokens: model.cache_creation_input_tokens.or_zero(),
                cost_usd: model.cost.0,
            });
        }
        Ok(ByModel(Some(sum)))
    }
}

impl<'de> Deserialize<'de> for ByModel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}
