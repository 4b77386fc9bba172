use std::time::Duration;

use pilot_core::id::{ProjectId, TaskKey};
use pilot_core::outcome::Class;
use pilot_core::snapshot::{
    BreakerSnapshot, BudgetSnapshot, Outage, ProjectSnapshot, Section, Snapshot, TaskSnapshot,
};
use pilot_core::time::Timestamp;

use super::{draw, top};
use crate::calendar::Calendar;
use crate::terminal::Canvas;

/// 2026-11-18, 17:00 UTC.
const NOW: Timestamp = Timestamp(1_795_021_200_000_000);

fn project(path: &str) -> ProjectSnapshot {
    ProjectSnapshot {
        project: ProjectId::parse(&format!("github:{path}")).unwrap(),
        paused_by: None,
        budget_hold: None,
        breaker: None,
        outage: None,
        running: 0,
        queued: 0,
        held: 0,
        release: None,
    }
}

fn task(
    number: u64,
    section: Section,
    stage: &'static str,
    title: &str,
    why: &str,
    minutes: u64,
) -> TaskSnapshot {
    TaskSnapshot {
        project: project("acme/shop").project,
        task: TaskKey::numbered("GH", number),
        title: title.to_owned(),
        stage,
        section,
        why: why.to_owned(),
        hold: None,
        behind: None,
        position: None,
        pause: None,
        branch: None,
        pr: None,
        attempts: 0,
        phase: None,
        percent: None,
        last_message: None,
        cost_usd: 0.0,
        elapsed_seconds: None,
        changed_at: NOW.before(Duration::from_secs(minutes * 60)),
    }
}

fn snapshot() -> Snapshot {
    let mut shop = project("acme/shop");
    shop.paused_by = Some("the operator".to_owned());
    let failed = task(
        9,
        Section::Attention,
        "failed",
        "feat: Show the price in every currency that the customers of the shop may pay in",
        "Given up (pilot-failed). The agent exited with code 1: \"boom\". `/pilot retry` starts again.",
        190,
    );
    let held = task(
        12,
        Section::Attention,
        "held",
        "feat: Add login",
        "#14 conflicts with the base branch. Resolve the conflict on the branch, or `/pilot retry`.",
        12,
    );
    let mut running =
        task(13, Section::Running, "running", "feat: Sum up the order", "An agent is working.", 1);
    running.phase = Some("implementing".to_owned());
    (running.percent, running.cost_usd, running.elapsed_seconds) = (Some(65), 0.34, Some(725));
    running.last_message =
        Some("Now the tests for the parser of the price table, then the README.".to_owned());
    let ci = task(10, Section::PullRequest, "awaiting_ci", "fix: Tax", "PR #17 opened, waiting for CI.", 2);
    let mut queued = task(15, Section::Queue, "queued", "feat: Export the orders", "Queued behind GH-13.", 3);
    (queued.position, queued.behind) = (Some(1), Some(TaskKey::numbered("GH", 13)));
    let waits = task(16, Section::Queue, "held", "docs: Say how", "It depends on #15, still open.", 3);
    Snapshot {
        daemon: Some(4711),
        at: NOW,
        feed_seq: 1,
        budget: BudgetSnapshot {
            is_enabled: true,
            today_usd: 1.2,
            daily_limit_usd: 50.0,
            this_month_usd: 7.5,
            monthly_limit_usd: 500.0,
            reserved_usd: 0.0,
        },
        projects: vec![shop],
        tasks: vec![waits, queued, ci, running, held, failed],
    }
}

fn drawn(snapshot: &Snapshot, width: Option<usize>, has_colour: bool) -> String {
    draw(snapshot, false, &Canvas { width, has_colour, calendar: Calendar::utc() })
}

#[test]
fn what_needs_a_person_is_first_at_80_columns() {
    let expect = "\
The daemon is running, process 4711. Spent $1.20 of $50.00 today, $7.50 of
$500.00 this month.

Needs you (3)
  acme/shop
      Paused by the operator: no run starts, nothing is merged. 'pilot resume'
      continues.
  GH-12  held 12 min  feat: Add login
         #14 conflicts with the base branch. Resolve the conflict on the branch,
         or '/pilot retry'.
  GH-9   failed 3 h  feat: Show the price in every currency that the customers …
         Given up (pilot-failed). The agent exited with code 1: \"boom\".
         '/pilot retry' starts again.

Running (1)
  GH-13  feat: Sum up the order
         implementing ━━━━━━━───── 65 %, 12 min, $0.34
         “Now the tests for the parser of the price table, then the README.”

Pull requests (1)
  GH-10  fix: Tax
         PR #17 opened, waiting for CI.

Queue (2)
  GH-15  1.  feat: Export the orders
         Queued behind GH-13.
  GH-16  docs: Say how
         It depends on #15, still open.
";
    assert_eq!(drawn(&snapshot(), Some(80), false), expect);
}

#[test]
fn a_wide_screen_is_used() {
    let expect = "\
The daemon is running, process 4711. Spent $1.20 of $50.00 today, $7.50 of $500.00 this month.

Needs you (3)
  acme/shop
      Paused by the operator: no run starts, nothing is merged. 'pilot resume' continues.
  GH-12  held 12 min  feat: Add login
         #14 conflicts with the base branch. Resolve the conflict on the branch, or '/pilot retry'.
  GH-9   failed 3 h  feat: Show the price in every currency that the customers of the shop may pay in
         Given up (pilot-failed). The agent exited with code 1: \"boom\". '/pilot retry' starts again.

Running (1)
  GH-13  feat: Sum up the order
         implementing ━━━━━━━───── 65 %, 12 min, $0.34
         “Now the tests for the parser of the price table, then the README.”

Pull requests (1)
  GH-10  fix: Tax
         PR #17 opened, waiting for CI.

Queue (2)
  GH-15  1.  feat: Export the orders
         Queued behind GH-13.
  GH-16  docs: Say how
         It depends on #15, still open.
";
    assert_eq!(drawn(&snapshot(), Some(160), false), expect);
    assert_eq!(drawn(&snapshot(), None, false), expect, "a pipe cuts nothing");
}

#[test]
fn colour_adds_nothing_but_colour() {
    let coloured = drawn(&snapshot(), Some(160), true);
    assert!(
        coloured.contains("\x1b[31mNeeds you\x1b[0m") && coloured.contains("\x1b[36mpilot resume\x1b[0m")
    );
    let mut plain = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once('\x1b') {
        plain.push_str(before);
        rest = after.split_once('m').expect("the end of a colour").1;
    }
    plain.push_str(rest);
    assert_eq!(plain, drawn(&snapshot(), Some(160), false).replace('\'', ""));
}

#[test]
fn several_projects_are_named_and_so_is_all_that_stops_them() {
    let mut snapshot = snapshot();
    let mut other = project("acme/site");
    let why = "no connection to 127.0.0.1".to_owned();
    other.outage = Some(Outage { since: NOW.before(Duration::from_secs(600)), why });
    let until = NOW.after(Duration::from_secs(1560));
    other.breaker = Some(BreakerSnapshot { failures: 1, class: Class::Auth, until });
    other.budget_hold = Some("$50.00 of $50.00 are spent today".to_owned());
    snapshot.projects.push(other);
    snapshot.daemon = None;
    let text = drawn(&snapshot, None, false);
    for line in [
        "The daemon is not running; 'pilot start' starts it.",
        "  acme/shop/GH-12  held 12 min  feat: Add login",
        "No answer from the forge since 16:50: no connection to 127.0.0.1. Pilot keeps trying.",
        "No new run starts before 17:26; 'pilot resume' continues at once.",
        "The budget allows no new run: $50.00 of $50.00 are spent today.",
    ] {
        assert!(text.contains(line), "{line:?} is not in\n{text}");
    }
    assert!(!text.contains("in a row"), "one failure is no row: {text}");
}

#[test]
fn a_long_screen_says_what_it_hides() {
    let text = "one\ntwo\nthree\nfour\n";
    assert_eq!(top(text, 5), text);
    assert_eq!(top(text, 4), "one\ntwo\n… 2 more lines\n");
}
