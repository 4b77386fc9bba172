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
