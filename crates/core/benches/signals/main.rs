//! How fast signals are read, beside what the same bytes cost others in the same run.
//!
//! `cargo bench -p pilot-core --bench signals` prints the table of the README; `-- --quick` shows in a few seconds that
//! everything still runs.
//!
//! The contenders of a race take turns, one block of data each, and the best turn of each counts: whatever else the
//! machine does meanwhile hits all of them alike. Every turn checks what it found.

mod prose;
mod race;
mod random;
mod rivals;
mod transcript;

use memchr::memchr_iter;
use pilot_core::signal::{Found, Scanner};
use pilot_core::stream::{Agent, Decoder};
use pilot_core::transcript::{Messages, Part};

use race::{Contender, Race};
use random::Random;
use transcript::Transcript;

/// As much as `pilot signals` reads at a time.
const CHUNK: usize = 256 << 10;

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let (block, turns) = if quick { (1 << 20, 2) } else { (16 << 20, 64) };
    let megabytes = block >> 20;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!("{}, {cores} cores; {turns} turns each over {megabytes} MB\n", race::processor());
    race::print_head();
    prose_without_marks(block).run(turns);
    prose_with_marks(block).run(turns);
    a_transcript(block).run(turns);
}

fn prose_without_marks(block: usize) -> Race {
    let text = prose::plain(&mut Random::new(1), block);
    let lines = memchr_iter(b'\n', text.as_bytes()).count();
    let (marks, mut scanner) = (rivals::marks(), Scanner::new());
    Race::new("prose", text.len())
        .enter(Contender::limit(lines, {
            let text = text.clone();
            move || memchr_iter(b'\n', text.as_bytes()).count()
        }))
        .enter(Contender::ours("scanner", 0, {
            let text = text.clone();
            move || {
                text.as_bytes().chunks(CHUNK).for_each(|chunk| scanner.push(chunk));
                signals(&mut scanner)
            }
        }))
        .enter(Contender::comparison("one regular expression", 0, move || {
            marks.captures_iter(text.as_bytes()).count()
        }))
}

fn prose_with_marks(block: usize) -> Race {
    let (messages, planted) = prose::with_marks(&mut Random::new(2), block);
    let whole = messages.concat();
    let lines = memchr_iter(b'\n', whole.as_bytes()).count();
    let (marks, mut scanner) = (rivals::marks(), Scanner::new());
    Race::new("prose, a signal every 2 KB", whole.len())
        .enter(Contender::limit(lines, {
            let whole = whole.clone();
            move || memchr_iter(b'\n', whole.as_bytes()).count()
        }))
        .enter(Contender::ours("scanner", planted, move || {
            let mut found = 0;
            for message in &messages {
                scanner.push(message.as_bytes());
                scanner.finish();
                found += signals(&mut scanner);
            }
            found
        }))
        .enter(Contender::comparison("one regular expression", planted, move || {
            marks.captures_iter(whole.as_bytes()).count()
        }))
}

fn a_transcript(block: usize) -> Race {
    let Transcript { text, lines, marks } = Transcript::new(&mut Random::new(3), block);
    let weight = each_line(&text).map(|line| enum_weight(line)).sum();
    let mut messages = Messages::new(Decoder::new(Agent::Claude));
    let mut scanner = Scanner::new();
    Race::new("transcript", text.len())
        .enter(Contender::limit(lines, {
            let text = text.clone();
            move || memchr_iter(b'\n', text.as_bytes()).count()
        }))
        .enter(Contender::ours("decoder and scanner", marks, {
            let text = text.clone();
            move || {
                let mut found = 0;
                for chunk in text.as_bytes().chunks(CHUNK) {
                    messages.push(chunk, &mut |_, part| match part {
                        Part::Text(text) => scanner.push(text.as_bytes()),
                        Part::End => {
                            scanner.finish();
                            found += signals(&mut scanner);
                        }
                    });
                }
                found
            }
        }))
        .enter(Contender::comparison("serde_json alone, tagged enum", weight, {
            let text = text.clone();
            move || each_line(&text).map(enum_weight).sum()
        }))
        .enter(Contender::other("serde_json alone, flat struct", weight, move || {
            each_line(&text).map(flat_weight).sum()
        }))
}

fn each_line(text: &str) -> impl Iterator<Item = &str> {
    let mut start = 0;
    memchr_iter(b'\n', text.as_bytes()).map(move |end| &text[std::mem::replace(&mut start, end + 1)..end])
}

fn enum_weight(line: &str) -> usize {
    serde_json::from_str::<rivals::Line>(line).expect("a line of our own").weight()
}

fn flat_weight(line: &str) -> usize {
    serde_json::from_str::<rivals::FlatLine>(line).expect("a line of our own").weight()
}

fn signals(scanner: &mut Scanner) -> usize {
    let mut signals = 0;
    while let Some(found) = scanner.next_found() {
        match found {
            Found::Signal(_) => signals += 1,
            Found::Diagnostic(diagnostic) => panic!("a mark that does not count: {diagnostic:?}"),
            Found::Wrapper(_) => {}
        }
    }
    signals
}
