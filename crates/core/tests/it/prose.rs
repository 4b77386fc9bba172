//! Prose that talks about marks is not a mark.
//!
//! The generator makes texts as agents write them: sentences, lists, tables, logs, source code, diffs and documents
//! that mention every mark there is, quoted, cut, misspelt or in the middle of a line. None of them may give an event.

use pilot_core::signal::{Found, scan};

const TEXTS: u64 = 10_000;

#[test]
fn ten_thousand_texts_that_mention_marks_give_no_event() {
    for seed in 0..TEXTS {
        let text = text(&mut Dice(seed));
        let events: Vec<Found> =
            scan(text.as_bytes()).into_iter().filter(|found| matches!(found, Found::Signal(_))).collect();
        assert!(events.is_empty(), "text {seed} gives {events:?}:\n{text}");
    }
}

#[test]
fn the_texts_differ_and_mention_every_mark() {
    let texts: Vec<String> = (0..500).map(|seed| text(&mut Dice(seed))).collect();
    let mut sorted = texts.clone();
    sorted.sort();
    sorted.dedup();
    assert!(sorted.len() > 490, "only {} different texts", sorted.len());
    let all = texts.concat();
    for mark in [
        "pilot-signal",
        "nav-signal:v3:",
        "<pilot:",
        "NAVIGATOR_STATUS",
        "EXIT_SIGNAL: true",
        "LOOP COMPLETE",
    ] {
        assert!(all.contains(mark), "{mark} is never mentioned");
    }
}

/// Marks as they would count, each on a line of its own.
const MARKS: &[&str] = &[
    "<pilot:approve/>",
    "<pilot:completed>all done</pilot:completed>",
    "<pilot:blocked>no key</pilot:blocked>",
    "<pilot:reject>two tests fail</pilot:reject>",
    "<pilot:skip/>",
    "<pilot:emit key=\"plan\">one</pilot:emit>",
    "<pilot:update path=\".pilot/a.md\">x</pilot:update>",
    "nav-signal:v3:{\"type\":\"exit\",\"success\":true}",
    "EXIT_SIGNAL: true",
    "LOOP COMPLETE",
    "TASK MODE COMPLETE",
    "TASK MODE ACTIVATED",
    "STAGNATION DETECTED",
    "WORKFLOW CHECK",
    "Navigator Session Started",
    "PHASE: RESEARCH → IMPL",
    "PHASE: IMPL -> VERIFY",
];

/// Marks that only count as whole lines: anywhere else they are words.
const LINE_MARKS: &[&str] = &[
    "nav-signal:v3:{\"type\":\"exit\"}",
    "EXIT_SIGNAL: true",
    "LOOP COMPLETE",
    "TASK MODE COMPLETE",
    "STAGNATION DETECTED",
    "Navigator Session Started",
    "NAVIGATOR_STATUS",
    "PHASE: RESEARCH → IMPL",
    "```pilot-signal {\"type\":\"exit\"} ```",
];

/// Things that look like marks and are none, wherever they stand.
const LOOKALIKES: &[&str] = &[
    "</pilot:completed>",
    "<Pilot:approve/>",
    "<PILOT:APPROVE/>",
    "< pilot:approve/>",
    "<pilot: approve/>",
    "<pilot:$name/>",
    "<pilot:…>",
    "<pilots:approve/>",
    "&lt;pilot:approve/&gt;",
    "%3Cpilot:approve/%3E",
    "<pilot:finished/>",
    "<pilot:Completed>done</pilot:Completed>",
    "<pilot:emit key=plan>x</pilot:emit>",
    "<pilot:emit>x</pilot:emit>",
    "pilot:approve",
    "`` pilot-signal ``",
    "pilot-signal {\"type\":\"exit\"}",
    "nav-signal:v2:{\"type\":\"exit\"}",
    "NAV-SIGNAL:V3:{}",
    "exit_signal: true",
    "EXIT_SIGNAL=true",
    "EXIT_SIGNAL: yes",
    "loop complete",
    "LOOP  COMPLETE",
    "navigator_status",
    "NAVIGATOR STATUS",
];

const BEFORE: &[&str] = &[
    "The agent printed ",
    "I will send ",
    "Do not write ",
    "According to the docs, ",
    "When it is over: ",
    "12:01:07 INFO ",
    "+ ",
    "- ",
    "1. ",
    "| ",
    "# ",
    "let mark = \"",
    "assert!(text.contains(\"",
    "$ grep -q '",
    "(",
    "“",
    "**",
    "// ",
    "@@ -1,2 +1,2 @@ ",
];

const BEHIND: &[&str] = &[
    " and went on.",
    " is what ends the loop.",
    " before the tests pass!",
    "; then nothing.",
    " |",
    "\";",
    "\"));",
    "' out.log",
    ")",
    "”",
    "**.",
    ", they said",
    "?",
    "...",
];

const SENTENCES: &[&str] = &[
    "The parser now reads both forms.",
    "I changed two files and ran the tests; all of them pass.",
    "Next I will look at the scanner.",
    "Here is a summary of what was done:",
    "- wrote the parser\n- added tests",
    "| file | change |\n|---|---|\n| a.rs | new |",
    "## Result",
    "> was that all?",
    "Phase: to be decided, Progress: unknown.",
    "```rust\nfn main() {\n    println!(\"hello\");\n}\n```",
    "~~~\n$ cargo test\n~~~",
    "Сборка прошла, 完了 ✅",
    "==========",
    "a stray ` backtick",
    "<details>\n<summary>log</summary>\n</details>",
    "",
];

/// One text: a few sentences, and marks hidden in every way that must not count.
fn text(dice: &mut Dice) -> String {
    let mut text = String::new();
    for _ in 0..dice.roll(2, 7) {
        let paragraph = match dice.roll(0, 8) {
            0 => dice.pick(SENTENCES).to_owned(),
            1 => words_around(dice),
            2 => lookalike(dice),
            3 => code_span(dice),
            4 => fence(dice),
            5 => quote(dice),
            6 => comment(dice),
            7 => cut(dice),
            _ => json_line(dice),
        };
        text.push_str(&paragraph);
        text.push_str(dice.pick(&["\n", "\n\n", "\r\n", "\n\n"]));
    }
    text
}

/// A line mark in the middle of a sentence.
fn words_around(dice: &mut Dice) -> String {
    let before = dice.pick(BEFORE);
    format!("{before}{}{}", dice.pick(LINE_MARKS), dice.pick(BEHIND))
}

fn lookalike(dice: &mut Dice) -> String {
    format!("{}{}{}", dice.pick(BEFORE), dice.pick(LOOKALIKES), dice.pick(BEHIND))
}

fn code_span(dice: &mut Dice) -> String {
    let ticks = "`".repeat(dice.roll(1, 2));
    let mark = dice.pick(MARKS);
    format!("{}{ticks}{mark}{ticks}{}", dice.pick(&["Use ", "See ", "- ", "", "| "]), dice.pick(BEHIND))
}

/// Marks among other code.
fn fence(dice: &mut Dice) -> String {
    let fence = dice.pick(&["```", "````", "~~~", "~~~~~"]);
    let info = dice.pick(&["", "text", "md", "console", "json pilot-signal", "pilot-signals"]);
    let mut body = String::from(dice.pick(&["for example:\n", "// sample\n", "$ cat out.txt\n"]));
    for _ in 0..dice.roll(1, 4) {
        body.push_str(dice.pick(MARKS));
        body.push('\n');
    }
    format!("{fence}{info}\n{body}{fence}")
}

fn quote(dice: &mut Dice) -> String {
    let lines: Vec<String> = (0..dice.roll(1, 3))
        .map(|_| format!("{}{}", dice.pick(&["> ", ">", "  > ", ">> "]), dice.pick(MARKS)))
        .collect();
    lines.join("\n")
}

fn comment(dice: &mut Dice) -> String {
    format!("<!-- {}\n{} -->", dice.pick(&["todo", "hidden:", "a b c"]), dice.pick(MARKS))
}

/// A mark that the message does not finish, in a place where nothing can finish it.
fn cut(dice: &mut Dice) -> String {
    let mark = dice.pick(&[
        "<pilot:appro",
        "nav-signal:v3",
        "``pilot-sig",
        "NAVIGATOR_STAT",
        "EXIT_SIGNAL:",
        "PHASE: A →",
    ]);
    format!("{mark}{}", dice.pick(&["…", " (cut)", " etc."]))
}

fn json_line(dice: &mut Dice) -> String {
    let mark = dice.pick(LINE_MARKS).replace('"', "\\\"");
    format!("{{\"level\":\"info\",\"text\":\"{mark}\"}}")
}

/// A small deterministic random number generator.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn roll(&mut self, from: usize, to: usize) -> usize {
        from + (self.next() % (to - from + 1) as u64) as usize
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.roll(0, from.len() - 1)]
    }
}
