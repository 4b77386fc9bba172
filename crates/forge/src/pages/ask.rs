//! The pages ask the API like any other client, only without a connection in between: what a page may show or do is what
//! its reader may.

use hyper::body::Bytes;
use hyper::{Method, StatusCode};
use serde_json::Value;
use tokio::sync::Mutex;

use crate::api;
use crate::server::{Body, Call, Failure, Query, Reply, find};

/// A GET.
pub(super) async fn get(call: &Call, path: &str) -> Result<Value, Failure> {
    ask(call, Method::GET, path, &Value::Null).await
}

/// One page of a list, and whether there is a next one.
pub(super) async fn list(call: &Call, path: &str) -> Result<(Vec<Value>, bool), Failure> {
    let reply = send(call, Method::GET, path, &Value::Null).await?;
    let links = reply.headers.get("link").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let more = links.contains("rel=\"next\"");
    match json(reply)? {
        Value::Array(items) => Ok((items, more)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            Err(Failure::internal(&"an answer that is no list"))
        }
    }
}

/// What is there, or nothing where there is nothing (an empty repository, a run without a log).
pub(super) async fn try_get(call: &Call, path: &str) -> Result<Value, Failure> {
    match get(call, path).await {
        Err(failure) if [StatusCode::NOT_FOUND, StatusCode::CONFLICT].contains(&failure.status) => {
            Ok(Value::Null)
        }
        other => other,
    }
}

/// Any other request, with JSON.
pub(super) async fn ask(call: &Call, method: Method, path: &str, body: &Value) -> Result<Value, Failure> {
    json(send(call, method, path, body).await?)
}

/// Sends a request with the rights of the one who asked for the page.
async fn send(call: &Call, method: Method, path: &str, body: &Value) -> Result<Reply, Failure> {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let (route, params) = find(api::ROUTES, &method, path).ok_or_else(Failure::not_found)?;
    let inner = Call {
        site: std::sync::Arc::clone(&call.site),
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

/// Text of an answer, by its pointer; empty if there is none.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// A number of an answer, by its pointer.
pub(super) fn number(value: &Value, pointer: &str) -> i64 {
    value.pointer(pointer).and_then(Value::as_i64).unwrap_or_default()
}

/// Whether an answer says so, by its pointer.
pub(super) fn yes(value: &Value, pointer: &str) -> bool {
    value.pointer(pointer).and_then(Value::as_bool).unwrap_or_default()
}

/// The items of a list in an answer, by its pointer.
pub(super) fn items<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
