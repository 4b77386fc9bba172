//! The lines a failed run leaves in `execution_logs`. Their prefixes are names users rely on.

use super::class::Class;
use crate::text::truncate;

/// The most of standard error that is logged, in bytes.
pub const STDERR_LIMIT: usize = 16 * 1024;

/// The most of the final assistant message that is kept, in bytes.
pub const FINAL_MESSAGE_LIMIT: usize = 4 * 1024;

/// `Backend error classification: rate_limit`
pub fn classification_line(class: Class) -> String {
    format!("Backend error classification: {class}")
}

/// `Backend stderr: …`, the first 16 KiB.
pub fn stderr_line(stderr: &str) -> String {
    format!("Backend stderr: {}", truncate(stderr, STDERR_LIMIT))
}

/// `Final assistant message: …`, the first 4 KiB.
pub fn final_message_line(message: &str) -> String {
    format!("Final assistant message: {}", truncate(message, FINAL_MESSAGE_LIMIT))
}

#[cfg(test)]
mod tests {
    use super::{
        Class, FINAL_MESSAGE_LIMIT, STDERR_LIMIT, classification_line, final_message_line, stderr_line,
    };

    #[test]
    fn the_prefixes_are_to_the_letter() {
        assert_eq!(classification_line(Class::NoChanges), "Backend error classification: no_changes");
        assert_eq!(stderr_line("oh\nno"), "Backend stderr: oh\nno");
        assert_eq!(final_message_line("I won't."), "Final assistant message: I won't.");
        assert_eq!(
            (stderr_line(""), final_message_line("")),
            ("Backend stderr: ".into(), "Final assistant message: ".into())
        );
    }

    #[test]
    fn logged_texts_are_cut_between_characters() {
        for (limit, line, prefix) in [
            (STDERR_LIMIT, stderr_line as fn(&str) -> String, "Backend stderr: "),
            (FINAL_MESSAGE_LIMIT, final_message_line, "Final assistant message: "),
        ] {
            for (character, width) in [("x", 1), ("é", 2), ("€", 3), ("🦀", 4)] {
                for lead in 0..=4 {
                    let text = format!("{}{}", "x".repeat(lead), character.repeat(limit));
                    let kept = line(&text)[prefix.len()..].to_owned();
                    assert_eq!(kept.len(), lead + (limit - lead) / width * width, "{character} {lead}");
                    assert!(text.starts_with(&kept));
                }
            }
            let exact = "é".repeat(limit / 2);
            assert_eq!(line(&exact), format!("{prefix}{exact}"));
        }
    }
}
