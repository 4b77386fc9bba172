//! Backends: how each agent's program is called. One file an agent.
//!
//! Pure construction: a [`Request`] in, an [`Invocation`] out, or a typed error. Nothing is started here and nothing is read
//! but, in [`is_executable`], whether a file can be run. The prompt always goes by standard input: an argument may hold
//! 128 KiB, and everybody on the machine can read it. An option that an agent does not have is refused, or named in
//! [`Invocation::notices`]; it is never dropped in silence.

mod claude;
mod codex;
mod command;
mod gemini;
mod opencode;
mod program;
mod qwen;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use pilot_core::outcome::Reports;
use pilot_core::stream::Agent;
use thiserror::Error;

pub use program::{find_program, is_executable};

/// The agents that can be put to work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BackendKind {
    /// Claude Code.
    ClaudeCode,
    /// OpenAI's codex.
    Codex,
    /// opencode.
    Opencode,
    /// Google's gemini-cli.
    Gemini,
    /// Qwen Code.
    QwenCode,
    /// Any program that reads a prompt from standard input.
    Command,
}

impl BackendKind {
    /// All of them, the default first.
    pub const ALL: [BackendKind; 6] = [
        BackendKind::ClaudeCode,
        BackendKind::Codex,
        BackendKind::Opencode,
        BackendKind::Gemini,
        BackendKind::QwenCode,
        BackendKind::Command,
    ];

    /// The name as it is configured and reported.
    pub fn as_str(self) -> &'static str {
        match self {
            BackendKind::ClaudeCode => "claude-code",
            BackendKind::Codex => "codex",
            BackendKind::Opencode => "opencode",
            BackendKind::Gemini => "gemini",
            BackendKind::QwenCode => "qwen-code",
            BackendKind::Command => "command",
        }
    }

    /// The agent whose output it prints, when Pilot knows it.
    pub fn agent(self) -> Option<Agent> {
        match self {
            BackendKind::ClaudeCode => Some(Agent::Claude),
            BackendKind::Codex => Some(Agent::Codex),
            BackendKind::Opencode => Some(Agent::Opencode),
            BackendKind::Gemini => Some(Agent::Gemini),
            BackendKind::QwenCode => Some(Agent::Qwen),
            BackendKind::Command => None,
        }
    }

    /// The name of its program; `command` has none of its own.
    pub fn program(self) -> Option<&'static str> {
        match self {
            BackendKind::ClaudeCode => Some("claude"),
            BackendKind::Codex => Some("codex"),
            BackendKind::Opencode => Some("opencode"),
            BackendKind::Gemini => Some("gemini"),
            BackendKind::QwenCode => Some("qwen"),
            BackendKind::Command => None,
        }
    }

    /// What to do when its program is not there.
    pub fn remedy(self) -> &'static str {
        match self {
            BackendKind::ClaudeCode => "install it with `npm install -g @anthropic-ai/claude-code`",
            BackendKind::Codex => "install it with `npm install -g @openai/codex`",
            BackendKind::Opencode => "install it with `npm install -g opencode-ai`",
            BackendKind::Gemini => "install it with `npm install -g @google/gemini-cli`",
            BackendKind::QwenCode => "install it with `npm install -g @qwen-code/qwen-code`",
            BackendKind::Command => "set executor.command.argv to a program that exists",
        }
    }

    /// Builds the call.
    pub fn invocation(self, request: &Request<'_>) -> Result<Invocation, BackendError> {
        check_values(self, request)?;
        let mut call = match self {
            BackendKind::ClaudeCode => return claude::invocation(request),
            BackendKind::Codex => codex::invocation(request),
            BackendKind::Opencode => opencode::invocation(request),
            BackendKind::Gemini => gemini::invocation(request),
            BackendKind::QwenCode => qwen::invocation(request),
            BackendKind::Command => command::invocation(request),
        }?;
        if request.settings.is_some() {
            call.notices.push(format!(
                "quality.stop_hook has no effect with {self}, which has no such hook; the gates run when it has ended"
            ));
        }
        Ok(call)
    }
}

impl fmt::Display for BackendKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for BackendKind {
    type Err = BackendError;

    fn from_str(name: &str) -> Result<BackendKind, BackendError> {
        let known = BackendKind::ALL.into_iter().find(|kind| kind.as_str() == name);
        known.ok_or_else(|| BackendError::UnknownBackend { name: name.to_owned() })
    }
}

/// What an agent is asked to do, and how. Every field is the caller's decision; there are no ambient ones.
#[derive(Clone, Copy, Debug)]
pub struct Request<'r> {
    /// The prompt.
    pub prompt: &'r str,
    /// The program when it is not the agent's own name: a bare name or an absolute path.
    pub program: Option<&'r str>,
    /// The model, in the agent's own spelling.
    pub model: Option<&'r str>,
    /// How hard to think: `low`, `medium`, `high`, …
    pub effort: Option<&'r str>,
    /// The session to go on with.
    pub resume: Option<&'r str>,
    /// How many turns the agent may take.
    pub max_turns: Option<u32>,
    /// What the agent may do.
    pub permissions: Permissions<'r>,
    /// Whether the repository's own settings and hooks count.
    pub repo_settings: RepoSettings,
    /// Settings for this run alone, as the agent reads them.
    pub settings: Option<&'r str>,
    /// Arguments that are handed on as they are.
    pub extra_args: &'r [String],
    /// Images that belong to the prompt, all in one directory; the prompt names them too.
    pub images: &'r [PathBuf],
    /// Whether the agent will run as root; one of them refuses that unless it is told that it is contained.
    pub root: bool,
    /// The task, for the program's environment.
    pub task: Task<'r>,
    /// The program of the backend `command`.
    pub command: Option<Command<'r>>,
}

/// What a program may want to know about its task.
#[derive(Clone, Copy, Debug)]
pub struct Task<'r> {
    /// Its key.
    pub id: &'r str,
    /// The branch that is checked out; empty when there is none.
    pub branch: &'r str,
    /// The directory it works in.
    pub workspace: &'r Path,
}

/// What an agent may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permissions<'r> {
    /// Everything: Pilot's own containment is the border.
    Everything,
    /// These tools without asking, and no others.
    Only(&'r [String]),
    /// What the agent's own settings say.
    AsConfigured,
    /// Reading.
    ReadOnly,
}

/// Whether the repository's own settings and hooks count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepoSettings {
    /// As the agent does by default.
    Trusted,
    /// Not at all.
    Ignored,
}

/// The program of the backend `command`.
#[derive(Clone, Copy, Debug)]
pub struct Command<'r> {
    /// The program and its arguments.
    pub argv: &'r [String],
    /// What it prints.
    pub format: CommandFormat,
}

/// What the program of the backend `command` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandFormat {
    /// Its answer.
    Text,
    /// Lines as one of the known agents prints them.
    StreamJson,
}

/// A call, ready to be started once its program is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The program: a bare name for [`find_program`], or an absolute path.
    pub program: String,
    /// Its arguments, without the program.
    pub args: Vec<String>,
    /// Variables on top of the allowed ones.
    pub env: Vec<(&'static str, String)>,
    /// What goes to standard input, which is closed afterwards.
    pub stdin: Vec<u8>,
    /// What comes from standard output.
    pub output: Output,
    /// Options that have no effect with this agent, as sentences for people.
    pub notices: Vec<String>,
}

/// What a program prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// JSON lines of this agent.
    StreamJson(Agent),
    /// JSON lines of an agent that is to be found out.
    Detected,
    /// Text.
    Text,
}

impl Output {
    /// Whether output that ends well always says so.
    pub fn reports(self) -> Reports {
        match self {
            Output::StreamJson(_) => Reports::Always,
            Output::Detected | Output::Text => Reports::Maybe,
        }
    }
}

/// Why there is no call.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BackendError {
    /// No backend has this name.
    #[error(
        "unknown backend {name:?}, known are claude-code, codex, opencode, gemini, qwen-code and command"
    )]
    UnknownBackend {
        /// The name.
        name: String,
    },
    /// The backend cannot do what the option asks.
    #[error("the backend {backend} does not support {option}: {instead}")]
    Unsupported {
        /// The backend.
        backend: BackendKind,
        /// The option.
        option: &'static str,
        /// What to do.
        instead: &'static str,
    },
    /// A value would be read as something else.
    #[error("the {option} {value:?} is not one {backend} takes: {why}")]
    BadValue {
        /// The backend.
        backend: BackendKind,
        /// The option.
        option: &'static str,
        /// Its value, shortened.
        value: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The prompt is longer than the agent reads.
    #[error("the prompt has {bytes} bytes and {backend} reads at most {limit}: shorten the task")]
    PromptTooLong {
        /// The backend.
        backend: BackendKind,
        /// Its length.
        bytes: usize,
        /// The most it may have.
        limit: usize,
    },
    /// The backend `command` has no program.
    #[error("the backend command has no program: set executor.command.argv")]
    NoCommand,
    /// The program is not there.
    #[error("{program:?} was not found {place}: {remedy}")]
    NotInstalled {
        /// The program.
        program: String,
        /// Where it was looked for.
        place: &'static str,
        /// What to do.
        remedy: &'static str,
    },
}

/// Nothing of a request may turn into another option.
fn check_values(backend: BackendKind, request: &Request<'_>) -> Result<(), BackendError> {
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
            _ if value.contains(char::is_control) => "it holds a control character or is no text",
            _ => continue,
        };
        let value = value.chars().take(80).collect();
        return Err(BackendError::BadValue { backend, option, value, why });
    }
    let nul = request.extra_args.iter().find(|arg| arg.contains('\0'));
    nul.map_or(Ok(()), |arg| {
        let value = arg.chars().take(80).collect();
        Err(BackendError::BadValue { backend, option: "extra argument", value, why: "it holds a NUL byte" })
    })
}

/// Collects the arguments of a call.
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

/// A call of one of the known agents.
fn call(backend: BackendKind, agent: Agent, request: &Request<'_>, args: Args) -> Invocation {
    Invocation {
        program: request.program.or(backend.program()).unwrap_or_default().to_owned(),
        args: args.0,
        env: vec![("PILOT_EXECUTOR", "1".to_owned())],
        stdin: request.prompt.as_bytes().to_vec(),
        output: Output::StreamJson(agent),
        notices: Vec::new(),
    }
}

fn unsupported<T>(
    backend: BackendKind,
    option: &'static str,
    instead: &'static str,
) -> Result<T, BackendError> {
    Err(BackendError::Unsupported { backend, option, instead })
}

/// For agents that count no turns and load a repository's settings in any case.
fn refuse_turns_and_distrust(backend: BackendKind, request: &Request<'_>) -> Result<(), BackendError> {
    if request.max_turns.is_some() {
        return unsupported(backend, "a limit of turns", "limit the run's time or tokens");
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

/// For agents that allow everything or nothing.
fn no_list_of_tools<T>(backend: BackendKind) -> Result<T, BackendError> {
    unsupported(backend, "a list of allowed tools", "leave executor.allowed_tools empty")
}

/// For agents that think as hard as they like.
fn note_effort(call: &mut Invocation, backend: BackendKind, request: &Request<'_>) {
    if let Some(effort) = request.effort {
        call.notices.push(format!("{backend} has no effort setting, so the effort {effort:?} has no effect"));
    }
}

/// The directory of the images, for agents that only read below directories they are told.
fn folder(images: &[PathBuf]) -> Option<String> {
    images.first()?.parent().map(|folder| folder.display().to_string())
}
