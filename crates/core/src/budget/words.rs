//! Sentences about money.

use super::admit::{Limit, Standing};
use super::config::{BudgetAction, BudgetConfig};
use super::usd::Usd;
use super::watch::{Reached, Which};

pub(super) fn beyond(limit: Limit, standing: &Standing, reserve: Usd, config: &BudgetConfig) -> String {
    let (name, when) = match limit {
        Limit::Daily => ("daily", "tomorrow"),
        Limit::Monthly => ("monthly", "next month"),
    };
    let spent = limit.spent(standing);
    let running = match standing.reserved {
        Usd::ZERO => String::new(),
        reserved => format!(", {reserved} reserved for running tasks"),
    };
    format!(
        "the {name} limit is reached: {spent} spent{running} and {reserve} for this one are more than {}; wait for {when}, \
         or raise budget.{name}_limit",
        limit.most(config)
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
