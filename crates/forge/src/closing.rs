//! Words that close issues: `Closes #12`, `fixed GH-3`.

/// GitHub's words, each before a number.
const WORDS: [&str; 9] =
    ["close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved"];

/// The numbers of the issues that a text closes, each once, in order.
pub(crate) fn numbers(text: &str) -> Vec<i64> {
    let mut numbers = Vec::new();
    let mut after_word = false;
    for token in text.split([' ', '\t', '\n', '\r', ',', ';']).filter(|token| !token.is_empty()) {
        let number = if after_word { number(token) } else { None };
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

fn number(token: &str) -> Option<i64> {
    let digits = token
        .strip_prefix('#')
        .or_else(|| token.strip_prefix("GH-"))?
        .trim_end_matches(['.', ')', '!', ':', '*']);
    let sound = !digits.is_empty() && digits.len() <= 12 && digits.bytes().all(|byte| byte.is_ascii_digit());
    sound.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn words_before_numbers_close() {
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
            assert_eq!(numbers(text), expect, "{text:?}");
        }
    }
}
