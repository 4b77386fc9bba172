//! The order of the queue.

use std::time::Duration;

use crate::fact::TaskFacts;
use crate::observed::Ticket;
use crate::time::Timestamp;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// Before everything of the last week.
    Urgent,
    /// Before everything of the last day.
    High,
    Normal,
    /// Behind everything of the next day.
    Low,
}

impl Priority {
    pub fn of(ticket: &Ticket) -> Priority {
        let has = |names: &[&str]| {
            let bare = |label: &str| label.to_ascii_lowercase().replace("priority", "");
            let named = |label: &String| {
                let bare = bare(label);
                names.contains(&bare.trim_matches([':', '/', '-', ' ']))
            };
            ticket.labels.iter().any(named)
        };
        if has(&["p0", "urgent", "critical"]) {
            Priority::Urgent
        } else if has(&["p1", "high"]) {
            Priority::High
        } else if has(&["p3", "low"]) {
            Priority::Low
        } else {
            Priority::Normal
        }
    }
}

/// A task's place in the queue: when it was written, moved by how urgent it is. The place never changes by itself, so a
/// waiting task is overtaken only by what came within the span of its priority: no task starves, and the database can keep an
/// index.
///
/// A fix of CI goes first: its whole chain waits for it.
pub fn rank(task: &TaskFacts, ticket: &Ticket) -> i64 {
    let written = ticket.created_at;
    let Timestamp(rank) = match (&task.lineage, Priority::of(ticket)) {
        (Some(_), _) => written.before(30 * DAY),
        (None, Priority::Urgent) => written.before(7 * DAY),
        (None, Priority::High) => written.before(DAY),
        (None, Priority::Normal) => written,
        (None, Priority::Low) => written.after(DAY),
    };
    rank
}

#[cfg(test)]
mod tests {
    use super::{DAY, Priority, rank};
    use crate::fact::TaskFacts;
    use crate::id::ProjectId;
    use crate::observed::Ticket;
    use crate::task::scenario::{gh, ticket};
    use crate::time::Timestamp;

    fn labelled(label: &str) -> Ticket {
        let mut ticket = ticket(1);
        ticket.labels.insert(label.to_owned());
        ticket
    }

    #[test]
    fn labels_say_how_urgent_it_is() {
        for (label, expect) in [
            ("P0", Priority::Urgent),
            ("priority: critical", Priority::Urgent),
            ("priority/high", Priority::High),
            ("low-priority", Priority::Low),
            ("p2", Priority::Normal),
            ("highway", Priority::Normal),
        ] {
            assert_eq!(Priority::of(&labelled(label)), expect, "{label}");
        }
    }

    #[test]
    fn the_old_are_overtaken_for_a_while_only() {
        let task = TaskFacts::new(ProjectId::parse("github:acme/app").unwrap(), gh(1));
        let at = |label: &str, days: u32| {
            let mut ticket = labelled(label);
            ticket.created_at = Timestamp(0).after(days * DAY);
            rank(&task, &ticket)
        };
        assert!(at("p0", 6) < at("x", 0), "urgent overtakes a week");
        assert!(at("x", 0) < at("p0", 8), "and no more");
        assert!(at("p1", 2) > at("x", 0));
        assert!(at("low", 0) > at("x", 0) && at("low", 0) < at("x", 2));
    }
}
