//! OpenAI's codex: `codex exec --json`, the prompt behind `-`.

use pilot_core::config::Backend;
use pilot_core::stream::Agent;

use super::{
    AgentRequest, Args, BackendError, Invocation, Permissions, call, no_list_of_tools,
    refuse_turns_and_distrust,
};

pub(super) fn invocation(request: &AgentRequest<'_>) -> Result<Invocation, BackendError> {
    let backend = Backend::Codex;
    refuse_turns_and_distrust(backend, request)?;
    let mut args = Args::of(&["exec"]);
    if request.resume.is_some() {
        args.add(&["resume"]);
    }
    // Plugins contact a server of their own and delay the exit by seconds.
    args.add(&["--json", "--skip-git-repo-check", "--disable", "plugins"]);
    match request.permissions {
        Permissions::Everything => args.add(&["--dangerously-bypass-approvals-and-sandbox"]),
        Permissions::Only(_) => return no_list_of_tools(backend),
        Permissions::AsConfigured => {}
        // Its resume has no --sandbox.
        Permissions::ReadOnly => args.add(&["-c", "sandbox_mode=\"read-only\""]),
    }
    if request.resume.is_none() {
        // It takes any number of images: as two arguments the option would swallow what follows.
        args.0.extend(request.images.iter().map(|path| format!("--image={}", path.display())));
    }
    args.option("-c", request.effort.map(|effort| format!("model_reasoning_effort={effort:?}")));
    args.option("--model", request.model);
    args.extra(request.extra_args);
    args.0.extend(request.resume.map(str::to_owned));
    args.add(&["-"]);
    Ok(call(backend, Agent::Codex, request, args))
}
