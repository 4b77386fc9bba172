//! The verdict on an attempt, from its end and its marks. Fails closed: silence is no approval, and an unreadable mark is no
//! success.

use super::attempt::{Attempt, AttemptFailure, MarkKind, MarkNote, StepMark};
use crate::outcome::Class;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepRole {
    /// Its verdict ends a loop.
    Review,
    /// It works in a loop that a review ends.
    Work,
    /// It works, without a reviewer.
    Alone,
    /// A command, judged by its exit code.
    Shell,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepVerdict {
    /// With words when a mark said so.
    Completed(Option<String>),
    Skipped(String),
    Approved,
    /// The review failed, with everything it complained about.
    Rejected(String),
    Blocked(String),
    /// A reviewer ended without a verdict.
    NoVerdict(String),
    Failed(AttemptFailure),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptVerdict {
    pub verdict: StepVerdict,
    pub notes: Vec<MarkNote>,
}

impl AttemptVerdict {
    /// Whether emits and updates of the attempt count. Those of an attempt that failed are dropped.
    pub fn keeps_data(&self) -> bool {
        !matches!(self.verdict, StepVerdict::NoVerdict(_) | StepVerdict::Failed(_))
    }
}

pub fn judge_attempt(role: StepRole, attempt: &Attempt) -> AttemptVerdict {
    if let Some(verdict) = failed(attempt) {
        return AttemptVerdict {
            verdict,
            notes: attempt.marks.iter().map(|mark| dropped(mark, attempt)).collect(),
        };
    }
    let mut notes = Vec::new();
    let verdict = by_marks(role, attempt, &mut notes);
    let mut judgement = AttemptVerdict { verdict, notes };
    if !judgement.keeps_data() {
        let data = attempt.marks.iter().filter(|mark| !mark.kind.is_terminal());
        judgement.notes.extend(data.map(|mark| dropped(mark, attempt)));
    }
    judgement
}

fn dropped(mark: &StepMark, attempt: &Attempt) -> MarkNote {
    let refusal = attempt.refusal.as_ref().filter(|refusal| mark.path.as_ref() == Some(&refusal.path));
    let (code, detail) = match (mark.kind, refusal) {
        (MarkKind::Emit, _) if !has_good_key(mark) => ("refused", "its key is no name".to_owned()),
        (MarkKind::Update, Some(refusal)) => ("refused", refusal.why.clone()),
        (_, _) => ("dropped", "its attempt came to nothing".to_owned()),
    };
    MarkNote { code: code.to_owned(), mark: Some(mark.kind.as_str().to_owned()), detail, place: mark.place }
}

fn failed(attempt: &Attempt) -> Option<StepVerdict> {
    let failed = |reason: String| Some(StepVerdict::Failed(AttemptFailure::new(Class::Unknown, reason)));
    if let Some(failure) = &attempt.failure {
        return Some(StepVerdict::Failed(failure.clone()));
    }
    if let Some(note) = attempt.notes.iter().find(|note| is_bad_data(note)) {
        return failed(format!("{} cannot be read: {}", mark_words(note), place_words(note)));
    }
    if let Some(mark) = attempt.marks.iter().find(|mark| mark.kind == MarkKind::Emit && !has_good_key(mark)) {
        let key = mark.key.as_deref().unwrap_or_default();
        return failed(format!(
            "emit has the key {key:?}; write letters, digits, _ and -, parts with a dot between"
        ));
    }
    if let Some(refusal) = &attempt.refusal {
        return failed(format!(
            "update of {:?} is refused, nothing of this step was written: {}",
            refusal.path, refusal.why
        ));
    }
    None
}

/// A broken `emit` or `update`, or a broken mark with an unknown name.
fn is_bad_data(note: &MarkNote) -> bool {
    let broken = is_broken(note);
    match note.mark.as_deref() {
        Some("emit" | "update") => broken,
        Some(_) => false,
        None => {
            broken && ["malformed_tag", "unclosed"].contains(&note.code.as_str()) && note.detail != V2_BLOCK
        }
    }
}

/// The scanner's word for a fence of the older dialect; nothing that a step needs is lost with it.
const V2_BLOCK: &str = "pilot-signal block";

fn is_broken(note: &MarkNote) -> bool {
    ["malformed_tag", "unclosed", "too_large", "too_many"].contains(&note.code.as_str())
}

fn has_good_key(mark: &StepMark) -> bool {
    let key = mark.key.as_deref().unwrap_or_default();
    let letters = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    let begins = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && key.len() <= 64 && key.split('.').all(letters)
}

fn by_marks(role: StepRole, attempt: &Attempt, notes: &mut Vec<MarkNote>) -> StepVerdict {
    let ends: Vec<&StepMark> = attempt.marks.iter().filter(|mark| mark.kind.is_terminal()).collect();
    let ends = without_void_approvals(role, &ends, notes);
    if ends.len() > 1 {
        let names: Vec<&str> = ends.iter().map(|mark| mark.kind.as_str()).collect();
        notes.push(MarkNote {
            code: "multiple_terminals".to_owned(),
            mark: None,
            detail: format!("{}; the worst one counts", names.join(", ")),
            place: ends[1].place,
        });
    }
    let worst = ends.iter().map(|mark| mark.kind).max_by_key(|kind| weight(*kind));
    let words = |kind: MarkKind| -> Vec<String> {
        let said = ends.iter().filter(|mark| mark.kind == kind);
        said.filter_map(|mark| mark.payload.clone()).collect()
    };
    let negative = matches!(worst, Some(MarkKind::Reject | MarkKind::Blocked));
    if let Some(note) =
        attempt.notes.iter().find(|note| is_broken_end(note, worst.is_some())).filter(|_| !negative)
    {
        return no_end(role, format!("{} cannot be read: {}", mark_words(note), place_words(note)));
    }
    match worst {
        Some(MarkKind::Blocked) => {
            StepVerdict::Blocked(joined(&words(MarkKind::Blocked), "no reason was given"))
        }
        Some(MarkKind::Reject) => {
            let why = joined(&words(MarkKind::Reject), "rejected without a reason");
            match role {
                StepRole::Review | StepRole::Work => StepVerdict::Rejected(why),
                StepRole::Alone | StepRole::Shell => {
                    StepVerdict::Failed(AttemptFailure::new(Class::Unknown, format!("rejected: {why}")))
                }
            }
        }
        Some(MarkKind::Approve) => StepVerdict::Approved,
        Some(kind @ (MarkKind::Skip | MarkKind::Completed)) if role == StepRole::Review => {
            StepVerdict::NoVerdict(format!(
                "the reviewer said {} and neither approved nor rejected",
                kind.as_str()
            ))
        }
        Some(MarkKind::Skip) => StepVerdict::Skipped(joined(&words(MarkKind::Skip), "nothing to do")),
        Some(MarkKind::Completed) => {
            StepVerdict::Completed(Some(joined(&words(MarkKind::Completed), "completed")))
        }
        Some(MarkKind::Emit | MarkKind::Update) | None if role == StepRole::Review => {
            StepVerdict::NoVerdict("the reviewer neither approved nor rejected".to_owned())
        }
        Some(MarkKind::Emit | MarkKind::Update) | None => StepVerdict::Completed(None),
    }
}

/// An approval counts from a reviewer only.
fn without_void_approvals<'m>(
    role: StepRole,
    ends: &[&'m StepMark],
    notes: &mut Vec<MarkNote>,
) -> Vec<&'m StepMark> {
    let mut kept = Vec::new();
    for mark in ends {
        if mark.kind == MarkKind::Approve && role != StepRole::Review {
            notes.push(MarkNote {
                code: "ignored".to_owned(),
                mark: Some("approve".to_owned()),
                detail: "only a reviewer approves".to_owned(),
                place: mark.place,
            });
        } else {
            kept.push(*mark);
        }
    }
    kept
}

/// The worse a mark, the more it weighs.
fn weight(kind: MarkKind) -> u8 {
    match kind {
        MarkKind::Emit | MarkKind::Update => 0,
        MarkKind::Completed => 1,
        MarkKind::Skip => 2,
        MarkKind::Approve => 3,
        MarkKind::Reject => 4,
        MarkKind::Blocked => 5,
    }
}

/// A mark that should have said how the step ended. Beside one that can be read, only reject and blocked matter.
fn is_broken_end(note: &MarkNote, has_end: bool) -> bool {
    match note.mark.as_deref() {
        Some("reject" | "blocked") => is_broken(note),
        Some("completed" | "skip" | "approve") => is_broken(note) && !has_end,
        Some(_) | None => false,
    }
}

fn no_end(role: StepRole, reason: String) -> StepVerdict {
    match role {
        StepRole::Review => StepVerdict::NoVerdict(reason),
        StepRole::Work | StepRole::Alone | StepRole::Shell => {
            StepVerdict::Failed(AttemptFailure::new(Class::Unknown, reason))
        }
    }
}

fn joined(words: &[String], none: &str) -> String {
    if words.is_empty() { none.to_owned() } else { words.join("\n\n") }
}

fn mark_words(note: &MarkNote) -> String {
    note.mark.as_ref().map_or_else(|| "a mark".to_owned(), |name| format!("<pilot:{name}>"))
}

fn place_words(note: &MarkNote) -> String {
    let line = note.place.line.map_or_else(String::new, |line| format!(", line {line}"));
    format!("{} at message {}{line}", note.code.replace('_', " "), note.place.message)
}

#[cfg(test)]
mod tests {
    use super::super::step_output::StepReader;
    use super::{Attempt, AttemptFailure, StepRole, StepVerdict, judge_attempt};
    use crate::outcome::Class;
    use crate::run::OutputFormat;

    fn attempt(text: &str) -> Attempt {
        let mut reader = StepReader::new(OutputFormat::Text);
        reader.push(text.as_bytes());
        let (output, ..) = reader.finish();
        Attempt { marks: output.marks, notes: output.notes, ..Attempt::default() }
    }

    /// The verdict in a word, and its words.
    fn shown(role: StepRole, text: &str) -> String {
        match judge_attempt(role, &attempt(text)).verdict {
            StepVerdict::Completed(None) => "silent".to_owned(),
            StepVerdict::Completed(Some(words)) => format!("completed {words}"),
            StepVerdict::Skipped(words) => format!("skipped {words}"),
            StepVerdict::Approved => "approved".to_owned(),
            StepVerdict::Rejected(words) => format!("rejected {words}"),
            StepVerdict::Blocked(words) => format!("blocked {words}"),
            StepVerdict::NoVerdict(_) => "none".to_owned(),
            StepVerdict::Failed(failure) => format!("failed {}", failure.reason),
        }
    }

    #[test]
    fn a_review_passes_by_an_approval_and_by_nothing_else() {
        let reject = "<pilot:reject>bad</pilot:reject>";
        let approve = "<pilot:approve/>";
        for (text, expect) in [
            (approve.to_owned(), "approved"),
            (format!("fine\n\n```\n{approve}\n```\n"), "approved"),
            (format!("{approve}\n<pilot:completed>done</pilot:completed>"), "approved"),
            (format!("{approve}\n<pilot:skip/>"), "approved"),
            (reject.to_owned(), "rejected bad"),
            (format!("{reject}\n{approve}"), "rejected bad"),
            (format!("{approve}\n{reject}"), "rejected bad"),
            (format!("{reject}\n<pilot:reject>worse</pilot:reject>"), "rejected bad\n\nworse"),
            ("<pilot:reject/>".to_owned(), "rejected rejected without a reason"),
            (format!("{approve}\n<pilot:blocked>why</pilot:blocked>\n{reject}"), "blocked why"),
            (
                format!("<pilot:reject>add {approve} later</pilot:reject>"),
                "rejected add <pilot:approve/> later",
            ),
            ("".to_owned(), "none"),
            ("looks good to me".to_owned(), "none"),
            ("<pilot:completed>done</pilot:completed>".to_owned(), "none"),
            ("<pilot:skip/>".to_owned(), "none"),
            (format!("good {approve}"), "none"),
            (format!("`{approve}`"), "none"),
            (format!("> {approve}"), "none"),
            (format!("<!-- {approve} -->"), "none"),
            (format!("```rust\nlet x = 1;\n{approve}\n```"), "none"),
            ("<pilot:reject>cut off".to_owned(), "none"),
            (format!("{approve}\n<pilot:reject>cut off"), "none"),
            (format!("{approve}\n<pilot:blocked reason=x>"), "none"),
            ("<pilot:Approve/>".to_owned(), "none"),
            ("<pilot:approved/>".to_owned(), "none"),
            // Pilot's own card, read aloud.
            (super::super::card::Card::Review.text(), "none"),
        ] {
            assert_eq!(shown(StepRole::Review, &text), expect, "{text}");
        }
    }

    #[test]
    fn a_step_that_works_says_how_it_ended_or_says_nothing() {
        for (text, expect) in [
            ("", "silent"),
            ("all done", "silent"),
            ("<pilot:completed>x</pilot:completed>", "completed x"),
            ("<pilot:completed>x</pilot:completed>\n<pilot:skip>y</pilot:skip>", "skipped y"),
            ("<pilot:skip/>", "skipped nothing to do"),
            ("<pilot:approve/>", "silent"),
            ("<pilot:blocked>need a key</pilot:blocked>", "blocked need a key"),
            ("<pilot:reject>no</pilot:reject>", "failed rejected: no"),
            ("<pilot:completed>x", "failed <pilot:completed> cannot be read: unclosed at message 1, line 1"),
            ("a\n<pilot:blocked", "failed <pilot:blocked> cannot be read: unclosed at message 1, line 2"),
            ("<pilot:emit key=\"a\">x", "failed <pilot:emit> cannot be read: unclosed at message 1, line 1"),
            (
                "<pilot:update>x</pilot:update>",
                "failed <pilot:update> cannot be read: malformed tag at message 1, line 1",
            ),
            ("`<pilot:update>` is a mark", "silent"),
        ] {
            assert_eq!(shown(StepRole::Alone, text), expect, "{text}");
        }
        assert_eq!(shown(StepRole::Work, "<pilot:reject>no</pilot:reject>"), "rejected no");
        for key in ["../../x", "a/b", "9", "a..b", "a b", &"a".repeat(65)] {
            let text = format!("<pilot:emit key=\"{key}\">v</pilot:emit>");
            assert!(shown(StepRole::Alone, &text).starts_with("failed emit has the key"), "{key}");
        }
        assert_eq!(shown(StepRole::Alone, "<pilot:emit key=\"a.b-c_1\">v</pilot:emit>"), "silent");
    }

    #[test]
    fn a_process_that_failed_says_nothing() {
        let failure = Some(AttemptFailure::new(Class::Unknown, "exit 1"));
        let attempt = Attempt { failure, ..attempt("<pilot:approve/>") };
        let judgement = judge_attempt(StepRole::Review, &attempt);
        assert!(matches!(judgement.verdict, StepVerdict::Failed(_)) && !judgement.keeps_data());
    }

    #[test]
    fn what_is_odd_about_marks_is_told() {
        let codes = |role, text: &str| {
            let notes = judge_attempt(role, &attempt(text)).notes;
            notes.into_iter().map(|note| note.code).collect::<Vec<_>>()
        };
        assert_eq!(codes(StepRole::Alone, "<pilot:approve/>"), ["ignored"]);
        assert_eq!(codes(StepRole::Review, "<pilot:approve/>\n<pilot:skip/>"), ["multiple_terminals"]);
        assert_eq!(codes(StepRole::Review, "<pilot:approve/>"), [""; 0]);
        let emit = "<pilot:emit key=\"a\">v</pilot:emit>\n";
        let bad = "<pilot:emit key=\"a/b\">v</pilot:emit>\n";
        let done = "<pilot:completed>x</pilot:completed>\n";
        assert_eq!(codes(StepRole::Alone, &format!("{emit}{bad}{done}")), ["dropped", "refused", "dropped"]);
        assert_eq!(codes(StepRole::Alone, &format!("{emit}<pilot:reject>no</pilot:reject>")), ["dropped"]);
        assert_eq!(codes(StepRole::Review, emit), ["dropped"]);
        assert_eq!(codes(StepRole::Alone, &format!("{emit}{done}")), [""; 0]);
    }
}
