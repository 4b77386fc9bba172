//! The task to carry out, from the command line or from the daemon.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use pilot_core::config::ProjectTracker;
use pilot_core::intake::PictureKind;
use pilot_core::outcome::Goal;
use pilot_core::prompt::BODY_LIMIT;
use pilot_core::route::TaskText;

use crate::commands::task::TaskArgs;
use crate::wrong_use::{OrWrongUse, WrongUse, bail_wrong_use};

#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// `GH-12`, or `TASK-…` from the command line.
    pub(crate) key: String,
    pub(crate) title: String,
    /// All of it, the title included.
    pub(crate) text: String,
    pub(crate) labels: Vec<String>,
    pub(crate) kind: JobKind,
    /// The branch to work on, unless it is the task's own.
    pub(crate) branch: Option<String>,
    /// The commit to start from, unless it is the checkout's.
    pub(crate) base: Option<String>,
    /// Whether an existing branch is continued although a base is given.
    pub(crate) continues: bool,
    /// The tracker whose ticket it is; its images are fetched from there.
    pub(crate) issue_of: Option<ProjectTracker>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JobKind {
    Change,
    /// A change whose prompt is the bare task, for benchmarks.
    Bench,
    /// Answer a question about an image.
    Question {
        image: PathBuf,
    },
}

impl Job {
    pub(crate) fn of(args: &TaskArgs, key: String) -> anyhow::Result<Job> {
        let kind = match &args.image {
            Some(path) => JobKind::Question { image: image(path)? },
            None if args.local => JobKind::Bench,
            None => JobKind::Change,
        };
        let text = if args.task == "-" { standard_input()? } else { args.task.clone() };
        Ok(Job {
            key,
            title: title(&text)?,
            text,
            labels: Vec::new(),
            kind,
            branch: args.branch.clone(),
            base: args.base.clone(),
            continues: false,
            issue_of: None,
        })
    }

    /// What the route is decided from.
    pub(crate) fn ticket(&self) -> TaskText<'_> {
        let body = self.text.trim().strip_prefix(self.title.as_str()).unwrap_or(&self.text);
        TaskText { title: &self.title, body: body.trim(), labels: &self.labels }
    }

    pub(crate) fn goal(&self) -> Goal {
        match self.kind {
            JobKind::Change | JobKind::Bench => Goal::Change,
            JobKind::Question { .. } => Goal::Answer,
        }
    }

    pub(crate) fn image(&self) -> Option<&PathBuf> {
        match &self.kind {
            JobKind::Question { image } => Some(image),
            JobKind::Change | JobKind::Bench => None,
        }
    }
}

/// A task from standard input, read up to one byte beyond the limit.
fn standard_input() -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let next = "give the task as text on standard input, or as an argument";
    let read = std::io::stdin().take(BODY_LIMIT as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("read the task: {error}")).or_cannot(next)?;
    // A character that is cut is one of a task that is too long.
    let cut = bytes.len() > BODY_LIMIT;
    String::from_utf8(bytes).or_else(|error| match cut {
        true => Ok(String::from_utf8_lossy(error.as_bytes()).into_owned()),
        false => Err(format!("read the task: {error}")).or_cannot(next),
    })
}

fn title(task: &str) -> anyhow::Result<String> {
    if task.len() > BODY_LIMIT {
        bail_wrong_use!(
            "the task has more than {BODY_LIMIT} bytes: put the details into a file of the repository and name it in the \
             task"
        );
    }
    match task.lines().map(str::trim).find(|line| !line.is_empty()) {
        Some(line) => Ok(line.to_owned()),
        None => Err(WrongUse::error(
            "the task is empty: say what is to be done, as in pilot task \"Add a --json flag\"",
        )),
    }
}

/// The file, if it looks like an image.
fn image(path: &Path) -> anyhow::Result<PathBuf> {
    let next = "name an image with --image";
    let path = super::plan::existing(path, next)?;
    let mut start = Vec::new();
    let read = fs::File::open(&path).and_then(|file| file.take(12).read_to_end(&mut start));
    read.map_err(|error| format!("read {}: {error}", path.display())).or_cannot(next)?;
    if PictureKind::of(&start).is_none() {
        let path = path.display();
        bail_wrong_use!("{path} is no PNG, JPEG, GIF or WebP image: name one with --image");
    }
    Ok(path)
}
