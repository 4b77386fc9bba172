//! Google's gemini-cli: headless when standard input is no terminal.

use pilot_core::stream::Agent;

use super::{
    Args, BackendError, BackendKind, Invocation, Permissions, RepoSettings, Request, call, folder,
    unsupported,
};

/// Left to choose by itself it asks the model which model to ask, and may never come back.
const DEFAULT_MODEL: &str = "gemini-2.5-pro";

pub(super) fn invocation(request: &Request<'_>) -> Result<Invocation, BackendError> {
    let backend = BackendKind::Gemini;
    if request.max_turns.is_some() {
        return unsupported(backend, "a limit of turns", "limit the run's time or tokens");
    }
    if request.repo_settings == RepoSettings::Ignored {
        return unsupported(
            backend,
            "trust_repo_settings: false",
            "use claude-code or qwen-code for this repository",
        );
    }
    let mut args = Args::of(&["--output-format", "stream-json"]);
    match request.permissions {
        Permissions::Everything => args.add(&["--yolo"]),
        Permissions::Only(tools) => tools.iter().for_each(|tool| args.option("--allowed-tools", Some(tool))),
        Permissions::AsConfigured => {}
        Permissions::ReadOnly => args.add(&["--approval-mode", "plan"]),
    }
    args.option("--include-directories", request.image.map(|path| folder(path).display().to_string()));
    args.option("--model", request.model.or(Some(DEFAULT_MODEL)));
    args.option("--resume", request.resume);
    args.extra(request.extra_args);
    let mut call = call(backend, Agent::Gemini, request, args);
    // In a folder it does not trust it asks before every step, and nobody is there.
    call.env.push(("GEMINI_CLI_TRUST_WORKSPACE", "true".to_owned()));
    if let Some(effort) = request.effort {
        call.notices.push(format!("gemini has no effort setting, so the effort {effort:?} has no effect"));
    }
    Ok(call)
}
