//! The position of the engine: the step, its name with rounds and items, its worker, and the values of its names.

use std::borrow::Cow;
use std::time::Duration;

use super::super::attempt::AttemptFailure;
use super::super::file::{AgentStep, OnStagnation, PipelineStep, StepKind, Turns, Until, Worker};
use super::super::verdict::StepRole;
use super::{DueAttempt, Engine, LoopFrame, LoopItem, LoopRounds, LoopTurn, Named, WorkerChoice};
use crate::outcome::Class;
use crate::text::truncate;

/// The most that feedback may be, in bytes; the oldest goes first.
const FEEDBACK: usize = 128 * 1024;

impl<'p> Engine<'p> {
    pub(super) fn step(&self) -> Option<&'p PipelineStep> {
        let frame = self.frames.last()?;
        self.pipeline.steps_below(&frame.path)?.get(frame.next).filter(|_| frame.next < frame.end)
    }

    /// The current step's name, rounds and items included: `tasks[2.md]/loop#1/review`.
    pub fn at(&self) -> String {
        let mut name = names(self, &self.frames);
        if let Some(step) = self.step() {
            name.push_str(&step.id);
        }
        name
    }

    pub(super) fn loop_at(&self) -> String {
        let Some((last, outer)) = self.frames.split_last() else { return String::new() };
        let id = self.pipeline.step(&last.path).map_or("", |step| step.id.as_str());
        format!("{}{id}", names(self, outer))
    }

    /// The loops around the current step, outermost first: the loop, the name of the turn, and the turn in words.
    pub fn turns(&self) -> Vec<(&'p str, String, String)> {
        let turn = |frame: &LoopFrame| {
            let id = self.pipeline.step(&frame.path)?.id.as_str();
            let words = match &frame.turn {
                LoopTurn::Top => return None,
                LoopTurn::Items { items, at } => format!("item {} of {}", at + 1, items.len()),
                LoopTurn::Rounds(rounds) => format!("round {} of {}", rounds.round, rounds.granted),
            };
            Some((id, self.frame_name(frame), words))
        };
        self.frames.iter().filter_map(turn).collect()
    }

    fn frame_name(&self, frame: &LoopFrame) -> String {
        let id = self.pipeline.step(&frame.path).map_or("", |step| step.id.as_str());
        match &frame.turn {
            LoopTurn::Top => String::new(),
            LoopTurn::Items { items, at } => {
                format!("{id}[{}]/", items.get(*at).map_or("", |item| item.name.as_str()))
            }
            LoopTurn::Rounds(rounds) => format!("{id}#{}/", rounds.round),
        }
    }

    /// How many rounds the innermost loop that counts them has begun; 0 outside.
    pub fn round(&self) -> u32 {
        self.frames.iter().rev().find_map(LoopFrame::rounds).map_or(0, |rounds| rounds.round)
    }

    pub(super) fn rounds(&self) -> Option<&LoopRounds> {
        self.frames.last()?.rounds()
    }

    pub(super) fn rounds_mut(&mut self) -> Option<&mut LoopRounds> {
        if let LoopTurn::Rounds(rounds) = &mut self.frames.last_mut()?.turn { Some(rounds) } else { None }
    }

    pub(super) fn around(&self) -> Option<&'p Turns> {
        let kind = &self.pipeline.step(&self.frames.last()?.path)?.kind;
        if let StepKind::Loop(inner) = kind { Some(&inner.turns) } else { None }
    }

    pub(super) fn until(&self) -> Option<Until> {
        if let Turns::Until { until, .. } = self.around()? { Some(*until) } else { None }
    }

    pub(super) fn role(&self, step: &PipelineStep) -> StepRole {
        match &step.kind {
            StepKind::Agent(agent) if agent.review => StepRole::Review,
            StepKind::Agent(_) if self.until() == Some(Until::Approve) => StepRole::Work,
            StepKind::Agent(_) => StepRole::Alone,
            StepKind::Shell(_) | StepKind::Gate(_) | StepKind::Loop(_) => StepRole::Shell,
        }
    }

    pub(super) fn worker(&self, step: &'p PipelineStep, attempt: &DueAttempt) -> Option<&'p Worker> {
        let StepKind::Agent(agent) = &step.kind else { return None };
        let escalated = self.rounds().is_some_and(|rounds| rounds.escalated) && !agent.review;
        let other = match self.around() {
            Some(Turns::Until { on_stagnation: OnStagnation::Agent(worker), .. }) if escalated => {
                Some(&**worker)
            }
            Some(Turns::Until { .. } | Turns::Over { .. }) | None => None,
        };
        let first = other.unwrap_or(&agent.worker);
        Some(match attempt.who {
            WorkerChoice::First => first,
            WorkerChoice::Fallback => agent.fallback.as_ref().unwrap_or(first),
        })
    }

    pub(super) fn agent(&self) -> Option<&'p AgentStep> {
        if let StepKind::Agent(agent) = &self.step()?.kind { Some(agent) } else { None }
    }

    pub(super) fn wait(&self, attempt: &DueAttempt) -> Duration {
        match (self.pipeline.delay, &attempt.after) {
            (Some(delay), after) if self.pause || after.is_some() => delay,
            (Some(_), _) | (None, None) => Duration::ZERO,
            (None, Some(failure)) => wait_after(failure, attempt.number),
        }
    }

    /// The value of a name here; none when it has none.
    pub fn named<'e>(&'e self, name: &'e str) -> Option<Named<'e>> {
        if let Some(path) = name.strip_prefix("file:") {
            return Some(Named::File(path));
        }
        if let Some(agent) = name.strip_prefix("agent:") {
            return self.pipeline.agents.contains_key(agent).then_some(Named::Agent(agent));
        }
        match name {
            "default_branch" | "diff" | "progress_file_path" => return Some(Named::Project(name)),
            _ => {}
        }
        match self.variable(name).and_then(|item| item.file.as_deref()) {
            Some(file) => Some(Named::Item(file)),
            None => self.plain(name).map(Named::Text),
        }
    }

    /// The value of a name that needs no look at the world.
    pub(super) fn plain(&self, name: &str) -> Option<Cow<'_, str>> {
        match name {
            "round" => return Some(self.round().to_string().into()),
            "FEEDBACK" => return Some(self.feedback().into()),
            _ => {}
        }
        if let Some(key) = name.strip_prefix("emit.") {
            return self.emits.get(key).map(|value| value.as_str().into());
        }
        if let Some(item) = self.variable(name) {
            return Some(item.text.as_deref().unwrap_or_default().into());
        }
        self.inputs.get(name).map(|value| value.as_str().into())
    }

    pub fn names(&self) -> Vec<String> {
        let variables = self.frames.iter().filter_map(|frame| self.variable_name(frame)).map(str::to_owned);
        let emits = self.emits.keys().map(|key| format!("emit.{key}"));
        let fixed = ["default_branch", "diff", "round", "progress_file_path", "FEEDBACK"].map(str::to_owned);
        self.inputs.keys().cloned().chain(variables).chain(emits).chain(fixed).collect()
    }

    fn variable_name(&self, frame: &LoopFrame) -> Option<&'p str> {
        let StepKind::Loop(inner) = &self.pipeline.step(&frame.path)?.kind else { return None };
        if let Turns::Over { variable, .. } = &inner.turns { Some(variable) } else { None }
    }

    fn variable(&self, name: &str) -> Option<&LoopItem> {
        self.frames.iter().rev().find_map(|frame| match &frame.turn {
            LoopTurn::Items { items, at } if self.variable_name(frame) == Some(name) => items.get(*at),
            LoopTurn::Items { .. } | LoopTurn::Top | LoopTurn::Rounds(_) => None,
        })
    }

    /// What the reviews around the current step complained about: outer loops first, of each the rounds in order.
    pub fn feedback(&self) -> String {
        let texts = self.frames.iter().filter_map(LoopFrame::rounds).map(LoopRounds::text);
        texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
    }
}

fn names(engine: &Engine<'_>, frames: &[LoopFrame]) -> String {
    frames.iter().map(|frame| engine.frame_name(frame)).collect()
}

impl LoopFrame {
    fn rounds(&self) -> Option<&LoopRounds> {
        if let LoopTurn::Rounds(rounds) = &self.turn { Some(rounds) } else { None }
    }
}

impl LoopRounds {
    /// One complaint as it is; several, each below its round.
    fn text(&self) -> String {
        match &self.feedback[..] {
            [] => return String::new(),
            [(_, text)] => return truncate(text, FEEDBACK).to_owned(),
            _ => {}
        }
        let (mut left, mut rounds) = (FEEDBACK, Vec::new());
        for (round, text) in self.feedback.iter().rev() {
            if text.len() > left {
                rounds.push(format!("[{} older rounds are not shown]", self.feedback.len() - rounds.len()));
                break;
            }
            left -= text.len();
            rounds.push(format!("### Round {round}\n{text}"));
        }
        rounds.reverse();
        rounds.join("\n\n")
    }
}

/// How long to wait after a failure before the next attempt; the API's own limits take the longest.
fn wait_after(failure: &AttemptFailure, attempt: u32) -> Duration {
    let step = attempt.saturating_sub(2).min(2) as usize;
    let class = failure.class();
    let seconds = if class == Class::RateLimit {
        // In the foreground a retry waits a minute at most.
        [30, 60, 60][step]
    } else if class == Class::ApiError {
        [5, 10, 20][step]
    } else if matches!(class, Class::Stalled | Class::OomKilled) {
        5
    } else {
        0
    };
    Duration::from_secs(seconds)
}
