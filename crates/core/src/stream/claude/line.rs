//! The wire type of claude's lines.

use serde::de::{IgnoredAny, MapAccess};
use serde::{Deserialize, Deserializer};

use crate::stream::event::AgentEvent;
use crate::stream::message::{Message, Tokens};
use crate::stream::usage::Usage;
use crate::stream::wire::{Count, Flag, Length, Lenient, Number, Object, Text, Texts, read};

/// Any line.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Line<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) subtype: Text<'a>,
    #[serde(borrow)]
    pub(super) session_id: Text<'a>,

    // assistant, user
    #[serde(borrow)]
    pub(super) message: MessageOrText<'a>,
    #[serde(borrow)]
    pub(super) parent_tool_use_id: Text<'a>,
    pub(super) is_api_error_message: Flag,
    #[serde(borrow)]
    pub(super) api_error_params: Object<ErrorParams<'a>>,

    // stream_event
    pub(super) event: Object<Partial>,
    #[serde(borrow)]
    pub(super) api_message_id: Text<'a>,

    // result; the API error is told by assistant lines too
    pub(super) is_error: Flag,
    #[serde(borrow)]
    pub(super) result: Text<'a>,
    #[serde(borrow)]
    pub(super) errors: Texts<'a>,
    pub(super) num_turns: Count,
    #[serde(borrow)]
    pub(super) stop_reason: Text<'a>,
    #[serde(borrow)]
    pub(super) terminal_reason: Text<'a>,
    pub(super) api_error_status: Count,
    #[serde(borrow)]
    pub(super) api_error: Text<'a>,
    #[serde(borrow)]
    pub(super) api_error_type: Text<'a>,
    pub(super) permission_denials: Length,
    pub(super) total_cost_usd: Number,
    pub(super) usage: Object<Tokens>,
    #[serde(rename = "modelUsage")]
    pub(super) model_usage: ByModel,
    pub(super) model_usage_since_last_result: ByModel,

    // rate_limit_event
    #[serde(borrow)]
    pub(super) rate_limit_info: Object<RateLimit<'a>>,

    // system/init
    #[serde(borrow)]
    pub(super) cwd: Text<'a>,
    #[serde(borrow)]
    pub(super) model: Text<'a>,

    // system/api_retry; `error` is told by assistant lines too
    pub(super) attempt: Count,
    pub(super) max_retries: Count,
    pub(super) retry_delay_ms: Count,
    pub(super) error_status: Count,
    #[serde(borrow)]
    pub(super) error: Text<'a>,

    // system/model_*
    #[serde(borrow)]
    pub(super) original_model: Text<'a>,
    #[serde(borrow)]
    pub(super) fallback_model: Text<'a>,
    #[serde(borrow)]
    pub(super) trigger: Text<'a>,
    #[serde(borrow)]
    pub(super) api_refusal_category: Text<'a>,

    // system/status, compact_boundary
    #[serde(borrow)]
    pub(super) status: Text<'a>,
    #[serde(borrow)]
    pub(super) compact_result: Text<'a>,
    pub(super) compact_metadata: Object<Sizes>,

    // system/task_*, permission_denied
    #[serde(borrow)]
    pub(super) task_id: Text<'a>,
    #[serde(borrow)]
    pub(super) task_type: Text<'a>,
    #[serde(borrow)]
    pub(super) tool_use_id: Text<'a>,
    #[serde(borrow)]
    pub(super) tool_name: Text<'a>,
    pub(super) is_backgrounded: Flag,
    #[serde(borrow)]
    pub(super) patch: Object<Patch<'a>>,
    pub(super) tasks: Length,

    // system/hook_*
    #[serde(borrow)]
    pub(super) hook_name: Text<'a>,
    #[serde(borrow)]
    pub(super) hook_event: Text<'a>,
    #[serde(borrow)]
    pub(super) outcome: Text<'a>,
    pub(super) exit_code: Count,

    // system/notification, informational
    #[serde(borrow)]
    pub(super) text: Text<'a>,
    #[serde(borrow)]
    pub(super) priority: Text<'a>,
    #[serde(borrow)]
    pub(super) content: Text<'a>,
    #[serde(borrow)]
    pub(super) level: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ErrorParams<'a> {
    #[serde(borrow)]
    pub(super) rate_limit_info: Object<RateLimit<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct RateLimit<'a> {
    #[serde(borrow)]
    pub(super) status: Text<'a>,
    #[serde(rename = "resetsAt")]
    pub(super) resets_at: Count,
    #[serde(rename = "rateLimitType", borrow)]
    pub(super) kind: Text<'a>,
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

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Partial {
    /// In `message_delta`: the counts so far, the output right for once.
    pub(super) usage: Object<Tokens>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Sizes {
    pub(super) pre_tokens: Count,
    pub(super) post_tokens: Count,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Patch<'a> {
    #[serde(borrow)]
    pub(super) status: Text<'a>,
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
}

impl<'de: 'a, 'a> Deserialize<'de> for MessageOrText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

/// Usage by model, summed: `None` when the field is absent, nothing used when it is empty.
#[derive(Clone, Copy, Default)]
pub(super) struct ByModel(pub(super) Option<Usage>);

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct OfModel {
    pub(super) input_tokens: Count,
    pub(super) output_tokens: Count,
    pub(super) cache_read_input_tokens: Count,
    pub(super) cache_creation_input_tokens: Count,
    #[serde(rename = "costUSD")]
    pub(super) cost: Number,
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
