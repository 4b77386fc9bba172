//! One request from route to log: fault, token, rate limit, body, handler, headers.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::HeaderMap;
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::Mutex;
use uuid::Uuid;

use super::authentication;
use super::call::Call;
use super::conditional;
use super::failure::Failure;
use super::query::Query;
use super::rate::RateUsage;
use super::reply::{Body, CutOff, Reply};
use super::request_log::Entry;
use super::route::{Params, Route, RouteKind, find};
use crate::api;
use crate::clock::Stopwatch;
use crate::context::Context;
use crate::faults::{Fault, Interception};
use crate::pages;
use crate::store::{User, repos, users};

/// The largest body of an API request; a file in it is at most three quarters of this.
const BODY: usize = 25 << 20;

/// Timeout for the body.
const BODY_TIME: Duration = Duration::from_secs(60);

/// Handles a request; the error closes the connection, for faults.
pub(crate) async fn handle(ctx: Arc<Context>, request: Request<Incoming>) -> Result<Response<Body>, CutOff> {
    let watch = Stopwatch::start();
    let (parts, incoming) = request.into_parts();
    let path = resolve_repository(&ctx, parts.uri.path()).await;
    let found = find(api::ROUTES, &parts.method, &path).or_else(|| pages::find(&parts.method, &path));
    let (route, params) = found.map_or((None, Params::default()), |(route, params)| (Some(route), params));
    let kind = route.map_or(RouteKind::Api, |route| route.kind);
    let fault = route
        .filter(|_| matches!(kind, RouteKind::Api | RouteKind::Git))
        .and_then(|route| ctx.faults.for_call(route));
    let mut call = Call {
        ctx: Arc::clone(&ctx),
        actor: None,
        method: parts.method.clone(),
        params,
        path,
        query: Query::parse(parts.uri.query().unwrap_or_default()),
        raw_query: parts.uri.query().unwrap_or_default().to_owned(),
        drift: fault.as_ref().map_or(0, Fault::drift),
        headers: parts.headers,
        body: Bytes::new(),
        incoming: Mutex::new(None),
    };
    let reply = respond(&mut call, &parts.method, incoming, route, fault.as_ref()).await;
    let status = reply.as_ref().map_or(0, |reply| reply.status.as_u16());
    ctx.log.add(Entry {
        id: 0,
        method: parts.method.to_string(),
        path: call.path,
        query: call.raw_query,
        route: route.map_or("", |route| route.pattern),
        user: call.actor.map(|actor| actor.login.clone()),
        status,
        fault: fault.map(|fault| fault.to_string()),
        micros: u64::try_from(watch.elapsed().as_micros()).unwrap_or(u64::MAX),
    });
    let mut reply = reply?;
    if parts.method == Method::HEAD {
        reply.body = Body::Whole(Bytes::new());
    }
    Ok(reply.into_http())
}

/// Rewrites `/repositories/1/issues` to `/repos/o/r/issues`.
async fn resolve_repository(ctx: &Context, path: &str) -> String {
    let Some((id, rest)) =
        path.strip_prefix("/repositories/").map(|rest| rest.split_once('/').unwrap_or((rest, "")))
    else {
        return path.to_owned();
    };
    let id = if id.len() <= 18 { id.parse().unwrap_or(0) } else { 0 };
    let row = match ctx.store.read().await {
        Ok(mut db) => repos::by_id(&mut db, id).await.ok().flatten(),
        Err(_) => None,
    };
    match row {
        Some(row) => format!("/repos/{}/{}/{rest}", ctx.user(row.owner).login, row.name)
            .trim_end_matches('/')
            .to_owned(),
        None => path.to_owned(),
    }
}

async fn respond(
    call: &mut Call,
    method: &Method,
    incoming: Incoming,
    route: Option<&'static Route>,
    fault: Option<&Fault>,
) -> Result<Reply, CutOff> {
    let kind = route.map_or(RouteKind::Api, |route| route.kind);
    if let Some(fault) = fault {
        // The reply shows the user's rate limit, and the log names the user.
        call.actor = authenticate(&call.ctx, &call.headers).await.ok().flatten();
        match fault.before(call).await {
            Interception::Cut => return Err(CutOff),
            Interception::Reply(mut reply) => {
                add_headers(call, kind, &mut reply, None);
                return Ok(*reply);
            }
            Interception::Continue => {}
        }
    }
    let (mut reply, usage) = match admit(call, kind).await {
        Ok(usage) => (run_route(call, incoming, route).await, usage),
        Err((failure, usage)) => (failure.reply(), usage),
    };
    let mut usage = usage;
    if kind == RouteKind::Api {
        let free = conditional::apply_etag(method, &call.headers, &mut reply);
        if !free && usage.is_some_and(|usage| usage.remaining() > 0) {
            usage =
                Some(call.ctx.rate.charge(call.actor.as_ref().map(|actor| actor.id), call.ctx.clock.now()));
        }
    }
    add_headers(call, kind, &mut reply, usage);
    if let (&Method::GET, StatusCode::OK, Body::Whole(body)) = (method, reply.status, &reply.body) {
        call.ctx.faults.remember(&call.address(), body);
    }
    match fault {
        Some(fault) => fault.after(reply),
        None => Ok(reply),
    }
}

/// Authenticates the request and checks the rate limit.
async fn admit(call: &mut Call, kind: RouteKind) -> Result<Option<RateUsage>, (Failure, Option<RateUsage>)> {
    if kind == RouteKind::Page {
        call.actor = pages::session_user(call);
        return Ok(None);
    }
    match authenticate(&call.ctx, &call.headers).await {
        Ok(actor) => call.actor = actor,
        Err(failure) => return Err((failure, None)),
    }
    if kind != RouteKind::Api {
        return Ok(None);
    }
    let user = call.actor.as_ref().map(|actor| actor.id);
    let usage = call.ctx.rate.usage(user, call.ctx.clock.now());
    if usage.remaining() == 0 && call.path != "/rate_limit" {
        let who = user.map_or_else(|| "unknown".to_owned(), |id| id.to_string());
        let message = format!("API rate limit exceeded for user ID {who}.");
        return Err((Failure::forbidden(message), Some(usage)));
    }
    Ok(Some(usage))
}

async fn authenticate(ctx: &Context, headers: &HeaderMap) -> Result<Option<Arc<User>>, Failure> {
    let Some(token) = authentication::token(headers) else {
        return Ok(None);
    };
    let mut db = ctx.store.read().await?;
    let id = users::by_token(&mut db, &authentication::digest(&token)).await?;
    let user = id.and_then(|id| ctx.users.by_id(id));
    user.map(Some).ok_or_else(|| Failure::unauthorized("Bad credentials"))
}

async fn run_route(call: &mut Call, incoming: Incoming, route: Option<&'static Route>) -> Reply {
    let Some(route) = route else {
        return Failure::not_found().reply();
    };
    if route.kind == RouteKind::Git {
        call.incoming = Mutex::new(Some(incoming));
    } else {
        match read_body(incoming).await {
            Ok(body) => call.body = body,
            Err(failure) => return failure.reply(),
        }
    }
    (route.run)(call).await.unwrap_or_else(Failure::reply)
}

async fn read_body(incoming: Incoming) -> Result<Bytes, Failure> {
    let read = Limited::new(incoming, BODY).collect();
    match tokio::time::timeout(BODY_TIME, read).await {
        Err(_) => Err(Failure::new(StatusCode::REQUEST_TIMEOUT, "The body did not arrive in time")),
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
            Err(Failure::new(StatusCode::PAYLOAD_TOO_LARGE, format!("The body is larger than {BODY} bytes")))
        }
        Ok(Err(_)) => Err(Failure::new(StatusCode::BAD_REQUEST, "The body could not be read")),
    }
}

/// Sets the headers that GitHub sends with every reply.
fn add_headers(call: &Call, kind: RouteKind, reply: &mut Reply, usage: Option<RateUsage>) {
    reply.set("x-github-request-id", &Uuid::now_v7().simple().to_string());
    reply.set("x-content-type-options", "nosniff");
    let now = call.ctx.clock.now();
    reply.set("date", &now.http());
    if kind != RouteKind::Api {
        return;
    }
    reply.set("x-github-media-type", "github.v3; format=json");
    reply.set("x-github-api-version-selected", "2022-11-28");
    let user = call.actor.as_ref().map(|actor| actor.id);
    let usage = usage.unwrap_or_else(|| call.ctx.rate.usage(user, now));
    for (name, number) in [
        ("x-ratelimit-limit", i64::from(usage.limit)),
        ("x-ratelimit-remaining", i64::from(usage.remaining())),
        ("x-ratelimit-used", i64::from(usage.used)),
        ("x-ratelimit-reset", usage.reset),
    ] {
        if !reply.headers.contains_key(name) {
            reply.set(name, &number.to_string());
        }
    }
    reply.set("x-ratelimit-resource", "core");
}
