//! Running git: one place starts it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use crate::process;

/// Output beyond this is an error; clones and pushes do not come this way.
const MOST_OUTPUT: u64 = 64 << 20;

/// How much of what git complained about is kept.
const MOST_COMPLAINT: u64 = 4 << 10;

/// A call that takes longer is ended.
const LIMIT: Duration = Duration::from_secs(120);

/// Settings that outrank every configuration file.
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

/// Why git did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GitError {
    /// There is no git.
    #[error("start git: {0}")]
    Start(std::io::Error),
    /// Its pipes broke.
    #[error("talk to git: {0}")]
    Talk(std::io::Error),
    /// It took too long.
    #[error("run git {0}: it took too long")]
    Slow(String),
    /// It printed more than anybody wants.
    #[error("run git {0}: it printed too much")]
    Loud(String),
    /// It said no.
    #[error("run git {command}: {complaint}")]
    Refused {
        /// What was asked.
        command: String,
        /// What it said.
        complaint: String,
    },
    /// It said something that we do not understand.
    #[error("understand git {0}")]
    Strange(&'static str),
}

/// The git program, and where the repositories are.
#[derive(Debug)]
pub(crate) struct Git {
    path: OsString,
    root: PathBuf,
    hooks: PathBuf,
}

/// What git said.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) complaint: String,
}

impl Output {
    /// Standard output as text, without the newline at its end.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim_end_matches('\n').to_owned()
    }
}

/// One call of git.
#[derive(Debug)]
pub(crate) struct Invocation<'a> {
    git: &'a Git,
    directory: Option<PathBuf>,
    args: Vec<OsString>,
    stdin: &'a [u8],
    environment: Vec<(&'static str, OsString)>,
}

impl Git {
    /// Git found by `path`, with repositories in `root` and the hooks of all of them in `hooks`.
    pub(crate) fn new(path: OsString, root: PathBuf, hooks: PathBuf) -> Git {
        Git { path, root, hooks }
    }

    /// Where the repositories are.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The `PATH` by which programs are found.
    pub(crate) fn search_path(&self) -> &OsStr {
        &self.path
    }

    /// A call with these arguments.
    pub(crate) fn call<'a>(&'a self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Invocation<'a> {
        let args = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        Invocation { git: self, directory: None, args, stdin: b"", environment: Vec::new() }
    }

    /// A git process with a clean environment: everything is set here and nothing is inherited.
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
    /// With more arguments.
    pub(crate) fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// In a repository.
    pub(crate) fn within(mut self, directory: PathBuf) -> Self {
        self.directory = Some(directory);
        self
    }

    /// With this on standard input.
    pub(crate) fn stdin(mut self, stdin: &'a [u8]) -> Self {
        self.stdin = stdin;
        self
    }

    /// With this in its environment.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    /// Runs it; a refusal is an error.
    pub(crate) async fn run(self) -> Result<Output, GitError> {
        let name = self.name();
        let output = self.ask().await?;
        if output.code == Some(0) {
            return Ok(output);
        }
        Err(GitError::Refused { command: name, complaint: output.complaint })
    }

    /// Runs it and takes whatever it answers.
    pub(crate) async fn ask(self) -> Result<Output, GitError> {
        let name = self.name();
        match tokio::time::timeout(LIMIT, self.talk()).await {
            Ok(done) => done,
            Err(_) => Err(GitError::Slow(name)),
        }
    }

    fn name(&self) -> String {
        self.args.first().map(|arg| arg.to_string_lossy().into_owned()).unwrap_or_default()
    }

    async fn talk(self) -> Result<Output, GitError> {
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
            return Err(GitError::Strange("without pipes"));
        };
        let feed = async {
            // Git may have heard enough before the end.
            let _ = stdin.write_all(self.stdin).await;
            drop(stdin);
        };
        let (mut said, mut complaint) = (Vec::new(), Vec::new());
        let mut bounded = stdout.take(MOST_OUTPUT);
        let listen = bounded.read_to_end(&mut said);
        let mut complaints = stderr.take(MOST_COMPLAINT);
        let overhear = async {
            let kept = complaints.read_to_end(&mut complaint).await;
            // The rest is read as well, so that git never waits for us.
            tokio::io::copy(&mut complaints.into_inner(), &mut tokio::io::sink()).await.and(kept)
        };
        let ((), heard, overheard) = tokio::join!(feed, listen, overhear);
        heard.and(overheard).map_err(GitError::Talk)?;
        if u64::try_from(said.len()).unwrap_or(u64::MAX) >= MOST_OUTPUT {
            return Err(GitError::Loud(name));
        }
        let status = child.wait().await.map_err(GitError::Talk)?;
        let complaint = String::from_utf8_lossy(&complaint).trim().to_owned();
        Ok(Output { code: status.code(), stdout: said, complaint })
    }
}
