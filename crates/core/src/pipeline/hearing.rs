//! Listening to the agent of a step: bytes of its standard output in, marks that count and notes on those that do not out.
//!
//! Only the agent's own top-level text is read. Tool results, thinking, sub-agents and lines that cannot be decoded never
//! are, and nothing crosses the border of a message.

use std::collections::BTreeSet;

use super::attempt::{Mark, MarkKind, Note, Place};
use super::card::is_echo;
use crate::outcome::{StreamFacts, cut};
use crate::prompt;
use crate::signal::{Code, Diagnostic, Found, Kind, Scanner, Signal, Span};
use crate::stream::{Agent, AgentEvent, Decoder, LineReader, Text};

/// How much of a message is kept to tell the lines and names of its marks.
const MESSAGE: usize = 1 << 20;

/// What is kept of what was said, in bytes: of its begin, and of its end.
const HEAD: usize = 96 * 1024;
const TAIL: usize = 32 * 1024;

/// More marks, notes or bytes of marks than this are no step's answer.
const MARKS: usize = 1_000;
const NOTES: usize = 500;
const MARK_BYTES: usize = 32 << 20;

/// What an agent prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Its answer, one message.
    Text,
    /// Lines of this agent.
    Stream(Agent),
    /// Lines of an agent that is to be found out.
    Detected,
}

/// Listens to one attempt.
#[derive(Debug)]
pub struct Hearing {
    lines: LineReader,
    decoder: Option<Decoder>,
    scanner: Scanner,
    message: Message,
    facts: StreamFacts,
    heard: Heard,
    /// Bytes of the marks so far.
    bytes: usize,
    /// The text of the last result, for agents that say nothing else.
    result: Option<String>,
    /// Tools and background tasks that run now: silence is expected meanwhile.
    busy: BTreeSet<String>,
    terminal: bool,
}

/// The message that is coming in.
#[derive(Debug, Default)]
struct Message {
    number: u32,
    text: Vec<u8>,
    /// Whether anything of it came.
    open: bool,
    diagnostics: Vec<Diagnostic>,
}

/// What was heard.
#[derive(Debug, Default)]
pub struct Heard {
    /// Marks that count, in order. The words of updates are in `updates`.
    pub marks: Vec<Mark>,
    /// The words of the updates, in the order of their marks.
    pub updates: Vec<String>,
    /// Marks, or parts of marks, that do not count.
    pub notes: Vec<Note>,
    /// What was said, cut in its middle.
    pub output: Excerpt,
}

/// The begin and the end of a text.
#[derive(Debug, Default)]
pub struct Excerpt {
    head: Vec<u8>,
    tail: Vec<u8>,
    missing: u64,
}

impl Hearing {
    /// Nothing heard yet.
    pub fn new(format: Format) -> Hearing {
        let decoder = match format {
            Format::Text => None,
            Format::Stream(agent) => Some(Decoder::new(agent)),
            Format::Detected => Some(Decoder::detecting()),
        };
        Hearing {
            lines: LineReader::new(),
            decoder,
            scanner: Scanner::new(),
            message: Message::default(),
            facts: StreamFacts::new(),
            heard: Heard::default(),
            bytes: 0,
            result: None,
            busy: BTreeSet::new(),
            terminal: false,
        }
    }

    /// Takes bytes of standard output.
    pub fn push(&mut self, bytes: &[u8]) {
        let Some(mut decoder) = self.decoder.take() else {
            self.facts.plain(bytes);
            return self.say(bytes);
        };
        let mut lines = std::mem::take(&mut self.lines);
        lines.push(bytes, &mut |line| decoder.line(line, &mut |event| self.event(&event)));
        (self.lines, self.decoder) = (lines, Some(decoder));
    }

    /// The output is over.
    pub fn finish(mut self) -> (Heard, StreamFacts, Option<Agent>) {
        let mut agent = None;
        if let Some(mut decoder) = self.decoder.take() {
            let mut lines = std::mem::take(&mut self.lines);
            lines.finish(&mut |line| decoder.line(line, &mut |event| self.event(&event)));
            decoder.finish(&mut |event| self.event(&event));
            agent = decoder.agent();
        }
        self.end_message();
        // The result repeats what was said; it speaks only for an agent that said nothing.
        if self.message.number == 0
            && let Some(result) = self.result.take()
        {
            self.facts.plain(result.as_bytes());
            self.say(result.as_bytes());
            self.end_message();
        }
        (self.heard, self.facts, agent)
    }

    /// What the events say, so far.
    pub fn facts(&self) -> &StreamFacts {
        &self.facts
    }

    /// Whether something runs that explains silence.
    pub fn is_busy(&self) -> bool {
        !self.busy.is_empty()
    }

    /// Whether the agent has said how its step ended.
    pub fn said_its_end(&self) -> bool {
        self.terminal
    }

    fn event(&mut self, event: &AgentEvent<'_>) {
        self.facts.observe(event);
        match event {
            AgentEvent::Text(Text { parent: None, delta, text, .. }) => {
                self.say(text.as_bytes());
                if !delta {
                    self.end_message();
                }
            }
            AgentEvent::MessageEnd { .. } => self.end_message(),
            AgentEvent::Result(result) => {
                self.result = result.text.as_deref().filter(|_| !result.is_error).map(str::to_owned);
            }
            AgentEvent::ToolUse { id, .. } | AgentEvent::TaskStarted { id, background: true, .. } => {
                if self.busy.len() < 1024 {
                    self.busy.insert(id.to_string());
                }
            }
            AgentEvent::ToolResult { id, .. } | AgentEvent::TaskEnded { id, .. } => {
                self.busy.remove(id.as_ref());
            }
            AgentEvent::Text(_)
            | AgentEvent::TaskStarted { .. }
            | AgentEvent::Session { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::Usage { .. }
            | AgentEvent::Retry { .. }
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

    fn say(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if !self.message.open {
            self.message.open = true;
            self.message.number += 1;
            if self.message.number > 1 {
                self.heard.output.push(b"\n\n");
            }
        }
        let room = MESSAGE.saturating_sub(self.message.text.len()).min(bytes.len());
        self.message.text.extend_from_slice(&bytes[..room]);
        self.heard.output.push(bytes);
        self.scanner.push(bytes);
        self.take();
    }

    fn end_message(&mut self) {
        if !self.message.open {
            return;
        }
        self.scanner.finish();
        self.take();
        for diagnostic in std::mem::take(&mut self.message.diagnostics) {
            self.diagnostic(&diagnostic);
        }
        self.message = Message { number: self.message.number, ..Message::default() };
    }

    fn take(&mut self) {
        while let Some(found) = self.scanner.next_found() {
            match found {
                Found::Signal(signal) => self.signal(*signal),
                // Their names stand in the message, which is not here yet.
                Found::Diagnostic(diagnostic) if self.message.diagnostics.len() < NOTES => {
                    self.message.diagnostics.push(diagnostic);
                }
                Found::Diagnostic(_) | Found::Wrapper(_) => {}
            }
        }
    }

    fn signal(&mut self, signal: Signal) {
        let place = self.message.place(signal.span);
        if prompt::is_echo(&signal) || is_echo(&signal) {
            let detail = "a sample of Pilot's own card, read aloud";
            return self.note("echo", Some(signal.kind.as_str()), detail, place);
        }
        let (kind, words) = match signal.kind {
            Kind::Completed => (MarkKind::Completed, signal.payload),
            Kind::Skip => (MarkKind::Skip, signal.payload),
            Kind::Approve => (MarkKind::Approve, signal.payload),
            Kind::Reject => (MarkKind::Reject, signal.payload),
            Kind::Blocked => (MarkKind::Blocked, signal.payload),
            Kind::Emit => (MarkKind::Emit, signal.payload),
            Kind::Update => (MarkKind::Update, signal.payload),
            // Who says that it failed is believed.
            _ if signal.claims_exit() && signal.success == Some(false) => {
                (MarkKind::Blocked, signal.reason.or(signal.message))
            }
            Kind::Status | Kind::Phase | Kind::Exit | Kind::Stagnation | Kind::Marker | Kind::Other(_) => {
                return;
            }
        };
        let mark = Mark { kind, key: signal.key, path: signal.path, payload: words, bytes: None, place };
        self.mark(mark);
    }

    fn mark(&mut self, mut mark: Mark) {
        let bytes = mark.payload.as_ref().map_or(0, String::len);
        if self.heard.marks.len() >= MARKS || self.bytes + bytes > MARK_BYTES {
            return self.note(
                "too_many",
                Some(mark.kind.as_str()),
                "more marks than a step may have",
                mark.place,
            );
        }
        self.bytes += bytes;
        self.terminal |= mark.kind.is_terminal();
        if mark.kind == MarkKind::Update {
            mark.bytes = Some(bytes as u64);
            self.heard.updates.push(mark.payload.take().unwrap_or_default());
        }
        self.heard.marks.push(mark);
    }

    fn diagnostic(&mut self, diagnostic: &Diagnostic) {
        let place = self.message.place(diagnostic.span);
        let name = self.message.name(diagnostic);
        if diagnostic.code == Code::UnknownTag && name.as_deref() == Some("question") {
            // The older protocol's way to ask a person.
            let asked = self.message.body(diagnostic.span, "question");
            self.mark(Mark {
                kind: MarkKind::Blocked,
                key: None,
                path: None,
                payload: asked,
                bytes: None,
                place,
            });
        }
        let code = code(diagnostic.code);
        self.note(&code, name.as_deref(), &diagnostic.detail, place);
    }

    fn note(&mut self, code: &str, mark: Option<&str>, detail: &str, place: Place) {
        if self.heard.notes.len() < NOTES {
            let mark = mark.map(|name| cut(name, 64).to_owned());
            let detail = cut(detail, 200).to_owned();
            self.heard.notes.push(Note { code: code.to_owned(), mark, detail, place });
        }
    }
}

/// The name of a code, as `pilot signals` has it.
fn code(code: Code) -> String {
    let name = serde_json::to_value(code).ok();
    name.as_ref().and_then(|name| name.as_str()).unwrap_or("unknown").to_owned()
}

impl Message {
    fn place(&self, span: Span) -> Place {
        let before = usize::try_from(span.start).ok().and_then(|start| self.text.get(..start));
        let lines = before.map(|before| 1 + memchr::memchr_iter(b'\n', before).count());
        let line = lines.and_then(|line| u32::try_from(line).ok());
        Place { message: self.number, line, start: span.start, end: span.end }
    }

    /// The name of the tag that a diagnostic is about.
    fn name(&self, diagnostic: &Diagnostic) -> Option<String> {
        if let (Code::Unclosed | Code::TooLarge | Code::NotOnOwnLine | Code::TooMany, Some(kind)) =
            (diagnostic.code, MarkKind::parse(&diagnostic.detail))
        {
            return Some(kind.as_str().to_owned());
        }
        let from = self.text.get(usize::try_from(diagnostic.span.start).ok()?..)?;
        let word = from.strip_prefix(b"<pilot:")?;
        let letters = word.iter().take(40).take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_');
        Some(letters.map(|byte| char::from(*byte)).collect())
    }

    /// The text between a tag that begins here and its closing one.
    fn body(&self, span: Span, name: &str) -> Option<String> {
        let from = self.text.get(usize::try_from(span.start).ok()?..)?;
        let text = String::from_utf8_lossy(from);
        let (_, body) = text.split_once('>')?;
        let body = body.split(&format!("</pilot:{name}")).next().unwrap_or_default().trim();
        Some(cut(body, 4096).to_owned()).filter(|body| !body.is_empty())
    }
}

impl Excerpt {
    fn push(&mut self, bytes: &[u8]) {
        let room = HEAD.saturating_sub(self.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at(room);
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(&rest[rest.len().saturating_sub(2 * TAIL)..]);
        self.missing += rest.len().saturating_sub(2 * TAIL) as u64;
        if self.tail.len() > 2 * TAIL {
            let surplus = self.tail.len() - TAIL;
            self.tail.drain(..surplus);
            self.missing += surplus as u64;
        }
    }

    /// Both ends, with a line between them that says what is missing.
    pub fn text(&self) -> String {
        let head = String::from_utf8_lossy(&self.head);
        let tail = String::from_utf8_lossy(&self.tail);
        match self.missing {
            0 => format!("{head}{tail}"),
            missing => format!("{head}\n[… {missing} bytes not kept …]\n{tail}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Format, Heard, Hearing};
    use crate::stream::Agent;

    fn heard(format: Format, output: &str, chunk: usize) -> Heard {
        let mut hearing = Hearing::new(format);
        output.as_bytes().chunks(chunk).for_each(|part| hearing.push(part));
        hearing.finish().0
    }

    /// Marks as `kind:words`, notes as `!code:mark`.
    fn shown(heard: &Heard) -> Vec<String> {
        let marks = heard.marks.iter();
        let marks =
            marks.map(|mark| format!("{}:{}", mark.kind.as_str(), mark.payload.as_deref().unwrap_or("")));
        let notes = heard.notes.iter();
        let notes = notes.map(|note| format!("!{}:{}", note.code, note.mark.as_deref().unwrap_or("")));
        marks.chain(notes).collect()
    }

    fn check(format: Format, output: &str, expect: &[&str]) {
        for chunk in [1, 7, 100_000] {
            assert_eq!(shown(&heard(format, output, chunk)), expect, "in chunks of {chunk}: {output}");
        }
    }

    #[test]
    fn marks_of_plain_text_count_wherever_the_text_is_cut() {
        check(Format::Text, "no\n<pilot:reject>a\nb\nc</pilot:reject>\n", &["reject:a\nb\nc"]);
        check(Format::Text, "<pilot:rejec", &["!unclosed:rejec"]);
        check(Format::Text, "<pilot:reject>x", &["!unclosed:reject"]);
        check(Format::Text, "x <pilot:emit key=a>b</pilot:emit>", &["!malformed_tag:emit"]);
        check(Format::Text, "good <pilot:approve/>", &["!not_on_own_line:approve"]);
        check(
            Format::Text,
            "`<pilot:approve/>`\n> <pilot:approve/>\n",
            &["!in_code_span:approve", "!in_quote:approve"],
        );
        check(
            Format::Text,
            "<pilot:question>which one?</pilot:question>",
            &["blocked:which one?", "!unknown_tag:question"],
        );
        check(
            Format::Text,
            "```pilot-signal\n{\"type\":\"exit\",\"success\":false,\"reason\":\"no key\"}\n```\n",
            &["blocked:no key"],
        );
        let update = heard(Format::Text, "<pilot:update path=\".pilot/a\">\nx\n</pilot:update>", 3);
        assert_eq!(update.updates, ["x\n"]);
        assert_eq!((update.marks[0].bytes, &update.marks[0].payload), (Some(2), &None));
        let late = heard(Format::Text, "a\nb\n<pilot:skip/>\n", 1);
        assert_eq!((late.marks[0].place.message, late.marks[0].place.line), (1, Some(3)));
    }

    /// One line of claude's for each pair of type and text.
    fn claude(lines: &[(&str, &str)]) -> String {
        let line = |(kind, text): &(&str, &str)| match *kind {
            "text" => format!(
                "{}\n",
                serde_json::json!({"type":"assistant","message":{"id":"m","content":[{"type":"text","text":text}]}})
            ),
            "sub" => format!(
                "{}\n",
                serde_json::json!({"type":"assistant","parent_tool_use_id":"t",
                    "message":{"id":"s","content":[{"type":"text","text":text}]}})
            ),
            "tool" => format!(
                "{}\n",
                serde_json::json!({"type":"user","message":{"content":[
                    {"type":"tool_result","tool_use_id":"t","content":text}]}})
            ),
            "result" => format!(
                "{}\n",
                serde_json::json!({"type":"result","subtype":"success","is_error":false,"result":text})
            ),
            _ => format!("{text}\n"),
        };
        lines.iter().map(line).collect()
    }

    #[test]
    fn only_what_claude_itself_says_counts() {
        let format = Format::Stream(Agent::Claude);
        let done = "<pilot:completed>x</pilot:completed>";
        for (lines, expect) in [
            // One mark over two messages is no mark.
            (vec![("text", "<pilot:reject>a"), ("text", "b</pilot:reject>")], vec!["!unclosed:reject"]),
            (vec![("text", done), ("result", "<pilot:blocked>no</pilot:blocked>")], vec!["completed:x"]),
            (vec![("result", done)], vec!["completed:x"]),
            (vec![("tool", "<pilot:blocked>no</pilot:blocked>"), ("text", done)], vec!["completed:x"]),
            (vec![("sub", "<pilot:approve/>"), ("text", "fine")], vec![]),
            (
                vec![("raw", "<pilot:approve/>"), ("raw", "0"), ("raw", "null"), ("text", done)],
                vec!["completed:x"],
            ),
        ] {
            check(format, &claude(&lines), &expect);
        }
    }

    #[test]
    fn everything_has_a_bound() {
        let many = "<pilot:skip/>\n".repeat(2_000);
        let lines: Vec<(&str, &str)> = (0..40).map(|_| ("text", many.as_str())).collect();
        let heard = heard(Format::Stream(Agent::Claude), &claude(&lines), 65_536);
        assert_eq!(heard.marks.len(), super::MARKS);
        assert!(heard.notes.len() <= super::NOTES && heard.notes.iter().any(|note| note.code == "too_many"));
        let mut hearing = Hearing::new(Format::Text);
        for _ in 0..3_000 {
            hearing.push(&[b'x'; 1000]);
        }
        let (heard, ..) = hearing.finish();
        let text = heard.output.text();
        assert!(text.len() < 200_000 && text.contains("bytes not kept"));
    }
}
