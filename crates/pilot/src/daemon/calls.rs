//! The calls of the core, made: each one question or one effect, to the forge or by git.

use std::collections::BTreeSet;

use pilot_core::ci::{Reading, Required};
use pilot_core::name::{Branch, CommentId, IssueNumber, NotAName, PrNumber, Sha, TaskKey};
use pilot_core::perform::{Answer, Call, CommentSeen, IssueRead, OwnIssue, Reply, TagSeen, Thread};
use pilot_core::redact::Secrets;
use pilot_core::seen::{Failure, FailureKind};
use pilot_core::task::NewPr;
use pilot_exec::git::{BranchName, Holder, Push, Pushed, RefChange};
use pilot_link::github::{
    self, GithubError, IssueQuery, Merge, MergeOrder, NewIssue, NewPull, Number, RefMade, StateFilter,
};

use super::failure::{failure, of_github, of_merge, of_remote};
use super::read;
use super::site::{GitTrouble, PREFIX, Site, method};

/// How much of a log is read.
const LONGEST_LOG: usize = 16 << 10;

/// What went wrong on the way to an answer.
pub(super) struct Trouble(pub(super) Failure);

impl From<GithubError> for Trouble {
    fn from(error: GithubError) -> Trouble {
        Trouble(of_github(&error))
    }
}

impl From<GitTrouble> for Trouble {
    fn from(trouble: GitTrouble) -> Trouble {
        match trouble {
            GitTrouble::Github(error) => Trouble(of_github(&error)),
            GitTrouble::Remote(error) => Trouble(of_remote(&error)),
        }
    }
}

impl From<NotAName> for Trouble {
    fn from(error: NotAName) -> Trouble {
        Trouble(failure(FailureKind::Server, &error.to_string()))
    }
}

type Answered = Result<Answer, Trouble>;

impl Site {
    /// Makes a call.
    pub(crate) async fn call(&self, call: &Call) -> Reply {
        self.answer(call).await.map_err(|Trouble(failure)| failure)
    }

    async fn answer(&self, call: &Call) -> Answered {
        match call {
            Call::Issue(issue) => self.issue(*issue).await,
            Call::Permission(login) => {
                let permission = self.repo.permission(login).await?;
                Ok(Answer::Permission(read::permission(permission)))
            }
            Call::Comments(thread) => self.comments(*thread).await,
            Call::Comment(thread, body) => {
                let comment = self.repo.add_comment(number_of(*thread), body).await?;
                Ok(Answer::Comment(CommentId(comment.id.0)))
            }
            Call::EditComment(id, body) => self.edit_comment(*id, body).await,
            Call::AddLabels(issue, labels) => {
                let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
                self.repo.add_labels(Number(issue.0), &labels).await?;
                Ok(Answer::Done)
            }
            Call::RemoveLabel(issue, label) => {
                self.repo.remove_label(Number(issue.0), label).await?;
                Ok(Answer::Done)
            }
            Call::CloseIssue(issue) => {
                self.repo.close_issue(Number(issue.0), false).await?;
                Ok(Answer::Done)
            }
            Call::OwnIssues(label) => self.own_issues(label).await,
            Call::CreateIssue { title, body, labels } => {
                let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
                let made = self.repo.add_issue(&NewIssue { title, body, labels: &labels }).await?;
                Ok(Answer::NewIssue(IssueNumber(made.number.0)))
            }
            Call::PrsOf(branch) => pulls_read(&self.repo.pulls_from(branch.as_str()).await?.items),
            Call::PrsOnto(branch) => pulls_read(&self.repo.pulls_onto(branch.as_str()).await?.items),
            Call::Pr(pr) => Ok(Answer::Pr(read::pull(&self.repo.pull(Number(pr.0)).await?)?)),
            Call::CreatePr(new) => self.create_pr(new).await,
            Call::ClosePr(pr) => {
                self.repo.shut_pull(Number(pr.0)).await?;
                Ok(Answer::Done)
            }
            Call::Merge { pr, sha, method, title } => self.merge(*pr, sha, *method, title).await,
            Call::Ci(sha) => self.ci(sha).await,
            Call::CiLog { sha, checks } => self.ci_log(sha, checks).await,
            Call::OnBase(sha) => self.on_base(sha).await,
            Call::PlaceClaim { task } => self.place_claim(task).await,
            Call::Claim { task } => self.claim(task).await,
            Call::ReleaseClaim { task } => self.release_claim(task).await,
            Call::Push { branch, sha, expect } => self.push(branch, Some(sha), expect.as_ref()).await,
            Call::DeleteBranch { branch, expect } => self.delete_branch(branch, expect).await,
            Call::Tags => self.tags().await,
            Call::CreateTag { name, commit } => self.create_tag(name, commit).await,
        }
    }

    async fn issue(&self, issue: IssueNumber) -> Answered {
        let Some(found) = self.repo.find_issue(Number(issue.0)).await? else {
            return Ok(Answer::Issue(None));
        };
        // A pull request is an issue to some, and none of ours.
        if found.is_pull {
            return Ok(Answer::Issue(None));
        }
        let issue = read::issue(&found, &self.me)?;
        Ok(Answer::Issue(Some(Box::new(IssueRead { issue, silent: found.comments == 0, text: found.body }))))
    }

    async fn comments(&self, thread: Thread) -> Answered {
        let comments = self.repo.comments(number_of(thread)).await?.items;
        let seen = |comment: github::Comment| CommentSeen {
            id: CommentId(comment.id.0),
            mine: comment.author.is(&self.me),
            body: comment.body,
        };
        Ok(Answer::Comments(comments.into_iter().map(seen).collect()))
    }

    async fn edit_comment(&self, id: CommentId, body: &str) -> Answered {
        match self.repo.edit_comment(github::CommentId(id.0), body).await? {
            Some(comment) => Ok(Answer::Comment(CommentId(comment.id.0))),
            None => Err(Trouble(failure(FailureKind::NotFound, "somebody deleted the comment"))),
        }
    }

    async fn own_issues(&self, label: &str) -> Answered {
        let query = IssueQuery { labels: &[label], state: StateFilter::All };
        let issues = self.repo.issues(&query).await?.items;
        let own = issues.into_iter().filter(|issue| !issue.is_pull && issue.author.is(&self.me));
        let own = own.map(|issue| OwnIssue { number: IssueNumber(issue.number.0), body: issue.body });
        Ok(Answer::OwnIssues(own.collect()))
    }

    async fn create_pr(&self, new: &NewPr) -> Answered {
        let pull = NewPull {
            title: &new.title,
            body: &new.body,
            head_branch: new.branch.as_str(),
            base_branch: new.base.as_str(),
            draft: false,
        };
        Ok(Answer::Pr(read::pull(&self.repo.add_pull(&pull).await?)?))
    }

    async fn merge(
        &self,
        pr: PrNumber,
        sha: &Sha,
        how: pilot_core::policy::MergeMethod,
        title: &str,
    ) -> Answered {
        let head = github::Sha::parse(sha.as_str())?;
        let order = MergeOrder { number: Number(pr.0), head: &head, method: method(how), title, message: "" };
        match self.repo.merge_once(&order).await? {
            Merge::Merged(commit) => Ok(Answer::Merged(Sha::parse(commit.as_str())?)),
            Merge::Refused(refused) => Err(Trouble(of_merge(&refused))),
        }
    }

    /// Checks, statuses and what is required, one after the other. What is required matters when nothing is under way.
    async fn ci(&self, sha: &Sha) -> Answered {
        let commit = github::Sha::parse(sha.as_str())?;
        let checks = read::checks(self.repo.check_runs(&commit).await?.items);
        let statuses = read::statuses(self.repo.statuses(&commit).await?.items);
        let required = if self.policy.ci.is_under_way(&checks, &statuses) {
            Required::Unknown
        } else {
            self.required().await?
        };
        Ok(Answer::Ci(Reading { sha: sha.clone(), checks, statuses, required }))
    }

    async fn required(&self) -> Result<Required, GithubError> {
        Ok(match self.repo.required_checks(self.policy.base.as_str()).await? {
            github::Required::Known(checks) => {
                Required::Known(checks.into_iter().map(|check| check.name).collect())
            }
            github::Required::Unknown { .. } => Required::Unknown,
        })
    }

    /// Git tells it without a call of the API, and fetches what the next task begins with. Where it cannot, the forge is asked.
    async fn on_base(&self, sha: &Sha) -> Answered {
        let (base, commit) = (self.policy.base.clone(), sha.clone());
        let fetched = self.with_git(move |courier| {
            let head =
                courier.fetch(&BranchName::parse(base.as_str())?, &format!("refs/pilot/base/{base}"))?;
            let commit = pilot_exec::git::Sha::parse(commit.as_str())?;
            Ok(courier.repository.git().is_ancestor(&commit, &head).unwrap_or(false))
        });
        if matches!(fetched.await, Ok(true)) {
            return Ok(Answer::OnBase(true));
        }
        let sha = github::Sha::parse(sha.as_str())?;
        Ok(Answer::OnBase(self.repo.contains(self.policy.base.as_str(), &sha).await?))
    }

    async fn ci_log(&self, sha: &Sha, wanted: &BTreeSet<String>) -> Answered {
        let commit = github::Sha::parse(sha.as_str())?;
        let runs = self.repo.check_runs(&commit).await?.items;
        let mut log = String::new();
        for run in runs.iter().filter(|run| wanted.contains(&run.name)) {
            // Whoever reports without a log is not a failure of ours.
            if let Some(tail) = self.repo.job_log(run.id, LONGEST_LOG).await? {
                log.push_str(&format!("{}:\n{}\n", run.name, String::from_utf8_lossy(&tail.bytes)));
            }
        }
        let log = Secrets::none().redact(&log);
        Ok(Answer::Log(Some(log).filter(|log| !log.trim().is_empty())))
    }

    async fn place_claim(&self, task: &TaskKey) -> Answered {
        let (name, us) = (task.to_string(), self.claimant.to_string());
        let holder = self.with_git(move |courier| courier.place_claim(&name, &us)).await?;
        Ok(Answer::Claim(other(holder)))
    }

    async fn claim(&self, task: &TaskKey) -> Answered {
        let (name, us) = (task.to_string(), self.claimant.to_string());
        let holder = self.with_git(move |courier| courier.claim(&name, &us)).await?;
        Ok(Answer::Claim(other(holder)))
    }

    async fn release_claim(&self, task: &TaskKey) -> Answered {
        let (name, us) = (task.to_string(), self.claimant.to_string());
        self.with_git(move |courier| courier.release_claim(&name, &us)).await?;
        Ok(Answer::Done)
    }

    /// Where a branch is there; a failure when it has commits that the one to be pushed does not go on from.
    pub(crate) async fn before(&self, branch: &Branch, sha: &Sha) -> Result<Option<Sha>, Failure> {
        let (name, ours) = (branch.clone(), sha.clone());
        let looked = self.with_git(move |courier| {
            let (name, ours) =
                (BranchName::parse(name.as_str())?, pilot_exec::git::Sha::parse(ours.as_str())?);
            let at = courier.look(&name)?;
            let git = courier.repository.git();
            let goes_on = at.as_ref().is_none_or(|at| git.is_ancestor(at, &ours).unwrap_or(false));
            Ok((at, goes_on))
        });
        let (at, goes_on) = looked.await.map_err(|trouble| Trouble::from(trouble).0)?;
        let at = at.map(|at| Sha::parse(at.as_str())).transpose().map_err(|error| Trouble::from(error).0)?;
        match at {
            Some(at) if !goes_on => {
                let words = format!("the branch has other commits there: it is at {}", at.short());
                Err(failure(FailureKind::Conflict, &words))
            }
            at => Ok(at),
        }
    }

    async fn push(&self, branch: &Branch, sha: Option<&Sha>, expect: Option<&Sha>) -> Answered {
        let (branch, sha, expect) = (branch.clone(), sha.cloned(), expect.cloned());
        let pushed = self.with_git(move |courier| {
            let name = BranchName::parse(branch.as_str())?;
            let of_git = |sha: &Sha| pilot_exec::git::Sha::parse(sha.as_str());
            let commit = sha.as_ref().map(of_git).transpose()?;
            let expected = expect.as_ref().map(of_git).transpose()?;
            let push =
                Push { branch: &name, prefix: PREFIX, commit: commit.as_ref(), expected: expected.as_ref() };
            courier.push(&push)
        });
        match pushed.await? {
            Pushed::Pushed | Pushed::UpToDate => Ok(Answer::Done),
            Pushed::Stale { at } => {
                let at = at.map_or("not there".to_owned(), |at| format!("at {}", at.short()));
                let words = format!("somebody else moved the branch: it is {at}");
                Err(Trouble(failure(FailureKind::Conflict, &words)))
            }
            Pushed::Rejected { message, .. } => {
                let words = format!("the push was refused: {message}");
                Err(Trouble(failure(FailureKind::Refused, &words)))
            }
        }
    }

    /// Deletes a branch there, and here when it holds nothing else.
    async fn delete_branch(&self, branch: &Branch, expect: &Sha) -> Answered {
        let answer = self.push(branch, None, Some(expect)).await?;
        // What git does not delete here is said, and tried again, where branches of merged work are looked for.
        let _ = self.forget(vec![(branch.clone(), expect.clone())]).await;
        Ok(answer)
    }

    /// Deletes branches here that hold nothing but what they are known to.
    pub(super) async fn forget(&self, branches: Vec<(Branch, Sha)>) -> Result<(), Trouble> {
        let forgotten = self.with_git(move |courier| {
            let (git, mut last) = (courier.repository.git(), Ok(()));
            for (branch, at) in branches {
                let name = BranchName::parse(branch.as_str())?;
                let here = courier.repository.branch(&name).cloned();
                let Some(here) = here.filter(|here| here.as_str() == at.as_str()) else { continue };
                let change = RefChange { name: name.full(), before: Some(here.clone()), after: None };
                if let Err(error) = git.change_refs(&[change], "pilot: merged") {
                    // Somebody else may have been faster, or goes on with it.
                    let stays = git.refs(&[&name.full()])?.get(&name.full()) == Some(&here);
                    last = if stays { Err(error) } else { last };
                }
            }
            Ok(last?)
        });
        Ok(forgotten.await?)
    }

    async fn tags(&self) -> Answered {
        let mut seen = Vec::new();
        for tag in self.repo.tags().await?.items {
            seen.push(TagSeen { commit: Sha::parse(tag.commit.as_str())?, name: tag.name });
        }
        Ok(Answer::Tags(seen))
    }

    async fn create_tag(&self, name: &str, commit: &Sha) -> Answered {
        let commit = github::Sha::parse(commit.as_str())?;
        match self.repo.create_ref(&format!("tags/{name}"), &commit).await? {
            RefMade::Created | RefMade::Found => Ok(Answer::Done),
            RefMade::Taken { .. } => {
                Err(Trouble(failure(FailureKind::Conflict, "another commit has this tag")))
            }
        }
    }
}

fn number_of(thread: Thread) -> Number {
    match thread {
        Thread::Issue(issue) => Number(issue.0),
        Thread::Pr(pr) => Number(pr.0),
    }
}

fn pulls_read(pulls: &[github::Pull]) -> Answered {
    let mut read = Vec::new();
    for pull in pulls {
        read.push((read::pull(pull)?, pull.body.clone()));
    }
    Ok(Answer::Prs(read))
}

fn other(holder: Holder) -> Option<String> {
    match holder {
        Holder::Nobody | Holder::Us => None,
        Holder::Other(name) => Some(name),
    }
}
