//! Configuration: the keys, their defaults, and the errors in what is written.
//!
//! One table of keys ([`KEYS`]) says for each key where it goes in [`Config`], who may set it and what it is for;
//! reading, `pilot config show`, the schema and the documentation all follow it. Layers are merged in order, and every value
//! remembers where it came from. A key is in the table only when its effect is built.
//!
//! Must never know: YAML, files, the environment. A file arrives as a [`Node`], a variable as a text.

mod adapters;
mod alias;
mod check;
mod choice;
mod executor;
mod expand;
mod factor;
pub(crate) mod field;
mod gates;
pub(crate) mod key;
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
mod unbuilt;

#[cfg(feature = "toy")]
pub use adapters::ToyConfig;
pub use adapters::{
    Adapters, GithubApp, GithubConfig, NamedServices, Polling, ProjectForge, ProjectTracker, references,
};
pub(crate) use check::{LONGEST_WAIT, is_model};
pub use choice::{Backend, CiMode, Effort, Environment, Format, LogFormat, LogLevel};
pub use executor::{Classifier, Command, EffortRouting, Env, Executor, Limits, ModelRouting, ReviewConfig};
pub use expand::{EnvReferences, expand};
pub use factor::Factor;
pub use key::{ConfigKey, KEYS, Scope, key};
pub(crate) use key::{Row, key_row, section};
pub use layer::{Layer, Setting, text_layer, variable_of, variables};
pub use logging::{Logging, Rotation};
pub use merge::{Merged, merge};
pub(crate) use nearest::nearest;
pub(crate) use node::join_path;
pub use node::{MapEntry, Node, Place, Scalar, Value};
pub use orchestrator::{Autopilot, CiChecks, Execution, Orchestrator, Release};
pub use problem::{Fault, Notice, NoticeKind, Origin, Problem, REPORTED};
pub use projects::Project;
pub use read::read;
pub(crate) use scalar::choice;
pub use schema::schema;
pub use secret::Secret;

use crate::budget::BudgetConfig;
use crate::gate::Quality;

section! {
    /// Everything that can be set, with the values that hold.
    pub struct Config at () {
        section executor: Executor = Executor::default();
        section memory: Memory = Memory::default();
        section pipeline: Pipelines = Pipelines::default();
        section budget: BudgetConfig = BudgetConfig::default();
        section quality: Quality = Quality::default();
        section adapters: Adapters = Adapters::default();
        section orchestrator: Orchestrator = Orchestrator::default();
        /// What Pilot works on; empty is the repository it is started in.
        user projects: Vec<Project> = Vec::new();
        section logging: Logging = Logging::default();
    }
}

section! {
    pub struct Memory at (memory) {
        /// The directory of the store, below Pilot's own directory.
        user path: String = "data".to_owned();
    }
}

section! {
    pub struct Pipelines at (pipeline) {
        /// Where a pipeline's update marks may write besides `.pilot/`, from the project's root; `.` is anywhere in it.
        project update_roots: Vec<String> = Vec::new();
    }
}
