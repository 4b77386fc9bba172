//! One request in the form that routes take.

use std::sync::Arc;

use hyper::body::{Bytes, Incoming};
use hyper::{HeaderMap, Method, StatusCode};
use serde::de::DeserializeOwned;
use sqlx::SqliteConnection;
use tokio::sync::Mutex;

use super::failure::Failure;
use super::query::Query;
use super::route::Params;
use crate::context::Context;
use crate::store::{Permission, RepoRow, User, collaborators, repos};

#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) ctx: Arc<Context>,
    pub(crate) actor: Option<Arc<User>>,
    pub(crate) method: Method,
    pub(crate) params: Params,
    /// The request path without the query.
    pub(crate) path: String,
    pub(crate) query: Query,
    pub(crate) raw_query: String,
    /// The fault `page_drift`: by how many rows lists shift after their first page.
    pub(crate) drift: i64,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// The unread body, for routes that stream it.
    pub(crate) incoming: Mutex<Option<Incoming>>,
}

/// The access that a route needs to a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    /// Open issues and pull requests, comment, review.
    Comment,
    /// Change labels, assignees, milestones and states.
    Triage,
    Write,
    Admin,
}

/// A repository with the permission of the requesting user.
#[derive(Clone, Debug)]
pub(crate) struct Repo {
    pub(crate) row: RepoRow,
    pub(crate) owner: Arc<User>,
    pub(crate) permission: Permission,
}

/// The requested media type, where a route has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Media {
    Json,
    Raw,
    Diff,
    Patch,
    Sha,
}

impl Call {
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

    /// Path and query.
    pub(crate) fn address(&self) -> String {
        let mark = if self.raw_query.is_empty() { "" } else { "?" };
        format!("{}{mark}{}", self.path, self.raw_query)
    }

    /// The requesting user; 401 without one.
    pub(crate) fn actor(&self) -> Result<&Arc<User>, Failure> {
        self.actor.as_ref().ok_or_else(|| Failure::unauthorized("Requires authentication"))
    }

    /// Parses the body as JSON; an empty body is an empty object.
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

    /// A number in the path; 404 for anything else.
    pub(crate) fn number(&self, name: &str) -> Result<i64, Failure> {
        let text = self.params.get(name);
        let valid = !text.is_empty() && text.len() <= 18 && text.bytes().all(|byte| byte.is_ascii_digit());
        valid.then(|| text.parse().ok()).flatten().ok_or_else(Failure::not_found)
    }

    /// The repository in the path, if the user has the access.
    pub(crate) async fn repo(&self, access: Access) -> Result<Repo, Failure> {
        let (owner, name) = (self.params.get("owner"), self.params.get("repo"));
        let repo = match self.find_repo(owner, name).await? {
            Some(repo) => repo,
            None => match self.former_repo(owner, name).await? {
                Some(repo) => return Err(self.redirect(repo.row.id)),
                None => return Err(Failure::not_found()),
            },
        };
        check_access(&repo, access, self.actor.is_some())?;
        Ok(repo)
    }

    /// A repository that the user may see.
    pub(crate) async fn find_repo(&self, owner: &str, name: &str) -> Result<Option<Repo>, Failure> {
        let Some(owner) = self.ctx.users.by_login(owner) else {
            return Ok(None);
        };
        let mut db = self.ctx.store.read().await?;
        match repos::by_name(&mut db, owner.id, name).await? {
            Some(row) => self.visible_repo(&mut db, row).await,
            None => Ok(None),
        }
    }

    /// A repository that the user may see, by a former name.
    pub(crate) async fn former_repo(&self, owner: &str, name: &str) -> Result<Option<Repo>, Failure> {
        let Some(owner) = self.ctx.users.by_login(owner) else {
            return Ok(None);
        };
        let mut db = self.ctx.store.read().await?;
        match repos::by_former_name(&mut db, owner.id, name).await? {
            Some(row) => self.visible_repo(&mut db, row).await,
            None => Ok(None),
        }
    }

    async fn visible_repo(&self, db: &mut SqliteConnection, row: RepoRow) -> Result<Option<Repo>, Failure> {
        let permission = match &self.actor {
            Some(actor) => collaborators::permission(db, &row, actor).await?,
            None if row.private => Permission::None,
            None => Permission::Read,
        };
        let owner = self.ctx.user(row.owner);
        Ok((permission > Permission::None).then_some(Repo { row, owner, permission }))
    }

    /// Redirects to the path with the repository id, which outlives renames: 301 for GET, 307 for other methods.
    fn redirect(&self, id: i64) -> Failure {
        let rest = self.path.splitn(5, '/').nth(4).map(|rest| format!("/{rest}")).unwrap_or_default();
        let query = if self.raw_query.is_empty() { String::new() } else { format!("?{}", self.raw_query) };
        let url = format!("{}/repositories/{id}{rest}{query}", self.ctx.url);
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

/// GitHub's error if the permission does not suffice.
fn check_access(repo: &Repo, access: Access, known: bool) -> Result<(), Failure> {
    let wanted = match access {
        Access::Read => return Ok(()),
        Access::Comment => Permission::Read,
        Access::Triage => Permission::Triage,
        Access::Write => Permission::Write,
        Access::Admin => Permission::Admin,
    };
    if !known {
        return Err(Failure::unauthorized("Requires authentication"));
    }
    if repo.permission < wanted {
        return Err(match access {
            Access::Admin => Failure::forbidden("Must have admin rights to Repository."),
            Access::Read | Access::Comment | Access::Triage | Access::Write => {
                Failure::forbidden("Resource not accessible by personal access token")
            }
        });
    }
    if repo.row.archived && access != Access::Admin {
        return Err(Failure::forbidden("Repository was archived so is read-only."));
    }
    Ok(())
}
