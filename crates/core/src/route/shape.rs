//! What a ticket looks like: its headings, boxes, code, files, and how long it is.

use std::collections::BTreeSet;

use crate::markdown::{self, MarkdownLine};

/// Endings of files that people name in tickets.
const ENDINGS: &[&str] = &[
    "bash", "bat", "c", "cc", "cfg", "cjs", "clj", "conf", "cpp", "cs", "css", "csv", "cxx", "dart", "erl",
    "ex", "exs", "fs", "go", "gql", "gradle", "graphql", "h", "hcl", "hpp", "hs", "htm", "html", "ini",
    "ipynb", "java", "jl", "js", "json", "jsx", "kt", "kts", "less", "lock", "lua", "md", "mdx", "mjs", "ml",
    "nim", "php", "proto", "ps1", "py", "pyi", "rb", "rs", "rst", "sass", "scala", "scss", "sh", "sql",
    "svelte", "swift", "tex", "tf", "toml", "ts", "tsx", "txt", "vue", "xml", "yaml", "yml", "zig",
];

/// Names that end like files.
const PRODUCTS: &str = "angular.js backbone.js chart.js d3.js express.js ember.js moment.js nest.js next.js node.js \
    nuxt.js react.js socket.io three.js vue.js";

const BARE_FILES: &[&str] = &["Dockerfile", "Justfile", "Makefile", "Jenkinsfile", "Procfile", "Vagrantfile"];

/// The most files that are told apart.
const MOST_FILES: usize = 200;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TicketShape {
    pub(super) headings: usize,
    /// Headings and lines such as `Phase 2: …`, each number of each word once.
    pub(super) phases: usize,
    pub(super) checkboxes: usize,
    pub(super) steps: usize,
    pub(super) fences: usize,
    /// Words outside of fences.
    pub(super) words: usize,
    pub(super) files: BTreeSet<String>,
    /// The directories that are named, by themselves or with a file in them.
    pub(super) directories: BTreeSet<String>,
}

pub(super) fn shape(text: &str) -> TicketShape {
    let mut shape = TicketShape::default();
    let mut phases = BTreeSet::new();
    for line in markdown::lines(text) {
        let words = match line {
            MarkdownLine::Blank | MarkdownLine::Code(_) | MarkdownLine::Close => continue,
            MarkdownLine::Open { .. } => {
                shape.fences += 1;
                continue;
            }
            MarkdownLine::Heading { text, .. } => {
                shape.headings += 1;
                phases.extend(phase(text));
                text
            }
            MarkdownLine::Checkbox { text } => {
                shape.checkboxes += 1;
                text
            }
            MarkdownLine::Item { numbered, text } => {
                shape.steps += usize::from(numbered);
                text
            }
            MarkdownLine::Text(text) => {
                phases.extend(phase(text));
                text
            }
        };
        shape.words += words.split_whitespace().count();
        shape.look_for_files(words);
    }
    shape.phases = phases.len();
    shape
}

impl TicketShape {
    pub(super) fn look_for_files(&mut self, line: &str) {
        for token in tokens(line) {
            if self.files.len() + self.directories.len() >= MOST_FILES {
                return;
            }
            match path(token) {
                Some(Path::File(file)) => {
                    if let Some((directory, _)) = file.rsplit_once('/') {
                        self.directories.insert(directory.to_owned());
                    }
                    self.files.insert(file.to_owned());
                }
                Some(Path::Directory(directory)) => {
                    self.directories.insert(directory.to_owned());
                }
                None => {}
            }
        }
    }
}

/// The word and number of a line that opens a phase: `Phase 2`, `**Stage 1:** …`.
fn phase(line: &str) -> Option<(String, String)> {
    let line = line.trim_start_matches(['*', '_', ' ']).to_lowercase();
    let word = ["phase", "stage", "part", "milestone"].into_iter().find(|word| line.starts_with(word))?;
    let rest = line[word.len()..].trim_start_matches([' ', '-', '#']);
    let number: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric()).collect();
    let is_number = number.chars().all(|c| c.is_ascii_digit())
        || ["i", "ii", "iii", "iv", "v"].contains(&number.as_str());
    // `Phase 2` begins something; `phase 2 will` is a sentence about it.
    let behind = rest[number.len()..].trim_start_matches(['*', '_']);
    let opens = behind.is_empty()
        || behind.starts_with([':', '.', ')', '–', '—'])
        || behind.starts_with(" -")
        || behind.starts_with(" –")
        || behind.starts_with(" —");
    (is_number && !number.is_empty() && number.len() <= 4 && opens).then(|| (word.to_owned(), number))
}

pub(super) fn tokens(line: &str) -> impl Iterator<Item = &str> {
    let is_border = |c: char| c.is_whitespace() || "()[]{}<>,;\"'`*|=".contains(c);
    line.split(is_border)
        .map(|token| token.trim_end_matches(['.', ':', '!', '?']))
        .filter(|token| !token.is_empty())
}

#[derive(Debug, PartialEq, Eq)]
enum Path<'t> {
    File(&'t str),
    Directory(&'t str),
}

pub(super) fn is_path(token: &str) -> bool {
    path(token).is_some()
}

fn path(token: &str) -> Option<Path<'_>> {
    if token.contains("://") || token.starts_with("www.") || token.contains('@') {
        return None;
    }
    // `src/a.rs:12` is the file.
    let token = token.split(':').next().unwrap_or_default();
    let token = token.trim_start_matches("./").trim_start_matches('/');
    let letters = |c: char| c.is_alphanumeric() || "_-./+".contains(c);
    if token.is_empty() || token.len() > 300 || !token.chars().all(letters) {
        return None;
    }
    if let Some(directory) = token.strip_suffix('/') {
        return (!directory.is_empty()).then_some(Path::Directory(directory));
    }
    let name = token.rsplit('/').next().unwrap_or(token);
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let is_file = BARE_FILES.contains(&name)
        || (!stem.is_empty()
            && ENDINGS.binary_search(&ending.to_ascii_lowercase().as_str()).is_ok()
            && !PRODUCTS.split(' ').any(|product| product.eq_ignore_ascii_case(name)));
    is_file.then_some(Path::File(token))
}

#[cfg(test)]
mod tests {
    use super::{ENDINGS, Path, TicketShape, path, phase, shape};

    #[test]
    fn the_endings_can_be_searched() {
        assert!(ENDINGS.is_sorted());
    }

    #[test]
    fn paths_are_told_from_words() {
        for token in ["src/a.rs", "main.go", "Makefile", "docs/Guide.MD", "a/b/Dockerfile"] {
            assert_eq!(path(token), Some(Path::File(token)), "{token}");
        }
        assert_eq!(path("./src/a.rs:12"), Some(Path::File("src/a.rs")));
        assert_eq!(path("src/auth/"), Some(Path::Directory("src/auth")));
        for token in [
            "word",
            "and/or",
            "e.g",
            "i.e",
            "1.5",
            "Node.js",
            "https://x.org/a.html",
            "a@b.rs",
            "v1.2",
            "/",
            ".rs",
            "…",
        ] {
            assert_eq!(path(token), None, "{token}");
        }
    }

    #[test]
    fn phases_open_something() {
        for (line, opens) in [
            ("Phase 1", true),
            ("Phase 1: schema", true),
            ("**Phase 2** - api", true),
            ("Stage 3 – ui", true),
            ("Milestone II", true),
            ("part 4.", true),
            ("Phase 2 will follow later", false),
            ("Phases: 3", false),
            ("party 1", false),
            ("In phase 1: x", false),
            ("Part of the work", false),
        ] {
            assert_eq!(phase(line).is_some(), opens, "{line}");
        }
    }

    #[test]
    fn a_ticket_is_measured() {
        let text = "# Title\n\nSome words in `src/a.rs` and src/b.rs.\n\n## Phase 1: x\n- [ ] one\n- [x] two\n\
                    ## Phase 2\n1. first\n2. see lib/\n```rust\nlet not = \"src/c.rs\";\n```\nPhase 2: again\n";
        let TicketShape { headings, phases, checkboxes, steps, fences, words, files, directories } =
            shape(text);
        assert_eq!((headings, phases, checkboxes, steps, fences, words), (3, 2, 2, 2, 1, 20));
        assert_eq!(files.into_iter().collect::<Vec<_>>(), ["src/a.rs", "src/b.rs"]);
        assert_eq!(directories.into_iter().collect::<Vec<_>>(), ["lib", "src"]);
    }
}
