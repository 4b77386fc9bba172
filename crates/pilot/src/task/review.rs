//! A second agent reviews what passed its gates. Its answer is advice: whatever comes of it, the delivery is not held up.

use pilot_core::outcome::{Class, Goal};
use pilot_core::review::{DiffBudget, FileDiff, Review, ReviewRequest, read_review, review_prompt};
use pilot_core::run_plan::{ReviewEnd, RunStep};

use super::run::TaskRun;
use super::session::SessionCall;
use crate::agent::evidence::NO_CHANGES;

impl<'r> TaskRun<'r> {
    /// Runs a reviewer on the result so far; what it commits is taken into git.
    pub(super) async fn run_review(&mut self, head: &str) -> anyhow::Result<()> {
        let (review, stopped) = match self.live.cost.ended_by() {
            Some(reached) => (Review::unreadable(reached.words()), false),
            None => {
                self.live.note("Reviewing the change.").await;
                match self.review_call() {
                    Ok(call) => self.review(call).await?,
                    Err(why) => (Review::unreadable(why), false),
                }
            }
        };
        let words = review.to_string();
        self.live.note(&words).await;
        self.review = Some(review);
        let head = self.head().unwrap_or_else(|| head.to_owned());
        self.history.add(RunStep::Review(ReviewEnd { head, stopped }));
        Ok(())
    }

    async fn review(&mut self, call: SessionCall<'r>) -> anyhow::Result<(Review, bool)> {
        let session = self.run_session(call).await?;
        let output = &self.live.output;
        let outcome = session.outcome(Goal::Answer, output.facts(), &output.state.claims, &NO_CHANGES);
        self.finalise();
        Ok(match outcome.class() {
            None => (read_review(&self.live.output.state.last_message), false),
            Some(Class::Cancelled) => (Review::unreadable("it was stopped"), true),
            Some(class) => (Review::unreadable(format!("{class}: {}", outcome.reason())), false),
        })
    }

    /// How the reviewer is called, in a worktree that is as the result says.
    fn review_call(&mut self) -> Result<SessionCall<'r>, String> {
        self.reopen()?;
        let plan = self.plan;
        let config = &plan.config().map_err(|error| error.to_string())?.executor.review;
        let (Some(workspace), Some(finalised)) = (&self.workspace, &self.finalised) else {
            return Err("there is nothing to review".to_owned());
        };
        let patches = workspace.git().patches(&finalised.base, &finalised.head);
        let patches = patches.map_err(|error| format!("cannot read the change: {error}"))?;
        let files: Vec<FileDiff<'_>> = patches.iter().map(|(path, diff)| FileDiff { path, diff }).collect();
        let prompt = self.prompts.with_task(|task| {
            let budget = DiffBudget::default();
            let request = ReviewRequest { task, files: &files, budget, may_fix: config.may_fix };
            review_prompt(&request, &plan.templates)
        });
        let reviewer = plan.reviewer.as_ref().unwrap_or(&plan.agent);
        let call = plan.call(reviewer, prompt.clone(), prompt);
        Ok(SessionCall {
            model: config.model.clone().or(call.model.clone()),
            timeout: config.timeout,
            read_only: !config.may_fix,
            ..call
        })
    }
}
