//! What an agent's attempt at a step may cost: it is admitted, watched and charged like a run.

use std::time::Duration;

use pilot_core::budget::{
    self, BudgetAdmission, BudgetConfig, BudgetVerdict, CostWatch, Prices, Shortage, Spent, Standing, charge,
};
use pilot_core::outcome::StreamFacts;
use pilot_core::route::Complexity;
use pilot_store::{Applicant, RunId, Store};

use crate::agent::recover;
use crate::calendar::Calendar;
use crate::clock::{self, Stopwatch};

/// What the ledger calls the steps of a pipeline.
const TASK: &str = "pipeline";

/// How much work a step is, is not known.
const SIZE: Complexity = Complexity::Medium;

/// How often the ledger is told what the attempt has spent, and asked what other runs have.
const SYNC_EVERY: Duration = Duration::from_millis(500);

pub(crate) struct StepCost<'c> {
    store: &'c Store,
    /// What its reserve and its charge are known by.
    run: RunId,
    watch: CostWatch,
    prices: Prices,
    model: Option<String>,
    time: Stopwatch,
    synced: Option<Duration>,
}

impl<'c> StepCost<'c> {
    /// Reserves for an attempt, or says why it does not fit.
    pub(crate) async fn admit(
        store: &'c Store,
        config: &BudgetConfig,
        project: &str,
        model: Option<String>,
    ) -> anyhow::Result<Result<StepCost<'c>, Shortage>> {
        let now = clock::now();
        let (run, window) = (RunId::generate(now), Calendar::of_this_machine().window(now)?);
        let applicant = Applicant {
            run: run.clone(),
            task_id: TASK.to_owned(),
            project_path: project.to_owned(),
            at: now,
            owner: recover::this_process(),
        };
        let decide = |standing: &Standing| budget::admit(config, standing, &window, SIZE);
        let (admission, standing) = store.admit(&applicant, &window, decide).await?;
        Ok(match admission {
            BudgetAdmission::Go { .. } => Ok(StepCost {
                store,
                run,
                watch: CostWatch::new(config, Spent::default(), &standing),
                prices: Prices::new(&config.prices),
                model,
                time: Stopwatch::start(),
                synced: None,
            }),
            BudgetAdmission::Hold(shortage) | BudgetAdmission::Refuse(shortage) => Err(shortage),
        })
    }

    /// Charges what was used so far; true when a limit ends the attempt.
    pub(crate) async fn update(&mut self, facts: &StreamFacts) -> bool {
        let charged = self.charge(facts);
        let now = self.time.elapsed();
        if self.synced.is_none_or(|last| now.saturating_sub(last) >= SYNC_EVERY) {
            self.synced = Some(now);
            let _ = self.store.note_spent(&self.run, &charged).await;
            if let Ok(window) = Calendar::of_this_machine().window(clock::now())
                && let Ok(standing) = self.store.standing(&window, Some(&self.run)).await
            {
                self.watch.refresh(&standing);
            }
        }
        match self.watch.look(&charged.spent) {
            BudgetVerdict::Exceeded(reached) => reached.ends(),
            BudgetVerdict::Within | BudgetVerdict::Warn(_) => false,
        }
    }

    /// The attempt is over: its reserve goes, and what it cost is on the books.
    pub(crate) async fn settle(self, facts: &StreamFacts) {
        let _ = self.store.note_spent(&self.run, &self.charge(facts)).await;
        let _ = self.store.release(&self.run, clock::now()).await;
    }

    fn charge(&self, facts: &StreamFacts) -> budget::Charge {
        let model = facts.model().or(self.model.as_deref());
        charge(&facts.usage(), model, &self.prices, self.time.elapsed())
    }
}
