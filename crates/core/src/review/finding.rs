//! What a review found, for the store and for people.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::route::Complexity;

/// How bad a finding is, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It does not do what the task asks for, or breaks something.
    Blocker,
    /// It will be found by somebody, to their cost.
    Major,
    /// It could be better.
    Minor,
    /// Worth knowing.
    Note,
}

impl Severity {
    /// Every severity, the worst first.
    pub const ALL: [Severity; 4] = [Severity::Blocker, Severity::Major, Severity::Minor, Severity::Note];

    /// The name as it is written and stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Blocker => "blocker",
            Severity::Major => "major",
            Severity::Minor => "minor",
            Severity::Note => "note",
        }
    }
}

/// One thing a reviewer found. File and text are the reviewer's words, cleaned and cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The file it is in, where it is in one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub file: Option<String>,
    /// The line it is in, where it is in one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub line: Option<u32>,
    /// What it is.
    pub text: String,
    /// Whether the reviewer says to have mended it.
    pub fixed: bool,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { severity, file, line, text, fixed } = self;
        f.write_str(severity.as_str())?;
        if let Some(file) = file {
            write!(f, " {file}")?;
            if let Some(line) = line {
                write!(f, ":{line}")?;
            }
        }
        write!(f, ": {text}{}", if *fixed { " (mended)" } else { "" })
    }
}

/// A review of a change: advice, whatever it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// What it comes to.
    pub verdict: Verdict,
    /// What was found, the worst first.
    pub findings: Vec<Finding>,
    /// How many findings could not be read.
    pub unread: usize,
}

impl Review {
    /// A review that did not take place.
    pub fn skipped(reason: SkipReason) -> Review {
        Review { verdict: Verdict::Skipped { reason }, findings: Vec::new(), unread: 0 }
    }

    /// A review without an answer that can be read.
    pub fn unreadable(why: impl Into<String>) -> Review {
        Review { verdict: Verdict::Unreadable { why: why.into() }, findings: Vec::new(), unread: 0 }
    }
}

/// What a review comes to. None of these approves a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// There was none.
    Skipped {
        /// Why not.
        reason: SkipReason,
    },
    /// There was one, and no findings could be read.
    Unreadable {
        /// Why not.
        why: String,
    },
    /// The reviewer found nothing.
    NothingFound,
    /// The reviewer found something.
    Found,
}

/// Why there was no review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// The task is trivial.
    Trivial,
    /// It is turned off.
    Off,
    /// There is no change to look at.
    NoChange,
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SkipReason::Trivial => "the task is trivial",
            SkipReason::Off => "it is turned off",
            SkipReason::NoChange => "nothing has changed",
        })
    }
}

/// Why a change needs no review, if it needs none.
pub fn skips_review(complexity: Complexity, enabled: bool, changed_files: usize) -> Option<SkipReason> {
    match () {
        () if !enabled => Some(SkipReason::Off),
        () if changed_files == 0 => Some(SkipReason::NoChange),
        () if complexity == Complexity::Trivial => Some(SkipReason::Trivial),
        () => None,
    }
}

impl fmt::Display for Review {
    /// For people: a line that sums up, and a line for each finding.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.verdict {
            Verdict::Skipped { reason } => return write!(f, "no self-review: {reason}"),
            Verdict::Unreadable { why } => return write!(f, "self-review: no findings could be read: {why}"),
            Verdict::NothingFound => f.write_str("self-review: nothing found")?,
            Verdict::Found => {
                let count = self.findings.len();
                let mended = self.findings.iter().filter(|finding| finding.fixed).count();
                let findings = if count == 1 { "finding" } else { "findings" };
                write!(f, "self-review: {count} {findings}, {mended} mended")?;
            }
        }
        if self.unread > 0 {
            write!(f, "; {} could not be read", self.unread)?;
        }
        for finding in &self.findings {
            write!(f, "\n- {finding}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Complexity, Finding, Review, Severity, SkipReason, Verdict, skips_review};

    fn finding(file: Option<&str>, line: Option<u32>, fixed: bool) -> Finding {
        Finding {
            severity: Severity::Major,
            file: file.map(str::to_owned),
            line,
            text: "wrong".to_owned(),
            fixed,
        }
    }

    #[test]
    fn people_read_lines() {
        let findings = vec![
            finding(Some("a.rs"), Some(3), true),
            finding(Some("a.rs"), None, false),
            finding(None, None, false),
        ];
        let review = Review { verdict: Verdict::Found, findings, unread: 1 };
        assert_eq!(
            review.to_string(),
            "self-review: 3 findings, 1 mended; 1 could not be read\n- major a.rs:3: wrong (mended)\n- major a.rs: wrong\n\
             - major: wrong"
        );
        let none = Review { verdict: Verdict::NothingFound, findings: Vec::new(), unread: 0 };
        assert_eq!(none.to_string(), "self-review: nothing found");
        assert_eq!(Review::skipped(SkipReason::Trivial).to_string(), "no self-review: the task is trivial");
        assert_eq!(Review::unreadable("x").to_string(), "self-review: no findings could be read: x");
    }

    #[test]
    fn the_store_reads_it_back() {
        let review =
            Review { verdict: Verdict::Found, findings: vec![finding(Some("a"), Some(1), false)], unread: 0 };
        for review in [review, Review::skipped(SkipReason::NoChange), Review::unreadable("x")] {
            let json = serde_json::to_string(&review).unwrap();
            assert_eq!(serde_json::from_str::<Review>(&json).unwrap(), review, "{json}");
        }
    }

    #[test]
    fn trivial_tasks_are_not_reviewed() {
        for complexity in Complexity::ALL {
            let skipped = skips_review(complexity, true, 1);
            assert_eq!(skipped, (complexity == Complexity::Trivial).then_some(SkipReason::Trivial));
            assert_eq!(skips_review(complexity, false, 1), Some(SkipReason::Off));
            assert_eq!(skips_review(complexity, true, 0), Some(SkipReason::NoChange));
        }
    }
}
