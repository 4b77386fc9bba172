//! Decoding what agents print: one line in, a few [`AgentEvent`]s out, the same events for every agent.
//!
//! Knows the agents' wire formats and nothing else: no process, no clock, no meaning of signals, no verdict. Bytes come
//! from outside ([`LineReader`] cuts them), so the same code reads a pipe, a recording and a test. No bytes make it panic, and
//! no unknown word is fatal: unknown kinds and unreadable lines are events of their own, and counted.
//!
//! ```
//! use pilot_core::stream::{AgentEvent, Decoder};
//!
//! let mut said = String::new();
//! let mut decoder = Decoder::detecting();
//! decoder.line(r#"{"type":"item.completed","item":{"type":"agent_message","text":"Hi."}}"#, &mut |event| {
//!     if let AgentEvent::Text(text) = event {
//!         said.push_str(&text.text);
//!     }
//! });
//! assert_eq!(said, "Hi.");
//! ```

mod claude;
mod codex;
mod detect;
mod event;
mod gemini;
mod lines;
mod message;
mod opencode;
mod qwen;
mod usage;
mod wire;

use std::fmt;
use std::str::FromStr;

pub use detect::detect;
pub use event::{
    AgentEvent, AgentFailure, AgentResult, CompactionStage, TOOL_RESULT_LIMIT, Text, UnreadReason,
};
pub use lines::{LineReader, MAX_LINE, StreamLine};
pub use usage::{RunUsage, Usage, UsageMeter, UsageScope};

use usage::Before;

use crate::text::word_enum;

pub type EventSink<'s> = dyn FnMut(AgentEvent<'_>) + 's;

word_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Agent {
        Claude = "claude",
        Codex = "codex",
        Opencode = "opencode",
        Gemini = "gemini",
        Qwen = "qwen",
    }
}

impl FromStr for Agent {
    type Err = UnknownAgent;

    fn from_str(name: &str) -> Result<Agent, UnknownAgent> {
        match name {
            "claude-code" => Ok(Agent::Claude),
            "qwen-code" => Ok(Agent::Qwen),
            "gemini-cli" => Ok(Agent::Gemini),
            _ => Agent::parse(name).ok_or_else(|| UnknownAgent(name.to_owned())),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownAgent(pub String);

impl fmt::Display for UnknownAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown agent {:?}, known are claude, codex, opencode, gemini and qwen", self.0)
    }
}

impl std::error::Error for UnknownAgent {}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamCounters {
    /// Lines taken, blank ones included.
    pub lines: u64,
    pub unknown: u64,
    pub undecodable: u64,
}

#[derive(Debug)]
pub struct Decoder {
    wire: Wire,
    before: Before,
    counters: StreamCounters,
}

/// The agent that speaks, with what its decoder remembers.
#[derive(Debug)]
enum Wire {
    Undetected,
    Claude(claude::Claude),
    Codex(codex::Codex),
    Opencode(opencode::Opencode),
    Gemini(gemini::Gemini),
    Qwen(qwen::Qwen),
}

impl Decoder {
    pub fn new(agent: Agent) -> Decoder {
        Decoder { wire: Wire::new(agent, Before::Known(Usage::FREE)), ..Decoder::detecting() }
    }

    /// A decoder that finds out by itself, from the first line that tells; lines before that are unknown.
    pub fn detecting() -> Decoder {
        Decoder {
            wire: Wire::Undetected,
            before: Before::Known(Usage::FREE),
            counters: StreamCounters::default(),
        }
    }

    /// The same for a session that earlier runs began: `previous` is its last
    /// [`AgentResult::session_usage`], or `None` when it was not stored. Some agents report the session's totals only, and this
    /// is how a run's own part is told from them. To be called before the first line.
    #[must_use]
    pub fn resuming(self, previous: Option<Usage>) -> Decoder {
        let before = previous.map_or(Before::Unknown, Before::Known);
        let wire = self.agent().map_or(Wire::Undetected, |agent| Wire::new(agent, before));
        Decoder { wire, before, counters: self.counters }
    }

    pub fn agent(&self) -> Option<Agent> {
        match &self.wire {
            Wire::Undetected => None,
            Wire::Claude(_) => Some(Agent::Claude),
            Wire::Codex(_) => Some(Agent::Codex),
            Wire::Opencode(_) => Some(Agent::Opencode),
            Wire::Gemini(_) => Some(Agent::Gemini),
            Wire::Qwen(_) => Some(Agent::Qwen),
        }
    }

    pub fn counters(&self) -> StreamCounters {
        self.counters
    }

    /// Decodes one line. A blank one gives no event, every other at least one.
    pub fn line<'l>(&mut self, line: impl Into<StreamLine<'l>>, sink: &mut EventSink<'_>) {
        self.counters.lines += 1;
        let undecodable = match line.into() {
            StreamLine::Whole(bytes) => {
                self.whole(bytes, sink).err().map(|reason| (reason, bytes.len() as u64))
            }
            StreamLine::Oversized { bytes } => Some((UnreadReason::Oversized, bytes)),
        };
        if let Some((reason, bytes)) = undecodable {
            self.counters.undecodable += 1;
            sink(AgentEvent::Undecodable { reason, bytes });
        }
    }

    /// Says what only the end of the output tells: that the last message is complete.
    pub fn finish(&mut self, sink: &mut EventSink<'_>) {
        if let Wire::Gemini(gemini) = &mut self.wire {
            gemini.finish(sink);
        }
    }

    fn whole(&mut self, bytes: &[u8], sink: &mut EventSink<'_>) -> Result<(), UnreadReason> {
        let text = std::str::from_utf8(bytes).map_err(|_| UnreadReason::NotUtf8)?.trim_ascii();
        if text.is_empty() {
            return Ok(());
        }
        if !text.starts_with('{') {
            return Err(UnreadReason::NotAnObject);
        }
        if let Wire::Undetected = self.wire
            && let Some(agent) = detect(text.as_bytes())
        {
            self.wire = Wire::new(agent, self.before);
        }
        let unknown = &mut self.counters.unknown;
        let mut counted = |event: AgentEvent<'_>| {
            *unknown += u64::from(matches!(event, AgentEvent::Unknown { .. }));
            sink(event);
        };
        self.wire.line(text, &mut counted).or_else(|_| {
            let repaired = wire::without_lone_surrogates(text).ok_or(UnreadReason::Malformed)?;
            self.wire.line(&repaired, &mut counted).map_err(|_| UnreadReason::Malformed)
        })
    }
}

impl Wire {
    fn new(agent: Agent, before: Before) -> Wire {
        match agent {
            Agent::Claude => Wire::Claude(claude::Claude::new(before)),
            Agent::Codex => Wire::Codex(codex::Codex::new(before)),
            Agent::Opencode => Wire::Opencode(opencode::Opencode::default()),
            Agent::Gemini => Wire::Gemini(gemini::Gemini::default()),
            Agent::Qwen => Wire::Qwen(qwen::Qwen::default()),
        }
    }

    /// Decodes one JSON object. When it fails, nothing was said and nothing is remembered of the line.
    fn line(&mut self, line: &str, sink: &mut EventSink<'_>) -> Result<(), serde_json::Error> {
        match self {
            Wire::Undetected => undetected(line, sink),
            Wire::Claude(claude) => claude.line(line, sink),
            Wire::Codex(codex) => codex.line(line, sink),
            Wire::Opencode(opencode) => opencode.line(line, sink),
            Wire::Gemini(gemini) => gemini.line(line, sink),
            Wire::Qwen(qwen) => qwen.line(line, sink),
        }
    }
}

fn undetected(line: &str, sink: &mut EventSink<'_>) -> Result<(), serde_json::Error> {
    wire::wire_object! {
        struct Typed<'a> {
            "type" => kind: wire::WireText<'a>,
        }
    }
    let line: Typed<'_> = serde_json::from_str(line)?;
    sink(AgentEvent::Unknown { word: line.kind.or_empty() });
    Ok(())
}

#[cfg(test)]
mod tests;
