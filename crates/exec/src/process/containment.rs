//! How programs are contained on this machine: probed once, shown to the user, used for every run.

use std::io::{self, BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::contain::{KeeperMode, NAME, WORD};
use super::wire::KeeperReport;

/// A keeper needs milliseconds; a machine that swaps may need more.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Containment {
    keeper: PathBuf,
    kind: ContainmentKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContainmentKind {
    /// A PID namespace: when it ends the kernel kills every process in it, daemons included. A `user` namespace is needed when
    /// Pilot is not root; with `proc` the program sees a `/proc` of its own.
    Namespace { user: bool, proc: bool },
    /// Orphans are reparented to the keeper, which finds and kills them one by one.
    Fallback { why: String },
}

impl Containment {
    /// Probes which containment works, strongest first. `keeper` is a program whose `main` hands over to
    /// [`contain::main`](super::contain::main); Pilot itself, usually `/proc/self/exe`.
    pub fn probe(keeper: impl Into<PathBuf>) -> Self {
        let keeper = keeper.into();
        let mut refusals = Vec::new();
        for (mode, user) in [(KeeperMode::Namespace, false), (KeeperMode::User, true)] {
            match try_mode(&keeper, mode) {
                Ok(proc) => return Self { keeper, kind: ContainmentKind::Namespace { user, proc } },
                Err(error) => refusals.push(format!("{}: {error}", mode.word())),
            }
        }
        Self { keeper, kind: ContainmentKind::Fallback { why: refusals.join("; ") } }
    }

    /// This containment, whether it works or not.
    pub fn forced(keeper: impl Into<PathBuf>, kind: ContainmentKind) -> Self {
        Self { keeper: keeper.into(), kind }
    }

    pub fn kind(&self) -> &ContainmentKind {
        &self.kind
    }

    pub fn describe(&self) -> String {
        match &self.kind {
            ContainmentKind::Namespace { user, proc } => {
                let user = if *user { " in a user namespace" } else { "" };
                let proc = if *proc { ", own /proc" } else { ", /proc of the host" };
                format!("PID namespace{user}{proc}: the kernel ends every process of a run with it")
            }
            ContainmentKind::Fallback { why } => {
                format!(
                    "fallback: processes of a run are found by descent and ended one by one (no namespace: {why})"
                )
            }
        }
    }

    pub(super) fn keeper(&self) -> &Path {
        &self.keeper
    }

    pub(super) fn start_keeper(&self) -> io::Result<(Child, UnixStream)> {
        let mode = match self.kind {
            ContainmentKind::Namespace { user: false, .. } => KeeperMode::Namespace,
            ContainmentKind::Namespace { user: true, .. } => KeeperMode::User,
            ContainmentKind::Fallback { .. } => KeeperMode::Fallback,
        };
        start(&self.keeper, mode)
    }
}

/// Whether the program would see a `/proc` of its own.
fn try_mode(keeper: &Path, mode: KeeperMode) -> io::Result<bool> {
    let (mut child, socket) = start(keeper, mode)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    let heard = BufReader::new(&socket).read_line(&mut line);
    drop(socket);
    // It exits when the socket closes; one that does not answer is not waited for.
    if heard.is_err() {
        let _ = child.kill();
    }
    let _ = child.wait();
    heard?;
    match KeeperReport::parse(line.trim_end()) {
        Some(KeeperReport::Ready { proc }) => Ok(proc),
        Some(KeeperReport::Refused(why)) => Err(io::Error::other(why)),
        Some(
            KeeperReport::Started
            | KeeperReport::Failed(_)
            | KeeperReport::Exited(_)
            | KeeperReport::Signalled(_),
        )
        | None => Err(io::Error::other("the keeper did not answer")),
    }
}

#[expect(clippy::disallowed_methods, reason = "keepers are started here and nowhere else")]
fn start(keeper: &Path, mode: KeeperMode) -> io::Result<(Child, UnixStream)> {
    use std::os::unix::process::CommandExt;
    let (ours, theirs) = UnixStream::pair()?;
    // It pins no directory, inherits no variable and gets no Ctrl-C.
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
