//! What a run may still spend. The core judges; this keeps the sums of its sessions.

use std::time::Duration;

use pilot_core::budget::{BudgetConfig, Charge, Prices, Spent, Standing, Verdict, Watch, charge};
use pilot_core::stream::RunUsage;

/// The purse of a run.
pub(crate) struct Purse {
    watch: Watch,
    prices: Prices,
    /// What the sessions that are over were charged.
    before: Option<Charge>,
    now: Option<Charge>,
    /// When this session began, since the run did.
    began: Duration,
    /// The model that was asked for, unless the agent tells another.
    model: Option<String>,
}

impl Purse {
    /// For a run of a task whose earlier runs took `before`, and for which `asked` was paid before its first session.
    pub(crate) fn new(
        config: &BudgetConfig,
        before: Spent,
        standing: &Standing,
        asked: Option<Charge>,
    ) -> Purse {
        Purse {
            watch: Watch::new(config, before, standing),
            prices: Prices::new(&config.prices),
            before: asked,
            now: None,
            began: Duration::ZERO,
            model: None,
        }
    }

    /// A session begins.
    pub(crate) fn begin(&mut self, model: Option<&str>, at: Duration) {
        self.before = self.charge();
        self.now = None;
        self.began = at;
        self.model = model.map(str::to_owned);
    }

    /// Charges what the session used so far, and judges.
    pub(crate) fn look(&mut self, used: &RunUsage, model: Option<&str>, at: Duration) -> Verdict {
        let model = model.or(self.model.as_deref());
        let time = at.saturating_sub(self.began);
        self.now = Some(charge(used, model, &self.prices, time));
        let spent = self.charge().map(|charge| charge.spent).unwrap_or_default();
        self.watch.look(&spent)
    }

    /// What the run is charged so far.
    pub(crate) fn charge(&self) -> Option<Charge> {
        match (self.before, self.now) {
            (Some(before), Some(now)) => {
                Some(Charge { spent: before.spent.plus(&now.spent), basis: before.basis.max(now.basis) })
            }
            (before, now) => before.or(now),
        }
    }

    /// A person lets the run go on beyond what it has reached.
    pub(crate) fn lift(&mut self) {
        self.watch.lift();
    }
}
