//! A git directory of our own between a repository here and one elsewhere: it shares the objects, and no configuration.
//!
//! What an agent wrote into the repository's configuration (`url.*.insteadOf`, a proxy, a helper for passwords) would
//! otherwise decide where a push and its password go.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::run::Ended;
use super::{Git, GitError, Place, Remote, Repository, Sha, askpass};

/// Refs beyond this are not told to the other side; it then sends a little more than it must.
const MOST_TIPS: usize = 500;

/// A folder for one exchange, removed at its end.
pub(super) struct Relay {
    dir: PathBuf,
    git: Git,
}

impl Relay {
    /// Makes the folder below `scratch`.
    pub(super) fn open(repository: &Repository, remote: &Remote, scratch: &Path) -> Result<Self, GitError> {
        let broken = |source| GitError::Io { command: "push or fetch".to_owned(), source };
        let dir = folder(scratch).map_err(broken)?;
        // From here on the folder goes when this does.
        let place = Place {
            dir: dir.clone(),
            git_dir: Some(dir.clone()),
            objects: Some(repository.common_dir().join("objects")),
            ..Place::default()
        };
        let program = Arc::new(repository.git().program().limited(remote.limit()));
        let git = Git::at(program, place).with_settings(&remote.settings());
        let mut relay = Self { dir, git };
        relay.furnish(repository).map_err(broken)?;
        relay.log_in(remote).map_err(broken)?;
        Ok(relay)
    }

    pub(super) fn end(&self, args: &[&str]) -> Result<Ended, GitError> {
        self.git.end(args, b"")
    }

    /// What git prints, given something to read.
    pub(super) fn text(&self, args: &[&str], input: &[u8]) -> Result<String, GitError> {
        self.git.text(args, input)
    }

    /// What a ref of the relay stands for.
    pub(super) fn resolve(&self, name: &str) -> Result<Option<Sha>, GitError> {
        Ok(self.git.resolve(&[name.to_owned()])?.into_iter().next().flatten())
    }

    /// Tells the other side what we have, so that it sends only what we have not.
    pub(super) fn tell_tips(&self, repository: &Repository) -> Result<(), GitError> {
        let tips: BTreeSet<Sha> = repository.git().refs(&[])?.into_values().take(MOST_TIPS).collect();
        let names: Vec<String> = tips.iter().map(|tip| format!("{tip}^{{commit}}")).collect();
        if names.is_empty() {
            return Ok(());
        }
        // A ref whose commit is gone, as a broken one's is, would end the exchange.
        let there = repository.git().resolve(&names)?.into_iter().flatten();
        let lines: String =
            (0..).zip(there).map(|(number, sha)| format!("{sha} refs/have/{number:04}\n")).collect();
        let written = fs::write(self.dir.join("packed-refs"), lines);
        written.map_err(|source| GitError::Io { command: "fetch".to_owned(), source })
    }

    fn furnish(&self, repository: &Repository) -> io::Result<()> {
        fs::create_dir(self.dir.join("refs"))?;
        fs::write(self.dir.join("HEAD"), "ref: refs/heads/none\n")?;
        let format = if repository.is_sha256() {
            "\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n"
        } else {
            "\trepositoryformatversion = 0\n"
        };
        fs::write(self.dir.join("config"), format!("[core]\n\tbare = true\n{format}"))?;
        if repository.is_shallow() {
            // Without it, history would seem to go on where it is cut off.
            fs::copy(repository.common_dir().join("shallow"), self.dir.join("shallow"))?;
        }
        Ok(())
    }

    fn log_in(&mut self, remote: &Remote) -> io::Result<()> {
        let Some(login) = remote.login() else { return Ok(()) };
        let Some(whom) = remote.whom(login) else { return Ok(()) };
        let link = self.dir.join(askpass::WORD);
        symlink(&login.askpass, &link)?;
        self.git = self
            .git
            .clone()
            .with_var("GIT_ASKPASS", link)
            .with_var(askpass::FOR, whom)
            .with_var(askpass::PASSWORD, &login.password);
        Ok(())
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // What stays behind holds no secret, and goes when somebody finds its owner dead.
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// A new folder, which names its owner; those of dead owners go.
fn folder(scratch: &Path) -> io::Result<PathBuf> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(scratch)?;
    sweep(scratch);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = scratch.join(format!("relay-{}-{number}", std::process::id()));
        match fs::DirBuilder::new().mode(0o700).create(&dir) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(()) => return Ok(dir),
        }
    }
}

fn sweep(scratch: &Path) {
    for entry in fs::read_dir(scratch).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix("relay-")?.split('-').next());
        let dead = |owner: &str| !Path::new("/proc").join(owner).exists();
        if owner.is_some_and(|owner| owner.parse::<u32>().is_ok() && dead(owner)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
