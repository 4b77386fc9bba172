//! What one would write first: the marks with one regular expression, the lines with serde's derive.

use regex::bytes::Regex;
use serde::Deserialize;

/// All four dialects, as they come here. It knows nothing of code, quotes, comments or limits.
const MARKS: &str = concat!(
    r"(?ms)^```pilot-signal\n(.*?)\n```",
    r"|^nav-signal:v3:([^\n]*)$",
    r"|<pilot:([a-z]+)([^>]*)>(.*?)</pilot:[a-z]+>",
    r"|^NAVIGATOR_STATUS\n━+\n(.*?)\n━+$",
    r"|^(EXIT_SIGNAL: true|LOOP COMPLETE|STAGNATION DETECTED|PHASE: [^\n]*)$",
);

pub(crate) fn marks() -> Regex {
    Regex::new(MARKS).expect("a pattern of our own")
}

/// A line, told by its `type`.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Line {
    System {
        #[expect(dead_code, reason = "decoded, not looked at")]
        subtype: String,
        #[expect(dead_code, reason = "decoded, not looked at")]
        session_id: Option<String>,
        #[expect(dead_code, reason = "decoded, not looked at")]
        model: Option<String>,
    },
    Assistant {
        message: Message,
    },
    User {
        message: Message,
    },
    Result {
        #[expect(dead_code, reason = "decoded, not looked at")]
        subtype: String,
        result: Option<String>,
        #[expect(dead_code, reason = "decoded, not looked at")]
        total_cost_usd: Option<f64>,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
pub(crate) struct Message {
    #[expect(dead_code, reason = "decoded, not looked at")]
    id: Option<String>,
    content: Vec<Block>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Block {
    Text {
        text: String,
    },
    ToolUse {
        #[expect(dead_code, reason = "decoded, not looked at")]
        id: String,
        name: String,
        #[expect(dead_code, reason = "decoded, not looked at")]
        input: serde_json::Value,
    },
    ToolResult {
        #[expect(dead_code, reason = "decoded, not looked at")]
        tool_use_id: String,
        content: String,
    },
    #[serde(other)]
    Other,
}

impl Line {
    /// Something to do with every line, so that nothing is left out.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Line::Assistant { message } | Line::User { message } => {
                message.content.iter().map(Block::weight).sum()
            }
            Line::Result { result, .. } => result.as_ref().map_or(0, String::len),
            Line::System { .. } | Line::Other => 1,
        }
    }
}

impl Block {
    fn weight(&self) -> usize {
        match self {
            Block::Text { text } => text.len(),
            Block::ToolUse { name, .. } => name.len(),
            Block::ToolResult { content, .. } => content.len(),
            Block::Other => 1,
        }
    }
}

/// The same as one struct of everything a line may have: harder to use, but serde need not keep a line until it has
/// seen its `type`.
#[derive(Deserialize)]
pub(crate) struct FlatLine {
    #[serde(rename = "type")]
    kind: String,
    #[expect(dead_code, reason = "decoded, not looked at")]
    subtype: Option<String>,
    #[expect(dead_code, reason = "decoded, not looked at")]
    session_id: Option<String>,
    #[expect(dead_code, reason = "decoded, not looked at")]
    model: Option<String>,
    message: Option<FlatMessage>,
    result: Option<String>,
    #[expect(dead_code, reason = "decoded, not looked at")]
    total_cost_usd: Option<f64>,
}

#[derive(Deserialize)]
struct FlatMessage {
    #[expect(dead_code, reason = "decoded, not looked at")]
    id: Option<String>,
    content: Vec<FlatBlock>,
}

#[derive(Deserialize)]
struct FlatBlock {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    #[expect(dead_code, reason = "decoded, not looked at")]
    id: Option<String>,
    name: Option<String>,
    #[expect(dead_code, reason = "decoded, not looked at")]
    input: Option<serde_json::Value>,
    #[expect(dead_code, reason = "decoded, not looked at")]
    tool_use_id: Option<String>,
    content: Option<String>,
}

impl FlatLine {
    /// The same as of a [`Line`].
    pub(crate) fn weight(&self) -> usize {
        match (self.kind.as_str(), &self.message) {
            ("assistant" | "user", Some(message)) => message.content.iter().map(FlatBlock::weight).sum(),
            ("result", _) => self.result.as_ref().map_or(0, String::len),
            _ => 1,
        }
    }
}

impl FlatBlock {
    fn weight(&self) -> usize {
        let text = match self.kind.as_str() {
            "text" => &self.text,
            "tool_use" => &self.name,
            "tool_result" => &self.content,
            _ => return 1,
        };
        text.as_ref().map_or(0, String::len)
    }
}
