//! The signal card: how the agent of a step says what came of it. Short, because every prompt ends with it.

use std::sync::LazyLock;

use crate::signal::{Found, Signal, scan};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Card {
    Work,
    /// A step whose verdict ends a loop.
    Review,
}

/// The marks that the cards show. Each holds placeholder words, so that a real mark is never mistaken for a sample.
const APPROVE: &str = "<pilot:approve>(why it is good as it is)</pilot:approve>";
const REJECT: &str = "<pilot:reject>(everything that has to change, and how)</pilot:reject>";
const COMPLETED: &str = "<pilot:completed>(what you did, in a line)</pilot:completed>";
const SKIP: &str = "<pilot:skip>(why there is nothing to do)</pilot:skip>";
const BLOCKED: &str = "<pilot:blocked>(what you need from a person)</pilot:blocked>";
const EMIT: &str = "<pilot:emit key=\"(name)\">(a value for later steps)</pilot:emit>";
const UPDATE: &str = "<pilot:update path=\".pilot/(file)\">(the whole new text of the file)</pilot:update>";
const SAMPLES: [&str; 7] = [APPROVE, REJECT, COMPLETED, SKIP, BLOCKED, EMIT, UPDATE];

/// Added to the prompt of a reviewer that gave no verdict the first time.
pub const REMINDER: &str = "You were asked before and ended without a verdict, or with one that could not be read. Silence is no \
     approval: end your answer with either the approve mark or the reject mark, alone on its line.";

impl Card {
    pub fn text(self) -> String {
        let (intro, ends) = match self {
            Card::Work => ("how it ended", format!("{COMPLETED}\n{SKIP}\n{BLOCKED}")),
            Card::Review => (
                "your verdict, without which the review counts as failed",
                format!("{APPROVE}\n{REJECT}\n{BLOCKED}"),
            ),
        };
        format!(
            "## Telling Pilot how it went\n\
             End your answer with exactly one of these marks: {intro}. It stands in your own text, on lines of its own, \
             with words of your own in place of the brackets.\n\n\
             ```\n{ends}\n```\n\n\
             Before it, as often as needed, a value for later steps or a file:\n\n\
             ```\n{EMIT}\n{UPDATE}\n```\n"
        )
    }
}

/// Whether a signal repeats a sample of a card: an agent that repeats its prompt says nothing.
pub(super) fn is_echo(signal: &Signal) -> bool {
    static SHOWN: LazyLock<Vec<Signal>> = LazyLock::new(|| {
        let found = scan(
            SAMPLES
                .join(
                    "
",
                )
                .as_bytes(),
        )
        .into_iter();
        found
            .filter_map(|found| match found {
                Found::Signal(signal) => Some(*signal),
                Found::Diagnostic(_) | Found::Wrapper(_) => None,
            })
            .collect()
    });
    let said = |signal: &Signal| {
        (signal.kind.clone(), signal.key.clone(), signal.path.clone(), signal.payload.clone())
    };
    SHOWN.iter().any(|shown| said(shown) == said(signal))
}

#[cfg(test)]
mod tests {
    use super::{Card, SAMPLES, is_echo};
    use crate::signal::{Found, Signal, scan};

    fn signals(text: &str) -> Vec<Signal> {
        let found = scan(text.as_bytes()).into_iter();
        found
            .filter_map(|found| match found {
                Found::Signal(signal) => Some(*signal),
                Found::Diagnostic(_) | Found::Wrapper(_) => None,
            })
            .collect()
    }

    #[test]
    fn a_card_shows_good_marks_that_do_not_count_when_read_aloud() {
        assert_eq!(signals(&SAMPLES.join("\n")).len(), SAMPLES.len());
        for card in [Card::Work, Card::Review] {
            let shown = signals(&card.text());
            assert_eq!(shown.len(), 5, "{}", card.text());
            assert!(shown.iter().all(is_echo));
        }
        for meant in ["<pilot:approve/>", "<pilot:approve>fine</pilot:approve>", "<pilot:reject/>"] {
            assert!(!signals(meant).iter().any(is_echo), "{meant}");
        }
        assert!(!Card::Work.text().contains("approve"), "only a reviewer is asked for a verdict");
    }
}
