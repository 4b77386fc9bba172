//! The decision before a run starts.

use super::config::{BudgetAction, BudgetConfig};
use super::usd::Usd;
use super::words;
use crate::text::word_enum;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    pub today: Usd,
    /// Charged this month, today included.
    pub this_month: Usd,
    pub reserved: Usd,
}

word_enum! {
    /// A limit over many runs.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
    /// Not now: it is held until the limit is raised or the day or month is over.
    Hold {
        why: String,
    },
    Refuse {
        why: String,
    },
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

/// Decides whether a run may start for which `reserve` is wanted. What is charged, what is reserved for others and this
/// reserve must fit together; of two limits that are reached the stricter action holds.
pub fn admit(config: &BudgetConfig, standing: &Standing, reserve: Usd) -> BudgetAdmission {
    let reserve = config.per_task.max_cost.map_or(reserve, |cap| reserve.min(cap));
    if !config.enabled {
        return BudgetAdmission::Go { reserve, warnings: Vec::new() };
    }
    let mut warnings = Vec::new();
    let mut refused: Option<(BudgetAction, String)> = None;
    for limit in Limit::ALL {
        let (most, action) = (limit.most(config), limit.action(config));
        let with_it = limit.spent(standing) + standing.reserved + reserve;
        if with_it > most {
            let words = words::beyond(limit, standing, reserve, config);
            match action {
                BudgetAction::Warn => warnings.push(Warning { limit, level: BudgetLevel::Over, words }),
                BudgetAction::Pause | BudgetAction::Stop
                    if refused.as_ref().is_none_or(|(other, _)| *other < action) =>
                {
                    refused = Some((action, words));
                }
                BudgetAction::Pause | BudgetAction::Stop => {}
            }
        } else if is_near(limit.spent(standing), most, config.warn_percent) {
            let words = words::near(limit, standing, config);
            warnings.push(Warning { limit, level: BudgetLevel::Near, words });
        }
    }
    match refused {
        None => BudgetAdmission::Go { reserve, warnings },
        Some((BudgetAction::Warn | BudgetAction::Pause, why)) => BudgetAdmission::Hold { why },
        Some((BudgetAction::Stop, why)) => BudgetAdmission::Refuse { why },
    }
}

pub(super) fn is_near(spent: Usd, most: Usd, percent: u32) -> bool {
    u128::from(spent.micros()) * 100 >= u128::from(most.micros()) * u128::from(percent)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{BudgetAction, BudgetAdmission, BudgetConfig, BudgetLevel, Limit, Standing, Usd, admit};
    use crate::budget::reserve;

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
    fn decided(config: &BudgetConfig, standing: Standing, reserve: Usd) -> String {
        match admit(config, &standing, reserve) {
            BudgetAdmission::Go { warnings, .. } => {
                let told: Vec<String> = warnings
                    .iter()
                    .map(|warning| format!(" {} {}", warning.limit.as_str(), warning.level.as_str()))
                    .collect();
                format!("go{}", told.join(","))
            }
            BudgetAdmission::Hold { .. } => "hold".to_owned(),
            BudgetAdmission::Refuse { .. } => "refuse".to_owned(),
        }
    }

    #[test]
    fn limits_actions_and_reserves() {
        use BudgetAction::{Pause, Stop, Warn};
        let ordinary = (Pause, Stop);
        for ((daily, monthly), today, month, reserved, reserve, expect) in [
            (ordinary, 0.0, 0.0, 0.0, reserve::COMPLEX, "go"),
            (ordinary, 39.99, 39.99, 0.0, reserve::SIMPLE, "go"),
            (ordinary, 40.0, 40.0, 0.0, reserve::SIMPLE, "go daily near"),
            (ordinary, 40.0, 400.0, 0.0, reserve::SIMPLE, "go daily near, monthly near"),
            // 49.25 + 0.75 is exactly the limit.
            (ordinary, 49.25, 49.25, 0.0, reserve::MEDIUM, "go daily near"),
            (ordinary, 49.25, 49.25, 0.01, reserve::MEDIUM, "hold"),
            (ordinary, 49.99, 49.99, 0.0, reserve::TRIVIAL, "hold"),
            // Runs that run count, though nothing is charged yet.
            (ordinary, 0.0, 0.0, 48.0, reserve::COMPLEX, "hold"),
            (ordinary, 0.0, 499.9, 0.0, reserve::MEDIUM, "refuse"),
            (ordinary, 60.0, 600.0, 0.0, reserve::TRIVIAL, "refuse"),
            ((Stop, Pause), 60.0, 600.0, 0.0, reserve::TRIVIAL, "refuse"),
            ((Pause, Pause), 60.0, 600.0, 0.0, reserve::TRIVIAL, "hold"),
            ((Warn, Stop), 60.0, 60.0, 0.0, reserve::TRIVIAL, "go daily over"),
            ((Warn, Warn), 60.0, 600.0, 0.0, reserve::TRIVIAL, "go daily over, monthly over"),
            ((Warn, Pause), 60.0, 600.0, 0.0, reserve::TRIVIAL, "hold"),
        ] {
            let got = decided(&config(daily, monthly), standing(today, month, reserved), reserve);
            assert_eq!(got, expect, "{daily:?} {monthly:?} {today} {month} {reserved} {reserve}");
        }
    }

    #[test]
    fn a_reason_names_the_numbers_and_the_next_step() {
        let BudgetAdmission::Hold { why } =
            admit(&BudgetConfig::default(), &standing(48.5, 120.0, 1.0), reserve::MEDIUM)
        else {
            panic!("not so")
        };
        assert_eq!(
            why,
            "the daily limit is reached: $48.50 spent, $1.00 reserved for running tasks and $0.75 for this one are more \
             than $50.00; wait for tomorrow, or raise budget.daily_limit"
        );
        let BudgetAdmission::Refuse { why } =
            admit(&BudgetConfig::default(), &standing(0.0, 500.0, 0.0), reserve::MEDIUM)
        else {
            panic!("not so")
        };
        assert_eq!(
            why,
            "the monthly limit is reached: $500.00 spent and $0.75 for this one are more than $500.00; wait for next month, \
             or raise budget.monthly_limit"
        );
        let BudgetAdmission::Go { warnings, .. } =
            admit(&BudgetConfig::default(), &standing(41.0, 41.0, 0.0), reserve::MEDIUM)
        else {
            panic!("not so")
        };
        assert_eq!(
            warnings[0].words,
            "$41.00 of the daily limit of $50.00 are spent (82 %); beyond it nothing new starts"
        );
        assert_eq!((warnings[0].limit, warnings[0].level), (Limit::Daily, BudgetLevel::Near));
    }

    #[test]
    fn a_cap_of_the_task_bounds_its_reserve_and_a_budget_that_is_off_lets_everything_go() {
        let mut config = BudgetConfig::default();
        config.per_task.max_cost = Some(usd(1.0));
        let at = standing(48.5, 48.5, 0.0);
        let BudgetAdmission::Go { reserve, .. } = admit(&config, &at, reserve::COMPLEX) else {
            panic!("held")
        };
        assert_eq!(reserve, usd(1.0));
        config.enabled = false;
        assert_eq!(decided(&config, standing(1e6, 1e6, 1e6), reserve::COMPLEX), "go");
    }

    proptest! {
        /// Whatever was charged and reserved: who is let in fits, unless the action only warns.
        #[test]
        fn no_run_is_admitted_beyond_an_enforced_limit(
            today in 0_u64..100_000_000, before in 0_u64..600_000_000, reserved in 0_u64..60_000_000,
            reserve in 0_u64..5_000_000,
        ) {
            let standing = Standing {
                today: Usd::from_micros(today),
                this_month: Usd::from_micros(today + before),
                reserved: Usd::from_micros(reserved),
            };
            let config = BudgetConfig::default();
            if let BudgetAdmission::Go { reserve, .. } = admit(&config, &standing, Usd::from_micros(reserve)) {
                prop_assert!(standing.today + standing.reserved + reserve <= config.daily_limit);
                prop_assert!(standing.this_month + standing.reserved + reserve <= config.monthly_limit);
            }
        }
    }
}
