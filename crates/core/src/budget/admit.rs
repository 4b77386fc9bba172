//! The decision before a run starts.

use serde::{Deserialize, Serialize};

use super::config::{BudgetAction, BudgetConfig, reserve};
use super::period::{Period, Window};
use super::shortage::Shortage;
use super::usd::Usd;
use super::words;
use crate::route::Complexity;
use crate::text::word_enum;
use crate::time::Timestamp;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    pub today: Usd,
    /// Charged this month, today included.
    pub this_month: Usd,
    pub reserved: Usd,
}

word_enum! {
    /// A limit over many runs.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Limit {
        Daily = "daily",
        Monthly = "monthly",
    }
}

impl Limit {
    pub fn most(self, config: &BudgetConfig) -> Usd {
        match self {
            Limit::Daily => config.daily_limit,
            Limit::Monthly => config.monthly_limit,
        }
    }

    pub fn action(self, config: &BudgetConfig) -> BudgetAction {
        match self {
            Limit::Daily => config.on_exceed.daily,
            Limit::Monthly => config.on_exceed.monthly,
        }
    }

    pub fn period(self, window: &Window) -> &Period {
        match self {
            Limit::Daily => &window.day,
            Limit::Monthly => &window.month,
        }
    }

    pub fn spent(self, standing: &Standing) -> Usd {
        match self {
            Limit::Daily => standing.today,
            Limit::Monthly => standing.this_month,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BudgetAdmission {
    Go {
        reserve: Usd,
        warnings: Vec<Warning>,
    },
    /// Not now; what runs may end.
    Hold(Shortage),
    /// Not now, and what runs is ended.
    Refuse(Shortage),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    pub limit: Limit,
    pub level: BudgetLevel,
    pub words: String,
}

word_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum BudgetLevel {
        /// Beyond the part at which people are warned.
        Near = "near",
        /// Beyond the limit itself.
        Over = "over",
    }
}

/// Decides whether a run of this size may start: the question of daemon and worker alike. What is charged, what is reserved
/// for others and its own reserve must fit together; of two limits that are reached the stricter action holds.
pub fn admit(
    config: &BudgetConfig,
    standing: &Standing,
    window: &Window,
    size: Complexity,
) -> BudgetAdmission {
    let reserve = reserve::of(size);
    let reserve = config.per_task.max_cost.map_or(reserve, |cap| reserve.min(cap));
    if !config.enabled {
        return BudgetAdmission::Go { reserve, warnings: Vec::new() };
    }
    let mut warnings = Vec::new();
    let mut short: Vec<(BudgetAction, Shortage)> = Vec::new();
    for limit in Limit::ALL {
        let (most, spent, action) = (limit.most(config), limit.spent(standing), limit.action(config));
        if spent + standing.reserved + reserve > most {
            let (reserved, until) = (standing.reserved, Timestamp(limit.period(window).end));
            let shortage = Shortage { limit, size, reserve, spent, reserved, most, until, has_begun: false };
            match action {
                BudgetAction::Warn => {
                    let words = words::beyond(limit, most);
                    warnings.push(Warning { limit, level: BudgetLevel::Over, words });
                }
                BudgetAction::Pause | BudgetAction::Stop => short.push((action, shortage)),
            }
        } else if is_near(spent, most, config.warn_percent) {
            let words = words::near(limit, standing, config);
            warnings.push(Warning { limit, level: BudgetLevel::Near, words });
        }
    }
    let action = short.iter().map(|(action, _)| *action).max();
    // People are told of the one that lasts longer.
    let longest = short.into_iter().map(|(_, shortage)| shortage);
    let longest = longest.max_by_key(|shortage| (shortage.is_for_good(), shortage.until));
    match (action, longest) {
        (Some(BudgetAction::Stop), Some(shortage)) => BudgetAdmission::Refuse(shortage),
        (Some(BudgetAction::Warn | BudgetAction::Pause), Some(shortage)) => BudgetAdmission::Hold(shortage),
        (_, _) => BudgetAdmission::Go { reserve, warnings },
    }
}

pub(super) fn is_near(spent: Usd, most: Usd, percent: u32) -> bool {
    u128::from(spent.micros()) * 100 >= u128::from(most.micros()) * u128::from(percent)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        BudgetAction, BudgetAdmission, BudgetConfig, BudgetLevel, Complexity, Limit, Period, Standing,
        Timestamp, Usd, Window, admit, reserve,
    };

    const WINDOW: Window = Window { day: Period { start: 0, end: 10 }, month: Period { start: 0, end: 300 } };

    fn usd(dollars: f64) -> Usd {
        Usd::from_dollars(dollars).unwrap()
    }

    fn standing(today: f64, this_month: f64, reserved: f64) -> Standing {
        Standing { today: usd(today), this_month: usd(this_month), reserved: usd(reserved) }
    }

    fn config(daily: BudgetAction, monthly: BudgetAction) -> BudgetConfig {
        let mut config = BudgetConfig::default();
        config.on_exceed.daily = daily;
        config.on_exceed.monthly = monthly;
        config
    }

    /// `go`, `hold` or `refuse`, and which warnings.
    fn decided(config: &BudgetConfig, standing: Standing, size: Complexity) -> String {
        match admit(config, &standing, &WINDOW, size) {
            BudgetAdmission::Go { warnings, .. } => {
                let told: Vec<String> = warnings
                    .iter()
                    .map(|warning| format!(" {} {}", warning.limit.as_str(), warning.level.as_str()))
                    .collect();
                format!("go{}", told.join(","))
            }
            BudgetAdmission::Hold(_) => "hold".to_owned(),
            BudgetAdmission::Refuse(_) => "refuse".to_owned(),
        }
    }

    #[test]
    fn limits_actions_and_reserves() {
        use BudgetAction::{Pause, Stop, Warn};
        use Complexity::{Complex, Medium, Simple, Trivial};
        let ordinary = (Pause, Stop);
        for ((daily, monthly), today, month, reserved, size, expect) in [
            (ordinary, 0.0, 0.0, 0.0, Complex, "go"),
            (ordinary, 39.99, 39.99, 0.0, Simple, "go"),
            (ordinary, 40.0, 40.0, 0.0, Simple, "go daily near"),
            (ordinary, 40.0, 400.0, 0.0, Simple, "go daily near, monthly near"),
            // 49.25 + 0.75 is exactly the limit.
            (ordinary, 49.25, 49.25, 0.0, Medium, "go daily near"),
            (ordinary, 49.25, 49.25, 0.01, Medium, "hold"),
            (ordinary, 49.99, 49.99, 0.0, Trivial, "hold"),
            // Runs that run count, though nothing is charged yet.
            (ordinary, 0.0, 0.0, 48.0, Complex, "hold"),
            (ordinary, 0.0, 499.9, 0.0, Medium, "refuse"),
            (ordinary, 60.0, 600.0, 0.0, Trivial, "refuse"),
            ((Stop, Pause), 60.0, 600.0, 0.0, Trivial, "refuse"),
            ((Pause, Pause), 60.0, 600.0, 0.0, Trivial, "hold"),
            ((Warn, Stop), 60.0, 60.0, 0.0, Trivial, "go daily over"),
            ((Warn, Warn), 60.0, 600.0, 0.0, Trivial, "go daily over, monthly over"),
            ((Warn, Pause), 60.0, 600.0, 0.0, Trivial, "hold"),
        ] {
            let got = decided(&config(daily, monthly), standing(today, month, reserved), size);
            assert_eq!(got, expect, "{daily:?} {monthly:?} {today} {month} {reserved} {size}");
        }
    }

    #[test]
    fn the_shortage_that_lasts_longest_is_told() {
        let config = config(BudgetAction::Pause, BudgetAction::Pause);
        for (today, month, limit, until) in [
            (49.9, 120.0, Limit::Daily, 10),
            (0.0, 500.0, Limit::Monthly, 300),
            (50.0, 500.0, Limit::Monthly, 300),
        ] {
            let admission = admit(&config, &standing(today, month, 0.25), &WINDOW, Complexity::Medium);
            let BudgetAdmission::Hold(shortage) = admission else { panic!("not so") };
            assert_eq!((shortage.limit, shortage.until), (limit, Timestamp(until)));
            assert_eq!((shortage.reserve, shortage.reserved), (reserve::MEDIUM, usd(0.25)));
        }
    }

    #[test]
    fn warnings_name_the_numbers() {
        let warned = |config: &BudgetConfig, today| {
            let admission = admit(config, &standing(today, today, 0.0), &WINDOW, Complexity::Medium);
            let BudgetAdmission::Go { warnings, .. } = admission else { panic!("not so") };
            (warnings[0].limit, warnings[0].level, warnings[0].words.clone())
        };
        let near = "$41.00 of the daily limit of $50.00 are spent (82 %); beyond it nothing new starts";
        assert_eq!(
            warned(&BudgetConfig::default(), 41.0),
            (Limit::Daily, BudgetLevel::Near, near.to_owned())
        );
        let over = "the daily limit of $50 is reached; new tasks start all the same (budget.on_exceed.daily is warn)";
        assert_eq!(
            warned(&config(BudgetAction::Warn, BudgetAction::Stop), 60.0),
            (Limit::Daily, BudgetLevel::Over, over.to_owned())
        );
    }

    #[test]
    fn a_cap_of_the_task_bounds_its_reserve_and_a_budget_that_is_off_lets_everything_go() {
        let mut config = BudgetConfig::default();
        config.per_task.max_cost = Some(usd(1.0));
        let at = standing(48.5, 48.5, 0.0);
        let BudgetAdmission::Go { reserve, .. } = admit(&config, &at, &WINDOW, Complexity::Complex) else {
            panic!("held")
        };
        assert_eq!(reserve, usd(1.0));
        config.enabled = false;
        assert_eq!(decided(&config, standing(1e6, 1e6, 1e6), Complexity::Complex), "go");
    }

    proptest! {
        /// Whatever was charged and reserved: who is let in fits, unless the action only warns.
        #[test]
        fn no_run_is_admitted_beyond_an_enforced_limit(
            today in 0_u64..100_000_000, before in 0_u64..600_000_000, reserved in 0_u64..60_000_000,
            size in 0_usize..5,
        ) {
            let standing = Standing {
                today: Usd::from_micros(today),
                this_month: Usd::from_micros(today + before),
                reserved: Usd::from_micros(reserved),
            };
            let config = BudgetConfig::default();
            if let BudgetAdmission::Go { reserve, .. } = admit(&config, &standing, &WINDOW, Complexity::ALL[size]) {
                prop_assert!(standing.today + standing.reserved + reserve <= config.daily_limit);
                prop_assert!(standing.this_month + standing.reserved + reserve <= config.monthly_limit);
            }
        }
    }
}
