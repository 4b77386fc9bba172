//! Google's gemini-cli: headless when standard input is no terminal.

use pilot_core::stream::Agent;

use super::{
    Args, BackendError, BackendKind, Invocation, Permissions, Request, call, folder, note_effort,
    refuse_turns_and_distrust,
};

/// Left to choose by itself it asks the model which model to ask, and may never come back.
const DEFAULT_MODEL: &str = "gemini-2.5-pro";

pub(super) fn invocation(request: &Request<'_>) -> Result<Invocation, BackendError> {
    let backend = BackendKind::Gemini;
    refuse_turns_and_distrust(backend, request)?;
    let mut args = first_args(request);
    args.option("--model", request.model.or(Some(DEFAULT_MODEL)));
    args.option("--resume", request.resume);
    args.extra(request.extra_args);
    let mut call = call(backend, Agent::Gemini, request, args);
    // In a folder it does not trust it asks before every step, and nobody is there.
    call.env.push(("GEMINI_CLI_TRUST_WORKSPACE", "true".to_owned()));
    note_effort(&mut call, backend, request);
    Ok(call)
}

/// What it has in common with Qwen Code, which was made from it.
pub(super) fn first_args(request: &Request<'_>) -> Args {
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
