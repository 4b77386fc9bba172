//! From what a pipeline file says to a [`Pipeline`], strictly: an unknown key is refused, with its line and the nearest name.
//!
//! Must never know: YAML, files. The tree and the texts of prompts are handed in.

mod names;
mod step;
#[cfg(test)]
pub(in crate::pipeline) mod tests;
mod worker;

use std::collections::BTreeMap;
use std::time::Duration;

use super::field::{Complaints, FieldSection};
use super::file::{NamedAgent, Pipeline, StepPrompt};
use crate::config::{Fault, MapEntry, Node, Origin, Place, Problem, Value};
use crate::template::Template;
use names::is_name;
use worker::RawWorker;

use names::RESERVED;
pub(super) use step::{AGENT, GATE, LOOP, LOOP_KEYS, MOST_ROUNDS, ROUNDS, SHELL};
pub(super) use worker::KEYS as WORKER;

pub(super) const TOP: [&str; 5] = ["version", "inputs", "agents", "defaults", "pipeline"];
pub(super) const DEFAULTS: [&str; 3] = ["agent", "error_patterns", "iteration_delay_ms"];

/// The most inputs, agents and steps of a file.
const MOST: usize = 500;

#[derive(Clone, Debug)]
pub struct AgentFile {
    pub name: String,
    pub origin: Origin,
    /// The keys before its text, when it has any.
    pub front: Option<Node>,
    pub body: String,
}

pub struct PipelineSources<'s> {
    pub origin: Origin,
    pub agents: &'s [AgentFile],
    /// A prompt by its path as the file has it: where it was found and its text, or why it cannot be read.
    pub prompt: &'s PromptSource<'s>,
}

pub type PromptSource<'s> = dyn Fn(&str) -> Result<(Origin, String), String> + 's;

/// Reads a pipeline file. The pipeline is only good when nothing is wrong.
pub fn read(root: &Node, sources: &PipelineSources<'_>) -> (Pipeline, Vec<Problem>) {
    let complaints = Complaints::default();
    let origin = &sources.origin;
    let pipeline = FieldSection::of(origin, "", root, &complaints)
        .map(|top| PipelineReader { sources, complaints: &complaints, ids: Vec::new() }.top(&top))
        .unwrap_or_default();
    (pipeline, complaints.finish(origin))
}

struct PipelineReader<'r> {
    sources: &'r PipelineSources<'r>,
    complaints: &'r Complaints,
    ids: Vec<String>,
}

/// What is known when the steps are read.
struct KnownNames {
    agents: BTreeMap<String, (StepPrompt, RawWorker)>,
    defaults: RawWorker,
    inputs: Vec<String>,
}

impl PipelineReader<'_> {
    fn top(&mut self, top: &FieldSection<'_>) -> Pipeline {
        top.known(&TOP);
        self.version(top);
        let inputs = self.inputs(top);
        let (defaults, error_patterns, delay) = self.defaults(top);
        let agents = self.agents(top);
        let names = inputs.iter().map(|(name, _)| name.clone()).collect();
        let known = KnownNames { agents, defaults, inputs: names };
        for (prompt, _) in known.agents.values() {
            self.names_of_agents(prompt, &known);
        }
        let steps = self.steps(top, &known);
        let mut named = BTreeMap::new();
        for (name, (prompt, worker)) in known.agents {
            // Whether a script is missing, the step that uses it says.
            let worker = worker.over(&known.defaults).resolved().unwrap_or_default();
            named.insert(name, NamedAgent { prompt, worker });
        }
        Pipeline { inputs, agents: named, error_patterns, delay, steps }
    }

    fn version(&mut self, top: &FieldSection<'_>) {
        let Some(version) = top.text("version") else {
            if top.entry("version").is_none_or(|entry| entry.value.value == Value::Null) {
                let fault = Fault::Nonsense("is missing; write version: \"1\"".to_owned());
                self.complaints.add(top.origin.clone(), "version", fault);
            }
            return;
        };
        if !["1", "1.0"].contains(&version.trim()) {
            top.bad("version", version, "this Pilot reads version \"1\"".to_owned());
        }
    }

    fn inputs(&mut self, top: &FieldSection<'_>) -> Vec<(String, Option<String>)> {
        let Some(section) = top.section("inputs") else { return Vec::new() };
        section.any_names();
        let mut inputs = Vec::new();
        for entry in section.entries().iter().take(MOST) {
            self.name(&section, entry);
            match &entry.value.value {
                Value::Scalar(scalar) => inputs.push((entry.key.clone(), Some(scalar.text.clone()))),
                // To be given with each run.
                Value::Null => inputs.push((entry.key.clone(), None)),
                Value::List(_) | Value::Map(_) | Value::Bad => {
                    section.complain(&entry.key, entry.value.wrong_type("a text"));
                }
            }
        }
        inputs
    }

    fn name(&mut self, section: &FieldSection<'_>, entry: &MapEntry) {
        let complaint = if RESERVED.contains(&entry.key.as_str()) {
            "is a name of Pilot's own; choose another one"
        } else if !is_name(&entry.key) {
            "is no name; write letters, digits, _ and -, a letter first"
        } else {
            return;
        };
        section.nonsense(&entry.key, complaint);
    }

    fn defaults(&mut self, top: &FieldSection<'_>) -> (RawWorker, Vec<String>, Option<Duration>) {
        let Some(section) = top.section("defaults") else { return (RawWorker::default(), Vec::new(), None) };
        section.known(&DEFAULTS);
        let worker = section.node("agent").and_then(|node| {
            let section = top.below("defaults.agent", node)?;
            section.known(&worker::KEYS);
            Some(self.worker(&section, &worker::KEYS))
        });
        let patterns = section.texts("error_patterns").unwrap_or_default();
        let delay = section.count("iteration_delay_ms", 0, 3_600_000);
        let delay = delay.map(|ms| Duration::from_millis(u64::from(ms)));
        (worker.unwrap_or_default(), patterns, delay)
    }

    fn agents(&mut self, top: &FieldSection<'_>) -> BTreeMap<String, (StepPrompt, RawWorker)> {
        let mut agents = BTreeMap::new();
        for file in self.sources.agents {
            if let Some(agent) = self.agent_file(file) {
                agents.insert(file.name.clone(), agent);
            }
        }
        let Some(section) = top.section("agents") else { return agents };
        section.any_names();
        for entry in section.entries().iter().take(MOST) {
            if !is_name(&entry.key) {
                section.nonsense(&entry.key, "is no name; write letters, digits, _ and -");
            }
            if let Some(agent) = self.agent_entry(&section, entry) {
                agents.insert(entry.key.clone(), agent);
            }
        }
        agents
    }

    fn agent_entry(
        &mut self,
        agents: &FieldSection<'_>,
        entry: &MapEntry,
    ) -> Option<(StepPrompt, RawWorker)> {
        if let Value::Scalar(scalar) = &entry.value.value {
            let prompt = self.prompt(agents, &entry.key, &scalar.text)?;
            return Some((prompt, RawWorker::default()));
        }
        let path = agents.key(&entry.key);
        let section = agents.below(&path, &entry.value)?;
        section.known(&worker::KEYS_AND_PROMPT);
        let worker = self.worker(&section, &worker::KEYS);
        match section.text("prompt") {
            Some(text) => Some((self.prompt(&section, "prompt", text)?, worker)),
            None => agents.refuse(&entry.key, "has no prompt; write one"),
        }
    }

    fn agent_file(&mut self, file: &AgentFile) -> Option<(StepPrompt, RawWorker)> {
        let worker = match &file.front {
            None => RawWorker::default(),
            Some(node) => {
                let section = FieldSection::of(&file.origin, "", node, self.complaints)?;
                section.known(&worker::FRONT_MATTER);
                self.worker(&section, &worker::KEYS)
            }
        };
        let prompt = self.template(&file.origin, "", &file.body)?;
        Some((prompt, worker))
    }

    /// A prompt: a file when it is one line that ends like one, else the text itself.
    fn prompt(&mut self, section: &FieldSection<'_>, key: &str, text: &str) -> Option<StepPrompt> {
        let line = text.trim();
        let is_file = !line.contains('\n')
            && !line.contains(' ')
            && [".md", ".txt"].iter().any(|end| line.ends_with(end));
        if !is_file {
            return self.template(&section.origin_of(key), &section.key(key), text);
        }
        match (self.sources.prompt)(line) {
            Ok((origin, text)) => self.template(&origin, "", &text),
            Err(why) => section.reject(key, line, format!("the prompt file {why}")),
        }
    }

    /// A text read as template. In a file of its own the places are those of the template.
    fn template(&mut self, origin: &Origin, key: &str, text: &str) -> Option<StepPrompt> {
        if text.trim().is_empty() {
            let fault = Fault::Nonsense("is empty; say what is to be done".to_owned());
            self.complaints.add(origin.clone(), key, fault);
            return None;
        }
        match Template::parse(text) {
            Ok(template) => Some(StepPrompt { origin: origin.clone(), text: text.to_owned(), template }),
            Err(error) => {
                let place = error.place.filter(|_| origin.place().is_none());
                let origin = place.map_or_else(|| origin.clone(), |place: Place| origin.at(place));
                self.complaints.add(origin, key, Fault::Nonsense(error.to_string()));
                None
            }
        }
    }
}
