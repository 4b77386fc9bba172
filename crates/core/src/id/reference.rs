//! How tickets and pull requests are written for people, and how keys of tickets stand in text. Each adapter says so as data.

use super::{PrNumber, TaskKey};

/// How a project's tracker and forge write references.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct References {
    pub tickets: KeyStyle,
    /// What stands before the number of a pull request: `#7`, `!7`.
    pub pull_sign: char,
    /// The word that closes a ticket from a pull request's text, such as `Closes`; none where the forge closes nothing.
    pub closing_word: Option<String>,
}

/// How a tracker's keys are written in text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyStyle {
    /// `#12` is the ticket with this prefix: `GH-12`.
    Numbered { prefix: String },
    /// The key itself: `ENG-123`.
    Whole,
}

impl Default for References {
    fn default() -> References {
        References { tickets: KeyStyle::Whole, pull_sign: '#', closing_word: None }
    }
}

impl References {
    pub fn ticket(&self, key: &TaskKey) -> String {
        self.tickets.number(key).map_or_else(|| key.to_string(), |number| format!("#{number}"))
    }

    pub fn pull(&self, pr: PrNumber) -> String {
        format!("{}{}", self.pull_sign, pr.0)
    }

    /// The line of a pull request's text that closes a ticket.
    pub fn closing_line(&self, key: &TaskKey) -> Option<String> {
        self.closing_word.as_ref().map(|word| format!("{word} {}", self.ticket(key)))
    }
}

impl KeyStyle {
    /// The number of a ticket, where tickets have one.
    pub fn number(&self, key: &TaskKey) -> Option<u64> {
        match self {
            KeyStyle::Numbered { prefix } => key.number_with(prefix),
            KeyStyle::Whole => None,
        }
    }

    /// The key a word of a text names, if it names one: `#12`, `GH-12`, `ENG-123`.
    pub fn read(&self, word: &str) -> Option<TaskKey> {
        match (self, word.strip_prefix('#')) {
            (KeyStyle::Numbered { prefix }, Some(digits)) => {
                let number = digits.parse().ok().filter(|number| *number > 0)?;
                Some(TaskKey::numbered(prefix, number))
            }
            (KeyStyle::Numbered { prefix }, None) => TaskKey::parse(word)
                .ok()
                .filter(|key| key.number_with(prefix).is_some_and(|number| number > 0)),
            (KeyStyle::Whole, Some(_)) => None,
            (KeyStyle::Whole, None) => TaskKey::parse(word).ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{KeyStyle, References};
    use crate::id::{PrNumber, TaskKey};

    #[test]
    fn references_are_written_as_each_side_writes_them() {
        let tickets = KeyStyle::Numbered { prefix: "GH".to_owned() };
        let github = References { tickets, pull_sign: '#', closing_word: Some("Closes".to_owned()) };
        let mixed = References { pull_sign: '!', ..References::default() };
        let (gh, eng) = (TaskKey::parse("GH-12").unwrap(), TaskKey::parse("ENG-7").unwrap());
        assert_eq!((github.ticket(&gh), github.ticket(&eng)), ("#12".to_owned(), "ENG-7".to_owned()));
        assert_eq!(github.closing_line(&gh).as_deref(), Some("Closes #12"));
        assert_eq!((mixed.ticket(&eng), mixed.pull(PrNumber(3))), ("ENG-7".to_owned(), "!3".to_owned()));
        assert_eq!(mixed.closing_line(&eng), None);
    }

    #[test]
    fn keys_are_read_from_words() {
        let numbered = KeyStyle::Numbered { prefix: "GH".to_owned() };
        for (style, word, expect) in [
            (&numbered, "#3", Some("GH-3")),
            (&numbered, "GH-3", Some("GH-3")),
            (&numbered, "#0", None),
            (&numbered, "ENG-3", None),
            (&KeyStyle::Whole, "ENG-3", Some("ENG-3")),
            (&KeyStyle::Whole, "#3", None),
            (&KeyStyle::Whole, "word", None),
        ] {
            assert_eq!(style.read(word).as_ref().map(TaskKey::as_str), expect, "{word}");
        }
    }
}
