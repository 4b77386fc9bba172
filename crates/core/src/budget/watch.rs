//! The watch over a running task.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use super::admit::{Limit, Standing};
use super::charge::Spent;
use super::config::{BudgetAction, BudgetConfig, reserve};
use super::period::Window;
use super::shortage::Shortage;
use super::usd::Usd;
use super::words;
use crate::duration;
use crate::route::Complexity;
use crate::time::Timestamp;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Which {
    TaskTokens,
    TaskTime,
    TaskCost,
    Day,
    Month,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    Tokens(u64),
    Time(Duration),
    Money(Usd),
}

impl Amount {
    fn units(self) -> u128 {
        match self {
            Amount::Tokens(count) => u128::from(count),
            Amount::Time(time) => time.as_millis(),
            Amount::Money(usd) => u128::from(usd.micros()),
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Amount::Tokens(count) => write!(f, "{count} tokens"),
            Amount::Time(time) => f.write_str(&duration::text(Duration::from_secs(time.as_secs()))),
            Amount::Money(usd) => usd.fmt(f),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetVerdict {
    /// Nothing that was not told before.
    Within,
    /// Near a cap; told once for each.
    Warn(Reached),
    /// Beyond a cap; told once for each.
    Exceeded(Reached),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reached {
    pub which: Which,
    pub used: Amount,
    pub cap: Amount,
    /// What is to happen to this run beyond it. A limit of the day or month that pauses lets what runs end, so it warns here.
    pub action: BudgetAction,
}

impl Reached {
    pub(super) fn is_over(&self) -> bool {
        self.used.units() > self.cap.units()
    }

    /// Whether the agent is to be ended for it, for good or until a person says to go on.
    pub fn ends(&self) -> bool {
        self.is_over() && self.action != BudgetAction::Warn
    }

    pub fn words(&self) -> String {
        words::reached(self)
    }

    /// What holds the task afterwards, where the limit of the day or month was reached.
    pub fn shortage(&self, size: Complexity, window: &Window) -> Option<Shortage> {
        let limit = match self.which {
            Which::Day => Limit::Daily,
            Which::Month => Limit::Monthly,
            Which::TaskTokens | Which::TaskTime | Which::TaskCost => return None,
        };
        let (Amount::Money(spent), Amount::Money(most)) = (self.used, self.cap) else { return None };
        Some(Shortage {
            limit,
            size,
            reserve: reserve::of(size),
            spent,
            reserved: Usd::ZERO,
            most,
            until: Timestamp(limit.period(window).end),
            has_begun: true,
        })
    }
}

#[derive(Clone, Debug)]
pub struct CostWatch {
    caps: Vec<CostCap>,
    warn_percent: u32,
    before: Spent,
    told: BTreeSet<(Which, bool)>,
}

#[derive(Clone, Copy, Debug)]
struct CostCap {
    which: Which,
    most: Amount,
    others: Usd,
    action: BudgetAction,
}

impl CostWatch {
    /// For a run of a task whose earlier runs took `before`; `standing` is the ledger without this run's reserve.
    pub fn new(config: &BudgetConfig, before: Spent, standing: &Standing) -> CostWatch {
        let mut caps = Vec::new();
        if config.enabled {
            let own =
                |which, most| CostCap { which, most, others: Usd::ZERO, action: config.on_exceed.per_task };
            caps.push(own(Which::TaskTokens, Amount::Tokens(u64::from(config.per_task.max_tokens))));
            caps.push(own(Which::TaskTime, Amount::Time(config.per_task.max_duration)));
            caps.extend(config.per_task.max_cost.map(|usd| own(Which::TaskCost, Amount::Money(usd))));
            caps.extend(Limit::ALL.map(|limit| {
                let which = match limit {
                    Limit::Daily => Which::Day,
                    Limit::Monthly => Which::Month,
                };
                let action = match limit.action(config) {
                    BudgetAction::Stop => BudgetAction::Stop,
                    BudgetAction::Warn | BudgetAction::Pause => BudgetAction::Warn,
                };
                CostCap { which, most: Amount::Money(limit.most(config)), others: Usd::ZERO, action }
            }));
        }
        let mut watch = CostWatch { caps, warn_percent: config.warn_percent, before, told: BTreeSet::new() };
        watch.refresh(standing);
        watch
    }

    /// The ledger has changed: other runs have ended or begun. Without this run's own reserve.
    pub fn refresh(&mut self, standing: &Standing) {
        for cap in &mut self.caps {
            match cap.which {
                Which::Day => cap.others = standing.today + standing.reserved,
                Which::Month => cap.others = standing.this_month + standing.reserved,
                Which::TaskTokens | Which::TaskTime | Which::TaskCost => {}
            }
        }
    }

    /// Judges what this run took so far, the most serious first.
    pub fn look(&mut self, spent: &Spent) -> BudgetVerdict {
        let task = self.before.plus(spent);
        let reached: Vec<Reached> = self.caps.iter().map(|cap| cap.with(&task, spent)).collect();
        let mut beyond: Vec<&Reached> = reached.iter().filter(|reached| reached.is_over()).collect();
        beyond.sort_by_key(|reached| std::cmp::Reverse(reached.action));
        for reached in beyond {
            if self.told.insert((reached.which, true)) {
                self.told.insert((reached.which, false));
                return BudgetVerdict::Exceeded(*reached);
            }
        }
        let percent = u128::from(self.warn_percent);
        let near = |reached: &&Reached| reached.used.units() * 100 >= reached.cap.units() * percent;
        for reached in reached.iter().filter(near) {
            // Of the day and the month people are told before a run starts, and when it is too late.
            let is_own = !matches!(reached.which, Which::Day | Which::Month);
            if is_own && self.told.insert((reached.which, false)) {
                return BudgetVerdict::Warn(*reached);
            }
        }
        BudgetVerdict::Within
    }

    /// The cap beyond which no further session of the run may start, if one is reached.
    pub fn ended_by(&self, spent: &Spent) -> Option<Reached> {
        let task = self.before.plus(spent);
        self.caps.iter().map(|cap| cap.with(&task, spent)).find(Reached::ends)
    }

    /// A person lets the task go on beyond the caps it has reached: they no longer count.
    pub fn lift(&mut self) {
        let told = &self.told;
        self.caps.retain(|cap| !told.contains(&(cap.which, true)));
    }
}

impl CostCap {
    fn with(&self, task: &Spent, run: &Spent) -> Reached {
        let used = match self.which {
            Which::TaskTokens => Amount::Tokens(task.tokens),
            Which::TaskTime => Amount::Time(task.time),
            Which::TaskCost => Amount::Money(task.usd),
            // Earlier runs of the task are in the ledger.
            Which::Day | Which::Month => Amount::Money(self.others + run.usd),
        };
        Reached { which: self.which, used, cap: self.most, action: self.action }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{BudgetAction, BudgetConfig, BudgetVerdict, CostWatch, Spent, Standing, Usd, Which};

    fn spent(tokens: u64, minutes: u64, dollars: f64) -> Spent {
        Spent { tokens, usd: Usd::from_dollars(dollars).unwrap(), time: Duration::from_secs(60 * minutes) }
    }

    fn capped() -> BudgetConfig {
        let mut config = BudgetConfig::default();
        config.per_task.max_cost = Some(Usd::from_dollars(2.0).unwrap());
        config
    }

    fn verdict(verdict: BudgetVerdict) -> String {
        match verdict {
            BudgetVerdict::Within => "within".to_owned(),
            BudgetVerdict::Warn(reached) => format!("warn {:?}", reached.which),
            BudgetVerdict::Exceeded(reached) => format!("{} {:?}", reached.action.as_str(), reached.which),
        }
    }

    fn looks(watch: &mut CostWatch, spent: &Spent) -> String {
        verdict(watch.look(spent))
    }

    #[test]
    fn each_cap_warns_once_and_ends_once() {
        for (at, expect) in [
            (spent(399_999, 47, 1.59), &["within"][..]),
            (spent(400_000, 0, 0.0), &["warn TaskTokens", "within"]),
            (spent(500_000, 0, 0.0), &["warn TaskTokens", "within"]),
            (spent(500_001, 0, 0.0), &["stop TaskTokens", "within"]),
            (spent(0, 48, 0.0), &["warn TaskTime", "within"]),
            (spent(0, 61, 0.0), &["stop TaskTime", "within"]),
            (spent(0, 0, 1.6), &["warn TaskCost", "within"]),
            (spent(0, 0, 2.01), &["stop TaskCost", "within"]),
            (spent(400_000, 61, 0.0), &["stop TaskTime", "warn TaskTokens", "within"]),
        ] {
            let mut watch = CostWatch::new(&capped(), Spent::default(), &Standing::default());
            let got: Vec<String> = expect.iter().map(|_| looks(&mut watch, &at)).collect();
            assert_eq!(got, expect, "{at:?}");
        }
    }

    #[test]
    fn earlier_runs_of_the_task_count() {
        let mut watch = CostWatch::new(&capped(), spent(450_000, 10, 1.0), &Standing::default());
        assert_eq!(looks(&mut watch, &spent(0, 0, 0.0)), "warn TaskTokens");
        assert_eq!(looks(&mut watch, &spent(50_001, 0, 0.0)), "stop TaskTokens");
    }

    #[test]
    fn a_limit_that_stops_ends_what_runs_and_one_that_pauses_does_not() {
        let usd = |dollars| Usd::from_dollars(dollars).unwrap();
        let standing = Standing { today: usd(45.0), this_month: usd(495.0), reserved: usd(1.0) };
        let mut watch = CostWatch::new(&BudgetConfig::default(), Spent::default(), &standing);
        assert_eq!(looks(&mut watch, &spent(0, 0, 3.9)), "within");
        assert_eq!(looks(&mut watch, &spent(0, 0, 4.1)), "stop Month");
        assert_eq!(looks(&mut watch, &spent(0, 0, 4.2)), "warn Day");
        assert_eq!(looks(&mut watch, &spent(0, 0, 9.0)), "within");
        let mut watch = CostWatch::new(&BudgetConfig::default(), Spent::default(), &Standing::default());
        assert_eq!(looks(&mut watch, &spent(0, 0, 4.1)), "within");
        watch.refresh(&standing);
        assert_eq!(looks(&mut watch, &spent(0, 0, 4.1)), "stop Month");
    }

    #[test]
    fn the_actions_are_those_configured() {
        for action in BudgetAction::ALL {
            let mut config = capped();
            config.on_exceed.per_task = action;
            let mut watch = CostWatch::new(&config, Spent::default(), &Standing::default());
            assert_eq!(looks(&mut watch, &spent(500_001, 0, 0.0)), format!("{} TaskTokens", action.as_str()));
            for (tokens, ends) in [(400_000, false), (500_001, action != BudgetAction::Warn)] {
                let mut watch = CostWatch::new(&config, Spent::default(), &Standing::default());
                let (BudgetVerdict::Warn(reached) | BudgetVerdict::Exceeded(reached)) =
                    watch.look(&spent(tokens, 0, 0.0))
                else {
                    panic!("within")
                };
                assert_eq!(reached.ends(), ends, "{action:?} {tokens}");
            }
        }
        let off = BudgetConfig { enabled: false, ..capped() };
        let mut watch = CostWatch::new(&off, Spent::default(), &Standing::default());
        assert_eq!(looks(&mut watch, &spent(u64::MAX, 1_000_000, 1e6)), "within");
    }

    #[test]
    fn a_person_can_lift_what_was_reached_and_nothing_else() {
        let mut watch = CostWatch::new(&capped(), Spent::default(), &Standing::default());
        assert_eq!(looks(&mut watch, &spent(600_000, 0, 0.0)), "stop TaskTokens");
        watch.lift();
        assert_eq!(looks(&mut watch, &spent(9_000_000, 0, 0.0)), "within");
        assert_eq!(looks(&mut watch, &spent(9_000_000, 0, 5.0)), "stop TaskCost");
    }

    #[test]
    fn a_sentence_names_the_cap_and_how_to_raise_it() {
        let mut watch = CostWatch::new(&capped(), Spent::default(), &Standing::default());
        let BudgetVerdict::Exceeded(reached) = watch.look(&spent(512_000, 0, 0.0)) else { panic!("within") };
        assert_eq!(reached.which, Which::TaskTokens);
        assert_eq!(
            reached.words(),
            "512000 tokens are more than the task's 500000 tokens (budget.per_task.max_tokens)"
        );
        let BudgetVerdict::Warn(reached) = watch.look(&spent(512_000, 50, 0.0)) else { panic!("within") };
        assert_eq!(reached.words(), "50m of the task's 1h are used (budget.per_task.max_duration)");
        let BudgetVerdict::Exceeded(reached) = watch.look(&spent(0, 0, 51.0)) else { panic!("within") };
        assert_eq!(reached.words(), "$51.00 are more than the task's $2.00 (budget.per_task.max_cost)");
        let BudgetVerdict::Exceeded(reached) = watch.look(&spent(0, 0, 51.0)) else { panic!("within") };
        assert_eq!(reached.words(), "$51.00 are more than today's $50.00 (budget.daily_limit)");
    }
}
