//! Closing keywords: `Closes #12`, `fixed GH-3`.

/// GitHub's keywords, each followed by a reference.
const WORDS: [&str; 9] =
    ["close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved"];

/// The numbers of the issues that a text closes, in order, without duplicates.
pub(crate) fn issue_numbers(text: &str) -> Vec<i64> {
    let mut numbers = Vec::new();
    let mut after_word = false;
    for token in text.split([' ', '\t', '\n', '\r', ',', ';']).filter(|token| !token.is_empty()) {
        let number = if after_word { parse_reference(token) } else { None };
        if let Some(number) = number
            && !numbers.contains(&number)
        {
            numbers.push(number);
        }
        let word = token.trim_end_matches(':').trim_start_matches(['(', '*', '-']).to_ascii_lowercase();
        after_word = WORDS.contains(&word.as_str());
    }
    numbers
}

fn parse_reference(token: &str) -> Option<i64> {
    let digits = token
        .strip_prefix('#')
        .or_else(|| token.strip_prefix("GH-"))?
        .trim_end_matches(['.', ')', '!', ':', '*']);
    let valid = !digits.is_empty() && digits.len() <= 12 && digits.bytes().all(|byte| byte.is_ascii_digit());
    valid.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::issue_numbers;

    #[test]
    fn keywords_before_references_close() {
        for (text, expect) in [
            ("Closes #12", vec![12]),
            ("fix: login\n\nFixes: #3, resolves #4 and closes #3.", vec![3, 4]),
            ("(fixes #7)", vec![7]),
            ("Resolves GH-12.", vec![12]),
            ("see #12", vec![]),
            ("closes 12", vec![]),
            ("closes #12x", vec![]),
            ("closing #1", vec![]),
            ("Closes #1, #2", vec![1]),
            ("", vec![]),
        ] {
            assert_eq!(issue_numbers(text), expect, "{text:?}");
        }
    }
}
