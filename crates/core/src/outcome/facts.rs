//! What an agent's output says about its run, in bounded room.

use crate::stream::{AgentEvent, AgentFailure, AgentResult, RunUsage, Text, Usage, UsageMeter};
use crate::text::{truncate, truncate_front};

use super::diagnostics::FINAL_MESSAGE_LIMIT;

/// The most that is kept of the agent's words for an error, in bytes.
const ERROR_LIMIT: usize = 2 * 1024;

/// The longest line in which `DECLINED:` is looked for, in bytes.
const LINE_LIMIT: usize = 1024;

/// How many of the errors of one result are kept.
const ERRORS_LIMIT: usize = 4;

#[derive(Clone, Debug, Default)]
pub struct StreamFacts {
    session: Option<String>,
    model: Option<String>,
    message: FinalMessage,
    pub(super) last: Option<Last>,
    /// The agent's last error, unless it went on afterwards.
    pub(super) failure: Option<ReportedError>,
    /// What the last repeated request failed with, unless the model answered afterwards.
    pub(super) retry: Option<ReportedError>,
    retries: u64,
    /// Whether the account's limit was met and not lifted.
    pub(super) limited: bool,
    resets_at: Option<u64>,
    pub(super) refused: bool,
    denied: u64,
    tools: u64,
    session_usage: Option<Usage>,
    meter: UsageMeter,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Last {
    pub(super) succeeded: bool,
    pub(super) subtype: String,
    pub(super) stop_reason: String,
    pub(super) terminal_reason: String,
    pub(super) trouble: ReportedError,
    pub(super) denials: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ReportedError {
    pub(super) status: Option<u16>,
    pub(super) kinds: Vec<String>,
    pub(super) words: String,
}

impl StreamFacts {
    pub fn observe(&mut self, event: &AgentEvent<'_>) {
        self.meter.observe(event);
        match event {
            AgentEvent::Session { id, model, .. } => {
                self.session = Some(short(id));
                if let Some(model) = model {
                    self.model = Some(short(model));
                }
            }
            AgentEvent::Text(text) => self.text(text),
            AgentEvent::MessageEnd { .. } => self.message.end(),
            AgentEvent::ToolUse { parent, .. } => {
                self.tools = self.tools.saturating_add(1);
                if parent.is_none() {
                    self.recovered();
                }
            }
            AgentEvent::Retry { status, class, .. } => {
                self.retries = self.retries.saturating_add(1);
                let kinds = vec![short(class)];
                self.retry = Some(ReportedError { status: *status, kinds, words: String::new() });
            }
            AgentEvent::RateLimit { status, resets_at, .. } => {
                self.limited = status == "rejected";
                self.resets_at = resets_at.or(self.resets_at);
            }
            AgentEvent::Refusal { .. } => self.refused = true,
            AgentEvent::Denied { .. } => self.denied = self.denied.saturating_add(1),
            AgentEvent::Result(result) => self.result(result),
            AgentEvent::Failure(failure) => self.failure(failure),
            AgentEvent::Thinking { .. }
            | AgentEvent::ToolResult { .. }
            | AgentEvent::Usage { .. }
            | AgentEvent::Compaction { .. }
            | AgentEvent::Fallback { .. }
            | AgentEvent::TaskStarted { .. }
            | AgentEvent::TaskEnded { .. }
            | AgentEvent::TasksRunning { .. }
            | AgentEvent::HookStarted { .. }
            | AgentEvent::HookEnded { .. }
            | AgentEvent::Notice { .. }
            | AgentEvent::Alive
            | AgentEvent::Unknown { .. }
            | AgentEvent::Undecodable { .. } => {}
        }
    }

    /// Takes in a piece of the output of an agent that writes plain text: all of it is one message, and its end counts. Of a
    /// long piece no more than that end is looked at.
    pub fn plain(&mut self, piece: &[u8]) {
        self.message.plain(piece);
    }

    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The agent's last message of its own, at most [`FINAL_MESSAGE_LIMIT`] bytes; empty when it said nothing.
    pub fn final_message(&self) -> &str {
        &self.message.text
    }

    pub fn usage(&self) -> RunUsage {
        self.meter.totals()
    }

    pub fn session_usage(&self) -> Option<Usage> {
        self.session_usage
    }

    pub fn retries(&self) -> u64 {
        self.retries
    }

    pub fn denials(&self) -> u64 {
        self.denied.max(self.last.as_ref().map_or(0, |last| last.denials))
    }

    pub fn tools(&self) -> u64 {
        self.tools
    }

    /// The reason behind `DECLINED:` in a line of the last message.
    pub fn declined(&self) -> Option<&str> {
        match self.message.plain {
            Plain::No => self.message.declined.as_deref(),
            Plain::Whole => self.message.text.lines().rev().find_map(decline),
            // The first line may be the end of another.
            Plain::Cut => self.message.text.lines().skip(1).filter_map(decline).last(),
        }
    }

    /// When the limit that was met resets, in epoch seconds.
    pub fn resets_at(&self) -> Option<u64> {
        self.resets_at
    }

    fn text(&mut self, text: &Text<'_>) {
        if text.parent.is_none() {
            self.message.said(text);
            self.recovered();
        }
    }

    /// The model answered, so what went wrong before is over.
    fn recovered(&mut self) {
        self.failure = None;
        self.retry = None;
    }

    fn failure(&mut self, failure: &AgentFailure<'_>) {
        if failure.parent.is_some() {
            return;
        }
        self.resets_at = failure.resets_at.or(self.resets_at);
        let kinds = [&failure.class, &failure.api_error, &failure.api_error_type];
        self.failure = Some(ReportedError {
            status: failure.status,
            kinds: kinds.into_iter().flatten().map(|kind| short(kind)).collect(),
            words: truncate(&failure.message, ERROR_LIMIT).to_owned(),
        });
    }

    fn result(&mut self, result: &AgentResult<'_>) {
        if let Some(session) = &result.session {
            self.session = Some(short(session));
        }
        self.session_usage = result.session_usage.or(self.session_usage);
        if result.succeeded() {
            self.recovered();
        }
        let word = |word: &Option<std::borrow::Cow<'_, str>>| word.as_deref().map(short).unwrap_or_default();
        let kinds = [&result.api_error, &result.api_error_type];
        // The text of a result that failed is the program's; otherwise it is the model's.
        let said = result.text.as_deref().filter(|_| result.is_error);
        let words: Vec<&str> =
            result.errors.iter().take(ERRORS_LIMIT).map(|words| &**words).chain(said).collect();
        self.last = Some(Last {
            succeeded: result.succeeded(),
            subtype: short(&result.subtype),
            stop_reason: word(&result.stop_reason),
            terminal_reason: word(&result.terminal_reason),
            trouble: ReportedError {
                status: result.api_error_status,
                kinds: kinds.into_iter().flatten().map(|kind| short(kind)).collect(),
                words: truncate(&words.join("; "), ERROR_LIMIT).to_owned(),
            },
            denials: result.permission_denials,
        });
    }
}

fn short(word: &str) -> String {
    truncate(word, 256).to_owned()
}

#[derive(Clone, Debug, Default)]
struct FinalMessage {
    text: String,
    /// Whether more was said than is kept.
    full: bool,
    declined: Option<String>,
    open: Option<u64>,
    line: String,
    plain: Plain,
}

/// Whether the output is plain text, and whether its begin is still there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Plain {
    #[default]
    No,
    Whole,
    Cut,
}

impl FinalMessage {
    fn said(&mut self, piece: &Text<'_>) {
        let more = piece.delta && self.open == Some(piece.ordinal);
        if !more {
            if piece.text.trim().is_empty() {
                return;
            }
            self.end();
            self.text.clear();
            self.full = false;
            self.declined = None;
        }
        self.open = Some(piece.ordinal).filter(|_| piece.delta);
        if !self.full {
            let kept = truncate(&piece.text, FINAL_MESSAGE_LIMIT - self.text.len());
            self.full = kept.len() < piece.text.len();
            self.text.push_str(kept);
        }
        self.lines(&piece.text);
        if !piece.delta {
            self.end();
        }
    }

    fn plain(&mut self, piece: &[u8]) {
        if self.plain == Plain::No {
            self.plain = Plain::Whole;
        }
        let kept = end_of(piece, FINAL_MESSAGE_LIMIT);
        match str::from_utf8(kept) {
            Ok(kept) => self.text.push_str(kept),
            // Several times as slow, and nearly never needed.
            Err(_) => self.text.push_str(&String::from_utf8_lossy(kept)),
        }
        if self.text.len() > FINAL_MESSAGE_LIMIT || kept.len() < piece.len() {
            self.plain = Plain::Cut;
            self.text = truncate_front(&self.text, FINAL_MESSAGE_LIMIT).to_owned();
        }
    }

    fn lines(&mut self, piece: &str) {
        for part in piece.split_inclusive('\n') {
            self.line.push_str(truncate(part, LINE_LIMIT - self.line.len()));
            if part.ends_with('\n') {
                self.end_line();
            }
        }
    }

    fn end(&mut self) {
        self.end_line();
        self.open = None;
    }

    fn end_line(&mut self) {
        if let Some(reason) = decline(&self.line) {
            self.declined = Some(reason.to_owned());
        }
        self.line.clear();
    }
}

/// At most so many bytes of the end; a character that is cut in two is left out.
fn end_of(piece: &[u8], limit: usize) -> &[u8] {
    let end = &piece[piece.len().saturating_sub(limit)..];
    let is_rest = |byte: &&u8| end.len() < piece.len() && **byte & 0b1100_0000 == 0b1000_0000;
    &end[end.iter().take(3).take_while(is_rest).count()..]
}

/// The reason of a line `DECLINED: reason`; emphasis around it is ignored, a quoted line does not count.
fn decline(line: &str) -> Option<&str> {
    let line = line.trim().trim_start_matches(['*', '_', '#', ' ']);
    let reason = line.strip_prefix("DECLINED:")?.trim_matches(['*', '_', ' ', '\t']);
    let placeholder = reason.starts_with('<') && reason.ends_with('>');
    (!reason.is_empty() && !placeholder).then_some(reason)
}

#[cfg(test)]
mod tests {
    use super::{FINAL_MESSAGE_LIMIT, StreamFacts};
    use crate::stream::{AgentEvent, AgentFailure, AgentResult, Text};

    fn text(ordinal: u64, delta: bool, parent: Option<&'static str>, words: &str) -> AgentEvent<'static> {
        AgentEvent::Text(Text {
            ordinal,
            message: None,
            parent: parent.map(Into::into),
            delta,
            text: words.to_owned().into(),
        })
    }

    fn facts(events: &[AgentEvent<'_>]) -> StreamFacts {
        let mut facts = StreamFacts::default();
        events.iter().for_each(|event| facts.observe(event));
        facts
    }

    #[test]
    fn the_last_message_of_the_agents_own_is_kept() {
        let said = |events: &[AgentEvent<'_>]| facts(events).final_message().to_owned();
        assert_eq!(said(&[]), "");
        assert_eq!(said(&[text(0, false, None, "a"), text(1, false, None, "b")]), "b");
        assert_eq!(said(&[text(0, false, None, "a"), text(1, false, None, " \n")]), "a");
        assert_eq!(said(&[text(0, false, None, "a"), text(1, false, Some("t"), "sub")]), "a");
        let pieces =
            [text(0, true, None, "a"), text(0, true, None, "b"), AgentEvent::MessageEnd { ordinal: 0 }];
        assert_eq!(said(&pieces), "ab");
        assert_eq!(said(&[&pieces[..], &[text(1, true, None, "c")]].concat()), "c");
    }

    #[test]
    fn the_last_message_is_bounded_at_a_character_border() {
        let long = "é".repeat(FINAL_MESSAGE_LIMIT);
        assert_eq!(
            facts(&[text(0, false, None, &format!("x{long}"))]).final_message().len(),
            FINAL_MESSAGE_LIMIT - 1
        );
        // What follows a piece that did not fit must not be put behind the gap.
        let pieces: Vec<_> = (0..9000).map(|_| text(0, true, None, "€x")).collect();
        let kept = facts(&pieces).final_message().to_owned();
        assert!("€x".repeat(9000).starts_with(&kept) && kept.len() == FINAL_MESSAGE_LIMIT);
        let pieces: Vec<_> =
            ["x", "€"].into_iter().chain(["€"; 2000]).map(|c| text(0, true, None, c)).collect();
        let more = [&pieces[..], &[text(0, true, None, "x")]].concat();
        assert_eq!(facts(&more).final_message(), facts(&pieces).final_message());
    }

    #[test]
    fn plain_output_keeps_its_end() {
        let mut facts = StreamFacts::default();
        facts.plain(b"DECLINED: too");
        facts.plain(b" big\n");
        assert_eq!(facts.declined(), Some("too big"));
        (0..5000).for_each(|_| facts.plain("é ".as_bytes()));
        facts.plain(b"the end\nDECLINED: no");
        assert!(facts.final_message().ends_with("é the end\nDECLINED: no"));
        assert!((FINAL_MESSAGE_LIMIT - 2..=FINAL_MESSAGE_LIMIT).contains(&facts.final_message().len()));
        assert_eq!(facts.declined(), Some("no"));
        // A long piece is cut at a character border, and bytes that are no text do not hide what is.
        facts.plain(format!("x{}", "é".repeat(FINAL_MESSAGE_LIMIT)).as_bytes());
        assert_eq!(facts.final_message(), "é".repeat(FINAL_MESSAGE_LIMIT / 2));
        facts.plain(format!("{}x", "é".repeat(FINAL_MESSAGE_LIMIT)).as_bytes());
        assert_eq!(facts.final_message(), "é".repeat(FINAL_MESSAGE_LIMIT / 2 - 1) + "x");
        facts.plain(&[&[0x80; 10_000][..], b"\nDECLINED: no"].concat());
        assert_eq!(facts.declined(), Some("no"));
        // What stands far above the end of a log says nothing about its end.
        facts.plain("x\n".repeat(10_000).as_bytes());
        assert_eq!(facts.declined(), None);
    }

    #[test]
    fn declining_takes_a_line_of_the_last_message() {
        for (message, reason) in [
            ("DECLINED: out of scope", Some("out of scope")),
            ("I looked.\n  DECLINED:out of scope \r\nSorry.", Some("out of scope")),
            ("**DECLINED:** out of scope", Some("out of scope")),
            ("**DECLINED: out of scope**", Some("out of scope")),
            ("DECLINED: <reason>", None),
            ("DECLINED:", None),
            ("> DECLINED: quoted", None),
            ("I was DECLINED: no", None),
            ("declined: no", None),
        ] {
            assert_eq!(facts(&[text(0, false, None, message)]).declined(), reason, "{message}");
            let pieces: Vec<_> =
                message.chars().map(|c| text(0, true, None, c.encode_utf8(&mut [0; 4]))).collect();
            let ended = [&pieces[..], &[AgentEvent::MessageEnd { ordinal: 0 }]].concat();
            assert_eq!(facts(&ended).declined(), reason, "{message} in pieces");
        }
        let later = [text(0, false, None, "DECLINED: no"), text(1, false, None, "Well, done.")];
        assert_eq!(facts(&later).declined(), None);
        let far = format!("{}\nDECLINED: no", "x".repeat(100_000));
        assert_eq!(facts(&[text(0, false, None, &far)]).declined(), Some("no"));
    }

    #[test]
    fn an_error_is_over_when_the_model_answers() {
        let failed = || {
            AgentEvent::Failure(Box::new(AgentFailure { message: "oh".into(), ..AgentFailure::default() }))
        };
        assert!(facts(&[failed()]).failure.is_some());
        assert!(facts(&[failed(), text(0, false, None, "on")]).failure.is_none());
        assert!(facts(&[failed(), text(0, false, Some("t"), "on")]).failure.is_some());
        let good = AgentResult { subtype: "success".into(), ..AgentResult::default() };
        assert!(facts(&[failed(), AgentEvent::Result(Box::new(good))]).failure.is_none());
    }
}
