//! A pipeline as its file says: steps, their workers, and what happens when they fail.

use std::collections::BTreeMap;
use std::time::Duration;

use super::condition::Condition;
use super::shell::ShellLine;
use crate::config::{Backend, Origin};
use crate::template::Template;
use crate::text::word_enum;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pipeline {
    /// The values its author names, in their order; none for one that must be given.
    pub inputs: Vec<(String, Option<String>)>,
    pub agents: BTreeMap<String, NamedAgent>,
    /// Texts in an agent's output that make an attempt a failed one.
    pub error_patterns: Vec<String>,
    /// How long to wait between rounds, items and attempts; none leaves it to the kind of failure.
    pub delay: Option<Duration>,
    pub steps: Vec<PipelineStep>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct NamedAgent {
    pub prompt: StepPrompt,
    pub worker: Worker,
}

#[derive(Clone, Debug, PartialEq)]
pub struct StepPrompt {
    pub origin: Origin,
    pub text: String,
    pub template: Template,
}

/// The worker of a step. What is absent comes from the layer below, in the end from the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Worker {
    pub tool: Option<Tool>,
    pub model: Option<String>,
    pub args: Option<Vec<String>>,
    pub retry: Option<u32>,
    pub timeout: Option<Duration>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tool {
    Backend(Backend),
    /// A script of the project's own: `script [args…] PROMPT_FILE`.
    Script(String),
}

impl Tool {
    pub fn name(&self) -> &str {
        match self {
            Tool::Backend(backend) => backend.as_str(),
            Tool::Script(script) => script,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct PipelineStep {
    /// Its name, unique in the file.
    pub id: String,
    /// When it runs; always, unless given.
    pub when: Option<Condition>,
    pub kind: StepKind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum StepKind {
    Agent(Box<AgentStep>),
    Shell(ShellStep),
    Gate(GateStep),
    Loop(LoopStep),
}

impl StepKind {
    pub fn as_str(&self) -> &'static str {
        match self {
            StepKind::Agent(_) => "agent",
            StepKind::Shell(_) => "shell",
            StepKind::Gate(_) => "gate",
            StepKind::Loop(_) => "loop",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct AgentStep {
    pub prompt: StepPrompt,
    pub worker: Worker,
    /// The worker after that one failed for good.
    pub fallback: Option<Worker>,
    pub on_blocked: OnBlocked,
    /// Whether its verdict ends the loop around it.
    pub review: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ShellStep {
    pub line: ShellLine,
    pub retry: u32,
    pub timeout: Option<Duration>,
    pub on_blocked: OnBlocked,
}

#[derive(Clone, Debug, PartialEq)]
pub struct GateStep {
    /// The question; none is one of Pilot's own.
    pub message: Option<StepPrompt>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct LoopStep {
    pub turns: Turns,
    pub steps: Vec<PipelineStep>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Turns {
    Over { over: Over, variable: String, order: ItemOrder },
    Until { until: Until, max_rounds: u32, on_stagnation: OnStagnation },
}

#[derive(Clone, Debug, PartialEq)]
pub enum Over {
    /// The `*.md` files of a folder, or the files that match a pattern.
    Files(StepPrompt),
    Items(Vec<StepPrompt>),
}

word_enum! {
    /// The order of files by the bytes of their names.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum ItemOrder {
        #[default]
        Asc = "asc",
        Desc = "desc",
    }
}

word_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Until {
        /// Every reviewer approved in the same round.
        Approve = "approve",
        /// A step said, in so many words, that it is completed.
        Completed = "completed",
        /// A step said that there is nothing to do.
        Skip = "skip",
    }
}

word_enum! {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum OnBlocked {
        /// The run waits for the user.
        #[default]
        Ask = "ask",
        Fail = "fail",
        Skip = "skip",
        Fallback = "fallback",
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub enum OnStagnation {
    #[default]
    Stop,
    Gate,
    /// Another agent does the steps that do not review, from there on.
    Agent(Box<Worker>),
}

impl Pipeline {
    /// The step at a path of indices.
    pub(super) fn step(&self, path: &[usize]) -> Option<&PipelineStep> {
        let (last, above) = path.split_last()?;
        self.steps_below(above)?.get(*last)
    }

    /// The steps of the loop at a path; those at the top for an empty one.
    pub(super) fn steps_below(&self, path: &[usize]) -> Option<&[PipelineStep]> {
        let mut steps = self.steps.as_slice();
        for index in path {
            let StepKind::Loop(inner) = &steps.get(*index)?.kind else { return None };
            steps = &inner.steps;
        }
        Some(steps)
    }

    /// Every step with its depth, in the order of the file.
    pub fn walk(&self) -> Vec<(usize, &PipelineStep)> {
        fn below<'p>(steps: &'p [PipelineStep], depth: usize, into: &mut Vec<(usize, &'p PipelineStep)>) {
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
