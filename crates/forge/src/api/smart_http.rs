//! Git over HTTP: clone, fetch, push.

use std::sync::Arc;

use hyper::StatusCode;
use hyper::body::Bytes;
use tokio::sync::mpsc;

use crate::git::{BackendRequest, BackendResponse};
use crate::reconcile;
use crate::server::{Body, Call, Chunk, Failure, Reply, Repo, Route, RouteKind};
use crate::store::Permission;

pub(crate) const ROUTES: &[Route] = &[
    Route::new("GET", RouteKind::Git, "/{owner}/{git}/info/refs", |call| Box::pin(info(call))),
    Route::new("POST", RouteKind::Git, "/{owner}/{git}/git-upload-pack", |call| Box::pin(fetch(call))),
    Route::new("POST", RouteKind::Git, "/{owner}/{git}/git-receive-pack", |call| Box::pin(push(call))),
];

/// Chunks buffered for a slow client.
const QUEUE: usize = 8;

async fn info(call: &Call) -> Result<Reply, Failure> {
    let writes = match call.query.get("service") {
        Some("git-upload-pack") => false,
        Some("git-receive-pack") => true,
        // The dumb protocol needs files that the forge does not have.
        Some(_) | None => return Err(Failure::forbidden("Please upgrade your git client.")),
    };
    let repo = permitted(call, writes).await?;
    let response = start(call, &repo, "GET", "/info/refs", "").await?;
    Ok(stream(call, response, None))
}

async fn fetch(call: &Call) -> Result<Reply, Failure> {
    let repo = permitted(call, false).await?;
    let response = start(call, &repo, "POST", "/git-upload-pack", "").await?;
    Ok(stream(call, response, None))
}

async fn push(call: &Call) -> Result<Reply, Failure> {
    let repo = permitted(call, true).await?;
    let protected = super::protection::rules_for_push(call, &repo).await?;
    let response = start(call, &repo, "POST", "/git-receive-pack", &protected).await?;
    Ok(stream(call, response, Some(repo)))
}

/// The repository, if the user may fetch from it or push to it. Git sends a token after a 401.
async fn permitted(call: &Call, writes: bool) -> Result<Repo, Failure> {
    let name = call.params.get("git");
    let name = name.strip_suffix(".git").unwrap_or(name);
    let ask = || {
        let mut failure = Failure::unauthorized("Requires authentication");
        failure.headers.push(("www-authenticate", "Basic realm=\"forge\"".to_owned()));
        failure
    };
    let owner = call.params.get("owner");
    // A clone keeps working after a rename.
    let repo = match call.find_repo(owner, name).await? {
        Some(repo) => Some(repo),
        None => call.former_repo(owner, name).await?,
    };
    let repo = repo.ok_or_else(|| if call.actor.is_some() { Failure::not_found() } else { ask() })?;
    if !writes {
        return Ok(repo);
    }
    if call.actor.is_none() {
        return Err(ask());
    }
    if repo.permission < Permission::Write {
        return Err(Failure::forbidden("Write access to repository not granted."));
    }
    if repo.row.archived {
        return Err(Failure::forbidden("This repository was archived so it is read-only."));
    }
    Ok(repo)
}

async fn start(
    call: &Call,
    repo: &Repo,
    method: &'static str,
    service: &'static str,
    protected: &str,
) -> Result<BackendResponse, Failure> {
    let header =
        |name: &str| call.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let incoming = call.incoming.lock().await.take().ok_or_else(Failure::not_found)?;
    let request = BackendRequest {
        method,
        service,
        query: &call.raw_query,
        content_type: header("content-type"),
        content_encoding: header("content-encoding"),
        protocol: header("git-protocol"),
        user: call.actor.as_ref().map_or("", |actor| actor.login.as_str()),
        protected,
    };
    Ok(call.ctx.repository(repo.row.id).backend(&request, incoming, &call.ctx.tasks).await?)
}

/// Streams git's response. After a push the last chunk is held back until the refs are reconciled.
fn stream(call: &Call, mut response: BackendResponse, pushed: Option<Repo>) -> Reply {
    let status = StatusCode::from_u16(response.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut reply = Reply::empty(status);
    for (name, value) in &response.headers {
        reply.set(name, value);
    }
    let (chunks, receiver) = mpsc::channel(QUEUE);
    let (ctx, actor) = (Arc::clone(&call.ctx), call.actor.clone());
    call.ctx.tasks.spawn(async move {
        let mut held: Option<Bytes> = None;
        let mut listening = true;
        let whole = loop {
            match response.next().await {
                Ok(Some(bytes)) => {
                    let ready = if pushed.is_some() { held.replace(bytes) } else { Some(bytes) };
                    if let Some(bytes) = ready.filter(|_| listening) {
                        listening = chunks.send(Chunk::Bytes(bytes)).await.is_ok();
                    }
                    // A fetch without a reader is dropped. A push runs to its end: refs may have moved.
                    if !listening && pushed.is_none() {
                        return;
                    }
                }
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        let ended = response.end().await.is_ok() && whole;
        if let (Some(repo), Some(actor)) = (pushed, actor) {
            let lock = ctx.repo_locks.acquire(repo.row.id).await;
            if reconcile::sync_refs(&ctx, &lock, &repo.row, &actor).await.is_err() {
                return;
            }
        }
        if let Some(bytes) = held {
            let _ = chunks.send(Chunk::Bytes(bytes)).await;
        }
        if ended {
            let _ = chunks.send(Chunk::End).await;
        }
    });
    reply.body = Body::Stream(receiver);
    reply
}
