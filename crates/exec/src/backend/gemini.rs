//! Google's gemini-cli and its fork Qwen Code: headless when standard input is no terminal.

use pilot_core::config::Backend;
use pilot_core::stream::Agent;

use super::{
    AgentRequest, Args, BackendError, Invocation, Permissions, RepoSettings, call, folder, note_effort,
    refuse_turns_and_distrust,
};

/// Without a model it asks one which to use, and may hang.
const DEFAULT_MODEL: &str = "gemini-2.5-pro";

pub(super) fn invocation(request: &AgentRequest<'_>) -> Result<Invocation, BackendError> {
    let backend = Backend::Gemini;
    refuse_turns_and_distrust(backend, request)?;
    let mut args = first_args(request);
    args.option("--model", request.model.or(Some(DEFAULT_MODEL)));
    args.option("--resume", request.resume);
    args.extra(request.extra_args);
    let mut call = call(backend, Agent::Gemini, request, args);
    // In an untrusted folder it asks before every step, and no user is present.
    call.env.push(("GEMINI_CLI_TRUST_WORKSPACE", "true".to_owned()));
    note_effort(&mut call, backend, request);
    Ok(call)
}

/// The arguments both share.
fn first_args(request: &AgentRequest<'_>) -> Args {
    let mut args = Args::of(&["--output-format", "stream-json"]);
    match request.permissions {
        Permissions::Everything => args.add(&["--yolo"]),
        Permissions::Only(tools) => tools.iter().for_each(|tool| args.option("--allowed-tools", Some(tool))),
        Permissions::AsConfigured => {}
        Permissions::ReadOnly => args.add(&["--approval-mode", "plan"]),
    }
    args.option("--include-directories", folder(request.images));
    args
}

/// Qwen Code, its fork.
pub(super) fn qwen_invocation(request: &AgentRequest<'_>) -> Result<Invocation, BackendError> {
    let mut args = first_args(request);
    args.option("--model", request.model);
    args.option("--resume", request.resume);
    args.option("--max-session-turns", request.max_turns);
    match request.repo_settings {
        RepoSettings::Trusted => {}
        // It turns off the user's own customizations too; it has no finer option.
        RepoSettings::Ignored => args.add(&["--safe-mode"]),
    }
    args.extra(request.extra_args);
    let mut call = call(Backend::QwenCode, Agent::Qwen, request, args);
    note_effort(&mut call, Backend::QwenCode, request);
    Ok(call)
}
