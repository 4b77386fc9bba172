//! Who does a step, layer by layer.

use std::time::Duration;

use super::super::field::FieldSection;
use super::super::file::{Tool, Worker};
use super::{KnownNames, PipelineReader};
use crate::config::{Backend, Fault, Value, is_model, nearest};

pub(in super::super) const KEYS: [&str; 6] = ["tool", "model", "script", "retry", "args", "timeout"];
pub(in super::super) const KEYS_AND_PROMPT: [&str; 7] =
    ["prompt", "tool", "model", "script", "retry", "args", "timeout"];
/// Other programs keep a name and a description in the same files.
pub(super) const FRONT_MATTER: [&str; 8] =
    ["tool", "model", "script", "retry", "args", "timeout", "name", "description"];

const MOST_RETRIES: u32 = 100;
const CUSTOM: &str = "custom";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RawWorker {
    tool: Option<RawTool>,
    script: Option<String>,
    model: Option<String>,
    args: Option<Vec<String>>,
    pub(super) retry: Option<u32>,
    pub(super) timeout: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RawTool {
    Backend(Backend),
    Custom,
}

impl RawWorker {
    /// This one, with what it leaves open taken from another. What is said to another program means nothing here.
    pub(super) fn over(self, below: &RawWorker) -> RawWorker {
        let same = self.tool.is_none() || below.tool.is_none() || self.tool == below.tool;
        RawWorker {
            model: self.model.or_else(|| below.model.clone().filter(|_| same)),
            args: self.args.or_else(|| below.args.clone().filter(|_| same)),
            script: self.script.or_else(|| below.script.clone()),
            tool: self.tool.or(below.tool),
            retry: self.retry.or(below.retry),
            timeout: self.timeout.or(below.timeout),
        }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        match key {
            "tool" => self.tool.is_some(),
            "script" => self.script.is_some(),
            "model" => self.model.is_some(),
            "args" => self.args.is_some(),
            "retry" => self.retry.is_some(),
            _ => self.timeout.is_some(),
        }
    }

    pub(super) fn resolved(self) -> Option<Worker> {
        let tool = match (self.tool, self.script) {
            (None, _) => None,
            (Some(RawTool::Backend(backend)), _) => Some(Tool::Backend(backend)),
            (Some(RawTool::Custom), script) => Some(Tool::Script(script?)),
        };
        Some(Worker { tool, model: self.model, args: self.args, retry: self.retry, timeout: self.timeout })
    }
}

impl PipelineReader<'_> {
    pub(super) fn worker(&mut self, section: &FieldSection<'_>, keys: &[&str]) -> RawWorker {
        let has = |key: &&&str| keys.contains(*key);
        let mut worker = RawWorker::default();
        for key in KEYS.iter().filter(has) {
            match *key {
                "tool" => worker.tool = self.tool(section),
                "script" => worker.script = section.text("script").map(str::to_owned),
                "model" => worker.model = self.model(section),
                "args" => worker.args = section.texts("args"),
                "retry" => worker.retry = section.count("retry", 0, MOST_RETRIES),
                _ => worker.timeout = section.time("timeout"),
            }
        }
        worker
    }

    fn tool(&mut self, section: &FieldSection<'_>) -> Option<RawTool> {
        let text = section.text("tool")?;
        tool(text.trim()).or_else(|| section.reject("tool", text, no_tool(text.trim())))
    }

    fn model(&mut self, section: &FieldSection<'_>) -> Option<String> {
        let model = section.text("model")?;
        match is_model(model) {
            true => Some(model.to_owned()),
            false => {
                section.reject("model", model, "no name of a model; write it without spaces and leading dash")
            }
        }
    }

    /// Another worker: `@name`, the name of a tool, or a section.
    pub(super) fn other(
        &mut self,
        section: &FieldSection<'_>,
        key: &str,
        known: &KnownNames,
    ) -> Option<Worker> {
        let node = section.node(key)?;
        let raw = match &node.value {
            Value::Scalar(scalar) => self.other_by_name(section, key, scalar.text.trim(), known)?,
            Value::Null | Value::List(_) | Value::Map(_) | Value::Bad => {
                let path = section.key(key);
                let inner = section.below(&path, node)?;
                inner.known(&KEYS);
                self.worker(&inner, &KEYS)
            }
        };
        raw.over(&known.defaults).resolved().or_else(|| section.refuse(key, NO_SCRIPT))
    }

    fn other_by_name(
        &mut self,
        section: &FieldSection<'_>,
        key: &str,
        word: &str,
        known: &KnownNames,
    ) -> Option<RawWorker> {
        if let Some(name) = word.strip_prefix('@') {
            return self.named(section, key, name, known).map(|(_, worker)| worker);
        }
        match tool(word) {
            Some(tool) => Some(RawWorker { tool: Some(tool), ..RawWorker::default() }),
            None => section.reject(key, word, format!("{}; or @name of an agent", no_tool(word))),
        }
    }

    pub(super) fn named(
        &mut self,
        section: &FieldSection<'_>,
        key: &str,
        name: &str,
        known: &KnownNames,
    ) -> Option<(super::super::file::StepPrompt, RawWorker)> {
        if let Some((prompt, worker)) = known.agents.get(name) {
            return Some((prompt.clone(), worker.clone()));
        }
        section.complain(key, no_agent(name, known));
        None
    }
}

pub(super) const NO_SCRIPT: &str = "the tool custom needs a script; write script: path/to/program";

fn no_agent(name: &str, known: &KnownNames) -> Fault {
    let names = known.agents.keys().map(String::as_str);
    Fault::BadValue {
        text: format!("@{}", name.chars().take(80).collect::<String>()),
        why: match nearest(name, names) {
            Some(meant) => format!("there is no such agent; did you mean @{meant}?"),
            None if known.agents.is_empty() => {
                "there is no such agent; name it under agents, or in .pilot/agents/NAME.md".to_owned()
            }
            None => {
                let names: Vec<String> =
                    known.agents.keys().take(16).map(|name| format!("@{name}")).collect();
                format!("there is no such agent; there are {}", names.join(", "))
            }
        },
    }
}

fn tool(word: &str) -> Option<RawTool> {
    if word == CUSTOM {
        return Some(RawTool::Custom);
    }
    Backend::parse(word).map(RawTool::Backend)
}

fn no_tool(word: &str) -> String {
    let names: Vec<&str> = Backend::ALL.iter().map(|backend| backend.as_str()).chain([CUSTOM]).collect();
    let meant = nearest(word, names.iter().copied());
    let meant = meant.map_or_else(String::new, |meant| format!("did you mean {meant}? "));
    format!("{meant}Pilot knows {}; any other program runs as custom with a script", names.join(", "))
}
