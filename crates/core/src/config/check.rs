//! Values that can be read and still make no sense.

use std::time::Duration;

use super::problem::Fault;
use super::{Backend, CiMode, Config, adapters, size};
use crate::budget::Usd;
use crate::duration;
use crate::id::Branch;
use crate::pipeline::relative;

/// No wait of Pilot's is longer.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Nothing is polled more often.
pub(super) const SHORTEST_TICK: Duration = Duration::from_millis(100);

/// More tasks at once than this are a mistake.
const MOST_AT_ONCE: u32 = 256;

/// More log files than this are a mistake.
const MOST_BACKUPS: u32 = 1_000;

/// More rounds of feedback than this are a mistake, and each costs money.
const MOST_ROUNDS: u32 = 10;

/// What makes no sense, with the key to change.
#[derive(Default)]
pub(super) struct Faults(pub(super) Vec<(String, Fault)>);

impl Faults {
    pub(super) fn add(&mut self, path: &str, why: impl Into<String>) {
        self.0.push((path.to_owned(), Fault::Nonsense(why.into())));
    }

    pub(super) fn check_time(&mut self, path: &str, value: Duration, least: Duration) {
        if value < least || value > LONGEST_WAIT {
            let [value, least, most] = [value, least, LONGEST_WAIT].map(duration::text);
            self.add(path, format!("{value} is out of range; it must be between {least} and {most}"));
        }
    }
}

pub(super) fn check(config: &Config) -> Faults {
    let mut faults = Faults::default();
    check_times(config, &mut faults);
    check_amounts(config, &mut faults);
    check_texts(config, &mut faults);
    check_money(config, &mut faults);
    adapters::check(config, &mut faults);
    check_autopilot(config, &mut faults);
    if let Err((key, why)) = config.executor.stagnation.check() {
        faults.add(&format!("executor.stagnation.{key}"), why);
    }
    faults
}

fn check_times(config: &Config, faults: &mut Faults) {
    let executor = &config.executor;
    let orchestrator = &config.orchestrator;
    let autopilot = &orchestrator.autopilot;
    let second = Duration::from_secs(1);
    let tick = SHORTEST_TICK;
    let zero = Duration::ZERO;
    let routed = &executor.timeout_routing;
    for (path, value, least) in [
        ("executor.timeout", executor.timeout.unwrap_or(second), second),
        ("executor.timeout_routing.trivial", routed.trivial, second),
        ("executor.timeout_routing.simple", routed.simple, second),
        ("executor.timeout_routing.medium", routed.medium, second),
        ("executor.timeout_routing.complex", routed.complex, second),
        ("executor.classifier.timeout", executor.classifier.timeout, second),
        ("executor.review.timeout", executor.review.timeout, second),
        ("executor.silence_timeout", executor.silence_timeout, second),
        ("executor.grace", executor.grace, zero),
        ("executor.exit_grace", executor.exit_grace, zero),
        ("executor.finalise_timeout", executor.finalise_timeout, second),
        ("executor.pause_timeout", executor.pause_timeout, zero),
        ("budget.per_task.max_duration", config.budget.per_task.max_duration, second),
        ("executor.retry.max_elapsed", executor.retry.max_elapsed, zero),
        ("executor.retry.rate_limit.initial_backoff", executor.retry.rate_limit.initial_backoff, zero),
        ("executor.retry.api_error.initial_backoff", executor.retry.api_error.initial_backoff, zero),
        ("executor.retry.stalled.initial_backoff", executor.retry.stalled.initial_backoff, zero),
        ("executor.retry.oom_killed.initial_backoff", executor.retry.oom_killed.initial_backoff, zero),
        ("orchestrator.execution.pr_timeout", orchestrator.execution.pr_timeout.unwrap_or(second), tick),
        ("orchestrator.autopilot.ci_poll_interval", autopilot.ci_poll_interval, tick),
        ("orchestrator.autopilot.ci_wait_timeout", autopilot.ci_wait_timeout.unwrap_or(second), tick),
        ("orchestrator.autopilot.ci_discovery_grace", autopilot.ci_discovery_grace, zero),
        ("orchestrator.autopilot.failure_reset_timeout", autopilot.failure_reset_timeout, tick),
        ("orchestrator.autopilot.settle", autopilot.settle, tick),
    ] {
        faults.check_time(path, value, least);
    }
}

fn check_amounts(config: &Config, faults: &mut Faults) {
    let executor = &config.executor;
    if executor.max_turns == Some(0) {
        faults.add("executor.max_turns", "0 turns are none; write at least 1");
    }
    for (path, value, least) in [
        ("executor.limits.memory", executor.limits.memory, 64 << 20),
        ("executor.limits.file_size", executor.limits.file_size, 1 << 20),
        ("executor.limits.output", Some(executor.limits.output), 64 << 10),
        ("logging.rotation.max_size", Some(config.logging.rotation.max_size), 64 << 10),
    ] {
        if let Some(value) = value.filter(|value| *value < least) {
            let why = format!("{} is too little; write at least {}", size::text(value), size::text(least));
            faults.add(path, why);
        }
    }
    let autopilot = &config.orchestrator.autopilot;
    for (path, value, least, most) in [
        ("quality.on_failure.max_retries", config.quality.on_failure.max_retries, 0, MOST_ROUNDS),
        ("orchestrator.max_concurrent", config.orchestrator.max_concurrent, 1, MOST_AT_ONCE),
        ("orchestrator.autopilot.max_ci_fix_iterations", autopilot.max_ci_fix_iterations, 0, MOST_ROUNDS),
        ("orchestrator.autopilot.max_failures", autopilot.max_failures, 1, u32::MAX),
        ("orchestrator.autopilot.max_merges_per_hour", autopilot.max_merges_per_hour, 1, u32::MAX),
        ("logging.rotation.max_backups", config.logging.rotation.max_backups, 0, MOST_BACKUPS),
    ] {
        if value < least {
            faults.add(path, format!("{value} is out of range; write at least {least}"));
        } else if value > most {
            faults.add(path, format!("{value} is out of range; write at most {most}"));
        }
    }
    if let Some(count) = executor.limits.processes.filter(|count| *count < 8) {
        faults
            .add("executor.limits.processes", format!("{count} is too few for any agent; write at least 8"));
    }
}

fn check_texts(config: &Config, faults: &mut Faults) {
    let executor = &config.executor;
    if executor.backend == Backend::Command && executor.command.argv.first().is_none_or(String::is_empty) {
        let why =
            "the backend command needs a program: set executor.command.argv, for example [my-agent, --quiet]";
        faults.add("executor.backend", why);
    }
    let named =
        [("executor.fallback", executor.fallback), ("executor.review.backend", executor.review.backend)];
    for (path, backend) in named {
        if backend == Some(Backend::Command) && executor.command.argv.is_empty() {
            faults.add(path, "the backend command needs a program: set executor.command.argv");
        }
    }
    if executor.fallback == Some(executor.backend) {
        faults.add("executor.fallback", "that is the agent that runs anyway; name another one");
    }
    let routed = &executor.model_routing.models;
    for (path, model) in [
        ("executor.model", &executor.model),
        ("executor.model_routing.trivial", &routed.trivial),
        ("executor.model_routing.simple", &routed.simple),
        ("executor.model_routing.medium", &routed.medium),
        ("executor.model_routing.complex", &routed.complex),
        ("executor.classifier.model", &executor.classifier.model),
        ("executor.review.model", &executor.review.model),
    ] {
        if model.as_deref().is_some_and(|model| !is_model(model)) {
            faults.add(path, "this is no name of a model; write it without spaces and leading dash");
        }
    }
    if executor.allowed_tools.iter().any(|tool| tool.is_empty() || tool.starts_with('-')) {
        faults.add("executor.allowed_tools", "a tool's name is not empty and starts with no dash");
    }
    for (path, names) in
        [("executor.env.pass", &executor.env.pass), ("executor.env.deny", &executor.env.deny)]
    {
        if let Some(name) = names.iter().find(|name| !is_variable(name)) {
            let shown: String = name.chars().take(80).collect();
            faults.add(path, format!("{shown:?} names no variable; write NAME or PREFIX*"));
        }
    }
    for root in config.pipeline.update_roots.iter().filter(|root| *root != ".") {
        if let Err(fault) = relative(root.trim_end_matches('/')) {
            let shown: String = root.chars().take(80).collect();
            faults.add("pipeline.update_roots", format!("{shown:?} is no root: {fault}"));
        }
    }
    let path = &config.memory.path;
    if path.is_empty() || path.split('/').any(|part| part == "..") {
        faults.add(
            "memory.path",
            format!("{path:?} does not stay below Pilot's own directory; write for example data"),
        );
    }
}

/// Whether a text can be the name of a model. It becomes an argument, and must not be taken for a flag.
pub(crate) fn is_model(text: &str) -> bool {
    let is_odd = text.is_empty() || text.starts_with('-') || text.len() > 200;
    !is_odd && !text.chars().any(|c| c.is_whitespace() || c.is_control())
}

fn check_money(config: &Config, faults: &mut Faults) {
    let budget = &config.budget;
    for (path, amount) in [
        ("budget.daily_limit", Some(budget.daily_limit)),
        ("budget.monthly_limit", Some(budget.monthly_limit)),
        ("budget.per_task.max_cost", budget.per_task.max_cost),
    ] {
        if amount == Some(Usd::ZERO) {
            let why = "0 lets nothing run; raise it, or set budget.enabled: false for no limit at all";
            faults.add(path, why);
        }
    }
    if budget.per_task.max_tokens < 1_000 {
        let why = format!("{} are too few for any task; write at least 1000", budget.per_task.max_tokens);
        faults.add("budget.per_task.max_tokens", why);
    }
    if !(1..=100).contains(&budget.warn_percent) {
        let why = format!("{} is no part of a limit; write 1 to 100", budget.warn_percent);
        faults.add("budget.thresholds.warn_percent", why);
    }
}

fn check_autopilot(config: &Config, faults: &mut Faults) {
    let autopilot = &config.orchestrator.autopilot;
    let (required, exclude) = (&autopilot.required_checks, &autopilot.ci_checks.exclude);
    for (path, names) in [
        ("orchestrator.autopilot.required_checks", required),
        ("orchestrator.autopilot.ci_checks.exclude", exclude),
    ] {
        if names.iter().any(|name| name.trim().is_empty()) {
            faults.add(path, "a check has a name; take the empty one out");
        }
    }
    if let Some(name) = required.iter().find(|name| exclude.contains(name)) {
        let shown: String = name.chars().take(80).collect();
        let why = format!("{shown:?} is also among ci_checks.exclude; keep one");
        faults.add("orchestrator.autopilot.required_checks", why);
    }
    match autopilot.ci {
        CiMode::None if !required.is_empty() => {
            let why = "none says that there is no CI, but required_checks names some; keep one";
            faults.add("orchestrator.autopilot.ci", why);
        }
        CiMode::None => {}
        CiMode::Checks if autopilot.ci_timeout() < 2 * autopilot.ci_poll_interval => {
            let why = format!(
                "CI has {} in all, and a verdict takes two polls; write at most half of that",
                duration::text(autopilot.ci_timeout())
            );
            faults.add("orchestrator.autopilot.ci_poll_interval", why);
        }
        CiMode::Checks => {}
    }
    let prefix = &autopilot.release.tag_prefix;
    if Branch::parse(&format!("{prefix}1.2.3")).is_err() {
        let shown: String = prefix.chars().take(80).collect();
        let why = format!("{shown:?} cannot be the prefix of a tag; write for example v");
        faults.add("orchestrator.autopilot.release.tag_prefix", why);
    }
}

/// `NAME`, or `PREFIX*` with a prefix: everything at once is never meant.
fn is_variable(name: &str) -> bool {
    let stem = name.strip_suffix('*').unwrap_or(name);
    !stem.is_empty()
        && !stem.starts_with(|c: char| c.is_ascii_digit())
        && stem.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
