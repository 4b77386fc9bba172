//! The text of a first configuration: what was answered, and what people change most, with its default behind a `#`.
//!
//! Sentences and defaults come from the table of keys, so they are those of the documentation.

use anyhow::Context;
use pilot_core::config::{Backend, Config, Scope, key};
use pilot_core::gate::{Gate, GateKind};
use serde_json::Value as Json;

use super::ask::Answers;
use super::choices;
use super::detect::Detected;
use crate::printable::fold;

const WIDTH: usize = 96;

/// One key: set, or shown as an example.
struct ConfigLine {
    path: &'static str,
    value: LineValue,
}

enum LineValue {
    Set(String),
    /// It holds, in lines of its own.
    Block(Vec<String>),
    /// Behind a `#`: the default, or an example where there is none.
    Shown(&'static str),
}

pub(super) fn user(found: &Detected, answers: &Answers) -> anyhow::Result<String> {
    let set = |path, value: &str| ConfigLine { path, value: LineValue::Set(value.to_owned()) };
    let shown = |path, example| ConfigLine { path, value: LineValue::Shown(example) };
    let pass = match found.variables[..] {
        [] => shown("executor.env.pass", "[JAVA_HOME, NPM_CONFIG_REGISTRY]"),
        _ => set("executor.env.pass", &format!("[{}]", found.variables.join(", "))),
    };
    // Rather one that is there.
    let other = found.agents.iter().copied().chain(choices()).find(|agent| *agent != answers.backend);
    let token = "${GITHUB_TOKEN:-}";
    let project = project_lines(found);
    let mut lines = vec![
        set("executor.backend", answers.backend.as_str()),
        shown("executor.fallback", other.map_or("", Backend::as_str)),
        shown("executor.model", model(answers.backend)),
        shown("executor.timeout", ""),
        shown("executor.trust_repo_settings", ""),
        pass,
        shown("executor.limits.memory", "8GiB"),
        shown("executor.retry.enabled", ""),
        set("budget.daily_limit", &answers.daily),
        set("budget.monthly_limit", &answers.monthly),
        shown("budget.per_task.max_cost", "5"),
        shown("budget.per_task.max_tokens", ""),
        match project {
            Some(_) => set("adapters.github.token", token),
            None => shown("adapters.github.token", token),
        },
        shown("adapters.github.polling.label", ""),
        shown("orchestrator.autopilot.environment", ""),
    ];
    lines.extend(project.map(|project| ConfigLine { path: "projects", value: LineValue::Block(project) }));
    let mut text = String::from(
        "# Pilot's configuration. `pilot config check` says whether it is right, `pilot config show` what\n\
         # holds, `pilot config schema` every key. A key behind a # is not set; what is written\n\
         # there is its default, or an example.\n",
    );
    text.push_str(&render(&lines)?);
    text.push_str(&gates(found)?);
    Ok(text)
}

/// The project that was found, where it is on GitHub.
fn project_lines(found: &Detected) -> Option<Vec<String>> {
    let (owner, name) = found.forge.as_ref()?.github()?;
    // A path may hold anything, also what would be a reference.
    let path = found.repository.as_ref()?.to_str()?.replace("${", "$${");
    Some(vec![
        format!("- name: {}", Json::from(name)),
        format!("  path: {}", Json::from(path)),
        format!("  github: {{owner: {}, repo: {}}}", Json::from(owner), Json::from(name)),
    ])
}

fn model(backend: Backend) -> &'static str {
    match backend {
        Backend::ClaudeCode | Backend::Command => "claude-sonnet-4-6",
        Backend::Codex => "gpt-5-codex",
        Backend::Opencode => "anthropic/claude-sonnet-4-6",
        Backend::Gemini => "gemini-2.5-pro",
        Backend::QwenCode => "qwen3-coder-plus",
    }
}

/// The project's own file: only what every user of the repository may be given.
pub(super) fn project(found: &Detected) -> anyhow::Result<String> {
    let lines = [
        ConfigLine { path: "executor.timeout", value: LineValue::Shown("") },
        ConfigLine { path: "executor.silence_timeout", value: LineValue::Shown("") },
        ConfigLine { path: "executor.max_turns", value: LineValue::Shown("100") },
    ];
    for line in &lines {
        let key = key(line.path).with_context(|| format!("find the key {}", line.path))?;
        anyhow::ensure!(key.scope == Scope::Project, "{} is not for projects", line.path);
    }
    let kinds: Vec<&str> = found.kinds.iter().map(|kind| kind.name).collect();
    let kind = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    Ok(format!(
        "# What Pilot does differently in this project{kind}. It goes into the repository:\n\
         # no secrets, and nothing that decides what runs on its users' machines. A key behind a # is not\n\
         # set; what is written there is its default, or an example.\n{}{}",
        render(&lines)?,
        gates(found)?
    ))
}

/// The checks that are used anyway, for users who want others; an example where the project shows none.
fn gates(found: &Detected) -> anyhow::Result<String> {
    let mut text = render(&[ConfigLine { path: "quality.enabled", value: LineValue::Shown("") }])?;
    let example = [Gate::new("test", GateKind::Test, "make test")];
    let (gates, about) = match &found.gates[..] {
        [] => (&example[..], "This project shows none, so nothing is checked until you write some, such as:"),
        gates => (gates, "Without this Pilot finds these here by itself:"),
    };
    let key = key("quality.gates").context("find the key quality.gates")?;
    for about in fold(&format!("{} {about}", key.about), WIDTH - 2) {
        text.push_str(&format!("  # {about}\n"));
    }
    text.push_str("  # gates:\n");
    for gate in gates {
        text.push_str(&format!("  #   - name: {}\n", gate.name));
        if gate.kind.as_str() != gate.name {
            text.push_str(&format!("  #     type: {}\n", gate.kind.as_str()));
        }
        // A text of JSON is one of YAML, whatever a command holds.
        text.push_str(&format!("  #     command: {}\n", Json::String(gate.command.clone())));
        if !gate.required {
            text.push_str("  #     required: false\n");
        }
    }
    Ok(text)
}

/// Keys as nested sections, each with its sentence above it.
fn render(lines: &[ConfigLine]) -> anyhow::Result<String> {
    let mut text = String::new();
    let mut open: Vec<&str> = Vec::new();
    for line in lines {
        let key = key(line.path).with_context(|| format!("find the key {}", line.path))?;
        let mut parts: Vec<&str> = line.path.split('.').collect();
        let name = parts.pop().unwrap_or_default();
        let same = open.iter().zip(&parts).take_while(|(a, b)| a == b).count();
        for (depth, section) in parts.iter().enumerate().skip(same) {
            let gap = if depth == 0 { "\n" } else { "" };
            text.push_str(&format!("{gap}{}{section}:\n", "  ".repeat(depth)));
        }
        if parts.is_empty() {
            text.push('\n');
        }
        let indent = "  ".repeat(parts.len());
        let about = match key.words()[..] {
            [] => key.about.to_owned(),
            ref words => format!("{} One of {}.", key.about, words.join(", ")),
        };
        for about in fold(&about, WIDTH - indent.len()) {
            text.push_str(&format!("{indent}# {about}\n"));
        }
        text.push_str(&match &line.value {
            LineValue::Set(value) => format!("{indent}{name}: {value}\n"),
            LineValue::Block(lines) => {
                let lines: String = lines.iter().map(|line| format!("{indent}  {line}\n")).collect();
                format!("{indent}{name}:\n{lines}")
            }
            LineValue::Shown("") => format!("{indent}# {name}: {}\n", plain(&key.value(&Config::default()))),
            LineValue::Shown(example) => format!("{indent}# {name}: {example}\n"),
        });
        open = parts;
    }
    Ok(text)
}

fn plain(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => value.to_string(),
    }
}
