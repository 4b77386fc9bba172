//! Git over HTTP: git's own `http-backend`, streamed in both directions.

use std::process::Stdio;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout};

use super::repository::Repository;
use super::run::GitError;
use crate::tasks::Tasks;

/// The hook that enforces branch protection; installed when the forge starts.
pub(crate) const PRE_RECEIVE: &str = include_str!("pre-receive.sh");

/// The longest header section of a response of http-backend.
const MOST_HEAD: usize = 16 << 10;

/// The longest pause of a client in a request, and of git in a response.
const SILENCE: Duration = Duration::from_secs(300);

const CHUNK: usize = 64 << 10;

/// The request for http-backend; all fields go into its environment.
#[derive(Debug)]
pub(crate) struct BackendRequest<'a> {
    pub(crate) method: &'static str,
    /// The path after the repository: `/info/refs`, `/git-upload-pack`, `/git-receive-pack`.
    pub(crate) service: &'static str,
    pub(crate) query: &'a str,
    pub(crate) content_type: &'a str,
    pub(crate) content_encoding: &'a str,
    pub(crate) protocol: &'a str,
    pub(crate) user: &'a str,
    /// The input of the pre-receive hook.
    pub(crate) protected: &'a str,
}

/// A response of http-backend whose headers are read.
#[derive(Debug)]
pub(crate) struct BackendResponse {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    rest: Vec<u8>,
    child: Child,
    stdout: ChildStdout,
}

impl Repository<'_> {
    /// Starts http-backend for a request; a task of its own passes the body on.
    pub(crate) async fn backend(
        &self,
        request: &BackendRequest<'_>,
        incoming: Incoming,
        tasks: &Tasks,
    ) -> Result<BackendResponse, GitError> {
        let name = self.path().file_name().unwrap_or_default().to_string_lossy();
        let mut command = self.git.command();
        command
            .arg("http-backend")
            .env("GIT_PROJECT_ROOT", self.git.root())
            .env("GIT_HTTP_EXPORT_ALL", "1")
            .env("PATH_INFO", format!("/{name}{}", request.service))
            .env("REQUEST_METHOD", request.method)
            .env("QUERY_STRING", request.query)
            .env("CONTENT_TYPE", request.content_type)
            .env("HTTP_CONTENT_ENCODING", request.content_encoding)
            .env("GIT_PROTOCOL", request.protocol)
            .env("REMOTE_USER", request.user)
            .env("REMOTE_ADDR", "127.0.0.1")
            .env("FORGE_PROTECTED", request.protected)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().map_err(GitError::Start)?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(GitError::Unexpected("without pipes"));
        };
        tasks.spawn(pass_on(incoming, stdin));
        let mut response =
            BackendResponse { status: 200, headers: Vec::new(), rest: Vec::new(), child, stdout };
        response.read_head().await?;
        Ok(response)
    }
}

/// Passes the body to git. If the client disconnects or pauses too long, git's input is closed.
async fn pass_on(mut incoming: Incoming, mut stdin: ChildStdin) {
    while let Ok(Some(Ok(frame))) = tokio::time::timeout(SILENCE, incoming.frame()).await {
        if let Ok(data) = frame.into_data()
            && stdin.write_all(&data).await.is_err()
        {
            return;
        }
    }
}

impl BackendResponse {
    /// The next bytes of the body; `None` at its end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, GitError> {
        if !self.rest.is_empty() {
            return Ok(Some(std::mem::take(&mut self.rest).into()));
        }
        let mut chunk = vec![0; CHUNK];
        let read = tokio::time::timeout(SILENCE, self.stdout.read(&mut chunk)).await;
        let read = read.map_err(|_| GitError::Timeout("http-backend".to_owned()))?.map_err(GitError::Io)?;
        chunk.truncate(read);
        Ok((read > 0).then(|| chunk.into()))
    }

    pub(crate) async fn end(mut self) -> Result<(), GitError> {
        self.child.wait().await.map_err(GitError::Io)?;
        Ok(())
    }

    async fn read_head(&mut self) -> Result<(), GitError> {
        let mut head = Vec::new();
        let end = loop {
            if let Some(end) = find(&head, b"\r\n\r\n") {
                break end;
            }
            if head.len() > MOST_HEAD {
                return Err(GitError::Unexpected("http-backend"));
            }
            match self.next().await? {
                Some(bytes) => head.extend_from_slice(&bytes),
                None => return Err(GitError::Unexpected("http-backend: it printed nothing")),
            }
        };
        self.rest = head.split_off(end + 4);
        for line in String::from_utf8_lossy(&head).lines() {
            match line.split_once(": ") {
                Some(("Status", status)) => {
                    self.status = status.get(..3).and_then(|code| code.parse().ok()).unwrap_or(500);
                }
                Some((name, value)) => self.headers.push((name.to_owned(), value.to_owned())),
                None => {}
            }
        }
        Ok(())
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}
