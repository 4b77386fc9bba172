//! What a run that did not complete left, for people: the output of a gate, the agent's last words, where its work is.

use std::fmt::Write as _;

use super::fix::{excerpt, fence};
use crate::fact::{FailedGate, TaskFacts};
use crate::text::{inert_line, quoted};

/// What the last run left, if it did not complete; Markdown.
pub fn evidence(task: &TaskFacts) -> Option<String> {
    let run = task.life.run.as_ref()?;
    let left = run.evidence()?;
    let mut text = String::new();
    if let Some(gate) = &left.gate {
        text.push_str(&failed_gate(gate, task.key.as_str()));
    } else if !left.last_words.is_empty() {
        // Writing to a string does not fail.
        let _ = write!(text, "The agent said last:\n\n{}", quoted(&left.last_words, 600));
    }
    match (&task.life.failed_branch, &left.sha) {
        (Some(branch), _) => {
            let _ = write!(text, "\nIts work is on the branch `{branch}`.\n");
        }
        (None, Some(sha)) => {
            let _ = write!(text, "\nIts work is kept in the checkout, at commit `{}`.\n", sha.short());
        }
        (None, None) => {}
    }
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn failed_gate(gate: &FailedGate, task: &str) -> String {
    let name = inert_line(&gate.name, 100).replace('`', "'");
    let code = gate.exit_code.map_or_else(String::new, |code| format!(" (exit code {code})"));
    let mut text = format!("The gate `{name}` failed{code}.");
    text.push_str(&output(&gate.output));
    let _ = write!(text, "\nMore of it: `pilot logs {task} --gate {name}`.\n");
    text
}

/// The end of what a gate printed, in a fence it cannot close; nothing for nothing.
pub(super) fn output(text: &str) -> String {
    let text = excerpt(text);
    if text.is_empty() {
        return "\n".to_owned();
    }
    let fence = fence(&text);
    format!(" Its output:\n\n{fence}text\n{text}\n{fence}\n")
}
