//! What the agent of a step says by marks: bytes of its standard output in, marks that count and notes on those that do not
//! out.

use super::attempt::{MarkKind, MarkNote, MarkPlace, StepMark};
use super::card::is_echo;
use crate::outcome::StreamFacts;
use crate::prompt;
use crate::run::{OutputEvent, OutputFormat, OutputMessage, OutputReader};
use crate::signal::{Code, Diagnostic, Kind, Signal, Span};
use crate::stream::Agent;
use crate::text::truncate;

/// How much of the text is kept, in bytes: of its begin, and of its end.
const HEAD: usize = 96 * 1024;
const TAIL: usize = 32 * 1024;

/// More marks, notes or bytes of marks than this are no step's answer.
const MARKS: usize = 1_000;
const NOTES: usize = 500;
const MARK_BYTES: usize = 32 << 20;

#[derive(Debug)]
pub struct StepReader {
    reader: OutputReader,
    output: StepOutput,
}

#[derive(Debug, Default)]
pub struct StepOutput {
    /// Marks that count, in order. The words of updates are in `updates`.
    pub marks: Vec<StepMark>,
    /// The words of the updates, in the order of their marks.
    pub updates: Vec<String>,
    /// Marks, or parts of marks, that do not count.
    pub notes: Vec<MarkNote>,
    /// The agent's text, cut in its middle.
    pub text: OutputExcerpt,
    /// Bytes of the marks so far.
    bytes: usize,
    /// The text of the last result, for agents that print nothing else.
    result: Option<String>,
    has_end: bool,
    /// Whether the last message has ended.
    between: bool,
}

#[derive(Debug, Default)]
pub struct OutputExcerpt {
    head: Vec<u8>,
    tail: Vec<u8>,
    missing: u64,
}

impl StepReader {
    pub fn new(format: OutputFormat) -> StepReader {
        StepReader { reader: OutputReader::new(format), output: StepOutput::default() }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        let output = &mut self.output;
        self.reader.push(bytes, &mut |event| output.take_event(event));
    }

    pub fn finish(self) -> (StepOutput, StreamFacts, Option<Agent>) {
        let StepReader { mut reader, mut output } = self;
        reader.finish(&mut |event| output.take_event(event));
        // The result repeats what was said; it counts only for an agent that said nothing.
        if reader.messages() == 0
            && let Some(result) = output.result.take()
        {
            reader.push_message(&result, &mut |event| output.take_event(event));
        }
        let agent = reader.agent();
        (output, reader.into_facts(), agent)
    }

    pub fn facts(&self) -> &StreamFacts {
        self.reader.facts()
    }

    /// Whether something runs that explains silence.
    pub fn is_busy(&self) -> bool {
        !self.reader.busy().is_empty()
    }

    pub fn has_end(&self) -> bool {
        self.output.has_end
    }
}

impl StepOutput {
    fn take_event(&mut self, event: OutputEvent<'_>) {
        match event {
            OutputEvent::Text(bytes) => {
                if std::mem::take(&mut self.between) {
                    self.text.push(b"\n\n");
                }
                self.text.push(bytes);
            }
            OutputEvent::Signal(signal, message) => self.take_signal(*signal, message),
            OutputEvent::Diagnostic(diagnostic, message) => self.take_diagnostic(&diagnostic, message),
            OutputEvent::MessageEnd(_) => self.between = true,
            OutputEvent::Result(text) => self.result = text.map(str::to_owned),
            OutputEvent::ToolUse { .. }
            | OutputEvent::ToolFailed(_)
            | OutputEvent::Busy(_)
            | OutputEvent::Idle(_)
            | OutputEvent::Retry { .. } => {}
        }
    }

    fn take_signal(&mut self, signal: Signal, message: &OutputMessage) {
        let place = place(message, signal.span);
        if prompt::is_echo(&signal) || is_echo(&signal) {
            let detail = "a sample from Pilot's own prompt";
            return self.note("echo", Some(signal.kind.as_str()), detail, place);
        }
        let (kind, payload) = match signal.kind {
            Kind::Completed => (MarkKind::Completed, signal.payload),
            Kind::Skip => (MarkKind::Skip, signal.payload),
            Kind::Approve => (MarkKind::Approve, signal.payload),
            Kind::Reject => (MarkKind::Reject, signal.payload),
            Kind::Blocked => (MarkKind::Blocked, signal.payload),
            Kind::Emit => (MarkKind::Emit, signal.payload),
            Kind::Update => (MarkKind::Update, signal.payload),
            // A claim of failure is believed.
            _ if signal.claims_exit() && signal.success == Some(false) => {
                (MarkKind::Blocked, signal.reason.or(signal.message))
            }
            Kind::Status | Kind::Phase | Kind::Exit | Kind::Stagnation | Kind::Marker | Kind::Other(_) => {
                return;
            }
        };
        self.add_mark(StepMark { kind, key: signal.key, path: signal.path, payload, bytes: None, place });
    }

    fn add_mark(&mut self, mut mark: StepMark) {
        let bytes = mark.payload.as_ref().map_or(0, String::len);
        if self.marks.len() >= MARKS || self.bytes + bytes > MARK_BYTES {
            let detail = "more marks than a step may have";
            return self.note("too_many", Some(mark.kind.as_str()), detail, mark.place);
        }
        self.bytes += bytes;
        self.has_end |= mark.kind.is_terminal();
        if mark.kind == MarkKind::Update {
            mark.bytes = Some(bytes as u64);
            self.updates.push(mark.payload.take().unwrap_or_default());
        }
        self.marks.push(mark);
    }

    fn take_diagnostic(&mut self, diagnostic: &Diagnostic, message: &OutputMessage) {
        let place = place(message, diagnostic.span);
        let name = tag_name(message, diagnostic);
        if diagnostic.code == Code::UnknownTag && name.as_deref() == Some("question") {
            // The older protocol's way to ask a person.
            let payload = tag_body(message, diagnostic.span, "question");
            self.add_mark(StepMark {
                kind: MarkKind::Blocked,
                key: None,
                path: None,
                payload,
                bytes: None,
                place,
            });
        }
        let code = code_name(diagnostic.code);
        self.note(&code, name.as_deref(), &diagnostic.detail, place);
    }

    fn note(&mut self, code: &str, mark: Option<&str>, detail: &str, place: MarkPlace) {
        if self.notes.len() < NOTES {
            let mark = mark.map(|name| truncate(name, 64).to_owned());
            let detail = truncate(detail, 200).to_owned();
            self.notes.push(MarkNote { code: code.to_owned(), mark, detail, place });
        }
    }
}

/// The name of a code, as `pilot signals` prints it.
fn code_name(code: Code) -> String {
    let name = serde_json::to_value(code).ok();
    name.as_ref().and_then(|name| name.as_str()).unwrap_or("unknown").to_owned()
}

fn place(message: &OutputMessage, span: Span) -> MarkPlace {
    let before = usize::try_from(span.start).ok().and_then(|start| message.text.get(..start));
    let lines = before.map(|before| 1 + memchr::memchr_iter(b'\n', before).count());
    let line = lines.and_then(|line| u32::try_from(line).ok());
    MarkPlace { message: message.number, line, start: span.start, end: span.end }
}

fn tag_name(message: &OutputMessage, diagnostic: &Diagnostic) -> Option<String> {
    if let (Code::Unclosed | Code::TooLarge | Code::NotOnOwnLine | Code::TooMany, Some(kind)) =
        (diagnostic.code, MarkKind::parse(&diagnostic.detail))
    {
        return Some(kind.as_str().to_owned());
    }
    let from = message.text.get(usize::try_from(diagnostic.span.start).ok()?..)?;
    let word = from.strip_prefix(b"<pilot:")?;
    let letters = word.iter().take(40).take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_');
    Some(letters.map(|byte| char::from(*byte)).collect())
}

fn tag_body(message: &OutputMessage, span: Span, name: &str) -> Option<String> {
    let from = message.text.get(usize::try_from(span.start).ok()?..)?;
    let text = String::from_utf8_lossy(from);
    let (_, body) = text.split_once('>')?;
    let body = body.split(&format!("</pilot:{name}")).next().unwrap_or_default().trim();
    Some(truncate(body, 4096).to_owned()).filter(|body| !body.is_empty())
}

impl OutputExcerpt {
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
    use super::{StepOutput, StepReader};
    use crate::run::OutputFormat;
    use crate::stream::Agent;

    fn output_of(format: OutputFormat, output: &str, chunk: usize) -> StepOutput {
        let mut reader = StepReader::new(format);
        output.as_bytes().chunks(chunk).for_each(|part| reader.push(part));
        reader.finish().0
    }

    /// Marks as `kind:words`, notes as `!code:mark`.
    fn shown(output: &StepOutput) -> Vec<String> {
        let marks = output.marks.iter();
        let marks =
            marks.map(|mark| format!("{}:{}", mark.kind.as_str(), mark.payload.as_deref().unwrap_or("")));
        let notes = output.notes.iter();
        let notes = notes.map(|note| format!("!{}:{}", note.code, note.mark.as_deref().unwrap_or("")));
        marks.chain(notes).collect()
    }

    fn check(format: OutputFormat, output: &str, expect: &[&str]) {
        for chunk in [1, 7, 100_000] {
            assert_eq!(shown(&output_of(format, output, chunk)), expect, "in chunks of {chunk}: {output}");
        }
    }

    #[test]
    fn marks_of_plain_text_count_wherever_the_text_is_cut() {
        check(OutputFormat::Text, "no\n<pilot:reject>a\nb\nc</pilot:reject>\n", &["reject:a\nb\nc"]);
        check(OutputFormat::Text, "<pilot:rejec", &["!unclosed:rejec"]);
        check(OutputFormat::Text, "<pilot:reject>x", &["!unclosed:reject"]);
        check(OutputFormat::Text, "x <pilot:emit key=a>b</pilot:emit>", &["!malformed_tag:emit"]);
        check(OutputFormat::Text, "good <pilot:approve/>", &["!not_on_own_line:approve"]);
        check(
            OutputFormat::Text,
            "`<pilot:approve/>`\n> <pilot:approve/>\n",
            &["!in_code_span:approve", "!in_quote:approve"],
        );
        check(
            OutputFormat::Text,
            "<pilot:question>which one?</pilot:question>",
            &["blocked:which one?", "!unknown_tag:question"],
        );
        check(
            OutputFormat::Text,
            "```pilot-signal\n{\"type\":\"exit\",\"success\":false,\"reason\":\"no key\"}\n```\n",
            &["blocked:no key"],
        );
        let update = output_of(OutputFormat::Text, "<pilot:update path=\".pilot/a\">\nx\n</pilot:update>", 3);
        assert_eq!(update.updates, ["x\n"]);
        assert_eq!((update.marks[0].bytes, &update.marks[0].payload), (Some(2), &None));
        let late = output_of(OutputFormat::Text, "a\nb\n<pilot:skip/>\n", 1);
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
        let format = OutputFormat::StreamJson(Agent::Claude);
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
        let output = output_of(OutputFormat::StreamJson(Agent::Claude), &claude(&lines), 65_536);
        assert_eq!(output.marks.len(), super::MARKS);
        assert!(
            output.notes.len() <= super::NOTES && output.notes.iter().any(|note| note.code == "too_many")
        );
        let mut reader = StepReader::new(OutputFormat::Text);
        for _ in 0..3_000 {
            reader.push(&[b'x'; 1000]);
        }
        let (output, ..) = reader.finish();
        let text = output.text.text();
        assert!(text.len() < 200_000 && text.contains("bytes not kept"));
    }
}
