//! What a project says about itself in `.agent/`, as far as a prompt has room for it.

use super::untrusted::{BlockMarks, untrusted_block, untrusted_line};

/// The most of one file, of all files together, in bytes; and the most files.
pub const NOTE_LIMIT: usize = 8 * 1024;
const NOTES_LIMIT: usize = 24 * 1024;
const MOST_NOTES: usize = 8;

/// How many files are named that did not find room.
const NAMED: usize = 20;

#[derive(Clone, Copy, Debug)]
pub struct PromptNote<'n> {
    /// Its path from the repository's root.
    pub path: &'n str,
    pub text: &'n str,
}

/// The notes that fit, the index first, then those about the task, with the names of the others.
pub(super) fn notes(notes: &[PromptNote<'_>], key: &str, title: &str) -> String {
    let mut ranked: Vec<(usize, &PromptNote<'_>)> = notes
        .iter()
        .filter(|note| is_readable(note.path))
        .map(|note| (rank(note.path, key, title), note))
        .collect();
    ranked.sort_by_key(|(rank, note)| (*rank, note.path));
    let mut shown: Vec<String> = Vec::new();
    let mut others: Vec<String> = Vec::new();
    let mut room = NOTES_LIMIT;
    for (_, note) in ranked {
        let text = untrusted_block(note.text, NOTE_LIMIT.min(room));
        if text.is_empty() {
            continue;
        }
        if shown.len() == MOST_NOTES || room < 512 {
            others.push(untrusted_line(note.path, 200));
            continue;
        }
        room = room.saturating_sub(text.len());
        shown.push(BlockMarks::new("project-notes").with("path", note.path).around(&text));
    }
    if !others.is_empty() {
        let left = others.len().saturating_sub(NAMED);
        others.truncate(NAMED);
        let more = if left > 0 { format!(" and {left} more") } else { String::new() };
        shown.push(format!("Not shown, for you to read where they help: {}{more}.", others.join(", ")));
    }
    shown.join("\n\n")
}

/// Markdown that people keep, not what tools leave there.
fn is_readable(path: &str) -> bool {
    let is_markdown = path.rsplit_once('.').is_some_and(|(_, ending)| ending.eq_ignore_ascii_case("md"));
    let below = path.trim_start_matches("./").strip_prefix(".agent/").unwrap_or(path);
    is_markdown && !below.split('/').any(|part| part.starts_with('.') || part == "archive")
}

/// The less, the more it helps.
fn rank(path: &str, key: &str, title: &str) -> usize {
    let lower = path.to_lowercase();
    let name = lower.rsplit('/').next().unwrap_or_default();
    let is_word = |word: &&str| word.len() >= 4;
    let words = title.to_lowercase();
    let mut words = words.split(|c: char| !c.is_alphanumeric()).filter(is_word);
    let stem = name.trim_end_matches(".md");
    let mut parts = stem.split(|c: char| !c.is_alphanumeric()).filter(is_word);
    match () {
        () if name == "development-readme.md" => 0,
        () if !key.is_empty() && name.starts_with(&key.to_lowercase()) => 1,
        () if parts.any(|part| words.any(|word| word == part)) => 2,
        () if lower.contains("/system/") => 3,
        () => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_NOTES, NOTE_LIMIT, NOTES_LIMIT, PromptNote, notes};

    fn paths(told: &str) -> Vec<&str> {
        told.lines()
            .filter_map(|line| line.strip_prefix("<project-notes path=\"")?.strip_suffix("\">"))
            .collect()
    }

    #[test]
    fn the_index_comes_first_then_what_is_about_the_task() {
        let files = [
            ".agent/sops/deployment/release.md",
            ".agent/system/overview.md",
            ".agent/sops/login-forms.md",
            ".agent/tasks/GH-12-login.md",
            ".agent/DEVELOPMENT-README.md",
            ".agent/.context-markers/x.md",
            ".agent/tasks/archive/GH-12.md",
            ".agent/.nav-config.json",
        ];
        let all: Vec<PromptNote<'_>> = files.iter().map(|path| PromptNote { path, text: "text" }).collect();
        assert_eq!(
            paths(&notes(&all, "GH-12", "Add the Login page")),
            [
                ".agent/DEVELOPMENT-README.md",
                ".agent/tasks/GH-12-login.md",
                ".agent/sops/login-forms.md",
                ".agent/system/overview.md",
                ".agent/sops/deployment/release.md"
            ]
        );
        assert_eq!(notes(&[], "k", "t"), "");
        assert_eq!(notes(&[PromptNote { path: "a.md", text: " \n" }], "k", "t"), "");
    }

    #[test]
    fn there_is_room_for_so_much() {
        let names: Vec<String> = (0..40).map(|i| format!(".agent/{i:02}.md")).collect();
        let long = "x".repeat(100_000);
        let all: Vec<PromptNote<'_>> = names.iter().map(|path| PromptNote { path, text: &long }).collect();
        let told = notes(&all, "k", "t");
        assert!(told.len() < NOTES_LIMIT + 4096, "{}", told.len());
        assert_eq!(paths(&told).len(), NOTES_LIMIT / NOTE_LIMIT);
        assert!(told.contains("more bytes are not shown]"));
        assert!(told.ends_with("and 17 more."), "{}", &told[told.len() - 100..]);
        let all: Vec<PromptNote<'_>> = names.iter().map(|path| PromptNote { path, text: "x" }).collect();
        assert_eq!(paths(&notes(&all, "k", "t")).len(), MOST_NOTES);
    }
}
