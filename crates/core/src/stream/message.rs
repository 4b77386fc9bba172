//! The message schema that claude and qwen share: an answer or a tool's answer, in content blocks.
//!
//! Wire types and their conversion to events; what surrounds a message is each agent's own.

use std::borrow::Cow;

use serde::de::{MapAccess, SeqAccess};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::EventSink;
use super::event::{AgentEvent, TOOL_RESULT_LIMIT, Text as TextEvent};
use super::usage::Usage;
use super::wire::{Count, FieldSeed, Flag, Lenient, WireObject, WireText, read, wire_object};
use crate::text::truncate;

wire_object! {
    /// A message of the model or, in its name, of the tools.
    #[derive(Debug)]
    pub(super) struct WireMessage<'a> {
        "id" => id: WireText<'a>,
        "model" => model: WireText<'a>,
        "stop_reason" => stop_reason: WireText<'a>,
        "content" => content: Blocks<'a>,
        "usage" => usage: WireObject<MessageTokens>,
    }
}

#[derive(Debug, Default)]
pub(super) struct Blocks<'a> {
    first: Option<MessageBlock<'a>>,
    rest: Vec<MessageBlock<'a>>,
}

wire_object! {
    /// One block; which fields it has depends on its kind.
    #[derive(Debug)]
    pub(super) struct MessageBlock<'a> {
        "type" => kind: WireText<'a>,
        "text" => text: WireText<'a>,
        "id" => id: WireText<'a>,
        "name" => name: WireText<'a>,
        "input" => input: Option<&'a RawValue>,
        "tool_use_id" => tool_use_id: WireText<'a>,
        "content" => content: ToolOutput<'a>,
        "is_error" => is_error: Flag,
    }
}

wire_object! {
    /// Token counts as the Messages API names them; input does not include the cache.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct MessageTokens {
        "input_tokens" => input_tokens: Count,
        "output_tokens" => output_tokens: Count,
        "cache_read_input_tokens" => cache_read_input_tokens: Count,
        "cache_creation_input_tokens" => cache_creation_input_tokens: Count,
    }
}

impl MessageTokens {
    pub(super) fn usage(&self) -> Usage {
        Usage {
            input_tokens: self.input_tokens.or_zero(),
            output_tokens: self.output_tokens.or_zero(),
            cache_read_tokens: self.cache_read_input_tokens.or_zero(),
            cache_write_tokens: self.cache_creation_input_tokens.or_zero(),
            cost_usd: None,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Ordinals(u64);

impl Ordinals {
    pub(super) fn next(&mut self) -> u64 {
        self.0 += 1;
        self.0 - 1
    }
}

impl<'a> WireMessage<'a> {
    /// The message as the model's own words and calls.
    pub(super) fn said(self, parent: &WireText<'a>, ordinals: &mut Ordinals, sink: &mut EventSink<'_>) {
        let WireMessage { id, content, .. } = self;
        if content.first.is_none() {
            sink(AgentEvent::Alive);
        }
        for block in content {
            sink(block.said(&id, parent, ordinals));
        }
    }

    /// The message as what the tools answered; anything else in it is not for us.
    pub(super) fn answered(self, parent: &WireText<'a>, sink: &mut EventSink<'_>) {
        let mut answers = 0;
        for block in self.content {
            if block.kind.as_str() == "tool_result" {
                answers += 1;
                sink(AgentEvent::ToolResult {
                    id: block.tool_use_id.or_empty(),
                    is_error: block.is_error.is_set(),
                    content: block.content.0,
                    parent: parent.0.clone(),
                });
            }
        }
        if answers == 0 {
            sink(AgentEvent::Alive);
        }
    }

    /// The texts of the message as one, for error messages that come disguised as answers.
    pub(super) fn into_text(self) -> Cow<'a, str> {
        let mut whole = Cow::Borrowed("");
        for block in self.content {
            whole += block.text.or_empty();
        }
        whole
    }

    /// The only text of the message.
    pub(super) fn single_text(&self) -> Option<&str> {
        self.content.first.as_ref().filter(|_| self.content.rest.is_empty())?.text.0.as_deref()
    }
}

impl<'a> MessageBlock<'a> {
    fn said(self, message: &WireText<'a>, parent: &WireText<'a>, ordinals: &mut Ordinals) -> AgentEvent<'a> {
        match self.kind.as_str() {
            "text" => AgentEvent::Text(TextEvent {
                ordinal: ordinals.next(),
                message: message.0.clone(),
                parent: parent.0.clone(),
                delta: false,
                text: self.text.or_empty(),
            }),
            "thinking" | "redacted_thinking" => AgentEvent::Thinking { parent: parent.0.clone() },
            "tool_use" | "server_tool_use" | "mcp_tool_use" => AgentEvent::ToolUse {
                id: self.id.or_empty(),
                name: self.name.or_empty(),
                input: self.input.map_or("null", RawValue::get),
                parent: parent.0.clone(),
            },
            // What the API's own tools answered, inside the model's message.
            kind if kind.ends_with("_tool_result") => AgentEvent::Alive,
            _ => AgentEvent::Unknown { word: self.kind.or_empty() },
        }
    }
}

impl<'a> IntoIterator for Blocks<'a> {
    type Item = MessageBlock<'a>;
    type IntoIter =
        std::iter::Chain<std::option::IntoIter<MessageBlock<'a>>, std::vec::IntoIter<MessageBlock<'a>>>;

    fn into_iter(self) -> Self::IntoIter {
        self.first.into_iter().chain(self.rest)
    }
}

impl<'de: 'a, 'a> Lenient<'de> for Blocks<'a> {
    fn borrowed(text: &'de str) -> Self {
        Blocks::of_text(WireText::borrowed(text))
    }
    fn copied(text: &str) -> Self {
        Blocks::of_text(WireText::copied(text))
    }
    fn list<A: SeqAccess<'de>>(mut items: A) -> Result<Self, A::Error> {
        let (mut blocks, mut block) = (Blocks::default(), WireObject::default());
        while items.next_element_seed(FieldSeed(&mut block))?.is_some() {
            if blocks.first.is_none() {
                blocks.first = block.0.take();
            } else {
                blocks.rest.extend(block.0.take());
            }
        }
        Ok(blocks)
    }
}

impl<'a> Blocks<'a> {
    fn of_text(text: WireText<'a>) -> Blocks<'a> {
        let kind = WireText(Some(Cow::Borrowed("text")));
        Blocks { first: Some(MessageBlock { kind, text, ..MessageBlock::default() }), rest: Vec::new() }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Blocks<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

/// What a tool printed: a string, or a list of blocks with texts in them. Only its begin is kept.
#[derive(Debug, Default)]
pub(super) struct ToolOutput<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Lenient<'de> for ToolOutput<'a> {
    fn borrowed(text: &'de str) -> Self {
        ToolOutput(Cow::Borrowed(truncate(text, TOOL_RESULT_LIMIT)))
    }
    fn copied(text: &str) -> Self {
        ToolOutput(Cow::Owned(truncate(text, TOOL_RESULT_LIMIT).to_owned()))
    }
    fn list<A: SeqAccess<'de>>(mut items: A) -> Result<Self, A::Error> {
        let mut whole = ToolOutput::default();
        while let Some(part) = items.next_element::<ToolOutput<'a>>()? {
            whole.append(part.0);
        }
        Ok(whole)
    }
    fn object<A: MapAccess<'de>>(mut entries: A) -> Result<Self, A::Error> {
        let mut text = ToolOutput::default();
        while let Some(key) = entries.next_key::<WireText<'a>>()? {
            match key.as_str() {
                "text" => text = entries.next_value()?,
                _ => drop(entries.next_value::<serde::de::IgnoredAny>()?),
            }
        }
        Ok(text)
    }
}

impl<'a> ToolOutput<'a> {
    fn append(&mut self, part: Cow<'a, str>) {
        if self.0.is_empty() {
            self.0 = part;
        } else if !part.is_empty() && self.0.len() < TOOL_RESULT_LIMIT {
            let whole = self.0.to_mut();
            whole.push('\n');
            whole.push_str(truncate(&part, TOOL_RESULT_LIMIT - whole.len()));
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for ToolOutput<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::{TOOL_RESULT_LIMIT, ToolOutput, WireMessage};

    fn output(json: &str) -> String {
        serde_json::from_str::<ToolOutput<'_>>(json).unwrap().0.into_owned()
    }

    #[test]
    fn a_tools_output_is_read_in_any_shape() {
        for (json, text) in [
            (r#""plain""#, "plain"),
            (r#""esc\naped""#, "esc\naped"),
            (r#"[{"type":"text","text":"a"},{"type":"image","source":{"data":"…"}},{"text":"b"}]"#, "a\nb"),
            (r#"["a","b"]"#, "a\nb"),
            ("[]", ""),
            ("null", ""),
            ("7", ""),
            (r#"{"text":["deep"]}"#, "deep"),
        ] {
            assert_eq!(output(json), text, "{json}");
        }
    }

    #[test]
    fn a_tools_output_is_cut_at_a_character_border() {
        let long = "é".repeat(TOOL_RESULT_LIMIT);
        assert_eq!(output(&format!("\"{long}\"")).len(), TOOL_RESULT_LIMIT);
        assert_eq!(output(&format!("\"x{long}\"")).len(), TOOL_RESULT_LIMIT - 1);
        assert_eq!(output(&format!("[\"\\n\",\"{long}\"]")).len(), TOOL_RESULT_LIMIT);
        assert_eq!(output(&format!("[\"{long}\",\"{long}\"]")).len(), TOOL_RESULT_LIMIT);
    }

    #[test]
    fn odd_blocks_do_not_lose_their_neighbours() {
        let json =
            r#"{"id":7,"content":[3,{"type":"text","text":"a"},null,{"type":9},{"type":"text","text":"b"}]}"#;
        let message: WireMessage<'_> = serde_json::from_str(json).unwrap();
        assert_eq!((message.id.0.is_none(), message.single_text()), (true, None));
        assert_eq!(message.into_text(), "ab");
    }
}
