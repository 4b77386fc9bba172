//! The agent and how it is run: the section `executor`.

use std::time::Duration;

use super::choice::{Backend, Effort, Format};
use super::{Row, key_row, section};
use crate::retry::RetryConfig;
use crate::review::Blocking;
use crate::route::Cells;
use crate::stagnation::StagnationConfig;

section! {
    pub struct Executor at (executor) {
        /// Which agent runs.
        user backend: Backend = Backend::ClaudeCode;
        section command: Command = Command::default();
        section env: Env = Env::default();
        /// The model of every run, by the agent's own name for it; unset leaves it to the routing.
        project model: Option<String> = None;
        /// How hard the model thinks in every run; unset leaves it to the routing.
        project effort: Option<Effort> = None;
        section model_routing: ModelRouting = ModelRouting::default();
        section effort_routing: EffortRouting = EffortRouting::default();
        section review: ReviewConfig = ReviewConfig::default();
        section classifier: Classifier = Classifier::default();
        /// How many turns the agent may take; unset leaves it to the agent.
        project max_turns: Option<u32> = None;
        /// The tools the agent may use; empty leaves it to the agent.
        user allowed_tools: Vec<String> = Vec::new();
        /// Arguments put behind the agent's own.
        user extra_args: Vec<String> = Vec::new();
        /// Whether the repository's own agent settings and hooks are loaded.
        user trust_repo_settings: bool = true;
        /// How long every run may take in all; unset leaves it to the routing.
        project timeout: Option<Duration> = None;
        keys timeout_routing: Cells<Duration> = routed_timeouts(), TIMEOUTS;
        // Claude says nothing for 604 s when the model's stream stalls, and may still recover then.
        /// How long a run may show no sign of life.
        project silence_timeout: Duration = Duration::from_mins(15);
        /// How long a process has between TERM and KILL.
        user grace: Duration = Duration::from_secs(5);
        /// How long a process has to end by itself after its exit mark.
        user exit_grace: Duration = Duration::from_mins(1);
        /// How long committing and saving the work may take once the agent has ended.
        user finalise_timeout: Duration = Duration::from_mins(2);
        /// How long a paused run waits for a person before it ends.
        user pause_timeout: Duration = Duration::from_mins(60);
        section stagnation: StagnationConfig = StagnationConfig::default();
        section limits: Limits = Limits::default();
        /// The agent that takes over, once, when the chosen one changes nothing or its API is unavailable; unset is none.
        user fallback: Option<Backend> = None;
        section retry: RetryConfig = RetryConfig::default();
        /// Whether commits that Pilot makes for an issue name its author as co-author.
        user co_author: bool = false;
    }
}

section! {
    /// The program of the backend `command`.
    pub struct Command at (executor.command) {
        /// The program and its arguments for the backend `command`; the prompt comes on standard input.
        user argv: Vec<String> = Vec::new();
        /// What that program prints: its answer as text, or lines as Claude Code prints them.
        user format: Format = Format::Text;
    }
}

section! {
    /// What of the environment the agent sees beyond the fixed allow-list.
    pub struct Env at (executor.env) {
        /// Variables the agent sees beyond the fixed list; a name may end in `*`.
        user pass: Vec<String> = Vec::new();
        /// Variables the agent never sees; wins over everything else.
        user deny: Vec<String> = Vec::new();
    }
}

section! {
    pub struct ModelRouting at (executor.model_routing) {
        /// Whether the model depends on how much work a task is.
        project enabled: bool = true;
        keys models: Cells<Option<String>> = Cells::default(), MODELS;
    }
}

const MODELS: &[Row] = &[
    key_row!(project "executor.model_routing.trivial", executor.model_routing.models.trivial,
        "The model for trivial tasks; unset is claude-haiku-4-5-20251001 with claude-code, and left to other agents."),
    key_row!(project "executor.model_routing.simple", executor.model_routing.models.simple,
        "The model for simple tasks; unset is claude-sonnet-4-6 with claude-code, and left to other agents."),
    key_row!(project "executor.model_routing.medium", executor.model_routing.models.medium,
        "The model for medium tasks; unset is claude-sonnet-4-6 with claude-code, and left to other agents."),
    key_row!(project "executor.model_routing.complex", executor.model_routing.models.complex,
        "The model for complex tasks; unset is claude-opus-4-6 with claude-code, and left to other agents."),
];

section! {
    pub struct EffortRouting at (executor.effort_routing) {
        /// Whether the efforts below are used.
        project enabled: bool = true;
        keys efforts: Cells<Option<Effort>> = Cells::default(), EFFORTS;
    }
}

/// Not every model takes an effort, so Pilot has no table of its own for them.
const EFFORTS: &[Row] = &[
    key_row!(project "executor.effort_routing.trivial", executor.effort_routing.efforts.trivial,
        "The effort for trivial tasks; unset leaves it to the agent."),
    key_row!(project "executor.effort_routing.simple", executor.effort_routing.efforts.simple,
        "The effort for simple tasks; unset leaves it to the agent."),
    key_row!(project "executor.effort_routing.medium", executor.effort_routing.efforts.medium,
        "The effort for medium tasks; unset leaves it to the agent."),
    key_row!(project "executor.effort_routing.complex", executor.effort_routing.efforts.complex,
        "The effort for complex tasks; unset leaves it to the agent."),
];

const TIMEOUTS: &[Row] = &[
    key_row!(project "executor.timeout_routing.trivial", executor.timeout_routing.trivial,
        "How long a trivial task may take in all."),
    key_row!(project "executor.timeout_routing.simple", executor.timeout_routing.simple,
        "How long a simple task may take in all."),
    key_row!(project "executor.timeout_routing.medium", executor.timeout_routing.medium,
        "How long a medium task may take in all."),
    key_row!(project "executor.timeout_routing.complex", executor.timeout_routing.complex,
        "How long a complex task may take in all."),
];

fn routed_timeouts() -> Cells<Duration> {
    Cells {
        trivial: Duration::from_mins(5),
        simple: Duration::from_mins(15),
        medium: Duration::from_mins(30),
        complex: Duration::from_mins(60),
    }
}

section! {
    /// The review of what passed its gates.
    pub struct ReviewConfig at (executor.review) {
        /// Whether a reviewer reads what passed its gates, for tasks that are not trivial.
        user enabled: bool = true;
        /// The reviewing agent; unset is the agent that did the work.
        user backend: Option<Backend> = None;
        /// The reviewer's model; unset is that of the task, or leaves it to another agent.
        user model: Option<String> = None;
        /// How long the reviewer may take.
        user timeout: Duration = Duration::from_mins(10);
        /// Whether the reviewer may commit fixes for its findings; the gates then run again.
        user may_fix: bool = true;
        /// Which findings hold the pull request until a person decides, when they are not fixed.
        user blocking: Blocking = Blocking::Blocker;
    }
}

section! {
    /// The small model that is asked how much work a task is.
    pub struct Classifier at (executor.classifier) {
        /// Whether a small model is asked how much work a task is; its answer can only raise what the ticket says.
        user enabled: bool = false;
        /// The model that is asked; unset is the one for trivial tasks.
        user model: Option<String> = None;
        /// How long it may take to answer.
        user timeout: Duration = Duration::from_secs(30);
    }
}

section! {
    /// What the agent may use of the machine.
    pub struct Limits at (executor.limits) {
        /// Writable memory of each process the agent starts, where the kernel can limit it; unset is no limit.
        user memory: Option<u64> = None;
        // Enough processes for any build, too few for a fork bomb to take the machine along.
        /// Processes of the agent and everything it starts together, where the kernel can limit them.
        user processes: Option<u32> = Some(8192);
        /// The largest file the agent may write, where the kernel can limit it; unset is no limit.
        user file_size: Option<u64> = None;
        /// How much of a run's output is recorded; more never ends a run.
        user output: u64 = 8 << 20;
    }
}
