//! The forge port, answered by GitHub.

use std::collections::BTreeSet;

use pilot_core::ci::Check;
use pilot_core::id::Sha;
use pilot_core::observed::{Failure, FailureKind};
use pilot_core::port::{ForgeAnswer, ForgeCall};
use pilot_core::redact::Secrets;

use super::{RefCreated, Repo};
use crate::error::Result;
use crate::forge::{GitCredential, RepositoryFacts};

const LONGEST_LOG: usize = 16 << 10;

#[derive(Clone, Debug)]
pub struct GithubForge {
    repo: Repo,
}

impl GithubForge {
    pub fn new(repo: Repo) -> GithubForge {
        GithubForge { repo }
    }

    pub(crate) async fn facts(&self) -> Result<RepositoryFacts> {
        self.repo.facts().await
    }

    pub(crate) async fn git_credential(&self) -> Result<GitCredential, Failure> {
        Ok(GitCredential { user: "x-access-token", password: self.repo.github.token().await? })
    }

    pub(crate) async fn call(&self, call: &ForgeCall) -> Result<ForgeAnswer, Failure> {
        let repo = &self.repo;
        Ok(match call {
            ForgeCall::PullsFrom(branch) => ForgeAnswer::Pulls(repo.pulls_from(branch).await?),
            ForgeCall::PullsOnto(branch) => ForgeAnswer::Pulls(repo.pulls_onto(branch).await?),
            ForgeCall::Pull(pr) => ForgeAnswer::Pull(repo.pull(*pr).await?),
            ForgeCall::CreatePull(new) => ForgeAnswer::Pull(repo.create_pull(new).await?),
            ForgeCall::ClosePull(pr) => {
                repo.close_pull(*pr).await?;
                ForgeAnswer::Done
            }
            ForgeCall::Comments(pr) => ForgeAnswer::Comments(repo.comments(pr.0).await?),
            ForgeCall::AddComment(pr, new) => ForgeAnswer::Comment(repo.add_comment(pr.0, new).await?),
            ForgeCall::Reviews(pr) => ForgeAnswer::Reviews(repo.reviews(*pr).await?),
            ForgeCall::MayWrite(login) => ForgeAnswer::MayWrite(repo.trust(login).await?),
            ForgeCall::Merge { pr, sha, method, title } => {
                ForgeAnswer::Merged(repo.merge(*pr, sha, *method, title).await?)
            }
            ForgeCall::Checks(sha) => ForgeAnswer::Checks(self.checks(sha).await?),
            ForgeCall::Required(branch) => {
                ForgeAnswer::Required(repo.required_checks(branch.as_str()).await?)
            }
            ForgeCall::CheckLog { sha, checks } => ForgeAnswer::Log(self.check_log(sha, checks).await?),
            ForgeCall::Contains { branch, sha } => {
                ForgeAnswer::Contains(repo.contains(branch.as_str(), sha).await?)
            }
            ForgeCall::Tags => ForgeAnswer::Tags(repo.tags().await?),
            ForgeCall::CreateTag { name, commit } => {
                match repo.create_ref(&format!("tags/{name}"), commit).await? {
                    RefCreated::Created | RefCreated::Found => ForgeAnswer::Done,
                    RefCreated::Taken { .. } => {
                        return Err(Failure::new(FailureKind::Conflict, "another commit has this tag"));
                    }
                }
            }
        })
    }

    async fn checks(&self, sha: &Sha) -> Result<BTreeSet<Check>> {
        let runs = self.repo.check_runs(sha).await?.into_iter().map(|run| run.check);
        let statuses = self.repo.statuses(sha).await?;
        Ok(runs.chain(statuses).collect())
    }

    async fn check_log(&self, sha: &Sha, wanted: &BTreeSet<String>) -> Result<Option<String>> {
        let mut log = String::new();
        for run in self.repo.check_runs(sha).await? {
            let name = &run.check.name;
            if !wanted.contains(name) {
                continue;
            }
            // A check without a log is no failure.
            if let Some(tail) = self.repo.job_log(run.id, LONGEST_LOG).await? {
                log.push_str(&format!("{name}:\n{}\n", String::from_utf8_lossy(&tail.bytes)));
            }
        }
        let log = Secrets::none().redact(&log);
        Ok(Some(log).filter(|log| !log.trim().is_empty()))
    }
}
