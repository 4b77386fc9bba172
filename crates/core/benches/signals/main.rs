//! How fast signals are read, beside what the same bytes cost others in the same run.
//!
//! `cargo bench -p pilot-core --bench signals` prints the table of the README; `-- --quick` shows in a few seconds that
//! everything still runs.
//!
//! Every turn checks what it found.

mod prose;
mod race;
mod random;
mod rivals;
mod transcript;

use memchr::memchr_iter;
use pilot_core::signal::{Found, Scanner};
use pilot_core::stream::{Agent, Decoder};
use pilot_core::transcript::{Messages, TranscriptPart};

use race::{Race, Role};
use random::Random;
use transcript::Transcript;

/// As much as `pilot signals` reads at a time.
const CHUNK: usize = 256 << 10;
/// What is timed at once.
const PIECE: usize = 1 << 20;

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let (pieces, turns) = if quick { (1, 2) } else { (16, 32) };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!("{}, {cores} cores; {turns} turns each over {pieces} MB\n", race::processor());
    race::print_head();
    prose_without_marks(pieces).run(turns);
    prose_with_marks(pieces).run(turns);
    a_transcript(pieces).run(turns);
}

fn prose_without_marks(pieces: usize) -> Race {
    let mut random = Random::new(1);
    let texts: Vec<String> = (0..pieces).map(|_| prose::plain(&mut random, PIECE)).collect();
    let (marks, mut scanner) = (rivals::marks(), Scanner::new());
    race("prose", &texts)
        .enter(Role::Ours, "scanner", 0, {
            let texts = texts.clone();
            move |piece| {
                texts[piece].as_bytes().chunks(CHUNK).for_each(|chunk| scanner.push(chunk));
                signals(&mut scanner)
            }
        })
        .enter(Role::Comparison, "one regular expression", 0, move |piece| {
            marks.captures_iter(texts[piece].as_bytes()).count()
        })
}

fn prose_with_marks(pieces: usize) -> Race {
    let mut random = Random::new(2);
    let messages: Vec<Vec<String>> = (0..pieces).map(|_| prose::with_marks(&mut random, PIECE)).collect();
    let texts: Vec<String> = messages.iter().map(|messages| messages.concat()).collect();
    let planted = messages.iter().flatten().count() * prose::MARKS;
    let (marks, mut scanner) = (rivals::marks(), Scanner::new());
    race("prose, a signal every 2 KB", &texts)
        .enter(Role::Ours, "scanner", planted, move |piece| {
            messages[piece].iter().map(|message| message_signals(&mut scanner, message)).sum()
        })
        .enter(Role::Comparison, "one regular expression", planted, move |piece| {
            marks.captures_iter(texts[piece].as_bytes()).count()
        })
}

fn a_transcript(pieces: usize) -> Race {
    let mut random = Random::new(3);
    let transcripts: Vec<Transcript> = (0..pieces).map(|_| Transcript::new(&mut random, PIECE)).collect();
    let marks = transcripts.iter().map(|transcript| transcript.marks).sum();
    let texts: Vec<String> = transcripts.into_iter().map(|transcript| transcript.text).collect();
    let weight = texts.iter().flat_map(|text| each_line(text)).map(enum_weight).sum();
    let mut messages = Messages::new(Decoder::new(Agent::Claude));
    let mut scanner = Scanner::new();
    race("transcript", &texts)
        .enter(Role::Ours, "decoder and scanner", marks, {
            let texts = texts.clone();
            move |piece| {
                let mut found = 0;
                let mut hear = |_, part: TranscriptPart<'_>| match part {
                    TranscriptPart::Text(text) => scanner.push(text.as_bytes()),
                    TranscriptPart::End => found += message_signals(&mut scanner, ""),
                };
                texts[piece].as_bytes().chunks(CHUNK).for_each(|chunk| messages.push(chunk, &mut hear));
                found
            }
        })
        .enter(Role::Comparison, "serde_json alone, tagged enum", weight, {
            let texts = texts.clone();
            move |piece| each_line(&texts[piece]).map(enum_weight).sum()
        })
        .enter(Role::Other, "serde_json alone, flat struct", weight, move |piece| {
            each_line(&texts[piece]).map(flat_weight).sum()
        })
}

/// A race with the one contender every race has.
fn race(over: &'static str, texts: &[String]) -> Race {
    let texts = texts.to_vec();
    let count = |text: &String| memchr_iter(b'\n', text.as_bytes()).count();
    let newlines = texts.iter().map(count).sum();
    Race::new(over, texts.iter().map(String::len).sum(), texts.len()).enter(
        Role::Limit,
        "newlines counted by memchr",
        newlines,
        move |piece| count(&texts[piece]),
    )
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

/// How many signals there are in a message that ends with this text.
fn message_signals(scanner: &mut Scanner, text: &str) -> usize {
    scanner.push(text.as_bytes());
    scanner.finish();
    signals(scanner)
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
