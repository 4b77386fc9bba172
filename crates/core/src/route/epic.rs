//! Whether a task is too much for one pull request.
//!
//! Told by structure, not by words: phases, boxes and length together. A person overrules it either way, with `[epic]`,
//! `[no-plan]` or the label `no-decompose`.

use super::reason::RouteReason;
use super::shape::TicketShape;
use crate::markdown::{self, MarkdownLine};

const NO_DECOMPOSE: &str = "no-decompose";
const EPIC_TAG: &str = "[epic]";
const NO_PLAN_TAG: &str = "[no-plan]";

/// One phase is no sequence, and one box no list.
const PHASES: usize = 2;
const CHECKBOXES: usize = 2;
const WORDS: usize = 100;

pub(super) enum Epic {
    No,
    Yes(RouteReason),
    AsOne(Vec<RouteReason>),
}

pub(super) fn look(title: &str, body: &str, labels: &[String], shape: &TicketShape) -> Epic {
    let tagged = has_tag(title, EPIC_TAG);
    let reason = match shape {
        _ if tagged => RouteReason::EpicTag,
        TicketShape { phases, checkboxes, words, .. }
            if *phases >= PHASES && *checkboxes >= CHECKBOXES && *words > WORDS =>
        {
            RouteReason::EpicShape { phases: *phases, checkboxes: *checkboxes, words: *words }
        }
        _ => return Epic::No,
    };
    if let Some(by) = kept_whole(title, body, labels) {
        return Epic::AsOne(vec![reason, RouteReason::NotSplit { by: by.to_owned() }]);
    }
    match one_directory(shape, tagged) {
        Some(directory) => {
            Epic::AsOne(vec![reason, RouteReason::OneDirectory { directory: directory.to_owned() }])
        }
        None => Epic::Yes(reason),
    }
}

pub(super) fn untagged(title: &str) -> &str {
    let mut title = title.trim();
    while let Some(tag) = [EPIC_TAG, NO_PLAN_TAG].into_iter().find(|tag| begins_with(title, tag)) {
        title = title[tag.len()..].trim_start();
    }
    title
}

pub(super) fn kept_whole(title: &str, body: &str, labels: &[String]) -> Option<&'static str> {
    if labels.iter().any(|label| label.trim().eq_ignore_ascii_case(NO_DECOMPOSE)) {
        return Some(NO_DECOMPOSE);
    }
    let in_body = || {
        markdown::lines(body).any(|line| match line {
            MarkdownLine::Heading { text, .. }
            | MarkdownLine::Checkbox { text }
            | MarkdownLine::Item { text, .. }
            | MarkdownLine::Text(text) => has_tag(text, NO_PLAN_TAG),
            MarkdownLine::Blank | MarkdownLine::Open { .. } | MarkdownLine::Code(_) | MarkdownLine::Close => {
                false
            }
        })
    };
    (has_tag(title, NO_PLAN_TAG) || in_body()).then_some(NO_PLAN_TAG)
}

/// The only directory that is named. For a task that a person tagged one file is not enough to know.
fn one_directory(shape: &TicketShape, tagged: bool) -> Option<&str> {
    let mut directories = shape.directories.iter();
    let (only, None) = (directories.next()?, directories.next()) else { return None };
    let is_beside = |file: &String| !file.contains('/');
    let enough = !tagged || shape.files.len() != 1;
    (enough && !shape.files.iter().any(is_beside)).then_some(only)
}

fn has_tag(text: &str, tag: &str) -> bool {
    text.split('`').step_by(2).any(|piece| piece.to_ascii_lowercase().contains(tag))
}

fn begins_with(text: &str, tag: &str) -> bool {
    text.get(..tag.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(tag))
}

#[cfg(test)]
mod tests {
    use super::untagged;

    #[test]
    fn tags_are_no_words() {
        assert_eq!(untagged("[Epic] [no-plan] Add x"), "Add x");
        assert_eq!(untagged("Add [epic] x"), "Add [epic] x");
        assert_eq!(untagged("é"), "é");
    }
}
