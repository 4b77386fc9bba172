//! The pages call the API like any other client, but without a connection: a page can show and do only what its user may.

use hyper::body::Bytes;
use hyper::{Method, StatusCode};
use serde_json::Value;
use tokio::sync::Mutex;

use crate::api;
use crate::server::{Body, Call, Failure, Query, Reply, find};

pub(super) async fn get(call: &Call, path: &str) -> Result<Value, Failure> {
    send(call, Method::GET, path, &Value::Null).await
}

/// One page of a list, and whether there is a next one.
pub(super) async fn list(call: &Call, path: &str) -> Result<(Vec<Value>, bool), Failure> {
    let reply = dispatch(call, Method::GET, path, &Value::Null).await?;
    let links = reply.headers.get("link").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let more = links.contains("rel=\"next\"");
    match json(reply)? {
        Value::Array(items) => Ok((items, more)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            Err(Failure::internal(&"an answer that is no list"))
        }
    }
}

/// Like [`get`], but null for 404 and 409 (an empty repository, a run without a log).
pub(super) async fn try_get(call: &Call, path: &str) -> Result<Value, Failure> {
    match get(call, path).await {
        Err(failure) if [StatusCode::NOT_FOUND, StatusCode::CONFLICT].contains(&failure.status) => {
            Ok(Value::Null)
        }
        other => other,
    }
}

pub(super) async fn send(call: &Call, method: Method, path: &str, body: &Value) -> Result<Value, Failure> {
    json(dispatch(call, method, path, body).await?)
}

/// Runs a route with the permissions of the page's user.
async fn dispatch(call: &Call, method: Method, path: &str, body: &Value) -> Result<Reply, Failure> {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let (route, params) = find(api::ROUTES, &method, path).ok_or_else(Failure::not_found)?;
    let inner = Call {
        ctx: std::sync::Arc::clone(&call.ctx),
        actor: call.actor.clone(),
        method,
        params,
        path: path.to_owned(),
        query: Query::parse(query),
        raw_query: query.to_owned(),
        drift: 0,
        headers: hyper::HeaderMap::new(),
        body: if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) },
        incoming: Mutex::new(None),
    };
    (route.run)(&inner).await
}

fn json(reply: Reply) -> Result<Value, Failure> {
    match reply.body {
        Body::Whole(bytes) if bytes.is_empty() => Ok(Value::Null),
        Body::Whole(bytes) => serde_json::from_slice(&bytes).map_err(|error| Failure::internal(&error)),
        Body::Cut(_) | Body::Broken | Body::Stream(_) => Err(Failure::internal(&"an answer without an end")),
    }
}

/// The text at a JSON pointer; empty if absent.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The number at a JSON pointer; 0 if absent.
pub(super) fn number(value: &Value, pointer: &str) -> i64 {
    value.pointer(pointer).and_then(Value::as_i64).unwrap_or_default()
}

/// The boolean at a JSON pointer; false if absent.
pub(super) fn flag(value: &Value, pointer: &str) -> bool {
    value.pointer(pointer).and_then(Value::as_bool).unwrap_or_default()
}

/// The list at a JSON pointer; empty if absent.
pub(super) fn items<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
