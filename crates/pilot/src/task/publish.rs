//! `--pr`: the branch of a run that completed goes to the forge, with one pull request. The work is in git before, and stays
//! there whatever becomes of this.

use anyhow::Context;
use pilot_core::name::{Branch, Sha};
use pilot_core::perform::Call;
use pilot_core::words;
use pilot_link::github::{Marker, NewPull, Pull, PullOpened, RepoName};
use pilot_store::RunId;

use super::plan::Plan;
use super::report::TaskResult;
use crate::config::Environment;
use crate::daemon::ground::Base;
use crate::daemon::hands;
use crate::daemon::site::{Ground, PREFIX, Plot, Site};
use crate::memory;
use crate::wrong_use::WrongUse;

/// Where a task is to be published.
pub(crate) struct Publisher {
    ground: Ground,
    plot: Plot,
}

impl Publisher {
    /// Checks everything that can be wrong without asking anybody.
    pub(crate) fn plan(plan: &Plan, environment: &Environment) -> anyhow::Result<Publisher> {
        if let Some(branch) = plan.job.branch.as_deref().filter(|branch| !branch.starts_with(PREFIX)) {
            return Err(WrongUse::error(format_args!(
                "--pr pushes no branch but Pilot's own, and {branch} does not begin with {PREFIX}: name another with --branch"
            )));
        }
        let project = plan.project.to_string_lossy();
        let Base { ground, mut plots } =
            Base::lay(&plan.loaded, plan.config()?, environment, Some(&project))?;
        let plot = plots.pop().context("find the project's repository on GitHub")?;
        Ok(Publisher { ground, plot })
    }

    /// The repository there.
    pub(crate) fn repo(&self) -> &RepoName {
        &self.plot.repo
    }

    /// Asks the forge whether it may be done.
    pub(crate) async fn connect(&self, plan: &Plan) -> anyhow::Result<Site> {
        self.plot.connect(&self.ground, plan.config()?).await
    }
}

/// Publishes the work of a run that completed.
pub(crate) async fn publish(
    site: &Site,
    plan: &Plan,
    environment: &Environment,
    run: &RunId,
    result: &mut TaskResult,
) -> anyhow::Result<()> {
    let branch = result.branch.clone().context("publish a run whose branch could not be set")?;
    let compare = format!("{}/compare/{}...{branch}", site.html_url, site.policy.base);
    let pull = open(site, plan, &branch, result).await.with_context(|| {
        format!(
            "the work is on {branch} and was not published; publish it with `git push origin {branch}`, then open {compare}"
        )
    })?;
    result.set_pr(pull.number.0, &pull.html_url);
    let store = memory::open(&plan.loaded, environment).await?;
    store.published(run, &pull.html_url).await?;
    store.close().await;
    Ok(())
}

async fn open(site: &Site, plan: &Plan, branch: &str, result: &TaskResult) -> anyhow::Result<Pull> {
    let work = hands::work(&serde_json::to_value(result)?).context("find the commit of the run")?;
    let there = Branch::parse(branch)?;
    push(site, &there, &work.sha).await.map_err(|failure| anyhow::anyhow!("{failure}"))?;
    let new = NewPull {
        title: &words::pr_title(&plan.job.title),
        body: &words::task_pr_body(&plan.job.key, &work),
        head_branch: branch,
        base_branch: site.policy.base.as_str(),
        draft: false,
    };
    let marker = Marker::new(&format!("{}/pr", plan.job.key))?;
    match site.repo.open_pull(&new, &marker).await? {
        // One that is open for this branch has the new commits by the push.
        PullOpened::Created(pull) | PullOpened::Found(pull) | PullOpened::Foreign(pull) => Ok(pull),
        PullOpened::NoCommits => anyhow::bail!("{} has all of its commits already", site.policy.base),
    }
}

async fn push(site: &Site, branch: &Branch, sha: &Sha) -> Result<(), pilot_core::seen::Failure> {
    let expect = site.before(branch, sha).await?;
    site.call(&Call::Push { branch: branch.clone(), sha: sha.clone(), expect }).await.map(drop)
}
