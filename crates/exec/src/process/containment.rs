//! How programs are held on this machine: looked at once, shown to the user, used for every run.

use std::io::{self, BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::contain::{Mode, NAME, WORD};
use super::wire::Report;

/// A keeper needs milliseconds; a machine that swaps may need more.
const PATIENCE: Duration = Duration::from_secs(10);

/// The strongest way to hold a program that works here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Containment {
    keeper: PathBuf,
    kind: Kind,
}

/// The ways to hold a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A PID namespace: its end is everybody's end, daemons included, enforced by the kernel.
    Namespace {
        /// A user namespace was needed, since Pilot is not root.
        user: bool,
        /// The program sees a `/proc` of its own.
        proc: bool,
    },
    /// Orphans come to the keeper, which finds and ends them one by one.
    Fallback {
        /// Why there is no namespace.
        why: String,
    },
}

impl Containment {
    /// Tries what works, strongest first. `keeper` is a program whose `main` hands over to
    /// [`contain::main`](super::contain::main); Pilot itself, usually `/proc/self/exe`.
    pub fn probe(keeper: impl Into<PathBuf>) -> Self {
        let keeper = keeper.into();
        let mut refusals = Vec::new();
        for (mode, user) in [(Mode::Namespace, false), (Mode::User, true)] {
            match try_mode(&keeper, mode) {
                Ok(proc) => return Self { keeper, kind: Kind::Namespace { user, proc } },
                Err(error) => refusals.push(format!("{}: {error}", mode.word())),
            }
        }
        Self { keeper, kind: Kind::Fallback { why: refusals.join("; ") } }
    }

    /// This way and no other, whether it works or not.
    pub fn forced(keeper: impl Into<PathBuf>, kind: Kind) -> Self {
        Self { keeper: keeper.into(), kind }
    }

    /// Which way it is.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// One line for a person.
    pub fn describe(&self) -> String {
        match &self.kind {
            Kind::Namespace { user, proc } => {
                let user = if *user { " in a user namespace" } else { "" };
                let proc = if *proc { ", own /proc" } else { ", /proc of the host" };
                format!("PID namespace{user}{proc}: the kernel ends every process of a run with it")
            }
            Kind::Fallback { why } => {
                format!(
                    "fallback: processes of a run are found by descent and ended one by one (no namespace: {why})"
                )
            }
        }
    }

    pub(super) fn keeper(&self) -> &Path {
        &self.keeper
    }

    /// Starts a keeper, and gives the other end of its socket.
    pub(super) fn start_keeper(&self) -> io::Result<(Child, UnixStream)> {
        let mode = match self.kind {
            Kind::Namespace { user: false, .. } => Mode::Namespace,
            Kind::Namespace { user: true, .. } => Mode::User,
            Kind::Fallback { .. } => Mode::Fallback,
        };
        start(&self.keeper, mode)
    }
}

/// Whether the program would see a `/proc` of its own.
fn try_mode(keeper: &Path, mode: Mode) -> io::Result<bool> {
    let (mut child, socket) = start(keeper, mode)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    let heard = BufReader::new(&socket).read_line(&mut line);
    drop(socket);
    // It has seen the end of the socket; but a keeper that does not answer is not waited for.
    if heard.is_err() {
        let _ = child.kill();
    }
    let _ = child.wait();
    heard?;
    match Report::parse(line.trim_end()) {
        Some(Report::Ready { proc }) => Ok(proc),
        Some(Report::Refused(why)) => Err(io::Error::other(why)),
        Some(Report::Started | Report::Failed(_) | Report::Exited(_) | Report::Signalled(_)) | None => {
            Err(io::Error::other("the keeper did not answer"))
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "keepers are started here and nowhere else")]
fn start(keeper: &Path, mode: Mode) -> io::Result<(Child, UnixStream)> {
    use std::os::unix::process::CommandExt;
    let (ours, theirs) = UnixStream::pair()?;
    // No directory is pinned, no variable is inherited, no Ctrl-C arrives.
    let child = Command::new(keeper)
        .arg0(NAME)
        .args([WORD, mode.word()])
        .env_clear()
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok((child, ours))
}
