//! In which order tasks have their turn.

use std::time::Duration;

use crate::fact::TaskFacts;
use crate::seen::Issue;
use crate::time::Timestamp;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How urgent an issue is, by its labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// Before everything of the last week.
    Urgent,
    /// Before everything of the last day.
    High,
    /// In order.
    Normal,
    /// Behind everything of the next day.
    Low,
}

impl Priority {
    /// What the labels say; the most urgent wins.
    pub fn of(issue: &Issue) -> Priority {
        let has = |names: &[&str]| {
            let bare = |label: &str| label.to_ascii_lowercase().replace("priority", "");
            let named = |label: &String| {
                let bare = bare(label);
                names.contains(&bare.trim_matches([':', '/', '-', ' ']))
            };
            issue.labels.iter().any(named)
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

/// A task's place in the queue: when it was written, moved by how urgent it is. The place never changes by itself, so whoever
/// waits is overtaken only by what came within the span of its priority: nobody starves, and the database can keep an index.
///
/// A fix of CI goes first: its whole line waits for it.
pub fn rank(task: &TaskFacts, issue: &Issue) -> i64 {
    let written = issue.created_at;
    let Timestamp(rank) = match (&task.lineage, Priority::of(issue)) {
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
    use crate::name::{IssueNumber, ProjectId};
    use crate::seen::Issue;
    use crate::task::tale::issue;
    use crate::time::Timestamp;

    fn labelled(label: &str) -> Issue {
        let mut issue = issue(1);
        issue.labels.insert(label.to_owned());
        issue
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
        let task = TaskFacts::new(ProjectId::parse("github:acme/app").unwrap(), IssueNumber(1));
        let at = |label: &str, days: u32| {
            let mut issue = labelled(label);
            issue.created_at = Timestamp(0).after(days * DAY);
            rank(&task, &issue)
        };
        assert!(at("p0", 6) < at("x", 0), "urgent overtakes a week");
        assert!(at("x", 0) < at("p0", 8), "and no more");
        assert!(at("p1", 2) > at("x", 0));
        assert!(at("low", 0) > at("x", 0) && at("low", 0) < at("x", 2));
    }
}
