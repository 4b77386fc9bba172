//! Text from outside made safe to keep and show: cut to a length, without hidden characters, unable to close an issue.
//!
//! Must never know where a text comes from or what it is used for.

mod hidden;
mod inert;
mod word_enum;

pub use hidden::strip_hidden;
pub(crate) use hidden::{is_hidden, reveal_hidden, strip_hidden_chars};
pub(crate) use inert::inert_line;
pub use word_enum::WordEnum;
pub(crate) use word_enum::word_enum;

/// The first `limit` bytes of a text or fewer, ending between two characters.
pub fn truncate(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// The last `limit` bytes of a text or fewer, beginning between two characters.
pub(crate) fn truncate_front(text: &str, limit: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(limit))..]
}

#[cfg(test)]
mod tests {
    use super::{truncate, truncate_front};

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!((truncate("aé€", 2), truncate("aé€", 3), truncate("aé€", 99)), ("a", "aé", "aé€"));
        assert_eq!(
            (truncate_front("aé€", 3), truncate_front("aé€", 4), truncate_front("aé€", 99)),
            ("€", "€", "aé€")
        );
    }
}
