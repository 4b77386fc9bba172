//! Paths from agents and files: what may be read, and what an `update` may write, by the text alone.
//!
//! Whether a component is a link only the file system knows; `exec::confined` checks that.

use crate::text::word_enum;

/// The longest path, in bytes, and how many folders deep.
const LONGEST: usize = 512;
const DEEPEST: usize = 32;
pub const STAGED: &str = ".pilot-update-";

/// Below `.pilot/`, what decides how Pilot works in this project.
const RESERVED: [&str; 7] =
    ["pipeline.yaml", "pipeline.yml", "config.yaml", "config.yml", "agents", "prompts", "ci.sh"];

const UPDATE_ROOT: &str = ".pilot";

#[derive(Clone, Copy, Debug)]
pub struct UpdateRules<'r> {
    /// Further roots besides `.pilot`, relative to the project; `.` is the whole project.
    pub roots: &'r [String],
    /// Pilot's own directory, when it lies in the project.
    pub home: Option<&'r str>,
}

word_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PathFault {
        Empty = "the path is empty",
        Absolute = "the path is absolute; write it from the project's root",
        Up = "the path goes up with ..",
        Tilde = "the path begins with ~; write it from the project's root",
        Odd = "the path holds a control character, a backslash or an empty part",
        Folder = "the path names a folder, not a file",
        TooLong = "the path is too long or too deep",
        Git = "git's own directory is never written or read",
        Reserved = "it decides how Pilot works in this project, so no agent writes it by a mark",
        State = "Pilot's own directory is never written by a mark",
        Outside = "updates go below .pilot/, or below a root of pipeline.update_roots",
        Clash = "another update of the same step needs this path as a folder",
    }
}

/// A path below the project, with nothing in it that leads elsewhere.
pub fn relative(text: &str) -> Result<String, PathFault> {
    if text.is_empty() {
        return Err(PathFault::Empty);
    }
    if text.len() > LONGEST {
        return Err(PathFault::TooLong);
    }
    if text.starts_with('/') {
        return Err(PathFault::Absolute);
    }
    if text.starts_with('~') {
        return Err(PathFault::Tilde);
    }
    if text.contains(|c: char| c.is_control() || c == '\\') {
        return Err(PathFault::Odd);
    }
    if text.ends_with('/') || text == "." || text.ends_with("/.") {
        return Err(PathFault::Folder);
    }
    // A drive, as in `C:x`.
    if text.as_bytes().get(1) == Some(&b':') && text.as_bytes()[0].is_ascii_alphabetic() {
        return Err(PathFault::Absolute);
    }
    let parts: Vec<&str> = text.split('/').filter(|part| *part != ".").collect();
    if parts.len() > DEEPEST || parts.iter().any(|part| part.len() > 255) {
        return Err(PathFault::TooLong);
    }
    for part in &parts {
        check(part)?;
    }
    Ok(parts.join("/"))
}

fn check(part: &str) -> Result<(), PathFault> {
    match plain(part).as_str() {
        _ if part.is_empty() => Err(PathFault::Odd),
        // Also `. .` and `...`, which some systems read as the folder above.
        "" => Err(PathFault::Up),
        ".git" | "git~1" => Err(PathFault::Git),
        name if name.starts_with(".git:") => Err(PathFault::Git),
        _ => Ok(()),
    }
}

/// A name as the most forgiving file system reads it: no case, nothing invisible, no dots and blanks at its end.
fn plain(part: &str) -> String {
    let seen = part.chars().filter(|c| !is_invisible(*c)).flat_map(char::to_lowercase);
    seen.collect::<String>().trim_end_matches(['.', ' ']).to_owned()
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

pub fn update_path(text: &str, rules: &UpdateRules<'_>) -> Result<String, PathFault> {
    let path = relative(text)?;
    let parts: Vec<String> = path.split('/').map(plain).collect();
    let first = parts.first().map(String::as_str);
    let second = parts.get(1).map(String::as_str);
    if first == Some(UPDATE_ROOT) && second.is_none_or(|name| RESERVED.contains(&name)) {
        return Err(PathFault::Reserved);
    }
    if parts.iter().any(|part| part.starts_with(STAGED)) {
        return Err(PathFault::Reserved);
    }
    if rules.home.is_some_and(|home| home.is_empty() || is_below(&path, home)) {
        return Err(PathFault::State);
    }
    let allowed = |root: &str| root == "." || is_below(&path, root.trim_end_matches('/'));
    if !allowed(UPDATE_ROOT) && !rules.roots.iter().any(|root| allowed(root)) {
        return Err(PathFault::Outside);
    }
    Ok(path)
}

fn is_below(path: &str, root: &str) -> bool {
    path == root || path.strip_prefix(root).is_some_and(|rest| rest.starts_with('/'))
}

/// All paths of one step, or the first that is refused.
pub fn update_paths<'t>(
    texts: impl IntoIterator<Item = &'t str>,
    rules: &UpdateRules<'_>,
) -> Result<Vec<String>, (String, PathFault)> {
    let mut paths: Vec<String> = Vec::new();
    for text in texts {
        let path = update_path(text, rules).map_err(|fault| (shown(text), fault))?;
        let clash = |other: &String| other != &path && (is_below(&path, other) || is_below(other, &path));
        if paths.iter().any(clash) {
            return Err((shown(text), PathFault::Clash));
        }
        paths.push(path);
    }
    Ok(paths)
}

fn shown(text: &str) -> String {
    text.chars().take(200).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::{PathFault, UpdateRules, relative, update_path, update_paths};

    const RULES: UpdateRules<'_> = UpdateRules { roots: &[], home: None };

    #[test]
    fn a_path_stays_below_the_project() {
        for (text, expect) in [
            ("a", Ok("a")),
            ("a/b.md", Ok("a/b.md")),
            ("./a/./b", Ok("a/b")),
            ("a b/ü", Ok("a b/ü")),
            (".gitignore", Ok(".gitignore")),
            ("", Err(PathFault::Empty)),
            (".", Err(PathFault::Folder)),
            ("a/", Err(PathFault::Folder)),
            ("/etc/passwd", Err(PathFault::Absolute)),
            ("C:x", Err(PathFault::Absolute)),
            ("~/x", Err(PathFault::Tilde)),
            ("..", Err(PathFault::Up)),
            ("a/../b", Err(PathFault::Up)),
            ("a/. ./b", Err(PathFault::Up)),
            ("a/.../b", Err(PathFault::Up)),
            ("a/.\u{200b}./b", Err(PathFault::Up)),
            ("a//b", Err(PathFault::Odd)),
            ("a\\b", Err(PathFault::Odd)),
            ("a\nb", Err(PathFault::Odd)),
            ("a\0b", Err(PathFault::Odd)),
            (".git/hooks/x", Err(PathFault::Git)),
            ("a/.GIT/x", Err(PathFault::Git)),
            ("a/.git. /x", Err(PathFault::Git)),
            ("a/.g\u{200c}it/x", Err(PathFault::Git)),
            ("git~1/x", Err(PathFault::Git)),
            (".git::$INDEX_ALLOCATION/x", Err(PathFault::Git)),
        ] {
            assert_eq!(relative(text).as_deref().map_err(|fault| *fault), expect, "{text:?}");
        }
        assert_eq!(relative(&"a/".repeat(40)), Err(PathFault::Folder));
        assert_eq!(relative(&["a"; 40].join("/")), Err(PathFault::TooLong));
        assert_eq!(relative(&"a".repeat(300)), Err(PathFault::TooLong));
    }

    #[test]
    fn updates_go_where_they_may() {
        for (text, expect) in [
            (".pilot/prd.md", Ok(".pilot/prd.md")),
            ("./.pilot/a/b.md", Ok(".pilot/a/b.md")),
            (".pilot", Err(PathFault::Reserved)),
            (".pilot/pipeline.yaml", Err(PathFault::Reserved)),
            (".pilot/./Pipeline.YAML", Err(PathFault::Reserved)),
            (".pilot/config.yaml.", Err(PathFault::Reserved)),
            (".pilot/agents/x.md", Err(PathFault::Reserved)),
            (".pilot/prompts/x.md", Err(PathFault::Reserved)),
            (".pilot/.pilot-update-1", Err(PathFault::Reserved)),
            (".pilot/agents2/x.md", Ok(".pilot/agents2/x.md")),
            (".pilotx/a", Err(PathFault::Outside)),
            ("src/main.rs", Err(PathFault::Outside)),
            (".pilot/../src/main.rs", Err(PathFault::Up)),
            (".pilot/.git/x", Err(PathFault::Git)),
        ] {
            assert_eq!(update_path(text, &RULES).as_deref().map_err(|fault| *fault), expect, "{text:?}");
        }
        let more = ["docs".to_owned(), "notes/".to_owned()];
        let rules = UpdateRules { roots: &more, home: Some(".pilot/home") };
        assert!(update_path("docs/a.md", &rules).is_ok());
        assert!(update_path("notes/a.md", &rules).is_ok());
        assert_eq!(update_path("docs2/a.md", &rules), Err(PathFault::Outside));
        assert_eq!(update_path(".pilot/home/data/pilot.db", &rules), Err(PathFault::State));
        let everything = [".".to_owned()];
        let rules = UpdateRules { roots: &everything, home: None };
        assert!(update_path("src/main.rs", &rules).is_ok());
        assert_eq!(update_path(".pilot/config.yaml", &rules), Err(PathFault::Reserved));
        assert_eq!(
            update_path(".pilot/x", &UpdateRules { roots: &[], home: Some("") }),
            Err(PathFault::State)
        );
    }

    #[test]
    fn the_updates_of_a_step_fit_together() {
        let twice = update_paths([".pilot/a", ".pilot/a", ".pilot/b/c"], &RULES).unwrap();
        assert_eq!(twice, [".pilot/a", ".pilot/a", ".pilot/b/c"]);
        let (path, fault) = update_paths([".pilot/a", ".pilot/a/b"], &RULES).unwrap_err();
        assert_eq!((path.as_str(), fault), (".pilot/a/b", PathFault::Clash));
    }
}
