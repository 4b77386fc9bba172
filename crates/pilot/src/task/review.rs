//! A second look at what passed its gates. Advice: whatever becomes of it, the delivery stands.

use pilot_core::course::{ReviewEnd, Step};
use pilot_core::outcome::{Class, Goal};
use pilot_core::review::{DiffBudget, FileDiff, Review, ReviewRequest, read_review, review_prompt};

use super::rounds::Rounds;
use super::session::{Call, Permission};

impl<'r> Rounds<'r> {
    /// Lets a reviewer look over the result so far; what it commits is taken into git.
    pub(crate) async fn look_over(&mut self, head: &str) -> anyhow::Result<()> {
        self.say("Looking over what was done.").await;
        let (review, stopped) = match self.review_call() {
            Ok(call) => self.reviewed(call).await?,
            Err(why) => (Review::unreadable(why), false),
        };
        let words = review.to_string();
        self.say(&words).await;
        self.review = Some(review);
        let head = self.head().unwrap_or_else(|| head.to_owned());
        self.history.add(Step::Review(ReviewEnd { head, stopped }));
        Ok(())
    }

    async fn reviewed(&mut self, call: Call<'r>) -> anyhow::Result<(Review, bool)> {
        let session = self.session(call).await?;
        let outcome = session.outcome_so_far(Goal::Answer, &self.listener);
        self.finalise();
        Ok(match outcome.class() {
            None => (read_review(&self.listener.last_said()), false),
            Some(Class::Cancelled) => (Review::unreadable("it was stopped"), true),
            Some(class) => (Review::unreadable(format!("{class}: {}", outcome.reason())), false),
        })
    }

    /// How the reviewer is called, in a worktree that is as the result says.
    fn review_call(&mut self) -> Result<Call<'r>, String> {
        self.open()?;
        let plan = self.life.plan;
        let config = &plan.config().map_err(|error| error.to_string())?.executor.review;
        let (Some(workspace), Some(finalised)) = (&self.workspace, &self.finalised) else {
            return Err("there is nothing to look over".to_owned());
        };
        let patches = workspace.git().patches(&finalised.base, &finalised.head);
        let patches = patches.map_err(|error| format!("cannot read the change: {error}"))?;
        let files: Vec<FileDiff<'_>> = patches.iter().map(|(path, diff)| FileDiff { path, diff }).collect();
        let prompt = self.briefing.told(|task| {
            let budget = DiffBudget::default();
            let request = ReviewRequest { task, files: &files, budget, may_fix: config.may_fix };
            review_prompt(&request, &plan.templates)
        });
        let reviewer = plan.reviewer.as_ref().unwrap_or(&plan.agent);
        let call = plan.call(reviewer, prompt.clone(), prompt);
        Ok(Call {
            model: config.model.clone().or(call.model.clone()),
            timeout: config.timeout,
            permissions: if config.may_fix { Permission::Configured } else { Permission::Read },
            ..call
        })
    }
}
