//! Pipelines: several steps of agents, commands and people, with reviews that fail closed.
//!
//! - [`read()`] turns what a file says into a [`Pipeline`], or says what is wrong with it, line by line.
//! - [`Hearing`] listens to an agent, [`judge()`] says what an attempt came to.
//! - [`Engine`] takes in [`Fact`]s and says what is to be done next; its facts, taken again, give the same state.
//!
//! Must never know: files, processes, the clock. Whoever drives a run does what an [`Action`] says and reports what happened.

mod attempt;
mod card;
mod condition;
mod engine;
mod fact;
mod field;
mod file;
mod fingerprint;
mod glob;
mod hearing;
mod judge;
mod path;
mod read;
mod report;
mod schema;
mod shell;

pub use attempt::{Attempt, Failure, Mark, MarkKind, Note, Place, Refusal, pattern_failure};
pub use card::{Card, REMINDER};
pub use condition::{Condition, ConditionError};
pub use engine::{Action, Ending, Engine, Misfit, Named, Question, Record, Start, Status};
pub use fact::{Answer, Fact, Item};
pub use file::{
    AgentStep, Gate, Loop, NamedAgent, OnBlocked, OnStagnation, Order, Over, Pipeline, Prompt, ShellStep,
    Step, StepKind, Tool, Turns, Until, Worker,
};
pub use glob::{glob_matches, glob_root, is_glob};
pub use hearing::{Excerpt, Format, Heard, Hearing};
pub use judge::{Judgement, Role, Verdict, judge};
pub use path::{PathFault, STAGED, UpdateRules, relative, update_path, update_paths};
pub use read::{AgentFile, PromptSource, Sources, read};
pub use report::{Report, record_json};
pub use schema::pipeline_schema;
pub use shell::{ShellError, ShellLine};
