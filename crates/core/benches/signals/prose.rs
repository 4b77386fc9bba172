//! What an agent writes to people: paragraphs, lists, headings, code, and marks in between.

use crate::random::Random;

const WORDS: [&str; 48] = [
    "the",
    "test",
    "now",
    "passes",
    "because",
    "handler",
    "returns",
    "early",
    "when",
    "session",
    "has",
    "expired",
    "so",
    "login",
    "form",
    "keeps",
    "its",
    "state",
    "and",
    "I",
    "added",
    "a",
    "case",
    "for",
    "empty",
    "input",
    "next",
    "step",
    "is",
    "to",
    "wire",
    "up",
    "route",
    "in",
    "module",
    "which",
    "was",
    "missing",
    "from",
    "configuration",
    "file",
    "of",
    "migration",
    "that",
    "we",
    "should",
    "review",
    "again",
];
const SPECIAL: [&str; 10] = [
    "`cargo test`",
    "`src/login.rs`",
    "Option<User>",
    "(see #12)",
    "\"ok\"",
    "a < b",
    "**only**",
    "naïve",
    "—",
    "`Vec<u8>`",
];
const CODE: [&str; 8] = [
    "fn login(form: &Form) -> Result<Session, LoginError> {",
    "    let user = users.find(&form.name).await?;",
    "    if user.password != hash(&form.password) {",
    "        return Err(LoginError::Wrong);",
    "    }",
    "",
    "    Ok(Session::new(user.id, clock.now()))",
    "}",
];

/// Marks in a message that has some.
pub(crate) const MARKS: usize = 32;

/// About `bytes` of prose without marks, in one message.
pub(crate) fn plain(random: &mut Random, bytes: usize) -> String {
    let mut text = String::new();
    while text.len() < bytes {
        block(random, &mut text);
    }
    text
}

/// About `bytes` of prose in messages of about 64 KB, with a mark every 2 KB or so.
pub(crate) fn with_marks(random: &mut Random, bytes: usize) -> Vec<String> {
    (0..bytes.div_ceil(MARKS << 11)).map(|_| message_with_marks(random)).collect()
}

fn message_with_marks(random: &mut Random) -> String {
    let mut message = String::new();
    for number in 0..MARKS {
        let length = random.between(1400, 2000);
        message.push_str(&plain(random, length));
        message.push_str(&mark(number));
        message.push('\n');
    }
    message
}

/// The `number`th mark: the four dialects take turns.
pub(crate) fn mark(number: usize) -> String {
    match number % 4 {
        0 => format!(
            "```pilot-signal\n{{\"v\": 2, \"type\": \"status\", \"phase\": \"IMPL\", \"progress\": {}, \
             \"message\": \"wiring the form\"}}\n```\n",
            number % 100
        ),
        1 => "nav-signal:v3:{\"type\":\"exit\",\"success\":true,\"reason\":\"all checks pass\"}\n".to_owned(),
        2 => format!("<pilot:emit key=\"branch\">pilot/GH-{number}</pilot:emit>\n"),
        _ => format!(
            "NAVIGATOR_STATUS\n━━━━━━━━━━━━━━━━━━━━\nPhase: VERIFICATION\nIteration: 2/5\n\
             Progress: {}%\n[x] Tests passing\n━━━━━━━━━━━━━━━━━━━━\n",
            number % 100
        ),
    }
}

fn block(random: &mut Random, text: &mut String) {
    match random.between(1, 12) {
        1 => heading(random, text),
        2 => code(random, text),
        3 | 4 => list(random, text),
        _ => paragraph(random, text),
    }
    text.push('\n');
}

fn paragraph(random: &mut Random, text: &mut String) {
    for _ in 0..random.between(2, 6) {
        let width = random.between(60, 100);
        line(random, text, width);
    }
}

fn list(random: &mut Random, text: &mut String) {
    for _ in 0..random.between(3, 6) {
        text.push_str("- ");
        let width = random.between(30, 90);
        line(random, text, width);
    }
}

fn heading(random: &mut Random, text: &mut String) {
    text.push_str("## ");
    line(random, text, 20);
}

fn code(random: &mut Random, text: &mut String) {
    text.push_str("```rust\n");
    for number in 0..random.between(4, 16) {
        text.push_str(CODE[number % CODE.len()]);
        text.push('\n');
    }
    text.push_str("```\n");
}

fn line(random: &mut Random, text: &mut String, width: usize) {
    let end = text.len() + width;
    loop {
        text.push_str(if random.once_in(12) { random.pick(&SPECIAL) } else { random.pick(&WORDS) });
        if text.len() >= end {
            text.push('\n');
            return;
        }
        text.push(' ');
    }
}
