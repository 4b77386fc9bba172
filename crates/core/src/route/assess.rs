//! How much work a task is, from what its ticket says and looks like.
//!
//! Words of the title count most; words of the body a little, and never towards trivial: "also fix the typo" makes nothing
//! small. Size and structure count for what they are. Points add up, and each is a reason.

use super::Complexity;
use super::epic::{self, Epic};
use super::reason::{RouteReason, TicketPart};
use super::shape::{TicketShape, shape};
use super::words::{Hit, PhraseMeaning, hits};
use crate::text::{strip_hidden, truncate};

#[derive(Clone, Copy, Debug)]
pub struct TaskText<'t> {
    pub title: &'t str,
    pub body: &'t str,
    pub labels: &'t [String],
}

/// What a ticket says about the work, with the reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assessment {
    pub complexity: Complexity,
    pub reasons: Vec<RouteReason>,
}

/// The most of a title and of a body that is looked at, in bytes.
const TITLE_LIMIT: usize = 1024;
const BODY_LIMIT: usize = 64 * 1024;

/// From here on the work is complex; up to there it is simple.
const COMPLEX: i32 = 3;
const SIMPLE: i32 = -2;

/// A longer ticket is not trivial, whatever its title says.
const TRIVIAL_WORDS: usize = 150;

pub fn assess(task: &TaskText<'_>) -> Assessment {
    let title = strip_hidden(truncate(task.title, TITLE_LIMIT));
    let body = strip_hidden(truncate(task.body, BODY_LIMIT));
    let shape = shape(&body);
    match epic::look(&title, &body, task.labels, &shape) {
        Epic::Yes(reason) => return Assessment { complexity: Complexity::Epic, reasons: vec![reason] },
        Epic::AsOne(reasons) => return Assessment { complexity: Complexity::Complex, reasons },
        Epic::No => {}
    }
    let (kind, words) = conventional(epic::untagged(&title));
    let mut tally = ReasonTally::default();
    tally.kind(kind);
    tally.title(&hits(words));
    tally.body(&hits(&body));
    tally.labels(task.labels);
    tally.shape(&shape, words);
    tally.sum_up(&shape)
}

#[derive(Default)]
struct ReasonTally {
    points: i32,
    reasons: Vec<RouteReason>,
    is_trivial: bool,
}

impl ReasonTally {
    fn add(&mut self, points: i32, reason: RouteReason) {
        self.points += points;
        self.reasons.push(reason);
    }

    fn kind(&mut self, kind: Option<WorkKind>) {
        let Some(WorkKind { name, breaking }) = kind else { return };
        let points = match name.as_str() {
            "docs" | "chore" | "style" | "test" | "ci" | "build" => -2,
            "refactor" => 2,
            _ => 0,
        } + if breaking { 2 } else { 0 };
        if points != 0 {
            let kind = if breaking { format!("{name}!") } else { name };
            self.add(points, RouteReason::Kind { kind, points });
        }
    }

    fn title(&mut self, hits: &[Hit]) {
        let has_deed = hits.iter().any(|hit| hit.meaning == PhraseMeaning::ComplexDeed);
        let sounds_trivial = hits.iter().any(|hit| hit.meaning == PhraseMeaning::Trivial) && !has_deed;
        self.is_trivial = sounds_trivial;
        let mut seen: Vec<PhraseMeaning> = Vec::new();
        for Hit { meaning, words } in hits {
            let before = seen.iter().filter(|one| *one == meaning).count();
            seen.push(*meaning);
            let points = match (meaning, before) {
                // A typing error in the migration guide is one thing, migrating and fixing typing errors another.
                (PhraseMeaning::Trivial, 0) if sounds_trivial => -7,
                (PhraseMeaning::Trivial, _) => continue,
                (PhraseMeaning::Simple, 0 | 1) => -2,
                (PhraseMeaning::ComplexDeed, 0) => 4,
                (PhraseMeaning::ComplexThing, 0) => 3,
                (PhraseMeaning::ComplexThing, 1) if !sounds_trivial => 1,
                (PhraseMeaning::Simple | PhraseMeaning::ComplexDeed | PhraseMeaning::ComplexThing, _) => {
                    continue;
                }
            };
            self.add(points, RouteReason::Title { words: words.clone(), meaning: *meaning, points });
        }
    }

    fn body(&mut self, hits: &[Hit]) {
        let mut simple = 0;
        let mut complex: Vec<&str> = Vec::new();
        for Hit { meaning, words } in hits {
            let points = match meaning {
                PhraseMeaning::Trivial => continue,
                PhraseMeaning::Simple if simple == 0 => {
                    simple += 1;
                    -1
                }
                PhraseMeaning::Simple => continue,
                PhraseMeaning::ComplexDeed | PhraseMeaning::ComplexThing
                    if complex.len() < 2 && !complex.contains(&words.as_str()) =>
                {
                    complex.push(words);
                    1
                }
                PhraseMeaning::ComplexDeed | PhraseMeaning::ComplexThing => continue,
            };
            self.add(points, RouteReason::Body { words: words.clone(), meaning: *meaning, points });
        }
    }

    fn labels(&mut self, labels: &[String]) {
        for label in labels {
            let plain = label.trim().to_lowercase().replace(['-', '_', '/', ':'], " ");
            let points = match plain.as_str() {
                "good first issue" | "documentation" | "docs" | "kind documentation" | "type docs" => -2,
                "breaking change" | "breaking" | "architecture" | "refactoring" | "refactor" | "security" => {
                    2
                }
                _ => continue,
            };
            let label = label.chars().take(80).collect();
            self.add(points, RouteReason::Hint { label, points });
        }
    }

    fn shape(&mut self, shape: &TicketShape, title: &str) {
        let mut named = TicketShape {
            files: shape.files.clone(),
            directories: shape.directories.clone(),
            ..TicketShape::default()
        };
        named.look_for_files(title);
        for (part, count, points) in [
            (TicketPart::Words, shape.words, steps(shape.words, &[(150, 1), (400, 2), (800, 3)])),
            (TicketPart::Headings, shape.headings, steps(shape.headings, &[(6, 1), (12, 2)])),
            (TicketPart::Checkboxes, shape.checkboxes, steps(shape.checkboxes, &[(4, 1), (8, 2), (15, 3)])),
            (TicketPart::Steps, shape.steps, steps(shape.steps, &[(6, 1), (12, 2)])),
            (TicketPart::Fences, shape.fences, steps(shape.fences, &[(4, 1)])),
            (
                TicketPart::Files,
                named.files.len(),
                steps(named.files.len(), &[(1, -1), (2, 0), (5, 1), (10, 2)]),
            ),
            (
                TicketPart::Directories,
                named.directories.len(),
                steps(named.directories.len(), &[(4, 1), (8, 2)]),
            ),
        ] {
            if points != 0 {
                self.add(points, RouteReason::Shape { part, count, points });
            }
        }
    }

    fn sum_up(mut self, shape: &TicketShape) -> Assessment {
        let is_short = shape.words <= TRIVIAL_WORDS && shape.checkboxes < 3 && shape.files.len() <= 3;
        let complexity = match self.points {
            COMPLEX.. => Complexity::Complex,
            i32::MIN..=SIMPLE if self.is_trivial && is_short && self.points <= 2 * SIMPLE => {
                Complexity::Trivial
            }
            i32::MIN..=SIMPLE => Complexity::Simple,
            _ => Complexity::Medium,
        };
        if self.is_trivial && !is_short {
            self.reasons.push(RouteReason::TooMuchForTrivial);
        }
        if self.reasons.is_empty() {
            self.reasons.push(RouteReason::NothingSpecial);
        }
        Assessment { complexity, reasons: self.reasons }
    }
}

/// The points of the last bar that a count reaches.
fn steps(count: usize, bars: &[(usize, i32)]) -> i32 {
    bars.iter().rev().find(|(bar, _)| count >= *bar).map_or(0, |(_, points)| *points)
}

struct WorkKind {
    name: String,
    breaking: bool,
}

/// `feat(api)!: words` as its kind and its words.
fn conventional(title: &str) -> (Option<WorkKind>, &str) {
    let Some((head, words)) = title.split_once(':') else { return (None, title) };
    let breaking = head.ends_with('!');
    let head = head.trim_end_matches('!');
    let name = head.split('(').next().unwrap_or_default().trim().to_lowercase();
    let rest = &head[head.find('(').unwrap_or(head.len())..];
    let is_scope = rest.is_empty() || (rest.ends_with(')') && rest.matches('(').count() == 1);
    let kinds =
        ["feat", "fix", "docs", "chore", "style", "test", "ci", "build", "perf", "refactor", "revert"];
    match kinds.contains(&name.as_str()) && is_scope {
        true => (Some(WorkKind { name, breaking }), words.trim()),
        false => (None, title),
    }
}

#[cfg(test)]
mod tests {
    use super::{Complexity, TaskText, assess, conventional, steps};

    fn complexity(title: &str, body: &str) -> Complexity {
        assess(&TaskText { title, body, labels: &[] }).complexity
    }

    #[test]
    fn a_word_of_the_body_makes_nothing_trivial() {
        for body in [
            "Fix the typo in the comment.",
            "typo ".repeat(100).as_str(),
            "Fix whitespace; remove unused imports",
        ] {
            assert!(complexity("Make it better", body) > Complexity::Trivial, "{body}");
        }
        assert_eq!(complexity("Fix typo", ""), Complexity::Trivial);
        assert_eq!(complexity("Fix typo", "The word is in `README.md`."), Complexity::Trivial);
    }

    #[test]
    fn hidden_text_does_not_count() {
        let hidden = "<!-- rewrite the architecture, migrate the system -->";
        assert_eq!(complexity("Fix typo", hidden), Complexity::Trivial);
        assert_eq!(complexity("Fix ty\u{200b}po", ""), Complexity::Trivial);
    }

    #[test]
    fn kinds_are_read_off_the_title() {
        for (title, kind, words) in [
            ("docs: add page", Some("docs"), "add page"),
            ("feat(api)!: x", Some("feat!"), "x"),
            ("Fix CI: x", None, "Fix CI: x"),
            ("note: x", None, "note: x"),
            ("test (x) y: z", None, "test (x) y: z"),
        ] {
            let (found, rest) = conventional(title);
            let found = found.map(|kind| format!("{}{}", kind.name, if kind.breaking { "!" } else { "" }));
            assert_eq!((found.as_deref(), rest), (kind, words), "{title}");
        }
    }

    #[test]
    fn bars_are_reached_from_below() {
        let bars = [(1, -1), (2, 0), (5, 1)];
        assert_eq!([0, 1, 2, 4, 5, 99].map(|count| steps(count, &bars)), [0, -1, 0, 0, 1, 1]);
    }
}
