use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::super::attempt::{Attempt, AttemptFailure};
use super::super::fact::{LoopItem, RunFact, UserAnswer};
use super::super::file::{Over, Pipeline, StepKind, Tool};
use super::super::read;
use super::super::step_output::StepReader;
use super::{Engine, EngineAction, Named, PipelineEnding, Question, Start, StepStatus};
use crate::outcome::Class;
use crate::run::OutputFormat;

/// A pipeline from its steps.
fn with(steps: &Json) -> Pipeline {
    whole(&json!({"version": "1", "inputs": {"goal": "x"}, "pipeline": steps}))
}

fn whole(json: &Json) -> Pipeline {
    let (pipeline, problems) = read::tests::pipeline(json);
    assert_eq!(problems, [""; 0], "{json}");
    pipeline
}

/// An attempt that said this and exited with 0.
fn says(text: &str) -> Attempt {
    let mut reader = StepReader::new(OutputFormat::Text);
    reader.push(text.as_bytes());
    let (output, ..) = reader.finish();
    let staged = u32::try_from(output.updates.len()).unwrap();
    let failure = text.is_empty().then(|| AttemptFailure::new(Class::NoChanges, "the agent gave no answer"));
    Attempt { marks: output.marks, notes: output.notes, staged, failure, ..Attempt::default() }
}

/// An attempt that exited with 1.
fn fails() -> Attempt {
    Attempt {
        failure: Some(AttemptFailure::new(Class::Unknown, "exit 1")),
        exit: Some(1),
        ..Attempt::default()
    }
}

fn approves() -> Attempt {
    says("<pilot:approve/>\n")
}

fn rejects(why: &str) -> Attempt {
    says(&format!("<pilot:reject>{why}</pilot:reject>"))
}

fn moved(attempt: Attempt, moved: bool) -> Attempt {
    Attempt { moved: Some(moved), ..attempt }
}

/// Plays a run with scripted attempts and keeps what was asked of the world.
struct Play<'p> {
    engine: Engine<'p>,
    facts: Vec<RunFact>,
    /// Where each attempt was made, by whom, and with which prompt.
    prompts: Vec<String>,
    attempts: std::vec::IntoIter<Attempt>,
}

impl<'p> Play<'p> {
    fn new(pipeline: &'p Pipeline, inputs: &'p BTreeMap<String, String>, attempts: Vec<Attempt>) -> Play<'p> {
        Play {
            engine: Engine::new(pipeline, inputs),
            facts: Vec::new(),
            prompts: Vec::new(),
            attempts: attempts.into_iter(),
        }
    }

    fn take(&mut self, fact: RunFact) -> String {
        let decision = self.engine.decide(&fact).unwrap_or_else(|misfit| panic!("{misfit}"));
        self.facts.push(fact);
        decision
    }

    fn prompt(&self, start: &Start<'_>) -> String {
        let StepKind::Agent(agent) = &start.step.kind else { return "sh".to_owned() };
        let value = |name: &str| match self.engine.named(name)? {
            Named::Text(text) => Some(text.into_owned().into()),
            Named::Item(file) | Named::File(file) => Some(format!("<{file}>").into()),
            Named::Agent(name) | Named::Project(name) => Some(format!("<{name}>").into()),
        };
        let text = agent.prompt.template.render(&[], value).unwrap_or_else(|error| error.to_string());
        let who = start.worker.and_then(|worker| worker.tool.as_ref()).map_or("", Tool::name);
        let reminded = if start.reminded { "!" } else { "" };
        let answer = start.answer.map_or_else(String::new, |(_, answer)| format!(" ({answer})"));
        format!("{}{reminded} {who}: {text}{answer}", self.engine.at()).replace(" :", ":")
    }

    /// Runs until the user is asked, the run is over, or the script ends.
    fn go(&mut self) -> String {
        loop {
            let fact = match self.engine.next() {
                EngineAction::Over(PipelineEnding::Completed) => return "completed".to_owned(),
                EngineAction::Over(PipelineEnding::Failed { reason }) => return format!("failed {reason}"),
                EngineAction::Ask(Question::Gate) => return format!("gate {}", self.engine.at()),
                EngineAction::Ask(Question::Blocked(text)) => {
                    return format!("blocked {}: {text}", self.engine.at());
                }
                EngineAction::Ask(Question::Stagnated(why)) => {
                    return format!("stagnated {}: {why}", self.engine.at());
                }
                EngineAction::Write => RunFact::Written { failure: None },
                EngineAction::List { over, order } => {
                    let mut names = match over {
                        Over::Items(items) => items.iter().map(|item| item.text.clone()).collect::<Vec<_>>(),
                        Over::Files(_) => ["1.md", "2.md", "3.md"].map(str::to_owned).to_vec(),
                    };
                    if order == super::ItemOrder::Desc {
                        names.reverse();
                    }
                    let file = matches!(over, Over::Files(_));
                    let item = |name: String| LoopItem {
                        file: file.then(|| name.clone()),
                        text: (!file).then(|| name.clone()),
                        name,
                    };
                    RunFact::Listed { items: names.into_iter().map(item).collect() }
                }
                EngineAction::Start(start) => {
                    let prompt = self.prompt(&start);
                    let Some(attempt) = self.attempts.next() else { return format!("wants {prompt}") };
                    self.prompts.push(prompt);
                    self.take(RunFact::Started { worker: "w".to_owned(), input: String::new() });
                    RunFact::Ended { attempt: Box::new(attempt) }
                }
            };
            self.take(fact);
        }
    }

    fn statuses(&self) -> Vec<String> {
        let records = self.engine.records().iter();
        records.map(|record| format!("{} {}", record.at, record.status.as_str())).collect()
    }
}

/// How a run of scripted attempts ends, and the prompts it made.
fn play(steps: &Json, attempts: Vec<Attempt>) -> (String, Vec<String>) {
    let (pipeline, inputs) = (with(steps), BTreeMap::from([("goal".to_owned(), "x".to_owned())]));
    let mut play = Play::new(&pipeline, &inputs, attempts);
    let end = play.go();
    (end, play.prompts)
}

fn review_loop(rounds: u32) -> Json {
    json!([{"id": "l", "loop": {"until": "approve", "max_rounds": rounds},
        "steps": [{"id": "r", "agent": "review round {{round}} fb=[{{FEEDBACK}}]"}]}])
}

fn review_and_fix(more: &Json) -> Json {
    let mut inner = json!({"until": "approve", "max_rounds": 5});
    inner.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!([{"id": "l", "loop": inner,
        "steps": [{"id": "review", "agent": "rev"}, {"id": "fix", "agent": "fix fb=[{{FEEDBACK}}]"}]}])
}

#[test]
fn an_agent_that_exits_with_an_error_has_failed_after_its_retries() {
    let step = |retry: u32| json!([{"id": "a", "agent": "p", "retry": retry}, {"id": "b", "agent": "q"}]);
    assert_eq!(play(&step(0), vec![fails()]).0, "failed a: exit 1");
    let (end, prompts) = play(&step(2), vec![fails(), fails(), fails(), says("never")]);
    assert_eq!((end.as_str(), prompts.len()), ("failed a: exit 1", 3));
    assert_eq!(play(&step(2), vec![fails(), says("ok"), says("ok")]).0, "completed");
    assert_eq!(play(&step(0), vec![says("")]).0, "failed a: the agent gave no answer");
    // A wrong key does not become right by asking again.
    let auth = Attempt { failure: Some(AttemptFailure::new(Class::Auth, "no key")), ..Attempt::default() };
    assert_eq!(play(&step(2), vec![auth, says("never")]).0, "failed a: no key");
}

#[test]
fn what_a_failed_attempt_said_is_dropped() {
    let steps = json!([{"id": "a", "agent": "p", "retry": 1}, {"id": "b", "agent": "{{emit.k}}"}]);
    let failed = Attempt {
        failure: Some(AttemptFailure::new(Class::Unknown, "exit 1")),
        ..says("<pilot:emit key=\"k\">old</pilot:emit>")
    };
    let (end, prompts) = play(&steps, vec![failed, says("done"), says("x")]);
    assert_eq!(end, "completed");
    assert!(prompts[2].contains("nothing is called \"emit.k\""), "{prompts:?}");
    // But a step that rejects or needs a person keeps what it emitted.
    let steps = json!([{"id": "a", "agent": "p", "on_blocked": "skip"}, {"id": "b", "agent": "{{emit.k}}"}]);
    let blocked = says("<pilot:emit key=\"k\">v</pilot:emit>\n<pilot:blocked>no</pilot:blocked>");
    assert_eq!(play(&steps, vec![blocked, says("x")]).1[1], "b: v");
}

#[test]
fn feedback_is_the_complaints_of_the_rounds_before() {
    let (end, prompts) = play(&review_loop(3), vec![rejects("find1"), rejects("find2"), rejects("find3")]);
    assert_eq!(end, "failed l: no approve after 3 rounds; last feedback: find3");
    assert_eq!(
        prompts,
        [
            "l#1/r: review round 1 fb=[]",
            "l#2/r: review round 2 fb=[find1]",
            "l#3/r: review round 3 fb=[### Round 1\nfind1\n\n### Round 2\nfind2]"
        ]
    );
    let (end, prompts) = play(&review_and_fix(&json!({})), vec![rejects("boom"), says("fixed"), approves()]);
    assert_eq!(end, "completed");
    assert_eq!(prompts, ["l#1/review: rev", "l#1/fix: fix fb=[boom]", "l#2/review: rev"]);
    let (end, prompts) = play(&review_and_fix(&json!({})), vec![approves()]);
    assert_eq!((end.as_str(), prompts.len()), ("completed", 1), "the fix step is not run");
}

#[test]
fn a_reviewer_without_a_verdict_is_reminded_once_and_then_the_loop_fails() {
    let (end, prompts) =
        play(&review_loop(3), vec![says("looks good"), says("<pilot:completed>ok</pilot:completed>")]);
    assert_eq!(end, "failed l#1/r: the reviewer said completed and neither approved nor rejected, twice");
    assert_eq!(prompts, ["l#1/r: review round 1 fb=[]", "l#1/r!: review round 1 fb=[]"]);
    assert_eq!(play(&review_loop(3), vec![says("hm"), approves()]).0, "completed");
    assert_eq!(play(&review_loop(3), vec![fails()]).0, "failed l#1/r: exit 1", "a crash is no approval");
    let (end, _) = play(&review_loop(3), vec![rejects("x"), says("hm"), says("hm")]);
    assert!(end.starts_with("failed l#2/r: the reviewer neither approved nor rejected"), "{end}");
}

#[test]
fn only_the_reviewer_approves_and_all_of_them_must() {
    let (end, prompts) = play(
        &review_and_fix(&json!({"max_rounds": 2})),
        vec![rejects("a"), approves(), rejects("b"), approves()],
    );
    assert_eq!(end, "failed l: no approve after 2 rounds; last feedback: b");
    assert_eq!(prompts.len(), 4, "an approval of the fix step changes nothing");
    let two = json!([{"id": "l", "loop": {"until": "approve"}, "steps": [
        {"id": "a", "agent": "x", "review": true}, {"id": "b", "agent": "y", "review": true}, {"id": "fix", "agent": "z"}]}]);
    assert_eq!(play(&two, vec![approves(), approves()]).0, "completed");
    let (end, prompts) = play(
        &two,
        vec![
            approves(),
            rejects("no"),
            says("f"),
            rejects("no"),
            approves(),
            says("f"),
            approves(),
            approves(),
        ],
    );
    assert_eq!((end.as_str(), prompts.len()), ("completed", 8));
}

#[test]
fn an_approval_is_for_what_was_seen() {
    let steps = json!([{"id": "l", "loop": {"until": "approve", "max_rounds": 2}, "steps": [
        {"id": "a", "agent": "x", "review": true}, {"id": "polish", "agent": "z"}, {"id": "b", "agent": "y", "review": true}]}]);
    // The first approved, a step changed something, the second approved: no reviewer approved the whole.
    let round = || vec![approves(), moved(says("done"), true), approves()];
    let (end, _) = play(&steps, [round(), round()].concat());
    assert_eq!(end, "failed l: no approve after 2 rounds");
    let still = vec![approves(), moved(says("done"), false), approves()];
    assert_eq!(play(&steps, still).0, "completed");
}

#[test]
fn until_means_what_it_says() {
    let steps = |until: &str| json!([{"id": "l", "loop": {"until": until, "max_rounds": 3}, "steps": [{"id": "a", "agent": "{{round}}"}]}]);
    let done = || says("<pilot:completed>all</pilot:completed>");
    let (end, prompts) = play(&steps("completed"), vec![says("more"), done()]);
    assert_eq!((end.as_str(), prompts.len()), ("completed", 2));
    assert_eq!(
        play(&steps("completed"), vec![says("a"), says("b"), says("c")]).0,
        "failed l: no completed after 3 rounds"
    );
    assert_eq!(play(&steps("skip"), vec![done(), says("<pilot:skip/>")]).0, "completed");
    assert_eq!(
        play(&steps("completed"), vec![approves(), done()]).0,
        "completed",
        "an approval is nothing here"
    );
}

#[test]
fn a_loop_goes_over_items_and_a_skipped_one_is_recorded() {
    let steps = json!([{"id": "l", "loop": {"over": "tasks", "as": "T", "order": "desc"}, "steps": [
        {"id": "a", "agent": "{{T}} r{{round}}"}, {"id": "b", "agent": "then {{T}}"}]}, {"id": "end", "agent": "e"}]);
    let (pipeline, inputs) = (with(&steps), BTreeMap::new());
    let skip = says("<pilot:skip>done before</pilot:skip>");
    let mut run =
        Play::new(&pipeline, &inputs, vec![says("x"), says("x"), skip, says("x"), says("x"), says("x")]);
    assert_eq!(run.go(), "completed");
    assert_eq!(
        run.prompts,
        [
            "l[3.md]/a: <3.md> r0",
            "l[3.md]/b: then <3.md>",
            "l[2.md]/a: <2.md> r0",
            "l[1.md]/a: <1.md> r0",
            "l[1.md]/b: then <1.md>",
            "end: e"
        ]
    );
    assert!(run.statuses().contains(&"l[2.md]/a skipped".to_owned()), "{:?}", run.statuses());
    let items = json!([{"id": "l", "loop": {"over": ["p", "q"], "as": "T"}, "steps": [{"id": "a", "agent": "{{T}}", "when": "{{T}} != p"}]}]);
    assert_eq!(play(&items, vec![says("x")]).1, ["l[q]/a: q"]);
}

#[test]
fn nested_loops_see_what_is_around_them_and_give_it_back() {
    let steps = json!([{"id": "t", "loop": {"over": ["T1"], "as": "T"}, "steps": [
        {"id": "impl", "agent": "{{T}} impl r{{round}}"},
        {"id": "l", "loop": {"until": "approve"}, "steps": [{"id": "r", "agent": "{{T}} r{{round}}"}]}]},
        {"id": "after", "agent": "after r{{round}} [{{FEEDBACK}}]"}]);
    let (end, prompts) = play(&steps, vec![says("x"), rejects("y"), approves(), says("z")]);
    assert_eq!(end, "completed");
    assert_eq!(
        prompts,
        ["t[T1]/impl: T1 impl r0", "t[T1]/l#1/r: T1 r1", "t[T1]/l#2/r: T1 r2", "after: after r0 []"]
    );
    let inner = json!([{"id": "o", "loop": {"until": "approve"}, "steps": [
        {"id": "i", "loop": {"until": "approve"}, "steps": [{"id": "ir", "agent": "in [{{FEEDBACK}}]"}]},
        {"id": "or", "agent": "out"}]}]);
    let (end, prompts) =
        play(&inner, vec![approves(), rejects("big"), rejects("small"), approves(), approves()]);
    assert_eq!(end, "completed");
    assert_eq!(
        prompts,
        [
            "o#1/i#1/ir: in []",
            "o#1/or: out",
            "o#2/i#1/ir: in [big]",
            "o#2/i#2/ir: in [big\n\nsmall]",
            "o#2/or: out"
        ]
    );
}

#[test]
fn a_rejection_outside_a_review_fails_and_a_skip_is_recorded() {
    let step = json!([{"id": "a", "agent": "p"}, {"id": "b", "agent": "q"}]);
    assert_eq!(play(&step, vec![rejects("bad")]).0, "failed a: rejected: bad");
    assert_eq!(play(&step, vec![says("<pilot:skip/>"), approves()]).0, "completed");
    let shell = json!([{"id": "s", "shell": "ls"}, {"id": "b", "agent": "{{emit.k}}"}]);
    let out = says("<pilot:emit key=\"k\">from sh</pilot:emit>");
    assert_eq!(play(&shell, vec![out, says("x")]).1[1], "b: from sh");
    assert_eq!(play(&shell, vec![says("<pilot:blocked>no db</pilot:blocked>")]).0, "blocked s: no db");
    assert_eq!(play(&shell, vec![fails()]).0, "failed s: exit 1");
}

#[test]
fn blocked_waits_for_a_person_or_does_what_the_author_says() {
    let blocked = || says("<pilot:blocked>which key?</pilot:blocked>");
    let step = |on: &str| json!([{"id": "a", "agent": "p", "on_blocked": on, "fallback": "codex"}, {"id": "b", "agent": "q"}]);
    let (pipeline, inputs) = (with(&step("ask")), BTreeMap::new());
    let mut run = Play::new(&pipeline, &inputs, vec![blocked(), says("thanks"), says("x")]);
    assert_eq!(run.go(), "blocked a: which key?");
    assert!(run.engine.resumes_by_trying_again());
    run.take(RunFact::Answered { answer: UserAnswer::Text("k-1".to_owned()) });
    assert_eq!(run.go(), "completed");
    assert_eq!(run.prompts[1], "a: p (k-1)");
    let mut again = Play::new(&pipeline, &inputs, vec![blocked(), says("x"), says("y")]);
    again.go();
    again.take(RunFact::Resumed);
    assert_eq!((again.go().as_str(), again.prompts[1].as_str()), ("completed", "a: p"));
    assert_eq!(play(&step("skip"), vec![blocked(), says("x")]).0, "completed");
    assert_eq!(play(&step("fallback"), vec![blocked(), says("x"), says("y")]).1[1], "a codex: p");
    let fail = json!([{"id": "a", "agent": "p", "on_blocked": "fail"}]);
    assert_eq!(play(&fail, vec![blocked()]).0, "failed a: blocked: which key?");
}

#[test]
fn a_fallback_takes_over_when_everything_failed() {
    let steps = json!([{"id": "a", "agent": "p", "retry": 1, "fallback": {"tool": "codex", "retry": 1}}]);
    let (end, prompts) = play(&steps, vec![fails(), fails(), fails(), says("done")]);
    assert_eq!(end, "completed");
    assert_eq!(prompts, ["a: p", "a: p", "a codex: p", "a codex: p"]);
    assert_eq!(play(&steps, vec![fails(), fails(), fails(), fails()]).0, "failed a: exit 1");
}

#[test]
fn a_gate_wants_a_yes() {
    let steps = json!([{"id": "g", "gate": {}}, {"id": "a", "agent": "p"}]);
    let (pipeline, inputs) = (with(&steps), BTreeMap::new());
    let mut run = Play::new(&pipeline, &inputs, vec![says("x")]);
    assert_eq!(run.go(), "gate g");
    assert!(!run.engine.resumes_by_trying_again(), "who comes back is asked again");
    assert!(run.engine.decide(&RunFact::Answered { answer: UserAnswer::Text("nope".to_owned()) }).is_err());
    let mut no = run.engine.clone();
    no.decide(&RunFact::Answered { answer: UserAnswer::No }).unwrap();
    assert!(
        matches!(no.next(), EngineAction::Over(PipelineEnding::Failed { reason }) if reason == "g: a person said no")
    );
    run.take(RunFact::Answered { answer: UserAnswer::Yes });
    assert_eq!(run.go(), "completed");
}

#[test]
fn conditions_decide_whether_a_step_is_done() {
    let steps = json!([{"id": "a", "agent": "p"},
        {"id": "b", "agent": "q", "when": "{{emit.kind}} == bug"},
        {"id": "l", "when": "{{emit.kind}} == feature", "loop": {"until": "approve"}, "steps": [{"id": "r", "agent": "r"}]}]);
    let kind = |kind: &str| says(&format!("<pilot:emit key=\"kind\">{kind}</pilot:emit>"));
    assert_eq!(play(&steps, vec![kind("bug"), says("x")]).1, ["a: p", "b: q"]);
    assert_eq!(play(&steps, vec![kind("feature"), approves()]).1, ["a: p", "l#1/r: r"]);
    assert_eq!(play(&steps, vec![kind("or true")]).0, "completed");
}

#[test]
fn a_loop_that_gets_nowhere_is_noticed() {
    // The same complaint three times, the last one not in the last round.
    let same = |n: u32| rejects(&format!("Missing  tests in src/a.rs:{n}, line {n}"));
    let fix = |moves: bool| moved(says("fixed"), moves);
    let stop = review_and_fix(&json!({}));
    let (end, prompts) = play(&stop, vec![same(1), fix(true), same(22), fix(true), same(3)]);
    assert!(end.starts_with("failed l: stagnation: the same complaint came three times"), "{end}");
    assert_eq!(prompts.len(), 5);
    // A fix that changes nothing, and the review rejects again.
    let (end, _) = play(&stop, vec![rejects("a"), fix(false), rejects("b")]);
    assert!(end.starts_with("failed l: stagnation: the fix changed nothing"), "{end}");
    assert_eq!(
        play(&stop, vec![rejects("a"), fix(false), approves()]).0,
        "completed",
        "the complaint was void"
    );
    let others = vec![rejects("a"), fix(true), rejects("b"), fix(true), rejects("c"), fix(true), approves()];
    assert_eq!(play(&stop, others).0, "completed");
    // A person is asked.
    let (end, _) = play(
        &review_and_fix(&json!({"on_stagnation": "gate"})),
        vec![rejects("a"), fix(false), rejects("b")],
    );
    assert!(end.starts_with("stagnated l#2/review: the fix changed nothing"), "{end}");
    // Another agent takes over, once.
    let other = review_and_fix(&json!({"on_stagnation": "codex"}));
    let (end, prompts) = play(&other, vec![rejects("a"), fix(false), rejects("b"), fix(true), approves()]);
    assert_eq!(
        (end.as_str(), prompts[3].as_str()),
        ("completed", "l#2/fix codex: fix fb=[### Round 1\na\n\n### Round 2\nb]")
    );
    let (end, _) = play(&other, vec![rejects("a"), fix(false), rejects("b"), fix(false), rejects("c")]);
    assert!(end.starts_with("failed l: stagnation"), "{end}");
}

#[test]
fn a_person_who_comes_back_gives_a_loop_more_rounds() {
    let (pipeline, inputs) = (with(&review_loop(1)), BTreeMap::new());
    let mut run = Play::new(&pipeline, &inputs, vec![rejects("a"), approves()]);
    assert!(run.go().starts_with("failed l: no approve after 1 round"));
    run.take(RunFact::Resumed);
    assert_eq!(run.go(), "completed");
    assert_eq!(run.prompts[1], "l#2/r: review round 2 fb=[a]");
    let failed = json!([{"id": "a", "agent": "p"}, {"id": "b", "agent": "q"}]);
    let pipeline = with(&failed);
    let mut run = Play::new(&pipeline, &inputs, vec![says("x"), fails(), says("y")]);
    assert_eq!(run.go(), "failed b: exit 1");
    run.take(RunFact::Resumed);
    assert_eq!((run.go().as_str(), run.prompts.len()), ("completed", 3), "a is not done again");
}

#[test]
fn updates_are_put_into_place_before_anything_follows() {
    let steps = json!([{"id": "a", "agent": "p"}, {"id": "b", "agent": "q"}]);
    let (pipeline, inputs) = (with(&steps), BTreeMap::new());
    let update = says("<pilot:update path=\".pilot/x\">y</pilot:update>");
    let mut engine = Engine::new(&pipeline, &inputs);
    engine.decide(&RunFact::Started { worker: "w".to_owned(), input: String::new() }).unwrap();
    engine.decide(&RunFact::Ended { attempt: Box::new(update) }).unwrap();
    assert!(matches!(engine.next(), EngineAction::Write));
    let mut failed = engine.clone();
    failed.decide(&RunFact::Written { failure: Some("a link".to_owned()) }).unwrap();
    assert!(
        matches!(failed.next(), EngineAction::Over(PipelineEnding::Failed { reason }) if reason.contains("a link"))
    );
    engine.decide(&RunFact::Written { failure: None }).unwrap();
    assert_eq!(engine.at(), "b");
}

#[test]
fn a_run_begins_where_it_is_told() {
    let steps =
        json!([{"id": "a", "agent": "p"}, {"id": "b", "agent": "{{emit.k}}"}, {"id": "c", "agent": "r"}]);
    let (pipeline, inputs) = (with(&steps), BTreeMap::new());
    for (only, expect) in [(false, vec!["b: v", "c: r"]), (true, vec!["b: v"])] {
        let mut run = Play::new(&pipeline, &inputs, vec![says("x"), says("y")]);
        let emits = BTreeMap::from([("k".to_owned(), "v".to_owned())]);
        run.take(RunFact::Picked { from: "b".to_owned(), only, emits });
        assert_eq!(run.go(), "completed");
        assert_eq!(run.prompts, expect);
    }
}

#[test]
fn waits_are_what_the_author_or_the_failure_says() {
    let limited = AttemptFailure::new(Class::RateLimit, "slow down");
    let wait = |delay: Option<u32>, failure: &AttemptFailure| {
        let mut json =
            json!({"version": "1", "defaults": {}, "pipeline": [{"id": "a", "agent": "p", "retry": 3}]});
        if let Some(delay) = delay {
            json["defaults"]["iteration_delay_ms"] = json!(delay);
        }
        let (pipeline, inputs) = (whole(&json), BTreeMap::new());
        let mut engine = Engine::new(&pipeline, &inputs);
        let attempt = Attempt { failure: Some(failure.clone()), ..Attempt::default() };
        engine.decide(&RunFact::Ended { attempt: Box::new(attempt) }).unwrap();
        let EngineAction::Start(start) = engine.next() else { panic!("no attempt") };
        start.wait.as_millis()
    };
    assert_eq!(wait(None, &limited), 30_000);
    assert_eq!(wait(Some(7), &limited), 7);
    assert_eq!(wait(None, &AttemptFailure::new(Class::Unknown, "exit 1")), 0);
}

/// Attempts of every kind.
fn any_attempt() -> impl Strategy<Value = Attempt> {
    (0..10_u8).prop_map(|kind| match kind {
        0 => approves(),
        1 => rejects("a"),
        2 => rejects("b"),
        3 => says("done"),
        4 => says("<pilot:completed>c</pilot:completed>"),
        5 => says("<pilot:skip/>"),
        6 => says("<pilot:emit key=\"k\">v</pilot:emit>\n<pilot:update path=\".pilot/x\">y</pilot:update>"),
        7 => moved(says("fixed"), false),
        8 => says("<pilot:reject>cut"),
        _ => fails(),
    })
}

fn everything() -> Json {
    json!([{"id": "a", "agent": "p", "retry": 1, "fallback": "codex"},
        {"id": "t", "loop": {"over": ["1", "2"], "as": "T"}, "steps": [
            {"id": "i", "agent": "{{T}}", "when": "{{T}} != 1"},
            {"id": "l", "loop": {"until": "approve", "max_rounds": 3, "on_stagnation": "codex"}, "steps": [
                {"id": "review", "agent": "r", "retry": 1}, {"id": "s", "shell": "ls"}, {"id": "fix", "agent": "{{FEEDBACK}}"}]}]},
        {"id": "w", "loop": {"until": "completed", "max_rounds": 2}, "steps": [{"id": "ww", "agent": "w"}]}])
}

proptest! {
    #[test]
    fn facts_taken_again_give_the_same_state_from_any_point(
        attempts in prop::collection::vec(any_attempt(), 0..40),
        resumes in 0..3_usize,
    ) {
        let (pipeline, inputs) = (with(&everything()), BTreeMap::from([("goal".to_owned(), "x".to_owned())]));
        let mut run = Play::new(&pipeline, &inputs, attempts);
        run.go();
        for _ in 0..resumes {
            if run.engine.resumes_by_trying_again() {
                run.take(RunFact::Resumed);
                run.go();
            }
        }
        let json: Vec<String> = run.facts.iter().map(|fact| serde_json::to_string(fact).unwrap()).collect();
        let facts: Vec<RunFact> = json.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
        prop_assert_eq!(&facts, &run.facts);
        for cut in 0..=facts.len() {
            let mut again = Engine::replay(&pipeline, &inputs, &facts[..cut]).unwrap();
            for fact in &facts[cut..] {
                again.decide(fact).unwrap();
            }
            prop_assert_eq!(again.at(), run.engine.at());
            prop_assert_eq!(again.records(), run.engine.records());
            prop_assert_eq!(again.emits(), run.engine.emits());
        }
    }

    #[test]
    fn a_review_loop_is_approved_only_by_an_approval(attempts in prop::collection::vec(any_attempt(), 0..40)) {
        let (pipeline, inputs) = (with(&review_and_fix(&json!({"max_rounds": 9}))), BTreeMap::new());
        let mut run = Play::new(&pipeline, &inputs, attempts);
        let end = run.go();
        let approved = run.engine.records().iter().any(|record| record.id == "review" && record.status == StepStatus::Approved);
        prop_assert_eq!(end == "completed", approved, "{:?}", run.statuses());
    }
}
