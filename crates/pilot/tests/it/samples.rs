//! The samples in the documents, run: what a reader copies gives what the page says.
//!
//! A sample is a fence `text sample` followed by a fence `json` with the answer, a line for each object. Parts of the
//! answer that the page leaves out, as byte spans are, may be anything.

use serde_json::Value;

use crate::program::{command, feed, pilot, run};

const PAGES: [(&str, &str); 1] = [("docs/signals.md", include_str!("../../../../docs/signals.md"))];

#[test]
fn samples_give_what_the_pages_say() {
    for (page, markdown) in PAGES {
        let samples = samples(markdown);
        assert!(samples.len() >= 10, "{page}: {} samples found", samples.len());
        for (text, answer) in samples {
            let ended = feed(pilot(&["signals"]), text.as_bytes());
            assert_eq!(ended.code, Some(0), "{page}: {}", ended.stderr);
            let said = lines(answer);
            let mut found = lines(&ended.stdout);
            for (found, said) in found.iter_mut().zip(&said) {
                forget_what_is_not_said(found, said);
            }
            assert_eq!(found, said, "{page}:\n{text}");
        }
    }
}

#[test]
fn the_first_answer_of_the_page_is_what_its_command_gives() {
    let (before, rest) = PAGES[0].1.split_once("\n```\n\n```json\n").expect("an answer behind its command");
    let (_, line) = before.rsplit_once("```sh\n").expect("the command before it");
    let (answer, _) = rest.split_once("```").expect("the answer ends");
    let mut bash = command("bash");
    bash.args(["-c", &line.replace("cargo run --release --", env!("CARGO_BIN_EXE_pilot"))]);
    let ended = run(bash);
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), (answer, ""));
}

fn forget_what_is_not_said(found: &mut Value, said: &Value) {
    if let (Some(found), Some(said)) = (found.as_object_mut(), said.as_object()) {
        found.retain(|key, _| said.contains_key(key) || !["detail", "span"].contains(&key.as_str()));
    }
}

fn lines(json: &str) -> Vec<Value> {
    json.lines().map(|line| serde_json::from_str(line).expect("a line is a JSON object")).collect()
}

/// Each sample of a page: the text and the answer.
fn samples(markdown: &str) -> Vec<(&str, &str)> {
    markdown.split("````text sample\n").skip(1).map(sample).collect()
}

fn sample(piece: &str) -> (&str, &str) {
    let (text, rest) = piece.split_once("````\n").expect("a sample ends");
    let (between, rest) = rest.split_once("```json\n").expect("a sample has an answer");
    assert_eq!(between.trim(), "", "a sample's answer follows at once");
    (text, rest.split_once("```").expect("an answer ends").0)
}
