//! The laws of the scanner and the decoders on any bytes, on every case of the corpus and on every kept input.

use std::fs;
use std::path::{Path, PathBuf};

use pilot_testkit::fuzz::Target;
use proptest::prelude::*;
use serde_json::Value;

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_message_in_any_chunks_gives_the_same(data in proptest::collection::vec(any::<u8>(), 0..300)) {
        Target::Signals.run(&data);
    }

    #[test]
    fn stripping_removes_the_spans_and_nothing_else(data in proptest::collection::vec(any::<u8>(), 0..300)) {
        Target::Strip.run(&data);
    }

    #[test]
    fn any_output_of_an_agent_is_decoded_or_counted(data in proptest::collection::vec(any::<u8>(), 0..200)) {
        Target::Streams.run(&data);
    }
}

#[test]
fn every_case_of_the_corpus_keeps_the_laws() {
    let corpus = workspace().join("crates/core/tests/fixtures/signals.jsonl");
    for line in fs::read_to_string(corpus).expect("the corpus is there").lines() {
        let case: Value = serde_json::from_str(line).expect("a case is JSON");
        let input = case["input"].as_str().expect("a case has an input");
        // The law of chunks tries many ways to cut; the few giant cases are about limits.
        if input.len() < 10_000 {
            let data = [b"r", input.as_bytes()].concat();
            Target::Signals.run(&data);
            Target::Strip.run(&data);
        }
    }
}

#[test]
fn every_kept_input_keeps_the_laws() {
    for target in Target::ALL {
        let folder = workspace().join("fuzz/corpus").join(target.as_str());
        let inputs: Vec<PathBuf> =
            fs::read_dir(folder).expect("kept inputs").map(|entry| entry.expect("an entry").path()).collect();
        assert!(inputs.len() > 10, "{} has few kept inputs", target.as_str());
        inputs.iter().for_each(|path| target.run(&fs::read(path).expect("an input")));
    }
}

fn workspace() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
