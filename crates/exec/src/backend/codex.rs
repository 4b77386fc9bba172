//! OpenAI's codex: `codex exec --json`, the prompt behind `-`.

use pilot_core::stream::Agent;

use super::{
    Args, BackendError, BackendKind, Invocation, Permissions, RepoSettings, Request, call, unsupported,
};

pub(super) fn invocation(request: &Request<'_>) -> Result<Invocation, BackendError> {
    let backend = BackendKind::Codex;
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
    let mut args = Args::of(&["exec"]);
    if request.resume.is_some() {
        args.add(&["resume"]);
    }
    // Plugins ask a server of their own and delay the end by seconds.
    args.add(&["--json", "--skip-git-repo-check", "--disable", "plugins"]);
    match request.permissions {
        Permissions::Everything => args.add(&["--dangerously-bypass-approvals-and-sandbox"]),
        Permissions::Only(_) => {
            return unsupported(backend, "a list of allowed tools", "leave executor.allowed_tools empty");
        }
        Permissions::AsConfigured => {}
        // Its resume has no --sandbox.
        Permissions::ReadOnly => args.add(&["-c", "sandbox_mode=\"read-only\""]),
    }
    // It takes any number of images: as two arguments the option would swallow what follows.
    args.0.extend(request.image.map(|path| format!("--image={}", path.display())));
    args.option("-c", request.effort.map(|effort| format!("model_reasoning_effort={effort:?}")));
    args.option("--model", request.model);
    args.extra(request.extra_args);
    args.0.extend(request.resume.map(str::to_owned));
    args.add(&["-"]);
    Ok(call(backend, Agent::Codex, request, args))
}
