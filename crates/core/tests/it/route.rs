//! Tickets and how they are routed, each with a reason: `fixtures/routing.jsonl`.

use std::collections::BTreeSet;

use pilot_core::config::Executor;
use pilot_core::route::{Classification, Complexity, Overrides, RouteRequest, TaskText, assess, route};
use serde::Deserialize;

#[derive(Deserialize)]
struct Ticket {
    title: String,
    body: String,
    labels: Vec<String>,
    complexity: Complexity,
    /// A part of one of the reasons.
    because: String,
}

fn tickets() -> Vec<Ticket> {
    let lines = include_str!("../fixtures/routing.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).expect(line)).collect()
}

#[test]
fn tickets_are_as_much_work_as_they_say() {
    let mut wrong = Vec::new();
    for Ticket { title, body, labels, complexity, because } in tickets() {
        let found = assess(&TaskText { title: &title, body: &body, labels: &labels });
        let reasons: Vec<String> = found.reasons.iter().map(ToString::to_string).collect();
        if found.complexity != complexity || !reasons.iter().any(|reason| reason.contains(&because)) {
            wrong.push(format!(
                "{title:?}: {}, not {complexity} because {because}: {reasons:?}",
                found.complexity
            ));
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_table_covers_every_complexity_with_enough_tickets() {
    let tickets = tickets();
    assert!(tickets.len() >= 150, "{}", tickets.len());
    let different: BTreeSet<(&str, &str, String)> = tickets
        .iter()
        .map(|ticket| (ticket.title.as_str(), ticket.body.as_str(), ticket.labels.join(",")))
        .collect();
    assert_eq!(different.len(), tickets.len(), "a ticket stands twice");
    for complexity in Complexity::ALL {
        let count = tickets.iter().filter(|ticket| ticket.complexity == complexity).count();
        assert!(count >= 7, "{complexity}: {count}");
    }
}

#[test]
fn the_page_shows_a_real_route() {
    let page = include_str!("../../../../docs/routing.md");
    let (_, sample) = page.split_once("```json\n").expect("a sample");
    let (sample, _) = sample.split_once("```").expect("it ends");
    let sample: serde_json::Value = serde_json::from_str(sample).expect("JSON");
    let found = route(&RouteRequest {
        task: TaskText { title: "Add a --json flag to status", body: "", labels: &[] },
        executor: &Executor::default(),
        overrides: &Overrides::default(),
        classification: &Classification::NotAsked,
    });
    assert_eq!(serde_json::to_value(&found).expect("JSON"), sample);
    let flat = page.replace('\n', " ");
    assert!(flat.contains(&format!("reads `{found}`")), "{found}");
    for reason in found.reasons {
        assert!(flat.contains(&format!("`{reason}`")), "{reason}");
    }
}
