//! A git directory and an index of our own over the worktree: they share the repository's objects and nothing else.
//!
//! So no configuration, attribute file, index flag, lock or half-done merge that an agent leaves can change what we
//! stage. A filter (LFS) that attributes name has no driver here: pointers stay pointers, in and out.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use pilot_core::id::Sha;

use super::error::{Tried, WorkspaceError};
use super::finding::RunFinding;
use super::index_check::{IndexComparison, compare};
use super::nested;
use super::owner::WorkspaceOwner;
use super::run_dir::RunDir;
use super::unstageable;
use crate::git::{Git, GitError, GitPlace, Program, Repository};

/// Repositories inside repositories inside …: deeper ones stay aside with the tree.
const DEEPEST: usize = 8;

#[derive(Clone, Copy, Debug)]
pub(super) struct Staging<'a> {
    pub(super) dir: &'a RunDir,
    pub(super) owner: &'a WorkspaceOwner,
    pub(super) program: &'a Arc<Program>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tip {
    pub(super) commit: Sha,
    pub(super) tree: Sha,
}

impl Staging<'_> {
    /// Writes the git directory: no git process is needed for four small files.
    pub(super) fn prepare(&self, repository: &Repository) -> Result<(), WorkspaceError> {
        let root = self.dir.staging();
        for folder in ["refs", "info"] {
            let folder = root.join(folder);
            fs::create_dir_all(&folder).tried("make", &folder)?;
        }
        let mut config = String::from("[core]\n\tbare = false\n");
        for (key, value) in &repository.settings.kept {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            config.push_str(&format!("\t{} = \"{value}\"\n", key.trim_start_matches("core.")));
        }
        config.push_str(if repository.is_sha256 {
            "\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n"
        } else {
            "\trepositoryformatversion = 0\n"
        });
        let info = repository.common_dir.join("info");
        let mut exclude = content(repository.settings.excludes.as_deref());
        exclude.push(b'\n');
        exclude.extend(content(Some(&info.join("exclude"))));
        for (file, bytes) in [
            ("HEAD", b"ref: refs/heads/none\n".to_vec()),
            ("config", config.into_bytes()),
            ("info/exclude", exclude),
            ("info/attributes", content(Some(&info.join("attributes")))),
        ] {
            let file = root.join(file);
            fs::write(&file, bytes).tried("write", &file)?;
        }
        Ok(())
    }

    pub(super) fn check_out(&self, commit: &Sha) -> Result<(), WorkspaceError> {
        self.git().run(&["read-tree", "-u", "--reset", commit.as_str()], b"")?;
        Ok(())
    }

    /// Makes the worktree what a commit says. Ignored files stay.
    pub(super) fn put_back(&self, commit: &Sha) -> Result<(), WorkspaceError> {
        let _ = fs::remove_file(self.dir.index().with_extension("lock"));
        self.git().run(&["read-tree", "-u", "--reset", commit.as_str()], b"")?;
        // `-ff` also removes repositories that were cloned into it.
        self.git().run(&["clean", "-ffdq"], b"")?;
        Ok(())
    }

    /// Whether every staged file is in the worktree, untouched; false also when only git could tell.
    pub(super) fn has_every_file(&self) -> bool {
        self.compare_index() != IndexComparison::Unsure
    }

    /// Whether the worktree equals the index, except for ignored files; false also when only a full comparison could tell.
    pub(super) fn is_as_staged(&self) -> Result<bool, WorkspaceError> {
        match self.compare_index() {
            IndexComparison::Unsure => Ok(false),
            IndexComparison::Same => Ok(true),
            IndexComparison::WithOthers => {
                let args =
                    ["ls-files", "--others", "--exclude-standard", "--directory", "--no-empty-directory"];
                let listed = self.git().end(&args, b"")?;
                // Git only warns about folders that it cannot read.
                Ok(listed.code == Some(0) && listed.stdout.is_empty() && listed.stderr.is_empty())
            }
        }
    }

    fn compare_index(&self) -> IndexComparison {
        compare(&self.owner.tree, &self.dir.index(), self.owner.base.as_str().len() / 2)
    }

    /// Commits what is in the worktree and not in `start`; none when there is nothing. What git cannot take in time is
    /// moved aside; when even that does not help, the whole tree is kept.
    pub(super) fn capture(
        &self,
        start: &Tip,
        fresh: bool,
        message: &str,
        findings: &mut Vec<RunFinding>,
    ) -> Result<Option<Sha>, WorkspaceError> {
        let late = |error: &WorkspaceError| matches!(error, WorkspaceError::Git(GitError::TimedOut { .. }));
        // Time must be left to try again, and then to pin what is in git already.
        let first = Arc::new(self.program.with_part(3));
        match (Staging { program: &first, ..*self }).commit(start, fresh, message, findings) {
            Err(error) if late(&error) => findings.extend(unstageable::set_aside_unstageable(self)?),
            other => return other,
        }
        let second = Arc::new(self.program.with_part(2));
        match (Staging { program: &second, ..*self }).commit(start, false, message, findings) {
            Err(error) if late(&error) => {
                findings.push(RunFinding::Unreadable { reason: error.to_string() });
                Ok(None)
            }
            other => other,
        }
    }

    fn commit(
        &self,
        start: &Tip,
        fresh: bool,
        message: &str,
        findings: &mut Vec<RunFinding>,
    ) -> Result<Option<Sha>, WorkspaceError> {
        if !fresh {
            self.reset_index(start)?;
        }
        findings.extend(nested::leave_submodules(self)?);
        self.stage_all(start, findings)?;
        let tree = self.git().sha(&["write-tree"], b"")?;
        if tree == start.tree {
            return Ok(None);
        }
        if self.is_empty()? {
            // An emptied worktree is no request to delete the project.
            findings.push(RunFinding::TreeGone);
            return Ok(None);
        }
        let args = ["commit-tree", tree.as_str(), "-p", start.commit.as_str(), "-F", "-"];
        Ok(Some(self.git().sha(&args, message.as_bytes())?))
    }

    /// The index of `start`, with what is known of files that are the same.
    fn reset_index(&self, start: &Tip) -> Result<(), WorkspaceError> {
        let index = self.dir.index();
        let _ = fs::remove_file(index.with_extension("lock"));
        let merged = self.git().end(&["read-tree", "-m", "-i", start.tree.as_str()], b"")?;
        if merged.code != Some(0) {
            let _ = fs::remove_file(&index);
            self.git().run(&["read-tree", start.tree.as_str()], b"")?;
        }
        Ok(())
    }

    /// Stages every file that is not ignored. A repository inside the worktree would be staged as a link to a commit
    /// that exists nowhere else, so its git directory is set aside first and its files are staged like others.
    fn stage_all(&self, start: &Tip, findings: &mut Vec<RunFinding>) -> Result<(), WorkspaceError> {
        let links = nested::count_links(&self.dir.index());
        for _ in 0..DEEPEST {
            let added = self.git().end(&["add", "--all", "--ignore-errors", "."], b"")?;
            if added.code == Some(0) && nested::count_links(&self.dir.index()) <= links {
                return Ok(());
            }
            self.reset_index(start)?;
            let inner = nested::set_aside(self)?;
            if inner.is_empty() {
                self.git().end(&["add", "--all", "--ignore-errors", "."], b"")?;
                findings.push(RunFinding::Unreadable { reason: added.stderr });
                return Ok(());
            }
            findings.extend(inner);
        }
        findings
            .push(RunFinding::Unreadable { reason: format!("repositories nested deeper than {DEEPEST}") });
        Ok(())
    }

    fn is_empty(&self) -> Result<bool, WorkspaceError> {
        let tree = &self.owner.tree;
        let entries = fs::read_dir(tree).tried("list", tree)?;
        Ok(entries.flatten().all(|entry| entry.file_name() == ".git"))
    }

    pub(super) fn git(&self) -> Git {
        let tree = &self.owner.tree;
        let place = GitPlace {
            dir: tree.clone(),
            git_dir: Some(self.dir.staging()),
            common_dir: None,
            work_tree: Some(tree.clone()),
            index: Some(self.dir.index()),
            objects: Some(self.owner.repository.join("objects")),
        };
        let identity = &self.owner.identity;
        Git::at(Arc::clone(self.program), place)
            .with_var("GIT_AUTHOR_NAME", &identity.name)
            .with_var("GIT_AUTHOR_EMAIL", &identity.email)
            .with_var("GIT_COMMITTER_NAME", &identity.name)
            .with_var("GIT_COMMITTER_EMAIL", &identity.email)
    }
}

/// A file's bytes, or none when it is not there or no file.
fn content(path: Option<&Path>) -> Vec<u8> {
    let path = path.filter(|path| path.metadata().is_ok_and(|meta| meta.is_file() && meta.len() < 1 << 20));
    path.and_then(|path| fs::read(path).ok()).unwrap_or_default()
}
