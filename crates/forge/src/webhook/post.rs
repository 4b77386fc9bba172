//! One POST: signed, bounded, and what came back.

use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use serde_json::{Map, Value};
use sha2::Sha256;
use tokio::net::TcpStream;

use crate::server::{hex, percent_encode};
use crate::store::{DeliveryRow, HookRow};

/// GitHub waits so long.
const LIMIT: Duration = Duration::from_secs(10);

/// How much of an answer is kept.
const MOST_ANSWER: usize = 64 << 10;

/// What came back.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) code: u16,
    pub(super) headers: String,
    pub(super) body: String,
}

/// Why nothing came back.
#[derive(Debug, thiserror::Error)]
pub(super) enum PostError {
    #[error("the address cannot be used")]
    Address,
    #[error("timed out")]
    Slow,
    #[error("{0}")]
    Connect(#[from] std::io::Error),
    #[error("{0}")]
    Http(#[from] hyper::Error),
    #[error("{0}")]
    Request(#[from] hyper::http::Error),
}

/// The headers of a delivery.
pub(super) fn headers(hook: &HookRow, row: &DeliveryRow, body: &[u8]) -> Vec<(&'static str, String)> {
    let mut headers = vec![
        ("accept", "*/*".to_owned()),
        ("content-type", content_type(hook).to_owned()),
        ("user-agent", "GitHub-Hookshot/forge".to_owned()),
        ("x-github-delivery", row.guid.clone()),
        ("x-github-event", row.event.clone()),
        ("x-github-hook-id", hook.id.to_string()),
        ("x-github-hook-installation-target-id", row.repo.to_string()),
        ("x-github-hook-installation-target-type", "repository".to_owned()),
    ];
    if let Some(secret) = &hook.secret {
        headers.push(("x-hub-signature-256", signature(secret, body)));
    }
    headers
}

fn content_type(hook: &HookRow) -> &'static str {
    if hook.content_type == "form" { "application/x-www-form-urlencoded" } else { "application/json" }
}

/// The bytes that are sent, and signed.
pub(super) fn body(hook: &HookRow, row: &DeliveryRow) -> Vec<u8> {
    if hook.content_type == "form" {
        format!("payload={}", percent_encode(&row.payload)).into_bytes()
    } else {
        row.payload.clone().into_bytes()
    }
}

/// `sha256=` and the HMAC of the body.
fn signature(secret: &str, body: &[u8]) -> String {
    // HMAC takes keys of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else { return String::new() };
    mac.update(body);
    format!("sha256={}", hex(&mac.finalize().into_bytes()))
}

/// Sends it.
pub(super) async fn post(
    url: &str,
    headers: &[(&'static str, String)],
    body: Vec<u8>,
) -> Result<Answer, PostError> {
    tokio::time::timeout(LIMIT, talk(url, headers, body)).await.map_err(|_| PostError::Slow)?
}

async fn talk(url: &str, headers: &[(&'static str, String)], body: Vec<u8>) -> Result<Answer, PostError> {
    let uri: Uri = url.parse().map_err(|_| PostError::Address)?;
    let host = uri.host().ok_or(PostError::Address)?.trim_matches(['[', ']']).to_owned();
    let stream = TcpStream::connect((host.as_str(), uri.port_u16().unwrap_or(80))).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let authority = uri.authority().ok_or(PostError::Address)?.as_str().to_owned();
    let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let mut request = Request::post(path).header("host", authority);
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    let request = request.body(Full::new(Bytes::from(body)))?;
    let exchange = async {
        let (parts, incoming) = sender.send_request(request).await?.into_parts();
        let kept = Limited::new(incoming, MOST_ANSWER).collect().await;
        let body = kept.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        let headers: Map<String, Value> = parts
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into()))
            .collect();
        let body = String::from_utf8_lossy(&body).into_owned();
        Ok(Answer { code: parts.status.as_u16(), headers: Value::Object(headers).to_string(), body })
    };
    // The connection is done when the other side closes; the exchange knows then what it has.
    let drive = async {
        let _ = connection.await;
        std::future::pending().await
    };
    tokio::select! {
        done = exchange => done,
        done = drive => done,
    }
}

#[cfg(test)]
mod tests {
    use super::signature;

    /// The example of GitHub's documentation.
    #[test]
    fn bodies_are_signed_as_github_signs_them() {
        assert_eq!(
            signature("It's a Secret to Everybody", b"Hello, World!"),
            "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
        );
    }
}
