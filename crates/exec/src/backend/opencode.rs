//! opencode: `opencode run --format json`, which reads standard input when no message is given.

use pilot_core::stream::Agent;

use super::{
    Args, BackendError, BackendKind, Invocation, Permissions, RepoSettings, Request, call, unsupported,
};

pub(super) fn invocation(request: &Request<'_>) -> Result<Invocation, BackendError> {
    let backend = BackendKind::Opencode;
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
    if let Some(model) = request.model.filter(|model| !model.contains('/')) {
        let (value, why) = (model.to_owned(), "it is to read provider/model");
        return Err(BackendError::BadValue { backend, option: "model", value, why });
    }
    let mut args = Args::of(&["run", "--format", "json"]);
    match request.permissions {
        Permissions::Everything => args.add(&["--auto"]),
        Permissions::Only(_) => {
            return unsupported(backend, "a list of allowed tools", "leave executor.allowed_tools empty");
        }
        Permissions::AsConfigured => {}
        Permissions::ReadOnly => args.add(&["--agent", "plan"]),
    }
    args.option("--file", request.image.map(|path| path.display()));
    args.option("--model", request.model);
    args.option("--variant", request.effort);
    args.option("--session", request.resume);
    args.extra(request.extra_args);
    Ok(call(backend, Agent::Opencode, request, args))
}
