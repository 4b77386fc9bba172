//! A service that answers with the bytes it is told to, one connection after the other.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use pilot_link::http::Url;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// What becomes of one connection.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Reads the request, answers, closes.
    Say(Vec<u8>),
    /// The same, but the connection breaks after these bytes.
    Break(Vec<u8>),
    /// The same, but nothing follows these bytes, ever.
    Stall(Vec<u8>),
    /// Closes before reading anything.
    Slam,
}

/// One request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Seen {
    pub(crate) fn line(&self) -> &str {
        self.head.lines().next().unwrap_or_default().trim_end_matches(" HTTP/1.1")
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let headers = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        headers.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

pub(crate) struct Server {
    url: Url,
    seen: Arc<Mutex<Vec<Seen>>>,
    script: Arc<Mutex<VecDeque<Act>>>,
    /// Ends with the test.
    _accepting: JoinSet<()>,
}

impl Server {
    pub(crate) async fn start(script: impl IntoIterator<Item = Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it listens");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let script = Arc::new(Mutex::new(script.into_iter().collect()));
        let mut accepting = JoinSet::new();
        accepting.spawn(serve(listener, Arc::clone(&script), Arc::clone(&seen)));
        let url = Url::parse(&format!("http://{address}/")).expect("an address");
        Self { url, seen, script, _accepting: accepting }
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    pub(crate) fn at(&self, path: &str) -> Url {
        self.url.join(path).expect("a path")
    }

    pub(crate) fn then(&self, acts: impl IntoIterator<Item = Act>) {
        self.script.lock().expect("no panic before").extend(acts);
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("no panic before").clone()
    }

    /// `GET /path` of each request.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.seen().iter().map(|seen| seen.line().to_owned()).collect()
    }

    /// Everything that was to happen has happened.
    pub(crate) fn is_done(&self) -> bool {
        self.script.lock().expect("no panic before").is_empty()
    }
}

async fn serve(listener: TcpListener, script: Arc<Mutex<VecDeque<Act>>>, seen: Arc<Mutex<Vec<Seen>>>) {
    // Connections that stall are kept open as long as the test runs.
    let mut stalled = Vec::new();
    while let Ok((mut stream, _)) = listener.accept().await {
        let act = script.lock().expect("no panic before").pop_front();
        let act = act.unwrap_or_else(|| Act::Say(answer(599, &[], "this was not in the script")));
        if !matches!(act, Act::Slam) {
            let Some(request) = receive(&mut stream).await else { continue };
            seen.lock().expect("no panic before").push(request);
        }
        match act {
            Act::Say(bytes) => {
                let _ = stream.write_all(&bytes).await;
                let _ = stream.shutdown().await;
            }
            Act::Break(bytes) => {
                let _ = stream.write_all(&bytes).await;
                let _ = stream.set_zero_linger();
            }
            Act::Stall(bytes) => {
                let _ = stream.write_all(&bytes).await;
                stalled.push(stream);
            }
            Act::Slam => {
                let _ = stream.set_zero_linger();
            }
        }
    }
}

async fn receive(stream: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let seen = Seen { head, body: String::new() };
            let length: usize = seen.header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
            if bytes.len() >= end + 4 + length {
                return Some(Seen { body: String::from_utf8_lossy(&bytes[end + 4..]).into_owned(), ..seen });
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

/// An answer with its length, after which the connection closes.
pub(crate) fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let mut text = format!("HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    format!("{text}\r\n{body}").into_bytes()
}

pub(crate) fn ok(body: &str) -> Act {
    Act::Say(answer(200, &[("Content-Type", "application/json")], body))
}

pub(crate) fn refuse(status: u16, message: &str) -> Act {
    Act::Say(answer(status, &[], &format!("{{\"message\":\"{message}\"}}")))
}
