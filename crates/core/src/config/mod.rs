//! Configuration: what can be set, what holds when nothing is, and what is wrong with what somebody wrote.
//!
//! One table of keys ([`KEYS`]) says for each key where it goes in [`Config`], who may set it and what it is for;
//! reading, `pilot config show`, the schema and the documentation all follow it. Layers are merged in order, and every value
//! remembers where it came from. A key stands in the table only when its effect is built.
//!
//! Must never know: YAML, files, the environment. A file arrives as a [`Node`], a variable as a text.

mod adapters;
mod alias;
mod check;
mod choice;
mod expand;
mod factor;
mod gates;
mod key;
mod layer;
mod logging;
mod merge;
mod nearest;
mod node;
mod orchestrator;
mod problem;
mod projects;
mod read;
mod scalar;
mod schema;
mod secret;
mod sections;
mod size;
mod slot;
mod unbuilt;

use std::time::Duration;

pub use adapters::{Adapters, GithubApp, GithubConfig, Polling};
pub(crate) use check::{LONGEST_WAIT, is_model};
pub use choice::{Backend, CiMode, Effort, Environment, Format, LogFormat, LogLevel};
pub use expand::{References, expand};
pub use factor::Factor;
pub use key::{KEYS, Key, Scope, key};
pub use layer::{Layer, Setting, text_layer, variable_of, variables};
pub use logging::{Logging, Rotation};
pub use merge::{Merged, merge};
pub(crate) use nearest::nearest;
pub use node::{Entry, Node, Place, Scalar, Value};
pub use orchestrator::{Autopilot, CiChecks, Execution, Orchestrator, Release};
pub use problem::{Fault, Notice, NoticeKind, Origin, Problem, REPORTED};
pub use projects::Project;
pub use read::read;
pub use schema::schema;

use crate::budget::BudgetConfig;
use crate::gate::Quality;
use crate::retry::RetryConfig;
use crate::route::Cells;
use crate::stagnation::{Section, StagnationConfig};

/// Everything that can be set, with the values that hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// The agent and how it is run.
    pub executor: Executor,
    /// What Pilot remembers.
    pub memory: Memory,
    /// What pipelines may do.
    pub pipeline: Pipelines,
    /// What may be spent.
    pub budget: BudgetConfig,
    /// The gates, and what follows when one does not pass.
    pub quality: Quality,
    /// Where work comes from.
    pub adapters: Adapters,
    /// How work is done.
    pub orchestrator: Orchestrator,
    /// What is worked on.
    pub projects: Vec<Project>,
    /// What is written down meanwhile, and where.
    pub logging: Logging,
}

/// The agent and how it is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executor {
    /// Which agent.
    pub backend: Backend,
    /// The program of the backend `command`.
    pub command: Command,
    /// What of the environment the agent sees.
    pub env: Env,
    /// The model of every run; none leaves it to the routing.
    pub model: Option<String>,
    /// How hard the model thinks in every run; none leaves it to the routing.
    pub effort: Option<Effort>,
    /// The model by complexity.
    pub model_routing: ModelRouting,
    /// How hard the model thinks by complexity.
    pub effort_routing: EffortRouting,
    /// How long a run may take in all by complexity.
    pub timeout_routing: Cells<Duration>,
    /// The small model that is asked how much work a task is.
    pub classifier: Classifier,
    /// The look over what passed.
    pub review: ReviewConfig,
    /// How many turns the agent may take; none leaves it to the agent.
    pub max_turns: Option<u32>,
    /// The tools the agent may use; empty leaves it to the agent.
    pub allowed_tools: Vec<String>,
    /// What is put behind the agent's own arguments.
    pub extra_args: Vec<String>,
    /// Whether the repository's own agent settings and hooks are loaded.
    pub trust_repo_settings: bool,
    /// How long every run may take in all; none leaves it to the routing.
    pub timeout: Option<Duration>,
    /// How long a run may be silent.
    pub silence_timeout: Duration,
    /// How long a process has between TERM and KILL.
    pub grace: Duration,
    /// How long a process has to end by itself after its exit mark.
    pub exit_grace: Duration,
    /// How long the work may take to be committed and kept once the agent has ended.
    pub finalise_timeout: Duration,
    /// How long a paused run waits for a person.
    pub pause_timeout: Duration,
    /// When a run counts as stuck, as it is written.
    pub stagnation: Section,
    /// What the agent may use of the machine.
    pub limits: Limits,
    /// The agent that takes over when the chosen one gets nowhere.
    pub fallback: Option<Backend>,
    /// What is tried again.
    pub retry: RetryConfig,
}

/// The look over what passed its gates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewConfig {
    /// Whether there is one.
    pub enabled: bool,
    /// Who does it; none is the agent that did the task.
    pub backend: Option<Backend>,
    /// With which model.
    pub model: Option<String>,
    /// How long it may take.
    pub timeout: Duration,
    /// Whether the reviewer may commit.
    pub may_fix: bool,
}

impl Default for ReviewConfig {
    fn default() -> ReviewConfig {
        let timeout = Duration::from_secs(10 * 60);
        ReviewConfig { enabled: true, backend: None, model: None, timeout, may_fix: true }
    }
}

impl Executor {
    /// When a run counts as stuck. The section was checked when the layers were merged.
    pub fn stagnation(&self) -> StagnationConfig {
        StagnationConfig::from_section(self.stagnation.clone())
    }
}

impl Default for Executor {
    fn default() -> Executor {
        let minutes = |count: u64| Duration::from_secs(60 * count);
        Executor {
            backend: Backend::ClaudeCode,
            command: Command::default(),
            env: Env::default(),
            model: None,
            effort: None,
            model_routing: ModelRouting::default(),
            effort_routing: EffortRouting::default(),
            timeout_routing: Cells {
                trivial: minutes(5),
                simple: minutes(15),
                medium: minutes(30),
                complex: minutes(60),
            },
            classifier: Classifier::default(),
            review: ReviewConfig::default(),
            max_turns: None,
            allowed_tools: Vec::new(),
            extra_args: Vec::new(),
            trust_repo_settings: true,
            timeout: None,
            // Claude says nothing for 604 s when the model's stream stalls, and may still recover then.
            silence_timeout: minutes(15),
            grace: Duration::from_secs(5),
            exit_grace: minutes(1),
            finalise_timeout: minutes(2),
            pause_timeout: minutes(60),
            stagnation: Section::default(),
            limits: Limits::default(),
            fallback: None,
            retry: RetryConfig::default(),
        }
    }
}

/// The model by complexity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelRouting {
    /// Whether the model depends on the complexity.
    pub enabled: bool,
    /// The models; none is the one of Pilot's table where it has one for the agent.
    pub models: Cells<Option<String>>,
}

impl Default for ModelRouting {
    fn default() -> ModelRouting {
        ModelRouting { enabled: true, models: Cells::default() }
    }
}

/// How hard the model thinks by complexity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffortRouting {
    /// Whether the effort depends on the complexity.
    pub enabled: bool,
    /// The efforts; none leaves it to the agent. Not every model takes one, so there is no table of our own.
    pub efforts: Cells<Option<Effort>>,
}

impl Default for EffortRouting {
    fn default() -> EffortRouting {
        EffortRouting { enabled: true, efforts: Cells::default() }
    }
}

/// The small model that is asked how much work a task is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classifier {
    /// Whether it is asked.
    pub enabled: bool,
    /// The model; none is the one of trivial tasks.
    pub model: Option<String>,
    /// How long it may take to answer.
    pub timeout: Duration,
}

impl Default for Classifier {
    fn default() -> Classifier {
        Classifier { enabled: false, model: None, timeout: Duration::from_secs(30) }
    }
}

/// The program of the backend `command`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// What it prints.
    pub format: Format,
}

/// What of the environment the agent sees beyond the fixed allow-list. A name may end in `*`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Env {
    /// Names that are passed as well.
    pub pass: Vec<String>,
    /// Names that are never passed; wins over everything.
    pub deny: Vec<String>,
}

/// What the agent may use of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of writable memory of each process; none is no limit.
    pub memory: Option<u64>,
    /// Processes of the whole tree; none is no limit.
    pub processes: Option<u32>,
    /// Bytes of each file that is written; none is no limit.
    pub file_size: Option<u64>,
    /// Bytes of a run's output that are recorded. More never ends a run.
    pub output: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        // Enough processes for any build, too few for a fork bomb to take the machine along.
        Limits { memory: None, processes: Some(8192), file_size: None, output: 8 << 20 }
    }
}

/// What pipelines may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pipelines {
    /// Where updates may write besides `.pilot/`, from the project's root.
    pub update_roots: Vec<String>,
}

/// What Pilot remembers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The directory of the store, from Pilot's own directory.
    pub path: String,
}

impl Default for Memory {
    fn default() -> Memory {
        Memory { path: "data".to_owned() }
    }
}
