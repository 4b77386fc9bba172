//! The hidden command `__contain`: Pilot as the keeper of one program. No runtime, no allocation worth mentioning, no logs.
//!
//! It makes the namespaces, starts itself once more as their first process (`init`), and waits for that one. Being outside,
//! the program cannot reach it; it exits when Pilot does, and the kernel then kills the first process.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, WaitOptions, getegid, geteuid, pidfd_open, waitpid};
use rustix::thread::{
    CapabilitySet, UnshareFlags, capabilities, configure_capability_in_ambient_set, set_capabilities,
};

use super::wire::KeeperReport;
use super::{descriptors, init};

/// The word that makes a program a keeper when it is its first argument.
pub const WORD: &str = "__contain";

/// What a list of processes shows.
pub(super) const NAME: &str = "pilot";

/// The containment; the keeper's only argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum KeeperMode {
    Namespace,
    /// The same inside a new user namespace, when Pilot is not root.
    User,
    /// No namespace: orphans are reparented to the keeper, which kills them.
    Fallback,
    /// The first process of a PID namespace; whether the user namespace is new as well.
    First {
        user: bool,
    },
}

impl KeeperMode {
    const ALL: [Self; 5] = [
        Self::Namespace,
        Self::User,
        Self::Fallback,
        Self::First { user: false },
        Self::First { user: true },
    ];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Namespace => "namespace",
            Self::User => "user",
            Self::Fallback => "fallback",
            Self::First { user: false } => "first",
            Self::First { user: true } => "first-user",
        }
    }

    fn parse(word: &OsStr) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.word() == word)
    }
}

/// Runs the keeper; the program's `main` calls it with what follows [`WORD`], before anything else. Standard input is the
/// socket to Pilot.
pub fn main(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(mode) = args.next().and_then(|word| KeeperMode::parse(&word)) else {
        return ExitCode::from(2);
    };
    descriptors::keep_three();
    let Ok(socket) = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from) else {
        return ExitCode::from(2);
    };
    let done = match mode {
        KeeperMode::Namespace => keep(&socket, false),
        KeeperMode::User => keep(&socket, true),
        KeeperMode::Fallback => init::run(&socket, init::KillScope::Descendants),
        KeeperMode::First { user } => init::run(&socket, init::KillScope::Namespace { user }),
    };
    let Err(error) = done else {
        return ExitCode::SUCCESS;
    };
    say(&socket, &KeeperReport::Refused(error.to_string()));
    ExitCode::FAILURE
}

pub(super) fn say(mut socket: &UnixStream, report: &KeeperReport) {
    let _ = socket.write_all(report.line().as_bytes());
}

#[expect(
    clippy::disallowed_methods,
    reason = "the keeper has nothing to flush, and threads that wait for ever"
)]
pub(super) fn exit(code: i32) -> ! {
    std::process::exit(code)
}

fn keep(socket: &UnixStream, user: bool) -> io::Result<()> {
    enter(user)?;
    let first = start_first(socket, user)?;
    // One thread only: after `enter` the kernel refuses another.
    match sooner(&pidfd_open(first, PidfdFlags::empty())?, socket) {
        // The kernel lets it end only after everything in its namespace has.
        Sooner::First => drop(waitpid(Some(first), WaitOptions::empty())?),
        // This process ends, and the kernel ends the first one for it.
        Sooner::Pilot => {}
    }
    Ok(())
}

fn enter(user: bool) -> io::Result<()> {
    let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
    let mut flags = UnshareFlags::NEWPID | UnshareFlags::NEWNS;
    if user {
        flags |= UnshareFlags::NEWUSER;
    }
    #[expect(
        deprecated,
        reason = "unsafe only with FILES, and one thread; the other one is marked unsafe for all flags"
    )]
    rustix::thread::unshare(flags)?;
    if user {
        std::fs::write("/proc/self/setgroups", "deny")?;
        std::fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
        std::fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))?;
        keep_mounting()?;
    }
    Ok(())
}

/// An exec by a user other than root drops every capability; the first process needs one to mount `/proc`.
fn keep_mounting() -> io::Result<()> {
    let mut sets = capabilities(None)?;
    sets.inheritable |= CapabilitySet::SYS_ADMIN;
    set_capabilities(None, sets)?;
    configure_capability_in_ambient_set(CapabilitySet::SYS_ADMIN, true)?;
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the first process of the namespace is started here and nowhere else"
)]
fn start_first(socket: &UnixStream, user: bool) -> io::Result<Pid> {
    let first = Command::new("/proc/self/exe")
        .arg0(NAME)
        .args([WORD, KeeperMode::First { user }.word()])
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(socket.try_clone()?)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok(Pid::from_child(&first))
}

enum Sooner {
    First,
    Pilot,
}

/// Waits for the end of the first process, or for the end of Pilot, whichever comes first.
fn sooner(first: &OwnedFd, socket: &UnixStream) -> Sooner {
    loop {
        let mut fds = [PollFd::new(first, PollFlags::IN), PollFd::new(socket, PollFlags::empty())];
        match poll(&mut fds, None) {
            Ok(_) if fds[0].revents().contains(PollFlags::IN) => return Sooner::First,
            Ok(_) if fds[1].revents().intersects(PollFlags::HUP | PollFlags::ERR) => return Sooner::Pilot,
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return Sooner::Pilot,
        }
    }
}
