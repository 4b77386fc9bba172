//! Git over HTTP: clone, fetch, push.

use std::sync::Arc;

use hyper::StatusCode;
use hyper::body::Bytes;
use tokio::sync::mpsc;

use crate::git::{BackendRequest, Session};
use crate::reconcile;
use crate::server::{Body, Call, Chunk, Face, Failure, Reply, Repo, Route};
use crate::store::Permission;

/// Routes that git's own client calls.
pub(crate) const ROUTES: &[Route] = &[
    Route {
        method: "GET",
        pattern: "/{owner}/{git}/info/refs",
        face: Face::Git,
        run: |call| Box::pin(info(call)),
    },
    Route {
        method: "POST",
        pattern: "/{owner}/{git}/git-upload-pack",
        face: Face::Git,
        run: |call| Box::pin(fetch(call)),
    },
    Route {
        method: "POST",
        pattern: "/{owner}/{git}/git-receive-pack",
        face: Face::Git,
        run: |call| Box::pin(push(call)),
    },
];

/// Chunks that wait for a slow client.
const QUEUE: usize = 8;

async fn info(call: &Call) -> Result<Reply, Failure> {
    let writes = match call.query.get("service") {
        Some("git-upload-pack") => false,
        Some("git-receive-pack") => true,
        // The dumb protocol would need files that are not kept.
        Some(_) | None => return Err(Failure::forbidden("Please upgrade your git client.")),
    };
    let repo = permitted(call, writes).await?;
    let session = start(call, &repo, "GET", "/info/refs", "").await?;
    Ok(stream(call, session, None))
}

async fn fetch(call: &Call) -> Result<Reply, Failure> {
    let repo = permitted(call, false).await?;
    let session = start(call, &repo, "POST", "/git-upload-pack", "").await?;
    Ok(stream(call, session, None))
}

async fn push(call: &Call) -> Result<Reply, Failure> {
    let repo = permitted(call, true).await?;
    let protected = super::protection::rules_for_push(call, &repo).await?;
    let session = start(call, &repo, "POST", "/git-receive-pack", &protected).await?;
    Ok(stream(call, session, Some(repo)))
}

/// The repository, if the one who asks may fetch from it, or push to it. Git asks for a token when told 401.
async fn permitted(call: &Call, writes: bool) -> Result<Repo, Failure> {
    let name = call.params.get("git");
    let name = name.strip_suffix(".git").unwrap_or(name);
    let ask = || {
        let mut failure = Failure::unauthorized("Requires authentication");
        failure.headers.push(("www-authenticate", "Basic realm=\"forge\"".to_owned()));
        failure
    };
    let owner = call.params.get("owner");
    // A clone goes on working when its repository is renamed.
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
) -> Result<Session, Failure> {
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
    Ok(call.site.repository(repo.row.id).backend(&request, incoming, &call.site.tasks).await?)
}

/// Passes on what git says. After a push its last words are held back until everybody has been told what moved.
fn stream(call: &Call, mut session: Session, pushed: Option<Repo>) -> Reply {
    let status = StatusCode::from_u16(session.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut reply = Reply::empty(status);
    for (name, value) in &session.headers {
        reply.set(name, value);
    }
    let (chunks, receiver) = mpsc::channel(QUEUE);
    let (site, actor) = (Arc::clone(&call.site), call.actor.clone());
    call.site.tasks.spawn(async move {
        let mut held: Option<Bytes> = None;
        let mut listening = true;
        let whole = loop {
            match session.next().await {
                Ok(Some(bytes)) => {
                    let ready = if pushed.is_some() { held.replace(bytes) } else { Some(bytes) };
                    if let Some(bytes) = ready.filter(|_| listening) {
                        listening = chunks.send(Chunk::Bytes(bytes)).await.is_ok();
                    }
                    // Nobody waits for a clone that nobody reads. A push is seen through: refs may have moved.
                    if !listening && pushed.is_none() {
                        return;
                    }
                }
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        let ended = session.end().await.is_ok() && whole;
        if let (Some(repo), Some(actor)) = (pushed, actor) {
            let lane = site.lanes.enter(repo.row.id).await;
            if reconcile::settle(&site, &lane, &repo.row, &actor).await.is_err() {
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
