//! What a pipeline file says once it was read: steps, who does them, and what is to be done when they fail.

use std::collections::BTreeMap;
use std::time::Duration;

use super::condition::Condition;
use super::shell::ShellLine;
use crate::config::{Backend, Origin};
use crate::template::Template;

/// A pipeline that can be run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pipeline {
    /// The values its author names, in their order; none for one that must be given.
    pub inputs: Vec<(String, Option<String>)>,
    /// The named agents.
    pub agents: BTreeMap<String, NamedAgent>,
    /// Texts in an agent's output that make an attempt a failed one.
    pub error_patterns: Vec<String>,
    /// How long to wait between rounds, items and attempts; none leaves it to the kind of failure.
    pub delay: Option<Duration>,
    /// What is done, in this order.
    pub steps: Vec<Step>,
}

/// An agent with a name.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedAgent {
    /// What it is told.
    pub prompt: Prompt,
    /// Who it is.
    pub worker: Worker,
}

/// A prompt as its author wrote it.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    /// Where it stands.
    pub origin: Origin,
    /// The text.
    pub text: String,
    /// The same, read.
    pub template: Template,
}

/// Who does a step. What is absent is left to the layer below, in the end to the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Worker {
    /// The program.
    pub tool: Option<Tool>,
    /// The model.
    pub model: Option<String>,
    /// Further arguments.
    pub args: Option<Vec<String>>,
    /// How often it is tried again after a failure.
    pub retry: Option<u32>,
    /// How long one attempt may take.
    pub timeout: Option<Duration>,
}

/// The program that does a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tool {
    /// One of the backends.
    Backend(Backend),
    /// A script of the project's own: `script [args…] PROMPT_FILE`.
    Script(String),
}

impl Tool {
    /// Its name, for people.
    pub fn name(&self) -> &str {
        match self {
            Tool::Backend(backend) => backend.as_str(),
            Tool::Script(script) => script,
        }
    }
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its name, unique in the file.
    pub id: String,
    /// When it is done at all; always, unless told.
    pub when: Option<Condition>,
    /// What it is.
    pub kind: StepKind,
}

/// What a step is.
#[derive(Clone, Debug, PartialEq)]
pub enum StepKind {
    /// An agent is put to work.
    Agent(Box<AgentStep>),
    /// A command of the author's.
    Shell(ShellStep),
    /// A person is asked.
    Gate(Gate),
    /// Further steps, again and again.
    Loop(Loop),
}

impl StepKind {
    /// The word for it.
    pub fn as_str(&self) -> &'static str {
        match self {
            StepKind::Agent(_) => "agent",
            StepKind::Shell(_) => "shell",
            StepKind::Gate(_) => "gate",
            StepKind::Loop(_) => "loop",
        }
    }
}

/// An agent is put to work.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentStep {
    /// What it is told.
    pub prompt: Prompt,
    /// Who does it.
    pub worker: Worker,
    /// Who does it when that one failed for good.
    pub fallback: Option<Worker>,
    /// What is done when the agent says that it needs a person.
    pub on_blocked: OnBlocked,
    /// Whether its verdict ends the loop it stands in.
    pub review: bool,
}

/// A command of the author's.
#[derive(Clone, Debug, PartialEq)]
pub struct ShellStep {
    /// The line for the shell.
    pub line: ShellLine,
    /// How often it is tried again after a failure.
    pub retry: u32,
    /// How long one attempt may take.
    pub timeout: Option<Duration>,
    /// What is done when it says that it needs a person.
    pub on_blocked: OnBlocked,
}

/// A person is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// What they are asked; none is a question of Pilot's own.
    pub message: Option<Prompt>,
}

/// Steps that are done again and again.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// How often.
    pub turns: Turns,
    /// The steps of one turn.
    pub steps: Vec<Step>,
}

/// How often the steps of a loop are done.
#[derive(Clone, Debug, PartialEq)]
pub enum Turns {
    /// Once for each of something.
    Over {
        /// Of what.
        over: Over,
        /// The name the current one has in the steps.
        variable: String,
        /// In which order.
        order: Order,
    },
    /// Until one of them says so.
    Until {
        /// What has to be said.
        until: Until,
        /// At most so often.
        max_rounds: u32,
        /// What is done when it gets nowhere.
        on_stagnation: OnStagnation,
    },
}

/// What a loop goes over.
#[derive(Clone, Debug, PartialEq)]
pub enum Over {
    /// The `*.md` files of a folder, or the files that match a pattern.
    Files(Prompt),
    /// These texts.
    Items(Vec<Prompt>),
}

/// The order of files by the bytes of their names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The first name first.
    #[default]
    Asc,
    /// The last name first.
    Desc,
}

/// The mark that ends a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Every reviewer approved in the same round.
    Approve,
    /// A step said, in so many words, that it is completed.
    Completed,
    /// A step said that there is nothing to do.
    Skip,
}

impl Until {
    pub(super) const ALL: [Until; 3] = [Until::Approve, Until::Completed, Until::Skip];

    /// The word in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Until::Approve => "approve",
            Until::Completed => "completed",
            Until::Skip => "skip",
        }
    }
}

/// What is done when an agent says that it needs a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnBlocked {
    /// The run waits for a person.
    #[default]
    Ask,
    /// The step failed.
    Fail,
    /// The step is passed over.
    Skip,
    /// The fallback takes over.
    Fallback,
}

impl OnBlocked {
    pub(super) const ALL: [OnBlocked; 4] =
        [OnBlocked::Ask, OnBlocked::Fail, OnBlocked::Skip, OnBlocked::Fallback];

    /// The word in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            OnBlocked::Ask => "ask",
            OnBlocked::Fail => "fail",
            OnBlocked::Skip => "skip",
            OnBlocked::Fallback => "fallback",
        }
    }
}

/// What is done when a loop gets nowhere.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum OnStagnation {
    /// The loop failed.
    #[default]
    Stop,
    /// A person is asked.
    Gate,
    /// Another agent does the steps that do not review, from there on.
    Agent(Box<Worker>),
}

impl Pipeline {
    /// The step at a path of indices.
    pub(super) fn step(&self, path: &[usize]) -> Option<&Step> {
        let (last, above) = path.split_last()?;
        self.steps_below(above)?.get(*last)
    }

    /// The steps of the loop at a path; those at the top for an empty one.
    pub(super) fn steps_below(&self, path: &[usize]) -> Option<&[Step]> {
        let mut steps = self.steps.as_slice();
        for index in path {
            let StepKind::Loop(inner) = &steps.get(*index)?.kind else { return None };
            steps = &inner.steps;
        }
        Some(steps)
    }

    /// Every step with its depth, in the order of the file.
    pub fn walk(&self) -> Vec<(usize, &Step)> {
        fn below<'p>(steps: &'p [Step], depth: usize, into: &mut Vec<(usize, &'p Step)>) {
            for step in steps {
                into.push((depth, step));
                if let StepKind::Loop(inner) = &step.kind {
                    below(&inner.steps, depth + 1, into);
                }
            }
        }
        let mut all = Vec::new();
        below(&self.steps, 0, &mut all);
        all
    }
}
