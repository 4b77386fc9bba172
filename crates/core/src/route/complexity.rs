//! How much work a task is.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How much work a task is, the least first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Complexity {
    /// A typing error, a comment, a version: nothing to understand.
    Trivial,
    /// A small change in a known place.
    Simple,
    /// An ordinary ticket; also one of which nothing is known.
    #[default]
    Medium,
    /// A change across the code, or one that is easy to get wrong.
    Complex,
    /// Too much for one pull request.
    Epic,
}

impl Complexity {
    /// Every complexity, the least first.
    pub const ALL: [Complexity; 5] =
        [Complexity::Trivial, Complexity::Simple, Complexity::Medium, Complexity::Complex, Complexity::Epic];

    /// The name as it is stored, shown and written into labels.
    pub fn as_str(self) -> &'static str {
        match self {
            Complexity::Trivial => "trivial",
            Complexity::Simple => "simple",
            Complexity::Medium => "medium",
            Complexity::Complex => "complex",
            Complexity::Epic => "epic",
        }
    }

    /// The complexity of a name.
    pub fn parse(name: &str) -> Option<Complexity> {
        let name = name.trim();
        Complexity::ALL.into_iter().find(|one| one.as_str().eq_ignore_ascii_case(name))
    }
}

impl fmt::Display for Complexity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One value for each complexity that is run. An epic that is run all the same is run as a complex task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cells<T> {
    /// For trivial tasks.
    pub trivial: T,
    /// For simple ones.
    pub simple: T,
    /// For medium ones.
    pub medium: T,
    /// For complex ones, and epics.
    pub complex: T,
}

impl<T> Cells<T> {
    /// The value for a complexity.
    pub fn of(&self, complexity: Complexity) -> &T {
        match complexity {
            Complexity::Trivial => &self.trivial,
            Complexity::Simple => &self.simple,
            Complexity::Medium => &self.medium,
            Complexity::Complex | Complexity::Epic => &self.complex,
        }
    }
}

/// The models of Claude Code by complexity, where nothing else is configured.
pub const CLAUDE_MODELS: Cells<&str> = Cells {
    trivial: "claude-haiku-4-5-20251001",
    simple: "claude-sonnet-4-6",
    medium: "claude-sonnet-4-6",
    complex: "claude-opus-4-6",
};

#[cfg(test)]
mod tests {
    use super::{CLAUDE_MODELS, Complexity};

    #[test]
    fn names_are_read_back() {
        for complexity in Complexity::ALL {
            assert_eq!(Complexity::parse(complexity.as_str()), Some(complexity));
            assert_eq!(
                Complexity::parse(&format!(" {} ", complexity.as_str().to_uppercase())),
                Some(complexity)
            );
            assert_eq!(serde_json::to_value(complexity).unwrap(), complexity.as_str());
        }
        assert_eq!(Complexity::parse("hard"), None);
        assert!(Complexity::ALL.is_sorted());
    }

    #[test]
    fn an_epic_that_is_run_is_run_as_a_complex_task() {
        assert_eq!(CLAUDE_MODELS.of(Complexity::Epic), CLAUDE_MODELS.of(Complexity::Complex));
    }
}
