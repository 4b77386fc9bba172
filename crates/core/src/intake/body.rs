//! What a ticket's text says that a decision needs.

use std::collections::BTreeSet;

use crate::id::{BodyHash, Branch, KeyStyle, TaskKey};
use crate::observed::{Body, TouchedPaths};
use crate::text::strip_hidden;
use crate::text::truncate;

/// The most of each that is kept; a text with more is still read.
const MOST_DEPENDENCIES: usize = 50;
const MOST_UNREAD: usize = 5;
const MOST_DIRECTORIES: usize = 64;
const LONGEST_LINE: usize = 200;

/// How a dependency is written, at the begin of a line and in any case.
const DEPENDS: [&str; 3] = ["depends on", "blocked by", "requires"];

/// Reads a ticket's text. Only what a reader of the page sees counts: comments and hidden characters do not. `hash` is the
/// SHA-256 of the text as it came.
pub fn read_body(text: &str, hash: BodyHash, keys: &KeyStyle) -> Body {
    let branch = selected_branch(text);
    let text = strip_hidden(text);
    let mut body =
        Body { hash, depends_on: BTreeSet::new(), unread: Vec::new(), paths: TouchedPaths::Unknown, branch };
    let mut directories = BTreeSet::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            read_dependency(line, keys, &mut body);
        }
        for word in line.split(|c: char| c.is_whitespace() || "`'\"()[]<>,;".contains(c)) {
            if let Some(directory) = directory(word)
                && directories.len() < MOST_DIRECTORIES
            {
                directories.insert(directory);
            }
        }
    }
    if !directories.is_empty() {
        body.paths = TouchedPaths::Named(directories);
    }
    body
}

/// The branch that the meta comment names alone. One with a pull request is how a fix of CI is found again, and which task that
/// belongs to is known from our own log.
fn selected_branch(text: &str) -> Option<Branch> {
    let comments = text.split("<!--").skip(1).filter_map(|rest| Some(rest.split_once("-->")?.0.trim()));
    let meta = comments.filter_map(|comment| comment.strip_prefix("autopilot-meta ")).next()?;
    let value = |name: &str| meta.split_whitespace().find_map(|word| word.strip_prefix(name));
    if value("pr:").is_some() || value("iteration:").is_some() {
        return None;
    }
    // Pilot pushes to branches of its own and to no other.
    Branch::parse(value("branch:")?).ok().filter(|branch| branch.as_str().starts_with("pilot/"))
}

/// A line that begins like a dependency names tickets, or is shown to a person. `requires` needs its colon: it is an ordinary
/// word as well.
fn read_dependency(line: &str, keys: &KeyStyle, body: &mut Body) {
    let line =
        line.trim().trim_start_matches(['-', '*', '+', '>', ' ']).trim_start_matches("[ ]").trim_start();
    let line = line.trim_start_matches("**");
    let Some((word, rest)) = DEPENDS.iter().find_map(|word| {
        let head = line.get(..word.len())?;
        head.eq_ignore_ascii_case(word).then(|| (*word, &line[word.len()..]))
    }) else {
        return;
    };
    let rest = rest.trim_start_matches("**").trim_start();
    let colon = rest.starts_with(':');
    let rest = rest.trim_start_matches(':').trim_start_matches("**").trim();
    let named = named_tickets(rest, keys);
    let is_prose =
        !colon && rest.split_whitespace().next().is_none_or(|word| named_tickets(word, keys).is_empty());
    if named.is_empty() || is_prose {
        if colon && word != "requires" && body.unread.len() < MOST_UNREAD {
            body.unread.push(truncate(line, LONGEST_LINE).to_owned());
        }
        return;
    }
    for key in named {
        if body.depends_on.len() < MOST_DEPENDENCIES {
            body.depends_on.insert(key);
        }
    }
}

fn named_tickets(text: &str, keys: &KeyStyle) -> Vec<TaskKey> {
    let words = text.split(|c: char| c.is_whitespace() || ",;.()".contains(c));
    words.filter_map(|word| keys.read(word)).collect()
}

/// The directory of a word that looks like a path: `src/auth/login.rs`, `src/auth/`, `Cargo.toml`.
fn directory(word: &str) -> Option<String> {
    let word = word.trim_start_matches("./").trim_end_matches(['.', ':', '!', '?']);
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/@".contains(c);
    if word.is_empty() || word.len() > LONGEST_LINE || !word.chars().all(plain) || word.contains("//") {
        return None;
    }
    if word.starts_with(['/', '@', '-']) || word.contains("..") {
        return None;
    }
    match word.rsplit_once('/') {
        Some((directory, file)) if file.is_empty() || has_extension(file) => Some(directory.to_owned()),
        // `and/or` is no path, `src/auth/session` is one.
        Some((directory, _)) if directory.contains('/') => Some(word.to_owned()),
        Some(_) => None,
        None => (has_extension(word) && word.len() > 3).then(|| ".".to_owned()),
    }
}

/// `login.rs`, but neither `e.g` nor `1.0.2`.
fn has_extension(file: &str) -> bool {
    file.rsplit_once('.').is_some_and(|(stem, extension)| {
        stem.len() > 1
            && (1..=5).contains(&extension.len())
            && extension.bytes().all(|b| b.is_ascii_alphanumeric())
            && extension.bytes().any(|b| b.is_ascii_alphabetic())
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::id::{BodyHash, KeyStyle};
    use crate::observed::{Body, TouchedPaths};
    use crate::task::scenario::gh;

    fn read_body(text: &str) -> Body {
        let keys = KeyStyle::Numbered { prefix: "GH".to_owned() };
        super::read_body(text, BodyHash::parse(&"0".repeat(64)).unwrap(), &keys)
    }

    #[test]
    fn a_meta_comment_with_a_branch_alone_selects_it() {
        for (text, expect) in [
            ("Go on.\n<!-- autopilot-meta branch:pilot/GH-9 -->", Some("pilot/GH-9")),
            ("<!--autopilot-meta   branch:pilot/x-->", Some("pilot/x")),
            ("<!-- autopilot-meta branch:pilot/GH-9 pr:3 iteration:1 -->", None),
            ("<!-- autopilot-meta branch:main -->", None),
            ("<!-- autopilot-meta branch:pilot/a..b -->", None),
            ("autopilot-meta branch:pilot/GH-9", None),
            ("<!-- autopilot-meta branch:pilot/GH-9", None),
        ] {
            assert_eq!(read_body(text).branch.as_ref().map(|branch| branch.as_str()), expect, "{text}");
        }
    }

    #[test]
    fn dependencies_are_read_as_people_write_them() {
        for (text, expect) in [
            ("Depends on: #3", vec![3]),
            ("depends on #3 and #4", vec![3, 4]),
            ("- Depends on: #3, #5", vec![3, 5]),
            ("**Depends on:** #3", vec![3]),
            ("> blocked by: GH-7", vec![7]),
            ("Requires: #9.", vec![9]),
            ("This depends on #3 being there", vec![]),
            ("It requires care", vec![]),
            ("```\nDepends on: #3\n```", vec![]),
            ("<!-- Depends on: #3 -->", vec![]),
            ("Depends on: #0", vec![]),
            ("See #3", vec![]),
        ] {
            let read: Vec<_> = read_body(text).depends_on.into_iter().collect();
            let expect: Vec<_> = expect.into_iter().map(gh).collect();
            assert_eq!(read, expect, "{text:?}");
        }
        assert!(read_body("x").depends_on.is_empty());
        let whole = super::read_body("Depends on: ENG-3, #4", read_body("").hash, &KeyStyle::Whole);
        assert_eq!(whole.depends_on.iter().map(ToString::to_string).collect::<Vec<_>>(), ["ENG-3"]);
        assert!(read_body(&"Depends on: #1 #2\n".repeat(1000)).depends_on.contains(&gh(2)));
    }

    #[test]
    fn a_dependency_without_a_ticket_is_kept_for_a_person() {
        for (text, expect) in [
            ("Depends on: the login work", vec!["Depends on: the login work"]),
            ("Blocked by: the vendor", vec!["Blocked by: the vendor"]),
            ("Depends on the weather", vec![]),
            ("Requires: a database", vec![]),
        ] {
            assert_eq!(read_body(text).unread, expect, "{text:?}");
        }
        assert_eq!(read_body(&"Depends on: x\n".repeat(100)).unread.len(), super::MOST_UNREAD);
    }

    #[test]
    fn paths_say_where_the_work_is() {
        let named = |names: &[&str]| {
            TouchedPaths::Named(names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>())
        };
        for (text, expect) in [
            ("Change `src/auth/login.rs`, please.", named(&["src/auth"])),
            ("In src/auth/ and docs/guide.md.", named(&["src/auth", "docs"])),
            ("Bump Cargo.toml", named(&["."])),
            ("The session in src/auth/session breaks", named(&["src/auth/session"])),
            ("Make it faster and/or smaller, e.g. by caching; version 1.0.2", TouchedPaths::Unknown),
            ("See https://example.org/a/b.html and ../../etc/passwd", TouchedPaths::Unknown),
            ("", TouchedPaths::Unknown),
        ] {
            assert_eq!(read_body(text).paths, expect, "{text:?}");
        }
    }
}
