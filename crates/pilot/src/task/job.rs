//! What is to be done, whoever asks for it.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use pilot_core::intake::PictureKind;
use pilot_core::outcome::Goal;
use pilot_core::prompt::BODY_LIMIT;
use pilot_core::route::TaskText;
use pilot_link::github::RepoName;

use super::TaskArgs;
use crate::wrong_use::{OrWrongUse, WrongUse};

/// A task.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// What it is called everywhere: `GH-12`.
    pub(crate) key: String,
    /// Its first line.
    pub(crate) title: String,
    /// All of it, the title included.
    pub(crate) text: String,
    /// The labels of its issue.
    pub(crate) labels: Vec<String>,
    pub(crate) kind: Kind,
    /// The branch to work on, unless it is the task's own.
    pub(crate) branch: Option<String>,
    /// The commit to start from, unless it is the checkout's.
    pub(crate) base: Option<String>,
    /// Whether a branch that is there is gone on with, although there is a commit to start from.
    pub(crate) goes_on: bool,
    /// The repository on the forge whose issue it is; its images are fetched from there.
    pub(crate) issue_of: Option<RepoName>,
}

/// Which kind of task it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Change the repository.
    Change,
    /// The same for the local bench: the bare task is the prompt.
    Bench,
    /// Answer a question about an image.
    Question {
        /// The image.
        image: PathBuf,
    },
}

impl Job {
    /// The task of a call of `pilot task`.
    pub(crate) fn of(args: &TaskArgs, key: String) -> anyhow::Result<Job> {
        let kind = match &args.image {
            Some(path) => Kind::Question { image: image(path)? },
            None if args.local => Kind::Bench,
            None => Kind::Change,
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
            goes_on: false,
            issue_of: None,
        })
    }

    /// What the route is decided from.
    pub(crate) fn ticket(&self) -> TaskText<'_> {
        let body = self.text.trim().strip_prefix(self.title.as_str()).unwrap_or(&self.text);
        TaskText { title: &self.title, body: body.trim(), labels: &self.labels }
    }

    /// What counts as success.
    pub(crate) fn goal(&self) -> Goal {
        match self.kind {
            Kind::Change | Kind::Bench => Goal::Change,
            Kind::Question { .. } => Goal::Answer,
        }
    }

    /// The image that is asked about.
    pub(crate) fn image(&self) -> Option<&PathBuf> {
        match &self.kind {
            Kind::Question { image } => Some(image),
            Kind::Change | Kind::Bench => None,
        }
    }
}

/// A task too long for a command line. One byte too many is enough to know that it is too long for us as well.
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
        return Err(WrongUse::error(format_args!(
            "the task has more than {BODY_LIMIT} bytes: put the details into a file of the repository and name it in the \
             task"
        )));
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
        return Err(WrongUse::error(format_args!(
            "{path} is no PNG, JPEG, GIF or WebP image: name one with --image"
        )));
    }
    Ok(path)
}
