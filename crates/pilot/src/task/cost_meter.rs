//! What a run costs: the sum over its sessions, judged by the core.

use std::time::Duration;

use pilot_core::budget::{
    BudgetConfig, BudgetVerdict, Charge, CostWatch, Prices, Reached, Spent, Standing, charge,
};
use pilot_core::stream::RunUsage;

pub(crate) struct CostMeter {
    watch: CostWatch,
    prices: Prices,
    /// The charge of the sessions that are over.
    before: Option<Charge>,
    now: Option<Charge>,
    /// When this session began, since the run did.
    began: Duration,
    /// The requested model; the agent's own report wins.
    model: Option<String>,
}

impl CostMeter {
    /// For a task whose earlier runs spent `spent`; `before` was charged before the first session.
    pub(crate) fn new(
        config: &BudgetConfig,
        spent: Spent,
        standing: &Standing,
        before: Option<Charge>,
    ) -> CostMeter {
        CostMeter {
            watch: CostWatch::new(config, spent, standing),
            prices: Prices::new(&config.prices),
            before,
            now: None,
            began: Duration::ZERO,
            model: None,
        }
    }

    pub(crate) fn begin_session(&mut self, model: Option<&str>, at: Duration) {
        self.before = self.charge();
        self.now = None;
        self.began = at;
        self.model = model.map(str::to_owned);
    }

    pub(crate) fn update(&mut self, used: &RunUsage, model: Option<&str>, at: Duration) -> BudgetVerdict {
        let model = model.or(self.model.as_deref());
        self.now = Some(charge(used, model, &self.prices, at.saturating_sub(self.began)));
        let spent = self.charge().map(|charge| charge.spent).unwrap_or_default();
        self.watch.look(&spent)
    }

    pub(crate) fn charge(&self) -> Option<Charge> {
        match (self.before, self.now) {
            (Some(before), Some(now)) => {
                Some(Charge { spent: before.spent.plus(&now.spent), basis: before.basis.max(now.basis) })
            }
            (before, now) => before.or(now),
        }
    }

    /// The cap that lets no further session of the run start, if one is reached.
    pub(crate) fn ended_by(&self) -> Option<Reached> {
        self.watch.ended_by(&self.charge().map(|charge| charge.spent).unwrap_or_default())
    }

    /// What others have spent meanwhile.
    pub(crate) fn refresh(&mut self, standing: &Standing) {
        self.watch.refresh(standing);
    }

    /// The user resumed the run beyond the limit it reached.
    pub(crate) fn lift_limit(&mut self) {
        self.watch.lift();
    }
}
