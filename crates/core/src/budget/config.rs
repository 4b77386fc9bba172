//! What may be spent, and what happens beyond: the section `budget`.

use std::time::Duration;

use super::price::Price;
use super::usd::Usd;

/// What is reserved while a run runs, by how hard its task is; an epic is complex.
pub mod reserve {
    use super::Usd;

    /// For a trivial task.
    pub const TRIVIAL: Usd = Usd::from_micros(20_000);
    /// For a simple task.
    pub const SIMPLE: Usd = Usd::from_micros(200_000);
    /// For a task of medium size, and for one of which nothing is known.
    pub const MEDIUM: Usd = Usd::from_micros(750_000);
    /// For a complex task.
    pub const COMPLEX: Usd = Usd::from_micros(3_000_000);
}

/// The section, with the settled numbers as defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetConfig {
    /// Whether limits hold at all. What is spent is written down all the same.
    pub enabled: bool,
    /// For all runs of a day.
    pub daily_limit: Usd,
    /// For all runs of a month.
    pub monthly_limit: Usd,
    /// For one task.
    pub per_task: PerTask,
    /// What happens beyond each.
    pub on_exceed: OnExceed,
    /// At which part of a limit people are warned.
    pub warn_percent: u32,
    /// Prices that come before our own.
    pub prices: Vec<Price>,
}

/// The caps of one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerTask {
    /// Tokens that are not read from a cache.
    pub max_tokens: u32,
    /// For how long its agents may run together.
    pub max_duration: Duration,
    /// Money; none is no cap but those of the day and the month.
    pub max_cost: Option<Usd>,
}

/// What happens beyond each limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnExceed {
    /// Beyond the day's.
    pub daily: Action,
    /// Beyond the month's.
    pub monthly: Action,
    /// Beyond a task's caps.
    pub per_task: Action,
}

/// What happens beyond a limit, the mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// People are told, and everything goes on.
    Warn,
    /// What runs may end, nothing new starts; a task beyond its own caps is held for a person.
    Pause,
    /// What runs is ended with its work kept, nothing new starts.
    Stop,
}

impl Action {
    /// All of them.
    pub const ALL: [Action; 3] = [Action::Warn, Action::Pause, Action::Stop];

    /// The name as it is configured.
    pub fn as_str(self) -> &'static str {
        match self {
            Action::Warn => "warn",
            Action::Pause => "pause",
            Action::Stop => "stop",
        }
    }
}

impl Default for BudgetConfig {
    fn default() -> BudgetConfig {
        BudgetConfig {
            enabled: true,
            daily_limit: Usd::from_micros(50_000_000),
            monthly_limit: Usd::from_micros(500_000_000),
            per_task: PerTask {
                max_tokens: 500_000,
                max_duration: Duration::from_secs(60 * 60),
                max_cost: None,
            },
            on_exceed: OnExceed { daily: Action::Pause, monthly: Action::Stop, per_task: Action::Stop },
            warn_percent: 80,
            prices: Vec::new(),
        }
    }
}
