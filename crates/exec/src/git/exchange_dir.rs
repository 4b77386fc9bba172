//! A temporary git directory between a local and a remote repository: it shares the objects, and no configuration.
//!
//! What an agent wrote into the repository's configuration (`url.*.insteadOf`, a proxy, a credential helper) would
//! otherwise decide where a push and its password go.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pilot_core::id::Sha;

use super::run::GitExit;
use super::{Git, GitError, GitPlace, Remote, Repository, askpass};

/// Refs beyond this are not advertised to the remote, which then sends slightly more than needed.
const MOST_TIPS: usize = 500;

pub(super) struct ExchangeDir {
    dir: PathBuf,
    git: Git,
}

impl ExchangeDir {
    pub(super) fn open(repository: &Repository, remote: &Remote, scratch: &Path) -> Result<Self, GitError> {
        let broken = |source| GitError::Io { command: "push or fetch".to_owned(), source };
        let dir = create_dir(scratch).map_err(broken)?;
        let place = GitPlace {
            dir: dir.clone(),
            git_dir: Some(dir.clone()),
            objects: Some(repository.common_dir.join("objects")),
            ..GitPlace::default()
        };
        let program = Arc::new(repository.git.program.limited(remote.limit));
        let git = Git::at(program, place).with_settings(&remote.settings());
        let mut exchange = Self { dir, git };
        exchange.write_files(repository).map_err(broken)?;
        let link = exchange.dir.join(askpass::WORD);
        exchange.git = exchange.git.clone().with_credential(remote, &link).map_err(broken)?;
        Ok(exchange)
    }

    pub(super) fn end(&self, args: &[&str]) -> Result<GitExit, GitError> {
        self.git.end(args, b"")
    }

    pub(super) fn write_blob(&self, content: &[u8]) -> Result<Sha, GitError> {
        self.git.sha(&["hash-object", "-w", "--stdin"], content)
    }

    pub(super) fn resolve(&self, name: &str) -> Result<Option<Sha>, GitError> {
        Ok(self.git.resolve(&[name.to_owned()])?.into_iter().next().flatten())
    }

    /// Advertises local commits to the remote, so that it sends only missing ones.
    pub(super) fn advertise_tips(&self, repository: &Repository) -> Result<(), GitError> {
        let tips: BTreeSet<Sha> = repository.git.refs(&[])?.into_values().take(MOST_TIPS).collect();
        let names: Vec<String> = tips.iter().map(|tip| format!("{tip}^{{commit}}")).collect();
        if names.is_empty() {
            return Ok(());
        }
        // A ref whose commit is missing would make git fail.
        let there = repository.git.resolve(&names)?.into_iter().flatten();
        let lines: String =
            (0..).zip(there).map(|(number, sha)| format!("{sha} refs/have/{number:04}\n")).collect();
        let written = fs::write(self.dir.join("packed-refs"), lines);
        written.map_err(|source| GitError::Io { command: "fetch".to_owned(), source })
    }

    fn write_files(&self, repository: &Repository) -> io::Result<()> {
        fs::create_dir(self.dir.join("refs"))?;
        fs::write(self.dir.join("HEAD"), "ref: refs/heads/none\n")?;
        let format = if repository.is_sha256 {
            "\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n"
        } else {
            "\trepositoryformatversion = 0\n"
        };
        fs::write(self.dir.join("config"), format!("[core]\n\tbare = true\n{format}"))?;
        if repository.is_shallow {
            // Without it git would expect history beyond the shallow boundary.
            fs::copy(repository.common_dir.join("shallow"), self.dir.join("shallow"))?;
        }
        Ok(())
    }
}

impl Git {
    /// The same git with the remote's credential, which it asks for by `link`, a new link to the askpass program.
    pub(super) fn with_credential(self, remote: &Remote, link: &Path) -> io::Result<Self> {
        let Some(login) = &remote.login else { return Ok(self) };
        let Some(url) = remote.credential_url(login) else { return Ok(self) };
        symlink(&login.askpass, link)?;
        Ok(self
            .with_var("GIT_ASKPASS", link)
            .with_var(askpass::FOR, url)
            .with_var(askpass::PASSWORD, &login.password))
    }
}

impl Drop for ExchangeDir {
    fn drop(&mut self) {
        // A leftover holds no secret, and is removed by the next exchange after its process is dead.
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// A new directory named after our process; those of dead processes are removed.
fn create_dir(scratch: &Path) -> io::Result<PathBuf> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(scratch)?;
    remove_stale(scratch);
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

fn remove_stale(scratch: &Path) {
    for entry in fs::read_dir(scratch).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix("relay-")?.split('-').next());
        let dead = |owner: &str| !Path::new("/proc").join(owner).exists();
        if owner.is_some_and(|owner| owner.parse::<u32>().is_ok() && dead(owner)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
