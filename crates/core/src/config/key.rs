//! The table of keys: where each goes, who may set it, what it is for.

use serde_json::Value as Json;

use super::Config;
use super::node::Node;
use super::sections::Flaws;
use super::slot::Slot;

/// One key.
#[derive(Debug)]
pub struct Key {
    /// Its name from the top, with dots.
    pub path: &'static str,
    /// Where its value goes.
    pub(super) slot: Slot,
    /// Who may set it.
    pub scope: Scope,
    /// What it is for: one sentence.
    pub about: &'static str,
}

/// Who may set a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Only the user: it decides what runs, what it sees, or how long it may.
    User,
    /// The project's own file as well.
    Project,
}

/// Every key, in the order of the documentation.
pub const KEYS: &[Key] = &[
    user("executor.backend", Slot::Backend(|c| &mut c.executor.backend), "Which agent runs."),
    user(
        "executor.command.argv",
        Slot::Words(|c| &mut c.executor.command.argv),
        "The program and its arguments for the backend `command`; the prompt comes on standard input.",
    ),
    user(
        "executor.command.format",
        Slot::Format(|c| &mut c.executor.command.format),
        "What that program prints: its answer as text, or lines as Claude Code prints them.",
    ),
    user(
        "executor.env.pass",
        Slot::Words(|c| &mut c.executor.env.pass),
        "Variables the agent sees beyond the fixed list; a name may end in `*`.",
    ),
    user(
        "executor.env.deny",
        Slot::Words(|c| &mut c.executor.env.deny),
        "Variables the agent never sees; wins over everything else.",
    ),
    project(
        "executor.model",
        Slot::Choice(|c| &mut c.executor.model),
        "The model of every run, by the agent's own name for it; unset leaves it to the routing.",
    ),
    project(
        "executor.effort",
        Slot::Effort(|c| &mut c.executor.effort),
        "How hard the model thinks in every run; unset leaves it to the routing.",
    ),
    project(
        "executor.model_routing.enabled",
        Slot::Flag(|c| &mut c.executor.model_routing.enabled),
        "Whether the model depends on how much work a task is.",
    ),
    project(
        "executor.model_routing.trivial",
        Slot::Choice(|c| &mut c.executor.model_routing.models.trivial),
        "The model for trivial tasks; unset is claude-haiku-4-5-20251001 with claude-code, and left to other agents.",
    ),
    project(
        "executor.model_routing.simple",
        Slot::Choice(|c| &mut c.executor.model_routing.models.simple),
        "The model for simple tasks; unset is claude-sonnet-4-6 with claude-code, and left to other agents.",
    ),
    project(
        "executor.model_routing.medium",
        Slot::Choice(|c| &mut c.executor.model_routing.models.medium),
        "The model for medium tasks; unset is claude-sonnet-4-6 with claude-code, and left to other agents.",
    ),
    project(
        "executor.model_routing.complex",
        Slot::Choice(|c| &mut c.executor.model_routing.models.complex),
        "The model for complex tasks; unset is claude-opus-4-6 with claude-code, and left to other agents.",
    ),
    project(
        "executor.effort_routing.enabled",
        Slot::Flag(|c| &mut c.executor.effort_routing.enabled),
        "Whether the efforts below hold.",
    ),
    project(
        "executor.effort_routing.trivial",
        Slot::Effort(|c| &mut c.executor.effort_routing.efforts.trivial),
        "The effort for trivial tasks; unset leaves it to the agent.",
    ),
    project(
        "executor.effort_routing.simple",
        Slot::Effort(|c| &mut c.executor.effort_routing.efforts.simple),
        "The effort for simple tasks; unset leaves it to the agent.",
    ),
    project(
        "executor.effort_routing.medium",
        Slot::Effort(|c| &mut c.executor.effort_routing.efforts.medium),
        "The effort for medium tasks; unset leaves it to the agent.",
    ),
    project(
        "executor.effort_routing.complex",
        Slot::Effort(|c| &mut c.executor.effort_routing.efforts.complex),
        "The effort for complex tasks; unset leaves it to the agent.",
    ),
    user(
        "executor.review.enabled",
        Slot::Flag(|c| &mut c.executor.review.enabled),
        "Whether what passed its gates is looked over once more, for tasks that are not trivial.",
    ),
    user(
        "executor.review.backend",
        Slot::Fallback(|c| &mut c.executor.review.backend),
        "Who looks it over; unset is the agent that did it.",
    ),
    user(
        "executor.review.model",
        Slot::Choice(|c| &mut c.executor.review.model),
        "The reviewer's model; unset is that of the task, or leaves it to another agent.",
    ),
    user(
        "executor.review.timeout",
        Slot::Time(|c| &mut c.executor.review.timeout),
        "How long the reviewer may take.",
    ),
    user(
        "executor.review.may_fix",
        Slot::Flag(|c| &mut c.executor.review.may_fix),
        "Whether the reviewer may commit what mends its findings; the gates then run again.",
    ),
    user(
        "executor.classifier.enabled",
        Slot::Flag(|c| &mut c.executor.classifier.enabled),
        "Whether a small model is asked how much work a task is; its answer can only raise what the ticket says.",
    ),
    user(
        "executor.classifier.model",
        Slot::Choice(|c| &mut c.executor.classifier.model),
        "The model that is asked; unset is the one for trivial tasks.",
    ),
    user(
        "executor.classifier.timeout",
        Slot::Time(|c| &mut c.executor.classifier.timeout),
        "How long it may take to answer.",
    ),
    project(
        "executor.max_turns",
        Slot::Cap(|c| &mut c.executor.max_turns),
        "How many turns the agent may take; unset leaves it to the agent.",
    ),
    user(
        "executor.allowed_tools",
        Slot::Words(|c| &mut c.executor.allowed_tools),
        "The tools the agent may use; empty leaves it to the agent.",
    ),
    user(
        "executor.extra_args",
        Slot::Words(|c| &mut c.executor.extra_args),
        "Arguments put behind the agent's own.",
    ),
    user(
        "executor.trust_repo_settings",
        Slot::Flag(|c| &mut c.executor.trust_repo_settings),
        "Whether the repository's own agent settings and hooks are loaded.",
    ),
    project(
        "executor.timeout",
        Slot::TimeCap(|c| &mut c.executor.timeout),
        "How long every run may take in all; unset leaves it to the routing.",
    ),
    project(
        "executor.timeout_routing.trivial",
        Slot::Time(|c| &mut c.executor.timeout_routing.trivial),
        "How long a trivial task may take in all.",
    ),
    project(
        "executor.timeout_routing.simple",
        Slot::Time(|c| &mut c.executor.timeout_routing.simple),
        "How long a simple task may take in all.",
    ),
    project(
        "executor.timeout_routing.medium",
        Slot::Time(|c| &mut c.executor.timeout_routing.medium),
        "How long a medium task may take in all.",
    ),
    project(
        "executor.timeout_routing.complex",
        Slot::Time(|c| &mut c.executor.timeout_routing.complex),
        "How long a complex task may take in all.",
    ),
    project(
        "executor.silence_timeout",
        Slot::Time(|c| &mut c.executor.silence_timeout),
        "How long a run may show no sign of life.",
    ),
    user(
        "executor.grace",
        Slot::Time(|c| &mut c.executor.grace),
        "How long a process has between TERM and KILL.",
    ),
    user(
        "executor.exit_grace",
        Slot::Time(|c| &mut c.executor.exit_grace),
        "How long a process has to end by itself after its exit mark.",
    ),
    user(
        "executor.finalise_timeout",
        Slot::Time(|c| &mut c.executor.finalise_timeout),
        "How long it may take to commit and keep the work once the agent has ended.",
    ),
    user(
        "executor.pause_timeout",
        Slot::Time(|c| &mut c.executor.pause_timeout),
        "How long a paused run waits for a person before it ends.",
    ),
    user(
        "executor.stagnation.enabled",
        Slot::Flag(|c| &mut c.executor.stagnation.enabled),
        "Whether anybody watches if a run still gets anywhere.",
    ),
    user(
        "executor.stagnation.warn_after_identical",
        Slot::Count(|c| &mut c.executor.stagnation.warn_after_identical),
        "Identical states in a row for a warning.",
    ),
    user(
        "executor.stagnation.pause_after_identical",
        Slot::Count(|c| &mut c.executor.stagnation.pause_after_identical),
        "Identical states in a row for a pause.",
    ),
    user(
        "executor.stagnation.abort_after_identical",
        Slot::Count(|c| &mut c.executor.stagnation.abort_after_identical),
        "Identical states in a row for an abort.",
    ),
    user(
        "executor.stagnation.warn_timeout",
        Slot::Time(|c| &mut c.executor.stagnation.warn_timeout),
        "Time without progress for a warning.",
    ),
    user(
        "executor.stagnation.pause_timeout",
        Slot::Time(|c| &mut c.executor.stagnation.pause_timeout),
        "Time without progress for a pause.",
    ),
    user(
        "executor.stagnation.abort_timeout",
        Slot::Time(|c| &mut c.executor.stagnation.abort_timeout),
        "Time without progress for an abort.",
    ),
    user(
        "executor.stagnation.warn_at_iteration",
        Slot::Cap(|c| &mut c.executor.stagnation.warn_at_iteration),
        "The round, as the agent counts, for a warning.",
    ),
    user(
        "executor.stagnation.pause_at_iteration",
        Slot::Cap(|c| &mut c.executor.stagnation.pause_at_iteration),
        "The round, as the agent counts, for a pause.",
    ),
    user(
        "executor.stagnation.abort_at_iteration",
        Slot::Cap(|c| &mut c.executor.stagnation.abort_at_iteration),
        "The round, as the agent counts, for an abort.",
    ),
    user(
        "executor.stagnation.warn_over_planned_iterations",
        Slot::Flag(|c| &mut c.executor.stagnation.warn_over_planned_iterations),
        "Whether more rounds than the agent planned itself are a warning.",
    ),
    user(
        "executor.stagnation.on_warn",
        Slot::Actions(|c| &mut c.executor.stagnation.on_warn),
        "What a warning does.",
    ),
    user(
        "executor.stagnation.on_pause",
        Slot::Actions(|c| &mut c.executor.stagnation.on_pause),
        "What a pause does.",
    ),
    user(
        "executor.stagnation.on_abort",
        Slot::Actions(|c| &mut c.executor.stagnation.on_abort),
        "What an abort does.",
    ),
    user(
        "executor.limits.memory",
        Slot::SizeCap(|c| &mut c.executor.limits.memory),
        "Writable memory of each process the agent starts, where the kernel can limit it; unset is no limit.",
    ),
    user(
        "executor.limits.processes",
        Slot::Cap(|c| &mut c.executor.limits.processes),
        "Processes of the agent and everything it starts together, where the kernel can limit them.",
    ),
    user(
        "executor.limits.file_size",
        Slot::SizeCap(|c| &mut c.executor.limits.file_size),
        "The largest file the agent may write, where the kernel can limit it; unset is no limit.",
    ),
    user(
        "executor.limits.output",
        Slot::Size(|c| &mut c.executor.limits.output),
        "How much of a run's output is recorded; more never ends a run.",
    ),
    user(
        "executor.fallback",
        Slot::Fallback(|c| &mut c.executor.fallback),
        "The agent that takes over, once, when the chosen one changes nothing or its API stays away; unset is none.",
    ),
    user(
        "executor.retry.enabled",
        Slot::Flag(|c| &mut c.executor.retry.enabled),
        "Whether a task is tried again after a failure that may pass.",
    ),
    user(
        "executor.retry.max_attempts",
        Slot::Count(|c| &mut c.executor.retry.max_attempts),
        "Attempts of one task after its first, whatever they fail with.",
    ),
    user(
        "executor.retry.max_elapsed",
        Slot::Time(|c| &mut c.executor.retry.max_elapsed),
        "How long the attempts of one task may go on; no new one begins later.",
    ),
    user(
        "executor.retry.rate_limit.max_attempts",
        Slot::Count(|c| &mut c.executor.retry.rate_limit.max_attempts),
        "More attempts after a rate limit.",
    ),
    user(
        "executor.retry.rate_limit.initial_backoff",
        Slot::Time(|c| &mut c.executor.retry.rate_limit.initial_backoff),
        "The first wait after a rate limit whose reset nobody told.",
    ),
    user(
        "executor.retry.rate_limit.backoff_multiplier",
        Slot::Factor(|c| &mut c.executor.retry.rate_limit.backoff_multiplier),
        "How much longer each of these waits is than the one before.",
    ),
    user(
        "executor.retry.api_error.max_attempts",
        Slot::Count(|c| &mut c.executor.retry.api_error.max_attempts),
        "More attempts after a failure of the API.",
    ),
    user(
        "executor.retry.api_error.initial_backoff",
        Slot::Time(|c| &mut c.executor.retry.api_error.initial_backoff),
        "The first wait after a failure of the API.",
    ),
    user(
        "executor.retry.api_error.backoff_multiplier",
        Slot::Factor(|c| &mut c.executor.retry.api_error.backoff_multiplier),
        "How much longer each of these waits is than the one before.",
    ),
    user(
        "executor.retry.stalled.max_attempts",
        Slot::Count(|c| &mut c.executor.retry.stalled.max_attempts),
        "More attempts after a silence that was too long.",
    ),
    user(
        "executor.retry.stalled.initial_backoff",
        Slot::Time(|c| &mut c.executor.retry.stalled.initial_backoff),
        "The wait before them.",
    ),
    user(
        "executor.retry.oom_killed.max_attempts",
        Slot::Count(|c| &mut c.executor.retry.oom_killed.max_attempts),
        "More attempts after the kernel killed the agent for want of memory.",
    ),
    user(
        "executor.retry.oom_killed.initial_backoff",
        Slot::Time(|c| &mut c.executor.retry.oom_killed.initial_backoff),
        "The wait before them.",
    ),
    user(
        "executor.retry.timeout.max_attempts",
        Slot::Count(|c| &mut c.executor.retry.timeout.max_attempts),
        "More attempts after a run that took too long, in the same session.",
    ),
    user(
        "executor.retry.timeout.extend_timeout",
        Slot::Flag(|c| &mut c.executor.retry.timeout.extend_timeout),
        "Whether these have more time.",
    ),
    user(
        "executor.retry.timeout.timeout_multiplier",
        Slot::Factor(|c| &mut c.executor.retry.timeout.timeout_multiplier),
        "How many times the time before they have.",
    ),
    user(
        "executor.retry.no_changes.max_attempts",
        Slot::Count(|c| &mut c.executor.retry.no_changes_attempts),
        "How often an agent that changed nothing is told so and asked again.",
    ),
    user(
        "executor.retry.malformed_signal.max_attempts",
        Slot::Count(|c| &mut c.executor.retry.malformed_signal_attempts),
        "How often an agent that changed nothing and whose last mark cannot be read is asked for it again.",
    ),
    user(
        "memory.path",
        Slot::Text(|c| &mut c.memory.path),
        "The directory of the store, below Pilot's own directory.",
    ),
    project(
        "pipeline.update_roots",
        Slot::Words(|c| &mut c.pipeline.update_roots),
        "Where a pipeline's update marks may write besides `.pilot/`, from the project's root; `.` is anywhere in it.",
    ),
    user(
        "budget.enabled",
        Slot::Flag(|c| &mut c.budget.enabled),
        "Whether limits hold; what is spent is written down all the same.",
    ),
    user(
        "budget.daily_limit",
        Slot::Money(|c| &mut c.budget.daily_limit),
        "Dollars for all runs of a day, from midnight to midnight where you are.",
    ),
    user(
        "budget.monthly_limit",
        Slot::Money(|c| &mut c.budget.monthly_limit),
        "Dollars for all runs of a month.",
    ),
    user(
        "budget.per_task.max_tokens",
        Slot::Count(|c| &mut c.budget.per_task.max_tokens),
        "Tokens one task may use, but for those that are read from a cache.",
    ),
    user(
        "budget.per_task.max_duration",
        Slot::Time(|c| &mut c.budget.per_task.max_duration),
        "How long the agents of one task may run together.",
    ),
    user(
        "budget.per_task.max_cost",
        Slot::MoneyCap(|c| &mut c.budget.per_task.max_cost),
        "Dollars one task may cost; unset is no cap of its own.",
    ),
    user(
        "budget.on_exceed.daily",
        Slot::BudgetAction(|c| &mut c.budget.on_exceed.daily),
        "What happens beyond the daily limit: `warn` tells, `pause` starts nothing new, `stop` also ends what runs.",
    ),
    user(
        "budget.on_exceed.monthly",
        Slot::BudgetAction(|c| &mut c.budget.on_exceed.monthly),
        "What happens beyond the monthly limit.",
    ),
    user(
        "budget.on_exceed.per_task",
        Slot::BudgetAction(|c| &mut c.budget.on_exceed.per_task),
        "What happens to a task beyond its caps: `warn` tells, `pause` holds it for a person, `stop` ends it with its work kept.",
    ),
    user(
        "budget.thresholds.warn_percent",
        Slot::Count(|c| &mut c.budget.warn_percent),
        "The part of a limit or cap at which people are warned.",
    ),
    user(
        "budget.prices",
        Slot::Prices(|c| &mut c.budget.prices),
        "Prices of models that come before our own, each as in `sonnet 3/15/0.3/3.75`: dollars for a million tokens of input, output, cache read, cache write.",
    ),
    project(
        "quality.enabled",
        Slot::Flag(|c| &mut c.quality.enabled),
        "Whether gates check what an agent did.",
    ),
    project(
        "quality.gates",
        Slot::Gates(|c| &mut c.quality.gates),
        "The gates; empty takes those the project shows.",
    ),
    project(
        "quality.parallel",
        Slot::Flag(|c| &mut c.quality.parallel),
        "Whether gates without a group run at the same time.",
    ),
    project(
        "quality.on_failure.action",
        Slot::OnFailure(|c| &mut c.quality.on_failure.action),
        "What happens when a required gate does not pass: the agent is told and tries again, the run fails at once, or \
         it is only a warning.",
    ),
    project(
        "quality.on_failure.max_retries",
        Slot::Count(|c| &mut c.quality.on_failure.max_retries),
        "How often an agent is sent back with what the gates found.",
    ),
    project(
        "quality.stop_hook",
        Slot::Flag(|c| &mut c.quality.stop_hook),
        "Whether Claude Code also runs the required gates inside its session before it stops.",
    ),
    user(
        "adapters.github.enabled",
        Slot::Flag(|c| &mut c.adapters.github.enabled),
        "Whether Pilot works on the issues of GitHub.",
    ),
    user(
        "adapters.github.token",
        Slot::Filled(|c| &mut c.adapters.github.token),
        "The token by which Pilot says who it is; write `${GITHUB_TOKEN:-}` rather than the token itself.",
    ),
    user(
        "adapters.github.api_url",
        Slot::Text(|c| &mut c.adapters.github.api_url),
        "Where the API is: that of github.com, of an Enterprise server, or of the local forge.",
    ),
    user(
        "adapters.github.repo",
        Slot::Filled(|c| &mut c.adapters.github.repo),
        "The repository, as in `owner/name`, where no project names its own; unset is where `origin` leads.",
    ),
    user(
        "adapters.github.app.id",
        Slot::Filled(|c| &mut c.adapters.github.app.id),
        "The id of the GitHub App that Pilot is, instead of a token.",
    ),
    user(
        "adapters.github.app.installation_id",
        Slot::Cap(|c| &mut c.adapters.github.app.installation_id),
        "The number of the installation of that App.",
    ),
    user(
        "adapters.github.app.private_key",
        Slot::Filled(|c| &mut c.adapters.github.app.private_key),
        "The private key of that App: the text of its PEM file, or the path of that file.",
    ),
    user(
        "adapters.github.polling.interval",
        Slot::Time(|c| &mut c.adapters.github.polling.interval),
        "How often it is asked for work, and about everything that nothing tells.",
    ),
    user(
        "adapters.github.polling.label",
        Slot::Text(|c| &mut c.adapters.github.polling.label),
        "The label of an issue that asks for work.",
    ),
    user(
        "adapters.github.allowed_users",
        Slot::Words(|c| &mut c.adapters.github.allowed_users),
        "Accounts, also of bots, that may ask for work without having write access.",
    ),
    user(
        "orchestrator.execution_mode",
        Slot::Mode(|c| &mut c.orchestrator.execution_mode),
        "How many tasks of one project at once: the next when the pull request before it is merged or given up; as many as there is room for; or as many, but never two in the same directories.",
    ),
    user(
        "orchestrator.max_concurrent",
        Slot::Count(|c| &mut c.orchestrator.max_concurrent),
        "How many tasks of all projects at once.",
    ),
    user(
        "orchestrator.execution.pr_timeout",
        Slot::Time(|c| &mut c.orchestrator.execution.pr_timeout),
        "How long the next task waits for the pull request before it, and a tag for the tasks under way.",
    ),
    user(
        "orchestrator.autopilot.enabled",
        Slot::Flag(|c| &mut c.orchestrator.autopilot.enabled),
        "Whether Pilot mends what CI refuses, merges what passed and makes releases; if not, people do once the pull request is open.",
    ),
    user(
        "orchestrator.autopilot.environment",
        Slot::Environment(|c| &mut c.orchestrator.autopilot.environment),
        "How careful Pilot is: in `dev` CI has 5m, in `stage` 30m; in `prod` it has 30m too, and a person merges.",
    ),
    user(
        "orchestrator.autopilot.auto_merge",
        Slot::FlagChoice(|c| &mut c.orchestrator.autopilot.auto_merge),
        "Whether Pilot merges what passed; unset is yes. In `prod` a person does all the same.",
    ),
    user(
        "orchestrator.autopilot.merge_method",
        Slot::MergeMethod(|c| &mut c.orchestrator.autopilot.merge_method),
        "How a merge is made.",
    ),
    user(
        "orchestrator.autopilot.ci",
        Slot::CiMode(|c| &mut c.orchestrator.autopilot.ci),
        "What is looked at before a merge: every check of the commit, or nothing because the project has no CI.",
    ),
    user(
        "orchestrator.autopilot.ci_poll_interval",
        Slot::Time(|c| &mut c.orchestrator.autopilot.ci_poll_interval),
        "How often CI is looked at; a verdict counts when two looks so far apart agree.",
    ),
    user(
        "orchestrator.autopilot.ci_wait_timeout",
        Slot::TimeCap(|c| &mut c.orchestrator.autopilot.ci_wait_timeout),
        "How long CI may take before a person is asked; unset leaves it to the environment.",
    ),
    user(
        "orchestrator.autopilot.ci_discovery_grace",
        Slot::Time(|c| &mut c.orchestrator.autopilot.ci_discovery_grace),
        "For how long after a push it is ordinary that no check reports.",
    ),
    user(
        "orchestrator.autopilot.required_checks",
        Slot::Words(|c| &mut c.orchestrator.autopilot.required_checks),
        "Checks that must be there and pass, beside those that the forge requires.",
    ),
    user(
        "orchestrator.autopilot.ci_checks.exclude",
        Slot::Words(|c| &mut c.orchestrator.autopilot.ci_checks.exclude),
        "Checks that do not count.",
    ),
    user(
        "orchestrator.autopilot.max_ci_fix_iterations",
        Slot::Count(|c| &mut c.orchestrator.autopilot.max_ci_fix_iterations),
        "How often in a row Pilot mends what CI refuses before a person is asked.",
    ),
    user(
        "orchestrator.autopilot.max_failures",
        Slot::Count(|c| &mut c.orchestrator.autopilot.max_failures),
        "Failures in a row after which nothing new begins in a project.",
    ),
    user(
        "orchestrator.autopilot.failure_reset_timeout",
        Slot::Time(|c| &mut c.orchestrator.autopilot.failure_reset_timeout),
        "For how long nothing does.",
    ),
    user(
        "orchestrator.autopilot.max_merges_per_hour",
        Slot::Count(|c| &mut c.orchestrator.autopilot.max_merges_per_hour),
        "Merges of a project in any hour.",
    ),
    user(
        "orchestrator.autopilot.release.enabled",
        Slot::Flag(|c| &mut c.orchestrator.autopilot.release.enabled),
        "Whether merges are tagged with a version.",
    ),
    user(
        "orchestrator.autopilot.release.tag_prefix",
        Slot::Text(|c| &mut c.orchestrator.autopilot.release.tag_prefix),
        "What stands before the version in a tag.",
    ),
    user(
        "orchestrator.autopilot.settle",
        Slot::Time(|c| &mut c.orchestrator.autopilot.settle),
        "How long a forge may go on showing what was before a write; nothing it would do twice is repeated sooner.",
    ),
    user(
        "projects",
        Slot::Projects(|c| &mut c.projects),
        "What Pilot works on; empty is the repository it is started in.",
    ),
    user("logging.level", Slot::LogLevel(|c| &mut c.logging.level), "How much is written to the log."),
    user(
        "logging.format",
        Slot::LogFormat(|c| &mut c.logging.format),
        "How a line of the log looks: for people, or as an object of JSON.",
    ),
    user(
        "logging.output",
        Slot::LogFile(|c| &mut c.logging.output),
        "The file of the log; unset is standard error.",
    ),
    user(
        "logging.rotation.max_size",
        Slot::Size(|c| &mut c.logging.rotation.max_size),
        "How large that file may become before another one is begun.",
    ),
    user(
        "logging.rotation.max_backups",
        Slot::Count(|c| &mut c.logging.rotation.max_backups),
        "How many earlier ones are kept.",
    ),
];

const fn user(path: &'static str, slot: Slot, about: &'static str) -> Key {
    Key { path, slot, scope: Scope::User, about }
}

const fn project(path: &'static str, slot: Slot, about: &'static str) -> Key {
    Key { path, slot, scope: Scope::Project, about }
}

/// The key of a path.
pub fn key(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.path == path)
}

impl Key {
    /// The value it has in a configuration, as JSON.
    pub fn value(&self, config: &Config) -> Json {
        self.slot.value(&mut config.clone())
    }

    /// What it must be, in a word or two.
    pub fn kind(&self) -> &'static str {
        self.slot.kind()
    }

    /// The words it may be, when they are few.
    pub fn words(&self) -> Vec<&'static str> {
        self.slot.words()
    }

    /// Whether its value is a list.
    pub(super) fn is_list(&self) -> bool {
        self.slot.is_list()
    }

    /// Whether it is a list of sections.
    pub(super) fn is_list_of_sections(&self) -> bool {
        self.slot.is_list_of_sections()
    }

    /// Reads a value into a configuration.
    pub(super) fn write(&self, config: &mut Config, node: &Node) -> Result<(), Flaws> {
        self.slot.write(config, node)
    }
}

#[cfg(test)]
mod tests {
    use super::super::variable_of;
    use super::KEYS;

    #[test]
    fn the_table_is_well_formed() {
        for (index, key) in KEYS.iter().enumerate() {
            assert!(key.about.ends_with('.'), "{}: a sentence", key.path);
            assert!(
                key.path.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c == '.'),
                "{}: lower case, so that a variable can be made of it",
                key.path
            );
            for other in &KEYS[..index] {
                assert_ne!(variable_of(other), variable_of(key), "{}: two keys, one variable", key.path);
                let (a, b) = (format!("{}.", other.path), format!("{}.", key.path));
                assert!(!a.starts_with(&b) && !b.starts_with(&a), "{a} and {b}: a key is no section");
            }
        }
    }
}
