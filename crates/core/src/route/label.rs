//! Labels that say how a task is to be run: `pilot-model:…`, `pilot-effort:…`, `pilot-complexity:…`, `pilot-timeout:…`.
//!
//! They carry Pilot's prefix because people use `effort:high` and the like for estimates of their own.

use std::time::Duration;

use super::Complexity;
use super::reason::RouteReason;
use crate::config::{Effort, LONGEST_WAIT, is_model, nearest};
use crate::duration;
use crate::text::WordEnum;

#[derive(Debug, Default)]
pub(super) struct Asked {
    pub(super) complexity: Option<(Complexity, String)>,
    pub(super) model: Option<(String, String)>,
    pub(super) effort: Option<(Effort, String)>,
    pub(super) timeout: Option<(Duration, String)>,
    pub(super) ignored: Vec<RouteReason>,
}

/// Labels with our prefix that mean something else.
const OTHERS: [&str; 4] = ["pilot-in-progress", "pilot-done", "pilot-failed", "pilot-retry-ready"];
const MOST: usize = 200;

pub(super) fn asked(labels: &[String]) -> Asked {
    let mut asked = Asked::default();
    for label in labels.iter().take(MOST) {
        let label = label.trim();
        let Some((name, value)) = label.split_once(':') else { continue };
        let value = value.trim();
        let fault = match name.trim().to_ascii_lowercase().as_str() {
            "pilot-complexity" => put(&mut asked.complexity, label, word(value)),
            "pilot-model" => put(&mut asked.model, label, model(value)),
            "pilot-effort" => put(&mut asked.effort, label, word(value)),
            "pilot-timeout" => put(&mut asked.timeout, label, timeout(value)),
            other if other.starts_with("pilot-") && !OTHERS.contains(&other) => Some(unknown(other)),
            _ => None,
        };
        if let Some(why) = fault {
            let label = label.chars().take(80).collect();
            asked.ignored.push(RouteReason::Ignored { label, why });
        }
    }
    asked
}

/// The first of two that disagree holds.
fn put<T: PartialEq>(
    slot: &mut Option<(T, String)>,
    label: &str,
    value: Result<T, String>,
) -> Option<String> {
    match (value, &slot) {
        (Err(why), _) => Some(why),
        (Ok(value), Some((before, other))) if *before != value => Some(format!("{other} says otherwise")),
        (Ok(_), Some(_)) => None,
        (Ok(value), None) => {
            *slot = Some((value, label.to_owned()));
            None
        }
    }
}

fn word<T: WordEnum>(value: &str) -> Result<T, String> {
    let found = T::all().iter().copied().find(|one| one.word().eq_ignore_ascii_case(value));
    found.ok_or_else(|| format!("the choice is {}", T::words().join(", ")))
}

fn model(value: &str) -> Result<String, String> {
    match is_model(value) {
        true => Ok(value.to_owned()),
        false => Err("no name of a model".to_owned()),
    }
}

fn timeout(value: &str) -> Result<Duration, String> {
    let length = duration::parse(value)?;
    match (Duration::from_secs(1)..=LONGEST_WAIT).contains(&length) {
        true => Ok(length),
        false => Err(format!("it must be between 1s and {}", duration::text(LONGEST_WAIT))),
    }
}

fn unknown(name: &str) -> String {
    let known = ["pilot-complexity", "pilot-model", "pilot-effort", "pilot-timeout"];
    match nearest(name, known) {
        Some(meant) => format!("did you mean {meant}?"),
        None => format!("there are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Asked, Complexity, Effort, asked};

    fn of(labels: &[&str]) -> Asked {
        asked(&labels.iter().map(|label| (*label).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn labels_ask_for_things() {
        let asked = of(&[
            "pilot",
            "Pilot-Complexity: Complex",
            "pilot-model:opus",
            "pilot-effort:MAX",
            "pilot-timeout:90m",
        ]);
        assert_eq!(asked.complexity, Some((Complexity::Complex, "Pilot-Complexity: Complex".to_owned())));
        assert_eq!(asked.model, Some(("opus".to_owned(), "pilot-model:opus".to_owned())));
        assert_eq!(asked.effort.map(|(effort, _)| effort), Some(Effort::Max));
        assert_eq!(asked.timeout.map(|(timeout, _)| timeout), Some(Duration::from_secs(5400)));
        assert_eq!(asked.ignored, []);
    }

    #[test]
    fn labels_that_cannot_be_followed_are_said() {
        for (labels, words) in [
            (
                &["pilot-complexity:huge"][..],
                "label \"pilot-complexity:huge\" ignored: the choice is trivial, simple",
            ),
            (&["pilot-model:--danger"], "no name of a model"),
            (&["pilot-model: a b"], "no name of a model"),
            (&["pilot-model:"], "no name of a model"),
            (&["pilot-effort:hard"], "the choice is low, medium, high, xhigh, max"),
            (&["pilot-timeout:soon"], "a duration starts with a number"),
            (&["pilot-timeout:0"], "it must be between 1s and 7d"),
            (&["pilot-timeout:30d"], "it must be between 1s and 7d"),
            (&["pilot-modle:x"], "did you mean pilot-model?"),
            (
                &["pilot-model:a", "pilot-model:b"],
                "label \"pilot-model:b\" ignored: pilot-model:a says otherwise",
            ),
        ] {
            let ignored: Vec<String> = of(labels).ignored.iter().map(ToString::to_string).collect();
            assert_eq!(ignored.len(), 1, "{labels:?}");
            assert!(ignored[0].contains(words), "{labels:?}: {ignored:?}");
        }
    }

    #[test]
    fn labels_of_others_are_left_alone() {
        let asked = of(&[
            "effort:high",
            "complexity: low",
            "model:x",
            "kind:bug",
            "pilot-done",
            "pilot-model:a",
            "pilot-model:a",
        ]);
        assert_eq!(asked.ignored, []);
        assert!(asked.effort.is_none() && asked.complexity.is_none());
    }
}
