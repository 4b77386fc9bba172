//! Reading an agent's standard output: bytes in, typed events out. Lines are cut and decoded, and the agent's own top-level
//! text is scanned for signals; tool results, thinking, sub-agents and undecodable lines never are, and no signal crosses the
//! end of a message.
//!
//! Must never know: what a signal means for a task or a step, and the clock.

use std::collections::BTreeSet;

use crate::outcome::{Reports, StreamFacts};
use crate::signal::{Diagnostic, Found, Scanner, Signal};
use crate::stream::{Agent, AgentEvent, Decoder, LineReader, Text, Usage};

/// How much of a message is kept, to find the lines and names of its signals.
const MESSAGE_LIMIT: usize = 1 << 20;
const MOST_DIAGNOSTICS: usize = 500;

/// How many tools and background tasks are tracked at once.
const MOST_BUSY: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// Plain text: one message.
    Text,
    /// Lines of this agent.
    StreamJson(Agent),
    /// Lines of an agent that its first lines tell.
    Detected,
}

impl OutputFormat {
    /// Whether an agent that ends well always reports a result.
    pub fn reports(self) -> Reports {
        match self {
            OutputFormat::StreamJson(_) => Reports::Always,
            OutputFormat::Detected | OutputFormat::Text => Reports::Maybe,
        }
    }
}

#[derive(Debug)]
pub enum OutputEvent<'e> {
    /// A piece of the agent's own text, signals included.
    Text(&'e [u8]),
    Signal(Box<Signal>, &'e OutputMessage),
    /// Something that looked like a signal; reported when its message has ended.
    Diagnostic(Diagnostic, &'e OutputMessage),
    MessageEnd(&'e OutputMessage),
    ToolUse {
        name: &'e str,
        input: &'e str,
    },
    /// A tool failed, with the begin of what it printed.
    ToolFailed(&'e str),
    /// A tool or background task with this id began, so that silence is expected.
    Busy(&'e str),
    Idle(&'e str),
    /// The agent repeats a request to its model.
    Retry {
        attempt: u64,
        class: &'e str,
        delay_ms: Option<u64>,
    },
    /// The text of the result, unless it is an error; it usually repeats the last message.
    Result(Option<&'e str>),
}

#[derive(Debug, Default)]
pub struct OutputMessage {
    /// From 1; 0 before the first.
    pub number: u32,
    /// Its beginning, at most `MESSAGE_LIMIT` bytes.
    pub text: Vec<u8>,
    open: bool,
}

type OutputSink<'s> = dyn FnMut(OutputEvent<'_>) + 's;

#[derive(Debug)]
pub struct OutputReader {
    lines: LineReader,
    decoder: Option<Decoder>,
    messages: MessageReader,
}

#[derive(Debug, Default)]
struct MessageReader {
    scanner: Scanner,
    message: OutputMessage,
    diagnostics: Vec<Diagnostic>,
    facts: StreamFacts,
    busy: BTreeSet<String>,
}

impl OutputReader {
    pub fn new(format: OutputFormat) -> OutputReader {
        let decoder = match format {
            OutputFormat::Text => None,
            OutputFormat::StreamJson(agent) => Some(Decoder::new(agent)),
            OutputFormat::Detected => Some(Decoder::detecting()),
        };
        OutputReader { lines: LineReader::new(), decoder, messages: MessageReader::default() }
    }

    /// The same for a session that an earlier process began; `previous` is what that session had used by then.
    #[must_use]
    pub fn resuming(self, previous: Option<Usage>) -> OutputReader {
        OutputReader { decoder: self.decoder.map(|decoder| decoder.resuming(previous)), ..self }
    }

    pub fn push(&mut self, bytes: &[u8], sink: &mut OutputSink<'_>) {
        let messages = &mut self.messages;
        match &mut self.decoder {
            None => messages.push_plain(bytes, sink),
            Some(decoder) => self.lines.push(bytes, &mut |line| {
                decoder.line(line, &mut |event| messages.push_event(&event, sink));
            }),
        }
    }

    pub fn finish(&mut self, sink: &mut OutputSink<'_>) {
        let messages = &mut self.messages;
        if let Some(decoder) = &mut self.decoder {
            self.lines.finish(&mut |line| {
                decoder.line(line, &mut |event| messages.push_event(&event, sink));
            });
            decoder.finish(&mut |event| messages.push_event(&event, sink));
        }
        messages.end_message(sink);
    }

    /// Reads a text as one more message.
    pub fn push_message(&mut self, text: &str, sink: &mut OutputSink<'_>) {
        self.messages.push_plain(text.as_bytes(), sink);
        self.messages.end_message(sink);
    }

    pub fn facts(&self) -> &StreamFacts {
        &self.messages.facts
    }

    pub fn into_facts(self) -> StreamFacts {
        self.messages.facts
    }

    pub fn messages(&self) -> u32 {
        self.messages.message.number
    }

    pub fn is_plain(&self) -> bool {
        self.decoder.is_none()
    }

    pub fn agent(&self) -> Option<Agent> {
        self.decoder.as_ref().and_then(Decoder::agent)
    }

    /// The tools and background tasks that run now.
    pub fn busy(&self) -> &BTreeSet<String> {
        &self.messages.busy
    }
}

impl MessageReader {
    fn push_event(&mut self, event: &AgentEvent<'_>, sink: &mut OutputSink<'_>) {
        self.facts.observe(event);
        match event {
            AgentEvent::Text(Text { parent: None, delta, text, .. }) => {
                self.push_text(text.as_bytes(), sink);
                if !delta {
                    self.end_message(sink);
                }
            }
            AgentEvent::MessageEnd { .. } => self.end_message(sink),
            AgentEvent::ToolUse { id, name, input, .. } => {
                sink(OutputEvent::ToolUse { name, input });
                self.start(id, sink);
            }
            AgentEvent::TaskStarted { id, background: true, .. } => self.start(id, sink),
            AgentEvent::ToolResult { id, is_error, content, .. } => {
                if *is_error {
                    sink(OutputEvent::ToolFailed(content));
                }
                if self.busy.remove(id.as_ref()) {
                    sink(OutputEvent::Idle(id));
                }
            }
            AgentEvent::TaskEnded { id, .. } => {
                if self.busy.remove(id.as_ref()) {
                    sink(OutputEvent::Idle(id));
                }
            }
            AgentEvent::Retry { attempt, class, delay_ms, .. } => {
                sink(OutputEvent::Retry { attempt: *attempt, class, delay_ms: *delay_ms });
            }
            AgentEvent::Result(result) => {
                sink(OutputEvent::Result(result.text.as_deref().filter(|_| !result.is_error)));
            }
            AgentEvent::Text(_)
            | AgentEvent::TaskStarted { .. }
            | AgentEvent::Session { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::Usage { .. }
            | AgentEvent::RateLimit { .. }
            | AgentEvent::Compaction { .. }
            | AgentEvent::Fallback { .. }
            | AgentEvent::Refusal { .. }
            | AgentEvent::TasksRunning { .. }
            | AgentEvent::Denied { .. }
            | AgentEvent::HookStarted { .. }
            | AgentEvent::HookEnded { .. }
            | AgentEvent::Failure(_)
            | AgentEvent::Notice { .. }
            | AgentEvent::Alive
            | AgentEvent::Unknown { .. }
            | AgentEvent::Undecodable { .. } => {}
        }
    }

    fn push_plain(&mut self, bytes: &[u8], sink: &mut OutputSink<'_>) {
        self.facts.plain(bytes);
        self.push_text(bytes, sink);
    }

    fn push_text(&mut self, bytes: &[u8], sink: &mut OutputSink<'_>) {
        if bytes.is_empty() {
            return;
        }
        if !self.message.open {
            self.message.open = true;
            self.message.number += 1;
        }
        let room = MESSAGE_LIMIT.saturating_sub(self.message.text.len()).min(bytes.len());
        self.message.text.extend_from_slice(&bytes[..room]);
        sink(OutputEvent::Text(bytes));
        self.scanner.push(bytes);
        self.take_found(sink);
    }

    fn end_message(&mut self, sink: &mut OutputSink<'_>) {
        if !self.message.open {
            return;
        }
        self.scanner.finish();
        self.take_found(sink);
        for diagnostic in std::mem::take(&mut self.diagnostics) {
            sink(OutputEvent::Diagnostic(diagnostic, &self.message));
        }
        sink(OutputEvent::MessageEnd(&self.message));
        self.message = OutputMessage { number: self.message.number, ..OutputMessage::default() };
    }

    fn take_found(&mut self, sink: &mut OutputSink<'_>) {
        while let Some(found) = self.scanner.next_found() {
            match found {
                Found::Signal(signal) => sink(OutputEvent::Signal(signal, &self.message)),
                Found::Diagnostic(diagnostic) if self.diagnostics.len() < MOST_DIAGNOSTICS => {
                    self.diagnostics.push(diagnostic);
                }
                Found::Diagnostic(_) | Found::Wrapper(_) => {}
            }
        }
    }

    fn start(&mut self, id: &str, sink: &mut OutputSink<'_>) {
        if !id.is_empty() && self.busy.len() < MOST_BUSY && self.busy.insert(id.to_owned()) {
            sink(OutputEvent::Busy(id));
        }
    }
}
