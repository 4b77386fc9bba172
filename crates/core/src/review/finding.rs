//! What a review found, for the store and for people.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::route::Complexity;
use crate::text::word_enum;

/// How the line of a review that has no answer begins.
pub(crate) const NOT_DONE: &str = "review not done";

word_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Severity {
        /// It does not do what the task asks for, or breaks something.
        Blocker = "blocker",
        /// A user will run into it.
        Major = "major",
        /// It could be better.
        Minor = "minor",
        Note = "note",
    }
}

/// One thing a reviewer found. File and text are the reviewer's words, cleaned and cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub severity: Severity,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub line: Option<u32>,
    pub text: String,
    /// Whether the reviewer reports it as fixed.
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
        write!(f, ": {text}{}", if *fixed { " (fixed)" } else { "" })
    }
}

word_enum! {
    /// Which findings hold a change until a person decides, when they are not fixed.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Blocking {
        #[default]
        Blocker = "blocker",
        /// These and blockers.
        Major = "major",
        /// None: a review is advice.
        None = "none",
    }
}

impl Blocking {
    pub fn holds(self, finding: &Finding) -> bool {
        let severe = match self {
            Blocking::Blocker => finding.severity <= Severity::Blocker,
            Blocking::Major => finding.severity <= Severity::Major,
            Blocking::None => false,
        };
        severe && !finding.fixed
    }
}

/// A review of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    pub verdict: ReviewVerdict,
    /// What was found, the worst first.
    pub findings: Vec<Finding>,
    pub unread: usize,
}

impl Review {
    pub fn skipped(reason: SkipReason) -> Review {
        Review { verdict: ReviewVerdict::Skipped { reason }, findings: Vec::new(), unread: 0 }
    }

    pub fn unreadable(why: impl Into<String>) -> Review {
        Review { verdict: ReviewVerdict::Unreadable { why: why.into() }, findings: Vec::new(), unread: 0 }
    }

    pub fn is_readable(&self) -> bool {
        !matches!(self.verdict, ReviewVerdict::Unreadable { .. })
    }

    /// Nothing of it is fixed, whatever the reviewer says: its result has no commit of the reviewer.
    pub fn without_fixes(mut self) -> Review {
        for finding in &mut self.findings {
            finding.fixed = false;
        }
        self
    }

    /// The first findings, what is not fixed and worst before the rest.
    pub fn first_findings(&self, most: usize) -> Vec<Finding> {
        let mut findings = self.findings.clone();
        findings.sort_by_key(|finding| (finding.fixed, finding.severity));
        findings.truncate(most);
        findings
    }

    /// What it came to, in a line.
    pub fn summary(&self) -> String {
        let mut summary = match &self.verdict {
            ReviewVerdict::Skipped { reason } => return format!("review skipped: {reason}"),
            ReviewVerdict::Unreadable { why } => return format!("{NOT_DONE}: {why}"),
            ReviewVerdict::NothingFound => "review: nothing found".to_owned(),
            ReviewVerdict::Found => {
                let count = self.findings.len();
                let fixed = self.findings.iter().filter(|finding| finding.fixed).count();
                let findings = if count == 1 { "finding" } else { "findings" };
                format!("review: {count} {findings}, {fixed} fixed")
            }
        };
        if self.unread > 0 {
            summary.push_str(&format!("; {} could not be read", self.unread));
        }
        summary
    }
}

/// What a review comes to. None of these approves a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum ReviewVerdict {
    Skipped { reason: SkipReason },
    Unreadable { why: String },
    NothingFound,
    Found,
}

word_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum SkipReason {
        Trivial = "the task is trivial",
        Off = "it is turned off",
        NoChange = "nothing has changed",
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
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.summary())?;
        for finding in &self.findings {
            write!(f, "\n- {finding}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Blocking, Complexity, Finding, Review, ReviewVerdict, Severity, SkipReason, skips_review};

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
        let review = Review { verdict: ReviewVerdict::Found, findings, unread: 1 };
        assert_eq!(
            review.to_string(),
            "review: 3 findings, 1 fixed; 1 could not be read\n- major a.rs:3: wrong (fixed)\n- major a.rs: wrong\n\
             - major: wrong"
        );
        let none = Review { verdict: ReviewVerdict::NothingFound, findings: Vec::new(), unread: 0 };
        assert_eq!(none.to_string(), "review: nothing found");
        assert_eq!(Review::skipped(SkipReason::Trivial).to_string(), "review skipped: the task is trivial");
        assert_eq!(Review::unreadable("x").to_string(), "review not done: x");
    }

    #[test]
    fn what_is_not_fixed_holds_by_its_severity() {
        for (blocking, severity, holds) in [
            (Blocking::Blocker, Severity::Blocker, true),
            (Blocking::Blocker, Severity::Major, false),
            (Blocking::Major, Severity::Blocker, true),
            (Blocking::Major, Severity::Major, true),
            (Blocking::Major, Severity::Minor, false),
            (Blocking::None, Severity::Blocker, false),
        ] {
            let open = Finding { severity, ..finding(None, None, false) };
            assert_eq!(blocking.holds(&open), holds, "{blocking} {severity}");
            assert!(!blocking.holds(&Finding { fixed: true, ..open }), "{blocking} {severity}");
        }
    }

    #[test]
    fn the_first_findings_are_those_a_person_has_to_see() {
        let of = |severity, fixed| Finding { severity, ..finding(None, None, fixed) };
        let review = Review {
            verdict: ReviewVerdict::Found,
            findings: vec![
                of(Severity::Blocker, true),
                of(Severity::Major, false),
                of(Severity::Blocker, false),
            ],
            unread: 0,
        };
        let first = review.first_findings(2);
        assert_eq!(first, [of(Severity::Blocker, false), of(Severity::Major, false)]);
        assert!(review.without_fixes().findings.iter().all(|finding| !finding.fixed));
    }

    #[test]
    fn the_store_reads_it_back() {
        let review = Review {
            verdict: ReviewVerdict::Found,
            findings: vec![finding(Some("a"), Some(1), false)],
            unread: 0,
        };
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
