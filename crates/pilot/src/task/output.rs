//! What the sessions of a run print, turned into what Pilot knows of the run. Decides nothing: it feeds rooms of the core.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Duration;

use pilot_core::outcome::{Claims, StreamFacts};
use pilot_core::progress::{Change, Progress, ToolUse};
use pilot_core::prompt::is_echo;
use pilot_core::run::{OutputEvent, OutputFormat, OutputMessage, OutputReader};
use pilot_core::signal::{Diagnostic, Signal, Stripper, strip, words};
use pilot_core::stagnation::{
    AgentClaim, DiffDigest, ErrorDigest, Monitor, RunState as StagnationState, StagnationConfig,
    StagnationVerdict,
};
use pilot_core::stream::{Agent, Usage};

use crate::printable;
use crate::tool_call::Arguments;

/// How much of the last message the daemon gets, in columns.
const LAST_MESSAGE: usize = 200;
/// How much of a message is kept for the next prompt or as an answer.
const MESSAGE_LIMIT: usize = 64 * 1024;
const MOST_MALFORMED: usize = 16;
/// How many different edits are told apart; beyond them the digest stays.
const MOST_EDITS: usize = 4096;
/// How many different mistakes in marks are logged for a run.
const MOST_MARKS: usize = 50;

#[derive(Debug)]
pub(crate) enum OutputNotice {
    /// Text of the agent without its marks.
    Text(String),
    Tool(String),
    Progress(Change),
    Retry(String),
    /// A mark that does not count, or not as it was written.
    Mark(String),
    Stagnation(StagnationVerdict),
}

pub(crate) struct RunOutput {
    reader: OutputReader,
    pub(crate) state: OutputState,
    /// What the sessions before this one used.
    spent: Option<Usage>,
    pub(crate) sessions: u64,
    verbose: bool,
}

/// What is known of the run; claims and messages are those of the current session.
pub(crate) struct OutputState {
    pub(crate) claims: Claims,
    pub(crate) progress: Progress,
    pub(crate) monitor: Monitor,
    /// The last message, as far as it is kept, and the same on one line without its marks.
    pub(crate) last_message: String,
    pub(crate) last_line: String,
    /// The last message with unreadable marks, and these.
    pub(crate) malformed_message: String,
    pub(crate) malformed: Vec<Diagnostic>,
    /// The different edits so far.
    edits: BTreeSet<DiffDigest>,
    /// The mistakes in marks that were told.
    marks: BTreeSet<String>,
    /// What the last signal of the message under way says to people.
    signal_message: Option<String>,
    /// Strips marks from the text, when it is shown.
    stripper: Option<Stripper>,
    /// Whether the shown text ended in the middle of a line.
    mid_line: bool,
    reported: StagnationState,
    has_report: bool,
    notices: Vec<OutputNotice>,
    at: Duration,
}

impl RunOutput {
    /// `spent` was used before the first session; `verbose` when the agent's text is shown.
    pub(crate) fn new(stagnation: StagnationConfig, spent: Option<Usage>, verbose: bool) -> RunOutput {
        RunOutput {
            reader: OutputReader::new(OutputFormat::Text),
            state: OutputState {
                claims: Claims::default(),
                progress: Progress::default(),
                monitor: Monitor::new(stagnation),
                last_message: String::new(),
                last_line: String::new(),
                malformed_message: String::new(),
                malformed: Vec::new(),
                edits: BTreeSet::new(),
                marks: BTreeSet::new(),
                signal_message: None,
                stripper: None,
                mid_line: false,
                reported: StagnationState::default(),
                has_report: false,
                notices: Vec::new(),
                at: Duration::ZERO,
            },
            spent: spent.filter(|used| *used != Usage::default()),
            sessions: 0,
            verbose,
        }
    }

    /// A session begins. Progress and the watch for stagnation continue, claims and messages start empty.
    pub(crate) fn begin(&mut self, format: OutputFormat, resumed: bool) {
        self.sessions += 1;
        self.spent = Some(self.usage()).filter(|used| *used != Usage::default());
        let before = self.facts().session_usage();
        let state = &mut self.state;
        for id in self.reader.busy() {
            state.monitor.background_ended(id, state.at);
        }
        let reader = OutputReader::new(format);
        self.reader = if resumed { reader.resuming(before) } else { reader };
        state.claims = Claims::default();
        state.last_message.clear();
        state.malformed.clear();
        state.stripper = self.verbose.then(Stripper::default);
        state.mid_line = false;
    }

    pub(crate) fn facts(&self) -> &StreamFacts {
        self.reader.facts()
    }

    pub(crate) fn usage(&self) -> Usage {
        let now = self.facts().usage().usage;
        match self.spent {
            // A session that never reached its model cost nothing.
            Some(spent) if now == Usage::default() => spent,
            Some(spent) => spent.plus(&now),
            None => now,
        }
    }

    pub(crate) fn is_busy(&self) -> bool {
        !self.reader.busy().is_empty()
    }

    /// The agent whose output this turned out to be.
    pub(crate) fn agent(&self) -> Option<Agent> {
        self.reader.agent()
    }

    /// Takes bytes of standard output; `at` is the time since the run began.
    pub(crate) fn push(&mut self, bytes: &[u8], at: Duration) -> Vec<OutputNotice> {
        let RunOutput { reader, state, .. } = self;
        state.at = at;
        reader.push(bytes, &mut |event| state.take_event(event));
        if reader.is_plain() {
            // Plain text is one long message.
            state.report();
        }
        std::mem::take(&mut state.notices)
    }

    pub(crate) fn finish(&mut self, at: Duration) -> Vec<OutputNotice> {
        let RunOutput { reader, state, .. } = self;
        state.at = at;
        reader.finish(&mut |event| state.take_event(event));
        std::mem::take(&mut state.notices)
    }

    pub(crate) fn tick(&mut self, at: Duration) -> Vec<OutputNotice> {
        let verdict = self.state.monitor.tick(at);
        self.state.notice_stagnation(verdict);
        std::mem::take(&mut self.state.notices)
    }
}

impl OutputState {
    fn take_event(&mut self, event: OutputEvent<'_>) {
        match event {
            OutputEvent::Text(bytes) => {
                if let Some(stripper) = &mut self.stripper {
                    let mut text = Vec::new();
                    stripper.push(bytes, &mut text);
                    self.show_text(&text);
                }
            }
            // A mark that repeats a sample of our own prompt is an echo.
            OutputEvent::Signal(signal, _) if is_echo(&signal) => {}
            OutputEvent::Signal(signal, _) => self.take_signal(&signal),
            OutputEvent::Diagnostic(diagnostic, message) => {
                self.notice_mark(&diagnostic);
                if diagnostic.may_hide_an_end() {
                    self.keep_malformed(diagnostic, message);
                }
            }
            OutputEvent::MessageEnd(message) => self.end_message(message),
            OutputEvent::ToolUse { name, input } => self.take_tool(name, input),
            OutputEvent::ToolFailed(error) => self.reported.last_error = Some(ErrorDigest::of(error)),
            OutputEvent::Busy(id) => {
                let verdict = self.monitor.background_started(id, self.at);
                self.notice_stagnation(verdict);
            }
            OutputEvent::Idle(id) => {
                let verdict = self.monitor.background_ended(id, self.at);
                self.notice_stagnation(verdict);
            }
            OutputEvent::Retry { attempt, class, delay_ms } => {
                let wait =
                    delay_ms.map_or_else(String::new, |ms| format!(", in {:.1} s", ms as f64 / 1000.0));
                let words = format!("the model did not answer ({class}), retry {attempt}{wait}");
                self.notices.push(OutputNotice::Retry(words));
            }
            OutputEvent::Result(_) => {}
        }
    }

    fn show_text(&mut self, text: &[u8]) {
        if let Some(last) = text.last() {
            self.mid_line = *last != b'\n';
            self.notices.push(OutputNotice::Text(lossy(text).into_owned()));
        }
    }

    fn end_message(&mut self, message: &OutputMessage) {
        if let Some(stripper) = &mut self.stripper {
            let mut text = Vec::new();
            stripper.finish(&mut text);
            self.show_text(&text);
        }
        if self.mid_line {
            self.show_text(b"\n");
        }
        let text = kept(message);
        let said = self.signal_message.take().unwrap_or_else(|| lossy(&strip(text)).into_owned());
        self.last_line = printable::line(&said, LAST_MESSAGE);
        self.last_message = lossy(text).into_owned();
        self.report();
    }

    /// Unreadable marks of the last message that has any are kept.
    fn keep_malformed(&mut self, diagnostic: Diagnostic, message: &OutputMessage) {
        let text = lossy(kept(message));
        if text != self.malformed_message {
            self.malformed_message = text.into_owned();
            self.malformed.clear();
        }
        if self.malformed.len() < MOST_MALFORMED {
            self.malformed.push(diagnostic);
        }
    }

    /// Each kind of mistake once: an agent repeats its mistakes.
    fn notice_mark(&mut self, diagnostic: &Diagnostic) {
        let words = words::diagnostic(diagnostic);
        if self.marks.len() < MOST_MARKS && self.marks.insert(words.clone()) {
            self.notices.push(OutputNotice::Mark(words));
        }
    }

    fn take_signal(&mut self, signal: &Signal) {
        if let Some(message) = signal.message.as_ref().filter(|message| !message.trim().is_empty()) {
            self.signal_message = Some(message.clone());
        }
        self.claims.observe(signal);
        if let Some(change) = self.progress.on_signal(signal) {
            self.notices.push(OutputNotice::Progress(change));
        }
        if let Some(claim) = AgentClaim::of(signal) {
            let verdict = self.monitor.agent_says_stuck(claim, self.at);
            self.notice_stagnation(verdict);
        }
        self.has_report |= self.reported.absorb(signal);
    }

    /// One report a message, however often the message repeats itself.
    fn report(&mut self) {
        if std::mem::take(&mut self.has_report) {
            let verdict = self.monitor.report(&self.reported, self.at);
            self.notice_stagnation(verdict);
        }
    }

    fn take_tool(&mut self, name: &str, input: &str) {
        let arguments = Arguments::of(input);
        let tool = ToolUse { name, command: arguments.command.as_deref(), path: arguments.path.as_deref() };
        if let Some(change) = self.progress.on_tool(&tool) {
            self.notices.push(OutputNotice::Progress(change));
        }
        if arguments.path.is_some() && is_edit(name) {
            let change = input.as_bytes();
            let edit = DiffDigest::of(change);
            // The same edit once more changes nothing.
            if self.edits.len() < MOST_EDITS && self.edits.insert(edit) {
                self.reported.diff = Some(self.reported.diff.map_or(edit, |diff| diff.then(change)));
            }
            let verdict = self.monitor.changes_seen(edit, self.at);
            self.notice_stagnation(verdict);
        }
        let about = arguments.about().unwrap_or_default();
        self.notices.push(OutputNotice::Tool(format!("{name} {about}").trim_end().to_owned()));
    }

    fn notice_stagnation(&mut self, verdict: StagnationVerdict) {
        if verdict.changed() {
            self.notices.push(OutputNotice::Stagnation(verdict));
        }
    }
}

fn kept(message: &OutputMessage) -> &[u8] {
    &message.text[..message.text.len().min(MESSAGE_LIMIT)]
}

/// The bytes as text. The check that nearly all output passes is several times as fast as the repair.
fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Whether a tool changes files, so that new arguments are a new change.
fn is_edit(name: &str) -> bool {
    let name = name.to_lowercase();
    ["edit", "write", "replace", "patch", "file_change"].iter().any(|word| name.contains(word))
}
