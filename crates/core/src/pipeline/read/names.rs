//! The names that templates may use, checked before anything runs.

use super::super::file::StepPrompt;
use super::super::path::relative;
use super::{KnownNames, PipelineReader};
use crate::config::{Fault, Origin, nearest};
use crate::template::TemplateSlot;

/// Names with a meaning of their own.
pub(super) const RESERVED: [&str; 9] = [
    "default_branch",
    "diff",
    "round",
    "progress_file_path",
    "FEEDBACK",
    "emit",
    "file",
    "agent",
    "questions",
];

/// Those of them without an argument.
pub(super) const BUILT_IN: [&str; 5] = ["default_branch", "diff", "round", "progress_file_path", "FEEDBACK"];

#[derive(Clone)]
pub(super) struct NameScope<'k> {
    pub(super) known: &'k KnownNames,
    /// The variables of the loops around it, and whether each is the text of a file.
    pub(super) variables: Vec<(String, bool)>,
    /// Whether the loop around it ends by a verdict.
    pub(super) reviewed: bool,
    pub(super) depth: usize,
}

impl NameScope<'_> {
    pub(super) fn top(known: &KnownNames) -> NameScope<'_> {
        NameScope { known, variables: Vec::new(), reviewed: false, depth: 0 }
    }
}

pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.len() <= 64
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

impl PipelineReader<'_> {
    /// Reports the first name of a prompt that can have no value.
    pub(super) fn names(&mut self, prompt: &StepPrompt, key: &str, scope: &NameScope<'_>) {
        let wrong = prompt.template.names().find_map(|slot| Some((slot, wrong(&slot.name, scope)?)));
        if let Some((slot, why)) = wrong {
            self.complain_at(&prompt.origin, key, slot, &why);
        }
    }

    /// An agent's prompt may be used in any loop, so an unknown name may be a variable; only what is never right is reported.
    pub(super) fn names_of_agents(&mut self, prompt: &StepPrompt, known: &KnownNames) {
        let plain = |slot: &&TemplateSlot| slot.name.contains([':', '.']);
        let scope = NameScope::top(known);
        let slots = prompt.template.names().filter(plain);
        let found =
            slots.map(|slot| (slot, wrong(&slot.name, &scope))).find_map(|(slot, why)| Some((slot, why?)));
        if let Some((slot, why)) = found {
            self.complain_at(&prompt.origin, "", slot, &why);
        }
    }

    fn complain_at(&mut self, origin: &Origin, key: &str, slot: &TemplateSlot, why: &str) {
        // A text in a file of its own has no other place.
        let in_file = origin.place().is_none();
        let origin = if in_file { origin.at(slot.place) } else { origin.clone() };
        let place = match in_file {
            true => String::new(),
            false => format!("line {}, column {}: ", slot.place.line, slot.place.column),
        };
        self.complaints.add(origin, key, Fault::Nonsense(format!("{place}{why}")));
    }
}

pub(super) fn wrong(name: &str, scope: &NameScope<'_>) -> Option<String> {
    let known = scope.known;
    if let Some(path) = name.strip_prefix("file:") {
        return relative(path).err().map(|fault| format!("{{{{{name}}}}}: {fault}"));
    }
    if let Some(agent) = name.strip_prefix("agent:") {
        let names = known.agents.keys().map(String::as_str);
        return (!known.agents.contains_key(agent)).then(|| match nearest(agent, names) {
            Some(meant) => format!("there is no agent {agent:?}; did you mean {{{{agent:{meant}}}}}?"),
            None => format!("there is no agent {agent:?}"),
        });
    }
    if let Some(key) = name.strip_prefix("emit.") {
        let fine = !key.is_empty() && key.split('.').all(|part| !part.is_empty());
        return (!fine).then(|| format!("{{{{{name}}}}} names no emitted value"));
    }
    if name == "questions" || name.starts_with("questions:") {
        return Some(format!(
            "{{{{{name}}}}} is not built: an agent that needs an answer says blocked, and is given the answer"
        ));
    }
    let variables = scope.variables.iter().map(|(name, _)| name.as_str());
    let mut all = known.inputs.iter().map(String::as_str).chain(BUILT_IN).chain(variables);
    if all.clone().any(|known| known == name) {
        return None;
    }
    let shown: Vec<&str> = all.clone().collect();
    Some(match nearest(name, all.by_ref()) {
        Some(meant) => format!("nothing is called {name:?}; did you mean {meant}?"),
        None => {
            format!("nothing is called {name:?}; there are {} and emit.…, file:…, agent:…", shown.join(", "))
        }
    })
}
