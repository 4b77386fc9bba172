use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::config::{
    Config, ConfigKey, KEYS, Layer, MapEntry, Merged, NamedServices, Node, Origin, Place, Scalar, Scope,
    Value, key, merge, read, text_layer, variable_of, variables,
};
use crate::gate::{Gate, GateKind};
use crate::redact::Secrets;

/// A tree as a reader of YAML would hand it over, every entry on a line of its own.
fn tree(json: &Json, line: &mut u32) -> Node {
    let place = Place { line: (*line).max(1), column: 1 };
    let value = match json {
        Json::Null => Value::Null,
        Json::Bool(_) | Json::Number(_) => Value::Scalar(Scalar::new(json.to_string())),
        Json::String(text) => Value::Scalar(Scalar::new(text)),
        Json::Array(items) => Value::List(items.iter().map(|item| tree(item, line)).collect()),
        Json::Object(entries) => {
            Value::Map(entries.iter().map(|(key, value)| entry(key, value, line)).collect())
        }
    };
    Node { place, value }
}

fn entry(key: &str, value: &Json, line: &mut u32) -> MapEntry {
    *line += 1;
    let place = Place { line: *line, column: 1 };
    MapEntry { key: key.to_owned(), place, value: tree(value, line) }
}

fn file(json: &Json) -> Layer {
    read(&tree(json, &mut 0), &Origin::File { file: Arc::from("c.yaml"), place: None })
}

fn project(json: &Json) -> Layer {
    read(&tree(json, &mut 0), &Origin::Project { file: Arc::from("p.yaml"), place: None })
}

/// `a.b` and a value as `{"a": {"b": value}}`.
fn nested(path: &str, value: Json) -> Json {
    path.rsplit('.').fold(value, |value, part| json!({part: value}))
}

fn problems(merged: &Merged) -> Vec<String> {
    merged.problems.iter().map(ToString::to_string).collect()
}

/// Another value for every key than its default. A key without one here fails the tests below.
fn flips() -> Vec<(&'static str, Json)> {
    [of_runs(), of_the_daemon()].concat()
}

fn of_runs() -> Vec<(&'static str, Json)> {
    vec![
        ("executor.backend", json!("codex")),
        ("executor.command.argv", json!(["agent", "--quiet"])),
        ("executor.command.format", json!("stream-json")),
        ("executor.env.pass", json!(["NPM_*"])),
        ("executor.env.deny", json!(["SSH_AUTH_SOCK"])),
        ("executor.model", json!("claude-sonnet-4-6")),
        ("executor.effort", json!("high")),
        ("executor.model_routing.enabled", json!(false)),
        ("executor.model_routing.trivial", json!("claude-haiku-9")),
        ("executor.model_routing.simple", json!("claude-sonnet-9")),
        ("executor.model_routing.medium", json!("claude-sonnet-10")),
        ("executor.model_routing.complex", json!("claude-opus-9")),
        ("executor.effort_routing.enabled", json!(false)),
        ("executor.effort_routing.trivial", json!("low")),
        ("executor.effort_routing.simple", json!("medium")),
        ("executor.effort_routing.medium", json!("high")),
        ("executor.effort_routing.complex", json!("max")),
        ("executor.review.enabled", json!(false)),
        ("executor.review.backend", json!("codex")),
        ("executor.review.model", json!("other")),
        ("executor.review.timeout", json!("3m")),
        ("executor.review.may_fix", json!(false)),
        ("executor.review.blocking", json!("major")),
        ("executor.classifier.enabled", json!(true)),
        ("executor.classifier.model", json!("claude-haiku-4-5-20251001")),
        ("executor.classifier.timeout", json!("10s")),
        ("executor.max_turns", json!(40)),
        ("executor.allowed_tools", json!(["Read", "Bash(git *)"])),
        ("executor.extra_args", json!(["--verbose"])),
        ("executor.trust_repo_settings", json!(false)),
        ("executor.timeout", json!("45m")),
        ("executor.timeout_routing.trivial", json!("6m")),
        ("executor.timeout_routing.simple", json!("16m")),
        ("executor.timeout_routing.medium", json!("31m")),
        ("executor.timeout_routing.complex", json!("1h1m")),
        ("executor.silence_timeout", json!("20m")),
        ("executor.grace", json!("1s500ms")),
        ("executor.exit_grace", json!("30s")),
        ("executor.finalise_timeout", json!("5m")),
        ("executor.pause_timeout", json!("2h")),
        ("executor.stagnation.enabled", json!(false)),
        ("executor.stagnation.warn_after_identical", json!(4)),
        ("executor.stagnation.pause_after_identical", json!(6)),
        ("executor.stagnation.abort_after_identical", json!(9)),
        ("executor.stagnation.warn_timeout", json!("5m")),
        ("executor.stagnation.pause_timeout", json!("25m")),
        ("executor.stagnation.abort_timeout", json!("1h")),
        ("executor.stagnation.warn_at_iteration", json!(8)),
        ("executor.stagnation.pause_at_iteration", json!(12)),
        ("executor.stagnation.abort_at_iteration", json!(15)),
        ("executor.stagnation.warn_over_planned_iterations", json!(false)),
        ("executor.stagnation.on_warn", json!([])),
        ("executor.stagnation.on_pause", json!(["pause"])),
        ("executor.stagnation.on_abort", json!(["abort"])),
        ("executor.limits.memory", json!("4GiB")),
        ("executor.limits.processes", json!(500)),
        ("executor.limits.file_size", json!("10GiB")),
        ("executor.limits.output", json!("128MiB")),
        ("executor.fallback", json!("gemini")),
        ("executor.retry.enabled", json!(false)),
        ("executor.retry.max_attempts", json!(2)),
        ("executor.retry.max_elapsed", json!("1h")),
        ("executor.retry.rate_limit.max_attempts", json!(4)),
        ("executor.retry.rate_limit.initial_backoff", json!("7s")),
        ("executor.retry.rate_limit.backoff_multiplier", json!(2.5)),
        ("executor.retry.api_error.max_attempts", json!(4)),
        ("executor.retry.api_error.initial_backoff", json!("7s")),
        ("executor.retry.api_error.backoff_multiplier", json!(2.5)),
        ("executor.retry.stalled.max_attempts", json!(4)),
        ("executor.retry.stalled.initial_backoff", json!("7s")),
        ("executor.retry.oom_killed.max_attempts", json!(4)),
        ("executor.retry.oom_killed.initial_backoff", json!("7s")),
        ("executor.retry.timeout.max_attempts", json!(4)),
        ("executor.retry.timeout.extend_timeout", json!(false)),
        ("executor.retry.timeout.timeout_multiplier", json!(2.5)),
        ("executor.retry.no_changes.max_attempts", json!(4)),
        ("executor.retry.malformed_signal.max_attempts", json!(4)),
        ("executor.co_author", json!(true)),
        ("memory.path", json!("elsewhere")),
        ("pipeline.update_roots", json!(["docs"])),
        ("budget.enabled", json!(false)),
        ("budget.daily_limit", json!(12.5)),
        ("budget.monthly_limit", json!(100)),
        ("budget.per_task.max_tokens", json!(90_000)),
        ("budget.per_task.max_duration", json!("20m")),
        ("budget.per_task.max_cost", json!(1.75)),
        ("budget.on_exceed.daily", json!("stop")),
        ("budget.on_exceed.monthly", json!("warn")),
        ("budget.on_exceed.per_task", json!("pause")),
        ("budget.thresholds.warn_percent", json!(50)),
        ("budget.prices", json!(["my model 1/2/0.1/1.25"])),
        ("quality.enabled", json!(false)),
        (
            "quality.gates",
            json!([{
                "name": "reach",
                "type": "coverage",
                "command": "make cover | tee \"${TMPDIR}/cover\"",
                "required": true,
                "timeout": "2m",
                "max_retries": 1,
                "retry_delay": "1s",
                "on_failure": "fail",
                "threshold": 80.5,
                "failure_hint": "write a test",
                "group": "slow",
            }]),
        ),
        ("quality.parallel", json!(true)),
        ("quality.on_failure.action", json!("warn")),
        ("quality.on_failure.max_retries", json!(5)),
        ("quality.stop_hook", json!(true)),
    ]
}

fn of_the_daemon() -> Vec<(&'static str, Json)> {
    vec![
        ("adapters.github.enabled", json!(false)),
        ("adapters.github.token", json!("t0ken")),
        ("adapters.github.api_url", json!("http://127.0.0.1:8080/api/v3")),
        ("adapters.github.repo", json!("acme/app")),
        ("adapters.github.app.id", json!("12")),
        ("adapters.github.app.installation_id", json!(34)),
        ("adapters.github.app.private_key", json!("/keys/app.pem")),
        ("adapters.github.polling.interval", json!("100ms")),
        ("adapters.github.polling.label", json!("ready")),
        ("adapters.github.allowed_users", json!(["dependabot[bot]"])),
        #[cfg(feature = "toy")]
        ("adapters.toy.api_url", json!("http://127.0.0.1:8081")),
        #[cfg(feature = "toy")]
        ("adapters.toy.key", json!("k3y")),
        #[cfg(feature = "toy")]
        ("adapters.toy.login", json!("bot")),
        #[cfg(feature = "toy")]
        ("adapters.toy.interval", json!("100ms")),
        ("orchestrator.execution_mode", json!("auto")),
        ("orchestrator.max_concurrent", json!(4)),
        ("orchestrator.execution.pr_timeout", json!("2h")),
        ("orchestrator.autopilot.enabled", json!(false)),
        ("orchestrator.autopilot.environment", json!("prod")),
        ("orchestrator.autopilot.auto_merge", json!(true)),
        ("orchestrator.autopilot.merge_method", json!("rebase")),
        ("orchestrator.autopilot.ci", json!("none")),
        ("orchestrator.autopilot.ci_poll_interval", json!("100ms")),
        ("orchestrator.autopilot.ci_wait_timeout", json!("1h")),
        ("orchestrator.autopilot.ci_discovery_grace", json!("0s")),
        ("orchestrator.autopilot.required_checks", json!(["build"])),
        ("orchestrator.autopilot.ci_checks.exclude", json!(["docs"])),
        ("orchestrator.autopilot.max_ci_fix_iterations", json!(0)),
        ("orchestrator.autopilot.max_failures", json!(5)),
        ("orchestrator.autopilot.failure_reset_timeout", json!("1m")),
        ("orchestrator.autopilot.max_merges_per_hour", json!(1)),
        ("orchestrator.autopilot.release.enabled", json!(true)),
        ("orchestrator.autopilot.release.tag_prefix", json!("app-")),
        ("orchestrator.autopilot.push_failed", json!(true)),
        ("orchestrator.autopilot.settle", json!("100ms")),
        (
            "projects",
            json!([{
                "name": "app",
                "path": "~/app",
                "default_branch": "trunk",
                "github": {"owner": "acme", "repo": "app"},
            }]),
        ),
        ("logging.level", json!("debug")),
        ("logging.format", json!("json")),
        ("logging.output", json!("/var/log/pilot.log")),
        ("logging.rotation.max_size", json!("1MiB")),
        ("logging.rotation.max_backups", json!(0)),
    ]
}

/// What must be set for a key to make sense: the rest of an App.
fn ground(path: &str) -> Layer {
    let mut app = json!({"id": "1", "installation_id": 2, "private_key": "k"});
    match path.strip_prefix("adapters.github.app.") {
        Some(name) => {
            app.as_object_mut().unwrap().remove(name);
            file(&nested("adapters.github.app", app))
        }
        None => Layer::default(),
    }
}

#[test]
fn every_key_changes_the_configuration_and_nothing_else() {
    let flips = flips();
    let flipped: Vec<&str> = flips.iter().map(|(path, _)| *path).collect();
    let keys: Vec<&str> = KEYS.iter().map(|key| key.path).collect();
    assert_eq!(flipped, keys, "every key has a value to flip it to, in order");
    for (path, value) in flips {
        let before = merge([ground(path)]).config;
        let merged = merge([ground(path), file(&nested(path, value.clone()))]);
        assert_eq!(problems(&merged), [""; 0], "{path}");
        assert_ne!(merged.config, before, "{path} changes nothing");
        for key in KEYS.iter() {
            let expect = if key.path == path { value.clone() } else { key.value(&before) };
            assert_eq!(key.value(&merged.config), expect, "{path} and {}", key.path);
        }
        assert_eq!(
            merged.origin(key(path).unwrap()).to_string(),
            format!("c.yaml:{}:1", path.split('.').count())
        );
    }
}

#[test]
fn what_is_configured_of_stagnation_reaches_the_monitor() {
    for (path, value) in flips().into_iter().filter(|(path, _)| path.starts_with("executor.stagnation.")) {
        let merged = merge([file(&nested(path, value))]);
        assert_ne!(merged.config.executor.stagnation, Config::default().executor.stagnation, "{path}");
    }
}

#[test]
fn every_key_has_a_variable_that_wins_over_files() {
    for (path, value) in flips() {
        let key = key(path).unwrap();
        let name = variable_of(key);
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let other = nested(path, key.value(&Config::default()));
        let below = if key.value(&Config::default()).is_null() { json!({}) } else { other };
        let merged = merge([ground(path), file(&below), variables([(name.as_str(), text.as_str())])]);
        assert_eq!(problems(&merged), [""; 0], "{name}");
        assert_eq!(key.value(&merged.config), value, "{name}");
        assert_eq!(merged.origin(key), Origin::Variable(name));
    }
    let merged = merge([variables([("PILOT_EXECUTOR_EXTRA_ARGS", "a, b")])]);
    assert_eq!(merged.config.executor.extra_args, ["a", "b"], "a list may be written with commas");
}

#[test]
fn layers_lie_in_order() {
    let user = json!({"executor": {"model": "u", "timeout": "1h", "max_turns": 1, "effort": "low"}});
    let own = json!({"executor": {"model": "p", "timeout": "2h", "max_turns": 2}});
    let merged = merge([
        file(&user),
        project(&own),
        variables([("PILOT_EXECUTOR_MODEL", "e"), ("PILOT_EXECUTOR_TIMEOUT", "3h")]),
        text_layer([(key("executor.model").unwrap(), Origin::Flag("--model".to_owned()), "f")]),
    ]);
    assert_eq!(problems(&merged), [""; 0]);
    let shown: Vec<String> =
        ["executor.model", "executor.timeout", "executor.max_turns", "executor.effort", "executor.grace"]
            .map(|path| key(path).unwrap())
            .map(|key| format!("{} {}", merged.shown(key), merged.origin(key)))
            .to_vec();
    assert_eq!(
        shown,
        [
            "\"f\" --model",
            "\"3h\" PILOT_EXECUTOR_TIMEOUT",
            "2 p.yaml:2:1",
            "\"low\" c.yaml:2:1",
            "\"5s\" default"
        ]
    );
}

#[test]
fn a_project_sets_only_what_cannot_harm() {
    for (path, value) in flips() {
        let merged = merge([project(&nested(path, value))]);
        let is_refused = key(path).unwrap().scope == Scope::User;
        let words = problems(&merged).join("\n");
        assert_eq!(!words.is_empty(), is_refused, "{path}: {words}");
        assert_eq!(words.contains("a project's file must not set this"), is_refused, "{path}: {words}");
    }
    for section in ["gateway", "adapters.gitlab", "orchestrator.daily_brief", "executor.intent_judge"] {
        let merged = merge([project(&nested(section, json!({})))]);
        assert!(problems(&merged).join("").contains("must not set this"), "{section}");
    }
    assert_eq!(problems(&merge([project(&json!({"quality": null, "prompts": null}))])), [""; 0]);
}

/// What is written, and what is said about it.
const MISTAKES: &[(&str, &str)] = &[
    (r#"{"executer": {}}"#, "c.yaml:1:1: executer: unknown key; did you mean executor?"),
    (
        r#"{"executor": {"bakend": "x"}}"#,
        "c.yaml:2:1: executor.bakend: unknown key; did you mean executor.backend?",
    ),
    (r#"{"backend": "codex"}"#, "backend: unknown key; did you mean executor.backend?"),
    (
        r#"{"executor": {"env": {"passs": []}}}"#,
        "executor.env.passs: unknown key; did you mean executor.env.pass?",
    ),
    (r#"{"executor": {"env": {"zzzzzz": []}}}"#, "unknown key; known here: pass, deny"),
    (
        r#"{"adapters": {"github": {"tokn": ""}}}"#,
        "adapters.github.tokn: unknown key; did you mean adapters.github.token?",
    ),
    (r#"{"adapters": {"githb": null}}"#, "adapters.githb: unknown key; did you mean adapters.github?"),
    (r#"{"projects": [{"nam": "x"}]}"#, "projects.[].nam: unknown key; did you mean projects.[].name?"),
    (r#"{"adapters": {"github": {"api_url": "ftp://x"}}}"#, "no address of an API"),
    (r#"{"adapters": {"github": {"repo": "acme"}}}"#, "\"acme\" is no repository; write owner/name"),
    (r#"{"adapters": {"github": {"repo": "https://github.com/a/b"}}}"#, "is no repository"),
    (
        r#"{"adapters": {"github": {"repo": "a/b"}}, "projects": [{"name": "x", "path": "/x"}, {"github": {"owner": "A", "repo": "b"}, "name": "y", "path": "/y"}, {"github": {"owner": "a", "repo": "c"}, "name": "z", "path": "/z"}]}"#,
        "projects: \"x\" and \"y\" are both a/b; say which is which with github: {owner, repo}",
    ),
    (r#"{"adapters": {"github": {"token": "s3 cret"}}}"#, "adapters.github.token: a token is one word"),
    (r#"{"adapters": {"github": {"app": {"id": "1"}}}}"#, "needs id, installation_id and private_key"),
    (
        r#"{"adapters": {"github": {"app": {"id": "1", "installation_id": 2, "private_key": "k"}, "token": "t"}}}"#,
        "with a token there is no need for an App",
    ),
    (
        r#"{"adapters": {"github": {"polling": {"interval": "0s"}}}}"#,
        "adapters.github.polling.interval: 0s is out of range; it must be between 100ms and 7d",
    ),
    (r#"{"adapters": {"github": {"polling": {"label": " "}}}}"#, "no name of a label"),
    (r#"{"adapters": {"github": {"allowed_users": ["a b"]}}}"#, "an account is one word"),
    (
        r#"{"orchestrator": {"execution_mode": "sequentail"}}"#,
        "did you mean sequential? The choice is sequential, parallel, auto",
    ),
    (r#"{"orchestrator": {"max_concurrent": 0}}"#, "0 is out of range; write at least 1"),
    (r#"{"orchestrator": {"max_concurrent": 257}}"#, "257 is out of range; write at most 256"),
    (r#"{"orchestrator": {"autopilot": {"settle": "99ms"}}}"#, "between 100ms and 7d"),
    (r#"{"orchestrator": {"autopilot": {"max_failures": 0}}}"#, "write at least 1"),
    (r#"{"orchestrator": {"autopilot": {"max_merges_per_hour": 0}}}"#, "write at least 1"),
    (r#"{"orchestrator": {"autopilot": {"max_ci_fix_iterations": 11}}}"#, "write at most 10"),
    (
        r#"{"orchestrator": {"autopilot": {"ci_poll_interval": "20m"}}}"#,
        "CI has 30m in all, and a verdict takes two polls",
    ),
    (
        r#"{"orchestrator": {"autopilot": {"ci": "none", "required_checks": ["x"]}}}"#,
        "none says that there is no CI, but required_checks names some",
    ),
    (
        r#"{"orchestrator": {"autopilot": {"ci_checks": {"exclude": ["x"]}, "required_checks": ["x"]}}}"#,
        "\"x\" is also among ci_checks.exclude; keep one",
    ),
    (r#"{"orchestrator": {"autopilot": {"required_checks": [""]}}}"#, "a check has a name"),
    (
        r#"{"orchestrator": {"autopilot": {"release": {"tag_prefix": "v 1"}}}}"#,
        "\"v 1\" cannot be the prefix of a tag",
    ),
    (r#"{"logging": {"level": "loud"}}"#, "the choice is error, warn, info, debug"),
    (r#"{"logging": {"output": "stdout"}}"#, "standard output is for data; write stderr"),
    (r#"{"logging": {"output": "pilot.log"}}"#, "write a whole path, which begins with / or ~/"),
    (r#"{"logging": {"rotation": {"max_size": "1KiB"}}}"#, "1KiB is too little; write at least 64KiB"),
    (r#"{"executor": "codex"}"#, "executor: expected a section of keys, found a single value"),
    (r#"[1]"#, "c.yaml:1:1: expected a section of keys, found a list"),
    (r#"{"executor": {"extra_args": "--x"}}"#, "expected a list, such as [a, b], found a single value"),
    (r#"{"executor": {"extra_args": [["x"]]}}"#, "expected a text as item of the list, found a list"),
    (r#"{"executor": {"model": ["x"]}}"#, "expected a text, found a list"),
    (r#"{"executor": {"max_turns": "many"}}"#, "\"many\": write a whole number up to 4294967295"),
    (r#"{"executor": {"max_turns": -1}}"#, "\"-1\": write a whole number"),
    (r#"{"executor": {"max_turns": 1.5}}"#, "\"1.5\": write a whole number"),
    (r#"{"executor": {"trust_repo_settings": "yes"}}"#, "\"yes\": write true or false"),
    (
        r#"{"executor": {"timeout": "10 minutes"}}"#,
        "executor.timeout: \"10 minutes\": 10 has no unit; write for example 10s or 10m (accepted: 30s, 10m, 1h30m)",
    ),
    (r#"{"executor": {"timeout": 600}}"#, "600 has no unit"),
    (r#"{"executor": {"timeout": "0"}}"#, "0s is out of range; it must be between 1s and 7d"),
    (r#"{"executor": {"grace": "8d"}}"#, "8d is out of range; it must be between 0s and 7d"),
    (r#"{"executor": {"backend": "clod"}}"#, "the choice is claude-code, codex"),
    (r#"{"executor": {"backend": "qwen"}}"#, "\"qwen\": the choice is"),
    (r#"{"executor": {"backend": "command"}}"#, "needs a program: set executor.command.argv"),
    (r#"{"executor": {"model": "--x"}}"#, "no name of a model"),
    (r#"{"executor": {"limits": {"memory": "1"}}}"#, "1 has no unit; write for example 1MiB"),
    (r#"{"executor": {"limits": {"memory": "1MiB"}}}"#, "1MiB is too little; write at least 64MiB"),
    (r#"{"executor": {"limits": {"processes": 2}}}"#, "write at least 8"),
    (r#"{"executor": {"env": {"pass": ["*"]}}}"#, "\"*\" names no variable; write NAME or PREFIX*"),
    (r#"{"executor": {"env": {"deny": ["A B"]}}}"#, "\"A B\" names no variable"),
    (
        r#"{"executor": {"stagnation": {"warn_after_identical": 9}}}"#,
        "c.yaml:3:1: executor.stagnation.warn_after_identical: warn_after_identical (9) must not be above",
    ),
    (
        r#"{"executor": {"stagnation": {"on_warn": ["shout"]}}}"#,
        "\"shout\": the choice is alert, pause, abort",
    ),
    (
        r#"{"executor": {"retry": {"timeout": {"timeout_multiplier": 0.5}}}}"#,
        "\"0.5\": write a number from 1 to 100, such as 1.5",
    ),
    (r#"{"executor": {"retry": {"max_elapsed": "8d"}}}"#, "8d is out of range"),
    (r#"{"executor": {"fallback": "claude-code"}}"#, "that is the agent that runs anyway"),
    (r#"{"executor": {"fallback": "command"}}"#, "executor.fallback: the backend command needs a program"),
    (r#"{"budget": {"daily_limit": "$5"}}"#, "\"$5\": write an amount of dollars up to 1000000000"),
    (r#"{"budget": {"daily_limit": 0}}"#, "budget.daily_limit: 0 lets nothing run"),
    (r#"{"budget": {"per_task": {"max_tokens": 10}}}"#, "write at least 1000"),
    (r#"{"budget": {"thresholds": {"warn_percent": 0}}}"#, "write 1 to 100"),
    (r#"{"budget": {"on_exceed": {"daily": "halt"}}}"#, "\"halt\": the choice is warn, pause, stop"),
    (r#"{"budget": {"prices": ["sonnet"]}}"#, "as in \"sonnet 3/15\""),
    (r#"{"memory": {"path": "../x"}}"#, "does not stay below Pilot's own directory"),
    (r#"{"pipeline": {"update_roots": ["../x"]}}"#, "\"../x\" is no root: the path goes up with .."),
    (r#"{"quality": {"gate": []}}"#, "quality.gate: unknown key; did you mean quality.gates?"),
    (r#"{"quality": {"on_failure": {"max_retries": 11}}}"#, "11 is out of range; write at most 10"),
    (
        r#"{"quality": {"on_failure": {"action": "retri"}}}"#,
        "did you mean retry? The choice is retry, fail, warn",
    ),
    (r#"{"quality": {"gates": "make test"}}"#, "quality.gates: expected a list of gates"),
    (
        r#"{"quality": {"gates": ["make test"]}}"#,
        "quality.gates.[]: expected a gate: a section of keys, found a single value",
    ),
    (r#"{"quality": {"gates": [{"name": "a"}]}}"#, "quality.gates.[]: a gate needs a name and a command"),
];

#[test]
fn mistakes_are_told_with_the_nearest_name() {
    for (written, words) in MISTAKES {
        let json: Json = serde_json::from_str(written).unwrap();
        let merged = merge([file(&json)]);
        let words_got = problems(&merged).join("\n");
        assert!(words_got.contains(words), "{json}: {words_got}");
        assert_eq!(merged.problems.len(), 1, "{json}: {words_got}");
    }
}

#[test]
fn a_wrong_gate_is_told_by_its_own_line() {
    let gate = |more: Json| {
        let mut gate = json!({"command": "make x", "name": "x"});
        gate.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"quality": {"gates": [{"command": "true", "name": "fine"}, gate]}})
    };
    // The keys of a gate come in the order of their names: the fine one takes lines 3 and 4, `command` line 5.
    for (more, words) in [
        (
            json!({"comand": "x"}),
            "c.yaml:5:1: quality.gates.[].comand: unknown key; did you mean quality.gates.[].command?",
        ),
        (
            json!({"zzzz": 1}),
            "c.yaml:7:1: quality.gates.[].zzzz: unknown key; known here: name, type, command",
        ),
        (
            json!({"timeout": "soon"}),
            "c.yaml:7:1: quality.gates.[].timeout: \"soon\": a duration starts with",
        ),
        (
            json!({"timeout": "0"}),
            "c.yaml:7:1: quality.gates.[].timeout: \"0\": it must be between 1s and 1d",
        ),
        (json!({"retry_delay": "2h"}), "quality.gates.[].retry_delay: \"2h\": it must be between 0s and 1h"),
        (json!({"max_retries": 11}), "quality.gates.[].max_retries: \"11\": write at most 10"),
        (json!({"type": "tets"}), "quality.gates.[].type: \"tets\": did you mean test?"),
        (
            json!({"on_failure": "stop"}),
            "quality.gates.[].on_failure: \"stop\": the choice is retry, fail, warn",
        ),
        (json!({"required": "yes"}), "quality.gates.[].required: \"yes\": write true or false"),
        (json!({"threshold": 80}), "only a gate of the type coverage has a threshold"),
        (json!({"type": "coverage"}), "a gate of the type coverage needs a threshold, for example 80"),
        (json!({"type": "coverage", "threshold": 101}), "\"101\": write a number from 0 to 100"),
        (json!({"type": "coverage", "threshold": "most"}), "\"most\": write a number from 0 to 100"),
        (
            json!({"required": false, "on_failure": "retry"}),
            "quality.gates.[].on_failure: a gate that is not required only warns",
        ),
        (json!({"command": " "}), "quality.gates.[].command: \" \": write a command"),
        (json!({"command": ["a"]}), "quality.gates.[].command: expected a text, found a list"),
        (json!({"name": "a\nb"}), "write a short name on one line, at most 64 characters"),
        (json!({"name": "fine"}), "\"fine\" is also the name of the gate in line 2"),
        (json!({"group": ""}), "quality.gates.[].group: \"\": write a short name"),
    ] {
        let merged = merge([file(&gate(more.clone()))]);
        let told = problems(&merged).join("\n");
        assert!(told.contains(words), "{more}: {told}");
        assert_eq!(merged.problems.len(), 1, "{more}: {told}");
    }
    let many: Vec<Json> = (0..51).map(|n| json!({"name": format!("g{n}"), "command": "true"})).collect();
    let told = problems(&merge([file(&json!({"quality": {"gates": many}}))])).join("");
    assert!(told.ends_with("quality.gates: more than 50 gates"), "{told}");
}

#[test]
fn a_gate_needs_a_name_and_a_command_and_has_defaults_for_the_rest() {
    let gates = json!({"quality": {"gates": [
        {"name": "test", "command": "make test"},
        {"name": "e2e", "command": "make e2e", "required": false, "timeout": null},
    ]}});
    let merged = merge([file(&gates)]);
    assert_eq!(problems(&merged), [""; 0]);
    let gates = &merged.config.quality.gates;
    assert_eq!(gates[0], Gate::new("test", GateKind::Test, "make test"));
    assert_eq!(gates[0].timeout, Duration::from_secs(600));
    assert!(!gates[1].required && gates[1].kind == GateKind::Custom);
    let key = key("quality.gates").unwrap();
    let secret = json!({"quality": {"gates": [{"name": "x", "command": "deploy --token s3cret"}]}});
    assert_eq!(
        merge([file(&secret)]).shown(key),
        json!([{"name": "x", "command": "deploy --token ********"}])
    );
}

#[test]
fn a_wrong_project_is_told_by_its_own_line() {
    let github = |more: Json| json!({"github": more});
    // The keys of a project come in the order of their names: the fine one takes lines 2 to 6, the next begins there.
    for (more, words) in [
        (json!({"nam": "x"}), "c.yaml:7:1: projects.[].nam: unknown key; did you mean projects.[].name?"),
        (
            json!({"zzzz": 1}),
            "c.yaml:9:1: projects.[].zzzz: unknown key; known here: name, path, default_branch, github",
        ),
        (
            github(json!({"ownr": "x"})),
            "projects.[].github.ownr: unknown key; did you mean projects.[].github.owner?",
        ),
        (
            github(json!({"owner": "x"})),
            "projects.[].github: a repository has an owner and a repo; write both",
        ),
        (
            github(json!({"owner": "x", "repo": "a/b"})),
            "projects.[].github.repo: \"a/b\": write the owner and the repo apart",
        ),
        (github(json!("acme/app")), "projects.[].github: expected a section of keys, found a single value"),
        (
            github(json!({"owner": "Acme", "repo": "App"})),
            "\"acme/app\" is also that of the project in line 1",
        ),
        (json!({"name": ""}), "c.yaml:7:1: projects.[].name: \"\": write a short name on one line"),
        (json!({"name": null}), "c.yaml:6:1: projects.[]: a project needs a name and a path"),
        (json!({"name": "Fine"}), "projects.[].name: \"fine\" is also that of the project in line 1"),
        (json!({"path": "/fine/"}), "projects.[].path: \"/fine\" is also that of the project in line 1"),
        (
            json!({"path": "src/app"}),
            "c.yaml:8:1: projects.[].path: \"src/app\": write a whole path, which begins with / or ~/",
        ),
        (json!({"path": ["/x"]}), "projects.[].path: expected a text, found a list"),
        (
            json!({"default_branch": "a..b"}),
            "projects.[].default_branch: \"a..b\": that is no name of a branch",
        ),
    ] {
        let fine = json!({"github": {"owner": "acme", "repo": "app"}, "name": "fine", "path": "/fine"});
        let mut project = json!({"name": "x", "path": "~/x"});
        project.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let merged = merge([file(&json!({"projects": [fine, project]}))]);
        let told = problems(&merged).join("\n");
        assert!(told.contains(words), "{more}: {told}");
        assert_eq!(merged.problems.len(), 1, "{more}: {told}");
    }
    for (list, words) in [
        (json!("app"), "projects: expected a list of projects, each with a name and a path"),
        (json!(["app"]), "projects.[]: expected a project: a section of keys, found a single value"),
    ] {
        let told = problems(&merge([file(&json!({"projects": list}))])).join("");
        assert!(told.contains(words), "{told}");
    }
}

#[test]
fn a_project_needs_a_name_and_a_path_and_may_say_what_is_not_built_yet() {
    let project =
        json!({"name": "x", "path": "~/x", "navigator": true, "reviewers": ["ada"], "github": null});
    let merged = merge([file(&json!({"projects": [project]}))]);
    assert_eq!(problems(&merged), [""; 0]);
    let notices: Vec<String> = merged.notices.iter().map(ToString::to_string).collect();
    assert_eq!(
        notices,
        [
            "c.yaml:4:1: projects.[].navigator: not built yet, has no effect",
            "c.yaml:6:1: projects.[].reviewers: not built yet, has no effect"
        ]
    );
    let project = &merged.config.projects[0];
    assert_eq!((&*project.name, &*project.path, &project.services), ("x", "~/x", &NamedServices::default()));
}

#[test]
fn what_is_not_built_is_a_notice_until_it_is_turned_on() {
    let check = |json: Json, fault: Option<&str>| {
        let merged = merge([file(&json)]);
        match fault {
            None => assert_eq!(problems(&merged), [""; 0], "{json}"),
            Some(key) => {
                let expect = format!("{key}: not built yet, so it cannot be turned on; take it out");
                assert!(problems(&merged).join("").ends_with(&expect), "{json}: {:?}", problems(&merged));
            }
        }
        assert!(merged.notices[0].to_string().ends_with("not built yet, has no effect"), "{json}");
        assert_eq!(merged.config, Config::default(), "{json}");
    };
    check(json!({"gateway": {"host": "127.0.0.1", "port": 9090}}), None);
    check(json!({"gateway": {"enabled": true}}), Some("gateway.enabled"));
    check(json!({"gateway": {"enabled": false}}), None);
    check(json!({"adapters": {"discord": {"bot_token": ""}}}), None);
    check(json!({"adapters": {"discord": {"bot_token": "x"}}}), Some("adapters.discord.bot_token"));
    check(json!({"adapters": {"github": {"webhook_secret": "x"}}}), Some("adapters.github.webhook_secret"));
    check(json!({"adapters": {"github": {"polling": {"enabled": true}}}}), None);
    check(json!({"orchestrator": {"autopilot": {"approval_timeout": "1h"}}}), None);
    check(
        json!({"orchestrator": {"autopilot": {"review_feedback": {"enabled": true}}}}),
        Some("orchestrator.autopilot.review_feedback.enabled"),
    );
    check(json!({"logging": {"rotation": {"max_age": "7d"}}}), None);
    check(json!({"memory": {"cross_project": true}}), None);
    check(json!({"executor": {"retry": {"decompose_on_kill": false}}}), None);
    check(json!({"quality": {"on_failure": {"notify_on": ["failed"]}}}), None);
    check(json!({"prompts": {}}), None);
    check(json!({"prompts": {"executor": "x"}}), Some("prompts"));
}

#[test]
fn other_spellings_are_read_with_a_notice() {
    for (json, path, value) in [
        (json!({"executor": {"type": "codex"}}), "executor.backend", json!("codex")),
        (json!({"executor": {"backend": {"type": "codex"}}}), "executor.backend", json!("codex")),
        (json!({"executor": {"timeout": {"default": "5m"}}}), "executor.timeout", json!("5m")),
        (json!({"executor": {"heartbeat_timeout": "5m"}}), "executor.silence_timeout", json!("5m")),
        (
            json!({"executor": {"timeout": {"trivial": "2m"}}}),
            "executor.timeout_routing.trivial",
            json!("2m"),
        ),
        (
            json!({"executor": {"effort_classifier": {"enabled": true}}}),
            "executor.classifier.enabled",
            json!(true),
        ),
        (json!({"executor": {"claude_code": {"extra_args": ["x"]}}}), "executor.extra_args", json!(["x"])),
        (
            json!({"orchestrator": {"execution": {"mode": "auto"}}}),
            "orchestrator.execution_mode",
            json!("auto"),
        ),
        (
            json!({"orchestrator": {"execution": {"poll_interval": "9s"}}}),
            "adapters.github.polling.interval",
            json!("9s"),
        ),
        (
            json!({"adapters": {"github": {"pilot_label": "go"}}}),
            "adapters.github.polling.label",
            json!("go"),
        ),
        (
            json!({"orchestrator": {"autopilot": {"ci_checks": {"required": ["x"]}}}}),
            "orchestrator.autopilot.required_checks",
            json!(["x"]),
        ),
        (
            json!({"orchestrator": {"autopilot": {"ci_checks": {"discovery_grace_period": "9s"}}}}),
            "orchestrator.autopilot.ci_discovery_grace",
            json!("9s"),
        ),
    ] {
        let merged = merge([file(&json)]);
        assert_eq!(problems(&merged), [""; 0], "{json}");
        assert_eq!(key(path).unwrap().value(&merged.config), value, "{json}");
        let notice = merged.notices.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        assert!(notice.contains(&format!("read as {path}; please write that")), "{json}: {notice}");
    }
    let both = merge([file(&json!({"executor": {"backend": "codex", "type": "codex"}}))]);
    assert!(problems(&both).join("").contains("the same key is also set as executor.backend; keep one"));
}

#[test]
fn everything_wrong_is_told_at_once_and_no_more_than_a_screenful() {
    let some = merge([
        file(&json!({"executor": {"bakend": 1, "timeout": "x", "grace": "9d"}, "memori": null})),
        variables([("PILOT_EXECUTOR_MAX_TURNS", "x")]),
    ]);
    assert_eq!(some.problems.len(), 5, "{:?}", problems(&some));
    let many: Json =
        (0..500).map(|i| (format!("key{i}"), json!(1))).collect::<serde_json::Map<_, _>>().into();
    let merged = merge([file(&many)]);
    assert_eq!(merged.problems.len(), 51);
    assert!(problems(&merged)[50].ends_with("and 450 more"), "{:?}", problems(&merged)[50]);
}

#[test]
fn variables_of_others_are_left_alone_and_typing_errors_are_not() {
    let fine = [
        ("PILOT_HOME", "/x"),
        ("PILOT_EXECUTOR", "1"),
        ("PILOT_TASK_ID", "t"),
        ("PILOT_LICENSE", "y"),
        ("PATH", "/bin"),
        ("PILOT_EXECUTOR_MODEL", ""),
    ];
    assert_eq!(problems(&merge([variables(fine)])), [""; 0]);
    let merged = merge([variables([("PILOT_EXECUTOR_BAKEND", "codex")])]);
    assert_eq!(
        problems(&merged),
        ["PILOT_EXECUTOR_BAKEND: unknown key; did you mean PILOT_EXECUTOR_BACKEND?"]
    );
}

#[test]
fn secrets_are_not_shown() {
    let layer = file(&json!({"executor": {"extra_args": ["--api-key", "xyz", "--token=abc", "--fast"]}}));
    assert!(layer.holds_secret);
    let merged = merge([layer]);
    let key = key("executor.extra_args").unwrap();
    assert_eq!(merged.shown(key), json!(["--api-key", "********", "--token=********", "--fast"]));
    assert_eq!(merged.config.executor.extra_args[1], "xyz");
}

#[test]
fn a_token_is_never_shown_and_an_empty_one_is_none() {
    let key = key("adapters.github.token").unwrap();
    let token = |token: &str| file(&json!({"adapters": {"github": {"token": token}}}));
    assert!(token("t0ken").holds_secret);
    let merged = merge([token(" t0ken\n")]);
    assert_eq!(
        (merged.shown(key), merged.config.adapters.github.token.as_deref()),
        (json!("********"), Some("t0ken"))
    );
    let merged = merge([token("t0ken"), token("")]);
    assert_eq!((merged.shown(key), merged.config.adapters.github.token), (json!(null), None));
    let told = problems(&merge([token("t0 ken")])).join("");
    assert!(!told.contains("t0"), "{told}");
}

#[test]
fn every_secret_is_masked_where_it_is_shown_stored_or_complained_about() {
    let secrets: Vec<&ConfigKey> = KEYS.iter().filter(|key| key.is_secret()).collect();
    assert!(!secrets.is_empty());
    for key in secrets {
        let layer = file(&nested(key.path, json!("v3ry-pr1vate")));
        assert!(layer.holds_secret, "{}", key.path);
        let merged = merge([layer]);
        assert_eq!(merged.shown(key), json!("********"), "{}", key.path);
        let debug = format!("{:?}", merged.config);
        assert!(!debug.contains("v3ry"), "{}: {debug}", key.path);
        let stored = Secrets::new(merged.config.secrets()).redact("the agent printed v3ry-pr1vate");
        assert!(!stored.contains("v3ry"), "{}: {stored}", key.path);
        let too_long = "v3ry".repeat(10_000);
        for bad in [json!("v3ry pr1vate"), json!(["v3ry"]), json!({"a": "v3ry"}), json!(too_long)] {
            let told =
                problems(&merge([file(&nested(key.path, bad)), project(&nested(key.path, json!("v3ry")))]));
            assert!(!told.is_empty() && !told.concat().contains("v3ry"), "{}: {told:?}", key.path);
        }
    }
}
