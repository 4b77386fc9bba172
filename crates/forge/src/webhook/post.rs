//! One POST request: signed, with a timeout and a bounded response.

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

/// GitHub's timeout.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How much of the response body is kept.
const MOST_RESPONSE: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct PostResponse {
    pub(super) code: u16,
    pub(super) headers: String,
    pub(super) body: String,
}

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
pub(super) enum PostError {
    #[error("the webhook URL is not valid")]
    Url,
    #[error("timed out")]
    Timeout,
    #[error("{0}")]
    Connect(#[from] std::io::Error),
    #[error("{0}")]
    Http(#[from] hyper::Error),
    #[error("{0}")]
    Request(#[from] hyper::http::Error),
}

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

/// The request body; the signature covers exactly these bytes.
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

pub(super) async fn post(
    url: &str,
    headers: &[(&'static str, String)],
    body: Vec<u8>,
) -> Result<PostResponse, PostError> {
    tokio::time::timeout(TIMEOUT, exchange(url, headers, body)).await.map_err(|_| PostError::Timeout)?
}

async fn exchange(
    url: &str,
    headers: &[(&'static str, String)],
    body: Vec<u8>,
) -> Result<PostResponse, PostError> {
    let uri: Uri = url.parse().map_err(|_| PostError::Url)?;
    let host = uri.host().ok_or(PostError::Url)?.trim_matches(['[', ']']).to_owned();
    let stream = TcpStream::connect((host.as_str(), uri.port_u16().unwrap_or(80))).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let authority = uri.authority().ok_or(PostError::Url)?.as_str().to_owned();
    let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let mut request = Request::post(path).header("host", authority);
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    let request = request.body(Full::new(Bytes::from(body)))?;
    let response = async {
        let (parts, incoming) = sender.send_request(request).await?.into_parts();
        let kept = Limited::new(incoming, MOST_RESPONSE).collect().await;
        let body = kept.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        let headers: Map<String, Value> = parts
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into()))
            .collect();
        let body = String::from_utf8_lossy(&body).into_owned();
        Ok(PostResponse { code: parts.status.as_u16(), headers: Value::Object(headers).to_string(), body })
    };
    // The request ends by itself when the server closes the connection.
    let drive = async {
        let _ = connection.await;
        std::future::pending().await
    };
    tokio::select! {
        done = response => done,
        done = drive => done,
    }
}

#[cfg(test)]
mod tests {
    use super::signature;

    /// The example of GitHub's documentation.
    #[test]
    fn signature_matches_githubs_example() {
        assert_eq!(
            signature("It's a Secret to Everybody", b"Hello, World!"),
            "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
        );
    }
}
