//! Qwen Code: headless when standard input is no terminal.

use pilot_core::stream::Agent;

use super::gemini::first_args;
use super::{BackendError, BackendKind, Invocation, RepoSettings, Request, call, note_effort};

pub(super) fn invocation(request: &Request<'_>) -> Result<Invocation, BackendError> {
    let mut args = first_args(request);
    args.option("--model", request.model);
    args.option("--resume", request.resume);
    args.option("--max-session-turns", request.max_turns);
    match request.repo_settings {
        RepoSettings::Trusted => {}
        // It turns off the user's own customizations too; it has nothing finer.
        RepoSettings::Ignored => args.add(&["--safe-mode"]),
    }
    args.extra(request.extra_args);
    let mut call = call(BackendKind::QwenCode, Agent::Qwen, request, args);
    note_effort(&mut call, BackendKind::QwenCode, request);
    Ok(call)
}
