//! What a command line says about the work: does it read, install, change, test or commit?
//!
//! A guess for a percentage that decides nothing: well-known programs by their names, not a shell's reading of the line.

use super::tool::Activity;
use crate::text::truncate;

/// How much of a command line is read, in bytes. Scripts may be long; what they do shows early.
const LINE_LIMIT: usize = 4 * 1024;

/// Words before the program that runs: shell keywords and programs that only start another one.
const PREFIXES: &str =
    "if then else while until do ! { env sudo time timeout nice nohup exec npx python python3";

/// Programs, the first arguments that count (any when empty), and what the two say. The first row that fits counts.
const KNOWN: [(&str, &str, Activity); 8] = [
    ("git", "commit push", Activity::Committing),
    ("git", "apply am mv rm revert", Activity::Implementing),
    ("git", "status log diff show blame grep", Activity::Exploring),
    (
        "cargo npm pnpm yarn pip pip3 uv poetry bundle go apt apt-get",
        "install ci add sync mod get",
        Activity::Installing,
    ),
    (
        "cargo go npm pnpm yarn bun make just dotnet swift deno mix bazel gradle gradlew mvn mvnw",
        "test build check clippy lint nextest vet verify",
        Activity::Testing,
    ),
    ("pytest unittest jest vitest playwright rspec tox ctest eslint tsc mypy ruff", "", Activity::Testing),
    ("apply_patch patch tee", "", Activity::Implementing),
    ("cat head tail ls tree find grep rg wc sed", "", Activity::Exploring),
];

/// What a command line does; of several activities, the furthest in the work.
pub(super) fn guess_activity(line: &str) -> Option<Activity> {
    split_commands(truncate(line, LINE_LIMIT)).iter().filter_map(|words| classify_command(words)).max()
}

fn classify_command(words: &[String]) -> Option<Activity> {
    let is_prefix = |word: &str| {
        contains_word(PREFIXES, word)
            || word.contains('=')
            || word.starts_with(|c: char| c == '-' || c.is_ascii_digit())
    };
    let start = words.iter().position(|word| !is_prefix(word))?;
    let program = words[start].rsplit('/').next().unwrap_or_default();
    let args = &words[start + 1..];
    match program {
        // Without its quotes a script holds one quote character less, so this ends after two levels.
        "bash" | "sh" | "zsh" | "eval" => guess_activity(args.iter().find(|arg| !arg.starts_with('-'))?),
        "cat" | "echo" | "printf" if writes_file(args) => Some(Activity::Implementing),
        "sed" | "perl" if args.iter().any(|arg| arg.starts_with("-i") || arg.starts_with("-pi")) => {
            Some(Activity::Implementing)
        }
        _ => match args.split_first() {
            Some((first, rest)) if first == "run" || first == "exec" => {
                classify_command(rest).or_else(|| find_known(program, rest))
            }
            _ => find_known(program, args),
        },
    }
}

fn find_known(program: &str, args: &[String]) -> Option<Activity> {
    let argument = args.iter().find(|arg| !arg.starts_with(['-', '+'])).map_or("", String::as_str);
    // `test:unit` is a test.
    let argument = argument.split(':').next().unwrap_or_default();
    let fits = |known: &str| known.is_empty() || contains_word(known, argument);
    let row =
        KNOWN.iter().find(|(programs, arguments, _)| contains_word(programs, program) && fits(arguments));
    row.map(|(_, _, activity)| *activity)
}

fn contains_word(list: &str, word: &str) -> bool {
    list.split(' ').any(|known| known == word)
}

/// `cat > file` is how shells edit.
fn writes_file(args: &[String]) -> bool {
    args.iter().any(|arg| arg.starts_with('>')) && !args.iter().any(|arg| arg.contains("/dev/"))
}

/// The commands of a line as words without quotes. The text of a here-document is data, and so is all after its first
/// line.
fn split_commands(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word = String::new();
    let mut quote = None;
    let mut has_document = false;
    for c in line.chars().chain(['\n']) {
        let ends_command = quote.is_none() && matches!(c, '\n' | ';' | '&' | '|' | '(' | ')' | '`');
        if quote == Some(c) {
            quote = None;
        } else if quote.is_none() && matches!(c, '\'' | '"') {
            quote = Some(c);
        } else if quote.is_some() || !(ends_command || c.is_whitespace()) {
            word.push(c);
        } else if !word.is_empty() {
            has_document |= word.starts_with("<<");
            commands.last_mut().expect("there is always one").push(std::mem::take(&mut word));
        }
        if ends_command {
            commands.push(Vec::new());
        }
        if has_document && c == '\n' && quote.is_none() {
            break;
        }
    }
    commands
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Activity, guess_activity};

    fn check(expected: Option<Activity>, lines: &[&str]) {
        for line in lines {
            assert_eq!(guess_activity(line), expected, "{line:?}");
        }
    }

    #[test]
    fn tests_and_builds_are_testing() {
        check(
            Some(Activity::Testing),
            &[
                "cargo test",
                "cargo +nightly test -p x",
                "cargo nextest run",
                "cargo clippy --all-targets -- -D warnings",
                "go test ./...",
                "npm test",
                "npm run test:unit",
                "pnpm exec vitest run",
                "pnpm lint",
                "npx jest --ci",
                "pytest -q",
                "python -m pytest",
                "uv run pytest",
                "bundle exec rspec",
                "make test",
                "./gradlew test",
                "dotnet test",
                "tsc --noEmit",
            ],
        );
    }

    #[test]
    fn prefixes_and_shells_are_seen_through() {
        check(
            Some(Activity::Testing),
            &[
                "cd x && cargo test",
                "cd x; RUST_LOG=debug CI=1 cargo test 2>&1 | tail -5",
                "bash -lc 'cargo test'",
                "/bin/bash -lc \"cd a && npm test\"",
                "bash -c \"sh -c 'go test ./...'\"",
                "env A=b cargo test",
                "timeout 60 cargo test",
                "nohup cargo test &",
                "if cargo test; then echo ok; fi",
                "while ! cargo test; do sleep 1; done",
                "( cd a && pytest )",
                "{ pytest; }",
                "out=$(cargo test)",
                "eval 'cargo test'",
                "cat log.txt | grep x && cargo test",
                "/usr/local/bin/pytest",
            ],
        );
    }

    #[test]
    fn the_furthest_step_counts() {
        check(
            Some(Activity::Committing),
            &[
                "git commit -m x",
                "git add -A && git commit -qm 'fix: add'",
                "cargo test && git commit -m x",
                "git push origin HEAD",
                "git commit -m \"$(cat <<'EOF'\nfix: a\nEOF\n)\"",
            ],
        );
    }

    #[test]
    fn other_steps() {
        check(
            Some(Activity::Installing),
            &[
                "npm ci",
                "npm install x",
                "pip install -r r.txt",
                "python -m pip install x",
                "uv sync",
                "go mod tidy",
                "cargo add serde",
                "apt-get install -y jq",
            ],
        );
        check(
            Some(Activity::Implementing),
            &[
                "sed -i 's/a/b/' x.rs",
                "cat > x.rs <<'EOF'\ncargo test\nEOF",
                "echo hi >> notes.md",
                "apply_patch <<'EOF'\n*** Begin Patch\nEOF",
                "git mv a b",
                "perl -pi -e 's/a/b/' x",
                "printf x | tee f.txt",
            ],
        );
        check(
            Some(Activity::Exploring),
            &[
                "cat src/main.rs",
                "ls -la",
                "sed -n 1,20p x.rs",
                "git log --oneline | head -1",
                "grep -rn 'cargo test' .",
                "find . -name '*.rs'",
                "cat x > /dev/null",
            ],
        );
    }

    #[test]
    fn other_words_say_nothing() {
        check(
            None,
            &[
                "",
                "   ",
                "echo 'cargo test'",
                "echo cargo test",
                "test -f x",
                "cd tests",
                "mkdir tests",
                "git checkout -b test",
                "git add tests",
                "npm run deploy-latest",
                "make install",
                "cargo run",
                "python -c 'import test'",
                "timeout",
                "bash -c",
                "npm",
                "sleep 5",
                "# cargo test",
                "which pytest",
                "perl x.pl",
            ],
        );
    }

    #[test]
    fn nesting_and_length_are_bounded() {
        for word in ["eval ", "( ", "é", "time ", "! ", "bash -c \"", "npm run "] {
            assert_eq!(guess_activity(&word.repeat(100_000)), None, "{word}");
        }
    }

    proptest! {
        #[test]
        fn any_text_has_an_answer(line in "\\PC{0,60}|[a-z'\"<>&|;()`\\\\\n# $-]{0,60}") {
            let _ = guess_activity(&line);
        }

        #[test]
        fn a_change_of_directory_hides_nothing(index in 0..4usize) {
            let line = ["cargo test", "git commit", "npm ci", "ls"][index];
            prop_assert_eq!(guess_activity(line), guess_activity(&format!("cd a/b && {line}")));
            prop_assert_eq!(guess_activity(line), guess_activity(&format!("bash -lc '{line}'")));
        }
    }
}
