//! Actions and looks, carried out: the core says which call is next, the site makes it. Nothing is decided here.

use std::sync::Arc;

use pilot_core::fact::{Happened, TaskFacts};
use pilot_core::name::{Branch, IssueNumber, ProjectId};
use pilot_core::perform::{self, Answer, IssueRead, Next, Reply, Report};
use pilot_core::seen::Failure;
use pilot_core::task::{Action, Look, RunOrder};
use pilot_core::turn::Intent;
use pilot_exec::git::{BranchName, RefChange, RemoteError, Sha};

use super::calls::Trouble;
use super::failpoint;
use super::site::Site;

/// An action that was carried out, or not.
#[derive(Clone, Debug)]
pub(crate) struct Performed {
    pub(crate) intent: Intent,
    pub(crate) report: Report,
    /// For a run that begins: what it begins with.
    pub(crate) ready: Option<Ready>,
}

/// What a run begins with.
#[derive(Clone, Debug)]
pub(crate) struct Ready {
    pub(crate) read: IssueRead,
    /// The commit to start from.
    pub(crate) base: Sha,
}

/// Carries an action out.
pub(crate) async fn perform(site: Arc<Site>, intent: Intent) -> Performed {
    let lane = intent.key.lane().to_owned();
    let mut said: Vec<Reply> = Vec::new();
    failpoint::reach(&format!("{lane}-before"));
    let report = loop {
        match perform::next(&intent.action, &site.policy, &said) {
            Next::Call(call) => said.push(site.call(&call).await),
            Next::Report(report) => break *report,
        }
    };
    failpoint::reach(&format!("{lane}-done"));
    let (report, ready) = match (&intent.action, report) {
        (Action::StartRun(order), report @ Report::Task(Happened::RunStarted { .. })) => {
            let read = said.into_iter().find_map(|reply| match reply {
                Ok(Answer::Issue(Some(read))) => Some(*read),
                Ok(_) | Err(_) => None,
            });
            match site.base(order).await {
                Ok(base) => (report, read.map(|read| Ready { read, base })),
                Err(failure) => (Report::Failed(failure), None),
            }
        }
        (_, report) => (report, None),
    };
    Performed { intent, report, ready }
}

/// What was seen when a task was looked at.
#[derive(Clone, Debug)]
pub(crate) struct Looked {
    pub(crate) project: ProjectId,
    pub(crate) issue: IssueNumber,
    pub(crate) seen: Vec<(Look, Reply)>,
}

/// Looks at a task, one thing after the other.
pub(crate) async fn look(site: Arc<Site>, task: TaskFacts, looks: Vec<Look>) -> Looked {
    let mut seen = Vec::with_capacity(looks.len());
    for look in looks {
        let reply = site.call(&perform::ask(&look, &task)).await;
        seen.push((look, reply));
    }
    Looked { project: site.id.clone(), issue: task.number, seen }
}

impl Site {
    /// Fetches the commit a run starts from: the head of the base branch, or where the work of a fix goes on.
    async fn base(&self, order: &RunOrder) -> Result<Sha, Failure> {
        let (base, branch, from) = (self.policy.base.clone(), order.branch.clone(), order.from.clone());
        let fetched = self.with_git(move |courier| {
            let head = courier.fetch(&name(&base)?, &format!("refs/pilot/base/{base}"))?;
            let Some(from) = from else { return Ok(head) };
            let (from, branch) = (Sha::parse(from.as_str())?, name(&branch)?);
            let git = courier.repository.git();
            match courier.repository.branch(&branch) {
                Some(at) if *at == from || git.is_ancestor(&from, at).unwrap_or(false) => {}
                // The work was done elsewhere, or the branch is behind it.
                at => {
                    courier.fetch(&branch, &format!("refs/pilot/base/{branch}"))?;
                    let behind = at.is_none_or(|at| git.is_ancestor(at, &from).unwrap_or(false));
                    if behind {
                        let (before, after) = (at.cloned(), Some(from.clone()));
                        git.change_refs(&[RefChange { name: branch.full(), before, after }], "pilot: go on")?;
                    }
                }
            }
            Ok::<Sha, RemoteError>(from)
        });
        fetched.await.map_err(|trouble| Trouble::from(trouble).0)
    }
}

fn name(branch: &Branch) -> Result<BranchName, RemoteError> {
    Ok(BranchName::parse(branch.as_str())?)
}
