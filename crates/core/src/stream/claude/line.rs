//! The wire type of claude's lines.

use serde::de::{IgnoredAny, MapAccess};
use serde::{Deserialize, Deserializer};

use crate::stream::event::AgentEvent;
use crate::stream::message::{Message, Tokens};
use crate::stream::usage::Usage;
use crate::stream::wire::{Count, Flag, Length, Lenient, Number, Object, Text, Texts, read, wire_object};

wire_object! {
    /// Any line.
    pub(super) struct Line<'a> {
        "type" => kind: Text<'a>,
        "subtype" => subtype: Text<'a>,
        "session_id" => session_id: Text<'a>,

        // assistant, user
        "message" => message: MessageOrText<'a>,
        "parent_tool_use_id" => parent_tool_use_id: Text<'a>,
        "is_api_error_message" => is_api_error_message: Flag,
        "api_error_params" => api_error_params: Object<ErrorParams<'a>>,

        // stream_event
        "event" => event: Object<Partial>,
        "api_message_id" => api_message_id: Text<'a>,

        // result; the API error is told by assistant lines too
        "is_error" => is_error: Flag,
        "result" => result: Text<'a>,
        "errors" => errors: Texts<'a>,
        "num_turns" => num_turns: Count,
        "stop_reason" => stop_reason: Text<'a>,
        "terminal_reason" => terminal_reason: Text<'a>,
        "api_error_status" => api_error_status: Count,
        "api_error" => api_error: Text<'a>,
        "api_error_type" => api_error_type: Text<'a>,
        "permission_denials" => permission_denials: Length,
        "total_cost_usd" => total_cost_usd: Number,
        "usage" => usage: Object<Tokens>,
        "modelUsage" => model_usage: ByModel,
        "model_usage_since_last_result" => model_usage_since_last_result: ByModel,

        // rate_limit_event
        "rate_limit_info" => rate_limit_info: Object<RateLimit<'a>>,

        // system/init
        "cwd" => cwd: Text<'a>,
        "model" => model: Text<'a>,

        // system/api_retry; `error` is told by assistant lines too
        "attempt" => attempt: Count,
        "max_retries" => max_retries: Count,
        "retry_delay_ms" => retry_delay_ms: Count,
        "error_status" => error_status: Count,
        "error" => error: Text<'a>,

        // system/model_*
        "original_model" => original_model: Text<'a>,
        "fallback_model" => fallback_model: Text<'a>,
        "trigger" => trigger: Text<'a>,
        "api_refusal_category" => api_refusal_category: Text<'a>,

        // system/status, compact_boundary
        "status" => status: Text<'a>,
        "compact_result" => compact_result: Text<'a>,
        "compact_metadata" => compact_metadata: Object<Sizes>,

        // system/task_*, permission_denied
        "task_id" => task_id: Text<'a>,
        "task_type" => task_type: Text<'a>,
        "tool_use_id" => tool_use_id: Text<'a>,
        "tool_name" => tool_name: Text<'a>,
        "is_backgrounded" => is_backgrounded: Flag,
        "patch" => patch: Object<Patch<'a>>,
        "tasks" => tasks: Length,

        // system/hook_*
        "hook_name" => hook_name: Text<'a>,
        "hook_event" => hook_event: Text<'a>,
        "outcome" => outcome: Text<'a>,
        "exit_code" => exit_code: Count,

        // system/notification, informational
        "text" => text: Text<'a>,
        "priority" => priority: Text<'a>,
        "content" => content: Text<'a>,
        "level" => level: Text<'a>,
    }
}

wire_object! {
    pub(super) struct ErrorParams<'a> {
        "rate_limit_info" => rate_limit_info: Object<RateLimit<'a>>,
    }
}

wire_object! {
    pub(super) struct RateLimit<'a> {
        "status" => status: Text<'a>,
        "resetsAt" => resets_at: Count,
        "rateLimitType" => kind: Text<'a>,
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
        "usage" => usage: Object<Tokens>,
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
        "status" => status: Text<'a>,
    }
}

/// `message` is an object in assistant and user lines, a sentence in `permission_denied`.
#[derive(Default)]
pub(super) struct MessageOrText<'a> {
    pub(super) message: Option<Message<'a>>,
    pub(super) text: Text<'a>,
}

impl<'de: 'a, 'a> Lenient<'de> for MessageOrText<'a> {
    fn borrowed(text: &'de str) -> Self {
        MessageOrText { message: None, text: Text::borrowed(text) }
    }
    fn copied(text: &str) -> Self {
        MessageOrText { message: None, text: Text::copied(text) }
    }
    fn object<A: MapAccess<'de>>(entries: A) -> Result<Self, A::Error> {
        let Object(message) = Object::object(entries)?;
        Ok(MessageOrText { message, text: Text::default() })
    }
    fn fill<A: MapAccess<'de>>(&mut self, entries: A) -> Result<(), A::Error> {
        self.message.insert(Message::default()).fill(entries)
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
        "costUSD" => cost: Number,
    }
}

impl<'de> Lenient<'de> for ByModel {
    fn object<A: MapAccess<'de>>(mut entries: A) -> Result<Self, A::Error> {
        let mut sum = Usage::FREE;
        while let Some((_, Object(model))) = entries.next_entry::<IgnoredAny, Object<OfModel>>()? {
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
