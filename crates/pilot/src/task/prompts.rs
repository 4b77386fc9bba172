//! The prompts of a run: the task, the project's notes, the checks, and why a session has to continue.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use pilot_core::gate::Chosen;
use pilot_core::prompt::{
    Budget, FollowUp, HEADER, Image, NOTE_LIMIT, PromptCheck, PromptNote, PromptTemplates, TITLE_LIMIT,
    TaskPrompt, Why, executor_prompt, follow_up_prompt, image_prompt, local_prompt,
};

use super::job::JobKind;
use super::pictures::TaskImage;
use super::plan::TaskPlan;
use crate::wrong_use::WrongUse;

/// How many entries of `.agent/` are read.
const MOST_FILES: usize = 500;
const DEEPEST: usize = 4;

const GO_ON: &str = "Go on with the task where you left off.";

pub(crate) struct Prompts<'p> {
    plan: &'p TaskPlan,
    branch: String,
    /// What the project's `.agent/` says; none when there is no such folder.
    notes: Option<Vec<(String, String)>>,
    images: Vec<TaskImage>,
    /// The gates, by name and command.
    checks: Vec<(String, String)>,
    budget: Budget,
}

impl<'p> Prompts<'p> {
    pub(crate) fn new(
        plan: &'p TaskPlan,
        branch: &str,
        tree: &Path,
        gates: &Chosen,
        budget: Budget,
        images: Vec<TaskImage>,
    ) -> Prompts<'p> {
        let checks = gates.gates().iter().map(|gate| (gate.name.clone(), gate.command.clone())).collect();
        Prompts { plan, branch: branch.to_owned(), notes: notes(tree), images, checks, budget }
    }

    pub(crate) fn first(&self) -> String {
        match &self.plan.job.kind {
            JobKind::Question { image } => image_prompt(&image.to_string_lossy(), &self.plan.job.text),
            JobKind::Bench => local_prompt(&self.plan.job.text),
            JobKind::Change => self.with_task(|task| executor_prompt(task, &self.plan.templates)),
        }
    }

    pub(crate) fn follow_up(&self, why: Why<'_>, resumed: bool) -> String {
        match self.plan.job.kind {
            JobKind::Question { .. } => self.first(),
            JobKind::Change => self.executor_follow_up(why, resumed),
            JobKind::Bench => {
                let prompt = self.executor_follow_up(why, resumed);
                prompt.strip_prefix(HEADER).map_or(prompt.as_str(), str::trim_start).to_owned()
            }
        }
    }

    /// Builds a prompt from everything known of the task.
    fn executor_follow_up(&self, why: Why<'_>, resumed: bool) -> String {
        self.with_task(|task| follow_up_prompt(&FollowUp { task, resumed, why }, &self.plan.templates))
    }

    /// The prompt of a resumed session that only has to continue.
    pub(crate) fn go_on(&self) -> String {
        match &self.plan.job.kind {
            JobKind::Change => format!("{HEADER}\n\n{GO_ON}"),
            JobKind::Question { .. } | JobKind::Bench => GO_ON.to_owned(),
        }
    }

    pub(crate) fn with_task<T>(&self, build: impl FnOnce(&TaskPrompt<'_>) -> T) -> T {
        let job = &self.plan.job;
        // The body keeps a title that is too long for its own line.
        let cut = Some(job.title.as_str()).filter(|title| title.len() <= TITLE_LIMIT);
        let body = cut.and_then(|title| job.text.trim().strip_prefix(title)).unwrap_or(&job.text).trim();
        let notes = self.notes.as_deref().unwrap_or_default();
        let notes: Vec<PromptNote<'_>> = notes.iter().map(|(path, text)| PromptNote { path, text }).collect();
        let checks: Vec<PromptCheck<'_>> =
            self.checks.iter().map(|(name, command)| PromptCheck { name, command }).collect();
        let images: Vec<Image<'_>> = self.images.iter().map(TaskImage::for_prompt).collect();
        build(&TaskPrompt {
            key: &job.key,
            title: &job.title,
            body,
            images: &images,
            branch: &self.branch,
            complexity: self.plan.route.complexity,
            navigator: self.notes.is_some(),
            notes: &notes,
            checks: &checks,
            patterns: &[],
            budget: self.budget,
        })
    }
}

/// The Markdown below `.agent/`, never through a link; none when there is no such folder.
fn notes(tree: &Path) -> Option<Vec<(String, String)>> {
    let root = tree.join(".agent");
    if !root.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        return None;
    }
    let (mut found, mut open, mut seen) = (Vec::new(), vec![(root, 0)], 0);
    while let Some((folder, depth)) = open.pop() {
        let mut entries: Vec<PathBuf> =
            fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        entries.sort();
        for path in entries {
            seen += 1;
            let Ok(meta) = path.symlink_metadata() else { continue };
            if seen > MOST_FILES {
                return Some(found);
            } else if meta.is_dir() && depth < DEEPEST {
                open.push((path, depth + 1));
            } else if meta.is_file() && path.extension().is_some_and(|ending| ending == "md") {
                let name = path.strip_prefix(tree).unwrap_or(&path).to_string_lossy().into_owned();
                found.extend(begin_of(&path, NOTE_LIMIT as u64 + 1).map(|text| (name, text)));
            }
        }
    }
    Some(found)
}

fn begin_of(path: &Path, limit: u64) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(limit).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The largest file of `.pilot/prompts/` that is read.
const LARGEST_TEMPLATE: u64 = 256 * 1024;

/// The project's own prompt templates, checked before anything runs.
pub(crate) fn templates(project: &Path) -> anyhow::Result<PromptTemplates> {
    let folder = project.join(".pilot/prompts");
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if !path.is_file() || !name.ends_with(".md") {
            continue;
        }
        let text = begin_of(&path, LARGEST_TEMPLATE);
        let text = text.ok_or_else(|| WrongUse::error(format_args!("cannot read {}", path.display())))?;
        files.push((name, text));
    }
    files.sort();
    let files = files.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    PromptTemplates::read(files).map_err(|problems| {
        let problems: Vec<String> =
            problems.iter().map(|problem| format!("{}/{problem}", folder.display())).collect();
        WrongUse::error(problems.join("; "))
    })
}
