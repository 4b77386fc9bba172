//! Webhooks and their deliveries.

use hyper::{StatusCode, Uri};
use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::SqliteConnection;

use crate::server::{Access, Call, Failure, FieldError, Page, Reply, Repo, Route, delete, get, patch, post};
use crate::store::hooks::{self, NewDelivery};
use crate::store::{DeliveryRow, HookRow};
use crate::{webhook, wire};

pub(crate) const ROUTES: &[Route] = &[
    get("/repos/{owner}/{repo}/hooks", |call| Box::pin(list(call))),
    post("/repos/{owner}/{repo}/hooks", |call| Box::pin(create(call))),
    get("/repos/{owner}/{repo}/hooks/{hook}", |call| Box::pin(show(call))),
    patch("/repos/{owner}/{repo}/hooks/{hook}", |call| Box::pin(edit(call))),
    delete("/repos/{owner}/{repo}/hooks/{hook}", |call| Box::pin(remove(call))),
    post("/repos/{owner}/{repo}/hooks/{hook}/pings", |call| Box::pin(ping(call))),
    get("/repos/{owner}/{repo}/hooks/{hook}/deliveries", |call| Box::pin(deliveries(call))),
    get("/repos/{owner}/{repo}/hooks/{hook}/deliveries/{delivery}", |call| Box::pin(delivery(call))),
    post("/repos/{owner}/{repo}/hooks/{hook}/deliveries/{delivery}/attempts", |call| {
        Box::pin(redeliver(call))
    }),
];

/// GitHub's limit for the webhooks of a repository.
const MOST: usize = 20;

#[derive(Deserialize)]
struct HookRequest {
    config: Option<HookConfig>,
    events: Option<Vec<String>>,
    add_events: Option<Vec<String>>,
    remove_events: Option<Vec<String>>,
    active: Option<bool>,
}

#[derive(Deserialize)]
struct HookConfig {
    url: Option<String>,
    content_type: Option<String>,
    secret: Option<String>,
}

fn invalid(message: &str) -> Failure {
    Failure::invalid(FieldError::custom("Hook", "config", message))
}

/// Only plain HTTP: the forge is for use on one machine and has no TLS.
fn check_url(url: &str) -> Result<(), Failure> {
    let uri: Option<Uri> = url.parse().ok();
    let valid = uri.is_some_and(|uri| uri.scheme_str() == Some("http") && uri.host().is_some());
    if valid && url.len() <= 2048 {
        Ok(())
    } else {
        Err(invalid("url must begin with http:// (this forge speaks no TLS)"))
    }
}

fn check_events(events: &[String]) -> Result<String, Failure> {
    let valid = |name: &String| {
        name == "*"
            || (!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'))
    };
    if events.len() > 100 || !events.iter().all(valid) {
        return Err(Failure::invalid(FieldError::new("Hook", "events", "invalid")));
    }
    Ok(if events.is_empty() { "push".to_owned() } else { events.join(",") })
}

/// Applies a request to a row.
fn apply(row: &mut HookRow, request: HookRequest) -> Result<(), Failure> {
    if let Some(config) = request.config {
        if let Some(url) = config.url {
            check_url(&url)?;
            row.url = url;
        }
        match config.content_type.as_deref() {
            None => {}
            Some(kind @ ("json" | "form")) => row.content_type = kind.to_owned(),
            Some(_) => return Err(invalid("content_type must be json or form")),
        }
        row.secret = config.secret.filter(|secret| !secret.is_empty()).or(row.secret.take());
    }
    let mut events = request.events.unwrap_or_else(|| row.events.split(',').map(str::to_owned).collect());
    events.extend(request.add_events.unwrap_or_default());
    let gone = request.remove_events.unwrap_or_default();
    events.retain(|event| !gone.contains(event));
    events.dedup();
    row.events = check_events(&events)?;
    row.active = request.active.unwrap_or(row.active);
    Ok(())
}

async fn create(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Admin).await?;
    let now = call.ctx.clock.now();
    let request: HookRequest = call.json()?;
    if request.config.as_ref().is_none_or(|config| config.url.is_none()) {
        return Err(invalid("url is missing"));
    }
    let mut row = HookRow {
        id: 0,
        repo: repo.row.id,
        url: String::new(),
        content_type: "form".to_owned(),
        secret: None,
        events: "push".to_owned(),
        active: true,
        created: now,
        updated: now,
    };
    apply(&mut row, request)?;
    let mut tx = call.ctx.store.begin().await?;
    let known = hooks::of_repo(&mut tx, repo.row.id).await?;
    if known.iter().any(|known| known.url == row.url && known.events == row.events) {
        return Err(invalid("Hook already exists on this repository"));
    }
    if known.len() >= MOST {
        return Err(invalid("There are too many hooks on this repository"));
    }
    let row = hooks::insert(&mut tx, &row).await?;
    webhook::enqueue_ping(&call.ctx, &mut tx, &repo, call.actor()?, &row).await?;
    call.ctx.commit(tx).await?;
    Ok(Reply::created(&wire::hook(&call.ctx, &repo, &row)))
}

async fn list(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Admin).await?;
    let page = Page::of(call);
    let mut db = call.ctx.store.read().await?;
    let rows = hooks::of_repo(&mut db, repo.row.id).await?;
    Ok(page.reply_all(call, rows, |row| wire::hook(&call.ctx, &repo, &row)))
}

async fn find_hook(db: &mut SqliteConnection, call: &Call, repo: &Repo) -> Result<HookRow, Failure> {
    let row = hooks::by_id(db, call.number("hook")?).await?;
    row.filter(|row| row.repo == repo.row.id).ok_or_else(Failure::not_found)
}

async fn show(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Admin).await?;
    let mut db = call.ctx.store.read().await?;
    let row = find_hook(&mut db, call, &repo).await?;
    Ok(Reply::ok(&wire::hook(&call.ctx, &repo, &row)))
}

async fn edit(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Admin).await?;
    let request: HookRequest = call.json()?;
    let mut tx = call.ctx.store.begin().await?;
    let mut row = find_hook(&mut tx, call, &repo).await?;
    apply(&mut row, request)?;
    row.updated = call.ctx.clock.now();
    hooks::update(&mut tx, &row).await?;
    call.ctx.commit(tx).await?;
    Ok(Reply::ok(&wire::hook(&call.ctx, &repo, &row)))
}

async fn remove(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Admin).await?;
    let mut tx = call.ctx.store.begin().await?;
    let row = find_hook(&mut tx, call, &repo).await?;
    hooks::remove(&mut tx, row.id).await?;
    call.ctx.commit(tx).await?;
    Ok(Reply::no_content())
}

async fn ping(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Admin).await?;
    let mut tx = call.ctx.store.begin().await?;
    let row = find_hook(&mut tx, call, &repo).await?;
    webhook::enqueue_ping(&call.ctx, &mut tx, &repo, call.actor()?, &row).await?;
    call.ctx.commit(tx).await?;
    Ok(Reply::no_content())
}

async fn deliveries(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Admin).await?;
    let page = Page::of(call);
    let mut db = call.ctx.store.read().await?;
    let hook = find_hook(&mut db, call, &repo).await?;
    let before = call.query.get("cursor").and_then(|text| text.parse().ok()).unwrap_or(i64::MAX);
    let mut rows = hooks::deliveries(&mut db, hook.id, before, page.limit()).await?;
    let more = rows.len() > page.size();
    rows.truncate(page.size());
    let mut reply = Reply::ok(&rows.iter().map(wire::delivery_item).collect::<Vec<Value>>());
    if let Some(last) = rows.last().filter(|_| more) {
        let url = format!("{}{}?per_page={}&cursor={}", call.ctx.url, call.path, page.size(), last.id);
        reply.set("link", &format!("<{url}>; rel=\"next\""));
    }
    Ok(reply)
}

async fn find_delivery(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
) -> Result<(HookRow, DeliveryRow), Failure> {
    let hook = find_hook(db, call, repo).await?;
    let row = hooks::delivery(db, hook.id, call.number("delivery")?).await?.ok_or_else(Failure::not_found)?;
    Ok((hook, row))
}

async fn delivery(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Admin).await?;
    let mut db = call.ctx.store.read().await?;
    let (hook, row) = find_delivery(&mut db, call, &repo).await?;
    let mut json = wire::delivery(&row);
    json["url"] = hook.url.into();
    Ok(Reply::ok(&json))
}

async fn redeliver(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Admin).await?;
    let now = call.ctx.clock.now();
    let mut tx = call.ctx.store.begin().await?;
    let (hook, row) = find_delivery(&mut tx, call, &repo).await?;
    let again = NewDelivery {
        hook: hook.id,
        repo: row.repo,
        guid: &row.guid,
        event: &row.event,
        action: row.action.as_deref(),
        payload: &row.payload,
        redelivery: true,
        due: now,
    };
    hooks::enqueue(&mut tx, &again, now).await?;
    call.ctx.commit(tx).await?;
    Ok(Reply::json(StatusCode::ACCEPTED, &json!({})))
}
