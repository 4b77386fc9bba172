//! Pull requests.

use serde::Deserialize;
use serde_json::json;

use super::issue::moment;
use super::user::ActorWire;
use super::{Actor, GithubError, Listing, Marker, Number, Repo, RepoName, Sha, Why};
use crate::http::{Class, Method, Moment, Request};

/// A pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pull {
    /// Its number.
    pub number: Number,
    /// Its title.
    pub title: String,
    /// Its text.
    pub body: String,
    /// What became of it.
    pub state: PullState,
    /// Whether it is a draft.
    pub draft: bool,
    /// The branch it comes from.
    pub head_branch: String,
    /// The commit at its head.
    pub head: Sha,
    /// The repository it comes from; none when that is gone.
    pub head_repo: Option<RepoName>,
    /// The branch it goes to.
    pub base_branch: String,
    /// The commit it was last compared with.
    pub base: Sha,
    /// Whether it could be merged.
    pub mergeable: Mergeability,
    /// Who opened it.
    pub author: Actor,
    /// When it was opened.
    pub created: Moment,
    /// When anything about it changed last.
    pub updated: Moment,
    /// The address for people.
    pub html_url: String,
}

/// What became of a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PullState {
    /// Nothing yet.
    Open,
    /// It was closed without a merge.
    Closed,
    /// It was merged.
    Merged {
        /// The commit that came of it; none when GitHub does not tell.
        commit: Option<Sha>,
        /// When.
        at: Moment,
    },
}

/// Whether a pull request could be merged; GitHub finds out in its own time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mergeability {
    /// Not known yet, or not told.
    Unknown,
    /// There is no conflict.
    Clean,
    /// There is a conflict with the base.
    Conflict,
}

/// A pull request to be opened.
#[derive(Clone, Copy, Debug)]
pub struct NewPull<'a> {
    /// Its title.
    pub title: &'a str,
    /// Its text.
    pub body: &'a str,
    /// The branch of this repository that it comes from.
    pub head_branch: &'a str,
    /// The branch it goes to.
    pub base_branch: &'a str,
    /// Whether it is a draft.
    pub draft: bool,
}

/// A pull request that is there now, or cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PullOpened {
    /// It was opened just now.
    Created(Pull),
    /// It had been opened before, and may be closed or merged by now.
    Found(Pull),
    /// Somebody else's is open for the same branch.
    Foreign(Pull),
    /// There is nothing to merge: the base has all of the branch's commits.
    NoCommits,
}

#[derive(Deserialize)]
struct Wire {
    number: u64,
    title: String,
    body: Option<String>,
    state: String,
    #[serde(default)]
    draft: bool,
    merged_at: Option<String>,
    merge_commit_sha: Option<String>,
    mergeable: Option<bool>,
    head: BranchWire,
    base: BranchWire,
    user: Option<ActorWire>,
    created_at: String,
    updated_at: String,
    html_url: String,
}

#[derive(Deserialize)]
struct BranchWire {
    #[serde(rename = "ref")]
    name: String,
    sha: String,
    repo: Option<RepoWire>,
}

#[derive(Deserialize)]
struct RepoWire {
    full_name: String,
}

impl Repo {
    /// The pull requests from a branch of this repository, open or not, newest first. Their mergeability is not told here.
    pub async fn pulls_from(&self, branch: &str) -> Result<Listing<Pull>, GithubError> {
        let what = self.doing(&format!("list the pull requests from {branch:?}"));
        let request = self.list_from(&what, branch)?;
        self.all_from(&what, branch, request).await
    }

    fn list_from(&self, what: &str, branch: &str) -> Result<Request, GithubError> {
        let head = format!("{}:{branch}", self.name.owner());
        let query = [("head", head.as_str()), ("state", "all"), ("sort", "created"), ("direction", "desc")];
        self.list(what, &["pulls"], &query)
    }

    async fn all_from(
        &self,
        what: &str,
        branch: &str,
        request: Request,
    ) -> Result<Listing<Pull>, GithubError> {
        let list = self.all_pulls(what, request).await?;
        // GitHub ignores a filter it does not understand, and a fork may have a branch of that name.
        let ours = |pull: &Pull| {
            pull.head_branch == branch && pull.head_repo.as_ref().is_some_and(|repo| repo.is_same(&self.name))
        };
        Ok(Listing { items: list.items.into_iter().filter(ours).collect(), unchanged: list.unchanged })
    }

    async fn all_pulls(&self, what: &str, request: Request) -> Result<Listing<Pull>, GithubError> {
        let list = self.github.pages::<Vec<Wire>, _>(what, request, |wire| wire.number).await?;
        let items = list.items.into_iter().map(|wire| wire.pull(what)).collect::<Result<_, _>>()?;
        Ok(Listing { items, unchanged: list.unchanged })
    }

    /// One pull request.
    pub async fn pull(&self, number: Number) -> Result<Pull, GithubError> {
        let what = self.doing(&format!("read pull request {number}"));
        let wire: Wire = self.get(&what, &["pulls", &number.0.to_string()]).await?;
        wire.pull(&what)
    }

    /// The open pull requests for a branch.
    pub async fn pulls_onto(&self, branch: &str) -> Result<Listing<Pull>, GithubError> {
        let what = self.doing(&format!("list the pull requests for {branch:?}"));
        let list = self.all_pulls(&what, self.list(&what, &["pulls"], &[("base", branch)])?).await?;
        // GitHub ignores a filter it does not understand.
        let onto = |pull: &Pull| pull.base_branch == branch && pull.state == PullState::Open;
        Ok(Listing { items: list.items.into_iter().filter(onto).collect(), unchanged: list.unchanged })
    }

    /// Opens a pull request: one call, and what became of it. Whoever repeats it looks first.
    pub async fn add_pull(&self, new: &NewPull<'_>) -> Result<Pull, GithubError> {
        let what = self.doing(&format!("open a pull request from {:?}", new.head_branch));
        let body = json!({
            "title": new.title.chars().take(256).collect::<String>(),
            "body": new.body,
            "head": new.head_branch,
            "base": new.base_branch,
            "draft": new.draft,
        });
        let request = self.effect(&what, Method::POST, &["pulls"], Class::Once, &body)?;
        match self.github.write::<Wire>(&what, request).await {
            Ok(wire) => wire.pull(&what),
            // Somebody opened it; the list does not show it yet. Doubt, not a mistake of ours.
            Err(error) if error.why.says_it_exists() => {
                let detail = error.why.to_string();
                Err(GithubError::new(what, Why::Unknown { detail }))
            }
            Err(error) => Err(error),
        }
    }

    /// Closes a pull request; closed already is as good.
    pub async fn shut_pull(&self, number: Number) -> Result<Pull, GithubError> {
        let what = self.doing(&format!("close pull request {number}"));
        let path = ["pulls", &number.0.to_string()];
        let body = json!({"state": "closed"});
        let request = self.effect(&what, Method::PATCH, &path, Class::Idempotent, &body)?;
        self.github.write::<Wire>(&what, request).await?.pull(&what)
    }

    /// Opens a pull request, unless ours with this mark is there, in whatever state.
    pub async fn open_pull(&self, new: &NewPull<'_>, marker: &Marker) -> Result<PullOpened, GithubError> {
        let what = self.doing(&format!("open a pull request from {:?}", new.head_branch));
        if let Some(found) = self.look_for_pull(new, marker).await? {
            return Ok(found);
        }
        let body = json!({
            "title": new.title.chars().take(256).collect::<String>(),
            "body": marker.sign(new.body),
            "head": new.head_branch,
            "base": new.base_branch,
            "draft": new.draft,
        });
        let request = self.effect(&what, Method::POST, &["pulls"], Class::Once, &body)?;
        let error = match self.github.write::<Wire>(&what, request).await {
            Ok(wire) => return wire.pull(&what).map(PullOpened::Created),
            Err(error) => error,
        };
        if says_no_commits(&error.why) {
            return Ok(PullOpened::NoCommits);
        }
        if !matches!(error.why, Why::Unknown { .. }) && !error.why.says_it_exists() {
            return Err(error);
        }
        let found = self.look_for_pull(new, marker).await.ok().flatten();
        // One exists, but the list does not show it yet: doubt, not a mistake of ours.
        let detail = error.why.to_string();
        found.ok_or(GithubError::new(error.what, Why::Unknown { detail }))
    }

    async fn look_for_pull(
        &self,
        new: &NewPull<'_>,
        marker: &Marker,
    ) -> Result<Option<PullOpened>, GithubError> {
        let me = self.github.login().await?;
        let what = self.doing(&format!("look for a pull request from {:?}", new.head_branch));
        let request = self.list_from(&what, new.head_branch)?.fresh();
        let pulls = self.all_from(&what, new.head_branch, request).await?.items;
        let ours = |pull: &&Pull| marker.is_in(&pull.body) && pull.author.is(me);
        if let Some(pull) = pulls.iter().rfind(ours) {
            return Ok(Some(PullOpened::Found(pull.clone())));
        }
        let rival = |pull: &Pull| pull.state == PullState::Open && pull.base_branch == new.base_branch;
        Ok(pulls.into_iter().find(rival).map(PullOpened::Foreign))
    }
}

impl Wire {
    fn pull(self, what: &str) -> Result<Pull, GithubError> {
        let repo = |wire: RepoWire| RepoName::parse(&wire.full_name).ok();
        let state = match (&self.merged_at, self.state.as_str()) {
            (Some(at), _) => {
                let commit = self.merge_commit_sha.as_deref().and_then(|sha| Sha::parse(sha).ok());
                PullState::Merged { commit, at: moment(what, at)? }
            }
            (None, "open") => PullState::Open,
            (None, _) => PullState::Closed,
        };
        Ok(Pull {
            number: Number(self.number),
            title: self.title,
            body: self.body.unwrap_or_default(),
            state,
            draft: self.draft,
            head_branch: self.head.name,
            head: Sha::parse(&self.head.sha)?,
            head_repo: self.head.repo.and_then(repo),
            base_branch: self.base.name,
            base: Sha::parse(&self.base.sha)?,
            mergeable: match self.mergeable {
                None => Mergeability::Unknown,
                Some(true) => Mergeability::Clean,
                Some(false) => Mergeability::Conflict,
            },
            author: self.user.into(),
            created: moment(what, &self.created_at)?,
            updated: moment(what, &self.updated_at)?,
            html_url: self.html_url,
        })
    }
}

fn says_no_commits(why: &Why) -> bool {
    let Why::Validation { message, fields } = why else { return false };
    let words = |text: &str| text.starts_with("No commits between");
    words(message) || fields.iter().any(|field| words(&field.message))
}
