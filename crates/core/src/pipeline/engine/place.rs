//! Where the engine stands: the step, its name with rounds and items, who does it, and what its names stand for.

use std::borrow::Cow;
use std::time::Duration;

use super::super::attempt::Failure;
use super::super::file::{AgentStep, OnStagnation, Step, StepKind, Turns, Until, Worker};
use super::super::judge::Role;
use super::{Engine, Frame, Item, Named, Rounds, Try, Turn, Who};
use crate::outcome::{Class, cut};

/// The most that feedback may be, in bytes; the oldest goes first.
const FEEDBACK: usize = 128 * 1024;

impl<'p> Engine<'p> {
    /// The current step.
    pub(super) fn step(&self) -> Option<&'p Step> {
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

    /// The name of the loop the current step stands in.
    pub(super) fn loop_at(&self) -> String {
        let Some((last, outer)) = self.frames.split_last() else { return String::new() };
        let id = self.pipeline.step(&last.path).map_or("", |step| step.id.as_str());
        format!("{}{id}", names(self, outer))
    }

    /// The loops the current step stands in, outermost first: the loop, the name of the turn, and the turn in words.
    pub fn turns(&self) -> Vec<(&'p str, String, String)> {
        let turn = |frame: &Frame| {
            let id = self.pipeline.step(&frame.path)?.id.as_str();
            let words = match &frame.turn {
                Turn::Top => return None,
                Turn::Items { items, at } => format!("item {} of {}", at + 1, items.len()),
                Turn::Rounds(rounds) => format!("round {} of {}", rounds.round, rounds.granted),
            };
            Some((id, self.frame_name(frame), words))
        };
        self.frames.iter().filter_map(turn).collect()
    }

    fn frame_name(&self, frame: &Frame) -> String {
        let id = self.pipeline.step(&frame.path).map_or("", |step| step.id.as_str());
        match &frame.turn {
            Turn::Top => String::new(),
            Turn::Items { items, at } => {
                format!("{id}[{}]/", items.get(*at).map_or("", |item| item.name.as_str()))
            }
            Turn::Rounds(rounds) => format!("{id}#{}/", rounds.round),
        }
    }

    /// How many rounds the innermost loop that counts them has begun; 0 outside.
    pub fn round(&self) -> u32 {
        let rounds = self.frames.iter().rev().find_map(|frame| match &frame.turn {
            Turn::Rounds(rounds) => Some(rounds.round),
            Turn::Top | Turn::Items { .. } => None,
        });
        rounds.unwrap_or(0)
    }

    /// The rounds of the loop the current step stands in directly.
    pub(super) fn rounds(&self) -> Option<&Rounds> {
        match &self.frames.last()?.turn {
            Turn::Rounds(rounds) => Some(rounds),
            Turn::Top | Turn::Items { .. } => None,
        }
    }

    pub(super) fn rounds_mut(&mut self) -> Option<&mut Rounds> {
        match &mut self.frames.last_mut()?.turn {
            Turn::Rounds(rounds) => Some(rounds),
            Turn::Top | Turn::Items { .. } => None,
        }
    }

    /// What the loop around the current step says.
    pub(super) fn around(&self) -> Option<&'p Turns> {
        let frame = self.frames.last()?;
        match &self.pipeline.step(&frame.path)?.kind {
            StepKind::Loop(inner) => Some(&inner.turns),
            StepKind::Agent(_) | StepKind::Shell(_) | StepKind::Gate(_) => None,
        }
    }

    pub(super) fn until(&self) -> Option<Until> {
        match self.around()? {
            Turns::Until { until, .. } => Some(*until),
            Turns::Over { .. } => None,
        }
    }

    pub(super) fn role(&self, step: &Step) -> Role {
        match &step.kind {
            StepKind::Agent(agent) if agent.review => Role::Review,
            StepKind::Agent(_) if self.until() == Some(Until::Approve) => Role::Work,
            StepKind::Agent(_) => Role::Alone,
            StepKind::Shell(_) | StepKind::Gate(_) | StepKind::Loop(_) => Role::Shell,
        }
    }

    /// Who does an attempt.
    pub(super) fn worker(&self, step: &'p Step, attempt: &Try) -> Option<&'p Worker> {
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
            Who::First => first,
            Who::Fallback => agent.fallback.as_ref().unwrap_or(first),
        })
    }

    pub(super) fn agent(&self) -> Option<&'p AgentStep> {
        match &self.step()?.kind {
            StepKind::Agent(agent) => Some(agent),
            StepKind::Shell(_) | StepKind::Gate(_) | StepKind::Loop(_) => None,
        }
    }

    /// How long to wait before an attempt: what the author says, else what the failure before it calls for.
    pub(super) fn wait(&self, attempt: &Try) -> Duration {
        match (self.pipeline.delay, &attempt.after) {
            (Some(delay), after) if self.pause || after.is_some() => delay,
            (Some(_), _) | (None, None) => Duration::ZERO,
            (None, Some(failure)) => wait_after(failure, attempt.number),
        }
    }

    /// What a name stands for here; none when it stands for nothing.
    pub fn named<'e>(&'e self, name: &'e str) -> Option<Named<'e>> {
        if let Some(path) = name.strip_prefix("file:") {
            return Some(Named::File(path));
        }
        if let Some(agent) = name.strip_prefix("agent:") {
            return self.pipeline.agents.contains_key(agent).then_some(Named::Agent(agent));
        }
        match name {
            "default_branch" | "diff" | "progress_file_path" => return Some(Named::World(name)),
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

    /// Every name that stands for something here, for whoever mistyped one.
    pub fn names(&self) -> Vec<String> {
        let variables = self.frames.iter().filter_map(|frame| self.variable_name(frame)).map(str::to_owned);
        let emits = self.emits.keys().map(|key| format!("emit.{key}"));
        let fixed = ["default_branch", "diff", "round", "progress_file_path", "FEEDBACK"].map(str::to_owned);
        self.inputs.keys().cloned().chain(variables).chain(emits).chain(fixed).collect()
    }

    fn variable_name(&self, frame: &Frame) -> Option<&'p str> {
        let StepKind::Loop(inner) = &self.pipeline.step(&frame.path)?.kind else { return None };
        match &inner.turns {
            Turns::Over { variable, .. } => Some(variable),
            Turns::Until { .. } => None,
        }
    }

    fn variable(&self, name: &str) -> Option<&Item> {
        self.frames.iter().rev().find_map(|frame| match &frame.turn {
            Turn::Items { items, at } if self.variable_name(frame) == Some(name) => items.get(*at),
            Turn::Items { .. } | Turn::Top | Turn::Rounds(_) => None,
        })
    }

    /// What the reviews around the current step complained about: outer loops first, of each the rounds in order.
    pub fn feedback(&self) -> String {
        let of = |frame: &Frame| match &frame.turn {
            Turn::Rounds(rounds) => Some(rounds.text()),
            Turn::Top | Turn::Items { .. } => None,
        };
        let texts: Vec<String> = self.frames.iter().filter_map(of).filter(|text| !text.is_empty()).collect();
        texts.join("\n\n")
    }
}

fn names(engine: &Engine<'_>, frames: &[Frame]) -> String {
    frames.iter().map(|frame| engine.frame_name(frame)).collect()
}

impl Rounds {
    /// One complaint as it is; several, each below its round.
    fn text(&self) -> String {
        match &self.feedback[..] {
            [] => return String::new(),
            [(_, text)] => return cut(text, FEEDBACK).to_owned(),
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
fn wait_after(failure: &Failure, attempt: u32) -> Duration {
    let step = attempt.saturating_sub(2).min(2) as usize;
    let seconds = match failure.class() {
        // In the foreground nobody waits longer than a minute.
        Class::RateLimit => [30, 60, 60][step],
        Class::ApiError => [5, 10, 20][step],
        Class::Stalled | Class::OomKilled => 5,
        Class::Auth
        | Class::Billing
        | Class::InvalidConfig
        | Class::ModelNotFound
        | Class::PromptTooLong
        | Class::SessionNotFound
        | Class::Timeout
        | Class::Stagnated
        | Class::BudgetExceeded
        | Class::Cancelled
        | Class::Refused
        | Class::Declined
        | Class::NoChanges
        | Class::Blocked
        | Class::GateFailed
        | Class::Unknown => 0,
    };
    Duration::from_secs(seconds)
}
