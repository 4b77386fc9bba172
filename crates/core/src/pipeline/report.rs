//! The report of a run that stopped: Markdown for people, JSON for programs. It lists every mark that did not count, with its
//! place.

use serde_json::{Value, json};

use super::attempt::MarkNote;
use super::engine::{StepRecord, StepStatus};
use crate::duration;

#[derive(Clone, Copy, Debug)]
pub struct PipelineReport<'r> {
    pub run: &'r str,
    pub project: &'r str,
    /// How it stopped: `completed`, `failed`, `held`, `stopped`.
    pub status: &'r str,
    /// Why, unless it is completed.
    pub reason: Option<&'r str>,
    pub records: &'r [StepRecord],
    pub emits: &'r [String],
}

impl PipelineReport<'_> {
    pub fn json(&self) -> Value {
        json!({
            "run": self.run,
            "project": self.project,
            "status": self.status,
            "reason": self.reason,
            "steps": self.records.iter().map(record_json).collect::<Vec<_>>(),
            "emits": self.emits,
            "duration_ms": self.duration_ms(),
            "cost_usd": self.cost_usd(),
            "marks_not_counted": self.marks(),
        })
    }

    pub fn markdown(&self) -> String {
        let mut text = format!("# Pipeline {}\n\n", self.status);
        if let Some(reason) = self.reason {
            text.push_str(&format!("{}\n\n", line(reason)));
        }
        text.push_str(&format!("Run `{}` in `{}`: {}", self.run, self.project, self.time()));
        if let Some(cost) = self.cost_usd() {
            text.push_str(&format!(", ${cost:.2}"));
        }
        text.push_str(
            ".\n\n| step | kind | status | attempts | time | cost | |\n|---|---|---|--:|--:|--:|---|\n",
        );
        for record in self.records {
            text.push_str(&row(record));
        }
        if !self.emits.is_empty() {
            let names: Vec<String> = self.emits.iter().map(|name| format!("`{name}`")).collect();
            text.push_str(&format!("\nEmitted: {}.\n", names.join(", ")));
        }
        text.push_str("\n## Marks that did not count\n\n");
        let marks: Vec<String> =
            self.noted().map(|(record, note)| format!("- {}\n", mark_line(record, note))).collect();
        text.push_str(&if marks.is_empty() { "None.\n".to_owned() } else { marks.concat() });
        text
    }

    fn noted(&self) -> impl Iterator<Item = (&StepRecord, &MarkNote)> {
        self.records.iter().flat_map(|record| record.notes.iter().map(move |note| (record, note)))
    }

    fn marks(&self) -> Vec<Value> {
        let mark = |(record, note): (&StepRecord, &MarkNote)| json!({"step": record.at, "code": note.code, "mark": note.mark, "detail": note.detail, "place": note.place});
        self.noted().map(mark).collect()
    }

    fn duration_ms(&self) -> u64 {
        self.records.iter().map(|record| record.duration_ms).sum()
    }

    fn time(&self) -> String {
        duration::text(std::time::Duration::from_millis(self.duration_ms()))
    }

    /// What the steps cost that said so; none when none did.
    pub fn cost_usd(&self) -> Option<f64> {
        let costs: Vec<f64> = self.records.iter().filter_map(|record| record.cost_usd).collect();
        (!costs.is_empty()).then(|| costs.iter().sum())
    }
}

pub fn record_json(record: &StepRecord) -> Value {
    json!({
        "at": record.at,
        "id": record.id,
        "kind": record.kind,
        "status": record.status.as_str(),
        "words": record.words,
        "attempts": record.attempts,
        "duration_ms": record.duration_ms,
        "tokens": record.tokens,
        "cost_usd": record.cost_usd,
    })
}

fn row(record: &StepRecord) -> String {
    let time = match (record.kind, record.status) {
        ("agent" | "shell", StepStatus::Skipped) if record.attempts == 0 => String::new(),
        ("agent" | "shell", _) => duration::text(std::time::Duration::from_millis(record.duration_ms)),
        _ => String::new(),
    };
    let cost = record.cost_usd.map_or_else(String::new, |cost| format!("${cost:.2}"));
    let attempts = if record.attempts == 0 { String::new() } else { record.attempts.to_string() };
    format!(
        "| `{}` | {} | {} | {attempts} | {time} | {cost} | {} |\n",
        record.at.replace('|', "\\|"),
        record.kind,
        record.status.as_str(),
        line(record.more())
    )
}

fn mark_line(record: &StepRecord, note: &MarkNote) -> String {
    let mark = note.mark.as_ref().map_or_else(|| "a mark".to_owned(), |name| format!("`<pilot:{name}>`"));
    let place = note.place;
    let in_message = match place.line {
        Some(line) => format!("message {}, line {line}", place.message),
        None => format!("message {}", place.message),
    };
    let detail = if note.detail.is_empty() { String::new() } else { format!(" ({})", line(&note.detail)) };
    format!(
        "`{}`: {mark} {}{detail}, {in_message}, bytes {} to {}",
        record.at,
        note.code.replace('_', " "),
        place.start,
        place.end
    )
}

/// A foreign text in a line of a table.
fn line(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().filter(|c| !c.is_control()).collect::<String>().replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::super::attempt::MarkPlace;
    use super::{MarkNote, PipelineReport, StepRecord, StepStatus};

    #[test]
    fn a_report_says_what_became_of_every_step_and_of_every_mark() {
        let record = StepRecord {
            at: "loop#1/review".to_owned(),
            id: "review".to_owned(),
            depth: 1,
            kind: "agent",
            status: StepStatus::Rejected,
            words: "rejected: a | b\nc".to_owned(),
            attempts: 2,
            duration_ms: 61_500,
            cost_usd: Some(0.25),
            tokens: Some(10),
            notes: vec![MarkNote {
                code: "not_on_own_line".to_owned(),
                mark: Some("approve".to_owned()),
                detail: String::new(),
                place: MarkPlace { message: 2, line: Some(7), start: 10, end: 26 },
            }],
        };
        let report = PipelineReport {
            run: "r",
            project: "/p",
            status: "failed",
            reason: Some("loop: no approve after 1 round"),
            records: &[record],
            emits: &["kind".to_owned()],
        };
        assert_eq!(
            report.markdown(),
            "# Pipeline failed\n\nloop: no approve after 1 round\n\nRun `r` in `/p`: 1m1s500ms, $0.25.\n\n\
             | step | kind | status | attempts | time | cost | |\n|---|---|---|--:|--:|--:|---|\n\
             | `loop#1/review` | agent | rejected | 2 | 1m1s500ms | $0.25 | a \\| b c |\n\n\
             Emitted: `kind`.\n\n## Marks that did not count\n\n\
             - `loop#1/review`: `<pilot:approve>` not on own line, message 2, line 7, bytes 10 to 26\n"
        );
        let json = report.json();
        assert_eq!(json["marks_not_counted"][0]["place"]["line"], 7);
        assert_eq!((&json["steps"][0]["status"], &json["cost_usd"]), (&"rejected".into(), &0.25.into()));
    }
}
