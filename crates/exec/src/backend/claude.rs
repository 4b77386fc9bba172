//! Claude Code: `claude -p`, JSON lines out.

use pilot_core::config::Backend;
use pilot_core::stream::Agent;

use super::{AgentRequest, Args, BackendError, Invocation, Permissions, RepoSettings, call};

const STDIN_LIMIT: usize = 10_000_000;

const READING: &str = "Read,Glob,Grep";

pub(super) fn invocation(request: &AgentRequest<'_>) -> Result<Invocation, BackendError> {
    let (backend, bytes) = (Backend::ClaudeCode, request.prompt.len());
    if bytes > STDIN_LIMIT {
        return Err(BackendError::PromptTooLong { backend, bytes, limit: STDIN_LIMIT });
    }
    // Without --verbose it refuses stream-json.
    let mut args = Args::of(&["-p", "--verbose", "--output-format", "stream-json"]);
    match request.permissions {
        Permissions::Everything => args.add(&["--dangerously-skip-permissions"]),
        // With permissions skipped a list of tools would mean nothing; without, all others are denied.
        Permissions::Only(tools) => args.option("--allowedTools", Some(tools.join(","))),
        Permissions::AsConfigured => {}
        Permissions::ReadOnly => args.add(&["--tools", READING, "--allowedTools", READING]),
    }
    args.option("--model", request.model);
    args.option("--effort", request.effort);
    args.option("--resume", request.resume);
    args.option("--max-turns", request.max_turns);
    match request.repo_settings {
        RepoSettings::Trusted => {}
        RepoSettings::Ignored => args.add(&["--setting-sources", "user"]),
    }
    let own = |arg: &String| arg == "--settings" || arg.starts_with("--settings=");
    let settled = request.extra_args.iter().any(own);
    args.option("--settings", request.settings.filter(|_| !settled));
    args.extra(request.extra_args);
    let mut call = call(backend, Agent::Claude, request, args);
    if settled && request.settings.is_some() {
        // It accepts only one `--settings`, and the user's own wins.
        call.notices.push(
            "quality.stop_hook has no effect, since executor.extra_args has --settings of its own; the gates run when the \
             agent has ended"
                .to_owned(),
        );
    }
    if request.root && request.permissions == Permissions::Everything {
        call.env.push(("IS_SANDBOX", "1".to_owned()));
    }
    Ok(call)
}
