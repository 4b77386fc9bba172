//! What agents are told in a run: the task, the project's own words, the checks, and why they have to go on.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use pilot_core::gate::Chosen;
use pilot_core::prompt::{
    Budget, Check, FollowUp, Image, NOTE_LIMIT, Note, PromptTemplates, TITLE_LIMIT, TaskPrompt, Why,
    executor_prompt, follow_up_prompt, image_prompt, local_prompt,
};
use pilot_core::route::Complexity;

use super::job::{Job, Kind};
use super::pictures::Shown;
use crate::wrong_use::WrongUse;

/// More files than this in `.agent/` are not looked at.
const MOST_FILES: usize = 500;
/// How deep it is looked into.
const DEEPEST: usize = 4;

/// Everything prompts are made from but the reason for one.
pub(crate) struct Briefing<'b> {
    pub(crate) job: &'b Job,
    pub(crate) branch: String,
    pub(crate) complexity: Complexity,
    pub(crate) templates: &'b PromptTemplates,
    /// What the project's `.agent/` says; none when there is no such folder.
    notes: Option<Vec<(String, String)>>,
    /// The images that the task shows.
    images: Vec<Shown>,
    /// The gates, by name and command.
    checks: Vec<(String, String)>,
    budget: Budget,
}

impl<'b> Briefing<'b> {
    pub(crate) fn new(
        job: &'b Job,
        branch: &str,
        complexity: Complexity,
        templates: &'b PromptTemplates,
    ) -> Briefing<'b> {
        Briefing {
            job,
            branch: branch.to_owned(),
            complexity,
            templates,
            notes: None,
            images: Vec::new(),
            checks: Vec::new(),
            budget: Budget::default(),
        }
    }

    /// With what the worktree and the configuration tell.
    pub(crate) fn with(self, tree: &Path, gates: &Chosen, budget: Budget) -> Briefing<'b> {
        let checks = gates.gates().iter().map(|gate| (gate.name.clone(), gate.command.clone())).collect();
        Briefing { notes: notes(tree), checks, budget, ..self }
    }

    /// With the images that the task shows.
    pub(crate) fn showing(self, images: Vec<Shown>) -> Briefing<'b> {
        Briefing { images, ..self }
    }

    /// The prompt that sets an agent to work.
    pub(crate) fn first(&self) -> String {
        match &self.job.kind {
            Kind::Question { image } => image_prompt(&image.to_string_lossy(), &self.job.text),
            Kind::Bench => local_prompt(&self.job.text),
            Kind::Change => self.told(|task| executor_prompt(task, self.templates)),
        }
    }

    /// The prompt that makes it go on. A task of the bench knows no rules, so only the task itself helps there.
    pub(crate) fn follow_up(&self, why: Why<'_>, resumed: bool) -> String {
        match self.job.kind {
            Kind::Question { .. } => self.first(),
            Kind::Change | Kind::Bench => {
                self.told(|task| follow_up_prompt(&FollowUp { task, resumed, why }, self.templates))
            }
        }
    }

    /// What prompts of any kind are made from.
    pub(crate) fn told<T>(&self, say: impl FnOnce(&TaskPrompt<'_>) -> T) -> T {
        let job = self.job;
        // A title that is cut in the prompt stands whole in the body.
        let cut = Some(job.title.as_str()).filter(|title| title.len() <= TITLE_LIMIT);
        let body = cut.and_then(|title| job.text.trim().strip_prefix(title)).unwrap_or(&job.text).trim();
        let notes = self.notes.as_deref().unwrap_or_default();
        let notes: Vec<Note<'_>> = notes.iter().map(|(path, text)| Note { path, text }).collect();
        let checks: Vec<Check<'_>> =
            self.checks.iter().map(|(name, command)| Check { name, command }).collect();
        let images: Vec<Image<'_>> = self.images.iter().map(Shown::image).collect();
        say(&TaskPrompt {
            key: &job.key,
            title: &job.title,
            body,
            images: &images,
            branch: &self.branch,
            complexity: self.complexity,
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

/// The beginning of a file as text.
fn begin_of(path: &Path, limit: u64) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(limit).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The largest file of `.pilot/prompts/` that is read.
const LARGEST_TEMPLATE: u64 = 256 * 1024;

/// The project's own prompts. What is wrong with one is said before anything runs.
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
