//! Runs git: the only module that starts it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use crate::process;

/// Longer output is an error; clones and pushes do not use this path.
const MOST_OUTPUT: u64 = 64 << 20;

/// How much of standard error is kept.
const MOST_STDERR: u64 = 4 << 10;

const LIMIT: Duration = Duration::from_secs(120);

/// Settings that override all configuration files.
const SETTINGS: [(&str, &str); 8] = [
    ("core.fsmonitor", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.quotePath", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("receive.autoGC", "false"),
    ("safe.directory", "*"),
    ("log.showSignature", "false"),
];

#[derive(Debug, thiserror::Error)]
pub(crate) enum GitError {
    /// The git program was not found or did not start.
    #[error("start git: {0}")]
    Start(std::io::Error),
    #[error("exchange data with git: {0}")]
    Io(std::io::Error),
    #[error("run git {0}: it took too long")]
    Timeout(String),
    #[error("run git {0}: it printed too much")]
    TooMuchOutput(String),
    #[error("run git {command}: {stderr}")]
    Failed { command: String, stderr: String },
    #[error("parse the output of git {0}")]
    Unexpected(&'static str),
}

/// The git program and the directory of the repositories.
#[derive(Debug)]
pub(crate) struct Git {
    path: OsString,
    root: PathBuf,
    hooks: PathBuf,
}

#[derive(Debug)]
pub(crate) struct GitOutput {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl GitOutput {
    /// Standard output as text, without trailing newlines.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim_end_matches('\n').to_owned()
    }
}

#[derive(Debug)]
pub(crate) struct Invocation<'a> {
    git: &'a Git,
    directory: Option<PathBuf>,
    args: Vec<OsString>,
    stdin: &'a [u8],
    environment: Vec<(&'static str, OsString)>,
}

impl Git {
    /// `path` is the `PATH` to find git in, `root` holds the repositories, `hooks` the hooks of all of them.
    pub(crate) fn new(path: OsString, root: PathBuf, hooks: PathBuf) -> Git {
        Git { path, root, hooks }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The `PATH` of the programs that the forge starts.
    pub(crate) fn search_path(&self) -> &OsStr {
        &self.path
    }

    pub(crate) fn call<'a>(&'a self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Invocation<'a> {
        let args = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        Invocation { git: self, directory: None, args, stdin: b"", environment: Vec::new() }
    }

    /// A git process with a clean environment: nothing is inherited.
    pub(crate) fn command(&self) -> Command {
        let mut command = process::command("git", &self.path);
        command
            .env("HOME", &self.root)
            .env("LC_ALL", "C")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_CONFIG_COUNT", (SETTINGS.len() + 1).to_string())
            .env(format!("GIT_CONFIG_KEY_{}", SETTINGS.len()), "core.hooksPath")
            .env(format!("GIT_CONFIG_VALUE_{}", SETTINGS.len()), &self.hooks);
        for (at, (key, value)) in SETTINGS.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{at}"), key).env(format!("GIT_CONFIG_VALUE_{at}"), value);
        }
        command
    }
}

impl<'a> Invocation<'a> {
    pub(crate) fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    pub(crate) fn within(mut self, directory: PathBuf) -> Self {
        self.directory = Some(directory);
        self
    }

    pub(crate) fn stdin(mut self, stdin: &'a [u8]) -> Self {
        self.stdin = stdin;
        self
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    /// Runs the command; an exit code other than 0 is an error.
    pub(crate) async fn run(self) -> Result<GitOutput, GitError> {
        let name = self.name();
        let output = self.output().await?;
        if output.code == Some(0) {
            return Ok(output);
        }
        Err(GitError::Failed { command: name, stderr: output.stderr })
    }

    /// Runs the command with any exit code.
    pub(crate) async fn output(self) -> Result<GitOutput, GitError> {
        let name = self.name();
        match tokio::time::timeout(LIMIT, self.spawn_and_wait()).await {
            Ok(done) => done,
            Err(_) => Err(GitError::Timeout(name)),
        }
    }

    fn name(&self) -> String {
        self.args.first().map(|arg| arg.to_string_lossy().into_owned()).unwrap_or_default()
    }

    async fn spawn_and_wait(self) -> Result<GitOutput, GitError> {
        let name = self.name();
        let mut command = self.git.command();
        command.args(&self.args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(directory) = &self.directory {
            command.current_dir(directory).env("GIT_DIR", directory);
        }
        for (key, value) in &self.environment {
            command.env(key, value);
        }
        let mut child = command.spawn().map_err(GitError::Start)?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(mut stdin), Some(stdout), Some(stderr)) = (stdin, stdout, stderr) else {
            return Err(GitError::Unexpected("without pipes"));
        };
        let write = async {
            // Git may close its input early.
            let _ = stdin.write_all(self.stdin).await;
            drop(stdin);
        };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut stdout = stdout.take(MOST_OUTPUT);
        let read = stdout.read_to_end(&mut out);
        let mut stderr = stderr.take(MOST_STDERR);
        let read_errors = async {
            let kept = stderr.read_to_end(&mut err).await;
            // The rest is discarded, so that git never blocks on a full pipe.
            tokio::io::copy(&mut stderr.into_inner(), &mut tokio::io::sink()).await.and(kept)
        };
        let ((), read, errors_read) = tokio::join!(write, read, read_errors);
        read.and(errors_read).map_err(GitError::Io)?;
        if u64::try_from(out.len()).unwrap_or(u64::MAX) >= MOST_OUTPUT {
            return Err(GitError::TooMuchOutput(name));
        }
        let status = child.wait().await.map_err(GitError::Io)?;
        let stderr = String::from_utf8_lossy(&err).trim().to_owned();
        Ok(GitOutput { code: status.code(), stdout: out, stderr })
    }
}
