//! How much work a task is.

use serde::{Deserialize, Serialize};

use crate::text::word_enum;

word_enum! {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Complexity {
        /// A typing error, a comment, a version: nothing to understand.
        Trivial = "trivial",
        /// A small change in a known place.
        Simple = "simple",
        /// An ordinary ticket; also one of which nothing is known.
        #[default]
        Medium = "medium",
        /// A change across the code, or one that is easy to get wrong.
        Complex = "complex",
        /// Too much for one pull request.
        Epic = "epic",
    }
}

impl Complexity {
    pub fn parse_any_case(name: &str) -> Option<Complexity> {
        let name = name.trim();
        Complexity::ALL.into_iter().find(|one| one.as_str().eq_ignore_ascii_case(name))
    }
}

/// One value for each complexity that is run. An epic that is run all the same is run as a complex task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cells<T> {
    pub trivial: T,
    pub simple: T,
    pub medium: T,
    pub complex: T,
}

impl<T> Cells<T> {
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
            assert_eq!(Complexity::parse_any_case(complexity.as_str()), Some(complexity));
            assert_eq!(
                Complexity::parse_any_case(&format!(" {} ", complexity.as_str().to_uppercase())),
                Some(complexity)
            );
            assert_eq!(serde_json::to_value(complexity).unwrap(), complexity.as_str());
        }
        assert_eq!(Complexity::parse_any_case("hard"), None);
        assert!(Complexity::ALL.is_sorted());
    }

    #[test]
    fn an_epic_that_is_run_is_run_as_a_complex_task() {
        assert_eq!(CLAUDE_MODELS.of(Complexity::Epic), CLAUDE_MODELS.of(Complexity::Complex));
    }
}
