//! The message of a commit that Pilot makes.

use crate::text::inert_line;

/// As long as tools show the first line of a commit.
const SUBJECT: usize = 72;
const TITLE: usize = 200;

/// Words that begin a title in the style of conventional commits.
const KINDS: [&str; 11] =
    ["feat", "fix", "docs", "style", "refactor", "perf", "test", "build", "ci", "chore", "revert"];

/// `feat: <title>`, with the task and, if there is one, the co-author. A title that says its kind keeps it.
pub fn commit_message(title: &str, task: &str, co_author: Option<&str>) -> String {
    let title = inert_line(title, TITLE);
    let subject = if has_kind(&title) { title } else { format!("feat: {title}") };
    let mut message = match subject.char_indices().nth(SUBJECT) {
        None => subject,
        Some(_) => {
            let cut = subject.char_indices().nth(SUBJECT - 1).map_or(subject.len(), |(at, _)| at);
            format!("{}…\n\n{subject}", subject[..cut].trim_end())
        }
    };
    message.push_str(&format!("\n\nTask: {}", inert_line(task, TITLE)));
    if let Some(co_author) = co_author {
        message.push_str(&format!("\nCo-authored-by: {}", inert_line(co_author, TITLE)));
    }
    message
}

/// `fix: …`, `feat(scope)!: …`.
fn has_kind(title: &str) -> bool {
    let Some((head, _)) = title.split_once(':') else { return false };
    let word = head.trim_end_matches('!').split('(').next().unwrap_or_default();
    KINDS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::commit_message;

    #[test]
    fn a_commit_says_what_the_task_asked_for() {
        assert_eq!(commit_message("Add login", "GH-1", None), "feat: Add login\n\nTask: GH-1");
        assert_eq!(
            commit_message("fix(db)!: lose nothing", "GH-1", None),
            "fix(db)!: lose nothing\n\nTask: GH-1"
        );
        assert_eq!(commit_message("Note: this", "GH-1", None), "feat: Note: this\n\nTask: GH-1");
        assert_eq!(
            commit_message("a\nb", "GH-1", Some("ann <ann@example.org>")),
            "feat: a b\n\nTask: GH-1\nCo-authored-by: ann <ann@example.org>"
        );
        let long = commit_message(&"ä ".repeat(60), "GH-1", None);
        let first = long.lines().next().unwrap();
        assert!(first.chars().count() <= 72 && first.ends_with('…'), "{first}");
    }
}
