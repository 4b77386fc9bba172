//! A small HTTP client with one connection per request, so that a broken one affects no other request.

use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{HeaderMap, Method, Request};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) url: String,
    pub(crate) token: Option<String>,
    pub(crate) login: String,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    /// The body as JSON; null if it is not JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The body as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A header, empty if it is absent.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The JSON, if the status is the expected one.
    pub(crate) fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        self.json()
    }
}

impl Client {
    /// The same client without a token.
    pub(crate) fn anonymous(&self) -> Client {
        Client { token: None, ..self.clone() }
    }

    /// The same client with another token.
    pub(crate) fn with_token(&self, token: &str) -> Client {
        Client { token: Some(token.to_owned()), ..self.clone() }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask(Method::GET, path, &[], None).await.expect("an answer")
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(Method::POST, path, body).await
    }

    /// Sends a POST and disconnects after a while without reading the response.
    pub(crate) async fn post_and_disconnect(&self, path: &str, body: &Value, after: Duration) {
        let host = self.url.strip_prefix("http://").expect("plain HTTP");
        let mut stream = TcpStream::connect(host).await.expect("a connection");
        let (token, body) = (self.token.as_deref().unwrap_or_default(), body.to_string());
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).await.expect("it listens");
        tokio::time::sleep(after).await;
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> Answer {
        self.send(Method::PATCH, path, body).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Answer {
        self.send(Method::PUT, path, body).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.ask(Method::DELETE, path, &[], None).await.expect("an answer")
    }

    async fn send(&self, method: Method, path: &str, body: Value) -> Answer {
        self.ask(method, path, &[], Some(body.to_string().into_bytes())).await.expect("an answer")
    }

    /// Sends any request; `None` if the connection breaks.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Vec<u8>>,
    ) -> Option<Answer> {
        let host = self.url.strip_prefix("http://").expect("plain HTTP");
        let stream = TcpStream::connect(host).await.ok()?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
        let mut request = Request::builder().method(method).uri(path).header("host", host);
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::from(body.unwrap_or_default()))).expect("a request");
        let exchange = async {
            let (parts, incoming) = sender.send_request(request).await.ok()?.into_parts();
            let body = incoming.collect().await.ok()?.to_bytes();
            Some(Answer { status: parts.status.as_u16(), headers: parts.headers, body })
        };
        let drive = async {
            let _ = connection.await;
            std::future::pending().await
        };
        tokio::select! {
            done = exchange => done,
            never = drive => never,
        }
    }
}
