//! The pipeline of a project, from its files. What it means, the core says.

use std::path::Path;
use std::sync::Arc;

use pilot_core::config::{Fault, Node, Origin, Place, Problem};
use pilot_core::pipeline::{AgentFile, Pipeline, Sources, read, relative};
use pilot_exec::confined::{Confined, ConfinedError};

use crate::config::tree;

/// The pipeline file, from the project's root.
pub(crate) const FILE: &str = ".pilot/pipeline.yaml";

/// Pilot's folder in a project.
pub(crate) const FOLDER: &str = ".pilot";

/// Where agents have files of their own.
const AGENTS: &str = ".pilot/agents";

/// The largest file of a pipeline.
const LARGEST: u64 = 1 << 20;

/// Everything that is wrong with a pipeline, a line each.
#[derive(Debug, thiserror::Error)]
#[error("{}", lines(.0))]
pub(crate) struct WrongPipeline(pub(crate) Vec<Problem>);

fn lines(problems: &[Problem]) -> String {
    let mut text = String::from("wrong pipeline");
    for problem in problems {
        text.push_str(&format!("\n  {problem}"));
    }
    text
}

/// Reads the pipeline of a project, from its own file or from another one.
pub(crate) fn load(project: &Confined, file: Option<&Path>) -> Result<Pipeline, WrongPipeline> {
    let name = file.map_or_else(|| FILE.to_owned(), |file| file.display().to_string());
    let origin = Origin::Project { file: Arc::from(name), place: None };
    let bytes = match file {
        None => project.read(FILE, LARGEST).map_err(|error| match error.is_missing() {
            true => "no such file; `pilot init --pipeline implement-and-review` writes one".to_owned(),
            false => format!("cannot {error}"),
        }),
        Some(file) => named(file),
    };
    let bytes = bytes.map_err(|why| whole(&origin, why))?;
    let root = parsed(&bytes, &origin, 0).map_err(|problem| WrongPipeline(vec![problem]))?;
    let (agents, mut problems) = agents(project);
    let prompt = |path: &str| prompt(project, path);
    let sources = Sources { origin, agents: &agents, prompt: &prompt };
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

fn whole(origin: &Origin, why: String) -> WrongPipeline {
    WrongPipeline(vec![Problem { origin: origin.clone(), key: String::new(), fault: Fault::Unreadable(why) }])
}

/// The tree of a YAML text that begins so many lines down in its file.
fn parsed(bytes: &[u8], origin: &Origin, lines: u32) -> Result<Node, Problem> {
    tree(bytes).map_err(|error| {
        let down = |place: Place| Place { line: place.line + lines, ..place };
        let origin = error.place.map_or_else(|| origin.clone(), |place| origin.at(down(place)));
        Problem { origin, key: String::new(), fault: Fault::Unreadable(error.why) }
    })
}

/// A prompt file: below Pilot's folder, else below the project.
fn prompt(project: &Confined, path: &str) -> Result<(Origin, String), String> {
    let path = relative(path).map_err(|fault| format!("cannot be used: {fault}"))?;
    let bytes = match project.read(&format!("{FOLDER}/{path}"), LARGEST) {
        Ok(bytes) => Ok((format!("{FOLDER}/{path}"), bytes)),
        Err(ConfinedError::Missing { .. }) => project.read(&path, LARGEST).map(|bytes| (path.clone(), bytes)),
        Err(error) => Err(error),
    };
    let (file, bytes) = bytes.map_err(|error| match error.is_missing() {
        true => format!("is neither at {FOLDER}/{path} nor at {path}; write it"),
        false => format!("cannot be read: {error}"),
    })?;
    let text = String::from_utf8(bytes).map_err(|_| "is not UTF-8; save it as UTF-8".to_owned())?;
    Ok((Origin::Project { file: Arc::from(file), place: None }, text))
}

/// The agents in files of their own.
fn agents(project: &Confined) -> (Vec<AgentFile>, Vec<Problem>) {
    let (mut agents, mut problems) = (Vec::new(), Vec::new());
    let entries = match project.list(AGENTS) {
        Ok(entries) => entries,
        Err(ConfinedError::Missing { .. }) => Vec::new(),
        Err(error) => {
            let origin = Origin::Project { file: Arc::from(AGENTS), place: None };
            let fault = Fault::Unreadable(format!("cannot {error}"));
            problems.push(Problem { origin, key: String::new(), fault });
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
    let origin = Origin::Project { file: Arc::from(file.as_str()), place: None };
    let wrong =
        |why: String| Problem { origin: origin.clone(), key: String::new(), fault: Fault::Unreadable(why) };
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
