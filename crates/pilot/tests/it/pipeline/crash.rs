//! Pilot is killed at every boundary of a step and inside of steps: the next call goes on, does no finished step again, applies
//! nothing twice, and ends as an undisturbed run does.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};

use serde_json::Value;

use super::Shop;
use crate::program::{is_full, run};

/// Everything a pipeline has: values, files, commands, a loop over items, a review with a fix.
const PIPELINE: &str = "version: \"1\"
pipeline:
  - {id: plan, agent: 'plan'}
  - {id: note, shell: 'echo \"{{emit.goal}}\" >>../notes'}
  - id: each
    loop: {over: [p, q], as: T}
    steps:
      - {id: make, agent: 'make {{T}} for {{emit.goal}}'}
  - id: l
    loop: {until: approve, max_rounds: 3}
    steps:
      - {id: review, agent: 'review {{round}}'}
      - {id: fix, agent: 'fix {{FEEDBACK}}'}
  - {id: end, agent: 'end'}
";

/// What the agent says depends on what it is asked, not on how often it was called: it may be called again.
const AGENT: &str = "prompt=$(cat); line=$(printf '%s' \"$prompt\" | sed -n 2p); mark=$(printf '%s' \"$line\" | tr ' ' _)
echo \"$line\" >>@/begun
touch @/at-$mark
[ ! -e @/stay-$mark ] || exec $AGENT ignore-term stays
case \"$line\" in
  plan) echo '<pilot:emit key=\"goal\">fly</pilot:emit>'; echo '<pilot:update path=\".pilot/plan.md\">the plan</pilot:update>' ;;
  make*) echo \"$line\" >\"made-$mark\"; echo '<pilot:update path=\".pilot/last.md\">'\"$line\"'</pilot:update>' ;;
  'review 1') echo '<pilot:reject>more</pilot:reject>' ;;
  review*) echo '<pilot:approve/>' ;;
  fix*) echo more >more; git add more; git commit -q -m more; echo fixed ;;
  *) echo done ;;
esac";

fn shop() -> Shop {
    let shop = Shop::new(PIPELINE);
    shop.yard.agent(AGENT, &[]);
    shop
}

/// The files of the project, and how every step ended.
fn state(shop: &Shop) -> (BTreeMap<String, String>, Vec<(String, String)>) {
    let files = shop.yard.state().into_iter().filter(|(name, _)| !name.starts_with(".git/"));
    let (report, _) = shop.report();
    let word = |step: &Value, key: &str| step[key].as_str().expect("a text").to_owned();
    let steps = report["steps"].as_array().expect("steps").iter();
    (files.collect(), steps.map(|step| (word(step, "at"), word(step, "status"))).collect())
}

/// Runs on until the n-th event, or until a step is where it stays, and kills Pilot there; the events seen.
fn killed(shop: &Shop, events: usize) -> Vec<Value> {
    let mut child = shop.start();
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut seen = Vec::new();
    while seen.len() < events {
        let Some(Ok(line)) = lines.next() else { break };
        seen.push(serde_json::from_str(&line).expect("JSON"));
    }
    child.kill().expect("a child");
    child.wait().expect("a child");
    // What it wrote before it died counts.
    seen.extend(lines.map_while(Result::ok).filter_map(|line| serde_json::from_str(&line).ok()));
    shop.yard.expect_gone();
    seen
}

/// Whether the run is completed, as it is shown.
fn is_over(shop: &Shop) -> bool {
    let shown = run(shop.yard.pilot(&["steps", "--json"])).stdout;
    serde_json::from_str::<Value>(&shown).expect("JSON")["run"]["status"] == "completed"
}

/// The steps of some events with this fact.
fn steps(events: &[Value], fact: &str) -> Vec<String> {
    let those = events.iter().filter(|event| event["fact"] == fact);
    those.map(|event| event["at"].as_str().expect("a step").to_owned()).collect()
}

fn goes_on(
    shop: &Shop,
    before: &[Value],
    undisturbed: &(BTreeMap<String, String>, Vec<(String, String)>),
    when: &str,
) {
    let (ended, written) = (steps(before, "ended"), steps(before, "written"));
    // The user edits what a finished step wrote: it is not written again.
    let edited = written.contains(&"plan".to_owned());
    if edited {
        shop.write(".pilot/plan.md", "edited by a person");
    }
    let again = run(shop.yard.pilot(&["run", "--json"]));
    assert_eq!(again.code, Some(0), "{when}: {again:?}");
    let after: Vec<Value> =
        again.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let twice: Vec<String> = steps(&after, "started").into_iter().filter(|at| ended.contains(at)).collect();
    assert!(twice.is_empty(), "{when}: done again: {twice:?}");
    if edited {
        assert_eq!(shop.read(".pilot/plan.md"), "edited by a person", "{when}");
        shop.write(".pilot/plan.md", "the plan");
    }
    assert_eq!(&state(shop), undisturbed, "{when}");
    let left = fs::read_dir(shop.yard.repo().join(".pilot")).expect("a folder").flatten();
    assert!(
        left.into_iter().all(|entry| !entry.file_name().to_string_lossy().starts_with(".pilot-update")),
        "{when}"
    );
}

fn undisturbed() -> (BTreeMap<String, String>, Vec<(String, String)>, usize) {
    let shop = shop();
    let ended = run(shop.yard.pilot(&["run", "--json"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let (files, steps) = state(&shop);
    (files, steps, ended.stdout.lines().count())
}

#[test]
fn killed_at_every_boundary_a_run_goes_on_as_if_nothing_had_been() {
    let (files, ends, events) = undisturbed();
    let expect = (files, ends);
    let step = if is_full() { 1 } else { 3 };
    for event in (0..events).step_by(step) {
        let shop = shop();
        let before = killed(&shop, event);
        // Its last words may have been all that was missing.
        if is_over(&shop) {
            assert_eq!(state(&shop), expect, "after {event} events, and over");
            continue;
        }
        goes_on(&shop, &before, &expect, &format!("after {event} events"));
    }
}

#[test]
fn killed_inside_every_step_a_run_goes_on_as_if_nothing_had_been() {
    let (files, ends, _) = undisturbed();
    let expect = (files, ends);
    let marks = ["plan", "make_p_for_fly", "make_q_for_fly", "review_1", "fix_more", "review_2", "end"];
    for mark in marks {
        let shop = shop();
        fs::write(shop.yard.file(&format!("stay-{mark}")), "").expect("a mark");
        let mut child = shop.start();
        shop.yard.expect_file(&format!("at-{mark}"));
        child.kill().expect("a child");
        let output = child.wait_with_output().expect("a child");
        shop.yard.expect_gone();
        let before: Vec<Value> = String::from_utf8_lossy(&output.stdout)
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        fs::remove_file(shop.yard.file(&format!("stay-{mark}"))).expect("a mark");
        goes_on(&shop, &before, &expect, mark);
        let begun = fs::read_to_string(shop.yard.file("begun")).expect("calls");
        let line = mark.replace('_', " ");
        let twice: Vec<&str> = begun.lines().filter(|begun| **begun == line).collect();
        assert_eq!(twice.len(), 2, "{mark}: the step that was cut off is the one that is done again");
        assert_eq!(begun.lines().count(), marks.len() + 1, "{mark}: {begun}");
    }
}

/// Killed again and again, a little later each time.
#[test]
fn killed_many_times_a_run_still_ends() {
    let (files, ends, events) = undisturbed();
    let shop = shop();
    let mut seen = Vec::new();
    for _ in 0..events {
        seen.extend(killed(&shop, 3));
        // Another start would be another run.
        if is_over(&shop) {
            break;
        }
    }
    if !is_over(&shop) {
        assert_eq!(shop.run(&[]).code, Some(0));
    }
    assert_eq!(state(&shop), (files, ends));
    let mut ended = steps(&seen, "ended");
    let count = ended.len();
    ended.sort();
    ended.dedup();
    assert_eq!(ended.len(), count, "no step ended twice");
}

#[test]
fn a_run_is_gone_on_with_until_it_is_completed_or_started_over() {
    let shop = Shop::of(
        "  - {id: a, agent: one}\n  - {id: b, agent: 'two {{emit.k}}'}\n  - {id: c, agent: three}\n",
    );
    let emit = |value: &str| format!("<pilot:emit key=\"k\">{value}</pilot:emit>");
    let (first, second) = (emit("v1"), emit("v2"));
    shop.says(&[&first, "bad", "good", "good", &second, "good", "good", "good", "good", "good"]).exits(2, 1);
    let failed = shop.run(&[]);
    assert_eq!((failed.code, shop.calls()), (Some(1), 2), "{failed:?}");
    let shown = run(shop.yard.pilot(&["steps"])).stdout;
    assert!(
        shown.contains("✓ a  completed") && shown.contains("✗ b  failed") && shown.contains("· c"),
        "{shown}"
    );
    assert_eq!((shop.run(&[]).code, shop.calls()), (Some(0), 4), "the failed step is tried again");
    assert_eq!(shop.prompts()[2..], ["two v1", "three"]);
    assert_eq!(
        (shop.run(&[]).code, shop.calls()),
        (Some(0), 7),
        "a completed run is over, so this is a new one"
    );
    assert_eq!(shop.prompts()[5], "two v2");
    assert_eq!((shop.run(&["--from", "b"]).code, shop.calls()), (Some(0), 9));
    assert_eq!(shop.prompts()[7..], ["two v2", "three"], "with what the last run emitted");
    assert_eq!((shop.run(&["--only", "b"]).code, shop.calls()), (Some(0), 10));
}

#[test]
fn a_step_on_its_own_does_not_get_in_the_way_of_the_run() {
    let shop = Shop::of("  - {id: a, agent: one}\n  - {id: b, agent: two}\n");
    shop.says(&["x", "bad", "x", "y"]).exits(2, 1);
    assert_eq!(shop.run(&[]).code, Some(1));
    assert_eq!(shop.run(&["--only", "a"]).code, Some(0));
    assert_eq!(shop.run(&[]).code, Some(0));
    assert_eq!(shop.prompts(), ["one", "two", "one", "two"]);
}

#[test]
fn a_changed_file_cannot_be_gone_on_with_unawares() {
    let shop = Shop::of("  - {id: a, agent: one}\n  - {id: b, agent: two}\n");
    shop.says(&["x", "bad", "y", "z"]).exits(2, 1);
    assert_eq!(shop.run(&[]).code, Some(1));
    // A prompt may change, the way of the run may not.
    shop.write(".pilot/pipeline.yaml", "version: \"1\"\npipeline:\n  - {id: a, agent: one}\n  - {id: c, agent: three}\n  - {id: b, agent: two}\n");
    let refused = shop.run(&[]);
    assert_eq!((refused.code, shop.calls()), (Some(2), 2));
    assert!(refused.stderr.contains("has changed since run"), "{}", refused.stderr);
    shop.write(
        ".pilot/pipeline.yaml",
        "version: \"1\"\npipeline:\n  - {id: a, agent: one}\n  - {id: b, agent: 'better two'}\n",
    );
    assert_eq!((shop.run(&[]).code, shop.calls()), (Some(0), 3));
    assert_eq!(shop.prompts()[2], "better two");
    let other = Shop::new("version: \"1\"\ninputs: {x: 1}\npipeline:\n  - {id: a, agent: 'one {{x}}'}\n");
    other.exits(1, 1).says(&["bad", "ok"]);
    assert_eq!(other.run(&["--input", "x=2"]).code, Some(1));
    let refused = other.run(&["--input", "x=3"]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.stderr.contains("leave --input x=3 out, or start over with --fresh"),
        "{}",
        refused.stderr
    );
    assert_eq!(other.run(&[]).code, Some(0));
    assert_eq!(other.prompts(), ["one 2", "one 2"]);
}
