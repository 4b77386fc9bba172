//! Pipelines: several steps of agents, commands and people, with reviews that fail closed.
//!
//! - [`read()`] parses a file into a [`Pipeline`], or lists what is wrong with it, line by line.
//! - [`StepReader`] reads what an agent prints, [`judge_attempt()`] decides what an attempt came to.
//! - [`Engine`] takes [`RunFact`]s and returns the next [`EngineAction`]; replaying its facts gives the same state.
//!
//! Must never know: files, processes, the clock.

mod attempt;
mod card;
mod condition;
mod engine;
mod fact;
mod field;
mod file;
mod fingerprint;
mod glob;
mod path;
mod read;
mod report;
mod schema;
mod shell;
mod step_output;
mod verdict;

pub use attempt::{
    Attempt, AttemptFailure, MarkKind, MarkNote, MarkPlace, Refusal, StepMark, pattern_failure,
};
pub use card::{Card, REMINDER};
pub use condition::Condition;
pub use engine::{
    Engine, EngineAction, Named, PipelineEnding, Question, Start, StepRecord, StepStatus, UnexpectedFact,
};
pub use fact::{LoopItem, RunFact, UserAnswer};
pub use file::{
    AgentStep, GateStep, ItemOrder, LoopStep, NamedAgent, OnBlocked, OnStagnation, Over, Pipeline,
    PipelineStep, ShellStep, StepKind, StepPrompt, Tool, Turns, Until, Worker,
};
pub use glob::{glob_matches, glob_root, is_glob};
pub use path::{PathFault, STAGED, UpdateRules, relative, update_path, update_paths};
pub use read::{AgentFile, PipelineSources, PromptSource, read};
pub use report::{PipelineReport, record_json};
pub use schema::pipeline_schema;
pub use shell::ShellLine;
pub use step_output::{OutputExcerpt, StepOutput, StepReader};
pub use verdict::{AttemptVerdict, StepRole, StepVerdict, judge_attempt};
