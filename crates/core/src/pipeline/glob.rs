//! Patterns over paths: `*` and `?` within a name, `**` for any number of folders.

/// Whether a text is a pattern rather than a path.
pub fn is_glob(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// The folders a pattern begins with, before its first wildcard.
pub fn glob_root(pattern: &str) -> String {
    let parts: Vec<&str> = pattern.split('/').collect();
    let fixed = parts[..parts.len() - 1].iter().take_while(|part| !is_glob(part));
    fixed.copied().collect::<Vec<_>>().join("/")
}

/// Whether a path matches a pattern, from its begin to its end.
pub fn glob_matches(pattern: &str, path: &str) -> bool {
    let pattern: Vec<&str> = pattern.split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    let mut reach = vec![false; path.len() + 1];
    reach[0] = true;
    for part in pattern {
        let mut next = vec![false; path.len() + 1];
        for at in 0..=path.len() {
            if !reach[at] {
                continue;
            }
            if part == "**" {
                next[at..].fill(true);
            } else if at < path.len() && name_matches(part, path[at]) {
                next[at + 1] = true;
            }
        }
        reach = next;
    }
    reach[path.len()]
}

fn name_matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let mut reach = vec![false; name.len() + 1];
    reach[0] = true;
    for c in pattern {
        let mut next = vec![false; name.len() + 1];
        for at in (0..=name.len()).filter(|at| reach[*at]) {
            match c {
                '*' => next[at..].fill(true),
                '?' if at < name.len() => next[at + 1] = true,
                _ if name.get(at) == Some(&c) => next[at + 1] = true,
                _ => {}
            }
        }
        reach = next;
    }
    reach[name.len()]
}

#[cfg(test)]
mod tests {
    use super::{glob_matches, glob_root, is_glob};

    #[test]
    fn patterns_match_whole_paths() {
        for (pattern, path, expect) in [
            ("*.md", "a.md", true),
            ("*.md", "a.mdx", false),
            ("*.md", "b/a.md", false),
            ("**/*.md", "a.md", true),
            ("**/*.md", "b/c/a.md", true),
            ("docs/**", "docs/a/b", true),
            ("docs/**/x", "docs/x", true),
            ("d?cs/a*b*c.txt", "docs/axxbyyc.txt", true),
            ("d?cs/a*b*c.txt", "docs/axxyyc.txt", false),
            ("?", "é", true),
            ("?", "", false),
            ("*", "", true),
        ] {
            assert_eq!(glob_matches(pattern, path), expect, "{pattern} {path}");
        }
        assert!(is_glob("a/*.md") && !is_glob("a/b"));
        assert_eq!(
            [glob_root("docs/a/*.md"), glob_root("*.md"), glob_root("docs/**/x")],
            ["docs/a", "", "docs"]
        );
    }

    #[test]
    fn a_hostile_pattern_takes_no_time() {
        assert!(!glob_matches(&"*a".repeat(200), &"a".repeat(199)));
    }
}
