//! Where a pipeline runs: the checkout, its git, Pilot's folder for the run.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use pilot_core::id::Sha;
use pilot_core::pipeline::Pipeline;
use pilot_exec::confined::Confined;
use pilot_exec::git::{Checkout, Head, Repository};

use super::render::TemplateValues;
use crate::agent::call::git_program;
use crate::config::Environment;
use crate::printable;
use crate::wrong_use::WrongUse;

pub(crate) struct PipelineProject {
    /// The folder, as the system has it.
    pub(crate) path: PathBuf,
    pub(crate) files: Confined,
    repository: Option<Repository>,
    checkout: Option<Checkout>,
}

impl PipelineProject {
    pub(crate) fn open() -> anyhow::Result<PipelineProject> {
        let path = fs::canonicalize(".").context("find the current folder")?;
        let files = Confined::open(&path).with_context(|| format!("open {}", path.display()))?;
        Ok(PipelineProject { path, files, repository: None, checkout: None })
    }

    pub(crate) fn look_at_git(&mut self, environment: &Environment) {
        let git = Arc::new(git_program(environment));
        // A folder that is in no repository has no commits, which only some steps need.
        self.repository = Repository::open(&git, &self.path).ok();
        self.checkout = self.repository.as_ref().and_then(Checkout::of);
    }

    pub(crate) fn name(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }

    pub(crate) fn head(&self) -> Option<Sha> {
        self.repository.as_ref().and_then(|repository| repository.head.sha().cloned())
    }

    pub(crate) fn branch(&self) -> String {
        match self.repository.as_ref().map(|repository| &repository.head) {
            Some(Head::Branch { name, .. }) => name.clone(),
            Some(Head::Detached { .. } | Head::Unborn) | None => String::new(),
        }
    }

    fn default_branch(&self) -> Option<String> {
        self.repository.as_ref().and_then(Repository::default_branch)
    }

    pub(crate) fn values<'v>(
        &'v self,
        pipeline: &'v Pipeline,
        base: Option<&str>,
        progress: String,
    ) -> TemplateValues<'v> {
        let (default_branch, diff) = (self.default_branch(), self.diff(base));
        TemplateValues { files: &self.files, pipeline, default_branch, diff, progress }
    }

    /// The command that shows what changed since the work left the default branch, or since the run began on it.
    fn diff(&self, base: Option<&str>) -> Option<String> {
        let base = Sha::parse(base?).ok()?;
        let checkout = self.checkout.as_ref()?;
        let parted = self.default_branch().and_then(|branch| {
            let name = format!("refs/heads/{branch}");
            checkout.merge_base(&name, &base).ok().flatten()
        });
        Some(format!("git diff {}", parted.unwrap_or(base)))
    }

    /// A number that changes with the project; none when it cannot be read.
    pub(crate) fn digest(&self) -> Option<u64> {
        self.checkout.as_ref().and_then(|checkout| checkout.digest().ok())
    }
}

#[derive(Debug)]
pub(crate) struct RunFolder(PathBuf);

impl RunFolder {
    pub(crate) fn open(home: &Path, run: &str) -> anyhow::Result<RunFolder> {
        let folder = RunFolder(all(home).join(run));
        private(&folder.tmp()).with_context(|| format!("make {}", folder.0.display()))?;
        Ok(folder)
    }

    pub(crate) fn tmp(&self) -> PathBuf {
        self.0.join("tmp")
    }

    pub(crate) fn progress(&self) -> PathBuf {
        self.0.join("progress.log")
    }

    /// The updates that wait to be put into place.
    pub(crate) fn staging(&self) -> PathBuf {
        self.0.join("staging.json")
    }

    pub(crate) fn report(&self, extension: &str) -> PathBuf {
        self.0.join(format!("report.{extension}"))
    }

    pub(crate) fn note(&self, seconds_of_day: u64, line: &str) {
        let (hours, minutes, seconds) =
            (seconds_of_day / 3600, seconds_of_day / 60 % 60, seconds_of_day % 60);
        if let Ok(mut file) = fs::OpenOptions::new().create(true).append(true).open(self.progress()) {
            let line = printable::line(line, 400);
            let _ = writeln!(file, "[{hours:02}:{minutes:02}:{seconds:02}] {line}");
        }
    }

    pub(crate) fn close(&self) {
        let _ = fs::remove_dir_all(self.tmp());
    }
}

/// Locks the pipeline of a project against a second `pilot run`.
#[derive(Debug)]
pub(crate) struct PipelineLock(
    #[expect(dead_code, reason = "the lock lasts as long as the file is open")] fs::File,
);

impl PipelineLock {
    pub(crate) fn take(home: &Path, project: &str) -> anyhow::Result<PipelineLock> {
        let folder = all(home);
        private(&folder).with_context(|| format!("make {}", folder.display()))?;
        let path = folder.join(format!("{:016x}.lock", hash(project)));
        let file = fs::OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let file = file.with_context(|| format!("open {}", path.display()))?;
        match file.try_lock() {
            Ok(()) => Ok(PipelineLock(file)),
            Err(fs::TryLockError::WouldBlock) => Err(WrongUse::error(
                "another `pilot run` works in this folder: wait for it, or stop it with Ctrl-C where it runs",
            )),
            Err(fs::TryLockError::Error(error)) => {
                Err(anyhow::Error::new(error).context(format!("lock {}", path.display())))
            }
        }
    }
}

/// Makes a folder that no other user can read: prompts and answers are in it.
fn private(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;

    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn all(home: &Path) -> PathBuf {
    home.join("pipelines")
}

/// FNV-1a: the same in every version of Pilot.
fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
