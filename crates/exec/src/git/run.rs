//! The one place that starts git.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use pilot_core::id::Sha;

use super::GitError;

/// Output beyond this is an error: a list of a million files is below it.
const MOST_OUTPUT: usize = 256 << 20;

const MOST_COMPLAINT: usize = 4 << 10;

/// Settings that outrank every configuration file, for git and the git processes it starts.
const SETTINGS: [(&str, &str); 22] = [
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.sshCommand", "false"),
    ("core.gitProxy", "false"),
    ("core.askPass", "false"),
    ("core.editor", "false"),
    ("core.pager", "cat"),
    ("core.alternateRefsCommand", "false"),
    ("credential.helper", ""),
    ("protocol.allow", "never"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("submodule.recurse", "false"),
    ("branch.autoSetupMerge", "false"),
    // Would write an extension into the repository's configuration.
    ("worktree.useRelativePaths", "false"),
    ("log.showSignature", "false"),
    ("advice.addEmbeddedRepo", "false"),
    ("safe.directory", "*"),
];

#[derive(Clone, Debug)]
pub struct Program {
    git: PathBuf,
    path: OsString,
    home: Option<PathBuf>,
    limit: Duration,
    /// When the time of several calls together is over.
    until: Option<Instant>,
    /// A lock that every git inherits: it is held until the last of them has ended, even if Pilot ends first.
    held: Option<Arc<File>>,
    started: Arc<AtomicUsize>,
}

impl Program {
    /// Git found by `path` (a `PATH`); `home` is only used to read the user's identity and ignore rules.
    pub fn new(path: OsString, home: Option<PathBuf>) -> Self {
        let (git, limit) = ("git".into(), Duration::from_secs(120));
        Self { git, path, home, limit, until: None, held: None, started: Arc::default() }
    }

    pub fn limited(&self, limit: Duration) -> Self {
        Self { limit, ..self.clone() }
    }

    /// Another one like this: all its calls together have, from now on, the time that one call has.
    pub(crate) fn at_a_stretch(&self) -> Self {
        Self { until: Some(now() + self.limit), ..self.clone() }
    }

    /// Another one like this, with one of so many parts of the time that is left.
    pub(crate) fn with_part(&self, parts: u32) -> Self {
        let limit = self.left();
        Self { until: Some(now() + limit / parts), ..self.clone() }
    }

    fn left(&self) -> Duration {
        self.until.map_or(self.limit, |until| self.limit.min(until.saturating_duration_since(now())))
    }

    /// Another one like this, whose git processes hold a lock with us.
    pub(crate) fn holding(&self, lock: Arc<File>) -> Self {
        Self { held: Some(lock), ..self.clone() }
    }

    pub fn with_git(self, git: PathBuf) -> Self {
        Self { git, ..self }
    }

    /// How many git processes were started so far, by this one and others like it.
    pub fn started(&self) -> usize {
        self.started.load(Ordering::Relaxed)
    }

    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }
}

#[derive(Clone, Debug, Default)]
pub struct GitPlace {
    pub dir: PathBuf,
    /// `GIT_DIR`; none lets git look around from `dir`, which only a checkout no agent has touched allows.
    pub git_dir: Option<PathBuf>,
    pub common_dir: Option<PathBuf>,
    pub work_tree: Option<PathBuf>,
    pub index: Option<PathBuf>,
    pub objects: Option<PathBuf>,
}

#[derive(Clone, Debug)]
pub struct Git {
    pub program: Arc<Program>,
    pub place: GitPlace,
    settings: Vec<(String, String)>,
    vars: Vec<(&'static str, OsString)>,
}

#[derive(Debug)]
pub(crate) struct GitExit {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Git {
    pub fn at(program: Arc<Program>, place: GitPlace) -> Self {
        Self { program, place, settings: Vec::new(), vars: Vec::new() }
    }

    #[must_use]
    pub fn with_settings(mut self, settings: &[(String, String)]) -> Self {
        self.settings.extend_from_slice(settings);
        self
    }

    #[must_use]
    pub(crate) fn with_var(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.vars.push((name, value.into()));
        self
    }

    #[must_use]
    pub(crate) fn holding(&self, lock: Arc<File>) -> Self {
        Self { program: Arc::new(self.program.holding(lock)), ..self.clone() }
    }

    /// Runs git and gives its output; any exit code but 0 is an error.
    pub(crate) fn run<A: AsRef<OsStr>>(&self, args: &[A], input: &[u8]) -> Result<Vec<u8>, GitError> {
        let ended = self.end(args, input)?;
        if ended.code == Some(0) { Ok(ended.stdout) } else { Err(ended.failed(&label(args))) }
    }

    pub(crate) fn text<A: AsRef<OsStr>>(&self, args: &[A], input: &[u8]) -> Result<String, GitError> {
        let bytes = self.run(args, input)?;
        String::from_utf8(bytes)
            .map_err(|_| GitError::Unexpected { command: label(args), what: "it is not UTF-8".to_owned() })
    }

    pub(crate) fn sha<A: AsRef<OsStr>>(&self, args: &[A], input: &[u8]) -> Result<Sha, GitError> {
        Ok(Sha::parse(self.text(args, input)?.trim())?)
    }

    pub(crate) fn end<A: AsRef<OsStr>>(&self, args: &[A], input: &[u8]) -> Result<GitExit, GitError> {
        let command = label(args);
        let (limit, left) = (self.program.limit, self.program.left());
        if left.is_zero() {
            return Err(GitError::TimedOut { command, limit });
        }
        self.program.started.fetch_add(1, Ordering::Relaxed);
        // A second descriptor of the same lock without close-on-exec. Another process started at this moment may inherit it
        // too: another git, which ends soon, or a keeper, which closes inherited descriptors.
        let passed = self.program.held.as_ref().map(rustix::io::dup).transpose();
        let passed = passed.map_err(|error| self.not_started(&command, error.into()))?;
        let child = self
            .command(args, input.is_empty())
            .spawn()
            .map_err(|source| self.not_started(&command, source))?;
        drop(passed);
        match finish(child, input, left, &command)? {
            Some(ended) => Ok(ended),
            None => Err(GitError::TimedOut { command, limit }),
        }
    }

    fn command<A: AsRef<OsStr>>(&self, args: &[A], silent: bool) -> Command {
        #[expect(clippy::disallowed_methods, reason = "the one place that starts git")]
        let mut command = Command::new(&self.program.git);
        command.args(args).current_dir(&self.place.dir).env_clear();
        self.environment(&mut command);
        command.stdin(if silent { Stdio::null() } else { Stdio::piped() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        // A Ctrl-C at the terminal is for Pilot, which then ends the run; git must not die half-way.
        command.process_group(0);
        command
    }

    fn environment(&self, command: &mut Command) {
        command.env("PATH", &self.program.path);
        for (name, value) in [
            ("HOME", "/dev/null"),
            ("XDG_CONFIG_HOME", "/dev/null"),
            ("LC_ALL", "C"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_LITERAL_PATHSPECS", "1"),
        ] {
            command.env(name, value);
        }
        let ours = SETTINGS.iter().copied();
        let more = self.settings.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let mut count = 0_usize;
        for (key, value) in ours.chain(more) {
            command
                .env(format!("GIT_CONFIG_KEY_{count}"), key)
                .env(format!("GIT_CONFIG_VALUE_{count}"), value);
            count += 1;
        }
        command.env("GIT_CONFIG_COUNT", count.to_string());
        for (name, value) in [
            ("GIT_DIR", &self.place.git_dir),
            ("GIT_COMMON_DIR", &self.place.common_dir),
            ("GIT_WORK_TREE", &self.place.work_tree),
            ("GIT_INDEX_FILE", &self.place.index),
            ("GIT_OBJECT_DIRECTORY", &self.place.objects),
        ] {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        command.envs(self.vars.iter().map(|(name, value)| (name, value)));
    }

    fn not_started(&self, command: &str, source: io::Error) -> GitError {
        if source.kind() == io::ErrorKind::NotFound && self.place.dir.is_dir() {
            return GitError::NotInstalled { program: self.program.git.clone() };
        }
        GitError::Io { command: command.to_owned(), source }
    }
}

impl GitExit {
    pub(crate) fn failed(self, command: &str) -> GitError {
        GitError::Failed { command: command.to_owned(), code: self.code, stderr: self.stderr }
    }
}

/// Two calls at once, for answers that do not depend on one another.
pub(crate) fn together<A: Send, B: Send>(
    one: impl FnOnce() -> A + Send,
    two: impl FnOnce() -> B + Send,
) -> (A, B) {
    thread::scope(|scope| {
        let one = scope.spawn(one);
        let two = two();
        (one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), two)
    })
}

fn label<A: AsRef<OsStr>>(args: &[A]) -> String {
    args.first().map_or_else(String::new, |arg| arg.as_ref().to_string_lossy().into_owned())
}

/// Feeds a child, drains it and waits for its end, or kills it when the time is up; then there is none.
fn finish(
    mut child: Child,
    input: &[u8],
    limit: Duration,
    command: &str,
) -> Result<Option<GitExit>, GitError> {
    let broken = |source| GitError::Io { command: command.to_owned(), source };
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (stdout, stderr, in_time) = thread::scope(|scope| {
        let (done, wait) = mpsc::channel::<()>();
        let last = done.clone();
        let stdout = scope.spawn(move || drain(stdout, MOST_OUTPUT, done));
        let stderr = scope.spawn(move || drain(stderr, MOST_COMPLAINT, last));
        if let Some(mut stdin) = stdin {
            // A git that ends without reading all input reports why by its exit code.
            scope.spawn(move || stdin.write_all(input));
        }
        // Both drains drop their ends of the channel, so a disconnect is the end of the output.
        let in_time = !matches!(wait.recv_timeout(limit), Err(mpsc::RecvTimeoutError::Timeout));
        if !in_time {
            kill_group(&mut child);
        }
        let join =
            |drain: thread::ScopedJoinHandle<'_, _>| drain.join().unwrap_or_else(|_| Ok((Vec::new(), true)));
        (join(stdout), join(stderr), in_time)
    });
    let status = child.wait().map_err(broken)?;
    if !in_time {
        return Ok(None);
    }
    let (stdout, cut) = stdout.map_err(broken)?;
    if cut {
        return Err(GitError::TooMuch { command: command.to_owned(), limit: MOST_OUTPUT });
    }
    let (stderr, _) = stderr.map_err(broken)?;
    let stderr = String::from_utf8_lossy(&stderr).trim().to_owned();
    Ok(Some(GitExit { code: status.code(), stdout, stderr }))
}

#[expect(clippy::disallowed_methods, reason = "git takes real time; this is where it is measured")]
fn now() -> Instant {
    Instant::now()
}

/// Reads to the end, keeps up to `most` bytes and says whether there were more.
fn drain(pipe: Option<impl Read>, most: usize, done: mpsc::Sender<()>) -> io::Result<(Vec<u8>, bool)> {
    let mut kept = Vec::new();
    let mut cut = false;
    if let Some(mut pipe) = pipe {
        pipe.by_ref().take(most as u64).read_to_end(&mut kept)?;
        cut = io::copy(&mut pipe, &mut io::sink())? > 0;
    }
    drop(done);
    Ok((kept, cut))
}

fn kill_group(child: &mut Child) {
    let group = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
}
