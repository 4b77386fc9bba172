//! One daemon at a time: a lock in Pilot's directory, held as long as the daemon lives, with the number of its process.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};

#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "held, and given back by the kernel")] File);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    Free,
    Process(u32),
}

impl Lock {
    fn file(home: &Path) -> PathBuf {
        home.join("daemon.lock")
    }

    /// Takes it; none when another daemon has it.
    pub(crate) fn take(home: &Path) -> io::Result<Result<Lock, Holder>> {
        fs::create_dir_all(home).map_err(|error| unusable(home, &error))?;
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .mode(0o600)
            .open(Lock::file(home))
            .map_err(|error| unusable(home, &error))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(Err(read(&mut file)?)),
            Err(error) => return Err(error.into()),
        }
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{}", std::process::id())?;
        Ok(Ok(Lock(file)))
    }

    pub(crate) fn look(home: &Path) -> io::Result<Holder> {
        let mut file = match OpenOptions::new().read(true).write(true).open(Lock::file(home)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Holder::Free),
            Err(error) => return Err(unusable(home, &error)),
        };
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(Holder::Free),
            Err(rustix::io::Errno::WOULDBLOCK) => read(&mut file),
            Err(error) => Err(error.into()),
        }
    }
}

/// An error that names the directory and what to do.
fn unusable(home: &Path, error: &io::Error) -> io::Error {
    let text = format!(
        "use {}: {error}; run Pilot as the user it belongs to, or set PILOT_HOME to another directory",
        home.display()
    );
    io::Error::new(error.kind(), text)
}

fn read(file: &mut File) -> io::Result<Holder> {
    let mut text = String::new();
    file.rewind()?;
    file.take(20).read_to_string(&mut text)?;
    // One that has just taken it and not yet said who it is.
    Ok(Holder::Process(text.trim().parse().unwrap_or(0)))
}

/// Asks a daemon to stop. `now` does not let its agents finish.
pub(crate) fn signal(pid: u32, now: bool) -> io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::other("the daemon is just starting; try again"))?;
    Ok(kill_process(pid, if now { Signal::INT } else { Signal::TERM })?)
}

#[cfg(test)]
mod tests {
    use super::{Holder, Lock};

    #[test]
    fn one_has_it_and_the_others_know_who() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(Lock::look(home.path()).unwrap(), Holder::Free);
        let lock = Lock::take(home.path()).unwrap().unwrap();
        let me = Holder::Process(std::process::id());
        assert_eq!(Lock::take(home.path()).unwrap().unwrap_err(), me);
        assert_eq!(Lock::look(home.path()).unwrap(), me);
        drop(lock);
        assert_eq!(Lock::look(home.path()).unwrap(), Holder::Free);
    }
}
