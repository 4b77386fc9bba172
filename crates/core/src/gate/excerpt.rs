//! The part of an output that helps to fix the failure: what looks like an error with the lines around it, and the
//! end, where most tools sum up.

use std::borrow::Cow;

use super::plain::plain;
use crate::text::truncate;

/// The most that is kept of one gate's output, in bytes.
pub const EXCERPT_LIMIT: usize = 6 * 1024;

/// A longer line loses its middle.
const LONGEST_LINE: usize = 500;
const BEFORE: usize = 2;
const BEHIND: usize = 8;
const GAP: usize = 40;

/// At most `limit` bytes of an output: errors first, then its end. The same output gives the same excerpt.
pub fn excerpt(output: &str, limit: usize) -> String {
    let text = plain(output);
    let text = text.trim_end().trim_start_matches('\n');
    let lines: Vec<Cow<'_, str>> = text.lines().map(|line| shortened(line.trim_end())).collect();
    let mut choice = Choice { lines: &lines, kept: vec![false; lines.len()], left: limit };
    if lines.iter().map(|line| line.len() + 1).sum::<usize>() <= limit {
        choice.kept.fill(true);
        return choice.text();
    }
    choice.end(limit * 2 / 5);
    for is_error in [is_strong as fn(&str) -> bool, is_weak] {
        for (at, line) in lines.iter().enumerate() {
            if is_error(line) {
                choice.around(at);
            }
        }
    }
    choice.end(choice.left);
    let text = choice.text();
    truncate(&text, limit).to_owned()
}

struct Choice<'a> {
    lines: &'a [Cow<'a, str>],
    kept: Vec<bool>,
    left: usize,
}

impl Choice<'_> {
    /// The last lines, as many as so many bytes hold.
    fn end(&mut self, bytes: usize) {
        let mut bytes = bytes.min(self.left).saturating_sub(GAP);
        for at in (0..self.lines.len()).rev() {
            let cost = if self.kept[at] { 0 } else { self.lines[at].len() + 1 };
            if cost > bytes {
                break;
            }
            bytes -= cost;
            self.left -= cost;
            self.kept[at] = true;
        }
        self.left = self.left.saturating_sub(GAP);
    }

    /// A line with those around it, or at least itself.
    fn around(&mut self, at: usize) {
        let whole = at.saturating_sub(BEFORE)..(at + BEHIND + 1).min(self.lines.len());
        for range in [whole, at..at + 1] {
            let new = range.clone().filter(|index| !self.kept[*index]);
            let cost = new.map(|index| self.lines[index].len() + 1).sum::<usize>();
            if cost == 0 {
                return;
            }
            if cost + GAP <= self.left {
                self.left -= cost + GAP;
                self.kept[range].fill(true);
                return;
            }
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let mut missing = 0_usize;
        for (line, kept) in self.lines.iter().zip(&self.kept) {
            if !kept {
                missing += 1;
                continue;
            }
            tell_missing(&mut text, std::mem::take(&mut missing));
            text.push_str(line);
            text.push('\n');
        }
        tell_missing(&mut text, missing);
        text
    }
}

fn tell_missing(text: &mut String, lines: usize) {
    if lines > 0 {
        text.push_str(&format!("[... {lines} lines left out ...]\n"));
    }
}

fn shortened(line: &str) -> Cow<'_, str> {
    if line.len() <= LONGEST_LINE {
        return line.into();
    }
    let (head, tail) = (truncate(line, LONGEST_LINE * 3 / 4), LONGEST_LINE / 8);
    let tail = &line[line.ceil_char_boundary(line.len() - tail)..];
    format!("{head} [... {} bytes ...] {tail}", line.len() - head.len() - tail.len()).into()
}

/// How lines begin that say what is wrong.
const STRONG_STARTS: [&str; 22] = [
    "error:",
    "error[",
    "error TS",
    "Error:",
    "ERROR",
    "fatal:",
    "fatal error",
    "FAIL",
    "--- FAIL",
    "not ok ",
    "panic:",
    "Traceback (most recent call last)",
    "E   ",
    "● ",
    "✕",
    "✗",
    "✖",
    "×",
    "npm ERR!",
    "npm error",
    "make: ***",
    "AssertionError",
];

const STRONG_PARTS: [&str; 9] = [
    "panicked at",
    "... FAILED",
    ": error",
    ": fatal error",
    "AssertionError",
    "assertion failed",
    "assertion `",
    ": undefined:",
    "command not found",
];

/// Words that may mean that something is wrong.
const WEAK_WORDS: &str =
    "error errors fail failed failure failures failing assert assertion panic panicked exception fatal";

fn is_strong(line: &str) -> bool {
    let line = line.trim_start();
    !is_fine(line)
        && (STRONG_STARTS.iter().any(|start| line.starts_with(start))
            || STRONG_PARTS.iter().any(|part| line.contains(part))
            || names_an_error(line)
            || is_eslint(line))
}

fn is_weak(line: &str) -> bool {
    let line = line.trim_start();
    if is_fine(line) || is_elsewhere(line) {
        return false;
    }
    let is_known = |word: &str| WEAK_WORDS.split(' ').any(|weak| weak.eq_ignore_ascii_case(word));
    line.split(|c: char| !c.is_alphanumeric() && c != '_').any(is_known) || names_a_place(line)
}

/// A test that passed may have any name, and a count may be none.
fn is_fine(line: &str) -> bool {
    let none = |words: &str| {
        line.match_indices(words).any(|(at, _)| !line[..at].ends_with(|c: char| c.is_ascii_digit()))
    };
    line.ends_with("... ok")
        || ["ok ", "ok\t", "PASS", "✓", "✔", "√", "--- PASS"].iter().any(|start| line.starts_with(start))
        || (none("0 errors") && !line.contains("✖"))
        || (none("0 failed") && line.contains("passed"))
        || none("0 failures")
}

/// Frames of other people's code: they are in every trace.
fn is_elsewhere(line: &str) -> bool {
    ["/rustc/", "node_modules/", "site-packages/", "/go/src/", "/usr/lib/", "node:internal"]
        .iter()
        .any(|place| line.contains(place))
}

/// `KeyError: 'x'`, `java.lang.IllegalStateException: x`.
fn names_an_error(line: &str) -> bool {
    let Some((name, _)) = line.split_once(':') else { return false };
    let is_name = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '$'));
    is_name && name.len() > "Error".len() && (name.ends_with("Error") || name.ends_with("Exception"))
}

/// `  1:7   error    'a' is assigned a value but never used`.
fn is_eslint(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let place = words.next().and_then(|place| place.split_once(':'));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    place.is_some_and(|(line, column)| digits(line) && digits(column)) && words.next() == Some("error")
}

fn names_a_place(line: &str) -> bool {
    let digit = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let is_file = |name: &str| {
        let (_, extension) = name.rsplit_once('.').unwrap_or_default();
        extension.len() <= 5
            && extension.starts_with(|c: char| c.is_ascii_alphabetic())
            && extension.chars().all(|c| c.is_ascii_alphanumeric())
    };
    let mut words = line.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`'));
    words.any(|word| {
        word.match_indices([':', '(']).any(|(at, _)| digit(&word[at + 1..]) && is_file(&word[..at]))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{excerpt, is_strong, is_weak};

    const CARGO_CHECK: &str = include_str!("../../tests/fixtures/gates/cargo-check.txt");
    const CARGO_TEST: &str = include_str!("../../tests/fixtures/gates/cargo-test.txt");
    const GO_BUILD: &str = include_str!("../../tests/fixtures/gates/go-build.txt");
    const GO_TEST: &str = include_str!("../../tests/fixtures/gates/go-test.txt");
    const JEST: &str = include_str!("../../tests/fixtures/gates/jest.txt");
    const PYTEST: &str = include_str!("../../tests/fixtures/gates/pytest.txt");
    const TSC: &str = include_str!("../../tests/fixtures/gates/tsc.txt");
    const ESLINT: &str = include_str!("../../tests/fixtures/gates/eslint.txt");

    /// What of an output must be in an excerpt of 1200 bytes, however much noise there is around it, and what must not.
    const OUTPUTS: &[(&str, &str, &[&str], &[&str])] = &[
        (
            "cargo check",
            CARGO_CHECK,
            &[
                "error[E0425]: cannot find value `c` in this scope\n --> src/lib.rs:1:57\n",
                "error[E0308]: mismatched types\n --> src/lib.rs:2:24\n",
                "error: could not compile `demo` (lib) due to 2 previous errors\n",
            ],
            &["\u{1b}"],
        ),
        (
            "cargo test",
            CARGO_TEST,
            &[
                "test tests::it_adds ... FAILED\n",
                "panicked at src/lib.rs:5:28:\nassertion `left == right` failed\n  left: 2\n right: 8\n",
                "test result: FAILED. 2 passed; 1 failed;",
            ],
            &[],
        ),
        (
            "go build",
            GO_BUILD,
            &[
                "parse/parse.go:12:2: undefined: strngs\n",
                "web/server.go:7:2: \"os\" imported and not used\n",
            ],
            &[],
        ),
        (
            "go test",
            GO_TEST,
            &[
                "--- FAIL: TestParse/empty (0.00s)\n        parse_test.go:31: got error \"unexpected end\", want nil\n",
                "panic: runtime error: index out of range [3] with length 3\n",
                "/work/queue/ring.go:42\n",
                "FAIL\texample.com/app/queue\t0.011s\n",
            ],
            &[],
        ),
        (
            "jest",
            JEST,
            &[
                " FAIL  ./sum.test.js\n  ● sum › adds\n",
                "    Expected: 5\n    Received: -1\n",
                "Tests:       1 failed, 41 passed, 42 total\n",
            ],
            &["fine20.test.js", "\u{1b}"],
        ),
        (
            "pytest",
            PYTEST,
            &[
                ">       assert add(2, 3) == 5\nE       assert -1 == 5\n",
                "E       KeyError: 'missing'\n",
                "FAILED test_calc.py::test_add - assert -1 == 5\n",
                "2 failed, 1 passed in",
            ],
            &["\u{1b}"],
        ),
        (
            "tsc",
            TSC,
            &[
                "a.ts(1,40): error TS2322: Type 'number' is not assignable to type 'string'.\n",
                "a.ts(3,19): error TS2307: Cannot find module './missing'",
            ],
            &[],
        ),
        (
            "eslint",
            ESLINT,
            &[
                "/work/ts/b.js\n  1:7   error    'a' is assigned a value but never used  no-unused-vars\n",
                "✖ 4 problems (3 errors, 1 warning)\n",
            ],
            &["\u{1b}"],
        ),
    ];

    #[test]
    fn errors_and_ends_of_known_tools_stay() {
        let before: String = (0..400).map(|n| format!("Downloading package {n} of 400\n")).collect();
        let behind: String = (0..300).map(|n| format!("   Cleaning cache entry {n}\n")).collect();
        for (tool, output, stay, go) in OUTPUTS {
            for (noise, limit) in [(output.to_string(), 2000), (format!("{before}{output}"), 2200)] {
                let kept = excerpt(&noise, limit);
                assert!(kept.len() <= limit, "{tool}: {}", kept.len());
                for part in *stay {
                    assert!(kept.contains(part), "{tool}: {part:?} is not in\n{kept}");
                }
                for part in *go {
                    assert!(!kept.contains(part), "{tool}: {part:?} is in\n{kept}");
                }
            }
            // Far from the end there is room for errors only.
            let kept = excerpt(&format!("{before}{output}{behind}"), 3000);
            assert!(kept.contains(stay[0]), "{tool}: {:?} is not in\n{kept}", stay[0]);
            assert!(kept.ends_with("   Cleaning cache entry 299\n"), "{tool}: the end is missing\n{kept}");
        }
    }

    #[test]
    fn a_short_output_is_whole() {
        assert_eq!(excerpt("\n\na  \nb\n\n", 100), "a\nb\n");
        assert_eq!(excerpt("", 100), "");
    }

    #[test]
    fn without_errors_the_end_stays() {
        let lines: String = (0..1000).map(|n| format!("line {n}\n")).collect();
        let kept = excerpt(&lines, 400);
        assert!(kept.starts_with("[... ") && kept.ends_with("line 998\nline 999\n"), "{kept}");
        assert!(kept.len() > 300 && kept.len() <= 400, "{}", kept.len());
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let kept = excerpt(&format!("error: x\n{}", "noise\n".repeat(1000)), 300);
        assert!(kept.starts_with("error: x\nnoise\n"), "{kept}");
        let shown = kept.lines().filter(|line| !line.starts_with("[...")).count();
        let told: usize = kept
            .lines()
            .filter_map(|line| line.strip_prefix("[... ")?.split(' ').next()?.parse::<usize>().ok())
            .sum();
        assert_eq!(shown + told, 1001, "{kept}");
    }

    #[test]
    fn one_endless_line_loses_its_middle() {
        let kept = excerpt(&format!("error: {}é{}", "x".repeat(100_000), "y".repeat(100_000)), 1000);
        assert!(kept.starts_with("error: xxx") && kept.ends_with("yyy\n"), "{kept}");
        assert!(kept.contains(" bytes ...] ") && kept.len() < 600, "{kept}");
    }

    #[test]
    fn lines_by_what_they_say() {
        for line in [
            "error[E0425]: cannot find value",
            "a.ts(1,40): error TS2322: no",
            "x.c:3:5: fatal error: y.h: No such file",
            "  1:7   error    'a' is never used",
            "KeyError: 'x'",
            "java.lang.IllegalStateException: x",
            "  ● sum › adds",
            "make: *** [Makefile:3: test] Error 2",
        ] {
            assert!(is_strong(line), "{line}");
        }
        for line in
            ["  --> src/lib.rs:5:28", "at f (sum.test.js:3:42)", "2 tests failed", "pkg/a.go:3:1: odd"]
        {
            assert!(is_weak(line) && !is_strong(line), "{line}");
        }
        for line in [
            "test tests::parse_error_is_reported ... ok",
            "ok  \texample.com/error\t0.4s",
            "PASS src/failure.test.ts",
            "✓ fails when told (3 ms)",
            "Found 0 errors.",
            "10 passed; 0 failed; 0 ignored",
            "  at /rustc/5980/library/std/src/panicking.rs:689:5",
            "listening on 127.0.0.1:8080",
            "took 12:30",
        ] {
            assert!(!is_strong(line) && !is_weak(line), "{line}");
        }
    }

    proptest! {
        #[test]
        fn an_excerpt_keeps_its_bound_and_says_the_same_again(
            lines in prop::collection::vec("(error: )?[a-zé\\x1b\\r:./0-9 \\[]{0,40}", 0..30),
            limit in 0usize..600,
        ) {
            let output = lines.join("\n");
            let kept = excerpt(&output, limit);
            prop_assert!(kept.len() <= limit, "{} > {limit}", kept.len());
            prop_assert_eq!(&kept, &excerpt(&output, limit));
            prop_assert!(!kept.contains(char::is_control) || kept.lines().all(|line| !line.contains(char::is_control)));
        }
    }
}
