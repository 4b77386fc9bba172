//! How each agent's login can be recognised. Nothing is read but names.

use pilot_core::config::Backend;

/// What shows that an agent is logged in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoginEvidence {
    /// Variables with a key.
    pub variables: &'static [&'static str],
    /// Files below the user's home that a login writes.
    pub files: &'static [&'static str],
    /// Arguments with which the program itself says whether it is logged in, by its exit code.
    pub ask: Option<&'static [&'static str]>,
    /// How to log in.
    pub next: &'static str,
}

/// None for a program Pilot does not know.
pub fn login_evidence(backend: Backend) -> Option<LoginEvidence> {
    Some(match backend {
        Backend::ClaudeCode => LoginEvidence {
            variables: &[
                "ANTHROPIC_API_KEY",
                "ANTHROPIC_AUTH_TOKEN",
                "CLAUDE_CODE_OAUTH_TOKEN",
                "CLAUDE_CODE_USE_BEDROCK",
                "CLAUDE_CODE_USE_VERTEX",
            ],
            files: &[".claude/.credentials.json"],
            ask: Some(&["auth", "status"]),
            next: "run `claude` and log in, or set ANTHROPIC_API_KEY",
        },
        Backend::Codex => LoginEvidence {
            variables: &["OPENAI_API_KEY", "CODEX_API_KEY"],
            files: &[".codex/auth.json"],
            ask: Some(&["login", "status"]),
            next: "run `codex login`, or set OPENAI_API_KEY",
        },
        Backend::Opencode => LoginEvidence {
            variables: &["ANTHROPIC_API_KEY", "OPENAI_API_KEY"],
            files: &[".local/share/opencode/auth.json"],
            ask: None,
            next: "run `opencode auth login`, or set the key of your provider",
        },
        Backend::Gemini => LoginEvidence {
            variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            files: &[".gemini/oauth_creds.json"],
            ask: None,
            next: "run `gemini` and log in, or set GEMINI_API_KEY",
        },
        Backend::QwenCode => LoginEvidence {
            variables: &["OPENAI_API_KEY", "DASHSCOPE_API_KEY"],
            files: &[".qwen/oauth_creds.json"],
            ask: None,
            next: "run `qwen` and log in, or set OPENAI_API_KEY",
        },
        Backend::Command => return None,
    })
}
