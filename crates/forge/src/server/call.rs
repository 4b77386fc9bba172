//! One request, as a route sees it.

use std::sync::Arc;

use hyper::body::{Bytes, Incoming};
use hyper::{HeaderMap, Method, StatusCode};
use serde::de::DeserializeOwned;
use sqlx::SqliteConnection;
use tokio::sync::Mutex;

use super::failure::Failure;
use super::query::Query;
use super::route::Params;
use crate::site::Site;
use crate::store::{Permission, RepoRow, User, collaborators, repos};

/// One request.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) site: Arc<Site>,
    pub(crate) actor: Option<Arc<User>>,
    pub(crate) method: Method,
    pub(crate) params: Params,
    /// The path as it was asked for, without the query.
    pub(crate) path: String,
    pub(crate) query: Query,
    /// The query as it was written.
    pub(crate) raw_query: String,
    /// By how many rows lists are off behind their first page: a fault.
    pub(crate) drift: i64,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// The body, where the route reads it by itself.
    pub(crate) incoming: Mutex<Option<Incoming>>,
}

/// What somebody wants to do with a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Look at it.
    Read,
    /// Say something: open an issue, comment, review.
    Speak,
    /// Sort its issues: labels, assignees, milestones, states.
    Triage,
    /// Change it.
    Write,
    /// Rule it.
    Admin,
}

/// A repository that somebody may use as they want to.
#[derive(Clone, Debug)]
pub(crate) struct Repo {
    pub(crate) row: RepoRow,
    pub(crate) owner: Arc<User>,
    /// What the one who asks may do.
    pub(crate) permission: Permission,
}

/// What form of a thing is asked for, where there are several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Media {
    Json,
    Raw,
    Diff,
    Patch,
    Sha,
}

impl Call {
    /// The form that `Accept` asks for.
    pub(crate) fn media(&self) -> Media {
        let accept = self.headers.get("accept").and_then(|value| value.to_str().ok()).unwrap_or_default();
        let forms =
            [("raw", Media::Raw), ("diff", Media::Diff), ("patch", Media::Patch), ("sha", Media::Sha)];
        let asked = |word: &str| {
            accept.split(',').map(str::trim).any(|kind| {
                let kind = kind.split([';', '+']).next().unwrap_or_default();
                kind.strip_prefix("application/vnd.github.").is_some_and(|kind| {
                    kind == word || kind.strip_prefix("v3.").is_some_and(|kind| kind == word)
                })
            })
        };
        forms.into_iter().find(|(word, _)| asked(word)).map_or(Media::Json, |(_, media)| media)
    }

    /// Path and query as they were asked for.
    pub(crate) fn address(&self) -> String {
        let mark = if self.raw_query.is_empty() { "" } else { "?" };
        format!("{}{mark}{}", self.path, self.raw_query)
    }

    /// Who asks; 401 if nobody says so.
    pub(crate) fn actor(&self) -> Result<&Arc<User>, Failure> {
        self.actor.as_ref().ok_or_else(|| Failure::unauthorized("Requires authentication"))
    }

    /// The body as JSON; an empty one is an empty object.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        let body: &[u8] = if self.body.trim_ascii().is_empty() { b"{}" } else { &self.body };
        let value: serde_json::Value = serde_json::from_slice(body)
            .map_err(|_| Failure::new(StatusCode::BAD_REQUEST, "Problems parsing JSON"))?;
        if !value.is_object() && !value.is_array() {
            return Err(Failure::new(StatusCode::BAD_REQUEST, "Body should be a JSON object"));
        }
        serde_json::from_value(value)
            .map_err(|error| Failure::unprocessable(format!("Invalid request.\n\n{error}")))
    }

    /// A number in the path; anything else leads nowhere.
    pub(crate) fn number(&self, name: &str) -> Result<i64, Failure> {
        let text = self.params.get(name);
        let sound = !text.is_empty() && text.len() <= 18 && text.bytes().all(|byte| byte.is_ascii_digit());
        sound.then(|| text.parse().ok()).flatten().ok_or_else(Failure::not_found)
    }

    /// The repository in the path, if the one who asks may do that with it.
    pub(crate) async fn repo(&self, need: Need) -> Result<Repo, Failure> {
        let (owner, name) = (self.params.get("owner"), self.params.get("repo"));
        let repo = match self.find_repo(owner, name).await? {
            Some(repo) => repo,
            None => match self.former_repo(owner, name).await? {
                Some(repo) => return Err(self.moved(repo.row.id)),
                None => return Err(Failure::not_found()),
            },
        };
        permit(&repo, need, self.actor.is_some())?;
        Ok(repo)
    }

    /// A repository that the one who asks may see, by its names.
    pub(crate) async fn find_repo(&self, owner: &str, name: &str) -> Result<Option<Repo>, Failure> {
        let Some(owner) = self.site.people.by_login(owner) else {
            return Ok(None);
        };
        let mut db = self.site.store.read().await?;
        match repos::by_name(&mut db, owner.id, name).await? {
            Some(row) => self.seen(&mut db, row).await,
            None => Ok(None),
        }
    }

    /// The same, by a name that it once had.
    pub(crate) async fn former_repo(&self, owner: &str, name: &str) -> Result<Option<Repo>, Failure> {
        let Some(owner) = self.site.people.by_login(owner) else {
            return Ok(None);
        };
        let mut db = self.site.store.read().await?;
        match repos::by_former_name(&mut db, owner.id, name).await? {
            Some(row) => self.seen(&mut db, row).await,
            None => Ok(None),
        }
    }

    /// A repository, if the one who asks may see it.
    async fn seen(&self, db: &mut SqliteConnection, row: RepoRow) -> Result<Option<Repo>, Failure> {
        let permission = match &self.actor {
            Some(actor) => collaborators::permission(db, &row, actor).await?,
            None if row.private => Permission::None,
            None => Permission::Read,
        };
        let owner = self.site.user(row.owner);
        Ok((permission > Permission::None).then_some(Repo { row, owner, permission }))
    }

    /// To the path that stays the same whatever a repository is called: 301 for a look, 307 for everything else.
    fn moved(&self, id: i64) -> Failure {
        let rest = self.path.splitn(5, '/').nth(4).map(|rest| format!("/{rest}")).unwrap_or_default();
        let query = if self.raw_query.is_empty() { String::new() } else { format!("?{}", self.raw_query) };
        let url = format!("{}/repositories/{id}{rest}{query}", self.site.url);
        let (status, words) = if self.method == Method::GET {
            (StatusCode::MOVED_PERMANENTLY, "Moved Permanently")
        } else {
            (StatusCode::TEMPORARY_REDIRECT, "Temporary Redirect")
        };
        let mut failure = Failure::new(status, words);
        failure.headers.push(("location", url));
        failure
    }
}

/// Whether somebody may do that, with GitHub's words when not.
fn permit(repo: &Repo, need: Need, known: bool) -> Result<(), Failure> {
    let wanted = match need {
        Need::Read => return Ok(()),
        Need::Speak => Permission::Read,
        Need::Triage => Permission::Triage,
        Need::Write => Permission::Write,
        Need::Admin => Permission::Admin,
    };
    if !known {
        return Err(Failure::unauthorized("Requires authentication"));
    }
    if repo.permission < wanted {
        return Err(match need {
            Need::Admin => Failure::forbidden("Must have admin rights to Repository."),
            Need::Read | Need::Speak | Need::Triage | Need::Write => {
                Failure::forbidden("Resource not accessible by personal access token")
            }
        });
    }
    if repo.row.archived && need != Need::Admin {
        return Err(Failure::forbidden("Repository was archived so is read-only."));
    }
    Ok(())
}
