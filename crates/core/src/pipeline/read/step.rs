//! Steps, one kind each.

use super::super::condition::Condition;
use super::super::field::FieldSection;
use super::super::file::{
    AgentStep, GateStep, LoopStep, OnBlocked, OnStagnation, Over, PipelineStep, ShellStep, StepKind,
    StepPrompt, Turns, Until,
};
use super::super::shell::ShellLine;
use super::names::{NameScope, is_name, wrong};
use super::worker::{self, NO_SCRIPT, RawWorker};
use super::{KnownNames, MOST, PipelineReader, RESERVED};
use crate::config::{Fault, Node, Value};

/// The keys of each kind of step.
pub(in super::super) const AGENT: [&str; 12] = [
    "id",
    "agent",
    "when",
    "timeout",
    "retry",
    "tool",
    "model",
    "script",
    "args",
    "fallback",
    "on_blocked",
    "review",
];
pub(in super::super) const SHELL: [&str; 6] = ["id", "shell", "when", "timeout", "retry", "on_blocked"];
pub(in super::super) const GATE: [&str; 3] = ["id", "gate", "when"];
pub(in super::super) const LOOP: [&str; 4] = ["id", "loop", "steps", "when"];
pub(in super::super) const LOOP_KEYS: [&str; 6] =
    ["over", "as", "order", "until", "max_rounds", "on_stagnation"];
const KINDS: [&str; 4] = ["agent", "shell", "gate", "loop"];

/// Rounds of a loop by default, and at most.
pub(in super::super) const ROUNDS: u32 = 5;
pub(in super::super) const MOST_ROUNDS: u32 = 100;

const DEEPEST: usize = 8;
const HOW_OFTEN: &str = "says not how often; write over and as, or until";

/// A step and what only its loop can settle.
struct StepDraft {
    step: PipelineStep,
    /// Whether its author says that it reviews.
    review: Option<bool>,
}

impl PipelineReader<'_> {
    pub(super) fn steps(&mut self, top: &FieldSection<'_>, known: &KnownNames) -> Vec<PipelineStep> {
        let missing = Fault::Nonsense("there is nothing to run; write a list of steps".to_owned());
        let Some(node) = top.node("pipeline") else {
            let origin =
                top.entry("pipeline").map_or_else(|| top.origin.clone(), |entry| top.origin.at(entry.place));
            self.complaints.add(origin, "pipeline", missing);
            return Vec::new();
        };
        let drafts = self.list(top, "pipeline", node, &NameScope::top(known));
        drafts.into_iter().map(|draft| draft.step).collect()
    }

    fn list(
        &mut self,
        section: &FieldSection<'_>,
        key: &str,
        node: &Node,
        scope: &NameScope<'_>,
    ) -> Vec<StepDraft> {
        let Value::List(items) = &node.value else {
            section.complain(key, node.wrong_type("a list of steps"));
            return Vec::new();
        };
        if scope.depth > DEEPEST {
            section.nonsense(key, format!("loops are nested more than {DEEPEST} deep"));
            return Vec::new();
        }
        let mut drafts = Vec::new();
        for (number, item) in items.iter().enumerate() {
            if self.ids.len() >= MOST {
                section.complain(key, Fault::TooLong { most: MOST, of: "steps" });
                break;
            }
            let path = format!("{}[{number}]", section.key(key));
            let Some(step) = section.below(&path, item) else { continue };
            drafts.extend(self.step(&step, item, scope));
        }
        drafts
    }

    fn step(&mut self, section: &FieldSection<'_>, node: &Node, scope: &NameScope<'_>) -> Option<StepDraft> {
        let id = self.id(section, node);
        // From here on the step is called by its name.
        let path = id.clone().unwrap_or_else(|| section.path.to_owned());
        let section = &section.called(&path);
        let kinds: Vec<&str> = KINDS.into_iter().filter(|kind| section.entry(kind).is_some()).collect();
        let [kind] = kinds[..] else {
            let why = match kinds.len() {
                0 => "says not what it is; write one of agent, shell, gate, loop".to_owned(),
                _ => format!("is {} at once; keep one", kinds.join(" and ")),
            };
            section.known(&AGENT.iter().chain(&SHELL).chain(&GATE).chain(&LOOP).copied().collect::<Vec<_>>());
            self.complaints.add(section.origin.at(node.place), &path, Fault::Nonsense(why));
            return None;
        };
        let when = self.when(section, scope);
        let (keys, found): (&[&str], _) = match kind {
            "agent" => (&AGENT, self.agent(section, scope)),
            "shell" => (&SHELL, self.shell(section, scope).map(|kind| (kind, None))),
            "gate" => (&GATE, self.gate(section, scope).map(|kind| (kind, None))),
            _ => (&LOOP, self.turns(section, scope).map(|kind| (kind, None))),
        };
        self.keys(section, kind, keys);
        let (kind, review) = found?;
        Some(StepDraft { step: PipelineStep { id: id?, when, kind }, review })
    }

    fn id(&mut self, section: &FieldSection<'_>, node: &Node) -> Option<String> {
        let Some(id) = section.text("id") else {
            if section.node("id").is_none() {
                let fault = Fault::Nonsense("has no id; write id: some-name".to_owned());
                self.complaints.add(section.origin.at(node.place), section.path, fault);
            }
            self.ids.push(String::new());
            return None;
        };
        let fine = !id.is_empty()
            && id.len() <= 64
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
        if !fine {
            section.bad("id", id, "no name for a step; write letters, digits, _, - and .");
        } else if self.ids.iter().any(|other| other == id) {
            section.bad("id", id, "another step has this id; each needs its own");
        }
        self.ids.push(id.to_owned());
        Some(id.to_owned()).filter(|_| fine)
    }

    /// Tells keys of other kinds of steps from unknown ones.
    fn keys(&mut self, section: &FieldSection<'_>, kind: &str, keys: &[&str]) {
        let all = AGENT.iter().chain(&SHELL).chain(&GATE).chain(&LOOP);
        let foreign: Vec<&str> =
            all.copied().filter(|key| !keys.contains(key) && !KINDS.contains(key)).collect();
        for entry in section.entries() {
            if foreign.contains(&entry.key.as_str()) {
                let step = if kind == "agent" { "an agent".to_owned() } else { format!("a {kind}") };
                let fault = Fault::Nonsense(format!("has no effect on {step} step; take it out"));
                self.complaints.add(section.origin.at(entry.place), &section.key(&entry.key), fault);
            }
        }
        let known: Vec<&str> = keys.iter().copied().chain(foreign).collect();
        section.known(&known);
    }

    fn when(&mut self, section: &FieldSection<'_>, scope: &NameScope<'_>) -> Option<Condition> {
        let text = section.text("when")?;
        let condition = match Condition::parse(text) {
            Ok(condition) => condition,
            Err(error) => return section.reject("when", text, error),
        };
        let why = condition.names().into_iter().find_map(|name| {
            let text = name.starts_with("file:")
                || name.starts_with("agent:")
                || ["diff", "progress_file_path"].contains(&name);
            let file = scope.variables.iter().any(|(variable, file)| variable == name && *file);
            match text || file {
                true => Some(format!("{{{{{name}}}}} cannot be asked in a condition; emit what it is about")),
                false => wrong(name, scope),
            }
        });
        if let Some(why) = why {
            section.nonsense("when", why);
        }
        Some(condition)
    }

    fn agent(
        &mut self,
        section: &FieldSection<'_>,
        scope: &NameScope<'_>,
    ) -> Option<(StepKind, Option<bool>)> {
        let outer = self.worker(section, &worker::KEYS);
        let fallback = self.other(section, "fallback", scope.known);
        let on_blocked = section.choose("on_blocked").unwrap_or_default();
        let review = section.flag("review");
        let (prompt, inner, key) = self.agent_value(section, scope.known)?;
        twice(section, &outer, &inner);
        let Some(worker) = outer.over(&inner).over(&scope.known.defaults).resolved() else {
            return section.refuse("agent", NO_SCRIPT);
        };
        if on_blocked == OnBlocked::Fallback && section.node("fallback").is_none() {
            section.nonsense("on_blocked", "there is no fallback; name one");
        }
        self.names(&prompt, &key, scope);
        if review == Some(true) && !scope.reviewed {
            section.nonsense("review", "only a step directly in a loop with until: approve reviews");
        }
        let step = AgentStep { prompt, worker, fallback, on_blocked, review: review == Some(true) };
        Some((StepKind::Agent(Box::new(step)), review))
    }

    /// The value of `agent`: its prompt, what it says about the worker, and the key to complain about.
    fn agent_value(
        &mut self,
        section: &FieldSection<'_>,
        known: &KnownNames,
    ) -> Option<(StepPrompt, RawWorker, String)> {
        let Some(node) = section.node("agent") else {
            return section.refuse("agent", "says not what is to be done; write a prompt, a file or @name");
        };
        if let Value::Scalar(scalar) = &node.value {
            let text = scalar.text.trim();
            if let Some(name) = text.strip_prefix('@').filter(|name| !name.contains(char::is_whitespace)) {
                let (prompt, worker) = self.named(section, "agent", name, known)?;
                return Some((prompt, worker, String::new()));
            }
            let prompt = self.prompt(section, "agent", &scalar.text)?;
            let key = key_of(&prompt, section.key("agent"), section);
            return Some((prompt, RawWorker::default(), key));
        }
        let path = section.key("agent");
        let inner = section.below(&path, node)?;
        inner.known(&worker::KEYS_AND_PROMPT);
        let worker = self.worker(&inner, &worker::KEYS);
        let Some(text) = inner.text("prompt") else {
            return section.refuse("agent", "has no prompt; write one");
        };
        let prompt = self.prompt(&inner, "prompt", text)?;
        let key = key_of(&prompt, inner.key("prompt"), section);
        Some((prompt, worker, key))
    }

    fn shell(&mut self, section: &FieldSection<'_>, scope: &NameScope<'_>) -> Option<StepKind> {
        let path = section.key("shell");
        let (at, key) = value_or_only_key(section, &path, "shell", "command")?;
        let Some(text) = at.text(key).filter(|text| !text.trim().is_empty()) else {
            return section.refuse("shell", "has no command; write for example shell: cargo test");
        };
        let line = match ShellLine::parse(text) {
            Ok(line) => line,
            Err(error) => return at.refuse(key, error),
        };
        if let Some(why) = line.variables().find_map(|(name, _)| wrong(name, scope)) {
            at.nonsense(key, why);
        }
        let worker = self.worker(section, &["retry", "timeout"]);
        let on_blocked = section.choose("on_blocked").unwrap_or_default();
        if on_blocked == OnBlocked::Fallback {
            section.nonsense("on_blocked", "a shell step has no fallback");
        }
        Some(StepKind::Shell(ShellStep {
            line,
            retry: worker.retry.unwrap_or(0),
            timeout: worker.timeout,
            on_blocked,
        }))
    }

    fn gate(&mut self, section: &FieldSection<'_>, scope: &NameScope<'_>) -> Option<StepKind> {
        let path = section.key("gate");
        let (at, key) = value_or_only_key(section, &path, "gate", "message")?;
        let Some(text) = at.text(key) else {
            return Some(StepKind::Gate(GateStep { message: None }));
        };
        let message = self.prompt(&at, key, text)?;
        self.names(&message, &at.key(key), scope);
        Some(StepKind::Gate(GateStep { message: Some(message) }))
    }

    fn turns(&mut self, section: &FieldSection<'_>, scope: &NameScope<'_>) -> Option<StepKind> {
        let path = section.key("loop");
        let Some(node) = section.node("loop") else {
            return section.refuse("loop", HOW_OFTEN);
        };
        let inner = section.below(&path, node)?;
        inner.known(&LOOP_KEYS);
        let turns = match (inner.node("over").is_some(), inner.node("until").is_some()) {
            (true, false) => self.over(&inner, scope),
            (false, true) => self.until(&inner, scope.known),
            (true, true) => section.refuse("loop", "has both over and until; keep exactly one"),
            (false, false) => section.refuse("loop", HOW_OFTEN),
        };
        let mut below = NameScope { depth: scope.depth + 1, ..scope.clone() };
        below.reviewed = matches!(turns, Some(Turns::Until { until: Until::Approve, .. }));
        if let Some(Turns::Over { over, variable, .. }) = &turns {
            below.variables.push((variable.clone(), matches!(over, Over::Files(_))));
        }
        let Some(steps) = section.node("steps").filter(|node| node.value != Value::List(Vec::new())) else {
            return section.refuse("loop", "has no steps; write them under steps");
        };
        let mut drafts = self.list(section, "steps", steps, &below);
        if below.reviewed {
            self.reviewers(section, &mut drafts);
        }
        self.escalation(section, turns.as_ref(), &drafts);
        let steps = drafts.into_iter().map(|draft| draft.step).collect();
        Some(StepKind::Loop(LoopStep { turns: turns?, steps }))
    }

    fn over(&mut self, inner: &FieldSection<'_>, scope: &NameScope<'_>) -> Option<Turns> {
        misplaced(inner, ["max_rounds", "on_stagnation"], "belongs to a loop with until; take it out");
        let variable = self.variable(inner, scope);
        let order = inner.choose("order");
        let node = inner.node("over")?;
        let mut template = |text: &str| {
            let template = self.template(&inner.origin_of("over"), &inner.key("over"), text)?;
            self.names(&template, &inner.key("over"), scope);
            Some(template)
        };
        let over = match &node.value {
            Value::List(_) => {
                let items = inner.texts("over")?;
                Over::Items(items.iter().map(|text| template(text)).collect::<Option<_>>()?)
            }
            Value::Scalar(scalar) => Over::Files(template(&scalar.text)?),
            Value::Null | Value::Map(_) | Value::Bad => {
                return inner.mistyped("over", node, "a folder, a pattern or a list");
            }
        };
        Some(Turns::Over { over, variable: variable?, order: order.unwrap_or_default() })
    }

    fn variable(&mut self, inner: &FieldSection<'_>, scope: &NameScope<'_>) -> Option<String> {
        let Some(variable) = inner.text("as") else {
            return inner.refuse("over", "needs a name for each one; write as: TASK");
        };
        let taken = scope.known.inputs.iter().any(|input| input == variable)
            || scope.variables.iter().any(|(outer, _)| outer == variable);
        let why = if RESERVED.contains(&variable) {
            "a name of Pilot's own; choose another one"
        } else if taken {
            "an input or an outer loop has this name; choose another one"
        } else if !is_name(variable) {
            "no name; write letters, digits, _ and -, a letter first"
        } else {
            return Some(variable.to_owned());
        };
        inner.reject("as", variable, why)
    }

    fn until(&mut self, inner: &FieldSection<'_>, known: &KnownNames) -> Option<Turns> {
        misplaced(inner, ["as", "order"], "belongs to a loop with over; take it out");
        let until = inner.choose("until");
        let max_rounds = inner.count("max_rounds", 1, MOST_ROUNDS).unwrap_or(ROUNDS);
        let on_stagnation = match inner.node("on_stagnation").map(|node| &node.value) {
            None => OnStagnation::Stop,
            Some(Value::Scalar(scalar)) if scalar.text == "stop" => OnStagnation::Stop,
            Some(Value::Scalar(scalar)) if scalar.text == "gate" => OnStagnation::Gate,
            Some(_) => OnStagnation::Agent(Box::new(self.other(inner, "on_stagnation", known)?)),
        };
        Some(Turns::Until { until: until?, max_rounds, on_stagnation })
    }

    /// Another agent takes over the steps that do not review, so there must be one.
    fn escalation(&mut self, section: &FieldSection<'_>, turns: Option<&Turns>, drafts: &[StepDraft]) {
        let Some(Turns::Until { on_stagnation: OnStagnation::Agent(_), .. }) = turns else { return };
        let works = |draft: &StepDraft| matches!(&draft.step.kind, StepKind::Agent(agent) if !agent.review);
        if !drafts.iter().any(works) {
            section.nonsense(
                "loop",
                "on_stagnation names another agent, but the loop has no step that fixes; add one, or write stop or gate",
            );
        }
    }

    /// Settles whose verdict ends a loop.
    fn reviewers(&mut self, section: &FieldSection<'_>, drafts: &mut [StepDraft]) {
        let found = reviewers(drafts);
        let agents = drafts.iter().filter(|draft| matches!(draft.step.kind, StepKind::Agent(_))).count();
        if found.is_empty() {
            let why = match agents {
                0 => "no agent step directly in this loop can approve; add one that reviews",
                _ => "which step reviews? write review: true at it",
            };
            // A list that could not be read was complained about already.
            if !drafts.is_empty() {
                section.nonsense("loop", why);
            }
        }
        for index in found {
            let StepKind::Agent(agent) = &mut drafts[index].step.kind else { continue };
            agent.review = true;
            if agent.on_blocked == OnBlocked::Skip {
                let (id, why) = (&drafts[index].step.id, "a review cannot be passed over; write ask or fail");
                let origin = section.origin.clone();
                self.complaints.add(origin, &format!("{id}.on_blocked"), Fault::Nonsense(why.to_owned()));
            }
        }
    }
}

type Sign<'s> = &'s dyn Fn(&StepDraft, &AgentStep) -> bool;

/// Which agent steps review: those marked `review`, else the only one, else those that look like it; none when that is ambiguous.
fn reviewers(drafts: &[StepDraft]) -> Vec<usize> {
    let agents: Vec<(usize, &StepDraft, &AgentStep)> = drafts
        .iter()
        .enumerate()
        .filter_map(|(index, draft)| match &draft.step.kind {
            StepKind::Agent(agent) => Some((index, draft, &**agent)),
            StepKind::Shell(_) | StepKind::Gate(_) | StepKind::Loop(_) => None,
        })
        .collect();
    let those = |says: Sign<'_>| -> Vec<usize> {
        agents.iter().filter(|(_, draft, agent)| says(draft, agent)).map(|(index, ..)| *index).collect()
    };
    let said = those(&|draft, _| draft.review == Some(true));
    if !said.is_empty() {
        return said;
    }
    let open = those(&|draft, _| draft.review.is_none());
    if open.len() <= 1 {
        return open;
    }
    let word = |text: &str, word: &str| text.to_ascii_lowercase().contains(word);
    let signs: [Sign<'_>; 4] = [
        &|_, agent| agent.prompt.text.contains("<pilot:approve"),
        &|draft, _| word(&draft.step.id, "review"),
        &|_, agent| word(&agent.prompt.text, "approve"),
        &|_, agent| agent.prompt.template.names().all(|slot| slot.name != "FEEDBACK"),
    ];
    let found =
        signs.into_iter().map(|sign| those(&|draft, agent| draft.review.is_none() && sign(draft, agent)));
    // A sign that all of them show, or none, decides nothing.
    found.into_iter().find(|found| !found.is_empty() && found.len() < open.len()).unwrap_or_default()
}

/// A value that is written as such, or as the only key of a section.
fn value_or_only_key<'s>(
    section: &FieldSection<'s>,
    path: &'s str,
    key: &'s str,
    only: &'s str,
) -> Option<(FieldSection<'s>, &'s str)> {
    match section.node(key) {
        Some(node) if matches!(node.value, Value::Map(_)) => {
            let inner = section.below(path, node)?;
            inner.known(&[only]);
            Some((inner, only))
        }
        Some(_) | None => Some((*section, key)),
    }
}

fn misplaced(section: &FieldSection<'_>, keys: [&str; 2], why: &str) {
    for key in keys.into_iter().filter(|key| section.entry(key).is_some()) {
        section.nonsense(key, why);
    }
}

/// A prompt in a file of its own is complained about there.
fn key_of(prompt: &StepPrompt, key: String, section: &FieldSection<'_>) -> String {
    if prompt.origin.file() == section.origin.file() { key } else { String::new() }
}

fn twice(section: &FieldSection<'_>, outer: &RawWorker, inner: &RawWorker) {
    let is_map = matches!(section.node("agent").map(|node| &node.value), Some(Value::Map(_)));
    for key in worker::KEYS {
        if is_map && outer.has(key) && inner.has(key) {
            section.nonsense(key, "is also set in agent; keep one");
        }
    }
}
