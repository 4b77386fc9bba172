//! Qwen Code: headless when standard input is no terminal.

use pilot_core::stream::Agent;

use super::{Args, BackendError, BackendKind, Invocation, Permissions, RepoSettings, Request, call, folder};

pub(super) fn invocation(request: &Request<'_>) -> Result<Invocation, BackendError> {
    let mut args = Args::of(&["--output-format", "stream-json"]);
    match request.permissions {
        Permissions::Everything => args.add(&["--yolo"]),
        Permissions::Only(tools) => tools.iter().for_each(|tool| args.option("--allowed-tools", Some(tool))),
        Permissions::AsConfigured => {}
        Permissions::ReadOnly => args.add(&["--approval-mode", "plan"]),
    }
    args.option("--include-directories", request.image.map(|path| folder(path).display().to_string()));
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
    if let Some(effort) = request.effort {
        call.notices.push(format!("qwen-code has no effort setting, so the effort {effort:?} has no effect"));
    }
    Ok(call)
}
