//! What may be spent, and what happens beyond: the section `budget`.

use std::time::Duration;

use super::price::Price;
use super::usd::Usd;
use crate::config::{Row, key_row, section};
use crate::text::word_enum;

/// What is reserved while a run runs, by how hard its task is; an epic is complex.
pub mod reserve {
    use super::Usd;
    use crate::route::Complexity;

    pub const TRIVIAL: Usd = Usd::from_micros(20_000);
    pub const SIMPLE: Usd = Usd::from_micros(200_000);
    /// For a task of medium size, and for one of which nothing is known.
    pub const MEDIUM: Usd = Usd::from_micros(750_000);
    pub const COMPLEX: Usd = Usd::from_micros(3_000_000);

    pub fn of(size: Complexity) -> Usd {
        match size {
            Complexity::Trivial => TRIVIAL,
            Complexity::Simple => SIMPLE,
            Complexity::Medium => MEDIUM,
            Complexity::Complex | Complexity::Epic => COMPLEX,
        }
    }
}

section! {
    pub struct BudgetConfig at (budget) {
        /// Whether limits are enforced; costs are recorded in any case.
        user enabled: bool = true;
        /// Dollars for all runs of a day, from midnight to midnight where you are.
        user daily_limit: Usd = Usd::from_micros(50_000_000);
        /// Dollars for all runs of a month.
        user monthly_limit: Usd = Usd::from_micros(500_000_000);
        section per_task: PerTask = PerTask::default();
        section on_exceed: OnExceed = OnExceed::default();
        keys warn_percent: u32 = 80, WARN_PERCENT;
        /// Prices of models that come before our own, each as in `sonnet 3/15/0.3/3.75`: dollars for a million tokens of
        /// input, output, cache read, cache write.
        user prices: Vec<Price> = Vec::new();
    }
}

const WARN_PERCENT: &[Row] = &[key_row!(user "budget.thresholds.warn_percent", budget.warn_percent,
    "The part of a limit or cap at which people are warned.")];

section! {
    /// The caps of one task.
    pub struct PerTask at (budget.per_task) {
        /// Tokens one task may use, not counting cache reads.
        user max_tokens: u32 = 500_000;
        /// How long the agents of one task may run together.
        user max_duration: Duration = Duration::from_mins(60);
        /// Dollars one task may cost; unset is no cap of its own.
        user max_cost: Option<Usd> = None;
    }
}

section! {
    /// What happens beyond each limit.
    pub struct OnExceed at (budget.on_exceed) {
        /// What happens beyond the daily limit: `warn` only warns, `pause` starts no new runs, `stop` also ends running ones.
        user daily: BudgetAction = BudgetAction::Pause;
        /// What happens beyond the monthly limit.
        user monthly: BudgetAction = BudgetAction::Stop;
        /// What happens to a task beyond its caps: `warn` only warns, `pause` holds it for a person, `stop` ends it and
        /// keeps its work.
        user per_task: BudgetAction = BudgetAction::Stop;
    }
}

word_enum! {
    /// What happens beyond a limit, the mildest first.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum BudgetAction {
        /// The user is warned, and runs continue.
        Warn = "warn",
        /// What runs may end, nothing new starts; a task beyond its own caps is held for a person.
        Pause = "pause",
        /// What runs is ended with its work kept, nothing new starts.
        Stop = "stop",
    }
}
