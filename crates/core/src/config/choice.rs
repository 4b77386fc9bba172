//! Values that are one of a few words.

use serde::{Deserialize, Serialize};

/// Which agent runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Backend {
    /// Claude Code.
    #[default]
    ClaudeCode,
    /// Codex.
    Codex,
    /// OpenCode.
    Opencode,
    /// Gemini CLI.
    Gemini,
    /// Qwen Code.
    QwenCode,
    /// Any program: `executor.command.argv`.
    Command,
}

impl Backend {
    /// Every agent, the default first.
    pub const ALL: [Backend; 6] = [
        Backend::ClaudeCode,
        Backend::Codex,
        Backend::Opencode,
        Backend::Gemini,
        Backend::QwenCode,
        Backend::Command,
    ];

    /// The name as it is configured.
    pub fn as_str(self) -> &'static str {
        match self {
            Backend::ClaudeCode => "claude-code",
            Backend::Codex => "codex",
            Backend::Opencode => "opencode",
            Backend::Gemini => "gemini",
            Backend::QwenCode => "qwen-code",
            Backend::Command => "command",
        }
    }

    /// The program it is, where Pilot knows it.
    pub fn program(self) -> Option<&'static str> {
        match self {
            Backend::ClaudeCode => Some("claude"),
            Backend::Codex => Some("codex"),
            Backend::Opencode => Some("opencode"),
            Backend::Gemini => Some("gemini"),
            Backend::QwenCode => Some("qwen"),
            Backend::Command => None,
        }
    }
}

/// What the program of the backend `command` prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// One message, as it is written.
    #[default]
    Text,
    /// Lines of JSON as Claude Code prints them.
    StreamJson,
}

impl Format {
    /// Every format, the default first.
    pub const ALL: [Format; 2] = [Format::Text, Format::StreamJson];

    /// The name as it is configured.
    pub fn as_str(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::StreamJson => "stream-json",
        }
    }
}

/// How hard a model thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Hardly.
    Low,
    /// As usual.
    Medium,
    /// Hard.
    High,
    /// Harder.
    Xhigh,
    /// As hard as it can.
    Max,
}

impl Effort {
    /// Every effort, the least first.
    pub const ALL: [Effort; 5] = [Effort::Low, Effort::Medium, Effort::High, Effort::Xhigh, Effort::Max];

    /// The name as it is configured.
    pub fn as_str(self) -> &'static str {
        match self {
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
            Effort::Xhigh => "xhigh",
            Effort::Max => "max",
        }
    }
}

/// How careful Pilot is with what it merges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Environment {
    /// It merges, and waits for CI only a little.
    Dev,
    /// It merges.
    #[default]
    Stage,
    /// A person has the last word.
    Prod,
}

impl Environment {
    /// Every environment, the least careful first.
    pub const ALL: [Environment; 3] = [Environment::Dev, Environment::Stage, Environment::Prod];

    /// The name as it is configured.
    pub fn as_str(self) -> &'static str {
        match self {
            Environment::Dev => "dev",
            Environment::Stage => "stage",
            Environment::Prod => "prod",
        }
    }
}

/// What is looked at before a merge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CiMode {
    /// What reports on the commit.
    #[default]
    Checks,
    /// Nothing: the project has no CI.
    None,
}

impl CiMode {
    /// Every way, the default first.
    pub const ALL: [CiMode; 2] = [CiMode::Checks, CiMode::None];

    /// The name as it is configured.
    pub fn as_str(self) -> &'static str {
        match self {
            CiMode::Checks => "checks",
            CiMode::None => "none",
        }
    }
}

/// How much is written to the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// What failed.
    Error,
    /// And what may need somebody.
    Warn,
    /// And what happened.
    #[default]
    Info,
    /// And how.
    Debug,
}

impl LogLevel {
    /// Every level, the least first.
    pub const ALL: [LogLevel; 4] = [LogLevel::Error, LogLevel::Warn, LogLevel::Info, LogLevel::Debug];

    /// The name as it is configured.
    pub fn as_str(self) -> &'static str {
        match self {
            LogLevel::Error => "error",
            LogLevel::Warn => "warn",
            LogLevel::Info => "info",
            LogLevel::Debug => "debug",
        }
    }
}

/// How a line of the log looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One object a line.
    Json,
}

impl LogFormat {
    /// Every format, the default first.
    pub const ALL: [LogFormat; 2] = [LogFormat::Text, LogFormat::Json];

    /// The name as it is configured.
    pub fn as_str(self) -> &'static str {
        match self {
            LogFormat::Text => "text",
            LogFormat::Json => "json",
        }
    }
}
