use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::super::file::{Pipeline, StepKind, Tool, Turns};
use super::{AgentFile, PipelineSources, read};
use crate::config::{MapEntry, Node, Origin, Place, Scalar, Value};

/// A tree in which every value has a line of its own.
fn node(json: &Json, line: &mut u32) -> Node {
    let place = Place { line: *line, column: 1 };
    let value = match json {
        Json::Null => Value::Null,
        Json::String(text) => Value::Scalar(Scalar::new(text)),
        Json::Bool(_) | Json::Number(_) => Value::Scalar(Scalar::new(json.to_string())),
        Json::Array(items) => Value::List(items.iter().map(|item| node(item, line)).collect()),
        Json::Object(fields) => Value::Map(
            fields
                .iter()
                .map(|(key, value)| {
                    *line += 1;
                    let place = Place { line: *line, column: 1 };
                    MapEntry { key: key.clone(), place, value: node(value, line) }
                })
                .collect(),
        ),
    };
    Node { place, value }
}

/// A pipeline and what is wrong with it.
pub(in crate::pipeline) fn pipeline(json: &Json) -> (Pipeline, Vec<String>) {
    let origin = |file: &str| Origin::Project { file: Arc::from(file), place: None };
    let front = json!({"tool": "codex", "retry": 2});
    let agents = [AgentFile {
        name: "reviewer".to_owned(),
        origin: origin("agents/reviewer.md"),
        front: Some(node(&front, &mut 1)),
        body: "Review {{diff}}.".to_owned(),
    }];
    let prompt = |path: &str| match path {
        "prompts/work.md" => Ok((origin("prompts/work.md"), "Work on {{goal}}.\n{{nothing}}".to_owned())),
        "prompts/fine.md" => Ok((origin("prompts/fine.md"), "Work.".to_owned())),
        _ => Err("is not there".to_owned()),
    };
    let sources = PipelineSources { origin: origin("p.yaml"), agents: &agents, prompt: &prompt };
    let (pipeline, problems) = read(&node(json, &mut 1), &sources);
    (pipeline, problems.iter().map(ToString::to_string).collect())
}

fn with(steps: &Json) -> Json {
    json!({"version": "1", "inputs": {"goal": "x"}, "pipeline": steps})
}

/// The complaints about some steps.
fn wrong(steps: &Json) -> Vec<String> {
    pipeline(&with(steps)).1
}

#[test]
fn a_file_of_the_older_product_is_read() {
    let (pipeline, problems) = pipeline(&json!({
        "version": 1.0,
        "inputs": {"goal": "login", "n": 3, "fast": true, "asked": null},
        "agents": {"planner": {"prompt": "Plan {{goal}}.", "tool": "claude-code", "model": "claude-sonnet-4", "args": ["--x"]}},
        "defaults": {"agent": {"tool": "claude-code", "model": "m", "retry": 1}, "error_patterns": ["rate limit"],
            "iteration_delay_ms": 2000},
        "pipeline": [
            {"id": "plan", "agent": "@planner"},
            {"id": "snapshot", "shell": {"command": "git status"}},
            {"id": "ok", "gate": {}},
            {"id": "tasks", "loop": {"over": "session/tasks", "as": "TASK", "order": "desc"}, "steps": [
                {"id": "impl", "agent": {"prompt": "Do {{TASK}} in round {{round}}", "tool": "codex", "retry": 2}},
                {"id": "loop", "loop": {"until": "APPROVE", "max_rounds": 3}, "steps": [
                    {"id": "review", "agent": "@reviewer"},
                    {"id": "fix", "agent": "Fix {{FEEDBACK}}"}]}]}],
    }));
    assert_eq!(problems, [""; 0]);
    let inputs: Vec<(&str, Option<&str>)> =
        pipeline.inputs.iter().map(|(name, value)| (name.as_str(), value.as_deref())).collect();
    assert_eq!(inputs, [("asked", None), ("fast", Some("true")), ("goal", Some("login")), ("n", Some("3"))]);
    let steps = pipeline.walk();
    let ids: Vec<(usize, &str)> = steps.iter().map(|(depth, step)| (*depth, step.id.as_str())).collect();
    assert_eq!(
        ids,
        [
            (0, "plan"),
            (0, "snapshot"),
            (0, "ok"),
            (0, "tasks"),
            (1, "impl"),
            (1, "loop"),
            (2, "review"),
            (2, "fix")
        ]
    );
    let agent = |index: usize| match &steps[index].1.kind {
        StepKind::Agent(agent) => agent,
        StepKind::Shell(_) | StepKind::Gate(_) | StepKind::Loop(_) => panic!("no agent"),
    };
    assert_eq!((agent(0).worker.model.as_deref(), agent(0).worker.retry), (Some("claude-sonnet-4"), Some(1)));
    // Another tool than the default's does not get its model.
    assert_eq!((agent(4).worker.model.as_deref(), agent(4).worker.retry), (None, Some(2)));
    assert_eq!(agent(4).worker.tool.as_ref().map(Tool::name), Some("codex"));
    assert_eq!((agent(6).review, agent(7).review, agent(6).worker.retry), (true, false, Some(2)));
    let StepKind::Loop(inner) = &steps[5].1.kind else { panic!("no loop") };
    assert!(matches!(inner.turns, Turns::Until { max_rounds: 3, .. }));
}

/// What is written, and what is said about it.
const MISTAKES: &[(&str, &str)] = &[
    (
        r#"[{"id": "a", "agent": "x", "tiemout": "5m"}]"#,
        "p.yaml:7:1: a.tiemout: unknown key; did you mean a.timeout?",
    ),
    (
        r#"[{"id": "a", "agent": {"prompt": "x", "modle": "y"}}]"#,
        "a.agent.modle: unknown key; did you mean a.agent.model?",
    ),
    (r#"[{"id": "a", "agent": "x", "shell": "ls"}]"#, "a: is agent and shell at once; keep one"),
    (r#"[{"id": "a", "when": "{{goal}}"}]"#, "a: says not what it is; write one of agent, shell, gate, loop"),
    (r#"[{"agent": "x"}]"#, "pipeline[0]: has no id"),
    (r#"[{"id": "a/b", "agent": "x"}]"#, "\"a/b\": no name for a step"),
    (r#"[{"id": "a", "agent": "x"}, {"id": "a", "shell": "ls"}]"#, "\"a\": another step has this id"),
    (
        r#"[{"id": "a", "agent": "@reviewr"}]"#,
        "\"@reviewr\": there is no such agent; did you mean @reviewer?",
    ),
    (r#"[{"id": "a", "agent": "prompts/none.md"}]"#, "\"prompts/none.md\": the prompt file is not there"),
    (r#"[{"id": "a", "agent": "prompts/work.md"}]"#, "prompts/work.md:2:1: nothing is called \"nothing\""),
    (
        r#"[{"id": "a", "agent": "{{gaol}}"}]"#,
        "a.agent: line 1, column 1: nothing is called \"gaol\"; did you mean goal?",
    ),
    (r#"[{"id": "a", "agent": "{{TASK}}"}]"#, "nothing is called \"TASK\""),
    (r#"[{"id": "a", "agent": "{{file:../x}}"}]"#, "{{file:../x}}: the path goes up"),
    (r#"[{"id": "a", "agent": "{{agent:reviwer}}"}]"#, "did you mean {{agent:reviewer}}?"),
    (r#"[{"id": "a", "agent": "{{questions}}"}]"#, "{{questions}} is not built"),
    (r#"[{"id": "a", "agent": "{{x"}]"#, "{{ without }}"),
    (r#"[{"id": "a", "agent": " "}]"#, "a.agent: is empty"),
    (r#"[{"id": "a", "agent": {"tool": "codex"}}]"#, "a.agent: has no prompt"),
    (r#"[{"id": "a", "agent": "x", "tool": "cladue-code"}]"#, "did you mean claude-code?"),
    (r#"[{"id": "a", "agent": "x", "tool": "aider"}]"#, "any other program runs as custom with a script"),
    (r#"[{"id": "a", "agent": {"prompt": "x", "tool": "custom"}}]"#, "the tool custom needs a script"),
    (r#"[{"id": "a", "agent": "x", "retry": "two"}]"#, "\"two\": write a whole number from 0 to 100"),
    (r#"[{"id": "a", "agent": "x", "timeout": "5"}]"#, "5 has no unit"),
    (
        r#"[{"id": "a", "agent": {"prompt": "x", "retry": 1}, "retry": 2}]"#,
        "a.retry: is also set in agent; keep one",
    ),
    (r#"[{"id": "a", "agent": "x", "on_blocked": "fallback"}]"#, "there is no fallback; name one"),
    (r#"[{"id": "a", "agent": "x", "fallback": "nobody"}]"#, "or @name of an agent"),
    (
        r#"[{"id": "a", "agent": "x", "review": true}]"#,
        "only a step directly in a loop with until: approve reviews",
    ),
    (r#"[{"id": "a", "shell": {}}]"#, "a.shell: has no command"),
    (r#"[{"id": "a", "shell": "sh -c '{{goal}}'"}]"#, "{{goal}} inside single quotes"),
    (r#"[{"id": "a", "shell": "ls", "model": "m"}]"#, "a.model: has no effect on a shell step"),
    (r#"[{"id": "a", "gate": {}, "retry": 1}]"#, "a.retry: has no effect on a gate step"),
    (r#"[{"id": "a", "agent": "x", "when": "{{goal} == x"}]"#, "a.when:"),
    (r#"[{"id": "a", "agent": "x", "when": "{{gaol}} == x"}]"#, "nothing is called \"gaol\""),
    (r#"[{"id": "a", "agent": "x", "when": "{{diff}}"}]"#, "cannot be asked in a condition"),
    (
        r#"[{"id": "l", "loop": {"until": "BANANA"}, "steps": [{"id": "a", "agent": "x"}]}]"#,
        "\"BANANA\": the choice is approve, completed, skip",
    ),
    (
        r#"[{"id": "l", "loop": {"until": "approve", "max_rounds": 0}, "steps": [{"id": "a", "agent": "x"}]}]"#,
        "\"0\": write a whole number from 1 to 100",
    ),
    (
        r#"[{"id": "l", "loop": {"over": "t", "as": "T", "until": "approve"}, "steps": [{"id": "a", "agent": "x"}]}]"#,
        "has both over and until; keep exactly one",
    ),
    (r#"[{"id": "l", "loop": {}, "steps": [{"id": "a", "agent": "x"}]}]"#, "says not how often"),
    (r#"[{"id": "l", "loop": {"until": "approve"}}]"#, "l.loop: has no steps"),
    (r#"[{"id": "l", "loop": {"over": "t"}, "steps": [{"id": "a", "agent": "x"}]}]"#, "write as: TASK"),
    (
        r#"[{"id": "l", "loop": {"over": "t", "as": "goal"}, "steps": [{"id": "a", "agent": "x"}]}]"#,
        "has this name",
    ),
    (
        r#"[{"id": "l", "loop": {"over": "t", "as": "round"}, "steps": [{"id": "a", "agent": "x"}]}]"#,
        "Pilot's own",
    ),
    (
        r#"[{"id": "l", "loop": {"over": "t", "as": "T", "order": "random"}, "steps": [{"id": "a", "agent": "x"}]}]"#,
        "the choice is asc, desc",
    ),
    (
        r#"[{"id": "l", "loop": {"until": "approve"}, "steps": [{"id": "a", "shell": "ls"}]}]"#,
        "can approve; add one",
    ),
    (
        r#"[{"id": "l", "loop": {"until": "approve"}, "steps": [{"id": "a", "agent": "x"}, {"id": "b", "agent": "y"}]}]"#,
        "which step reviews? write review: true at it",
    ),
    (
        r#"[{"id": "l", "loop": {"until": "approve", "on_stagnation": "codex"}, "steps": [{"id": "a", "agent": "x"}]}]"#,
        "has no step that fixes",
    ),
    (
        r#"[{"id": "l", "loop": {"until": "approve"}, "steps": [{"id": "a", "agent": "x", "on_blocked": "skip"}]}]"#,
        "a review cannot be passed over",
    ),
    (r#""ls""#, "pipeline: expected a list of steps, found a single value"),
    (r#"["ls"]"#, "pipeline[0]: expected a section of keys, found a single value"),
];

#[test]
fn mistakes_are_told_with_the_line_and_the_nearest_name() {
    let mut failed = Vec::new();
    for (written, words) in MISTAKES {
        let steps: Json = serde_json::from_str(written).unwrap();
        let complaints = wrong(&steps);
        if complaints.len() != 1 || !complaints[0].contains(words) {
            failed.push(format!("{steps}: {words}: {complaints:#?}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn the_top_of_a_file_is_as_strict() {
    for (json, words) in [
        (json!({"pipeline": []}), "p.yaml: version: is missing"),
        (json!({"version": "2", "pipeline": []}), "\"2\": this Pilot reads version \"1\""),
        (json!({"version": "1"}), "pipeline: there is nothing to run"),
        (json!({"version": "1", "pipeline": null}), "pipeline: there is nothing to run"),
        (
            json!({"version": "1", "inputs": {"x": []}, "pipeline": []}),
            "inputs.x: expected a text, found a list",
        ),
        (json!({"version": "1", "inputs": {"a b": "x"}, "pipeline": []}), "is no name"),
        (
            json!({"version": "1", "agents": {"a": {"tool": "codex"}}, "pipeline": []}),
            "agents.a: has no prompt",
        ),
        (
            json!({"version": "1", "agents": {"a": "{{file:/etc/passwd}}"}, "pipeline": []}),
            "the path is absolute",
        ),
        (json!({"version": "1", "defaults": {"agnt": {}}, "pipeline": []}), "did you mean defaults.agent?"),
        (json!({"version": "1", "defaults": {"error_patterns": "x"}, "pipeline": []}), "expected a list"),
        (json!([1]), "expected a section of keys, found a list"),
    ] {
        let (_, complaints) = pipeline(&json);
        assert_eq!(complaints.len(), 1, "{json}: {complaints:#?}");
        assert!(complaints[0].contains(words), "{json}: {complaints:#?}");
    }
    let (_, both) =
        pipeline(&json!({"version": "1", "inputs": {"round": 9, "FEEDBACK": "x"}, "pipeline": []}));
    assert!(
        both.len() == 2 && both.iter().all(|complaint| complaint.contains("a name of Pilot's own")),
        "{both:?}"
    );
    let (_, meant) = pipeline(&json!({"version": "1.0", "pipline": []}));
    assert!(
        meant.iter().any(|complaint| complaint.contains("pipline: unknown key; did you mean pipeline?")),
        "{meant:?}"
    );
    for version in [json!("1"), json!("1.0"), json!(1), json!(1.0)] {
        assert_eq!(pipeline(&json!({"version": version, "pipeline": []})).1, [""; 0]);
    }
    let many: Vec<Json> = (0..200).map(|n| json!({"id": format!("s{n}"), "x": 1})).collect();
    assert_eq!(wrong(&json!(many)).last().map(String::as_str), Some("p.yaml: and 350 more"));
}

/// Who reviews in a loop.
fn reviewers(steps: &Json) -> Vec<String> {
    let (pipeline, problems) =
        pipeline(&with(&json!([{"id": "l", "loop": {"until": "approve"}, "steps": steps}])));
    assert_eq!(problems, [""; 0], "{steps}");
    let reviews = |step: &super::super::file::PipelineStep| matches!(&step.kind, StepKind::Agent(agent) if agent.review);
    pipeline.walk().into_iter().filter(|(_, step)| reviews(step)).map(|(_, step)| step.id.clone()).collect()
}

#[test]
fn whoever_looks_like_a_reviewer_is_one() {
    let step = |id: &str, prompt: &str| json!({"id": id, "agent": prompt});
    let shell = json!({"id": "s", "shell": "ls"});
    assert_eq!(reviewers(&json!([step("a", "x")])), ["a"]);
    assert_eq!(reviewers(&json!([shell, step("a", "x")])), ["a"]);
    assert_eq!(reviewers(&json!([step("a", "fix"), step("b", "say <pilot:approve/> or not")])), ["b"]);
    assert_eq!(reviewers(&json!([step("write", "x"), step("Review", "y")])), ["Review"]);
    assert_eq!(reviewers(&json!([step("rev", "rev"), step("fix", "fix fb=[{{FEEDBACK}}]")])), ["rev"]);
    assert_eq!(reviewers(&json!([step("make", "{{FEEDBACK}}"), step("look", "look")])), ["look"]);
    assert_eq!(reviewers(&json!([step("a", "x"), {"id": "b", "agent": "y", "review": true}])), ["b"]);
    assert_eq!(reviewers(&json!([step("a", "x"), {"id": "b", "agent": "y", "review": false}])), ["a"]);
    let two = json!([{"id": "a", "agent": "x", "review": true}, {"id": "b", "agent": "y", "review": true}, step("review", "z")]);
    assert_eq!(reviewers(&two), ["a", "b"]);
}
