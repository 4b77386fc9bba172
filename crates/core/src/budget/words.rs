//! Sentences about money.

use super::admit::{Limit, Standing};
use super::config::{BudgetAction, BudgetConfig};
use super::shortage::Shortage;
use super::usd::Usd;
use super::watch::{Reached, Which};

pub(super) fn shortage(shortage: &Shortage) -> String {
    let Shortage { limit, reserve, reserved, most, has_begun, .. } = shortage;
    let (whose, when, next, key) = match limit {
        Limit::Daily => ("today's", "today", "tomorrow at 00:00", "budget.daily_limit"),
        Limit::Monthly => {
            ("this month's", "this month", "on the first of next month at 00:00", "budget.monthly_limit")
        }
    };
    if *has_begun || shortage.spent >= *most {
        let (what, goes_on) = if *has_begun { ("Stopped", "continues") } else { ("Not started", "starts") };
        let most = most.short();
        return format!("{what}: {whose} budget ({most}) is used up. It {goes_on} {next}, or raise `{key}`.");
    }
    let (wanted, left) = (reserve.short(), shortage.left());
    let why = format!("Not started: a task like this reserves {wanted}; only {left} is left {when}");
    if shortage.is_for_good() {
        return format!("{why}, and {next} there is no more than that. Raise `{key}` to {wanted} or more.");
    }
    match *reserved {
        Usd::ZERO => format!("{why}. It starts {next}, or raise `{key}`."),
        reserved => format!(
            "{why} besides {} for running tasks. It starts when they leave enough, at the latest {next}, or raise \
             `{key}`.",
            reserved.short()
        ),
    }
}

/// What was spent of a limit, where that leads, and what happens there.
pub fn spending(limit: Limit, config: &BudgetConfig, spent: Usd, forecast: Option<Usd>) -> String {
    let (when, end) = match limit {
        Limit::Daily => ("today", "by midnight"),
        Limit::Monthly => ("this month", "by its end"),
    };
    let (spent, most) = (spent.short(), limit.most(config).short());
    let about = forecast.map_or_else(String::new, |usd| format!(" (about {} {end})", usd.short()));
    let beyond = match limit.action(config) {
        _ if !config.enabled => return format!("{spent} of {most} {when}{about}."),
        BudgetAction::Warn => "a warning",
        BudgetAction::Pause => "no new tasks",
        BudgetAction::Stop => "no new tasks, and running ones stop",
    };
    format!("{spent} of {most} {when}{about}. At the limit: {beyond}.")
}

/// Of a limit that only warns.
pub(super) fn beyond(limit: Limit, most: Usd) -> String {
    let (limit, most) = (limit.as_str(), most.short());
    format!(
        "the {limit} limit of {most} is reached; new tasks start all the same (budget.on_exceed.{limit} is warn)"
    )
}

pub(super) fn near(limit: Limit, standing: &Standing, config: &BudgetConfig) -> String {
    let (spent, most) = (limit.spent(standing), limit.most(config));
    let percent = u128::from(spent.micros()) * 100 / u128::from(most.micros()).max(1);
    let beyond = match limit.action(config) {
        BudgetAction::Warn => "beyond it you are told again",
        BudgetAction::Pause => "beyond it nothing new starts",
        BudgetAction::Stop => "beyond it everything is stopped",
    };
    format!("{spent} of the {} limit of {most} are spent ({percent} %); {beyond}", limit.as_str())
}

pub(super) fn reached(reached: &Reached) -> String {
    let Reached { which, used, cap, .. } = reached;
    let (whose, key) = match which {
        Which::TaskTokens => ("the task's", "budget.per_task.max_tokens"),
        Which::TaskTime => ("the task's", "budget.per_task.max_duration"),
        Which::TaskCost => ("the task's", "budget.per_task.max_cost"),
        Which::Day => ("today's", "budget.daily_limit"),
        Which::Month => ("this month's", "budget.monthly_limit"),
    };
    match reached.is_over() {
        true => format!("{used} are more than {whose} {cap} ({key})"),
        false => format!("{used} of {whose} {cap} are used ({key})"),
    }
}

pub(super) fn unknown_price(model: Option<&str>) -> String {
    let what = match model {
        Some(model) => {
            let model: String = model.chars().take(80).collect();
            format!("the price of the model {model:?} is not known")
        }
        None => "the agent does not say which model it uses".to_owned(),
    };
    format!("{what}, so it counts as the most expensive one; name it in budget.prices")
}
