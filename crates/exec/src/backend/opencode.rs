//! opencode: `opencode run --format json`, which reads standard input when no message is given.

use pilot_core::config::Backend;
use pilot_core::stream::Agent;

use super::{
    AgentRequest, Args, BackendError, Invocation, Permissions, call, no_list_of_tools,
    refuse_turns_and_distrust,
};

pub(super) fn invocation(request: &AgentRequest<'_>) -> Result<Invocation, BackendError> {
    let backend = Backend::Opencode;
    refuse_turns_and_distrust(backend, request)?;
    if let Some(model) = request.model.filter(|model| !model.contains('/')) {
        let (value, why) = (model.to_owned(), "write it as provider/model");
        return Err(BackendError::BadValue { backend, option: "model", value, why });
    }
    let mut args = Args::of(&["run", "--format", "json"]);
    match request.permissions {
        Permissions::Everything => args.add(&["--auto"]),
        Permissions::Only(_) => return no_list_of_tools(backend),
        Permissions::AsConfigured => {}
        Permissions::ReadOnly => args.add(&["--agent", "plan"]),
    }
    // A resumed session already has them.
    if request.resume.is_none() {
        request.images.iter().for_each(|path| args.option("--file", Some(path.display())));
    }
    args.option("--model", request.model);
    args.option("--variant", request.effort);
    args.option("--session", request.resume);
    args.extra(request.extra_args);
    Ok(call(backend, Agent::Opencode, request, args))
}
