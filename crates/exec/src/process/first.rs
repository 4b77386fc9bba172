//! The process right above the program: it starts the program, reaps whoever is orphaned, obeys Pilot's orders, and says how
//! the program ended. As the first process of a PID namespace its own end is everybody's.

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
use super::launch::Limits;
use super::sweep;
use super::wire::{self, Pipes, Report, Request};
use crate::pause::pause;

/// Whom this process can end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reach {
    /// Everybody in the PID namespace, by one call.
    Namespace {
        /// Whether the user namespace is ours as well.
        user: bool,
    },
    /// Whoever descends from it, one by one.
    Descendants,
}

/// Holds one program until nobody of its kin is left.
pub(super) fn run(socket: &UnixStream, reach: Reach) -> io::Result<()> {
    let proc = take_place(reach)?;
    say(socket, &Report::Ready { proc });
    let Some((request, pipes)) = wire::receive(&mut socket.try_clone()?)? else {
        return Ok(());
    };
    limit(&request.limits, reach, proc);
    give_up_powers(reach);
    let agent = match start(&request, pipes) {
        Ok(agent) => agent,
        Err(error) => {
            say(socket, &Report::Failed(error.raw_os_error().unwrap_or(Errno::INVAL.raw_os_error())));
            return Ok(());
        }
    };
    say(socket, &Report::Started);
    std::thread::scope(|scope| {
        scope.spawn(|| obey(socket, reach));
        reap(socket, agent);
        exit(0)
    })
}

/// Becomes what the program's kin falls back to. Says whether they will see a `/proc` of their own.
fn take_place(reach: Reach) -> io::Result<bool> {
    // No terminal: its Ctrl-C is for Pilot.
    let _ = setsid();
    // If memory runs out, rather the program than Pilot.
    let _ = std::fs::write("/proc/self/oom_score_adj", "500");
    match reach {
        Reach::Namespace { .. } => {
            if !getpid().is_init() {
                return Err(io::Error::other("not the first process of a PID namespace"));
            }
            // If the keeper is gone already, so is Pilot's end of the socket, and that is seen as well.
            set_parent_process_death_signal(Some(Signal::KILL))?;
            Ok(mount_proc().is_ok())
        }
        Reach::Descendants => {
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
fn limit(limits: &Limits, reach: Reach, proc: bool) {
    lower(Resource::Core, Some(0));
    lower(Resource::Data, limits.memory);
    lower(Resource::Fsize, limits.file_size);
    if let Reach::Namespace { user } = reach {
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
fn give_up_powers(reach: Reach) {
    if let Reach::Namespace { user: true } = reach {
        let _ = clear_ambient_capability_set();
        if let Ok(mut sets) = capabilities(None) {
            sets.inheritable = CapabilitySet::empty();
            let _ = set_capabilities(None, sets);
        }
    }
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

#[expect(clippy::disallowed_methods, reason = "programs under supervision are started here and nowhere else")]
fn start(request: &Request, pipes: Pipes) -> io::Result<Pid> {
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

/// Buries the dead until nobody is left, and reports the one that matters.
fn reap(socket: &UnixStream, agent: Pid) {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == agent => {
                let report = match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => Report::Exited(code),
                    (None, Some(signal)) => Report::Signalled(signal),
                    (None, None) => continue,
                };
                say(socket, &report);
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// Does as Pilot says; when Pilot is gone, ends everything.
fn obey(mut socket: &UnixStream, reach: Reach) {
    loop {
        let mut order = [0];
        match socket.read(&mut order) {
            Ok(1) if order[0] == wire::TERM => term(reach),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => kill(reach),
        }
    }
}

fn term(reach: Reach) {
    for signal in [Signal::TERM, Signal::CONT] {
        match reach {
            // To the first process of a namespace, everybody is everybody inside it.
            Reach::Namespace { .. } => drop(kill_process_group(Pid::INIT, signal)),
            Reach::Descendants => {
                for pid in sweep::descendants(getpid()) {
                    let _ = kill_process(pid, signal);
                }
            }
        }
    }
}

fn kill(reach: Reach) -> ! {
    match reach {
        Reach::Namespace { .. } => {
            let _ = kill_process_group(Pid::INIT, Signal::KILL);
            // Time to bury the program and to say that this is how it ended.
            pause(Duration::from_millis(200));
            exit(0)
        }
        Reach::Descendants => loop {
            for pid in sweep::descendants(getpid()) {
                let _ = kill_process(pid, Signal::KILL);
            }
            // Whoever was born meanwhile is found next time; the other thread ends the process when nobody is left.
            pause(Duration::from_millis(2));
        },
    }
}
