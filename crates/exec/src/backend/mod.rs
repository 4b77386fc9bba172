//! Backends: how each agent's program is called. One file an agent.
//!
//! Pure construction: a [`AgentRequest`] in, an [`Invocation`] out, or a typed error. Nothing is started here and nothing is read
//! but, in [`is_executable`], whether a file can be run. The prompt always goes by standard input: an argument may hold
//! 128 KiB, and every user of the machine can read it. An option that an agent does not have is refused, or named in
//! [`Invocation::notices`]; it is never dropped silently.

mod claude;
mod codex;
mod command;
mod gemini;
mod login;
mod opencode;
mod program;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};

use pilot_core::config::{Backend, Format};
use pilot_core::run::OutputFormat;
use pilot_core::stream::Agent;
use thiserror::Error;

pub use login::{LoginEvidence, login_evidence};
pub use program::{find_program, is_executable, search_path};

pub fn invocation(backend: Backend, request: &AgentRequest<'_>) -> Result<Invocation, BackendError> {
    check_values(backend, request)?;
    let mut call = match backend {
        Backend::ClaudeCode => return claude::invocation(request),
        Backend::Codex => codex::invocation(request),
        Backend::Opencode => opencode::invocation(request),
        Backend::Gemini => gemini::invocation(request),
        Backend::QwenCode => gemini::qwen_invocation(request),
        Backend::Command => command::invocation(request),
    }?;
    if request.settings.is_some() {
        call.notices.push(format!(
            "quality.stop_hook has no effect with {backend}, which has no such hook; the gates run after the session"
        ));
    }
    Ok(call)
}

fn install_hint(backend: Backend) -> &'static str {
    match backend {
        Backend::ClaudeCode => "install it with `npm install -g @anthropic-ai/claude-code`",
        Backend::Codex => "install it with `npm install -g @openai/codex`",
        Backend::Opencode => "install it with `npm install -g opencode-ai`",
        Backend::Gemini => "install it with `npm install -g @google/gemini-cli`",
        Backend::QwenCode => "install it with `npm install -g @qwen-code/qwen-code`",
        Backend::Command => "set executor.command.argv to a program that exists",
    }
}

/// What an agent is asked to do, and how. Every field is the caller's decision; there are no ambient ones.
#[derive(Clone, Copy, Debug)]
pub struct AgentRequest<'r> {
    pub prompt: &'r str,
    /// The program when it is not the agent's own name: a bare name or an absolute path.
    pub program: Option<&'r str>,
    pub model: Option<&'r str>,
    /// How hard to think: `low`, `medium`, `high`, …
    pub effort: Option<&'r str>,
    pub resume: Option<&'r str>,
    pub max_turns: Option<u32>,
    pub permissions: Permissions<'r>,
    pub repo_settings: RepoSettings,
    pub settings: Option<&'r str>,
    pub extra_args: &'r [String],
    /// Images that belong to the prompt, all in one directory; the prompt names them too.
    pub images: &'r [PathBuf],
    /// Whether the agent will run as root; Claude Code refuses that unless it is told that it is sandboxed.
    pub root: bool,
    pub task: Task<'r>,
    pub command: Option<CommandLine<'r>>,
}

#[derive(Clone, Copy, Debug)]
pub struct Task<'r> {
    pub id: &'r str,
    /// The branch that is checked out; empty when there is none.
    pub branch: &'r str,
    pub workspace: &'r Path,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permissions<'r> {
    /// Everything: only Pilot's own containment limits it.
    Everything,
    /// These tools without asking, and no others.
    Only(&'r [String]),
    AsConfigured,
    ReadOnly,
}

/// Whether the repository's own settings and hooks count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepoSettings {
    Trusted,
    Ignored,
}

#[derive(Clone, Copy, Debug)]
pub struct CommandLine<'r> {
    pub argv: &'r [String],
    pub format: Format,
}

/// A call, ready to be started once its program is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The program: a bare name for [`find_program`], or an absolute path.
    pub program: String,
    pub args: Vec<String>,
    pub env: Vec<(&'static str, String)>,
    /// What goes to standard input, which is closed afterwards.
    pub stdin: Vec<u8>,
    pub output: OutputFormat,
    /// Options that have no effect with this agent, as sentences for people.
    pub notices: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BackendError {
    #[error("the backend {backend} does not support {option}: {instead}")]
    Unsupported { backend: Backend, option: &'static str, instead: &'static str },
    #[error("invalid {option} {value:?} for {backend}: {why}")]
    BadValue { backend: Backend, option: &'static str, value: String, why: &'static str },
    #[error("the prompt has {bytes} bytes and {backend} reads at most {limit}: shorten the task")]
    PromptTooLong { backend: Backend, bytes: usize, limit: usize },
    #[error("the backend command has no program: set executor.command.argv")]
    NoCommand,
    #[error("{program:?} was not found {place}: {remedy}")]
    NotInstalled { program: String, place: &'static str, remedy: &'static str },
}

/// No value of a request may be read as another option.
fn check_values(backend: Backend, request: &AgentRequest<'_>) -> Result<(), BackendError> {
    let images = request.images.iter().map(|path| ("image", path.to_str().unwrap_or("\0")));
    let values = [
        ("model", request.model),
        ("effort", request.effort),
        ("session", request.resume),
        ("program", request.program),
    ];
    let tools = match request.permissions {
        Permissions::Only(tools) => tools,
        Permissions::Everything | Permissions::AsConfigured | Permissions::ReadOnly => &[],
    };
    let tools = tools.iter().map(|tool| ("allowed tool", tool.as_str()));
    let values = values.into_iter().filter_map(|(option, value)| Some((option, value?)));
    let values = values.chain(images).chain(tools);
    for (option, value) in values {
        let why = match value {
            "" => "it is empty",
            _ if value.starts_with('-') => "it begins with a dash",
            _ if value.contains(char::is_control) => "it contains a control character or is not UTF-8",
            _ => continue,
        };
        let value = value.chars().take(80).collect();
        return Err(BackendError::BadValue { backend, option, value, why });
    }
    let nul = request.extra_args.iter().find(|arg| arg.contains('\0'));
    nul.map_or(Ok(()), |arg| {
        let value = arg.chars().take(80).collect();
        Err(BackendError::BadValue {
            backend,
            option: "extra argument",
            value,
            why: "it contains a NUL byte",
        })
    })
}

#[derive(Debug, Default)]
struct Args(Vec<String>);

impl Args {
    fn of(args: &[&str]) -> Args {
        Args(args.iter().map(|arg| (*arg).to_owned()).collect())
    }

    fn add(&mut self, args: &[&str]) {
        self.0.extend(args.iter().map(|arg| (*arg).to_owned()));
    }

    /// An option and its value, each an argument of its own, when there is a value.
    fn option(&mut self, name: &str, value: Option<impl fmt::Display>) {
        if let Some(value) = value {
            self.0.extend([name.to_owned(), value.to_string()]);
        }
    }

    fn extra(&mut self, args: &[String]) {
        self.0.extend_from_slice(args);
    }
}

fn call(backend: Backend, agent: Agent, request: &AgentRequest<'_>, args: Args) -> Invocation {
    Invocation {
        program: request.program.or(backend.program()).unwrap_or_default().to_owned(),
        args: args.0,
        env: vec![("PILOT_EXECUTOR", "1".to_owned())],
        stdin: request.prompt.as_bytes().to_vec(),
        output: OutputFormat::StreamJson(agent),
        notices: Vec::new(),
    }
}

fn unsupported<T>(backend: Backend, option: &'static str, instead: &'static str) -> Result<T, BackendError> {
    Err(BackendError::Unsupported { backend, option, instead })
}

/// For agents that have no turn limit and always load the repository's settings.
fn refuse_turns_and_distrust(backend: Backend, request: &AgentRequest<'_>) -> Result<(), BackendError> {
    if request.max_turns.is_some() {
        return unsupported(backend, "a turn limit", "limit the run's time or tokens");
    }
    match request.repo_settings {
        RepoSettings::Trusted => Ok(()),
        RepoSettings::Ignored => unsupported(
            backend,
            "trust_repo_settings: false",
            "use claude-code or qwen-code for this repository",
        ),
    }
}

fn no_list_of_tools<T>(backend: Backend) -> Result<T, BackendError> {
    unsupported(backend, "a list of allowed tools", "leave executor.allowed_tools empty")
}

fn note_effort(call: &mut Invocation, backend: Backend, request: &AgentRequest<'_>) {
    if let Some(effort) = request.effort {
        call.notices.push(format!("{backend} has no effort setting, so the effort {effort:?} has no effect"));
    }
}

/// The directory of the images, for agents that only read inside directories they are given.
fn folder(images: &[PathBuf]) -> Option<String> {
    images.first()?.parent().map(|folder| folder.display().to_string())
}
