//! The scanner's corpus, read by a step of a pipeline: what counts there counts here, in the same order, and a review passes by
//! an approval and by nothing else.

use pilot_core::pipeline::{Attempt, MarkKind, StepReader, StepRole, StepVerdict, judge_attempt};
use pilot_core::run::OutputFormat;
use serde_json::Value;

const CORPUS: &str = include_str!("../fixtures/signals.jsonl");

/// What a step reads in a message: kind, key, path and words of each mark.
type Marks = Vec<(String, Option<String>, Option<String>, Option<String>)>;

fn read_marks(input: &str, chunk: usize) -> (Marks, Attempt) {
    let mut reader = StepReader::new(OutputFormat::Text);
    input.as_bytes().chunks(chunk).for_each(|part| reader.push(part));
    let (output, ..) = reader.finish();
    let mut updates = output.updates.iter();
    let marks = output.marks.iter().map(|mark| {
        let words = match mark.kind {
            MarkKind::Update => updates.next().cloned(),
            MarkKind::Completed
            | MarkKind::Skip
            | MarkKind::Approve
            | MarkKind::Reject
            | MarkKind::Blocked
            | MarkKind::Emit => mark.payload.clone(),
        };
        (mark.kind.as_str().to_owned(), mark.key.clone(), mark.path.clone(), words)
    });
    (
        marks.collect(),
        Attempt { marks: output.marks.clone(), notes: output.notes.clone(), ..Attempt::default() },
    )
}

fn expected(rows: &[Value]) -> Marks {
    let text = |row: &Value, key: &str| row[key].as_str().map(str::to_owned);
    rows.iter()
        .filter(|row| row["protocol"] == "xml" && row["type"].is_string())
        .map(|row| {
            (text(row, "type").expect("a type"), text(row, "key"), text(row, "path"), text(row, "payload"))
        })
        .collect()
}

#[test]
fn a_step_hears_what_the_corpus_says() {
    let (mut cases, mut approvals) = (0, 0);
    for line in CORPUS.lines() {
        let case: Value = serde_json::from_str(line).expect("a case is JSON");
        let (name, input) = (&case["name"], case["input"].as_str().expect("an input"));
        let rows = case["expect"].as_array().expect("rows");
        // The older dialects have a way to say blocked, and the older protocol has questions.
        if rows.iter().any(|row| row["success"] == false) || input.contains("<pilot:question") {
            continue;
        }
        let expect = expected(rows);
        let (marks, attempt) = read_marks(input, input.len().max(1));
        assert_eq!(marks, expect, "{name}");
        if input.len() < 20_000 {
            assert_eq!(read_marks(input, 7).0, expect, "{name}, cut");
        }
        let has = |kind: &str| expect.iter().any(|(said, ..)| said == kind);
        let approved = judge_attempt(StepRole::Review, &attempt).verdict == StepVerdict::Approved;
        assert!(!approved || (has("approve") && !has("reject") && !has("blocked")), "{name}");
        for role in [StepRole::Work, StepRole::Alone, StepRole::Shell] {
            assert_ne!(
                judge_attempt(role, &attempt).verdict,
                StepVerdict::Approved,
                "{name}: only a reviewer approves"
            );
        }
        (cases, approvals) = (cases + 1, approvals + usize::from(approved));
    }
    assert!(cases > 900 && approvals > 20, "{cases} cases, {approvals} approvals");
}
