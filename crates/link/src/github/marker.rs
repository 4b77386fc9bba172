//! A mark of ours in a text, unseen by people, by which the text is found again.

use super::{GithubError, Why};

/// GitHub takes 65,536 characters in a body; the mark needs room too.
const LONGEST_BODY: usize = 65_000;

/// The key of one effect, written into what it makes: `<!-- pilot-key KEY -->`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Marker(String);

impl Marker {
    /// The mark for a key of letters, digits and `-_.:/#@`.
    pub fn new(key: &str) -> Result<Self, GithubError> {
        let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/#@".contains(&byte);
        // `--` may not stand in an HTML comment.
        if key.bytes().all(letter) && !key.contains("--") && !key.is_empty() && key.len() <= 200 {
            Ok(Self(format!("<!-- pilot-key {key} -->")))
        } else {
            Err(GithubError::new("mark a text", Why::bad_name(key)))
        }
    }

    /// Whether a text has the mark. Anybody can copy it, so who wrote the text is asked as well.
    pub(super) fn is_in(&self, text: &str) -> bool {
        text.contains(&self.0)
    }

    /// The text with the mark at its end, cut if it is longer than GitHub takes.
    pub(super) fn sign(&self, body: &str) -> String {
        let body = body.trim_end();
        let kept: String = body.chars().take(LONGEST_BODY).collect();
        let cut = if kept.len() < body.len() { "…" } else { "" };
        format!("{kept}{cut}\n\n{}\n", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Marker;

    #[test]
    fn a_mark_is_found_and_only_that_one() {
        let [one, other] = ["GH-1/pr", "GH-1/pr.2"].map(|key| Marker::new(key).unwrap());
        let signed = one.sign("Hello\r\n");
        assert_eq!(signed, "Hello\n\n<!-- pilot-key GH-1/pr -->\n");
        assert!(one.is_in(&signed) && !other.is_in(&signed));
        let long = other.sign(&"ä".repeat(70_000));
        assert!(other.is_in(&long) && long.chars().count() < 65_536);
    }

    #[test]
    fn keys_cannot_leave_the_mark() {
        for key in ["", "a b", "a-->b", "a--b", "<", "a\n", "ä", &"x".repeat(201)] {
            assert!(Marker::new(key).is_err(), "{key:?}");
        }
    }
}
