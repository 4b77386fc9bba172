//! A client that knows whether it got all of an answer: what was not answered may have happened, what was, has.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::program::command;

/// A client of a forge.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) url: String,
    pub(crate) token: String,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) json: Value,
}

impl Client {
    /// Sends a request; nothing if the answer did not come whole.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &Value) -> Option<Answer> {
        let host = self.url.strip_prefix("http://").expect("plain HTTP");
        let mut stream = TcpStream::connect(host).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: token {}\r\nConnection: close\r\n\
             Content-Length: {}\r\n\r\n",
            self.token,
            body.len()
        );
        stream.write_all(head.as_bytes()).ok()?;
        stream.write_all(body.as_bytes()).ok()?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let (head, body) = text.split_once("\r\n\r\n")?;
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
        if body.len() < length.parse().ok()? {
            return None;
        }
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some(Answer { status, json: serde_json::from_str(body).unwrap_or_default() })
    }

    /// A GET that must succeed.
    pub(crate) fn get(&self, path: &str) -> Value {
        let answer = self.ask("GET", path, &Value::Null).expect("an answer");
        assert_eq!(answer.status, 200, "{path}: {}", answer.json);
        answer.json
    }

    /// The address of a repository for git.
    pub(crate) fn clone_url(&self, repo: &str) -> String {
        format!("{}/{repo}.git", self.url.replacen("http://", &format!("http://x:{}@", self.token), 1))
    }
}

/// Git without any user's configuration.
pub(crate) fn git(place: &Path, args: &[&str]) -> Command {
    let mut git = command("git");
    git.args(args).current_dir(place).env_clear().env("PATH", env!("PATH")).env("HOME", place);
    for (name, value) in [
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_AUTHOR_NAME", "Ann"),
        ("GIT_AUTHOR_EMAIL", "ann@example.org"),
        ("GIT_COMMITTER_NAME", "Ann"),
        ("GIT_COMMITTER_EMAIL", "ann@example.org"),
    ] {
        git.env(name, value);
    }
    git
}
