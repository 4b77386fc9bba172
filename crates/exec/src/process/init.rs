//! The parent of the program: it starts the program, reaps orphaned processes, carries out Pilot's commands and reports how
//! the program ended. As the init of a PID namespace, its exit makes the kernel kill every process in it.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{
    DumpableBehavior, Pid, Resource, Rlimit, Signal, WaitOptions, getpid, getrlimit, kill_process,
    kill_process_group, set_child_subreaper, set_dumpable_behavior, set_parent_process_death_signal,
    setrlimit, setsid, wait,
};
use rustix::thread::{CapabilitySet, capabilities, clear_ambient_capability_set, set_capabilities};

use super::contain::{exit, say};
use super::descendants;
use super::launch::ProcessLimits;
use super::wire::{self, KeeperReport, KeeperRequest, Pipes};
use crate::pause::pause;

/// Which processes this one can kill.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum KillScope {
    /// Every process in the PID namespace, with one call; whether the user namespace is ours as well.
    Namespace {
        user: bool,
    },
    Descendants,
}

/// Runs one program until it and all its descendants have ended.
pub(super) fn run(socket: &UnixStream, scope: KillScope) -> io::Result<()> {
    let proc = become_reaper(scope)?;
    say(socket, &KeeperReport::Ready { proc });
    let Some((request, pipes)) = wire::receive(&mut socket.try_clone()?)? else {
        return Ok(());
    };
    limit(&request.limits, scope, proc);
    drop_capabilities(scope);
    let agent = match start(&request, pipes) {
        Ok(agent) => agent,
        Err(error) => {
            say(socket, &KeeperReport::Failed(error.raw_os_error().unwrap_or(Errno::INVAL.raw_os_error())));
            return Ok(());
        }
    };
    say(socket, &KeeperReport::Started);
    std::thread::scope(|threads| {
        threads.spawn(|| run_commands(socket, scope));
        reap(socket, agent);
        exit(0)
    })
}

/// Becomes the process that orphans are reparented to. Returns whether the program will see a `/proc` of its own.
fn become_reaper(scope: KillScope) -> io::Result<bool> {
    // No terminal: its Ctrl-C is for Pilot.
    let _ = setsid();
    // When memory runs out, the kernel should kill the program before Pilot.
    let _ = std::fs::write("/proc/self/oom_score_adj", "500");
    match scope {
        KillScope::Namespace { .. } => {
            if !getpid().is_init() {
                return Err(io::Error::other("not the first process of a PID namespace"));
            }
            // If the keeper has already exited, Pilot's end of the socket is closed, which is detected as well.
            set_parent_process_death_signal(Some(Signal::KILL))?;
            Ok(mount_proc().is_ok())
        }
        KillScope::Descendants => {
            set_child_subreaper(Some(getpid()))?;
            Ok(true)
        }
    }
}

fn mount_proc() -> rustix::io::Result<()> {
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?;
    mount("proc", "/proc", "proc", MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, None)
}

/// Every limit is best effort: where the kernel does not give one, the program runs without.
fn limit(limits: &ProcessLimits, scope: KillScope, proc: bool) {
    lower(Resource::Core, Some(0));
    lower(Resource::Data, limits.memory);
    lower(Resource::Fsize, limits.file_size);
    if let KillScope::Namespace { user } = scope {
        if user {
            lower(Resource::Nproc, limits.processes);
        }
        if let Some(processes) = limits.processes
            && proc
            && pid_max_is_ours()
        {
            let _ = std::fs::write("/proc/sys/kernel/pid_max", processes.to_string());
        }
    }
}

fn lower(resource: Resource, limit: Option<u64>) {
    let Some(limit) = limit else { return };
    let limit = getrlimit(resource).maximum.map_or(limit, |maximum| limit.min(maximum));
    let _ = setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) });
}

/// Since Linux 6.14 each PID namespace has its own `pid_max`; before, it is the machine's, and not ours to touch.
fn pid_max_is_ours() -> bool {
    let release = rustix::system::uname();
    let release = release.release().to_string_lossy().into_owned();
    let mut numbers = release.split(['.', '-']).map(|number| number.parse::<u32>().unwrap_or(0));
    (numbers.next(), numbers.next()) >= (Some(6), Some(14))
}

/// The program gets no more than its user has, and cannot look into this process.
fn drop_capabilities(scope: KillScope) {
    if let KillScope::Namespace { user: true } = scope {
        let _ = clear_ambient_capability_set();
        if let Ok(mut sets) = capabilities(None) {
            sets.inheritable = CapabilitySet::empty();
            let _ = set_capabilities(None, sets);
        }
    }
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

#[expect(clippy::disallowed_methods, reason = "programs under supervision are started here and nowhere else")]
fn start(request: &KeeperRequest, pipes: Pipes) -> io::Result<Pid> {
    let [stdin, stdout, stderr] = pipes;
    let mut command = Command::new(&request.program);
    let (name, args) = request.argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let child = command
        .arg0(name)
        .args(args)
        .current_dir(&request.cwd)
        .env_clear()
        .envs(request.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::from(stdout))
        .stderr(Stdio::from(stderr))
        .process_group(0)
        .spawn()?;
    Ok(Pid::from_child(&child))
}

/// Reaps children until none is left, and reports how the program itself ended.
fn reap(socket: &UnixStream, agent: Pid) {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == agent => {
                let report = match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => KeeperReport::Exited(code),
                    (None, Some(signal)) => KeeperReport::Signalled(signal),
                    (None, None) => continue,
                };
                say(socket, &report);
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// Carries out Pilot's commands; kills everything when Pilot is gone.
fn run_commands(mut socket: &UnixStream, scope: KillScope) {
    loop {
        let mut order = [0];
        match socket.read(&mut order) {
            Ok(1) if order[0] == wire::TERM => term(scope),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => kill(scope),
        }
    }
}

fn term(scope: KillScope) {
    for signal in [Signal::TERM, Signal::CONT] {
        match scope {
            // For the init of a namespace, -1 means every process inside it.
            KillScope::Namespace { .. } => drop(kill_process_group(Pid::INIT, signal)),
            KillScope::Descendants => {
                for pid in descendants::descendants(getpid()) {
                    let _ = kill_process(pid, signal);
                }
            }
        }
    }
}

fn kill(scope: KillScope) -> ! {
    match scope {
        KillScope::Namespace { .. } => {
            let _ = kill_process_group(Pid::INIT, Signal::KILL);
            // Time to reap the program and to report its end.
            pause(Duration::from_millis(200));
            exit(0)
        }
        KillScope::Descendants => loop {
            for pid in descendants::descendants(getpid()) {
                let _ = kill_process(pid, Signal::KILL);
            }
            // Processes forked meanwhile are found in the next round; the other thread exits when none is left.
            pause(Duration::from_millis(2));
        },
    }
}
