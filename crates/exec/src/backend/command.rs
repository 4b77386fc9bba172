//! Any program: the prompt on standard input, the task in its environment.

use super::{
    AgentRequest, BackendError, Format, Invocation, OutputFormat, Permissions, RepoSettings, unsupported,
};
use pilot_core::config::Backend;

pub(super) fn invocation(request: &AgentRequest<'_>) -> Result<Invocation, BackendError> {
    let backend = Backend::Command;
    let Some(command) = request.command else { return Err(BackendError::NoCommand) };
    let Some((program, args)) = command.argv.split_first().filter(|(program, _)| !program.is_empty()) else {
        return Err(BackendError::NoCommand);
    };
    let instead = "put it into executor.command.argv";
    if request.resume.is_some() {
        return unsupported(backend, "resuming a session", instead);
    }
    if request.max_turns.is_some() {
        return unsupported(backend, "a turn limit", instead);
    }
    if matches!(request.permissions, Permissions::Only(_)) {
        return unsupported(backend, "a list of allowed tools", instead);
    }
    if request.repo_settings == RepoSettings::Ignored {
        return unsupported(backend, "trust_repo_settings: false", instead);
    }
    let output = match command.format {
        Format::Text => OutputFormat::Text,
        Format::StreamJson => OutputFormat::Detected,
    };
    Ok(Invocation {
        program: request.program.unwrap_or(program).to_owned(),
        args: args.iter().chain(request.extra_args).cloned().collect(),
        env: environment(request),
        stdin: request.prompt.as_bytes().to_vec(),
        output,
        notices: notices(request),
    })
}

fn environment(request: &AgentRequest<'_>) -> Vec<(&'static str, String)> {
    let mut env = vec![
        ("PILOT_EXECUTOR", "1".to_owned()),
        ("PILOT_TASK_ID", request.task.id.to_owned()),
        ("PILOT_BRANCH", request.task.branch.to_owned()),
        ("PILOT_WORKSPACE", request.task.workspace.display().to_string()),
    ];
    if !request.images.is_empty() {
        let images: Vec<String> = request.images.iter().map(|path| path.display().to_string()).collect();
        env.push(("PILOT_IMAGE", images.join("\n")));
    }
    env
}

/// Options that Pilot cannot translate for an unknown program.
fn notices(request: &AgentRequest<'_>) -> Vec<String> {
    let chosen = [("model", request.model), ("effort", request.effort)];
    let chosen = chosen.into_iter().filter_map(|(option, value)| {
        let value = value?;
        Some(format!("the command chooses its own {option}, so the {option} {value:?} has no effect"))
    });
    let reading = (request.permissions == Permissions::ReadOnly)
        .then(|| "the command is only asked in its prompt to change nothing".to_owned());
    chosen.chain(reading).collect()
}
