//! The way of one request: route, fault, token, limit, body, work, manners, log.

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
use super::rate::Standing;
use super::reply::{Body, CutOff, Reply};
use super::request_log::Entry;
use super::route::{Face, Params, Route, find};
use crate::api;
use crate::clock::Stopwatch;
use crate::faults::{Before, Fault};
use crate::pages;
use crate::site::Site;
use crate::store::{User, repos, users};

/// The largest body of an API call; a file in it is at most three quarters of this.
const BODY: usize = 25 << 20;

/// How long a client may take to send it.
const BODY_TIME: Duration = Duration::from_secs(60);

/// Answers a request, whatever it is; an error breaks the connection, as a fault may ask for.
pub(crate) async fn handle(site: Arc<Site>, request: Request<Incoming>) -> Result<Response<Body>, CutOff> {
    let watch = Stopwatch::start();
    let (parts, incoming) = request.into_parts();
    let path = by_name(&site, parts.uri.path()).await;
    let found = find(api::ROUTES, &parts.method, &path).or_else(|| pages::find(&parts.method, &path));
    let (route, params) = found.map_or((None, Params::default()), |(route, params)| (Some(route), params));
    let face = route.map_or(Face::Api, |route| route.face);
    let fault =
        route.filter(|_| matches!(face, Face::Api | Face::Git)).and_then(|route| site.faults.of(route));
    let mut call = Call {
        site: Arc::clone(&site),
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
    let reply = answer(&mut call, &parts.method, incoming, route, fault.as_ref()).await;
    let status = reply.as_ref().map_or(0, |reply| reply.status.as_u16());
    site.log.add(Entry {
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

/// `/repositories/1/issues` is where `/repos/o/r/issues` is, whatever the repository is called.
async fn by_name(site: &Site, path: &str) -> String {
    let Some((id, rest)) =
        path.strip_prefix("/repositories/").map(|rest| rest.split_once('/').unwrap_or((rest, "")))
    else {
        return path.to_owned();
    };
    let id = if id.len() <= 18 { id.parse().unwrap_or(0) } else { 0 };
    let row = match site.store.read().await {
        Ok(mut db) => repos::by_id(&mut db, id).await.ok().flatten(),
        Err(_) => None,
    };
    match row {
        Some(row) => format!("/repos/{}/{}/{rest}", site.user(row.owner).login, row.name)
            .trim_end_matches('/')
            .to_owned(),
        None => path.to_owned(),
    }
}

async fn answer(
    call: &mut Call,
    method: &Method,
    incoming: Incoming,
    route: Option<&'static Route>,
    fault: Option<&Fault>,
) -> Result<Reply, CutOff> {
    let face = route.map_or(Face::Api, |route| route.face);
    if let Some(fault) = fault {
        // Whose limits the answer tells of, and whose call the log counts.
        call.actor = who(&call.site, &call.headers).await.ok().flatten();
        match fault.before(call).await {
            Before::Cut => return Err(CutOff),
            Before::Reply(mut reply) => {
                manners(call, face, &mut reply, None);
                return Ok(*reply);
            }
            Before::Go => {}
        }
    }
    let (mut reply, standing) = match admit(call, face).await {
        Ok(standing) => (perform(call, incoming, route).await, standing),
        Err((failure, standing)) => (failure.reply(), standing),
    };
    let mut standing = standing;
    if face == Face::Api {
        let free = conditional::settle(method, &call.headers, &mut reply);
        if !free && standing.is_some_and(|standing| standing.remaining() > 0) {
            standing =
                Some(call.site.rate.charge(call.actor.as_ref().map(|actor| actor.id), call.site.clock.now()));
        }
    }
    manners(call, face, &mut reply, standing);
    if let (&Method::GET, StatusCode::OK, Body::Whole(body)) = (method, reply.status, &reply.body) {
        call.site.faults.remember(&call.address(), body);
    }
    match fault {
        Some(fault) => fault.after(reply),
        None => Ok(reply),
    }
}

/// Who asks, and whether they have requests left.
async fn admit(call: &mut Call, face: Face) -> Result<Option<Standing>, (Failure, Option<Standing>)> {
    if face == Face::Page {
        call.actor = pages::visitor(call);
        return Ok(None);
    }
    match who(&call.site, &call.headers).await {
        Ok(actor) => call.actor = actor,
        Err(failure) => return Err((failure, None)),
    }
    if face != Face::Api {
        return Ok(None);
    }
    let user = call.actor.as_ref().map(|actor| actor.id);
    let standing = call.site.rate.standing(user, call.site.clock.now());
    if standing.remaining() == 0 && call.path != "/rate_limit" {
        let who = user.map_or_else(|| "unknown".to_owned(), |id| id.to_string());
        let message = format!("API rate limit exceeded for user ID {who}.");
        return Err((Failure::forbidden(message), Some(standing)));
    }
    Ok(Some(standing))
}

async fn who(site: &Site, headers: &HeaderMap) -> Result<Option<Arc<User>>, Failure> {
    let Some(token) = authentication::token(headers) else {
        return Ok(None);
    };
    let mut db = site.store.read().await?;
    let id = users::by_token(&mut db, &authentication::digest(&token)).await?;
    let user = id.and_then(|id| site.people.by_id(id));
    user.map(Some).ok_or_else(|| Failure::unauthorized("Bad credentials"))
}

async fn perform(call: &mut Call, incoming: Incoming, route: Option<&'static Route>) -> Reply {
    let Some(route) = route else {
        return Failure::not_found().reply();
    };
    if route.face == Face::Git {
        call.incoming = Mutex::new(Some(incoming));
    } else {
        match whole(incoming).await {
            Ok(body) => call.body = body,
            Err(failure) => return failure.reply(),
        }
    }
    (route.run)(call).await.unwrap_or_else(Failure::reply)
}

async fn whole(incoming: Incoming) -> Result<Bytes, Failure> {
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

/// The headers GitHub adds to everything.
fn manners(call: &Call, face: Face, reply: &mut Reply, standing: Option<Standing>) {
    reply.set("x-github-request-id", &Uuid::now_v7().simple().to_string());
    reply.set("x-content-type-options", "nosniff");
    let now = call.site.clock.now();
    reply.set("date", &now.http());
    if face != Face::Api {
        return;
    }
    reply.set("x-github-media-type", "github.v3; format=json");
    reply.set("x-github-api-version-selected", "2022-11-28");
    let user = call.actor.as_ref().map(|actor| actor.id);
    let standing = standing.unwrap_or_else(|| call.site.rate.standing(user, now));
    for (name, number) in [
        ("x-ratelimit-limit", i64::from(standing.limit)),
        ("x-ratelimit-remaining", i64::from(standing.remaining())),
        ("x-ratelimit-used", i64::from(standing.used)),
        ("x-ratelimit-reset", standing.reset),
    ] {
        if !reply.headers.contains_key(name) {
            reply.set(name, &number.to_string());
        }
    }
    reply.set("x-ratelimit-resource", "core");
}
