//! A project and its queue, in sentences.

use crate::snapshot::ProjectSnapshot;
use crate::text::inert_line;
use crate::time::Timestamp;

/// What needs a person about a project as a whole, a text each. `local` writes a time as its reader does.
pub fn project_attention(project: &ProjectSnapshot, local: &dyn Fn(Timestamp) -> String) -> Vec<String> {
    let mut texts = Vec::new();
    if let Some(outage) = &project.outage {
        let why = inert_line(&outage.why, 500);
        texts.push(format!(
            "No answer from the forge since {}: {why}. Pilot keeps trying.",
            local(outage.since)
        ));
    }
    if let Some(by) = &project.paused_by {
        texts.push(format!("Paused by {by}: no run starts, nothing is merged. `pilot resume` continues."));
    }
    if let Some(breaker) = &project.breaker {
        let count = match breaker.failures {
            0 | 1 => String::new(),
            count => format!("{count} runs failed in a row. The last failure: "),
        };
        texts.push(format!(
            "{count}{} No new run starts before {}; `pilot resume` continues at once.",
            breaker.class.words(),
            local(breaker.until)
        ));
    }
    if let Some(why) = &project.budget_hold {
        texts.push(format!("The budget allows no new run: {}.", inert_line(why, 300)));
    }
    texts
}

/// The place of a task in the queue, from 1, where no other task blocks it.
pub fn queued(position: usize) -> String {
    match position {
        1 => "Next; it starts as soon as an agent is free.".to_owned(),
        position => format!("Number {position} in the queue."),
    }
}
