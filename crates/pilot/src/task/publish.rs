//! `--pr`: pushes the branch of a completed run and opens a pull request. The work is in git whatever comes of this.

use anyhow::Context;
use pilot_core::fact::TaskEvent;
use pilot_core::id::{Branch, PrNumber, TaskKey};
use pilot_core::observed::PrState;
use pilot_core::perform::Report;
use pilot_core::port::{Answer, Call, ForgeAnswer, ForgeCall, GitAnswer, GitCall, Marker};
use pilot_core::run::RunResult;
use pilot_core::task::{Action, NewPr};
use pilot_core::words;
use pilot_exec::git::BRANCH_PREFIX;
use pilot_store::RunId;

use super::plan::TaskPlan;
use crate::config::Environment;
use crate::daemon::perform::perform_action;
use crate::daemon::project::{OpenProject, ProjectSetup, Shared};
use crate::daemon::setup::Setup;
use crate::store_access;
use crate::wrong_use::bail_wrong_use;

pub(crate) struct Publisher {
    shared: Shared,
    setup: ProjectSetup,
}

impl Publisher {
    pub(crate) fn plan(plan: &TaskPlan, environment: &Environment) -> anyhow::Result<Publisher> {
        if let Some(branch) = plan.job.branch.as_deref().filter(|branch| !branch.starts_with(BRANCH_PREFIX)) {
            bail_wrong_use!(
                "--pr pushes no branch but Pilot's own, and {branch} does not begin with {BRANCH_PREFIX}: name another with --branch"
            );
        }
        let project = plan.project.to_string_lossy();
        let Setup { shared, mut setups } =
            Setup::check(&plan.loaded, plan.config()?, environment, Some(&project))?;
        let setup = setups.pop().context("find the project's repository on its forge")?;
        Ok(Publisher { shared, setup })
    }

    pub(crate) fn repo(&self) -> &str {
        self.setup.id.path()
    }

    /// Asks the forge whether it may be done.
    pub(crate) async fn connect(&self, plan: &TaskPlan) -> anyhow::Result<OpenProject> {
        self.setup.connect(&self.shared, plan.config()?).await
    }
}

/// Publishes the work of a run that completed, by the actions the daemon performs.
pub(crate) async fn publish(
    project: &OpenProject,
    plan: &TaskPlan,
    environment: &Environment,
    run: &RunId,
    result: &mut RunResult,
) -> anyhow::Result<()> {
    let branch = result.branch.clone().context("publish a run whose branch could not be set")?;
    let compare = project.compare_url(&Branch::parse(&branch)?);
    let pr = open(project, plan, &branch, result).await.with_context(|| {
        format!(
            "the work is on {branch} and was not published; publish it with `git push origin {branch}`, then open {compare}"
        )
    })?;
    let url = project.pull_url(pr);
    result.pr_number = Some(pr.0);
    result.pr_url = Some(url.clone());
    let store = store_access::open(&plan.loaded, environment).await?;
    store.set_pr_url(run.as_str(), &url).await?;
    store.close().await;
    Ok(())
}

async fn open(
    project: &OpenProject,
    plan: &TaskPlan,
    branch: &str,
    result: &RunResult,
) -> anyhow::Result<PrNumber> {
    let work = result.work().context("find the commit of the run")?;
    let (branch, key) = (Branch::parse(branch)?, marker_key(&plan.job.key));
    let head = GitCall::Head { branch: branch.clone(), sha: work.sha.clone() };
    let expect = match project.call(&Call::Git(head)).await {
        Ok(Answer::Git(GitAnswer::Head(head))) => head,
        Ok(answer) => anyhow::bail!("an answer to another question: {answer:?}"),
        Err(failure) => anyhow::bail!("{failure}"),
    };
    carry_out(project, &Action::Push { branch: branch.clone(), sha: work.sha.clone(), expect }).await?;
    // A pull request that is open on this branch has the new commits by the push.
    if let Ok(Answer::Forge(ForgeAnswer::Pulls(pulls))) =
        project.call(&Call::Forge(ForgeCall::PullsFrom(branch.clone()))).await
        && let Some(open) = pulls.iter().find(|seen| seen.pr.state == PrState::Open)
    {
        return Ok(open.pr.number);
    }
    let new = NewPr {
        branch,
        base: project.policy.base.clone(),
        sha: work.sha.clone(),
        title: words::pr_title(&plan.job.title),
        body: words::task_pr_body(&plan.job.key, &work, project.policy.review_blocking),
        marker: Marker::Task(key),
    };
    let event = carry_out(project, &Action::OpenPr(new)).await?;
    let TaskEvent::PrOpened { pr } = event else {
        anyhow::bail!("opening a pull request reported {event:?}");
    };
    Ok(pr.number)
}

/// A task without a ticket has a key of its run: `TASK-1a2b`.
fn marker_key(key: &str) -> TaskKey {
    let digits = key.rsplit('-').next().unwrap_or_default();
    let number = u64::from_str_radix(digits, 16).unwrap_or_default();
    TaskKey::parse(key).unwrap_or_else(|_| TaskKey::numbered("TASK", number))
}

async fn carry_out(project: &OpenProject, action: &Action) -> anyhow::Result<TaskEvent> {
    match perform_action(project, action).await.0 {
        Report::Task(event) => Ok(event),
        Report::Failed(failure) => anyhow::bail!("{failure}"),
        report @ (Report::Project(_) | Report::Message { .. }) => {
            anyhow::bail!("unexpected report {report:?}")
        }
    }
}
