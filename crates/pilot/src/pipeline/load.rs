//! The pipeline of a project, from its files. What it means, the core says.

use std::path::Path;
use std::sync::Arc;

use pilot_core::config::{Node, Origin, Place, Problem};
use pilot_core::pipeline::{AgentFile, Pipeline, PipelineSources, read, relative};
use pilot_exec::confined::{Confined, ConfinedError};

use crate::config::{problem_lines, tree, unreadable};

pub(crate) const FILE: &str = ".pilot/pipeline.yaml";

pub(crate) const FOLDER: &str = ".pilot";

const AGENTS: &str = ".pilot/agents";

pub(super) const LARGEST: u64 = 1 << 20;

#[derive(Debug, thiserror::Error)]
#[error("wrong pipeline{}", problem_lines(.0))]
pub(crate) struct WrongPipeline(pub(crate) Vec<Problem>);

fn project_origin(file: &str) -> Origin {
    Origin::Project { file: Arc::from(file), place: None }
}

pub(crate) fn load(project: &Confined, file: Option<&Path>) -> Result<Pipeline, WrongPipeline> {
    let name = file.map_or_else(|| FILE.to_owned(), |file| file.display().to_string());
    let origin = project_origin(&name);
    let bytes = match file {
        None => project.read(FILE, LARGEST).map_err(|error| match error.is_missing() {
            true => "no such file; `pilot init --pipeline implement-and-review` writes one".to_owned(),
            false => format!("cannot {error}"),
        }),
        Some(file) => named(file),
    };
    let bytes = bytes.map_err(|why| WrongPipeline(vec![unreadable(&origin, why)]))?;
    let root = parsed(&bytes, &origin, 0).map_err(|problem| WrongPipeline(vec![problem]))?;
    let (agents, mut problems) = agents(project);
    let prompt = |path: &str| prompt(project, path);
    let sources = PipelineSources { origin, agents: &agents, prompt: &prompt };
    let (pipeline, more) = read(&root, &sources);
    problems.extend(more);
    if problems.is_empty() { Ok(pipeline) } else { Err(WrongPipeline(problems)) }
}

fn named(file: &Path) -> Result<Vec<u8>, String> {
    use std::io::Read;

    let mut bytes = Vec::new();
    let read = std::fs::File::open(file).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes));
    read.map(|_| bytes).map_err(|error| format!("cannot be read: {error}"))
}

/// The tree of a YAML text that begins so many lines down in its file.
fn parsed(bytes: &[u8], origin: &Origin, lines: u32) -> Result<Node, Problem> {
    tree(bytes).map_err(|error| {
        let down = |place: Place| Place { line: place.line + lines, ..place };
        let origin = error.place.map_or_else(|| origin.clone(), |place| origin.at(down(place)));
        unreadable(&origin, error.why)
    })
}

fn prompt(project: &Confined, path: &str) -> Result<(Origin, String), String> {
    let path = relative(path).map_err(|fault| format!("cannot be used: {fault}"))?;
    let (file, bytes) = read_below(project, &path).map_err(|error| match error.is_missing() {
        true => format!("is neither at {FOLDER}/{path} nor at {path}; write it"),
        false => format!("cannot be read: {error}"),
    })?;
    let text = String::from_utf8(bytes).map_err(|_| "is not UTF-8; save it as UTF-8".to_owned())?;
    Ok((project_origin(&file), text))
}

/// A file below Pilot's folder, else below the project: where it is, and its bytes.
pub(super) fn read_below(project: &Confined, path: &str) -> Result<(String, Vec<u8>), ConfinedError> {
    let ours = format!("{FOLDER}/{path}");
    match project.read(&ours, LARGEST) {
        Err(ConfinedError::Missing { .. }) => {
            project.read(path, LARGEST).map(|bytes| (path.to_owned(), bytes))
        }
        read => read.map(|bytes| (ours, bytes)),
    }
}

fn agents(project: &Confined) -> (Vec<AgentFile>, Vec<Problem>) {
    let (mut agents, mut problems) = (Vec::new(), Vec::new());
    let entries = match project.list(AGENTS) {
        Ok(entries) => entries,
        Err(ConfinedError::Missing { .. }) => Vec::new(),
        Err(error) => {
            problems.push(unreadable(&project_origin(AGENTS), format!("cannot {error}")));
            Vec::new()
        }
    };
    for entry in entries.iter().filter(|entry| !entry.is_folder) {
        let Some(name) = entry.name.strip_suffix(".md") else { continue };
        match agent(project, name) {
            Ok(agent) => agents.push(agent),
            Err(problem) => problems.push(problem),
        }
    }
    (agents, problems)
}

fn agent(project: &Confined, name: &str) -> Result<AgentFile, Problem> {
    let file = format!("{AGENTS}/{name}.md");
    let origin = project_origin(&file);
    let wrong = |why: String| unreadable(&origin, why);
    let bytes = project.read(&file, LARGEST).map_err(|error| wrong(format!("cannot {error}")))?;
    let text = String::from_utf8(bytes).map_err(|_| wrong("not UTF-8; save the file as UTF-8".to_owned()))?;
    let (front, body) = match front_matter(&text) {
        None => (None, text.as_str()),
        Some((front, body)) => (Some(parsed(front.as_bytes(), &origin, 1)?), body),
    };
    Ok(AgentFile { name: name.to_owned(), origin, front, body: body.to_owned() })
}

/// The keys between two lines `---` at the begin of a file, and the text behind them.
fn front_matter(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n"))?;
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((&rest[..at], &rest[at + line.len()..]));
        }
        at += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::front_matter;

    #[test]
    fn keys_stand_between_two_lines() {
        assert_eq!(front_matter("---\ntool: codex\n---\nReview.\n"), Some(("tool: codex\n", "Review.\n")));
        assert_eq!(front_matter("---\r\na: 1\r\n---\r\nx"), Some(("a: 1\r\n", "x")));
        assert_eq!(front_matter("---\n---\nx"), Some(("", "x")));
        assert_eq!(front_matter("Review.\n---\nx\n---\n"), None);
        assert_eq!(front_matter("---\nnever closed"), None);
    }
}
