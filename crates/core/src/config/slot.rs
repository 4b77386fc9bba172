//! The kinds of values: how each is read, written and described.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::choice::{Backend, CiMode, Effort, Environment, Format, LogFormat, LogLevel};
use super::factor::Factor;
use super::node::Node;
use super::problem::Fault;
use super::projects::Project;
use super::scalar::{
    DURATION, FACTOR, MONEY, NUMBER, SIZE, bytes, choose, count, dollars, factor, filled, flag, line, list,
    log_file, money, price, text, time,
};
use super::sections::Flaws;
use super::{Config, gates, projects, size};
use crate::budget::{Action, Price, Usd};
use crate::duration;
use crate::gate::{Gate, OnFailure};
use crate::policy::{MergeMethod, Mode};
use crate::stagnation::ActionWord;

/// Where a value goes, and with that, what it must be.
#[derive(Debug)]
pub(super) enum Slot {
    Flag(fn(&mut Config) -> &mut bool),
    Count(fn(&mut Config) -> &mut u32),
    Cap(fn(&mut Config) -> &mut Option<u32>),
    Size(fn(&mut Config) -> &mut u64),
    SizeCap(fn(&mut Config) -> &mut Option<u64>),
    Time(fn(&mut Config) -> &mut Duration),
    TimeCap(fn(&mut Config) -> &mut Option<Duration>),
    Text(fn(&mut Config) -> &mut String),
    Choice(fn(&mut Config) -> &mut Option<String>),
    Words(fn(&mut Config) -> &mut Vec<String>),
    Backend(fn(&mut Config) -> &mut Backend),
    Format(fn(&mut Config) -> &mut Format),
    Effort(fn(&mut Config) -> &mut Option<Effort>),
    Actions(fn(&mut Config) -> &mut Vec<ActionWord>),
    Fallback(fn(&mut Config) -> &mut Option<Backend>),
    Factor(fn(&mut Config) -> &mut Factor),
    Money(fn(&mut Config) -> &mut Usd),
    MoneyCap(fn(&mut Config) -> &mut Option<Usd>),
    BudgetAction(fn(&mut Config) -> &mut Action),
    Prices(fn(&mut Config) -> &mut Vec<Price>),
    Gates(fn(&mut Config) -> &mut Vec<Gate>),
    OnFailure(fn(&mut Config) -> &mut OnFailure),
    FlagChoice(fn(&mut Config) -> &mut Option<bool>),
    Filled(fn(&mut Config) -> &mut Option<String>),
    LogFile(fn(&mut Config) -> &mut Option<String>),
    Mode(fn(&mut Config) -> &mut Mode),
    Environment(fn(&mut Config) -> &mut Environment),
    MergeMethod(fn(&mut Config) -> &mut MergeMethod),
    CiMode(fn(&mut Config) -> &mut CiMode),
    LogLevel(fn(&mut Config) -> &mut LogLevel),
    LogFormat(fn(&mut Config) -> &mut LogFormat),
    Projects(fn(&mut Config) -> &mut Vec<Project>),
}

impl Slot {
    /// What a value must be, in a word or two.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Slot::Flag(_) | Slot::FlagChoice(_) => "flag",
            Slot::Count(_) | Slot::Cap(_) => "number",
            Slot::Size(_) | Slot::SizeCap(_) => "size",
            Slot::Time(_) | Slot::TimeCap(_) => "duration",
            Slot::Text(_) | Slot::Choice(_) | Slot::Filled(_) | Slot::LogFile(_) => "text",
            Slot::Words(_) | Slot::Prices(_) => "list of texts",
            Slot::Backend(_)
            | Slot::Fallback(_)
            | Slot::Format(_)
            | Slot::Effort(_)
            | Slot::OnFailure(_)
            | Slot::BudgetAction(_)
            | Slot::Mode(_)
            | Slot::Environment(_)
            | Slot::MergeMethod(_)
            | Slot::CiMode(_)
            | Slot::LogLevel(_)
            | Slot::LogFormat(_) => "word",
            Slot::Money(_) | Slot::MoneyCap(_) => "dollars",
            Slot::Factor(_) => "factor",
            Slot::Actions(_) => "list of words",
            Slot::Gates(_) => "list of gates",
            Slot::Projects(_) => "list of projects",
        }
    }

    /// The words a value may be, when they are few.
    pub(super) fn words(&self) -> Vec<&'static str> {
        match self {
            Slot::Backend(_) | Slot::Fallback(_) => Backend::ALL.map(Backend::as_str).to_vec(),
            Slot::Format(_) => Format::ALL.map(Format::as_str).to_vec(),
            Slot::Effort(_) => Effort::ALL.map(Effort::as_str).to_vec(),
            Slot::Actions(_) => ACTIONS.map(action_word).to_vec(),
            Slot::BudgetAction(_) => Action::ALL.map(Action::as_str).to_vec(),
            Slot::OnFailure(_) => OnFailure::ALL.map(OnFailure::as_str).to_vec(),
            Slot::Mode(_) => Mode::ALL.map(Mode::as_str).to_vec(),
            Slot::Environment(_) => Environment::ALL.map(Environment::as_str).to_vec(),
            Slot::MergeMethod(_) => MergeMethod::ALL.map(MergeMethod::as_str).to_vec(),
            Slot::CiMode(_) => CiMode::ALL.map(CiMode::as_str).to_vec(),
            Slot::LogLevel(_) => LogLevel::ALL.map(LogLevel::as_str).to_vec(),
            Slot::LogFormat(_) => LogFormat::ALL.map(LogFormat::as_str).to_vec(),
            Slot::Flag(_)
            | Slot::FlagChoice(_)
            | Slot::Filled(_)
            | Slot::LogFile(_)
            | Slot::Projects(_)
            | Slot::Count(_)
            | Slot::Cap(_)
            | Slot::Size(_)
            | Slot::SizeCap(_)
            | Slot::Time(_)
            | Slot::TimeCap(_)
            | Slot::Text(_)
            | Slot::Choice(_)
            | Slot::Words(_)
            | Slot::Gates(_)
            | Slot::Factor(_)
            | Slot::Money(_)
            | Slot::MoneyCap(_)
            | Slot::Prices(_) => Vec::new(),
        }
    }

    /// Whether a value is a list.
    pub(super) fn is_list(&self) -> bool {
        let plain = matches!(self, Slot::Words(_) | Slot::Actions(_) | Slot::Prices(_));
        plain || self.is_list_of_sections()
    }

    /// Whether it is a list of sections.
    pub(super) fn is_list_of_sections(&self) -> bool {
        matches!(self, Slot::Gates(_) | Slot::Projects(_))
    }

    /// Reads a value into a configuration.
    pub(super) fn write(&self, config: &mut Config, node: &Node) -> Result<(), Flaws> {
        match self {
            Slot::Flag(at) => *at(config) = flag(text(node, "true or false")?)?,
            Slot::Count(at) => *at(config) = count(text(node, NUMBER)?)?,
            Slot::Cap(at) => *at(config) = Some(count(text(node, NUMBER)?)?),
            Slot::Size(at) => *at(config) = bytes(text(node, SIZE)?)?,
            Slot::SizeCap(at) => *at(config) = Some(bytes(text(node, SIZE)?)?),
            Slot::Time(at) => *at(config) = time(text(node, DURATION)?)?,
            Slot::TimeCap(at) => *at(config) = Some(time(text(node, DURATION)?)?),
            Slot::Text(at) => *at(config) = line(text(node, "a text")?)?,
            Slot::Choice(at) => *at(config) = Some(line(text(node, "a text")?)?),
            Slot::Words(at) => *at(config) = list(node)?.into_iter().map(line).collect::<Result<_, _>>()?,
            Slot::Backend(at) => *at(config) = word(node, &Backend::ALL, Backend::as_str)?,
            Slot::Fallback(at) => *at(config) = Some(word(node, &Backend::ALL, Backend::as_str)?),
            Slot::Factor(at) => *at(config) = factor(text(node, FACTOR)?)?,
            Slot::Money(at) => *at(config) = money(text(node, MONEY)?)?,
            Slot::MoneyCap(at) => *at(config) = Some(money(text(node, MONEY)?)?),
            Slot::BudgetAction(at) => *at(config) = word(node, &Action::ALL, Action::as_str)?,
            Slot::Prices(at) => *at(config) = list(node)?.into_iter().map(price).collect::<Result<_, _>>()?,
            Slot::Format(at) => *at(config) = word(node, &Format::ALL, Format::as_str)?,
            Slot::Effort(at) => *at(config) = Some(word(node, &Effort::ALL, Effort::as_str)?),
            Slot::Actions(at) => {
                let words = list(node)?.into_iter().map(|scalar| choose(scalar, &ACTIONS, action_word));
                *at(config) = words.collect::<Result<_, _>>()?;
            }
            Slot::Gates(at) => *at(config) = gates::read(node)?,
            Slot::OnFailure(at) => *at(config) = word(node, &OnFailure::ALL, OnFailure::as_str)?,
            Slot::FlagChoice(at) => *at(config) = Some(flag(text(node, "true or false")?)?),
            Slot::Filled(at) => *at(config) = filled(text(node, "a text")?)?,
            Slot::LogFile(at) => *at(config) = log_file(text(node, "a path")?)?,
            Slot::Projects(at) => *at(config) = projects::read(node)?,
            Slot::Mode(at) => *at(config) = word(node, &Mode::ALL, Mode::as_str)?,
            Slot::Environment(at) => *at(config) = word(node, &Environment::ALL, Environment::as_str)?,
            Slot::MergeMethod(at) => *at(config) = word(node, &MergeMethod::ALL, MergeMethod::as_str)?,
            Slot::CiMode(at) => *at(config) = word(node, &CiMode::ALL, CiMode::as_str)?,
            Slot::LogLevel(at) => *at(config) = word(node, &LogLevel::ALL, LogLevel::as_str)?,
            Slot::LogFormat(at) => *at(config) = word(node, &LogFormat::ALL, LogFormat::as_str)?,
        }
        Ok(())
    }

    /// The value in a configuration, as JSON.
    pub(super) fn value(&self, config: &mut Config) -> Json {
        match self {
            Slot::Flag(at) => json!(*at(config)),
            Slot::Count(at) => json!(*at(config)),
            Slot::Cap(at) => json!(*at(config)),
            Slot::Size(at) => json!(size::text(*at(config))),
            Slot::SizeCap(at) => json!(at(config).map(size::text)),
            Slot::Time(at) => json!(duration::text(*at(config))),
            Slot::TimeCap(at) => json!(at(config).map(duration::text)),
            Slot::Text(at) => json!(at(config)),
            Slot::Choice(at) => json!(at(config)),
            Slot::Words(at) => json!(at(config)),
            Slot::Backend(at) => json!(at(config).as_str()),
            Slot::Fallback(at) => json!(at(config).map(Backend::as_str)),
            Slot::Factor(at) => json!(at(config).number()),
            Slot::Money(at) => dollars(*at(config)),
            Slot::MoneyCap(at) => json!(at(config).map(dollars)),
            Slot::BudgetAction(at) => json!(at(config).as_str()),
            Slot::Prices(at) => json!(at(config).iter().map(ToString::to_string).collect::<Vec<_>>()),
            Slot::Format(at) => json!(at(config).as_str()),
            Slot::Effort(at) => json!(at(config).map(Effort::as_str)),
            Slot::Actions(at) => json!(at(config).iter().map(|word| action_word(*word)).collect::<Vec<_>>()),
            Slot::Gates(at) => gates::value(at(config)),
            Slot::OnFailure(at) => json!(at(config).as_str()),
            Slot::FlagChoice(at) => json!(*at(config)),
            Slot::Filled(at) | Slot::LogFile(at) => json!(at(config)),
            Slot::Projects(at) => projects::value(at(config)),
            Slot::Mode(at) => json!(at(config).as_str()),
            Slot::Environment(at) => json!(at(config).as_str()),
            Slot::MergeMethod(at) => json!(at(config).as_str()),
            Slot::CiMode(at) => json!(at(config).as_str()),
            Slot::LogLevel(at) => json!(at(config).as_str()),
            Slot::LogFormat(at) => json!(at(config).as_str()),
        }
    }
}

/// One of a few words.
fn word<T: Copy>(node: &Node, all: &[T], name: fn(T) -> &'static str) -> Result<T, Fault> {
    choose(text(node, "a word")?, all, name)
}

const ACTIONS: [ActionWord; 3] = [ActionWord::Alert, ActionWord::Pause, ActionWord::Abort];

fn action_word(word: ActionWord) -> &'static str {
    match word {
        ActionWord::Alert => "alert",
        ActionWord::Pause => "pause",
        ActionWord::Abort => "abort",
    }
}
