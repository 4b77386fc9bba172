//! The diff hunk of a comment on a line.

/// The most lines of a hunk that a comment shows.
const MOST: usize = 100;

/// The hunk of a patch up to a line on one side; `None` if the patch does not contain the line.
pub(crate) fn hunk_at(patch: &str, line: i64, left: bool) -> Option<String> {
    let mut hunk: Vec<&str> = Vec::new();
    let (mut old, mut new) = (0, 0);
    for text in patch.lines() {
        if let Some(head) = text.strip_prefix("@@ -") {
            (old, new) = hunk_starts(head)?;
            hunk.clear();
            hunk.push(text);
            continue;
        }
        hunk.push(text);
        let (of_old, of_new) = match text.as_bytes().first() {
            Some(b'-') => (true, false),
            Some(b'+') => (false, true),
            Some(b'\\') => (false, false),
            Some(_) | None => (true, true),
        };
        let here = if left { of_old && old == line } else { of_new && new == line };
        if here {
            let tail = hunk.len().saturating_sub(MOST).max(1);
            return Some([&hunk[..1], &hunk[tail..]].concat().join("\n"));
        }
        old += i64::from(of_old);
        new += i64::from(of_new);
    }
    None
}

/// The first line numbers of both sides, from `1,4 +1,5 @@ …`.
pub(crate) fn hunk_starts(head: &str) -> Option<(i64, i64)> {
    let (old, rest) = head.split_once(" +")?;
    let number = |text: &str| text.split([',', ' ']).next().and_then(|digits| digits.parse().ok());
    Some((number(old)?, number(rest)?))
}

#[cfg(test)]
mod tests {
    use super::hunk_at;

    const PATCH: &str =
        "@@ -1,3 +1,4 @@\n one\n-two\n+zwei\n+drei\n four\n@@ -10,2 +11,2 @@ fn x\n-a\n+b\n c";

    #[test]
    fn hunks_end_at_the_line() {
        for (line, left, expect) in [
            (1, false, Some("@@ -1,3 +1,4 @@\n one")),
            (3, false, Some("@@ -1,3 +1,4 @@\n one\n-two\n+zwei\n+drei")),
            (2, true, Some("@@ -1,3 +1,4 @@\n one\n-two")),
            (12, false, Some("@@ -10,2 +11,2 @@ fn x\n-a\n+b\n c")),
            (5, false, None),
            (0, false, None),
        ] {
            assert_eq!(hunk_at(PATCH, line, left).as_deref(), expect, "{line} {left}");
        }
    }
}
