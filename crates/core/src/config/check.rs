//! Values that can be read and still make no sense.

use std::time::Duration;

use super::problem::Fault;
use super::{Backend, CiMode, Config, Project, size};
use crate::budget::Usd;
use crate::duration;
use crate::name::{Branch, ProjectId};
use crate::pipeline::relative;

/// No wait of Pilot's is longer.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Nothing is asked more often.
const SHORTEST_TICK: Duration = Duration::from_millis(100);

/// More tasks at once than this are nobody's intent.
const MOST_AT_ONCE: u32 = 256;

/// The longest name of a label that GitHub takes, in characters.
const LONGEST_LABEL: usize = 50;

/// More files of the log than this are nobody's either.
const MOST_BACKUPS: u32 = 1_000;

/// More rounds of feedback than this are nobody's intent, and each costs money.
const MOST_ROUNDS: u32 = 10;

/// What makes no sense, with the key to change.
pub(super) fn check(config: &Config) -> Vec<(String, Fault)> {
    let mut faults = Vec::new();
    let mut complain = |path: &str, why: String| faults.push((path.to_owned(), Fault::Nonsense(why)));
    times(config, &mut complain);
    amounts(config, &mut complain);
    texts(config, &mut complain);
    money(config, &mut complain);
    github(config, &mut complain);
    projects(config, &mut complain);
    autopilot(config, &mut complain);
    if let Err(error) = config.executor.stagnation.check() {
        complain(&format!("executor.stagnation.{}", error.key()), error.to_string());
    }
    faults
}

fn times(config: &Config, complain: &mut impl FnMut(&str, String)) {
    let executor = &config.executor;
    let (github, orchestrator) = (&config.adapters.github, &config.orchestrator);
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
        ("adapters.github.polling.interval", github.polling.interval, tick),
        ("orchestrator.execution.pr_timeout", orchestrator.execution.pr_timeout, tick),
        ("orchestrator.autopilot.ci_poll_interval", autopilot.ci_poll_interval, tick),
        ("orchestrator.autopilot.ci_wait_timeout", autopilot.ci_wait_timeout.unwrap_or(second), tick),
        ("orchestrator.autopilot.ci_discovery_grace", autopilot.ci_discovery_grace, zero),
        ("orchestrator.autopilot.failure_reset_timeout", autopilot.failure_reset_timeout, tick),
        ("orchestrator.autopilot.settle", autopilot.settle, tick),
    ] {
        if value < least || value > LONGEST_WAIT {
            complain(
                path,
                format!(
                    "{} is out of range; it must be between {} and {}",
                    duration::text(value),
                    duration::text(least),
                    duration::text(LONGEST_WAIT)
                ),
            );
        }
    }
}

fn amounts(config: &Config, complain: &mut impl FnMut(&str, String)) {
    let executor = &config.executor;
    if executor.max_turns == Some(0) {
        complain("executor.max_turns", "0 turns are none; write at least 1".to_owned());
    }
    for (path, value, least) in [
        ("executor.limits.memory", executor.limits.memory, 64 << 20),
        ("executor.limits.file_size", executor.limits.file_size, 1 << 20),
        ("executor.limits.output", Some(executor.limits.output), 64 << 10),
        ("logging.rotation.max_size", Some(config.logging.rotation.max_size), 64 << 10),
    ] {
        if let Some(value) = value.filter(|value| *value < least) {
            let why = format!("{} is too little; write at least {}", size::text(value), size::text(least));
            complain(path, why);
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
            complain(path, format!("{value} is out of range; write at least {least}"));
        } else if value > most {
            complain(path, format!("{value} is out of range; write at most {most}"));
        }
    }
    if let Some(count) = executor.limits.processes.filter(|count| *count < 8) {
        complain("executor.limits.processes", format!("{count} is too few for any agent; write at least 8"));
    }
}

fn texts(config: &Config, complain: &mut impl FnMut(&str, String)) {
    let executor = &config.executor;
    if executor.backend == Backend::Command && executor.command.argv.first().is_none_or(String::is_empty) {
        let why =
            "the backend command needs a program: set executor.command.argv, for example [my-agent, --quiet]";
        complain("executor.backend", why.to_owned());
    }
    let named =
        [("executor.fallback", executor.fallback), ("executor.review.backend", executor.review.backend)];
    for (path, backend) in named {
        if backend == Some(Backend::Command) && executor.command.argv.is_empty() {
            complain(path, "the backend command needs a program: set executor.command.argv".to_owned());
        }
    }
    if executor.fallback == Some(executor.backend) {
        complain("executor.fallback", "that is the agent that runs anyway; name another one".to_owned());
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
            complain(path, "no name of a model; write it without spaces and leading dash".to_owned());
        }
    }
    if executor.allowed_tools.iter().any(|tool| tool.is_empty() || tool.starts_with('-')) {
        complain("executor.allowed_tools", "a tool's name is not empty and starts with no dash".to_owned());
    }
    for (path, names) in
        [("executor.env.pass", &executor.env.pass), ("executor.env.deny", &executor.env.deny)]
    {
        if let Some(name) = names.iter().find(|name| !is_variable(name)) {
            let shown: String = name.chars().take(80).collect();
            complain(path, format!("{shown:?} names no variable; write NAME or PREFIX*"));
        }
    }
    for root in config.pipeline.update_roots.iter().filter(|root| *root != ".") {
        if let Err(fault) = relative(root.trim_end_matches('/')) {
            let shown: String = root.chars().take(80).collect();
            complain("pipeline.update_roots", format!("{shown:?} is no root: {fault}"));
        }
    }
    let path = &config.memory.path;
    if path.is_empty() || path.split('/').any(|part| part == "..") {
        complain(
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

fn money(config: &Config, complain: &mut impl FnMut(&str, String)) {
    let budget = &config.budget;
    for (path, amount) in [
        ("budget.daily_limit", Some(budget.daily_limit)),
        ("budget.monthly_limit", Some(budget.monthly_limit)),
        ("budget.per_task.max_cost", budget.per_task.max_cost),
    ] {
        if amount == Some(Usd::ZERO) {
            let why = "0 lets nothing run; raise it, or set budget.enabled: false for no limit at all";
            complain(path, why.to_owned());
        }
    }
    if budget.per_task.max_tokens < 1_000 {
        let why = format!("{} are too few for any task; write at least 1000", budget.per_task.max_tokens);
        complain("budget.per_task.max_tokens", why);
    }
    if !(1..=100).contains(&budget.warn_percent) {
        let why = format!("{} is no part of a limit; write 1 to 100", budget.warn_percent);
        complain("budget.thresholds.warn_percent", why);
    }
}

fn github(config: &Config, complain: &mut impl FnMut(&str, String)) {
    let github = &config.adapters.github;
    let has_host = ["https://", "http://"].iter().any(|scheme| {
        let rest = github.api_url.strip_prefix(scheme).unwrap_or_default();
        !rest.is_empty() && !rest.starts_with('/') && !rest.contains(char::is_whitespace)
    });
    if !has_host {
        let why = "no address of an API; write for example https://api.github.com";
        complain("adapters.github.api_url", why.to_owned());
    }
    if let Some(repo) = github.repo.as_deref().filter(|repo| !is_repository(repo)) {
        let shown: String = repo.chars().take(80).collect();
        complain("adapters.github.repo", format!("{shown:?} is no repository; write owner/name"));
    }
    // What it is must not be told.
    if github.token.as_deref().is_some_and(|token| token.contains(|c: char| !c.is_ascii_graphic())) {
        complain(
            "adapters.github.token",
            "a token is one word; this one holds spaces or line breaks".to_owned(),
        );
    }
    let app = &github.app;
    let parts = [app.id.is_some(), app.installation_id.is_some(), app.private_key.is_some()];
    if parts.contains(&true) && parts.contains(&false) {
        complain(
            "adapters.github.app.id",
            "an App needs id, installation_id and private_key; write all three".to_owned(),
        );
    } else if parts.contains(&true) && github.token.is_some() {
        complain(
            "adapters.github.app.id",
            "with a token there is no need for an App; keep one of them".to_owned(),
        );
    }
    let label = &github.polling.label;
    if label.trim().is_empty() || label.contains(char::is_control) || label.chars().count() > LONGEST_LABEL {
        complain("adapters.github.polling.label", "no name of a label; write for example pilot".to_owned());
    }
    if github.allowed_users.iter().any(|user| user.is_empty() || user.contains(char::is_whitespace)) {
        let why = "an account is one word without spaces, such as ada or dependabot[bot]";
        complain("adapters.github.allowed_users", why.to_owned());
    }
}

/// Two checkouts of one repository would do everything twice. Those that name it twice are told by their line already.
fn projects(config: &Config, complain: &mut impl FnMut(&str, String)) {
    let Some(repo) = &config.adapters.github.repo else { return };
    let is_it = |project: &&Project| project.github.as_ref().is_none_or(|own| own.eq_ignore_ascii_case(repo));
    let names: Vec<&str> =
        config.projects.iter().filter(is_it).map(|project| project.name.as_str()).collect();
    if let [one, other, ..] = names[..] {
        let why =
            format!("{one:?} and {other:?} are both {repo}; say which is which with github: {{owner, repo}}");
        complain("projects", why);
    }
}

fn is_repository(text: &str) -> bool {
    ProjectId::parse(&format!("github:{text}")).is_ok()
}

fn autopilot(config: &Config, complain: &mut impl FnMut(&str, String)) {
    let autopilot = &config.orchestrator.autopilot;
    let (required, exclude) = (&autopilot.required_checks, &autopilot.ci_checks.exclude);
    for (path, names) in [
        ("orchestrator.autopilot.required_checks", required),
        ("orchestrator.autopilot.ci_checks.exclude", exclude),
    ] {
        if names.iter().any(|name| name.trim().is_empty()) {
            complain(path, "a check has a name; take the empty one out".to_owned());
        }
    }
    if let Some(name) = required.iter().find(|name| exclude.contains(name)) {
        let shown: String = name.chars().take(80).collect();
        let why = format!("{shown:?} is also among ci_checks.exclude; keep one");
        complain("orchestrator.autopilot.required_checks", why);
    }
    match autopilot.ci {
        CiMode::None if !required.is_empty() => {
            let why = "none says that there is no CI, but required_checks names some; keep one";
            complain("orchestrator.autopilot.ci", why.to_owned());
        }
        CiMode::None => {}
        CiMode::Checks if autopilot.ci_timeout() < 2 * autopilot.ci_poll_interval => {
            let why = format!(
                "CI has {} in all, and a verdict takes two looks; write at most half of that",
                duration::text(autopilot.ci_timeout())
            );
            complain("orchestrator.autopilot.ci_poll_interval", why);
        }
        CiMode::Checks => {}
    }
    let prefix = &autopilot.release.tag_prefix;
    if Branch::parse(&format!("{prefix}1.2.3")).is_err() {
        let shown: String = prefix.chars().take(80).collect();
        let why = format!("{shown:?} cannot stand before a version in a tag; write for example v");
        complain("orchestrator.autopilot.release.tag_prefix", why);
    }
}

/// `NAME`, or `PREFIX*` with a prefix: everything at once is never meant.
fn is_variable(name: &str) -> bool {
    let stem = name.strip_suffix('*').unwrap_or(name);
    !stem.is_empty()
        && !stem.starts_with(|c: char| c.is_ascii_digit())
        && stem.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
