//! The words that say how much work a task is, and how they are found: whole words and phrases, never parts of words.
//!
//! A phrase is words with a space between them: `a|b` is either, a `*` at the end any ending, `~` up to three words of any
//! kind. Articles do not count. Code, paths and identifiers are no words.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::shape::{is_path, tokens};
use crate::markdown::{self, MarkdownLine};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhraseMeaning {
    /// Nothing to understand. Counts in the title only.
    Trivial,
    Simple,
    /// Something that is done across the code.
    ComplexDeed,
    /// Something that is easy to get wrong.
    ComplexThing,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) meaning: PhraseMeaning,
    pub(super) words: String,
}

/// How many words a `~` stands for at most.
const GAP: usize = 3;

/// Phrases that hold such words and say nothing.
const NEUTRAL: &[&str] = &[
    "file|filing|operating|build|design|grid|numbering|coordinate|unit|metric|init system|systems",
    "system prompt|message|messages|tray|font|fonts|call|calls|clock|time|default|theme",
    "typo tolerance|tolerant|detection|correction|checker|suggestion|suggestions",
    "spelling suggestion|suggestions|checker|correction",
    "flaky|failing|broken test|tests",
    "code formatting|formatter rules|engine",
    "significant whitespace",
    "error message format|protocol",
    "documentation generator|site|system|pipeline",
    "docs generator|site|pipeline",
    "test suite|framework|harness|runner|infrastructure",
    "bump allocator|map|mapping|chart",
];

const TRIVIAL: &[&str] = &[
    "typo|typos",
    "misspell*|mistyped",
    "spelling",
    "grammar|punctuation|capitalization|capitalisation",
    "whitespace|indentation",
    "trailing|missing newline|newlines|space|spaces|comma|semicolon|period",
    "formatting",
    "run gofmt|rustfmt|prettier|black|formatter",
    "apply gofmt|rustfmt|prettier|black|formatter",
    "fix|silence|resolve lint|linter|clippy|eslint warning|warnings|error|errors",
    "fix lint|linting",
    "lint fix|fixes",
    "fix|update|correct|reword|improve|remove|delete|stale|outdated|wrong|misleading comment|comments|docstring|docstrings",
    "doc comment|comments",
    "remove|delete|drop unused",
    "unused import|imports|variable|variables|constant|constants|parameter|parameters|argument|arguments|function|functions|file|files|dependency|dependencies|field|fields|method|methods",
    "fix|add|missing|sort|reorder|organize|organise import|imports",
    "commented out code",
    "leftover|stray|forgotten print|prints|println|log|logs|debug|console|statement",
    "rename ~ variable|variables|constant|function|method|parameter|argument",
    "bump|update|raise|increase ~ version",
    "version bump",
    "copyright year|years",
    "dead|broken link|links|url|urls",
    "fix|correct link|links|url|urls",
    "wording|reword|rephrase",
    "changelog entry",
    "readme badge|badges",
];

const SIMPLE: &[&str] = &[
    "add|remove|drop|expose|accept|support|introduce ~ flag|option|parameter|argument|field|property|column|constant|attribute|alias|header|badge|icon|tooltip|placeholder|shortcut",
    "add|remove|hide|show ~ button|label|link|menu|message|hint|warning|banner",
    "add|extend|improve ~ test|tests",
    "fix ~ test|tests",
    "test|tests for",
    "unit test|tests",
    "test case|cases",
    "rename",
    "add|improve ~ logging|logs|log",
    "error|log|help|warning|status|usage message|messages|text|output",
    "default value|values|timeout|port|limit",
    "change|update|tweak|adjust|raise|lower|increase|decrease ~ config|configuration|setting|settings|default|defaults|constant|limit|threshold|timeout|color|colour|copy|text|label|icon|title|margin|padding",
    "config|configuration value|key|option",
    "readme|documentation|docs|docstring|docstrings|changelog",
    "add|fix ~ example|examples",
    "small|minor|quick|tiny|little|simple|cosmetic fix|change|tweak|cleanup|improvement|adjustment",
    "one liner",
    "bump|pin",
    "update ~ dependency|dependencies",
    "null|nil|none|bounds check|checks",
    "off by one",
    "env|environment variable|variables",
    "gitignore|editorconfig",
    "deprecation warning|warnings",
];

const COMPLEX_DEED: &[&str] = &[
    "refactor*",
    "rewrite|rewrites|rewriting|rewritten",
    "redesign*",
    "restructur*",
    "rearchitect*",
    "overhaul*",
    "rework|reworks|reworking|reworked",
    "migrate|migrates|migrating|migrated",
    "modulariz*|modularis*",
    "decouple|decouples|decoupling",
    "parallelize|parallelise|parallelizing|parallelising",
    "internationalize|internationalise",
    "split ~ into ~ services|crates|packages|modules",
    "extract ~ service|microservice|crate|package|library",
    "port ~ to rust|go|python|typescript|kotlin|swift|java|c|wasm|webassembly|windows|macos|linux",
    "from scratch",
];

const COMPLEX_THING: &[&str] = &[
    "architecture|architectural",
    "migration|migrations",
    "system|systems",
    "cross cutting",
    "breaking change|changes",
    "database|db schema",
    "schema change|changes",
    "concurrency|concurrent|concurrently",
    "race condition|conditions",
    "data race|races",
    "deadlock|deadlocks|livelock",
    "memory leak|leaks",
    "data loss|corruption",
    "distributed",
    "multi tenant|tenancy",
    "multitenant|multitenancy",
    "encryption|cryptography|cryptographic",
    "state machine|machines",
    "security model|audit|vulnerability|vulnerabilities",
    "vulnerability|vulnerabilities|exploit|cve",
    "backward|backwards compatibility|compatible|compatibility",
    "plugin|extension api|architecture|framework|interface",
    "api design",
    "public api",
    "multi file",
    "rbac|oauth|oauth2|oidc|saml|sso",
    "permission|permissions|authorization|authorisation model|layer|scheme",
    "real time",
    "websocket|websockets",
    "replication|sharding|consensus|failover",
    "thread safety|safe",
    "transaction|transactions|transactional",
    "event sourcing",
    "zero downtime",
    "scalability|scalable",
    "performance regression|overhaul|bottleneck|bottlenecks",
    "query planner|optimizer|optimiser",
    "garbage collector|collection",
    "internationalization|internationalisation|i18n",
    "across all|every|multiple|many",
    "entire|whole codebase|project|application|app|repository",
    "end to end",
];

enum Word {
    Gap,
    /// One of these; a stem with its flag.
    OneOf(Vec<(&'static str, bool)>),
}

struct Phrase {
    meaning: Option<PhraseMeaning>,
    words: Vec<Word>,
}

static PHRASES: LazyLock<Vec<Phrase>> = LazyLock::new(|| {
    let tables = [
        (None, NEUTRAL),
        (Some(PhraseMeaning::Trivial), TRIVIAL),
        (Some(PhraseMeaning::Simple), SIMPLE),
        (Some(PhraseMeaning::ComplexDeed), COMPLEX_DEED),
        (Some(PhraseMeaning::ComplexThing), COMPLEX_THING),
    ];
    let phrases = tables.iter().flat_map(|(meaning, table)| table.iter().map(|text| phrase(*meaning, text)));
    phrases.collect()
});

fn phrase(meaning: Option<PhraseMeaning>, text: &'static str) -> Phrase {
    let word = |word: &'static str| match word {
        "~" => Word::Gap,
        _ => {
            Word::OneOf(word.split('|').map(|one| (one.trim_end_matches('*'), one.ends_with('*'))).collect())
        }
    };
    Phrase { meaning, words: text.split(' ').map(word).collect() }
}

/// The phrases of a text, in order; of those that begin at the same word the one that covers most.
pub(super) fn hits(text: &str) -> Vec<Hit> {
    let words = words(text);
    let mut hits = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let best = PHRASES
            .iter()
            .filter_map(|phrase| fits(&phrase.words, &words[at..]).map(|length| (length, phrase)))
            // Of equals the first in the tables: what says nothing wins.
            .reduce(|best, next| if next.0 > best.0 { next } else { best });
        match best {
            Some((length, phrase)) => {
                if let Some(meaning) = phrase.meaning {
                    let words = words[at..at + length].iter().flatten().map(String::as_str);
                    hits.push(Hit { meaning, words: words.collect::<Vec<_>>().join(" ") });
                }
                at += length;
            }
            None => at += 1,
        }
    }
    hits
}

/// How many words a phrase covers at the begin of these.
fn fits(phrase: &[Word], words: &[Option<String>]) -> Option<usize> {
    match phrase.split_first() {
        None => Some(0),
        Some((Word::Gap, rest)) => (0..=GAP)
            .take_while(|gap| words.get(..*gap).is_some_and(|gap| gap.iter().all(Option::is_some)))
            .find_map(|gap| fits(rest, &words[gap..]).map(|length| gap + length)),
        Some((Word::OneOf(choices), rest)) => {
            let (word, behind) = words.split_first()?;
            let word = word.as_deref()?;
            let is_one = choices.iter().any(|(choice, is_stem)| match is_stem {
                true => word.starts_with(choice),
                false => word == *choice,
            });
            is_one.then(|| fits(rest, behind)).flatten().map(|length| length + 1)
        }
    }
}

fn words(text: &str) -> Vec<Option<String>> {
    let mut words = Vec::new();
    for line in markdown::lines(text) {
        let line = match line {
            MarkdownLine::Blank | MarkdownLine::Open { .. } | MarkdownLine::Code(_) | MarkdownLine::Close => {
                ""
            }
            MarkdownLine::Heading { text, .. }
            | MarkdownLine::Checkbox { text }
            | MarkdownLine::Item { text, .. }
            | MarkdownLine::Text(text) => text,
        };
        // Between backticks every second piece is code.
        for (index, piece) in line.split('`').enumerate() {
            match index % 2 {
                0 => words.extend(piece.split_whitespace().flat_map(chunk)),
                _ => words.push(Some(THING.to_owned())),
            }
        }
        words.push(None);
    }
    words
}

/// Stands for code, a path, an identifier: something, but no word.
const THING: &str = "…";

const ARTICLES: [&str; 14] = [
    "a", "an", "the", "some", "few", "several", "this", "that", "these", "those", "our", "my", "your", "its",
];

/// The words of a piece of text without white space.
fn chunk(chunk: &str) -> Vec<Option<String>> {
    let mut words = Vec::new();
    if is_identifier(chunk) {
        words.push(Some(THING.to_owned()));
    } else {
        let plain = chunk.replace(['\'', '’'], "").to_lowercase();
        let parts = plain.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
        words.extend(parts.filter(|part| !ARTICLES.contains(part)).map(|part| Some(part.to_owned())));
    }
    if chunk.ends_with(['.', ',', ';', ':', '!', '?', ')']) {
        words.push(None);
    }
    words
}

fn is_identifier(chunk: &str) -> bool {
    let Some(token) = tokens(chunk).next() else { return false };
    let humps =
        token.as_bytes().windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    humps
        || is_path(token)
        || token.contains('_')
        || token.contains("::")
        || token.contains("://")
        || chunk.contains("()")
}

#[cfg(test)]
mod tests {
    use super::{PhraseMeaning, hits};

    fn found(text: &str) -> Vec<(PhraseMeaning, String)> {
        hits(text).into_iter().map(|hit| (hit.meaning, hit.words)).collect()
    }

    #[test]
    fn words_have_borders() {
        use PhraseMeaning::{ComplexDeed, ComplexThing, Simple, Trivial};
        for (text, expect) in [
            ("System limits", Some((ComplexThing, "system"))),
            ("Filesystem limits", None),
            ("File-system limits", None),
            ("The system's limits", Some((ComplexThing, "systems"))),
            ("Ecosystem page", None),
            ("typos", Some((Trivial, "typos"))),
            ("Typography", None),
            ("Prefix typo", Some((Trivial, "typo"))),
            ("Refactoring", Some((ComplexDeed, "refactoring"))),
            ("Immigration form", None),
            ("Rename", Some((Simple, "rename"))),
            ("Rename the old variable", Some((Trivial, "rename old variable"))),
            ("Rename `x` variable", Some((Trivial, "rename … variable"))),
            ("Renamed", None),
            ("Add a --json flag", Some((Simple, "add json flag"))),
            ("Add one. Two three flag", None),
            ("see migration_test and `migration` and src/migration/mod.rs", None),
            ("userMigration and crate::migration", None),
            ("Fix typo tolerance", None),
            ("race-condition", Some((ComplexThing, "race condition"))),
            ("race. Condition", None),
            ("```\nrefactor\n```", None),
        ] {
            let expect: Vec<(PhraseMeaning, String)> =
                expect.into_iter().map(|(meaning, words)| (meaning, words.to_owned())).collect();
            assert_eq!(found(text), expect, "{text:?}");
        }
    }

    #[test]
    fn the_longest_phrase_counts() {
        assert_eq!(found("Fix lint warnings"), [(PhraseMeaning::Trivial, "fix lint warnings".to_owned())]);
        let both = found("Migrate users, then fix a typo");
        assert_eq!(
            both,
            [(PhraseMeaning::ComplexDeed, "migrate".into()), (PhraseMeaning::Trivial, "typo".into())]
        );
    }
}
