//! Values that are one of a few words.

use serde::{Deserialize, Serialize};

use crate::stream::Agent;
use crate::text::word_enum;

word_enum! {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Backend {
        #[default]
        ClaudeCode = "claude-code",
        Codex = "codex",
        Opencode = "opencode",
        Gemini = "gemini",
        QwenCode = "qwen-code",
        Command = "command",
    }
}

impl Backend {
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

    /// The agent whose output it prints, where Pilot knows it.
    pub fn agent(self) -> Option<Agent> {
        match self {
            Backend::ClaudeCode => Some(Agent::Claude),
            Backend::Codex => Some(Agent::Codex),
            Backend::Opencode => Some(Agent::Opencode),
            Backend::Gemini => Some(Agent::Gemini),
            Backend::QwenCode => Some(Agent::Qwen),
            Backend::Command => None,
        }
    }
}

word_enum! {
    /// What the program of the backend `command` prints.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Format {
        /// One message, as it is written.
        #[default]
        Text = "text",
        /// Lines of JSON as Claude Code prints them.
        StreamJson = "stream-json",
    }
}

word_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Effort {
        Low = "low",
        Medium = "medium",
        High = "high",
        Xhigh = "xhigh",
        /// As hard as it can.
        Max = "max",
    }
}

word_enum! {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Environment {
        /// It merges, and waits for CI only a little.
        Dev = "dev",
        #[default]
        Stage = "stage",
        /// A person has the last word.
        Prod = "prod",
    }
}

word_enum! {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum CiMode {
        /// What reports on the commit.
        #[default]
        Checks = "checks",
        /// Nothing: the project has no CI.
        None = "none",
    }
}

word_enum! {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum LogLevel {
        Error = "error",
        /// Also what a person may have to act on.
        Warn = "warn",
        #[default]
        Info = "info",
        Debug = "debug",
    }
}

word_enum! {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum LogFormat {
        #[default]
        Text = "text",
        Json = "json",
    }
}
