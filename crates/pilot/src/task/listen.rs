//! What an agent prints, turned into what Pilot knows about the run. Decides nothing: it feeds the rooms of the core.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Duration;

use pilot_core::outcome::{Claims, StreamFacts};
use pilot_core::progress::{Change, Progress, ToolUse};
use pilot_core::prompt::is_echo;
use pilot_core::signal::{Diagnostic, Found, Scanner, Signal, Stripper};
use pilot_core::stagnation::{AgentClaim, DiffDigest, Monitor, StagnationConfig, State, Verdict};
use pilot_core::stream::{AgentEvent, Decoder, LineReader, Text, Usage};
use pilot_exec::backend::Output;

use crate::arguments::Arguments;

/// How much of a message is kept to say where its marks went wrong.
const GARBLED_LIMIT: usize = 64 * 1024;
/// How many marks that cannot be read are kept.
const MOST_MALFORMED: usize = 16;

/// What happened that somebody may want to see.
#[derive(Debug)]
pub(crate) enum Heard {
    /// The agent said something to people, without its marks.
    Said(String),
    /// It used a tool.
    Tool(String),
    /// Phase or percent changed.
    Progress(Change),
    /// It waits for the model.
    Retry(String),
    /// The monitor changed its mind.
    Stagnation(Verdict),
}

/// Everything that is known of one run of an agent.
pub(crate) struct Listener {
    lines: LineReader,
    decoder: Option<Decoder>,
    scanner: Scanner,
    /// The text without marks, when somebody reads it.
    stripper: Option<Stripper>,
    pub(crate) facts: StreamFacts,
    pub(crate) claims: Claims,
    pub(crate) progress: Progress,
    pub(crate) monitor: Monitor,
    state: State,
    reported: bool,
    /// Whether what the agent said ended in the middle of a line.
    mid_line: bool,
    /// Tools and background tasks that run now: silence is expected meanwhile.
    busy: BTreeSet<String>,
    heard: Vec<Heard>,
    at: Duration,
    /// What the sessions before this one used.
    spent: Option<Usage>,
    /// How often an agent was started.
    pub(crate) sessions: u64,
    /// The beginning of the message that is being said, and of the one whose marks could not be read, with these.
    saying: Vec<u8>,
    said: Vec<u8>,
    pub(crate) garbled: String,
    pub(crate) malformed: Vec<Diagnostic>,
    aloud: bool,
}

impl Listener {
    /// `aloud`: somebody wants to know what the agent says.
    pub(crate) fn new(stagnation: StagnationConfig, aloud: bool) -> Listener {
        Listener {
            lines: LineReader::new(),
            decoder: None,
            scanner: Scanner::new(),
            stripper: None,
            facts: StreamFacts::new(),
            claims: Claims::new(),
            progress: Progress::new(),
            monitor: Monitor::new(stagnation),
            state: State::default(),
            reported: false,
            mid_line: false,
            busy: BTreeSet::new(),
            heard: Vec::new(),
            at: Duration::ZERO,
            spent: None,
            sessions: 0,
            saying: Vec::new(),
            said: Vec::new(),
            garbled: String::new(),
            malformed: Vec::new(),
            aloud,
        }
    }

    /// What was used before its first session.
    pub(crate) fn after(self, used: Option<Usage>) -> Listener {
        Listener { spent: used.filter(|used| *used != Usage::default()), ..self }
    }

    /// A session begins. Progress and the look for stagnation go on; what the one before said counts no more.
    pub(crate) fn begin(&mut self, output: Output, resumed: bool) {
        self.sessions += 1;
        let before = self.facts.session_usage();
        self.spent = Some(self.usage()).filter(|used| *used != Usage::default());
        let decoder = match output {
            Output::StreamJson(agent) => Some(Decoder::new(agent)),
            Output::Detected => Some(Decoder::detecting()),
            Output::Text => None,
        };
        self.decoder = decoder.map(|decoder| if resumed { decoder.resuming(before) } else { decoder });
        self.lines = LineReader::new();
        self.scanner = Scanner::new();
        self.stripper = self.aloud.then(Stripper::new);
        self.facts = StreamFacts::new();
        self.claims = Claims::new();
        self.saying.clear();
        self.said.clear();
        self.malformed.clear();
        self.mid_line = false;
        for id in std::mem::take(&mut self.busy) {
            self.monitor.background_ended(&id, self.at);
        }
    }

    /// The agent's last message, as far as it is kept.
    pub(crate) fn last_said(&self) -> String {
        lossy(&self.said).into_owned()
    }

    /// What the run used so far, in all its sessions.
    pub(crate) fn usage(&self) -> Usage {
        let now = self.facts.usage().usage;
        match self.spent {
            // A session that never reached its model cost nothing.
            Some(spent) if now == Usage::default() => spent,
            Some(spent) => spent.plus(&now),
            None => now,
        }
    }

    /// Whether something runs that explains silence.
    pub(crate) fn is_busy(&self) -> bool {
        !self.busy.is_empty()
    }

    /// The agent whose output this turned out to be.
    pub(crate) fn agent(&self) -> Option<pilot_core::stream::Agent> {
        self.decoder.as_ref().and_then(Decoder::agent)
    }

    /// Takes bytes of standard output, at a time since the start.
    pub(crate) fn stdout(&mut self, bytes: &[u8], at: Duration) -> Vec<Heard> {
        self.at = at;
        match self.decoder.take() {
            None => self.plain(bytes),
            Some(mut decoder) => {
                let mut lines = std::mem::take(&mut self.lines);
                lines.push(bytes, &mut |line| decoder.line(line, &mut |event| self.event(&event)));
                (self.lines, self.decoder) = (lines, Some(decoder));
            }
        }
        std::mem::take(&mut self.heard)
    }

    /// The output is over.
    pub(crate) fn finish(&mut self, at: Duration) -> Vec<Heard> {
        self.at = at;
        match self.decoder.take() {
            None => self.end_message(),
            Some(mut decoder) => {
                let mut lines = std::mem::take(&mut self.lines);
                lines.finish(&mut |line| decoder.line(line, &mut |event| self.event(&event)));
                decoder.finish(&mut |event| self.event(&event));
                self.end_message();
                self.decoder = Some(decoder);
            }
        }
        std::mem::take(&mut self.heard)
    }

    /// A person lets the run go on after a pause.
    pub(crate) fn resumed(&mut self, at: Duration) {
        self.monitor.resumed(at);
    }

    /// Time passed.
    pub(crate) fn tick(&mut self, at: Duration) -> Vec<Heard> {
        let verdict = self.monitor.tick(at);
        self.judge(verdict);
        std::mem::take(&mut self.heard)
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
            AgentEvent::ToolUse { id, name, input, .. } => self.tool(id, name, input),
            AgentEvent::ToolResult { id, .. } => self.idle(id),
            AgentEvent::TaskStarted { id, background: true, .. } => self.busy_with(id),
            AgentEvent::TaskEnded { id, .. } => self.idle(id),
            AgentEvent::Retry { attempt, class, delay_ms, .. } => {
                let wait =
                    delay_ms.map_or_else(String::new, |ms| format!(", in {:.1} s", ms as f64 / 1000.0));
                self.heard
                    .push(Heard::Retry(format!("the model did not answer ({class}), retry {attempt}{wait}")));
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
            | AgentEvent::Result(_)
            | AgentEvent::Failure(_)
            | AgentEvent::Notice { .. }
            | AgentEvent::Alive
            | AgentEvent::Unknown { .. }
            | AgentEvent::Undecodable { .. } => {}
        }
    }

    /// Output without a format is one long message.
    fn plain(&mut self, bytes: &[u8]) {
        self.facts.plain(bytes);
        self.say(bytes);
        self.take_signals();
        self.report();
    }

    fn say(&mut self, bytes: &[u8]) {
        self.scanner.push(bytes);
        let room = GARBLED_LIMIT.saturating_sub(self.saying.len());
        self.saying.extend_from_slice(&bytes[..bytes.len().min(room)]);
        let Some(stripper) = &mut self.stripper else { return };
        let mut said = Vec::new();
        stripper.push(bytes, &mut said);
        self.heard_text(&said);
    }

    fn heard_text(&mut self, said: &[u8]) {
        if let Some(last) = said.last() {
            self.mid_line = *last != b'\n';
            self.heard.push(Heard::Said(lossy(said).into_owned()));
        }
    }

    fn end_message(&mut self) {
        if let Some(stripper) = &mut self.stripper {
            let mut said = Vec::new();
            stripper.finish(&mut said);
            self.heard_text(&said);
        }
        if self.mid_line {
            self.heard_text(b"\n");
        }
        self.scanner.finish();
        self.take_signals();
        if !self.saying.is_empty() {
            self.said = std::mem::take(&mut self.saying);
        }
        self.report();
    }

    fn take_signals(&mut self) {
        while let Some(found) = self.scanner.next_found() {
            match found {
                // A mark that repeats a sample of our own prompt is an echo.
                Found::Signal(signal) if !is_echo(&signal) => self.signal(&signal),
                Found::Diagnostic(diagnostic) if diagnostic.may_hide_an_end() => self.garble(diagnostic),
                Found::Signal(_) | Found::Diagnostic(_) | Found::Wrapper(_) => {}
            }
        }
    }

    /// A mark could not be read. Those of the last message that has any are kept.
    fn garble(&mut self, diagnostic: Diagnostic) {
        let message = lossy(&self.saying);
        if message != self.garbled {
            self.garbled = message.into_owned();
            self.malformed.clear();
        }
        if self.malformed.len() < MOST_MALFORMED {
            self.malformed.push(diagnostic);
        }
    }

    fn signal(&mut self, signal: &Signal) {
        self.claims.observe(signal);
        if let Some(change) = self.progress.on_signal(signal) {
            self.heard.push(Heard::Progress(change));
        }
        if let Some(claim) = AgentClaim::of(signal) {
            let verdict = self.monitor.agent_says_stuck(claim, self.at);
            self.judge(verdict);
        }
        self.reported |= self.state.absorb(signal);
    }

    /// One report a message, however often it repeats itself.
    fn report(&mut self) {
        if std::mem::take(&mut self.reported) {
            let verdict = self.monitor.report(&self.state, self.at);
            self.judge(verdict);
        }
    }

    fn tool(&mut self, id: &str, name: &str, input: &str) {
        let arguments = Arguments::of(input);
        let tool = ToolUse { name, command: arguments.command.as_deref(), path: arguments.path.as_deref() };
        if let Some(change) = self.progress.on_tool(&tool) {
            self.heard.push(Heard::Progress(change));
        }
        if arguments.path.is_some() && is_edit(name) {
            let verdict = self.monitor.changes_seen(DiffDigest::of(input.as_bytes()), self.at);
            self.judge(verdict);
        }
        let about = arguments.about().unwrap_or_default();
        self.heard.push(Heard::Tool(format!("{name} {about}").trim_end().to_owned()));
        self.busy_with(id);
    }

    fn busy_with(&mut self, id: &str) {
        if !id.is_empty() && self.busy.len() < 1024 && self.busy.insert(id.to_owned()) {
            let verdict = self.monitor.background_started(id, self.at);
            self.judge(verdict);
        }
    }

    fn idle(&mut self, id: &str) {
        if self.busy.remove(id) {
            let verdict = self.monitor.background_ended(id, self.at);
            self.judge(verdict);
        }
    }

    fn judge(&mut self, verdict: Verdict) {
        if verdict.changed() {
            self.heard.push(Heard::Stagnation(verdict));
        }
    }
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
