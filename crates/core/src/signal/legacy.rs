//! The status block of the legacy dialect: `Label: value` lines under a title.

use serde_json::{Map, Value};

use super::event::{Code, Diagnostic, Found, Kind, Protocol, Signal, Span};
use super::json::{RoundedNumber, SignalDraft};
use super::line;
use crate::phase::Phase;

/// A block has no more lines than this.
const BLOCK_LINES: usize = 40;
/// A longer line is no field.
const FIELD_BYTES: usize = 4096;
/// Longer labels are sentences.
const LABEL_BYTES: usize = 60;

const INDICATORS: [(&str, &str); 6] = [
    ("Code changes committed", "code_committed"),
    ("Tests passing", "tests_passing"),
    ("Code simplified", "code_simplified"),
    ("Documentation updated", "docs_updated"),
    ("Ticket closed", "ticket_closed"),
    ("Marker created", "marker_created"),
];

/// What a line does to a block.
#[derive(Debug, PartialEq)]
pub(super) enum BlockStep {
    /// It belongs to the block, or is passed over.
    Goes,
    /// It is the last line of the block.
    EndsWith,
    /// The block ended before it.
    EndedBefore,
}

/// A status block that is being read.
#[derive(Debug)]
pub(super) struct LegacyBlock {
    start: u64,
    title: Span,
    end: u64,
    lines: usize,
    blanks: usize,
    rule_below: bool,
    fields: Vec<(String, String)>,
    indicators: Map<String, Value>,
    /// Samples in it that do not count.
    notes: Vec<Diagnostic>,
    /// Everything below the title, in case the block turns out to be none.
    below: Vec<u8>,
}

impl LegacyBlock {
    /// A block whose title stands at `title`, with the rule above it, if any, starting at `start`.
    pub(super) fn new(start: u64, title: Span) -> LegacyBlock {
        LegacyBlock {
            start,
            title,
            end: title.end,
            lines: 0,
            blanks: 0,
            rule_below: false,
            fields: Vec::new(),
            indicators: Map::new(),
            notes: Vec::new(),
            below: Vec::new(),
        }
    }

    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// Takes the next line, which starts at offset `at` and holds no fence, comment or tag; `raw` is the line with its
    /// ending, `notes` are samples in it.
    pub(super) fn line(&mut self, text: &[u8], raw: &[u8], at: u64, notes: Vec<Diagnostic>) -> BlockStep {
        let step = self.step(text, at + text.trim_ascii_end().len() as u64);
        if step != BlockStep::EndedBefore {
            self.lines += 1;
            self.notes.extend(notes);
            self.below.extend_from_slice(raw);
        }
        step
    }

    fn step(&mut self, text: &[u8], end: u64) -> BlockStep {
        if line::is_blank(text) {
            self.blanks += 1;
            return if self.blanks == 2 { BlockStep::EndedBefore } else { BlockStep::Goes };
        }
        if self.lines == BLOCK_LINES || text.len() > FIELD_BYTES || is_mark(text) {
            return BlockStep::EndedBefore;
        }
        if line::is_rule(text) {
            self.end = end;
            if self.rule_below || self.has_content() {
                return BlockStep::EndsWith;
            }
            self.rule_below = true;
            return BlockStep::Goes;
        }
        if self.field(&String::from_utf8_lossy(text)) {
            (self.end, self.blanks) = (end, 0);
            BlockStep::Goes
        } else if self.blanks > 0 {
            BlockStep::EndedBefore
        } else {
            BlockStep::Goes
        }
    }

    fn has_content(&self) -> bool {
        !self.fields.is_empty() || !self.indicators.is_empty()
    }

    /// Reads a field or an indicator; false when the line is neither.
    fn field(&mut self, line: &str) -> bool {
        let line = without_list_mark(line.trim());
        if let Some((done, label)) = checkbox(line) {
            let key = indicator_key(without_note(label).replace('*', "").trim());
            if key.is_empty() {
                return false;
            }
            self.indicators.insert(key, Value::Bool(done));
            return true;
        }
        let plain = line.replace('*', "");
        let Some((label, value)) = plain.split_once(':') else { return false };
        let label = label.trim();
        let is_label = label.len() <= LABEL_BYTES
            && label.starts_with(|c: char| c.is_alphabetic())
            && label.chars().all(|c| c.is_alphanumeric() || " _-/".contains(c))
            && (value.is_empty() || value.starts_with(|c: char| c.is_ascii_whitespace()));
        if is_label {
            self.fields.push((label.to_owned(), without_note(value)));
        }
        is_label
    }

    fn get(&self, label: &str) -> Option<&str> {
        let field = self.fields.iter().find(|(name, _)| name == label);
        field.map(|(_, value)| value.as_str())
    }

    /// What the block says; without a phase it is none, and everything below its title is given back.
    pub(super) fn finish(mut self) -> Result<Vec<Found>, Malformed> {
        let phase = self.get("Phase").filter(|phase| !phase.is_empty());
        let Some(phase) = phase.map(Phase::parse) else {
            let diagnostic = Diagnostic {
                code: Code::MalformedLegacy,
                protocol: Protocol::Legacy,
                detail: "no Phase line".to_owned(),
                span: self.title,
            };
            return Err(Malformed { diagnostic, below: self.below });
        };
        let span = Span { start: self.start, end: self.end };
        let mut draft = SignalDraft {
            signal: Signal { phase: Some(phase), ..Signal::new(Protocol::Legacy, Kind::Status, span) },
            diagnostics: Vec::new(),
        };
        if let Some(value) = self.get("Iteration") {
            read_iteration(value, &mut draft);
        }
        if let Some(value) = self.get("Progress") {
            match progress_number(value) {
                Some(number) => {
                    let whole = draft.whole("progress", number);
                    draft.signal.progress = Some(draft.clamp(whole));
                }
                None => draft.note(Code::BadField, "progress"),
            }
        }
        if self.get("EXIT_SIGNAL") == Some("true") {
            draft.signal.exit_signal = Some(true);
        }
        if !self.indicators.is_empty() {
            draft.signal.indicators = Some(std::mem::take(&mut self.indicators));
        }
        let mut found = vec![Found::Signal(Box::new(draft.signal))];
        found.extend(draft.diagnostics.into_iter().chain(self.notes).map(Found::Diagnostic));
        Ok(found)
    }
}

/// A block without a phase.
#[derive(Debug)]
pub(super) struct Malformed {
    pub(super) diagnostic: Diagnostic,
    /// The text below its title, to be read as what it is.
    pub(super) below: Vec<u8>,
}

/// Whether a line is another mark.
fn is_mark(text: &[u8]) -> bool {
    let trimmed = text.trim_ascii();
    line::is_v3(trimmed) || line::is_legacy(trimmed) && trimmed != b"EXIT_SIGNAL: true"
}

fn without_list_mark(line: &str) -> &str {
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let numbered = (1..=9).contains(&digits).then(|| line[digits..].strip_prefix(['.', ')'])).flatten();
    let rest = numbered.or_else(|| line.strip_prefix(['-', '*', '+', '•']));
    rest.filter(|rest| rest.starts_with([' ', '\t'])).map_or(line, str::trim_start)
}

/// A value without its notes in round brackets.
fn without_note(value: &str) -> String {
    let (mut out, mut rest) = (String::new(), value);
    while let Some(open) = rest.find('(')
        && let Some(length) = rest[open..].find(')')
    {
        out.push_str(&rest[..open]);
        rest = &rest[open + length + 1..];
    }
    out.push_str(rest);
    out.trim().to_owned()
}

fn checkbox(line: &str) -> Option<(bool, &str)> {
    let done = line.strip_prefix("[x]").or_else(|| line.strip_prefix("[X]"));
    done.map(|label| (true, label)).or_else(|| line.strip_prefix("[ ]").map(|label| (false, label)))
}

fn indicator_key(label: &str) -> String {
    if let Some((_, key)) = INDICATORS.iter().find(|(known, _)| *known == label) {
        return (*key).to_owned();
    }
    let lower = label.to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.join("_")
}

fn read_iteration(value: &str, draft: &mut SignalDraft) {
    let (now, planned) = match value.split_once('/') {
        Some((now, planned)) => (now, Some(planned)),
        None => (value, None),
    };
    match RoundedNumber::parse(now.trim()) {
        Some(number) => draft.signal.iteration = Some(draft.whole("iteration", number)),
        None => draft.note(Code::BadField, "iteration"),
    }
    match planned.map(|planned| RoundedNumber::parse(planned.trim())) {
        Some(Some(number)) => {
            draft.signal.max_iterations = Some(draft.whole("max_iterations", number));
        }
        Some(None) if draft.signal.iteration.is_some() => draft.note(Code::BadField, "max_iterations"),
        Some(None) | None => {}
    }
}

/// The first number before a `%`, else the bare number.
fn progress_number(value: &str) -> Option<RoundedNumber> {
    for (at, _) in value.match_indices('%') {
        let before = value[..at].trim_end();
        let digits = before.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').len();
        let number = before[digits..].trim_start_matches('.');
        let signed = before[..digits].ends_with(['-', '+'])
            && !before[..digits - 1].ends_with(|c: char| c.is_alphanumeric() || c == '.');
        let from = before.len() - number.len() - usize::from(signed && number.len() == before.len() - digits);
        if let Some(number) = RoundedNumber::parse(&before[from..]) {
            return Some(number);
        }
    }
    RoundedNumber::parse(value.trim())
}

#[cfg(test)]
mod tests {
    use super::{indicator_key, progress_number, without_note};

    #[test]
    fn progress_is_the_number_before_the_percent_sign() {
        for (value, expect) in [
            ("45%", Some(45)),
            ("  45 %", Some(45)),
            ("███░░ 60%", Some(60)),
            ("-20%", Some(-20)),
            ("50-60%", Some(60)),
            ("62.5%", Some(62)),
            ("about 7 of 9, 70% or 80%", Some(70)),
            ("% 30%", Some(30)),
            ("45", Some(45)),
            ("almost", None),
            ("%", None),
        ] {
            assert_eq!(progress_number(value).map(|number| number.value), expect, "{value:?}");
        }
    }

    #[test]
    fn labels_become_keys() {
        assert_eq!(indicator_key("Tests passing"), "tests_passing");
        assert_eq!(indicator_key("Documentation updated"), "docs_updated");
        assert_eq!(indicator_key("Lint: clean & quick"), "lint_clean_quick");
        assert_eq!(without_note(" IMPL (2 of 3)"), "IMPL");
        assert_eq!(without_note("(x) IMPL (y"), "IMPL (y");
    }
}
