//! How a program is called: an agent found and asked, a process with its environment, limits and deadlines.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use pilot_core::config::{Backend, Executor};
use pilot_exec::backend::{
    AgentRequest, BackendError, CommandLine, Invocation, Permissions, RepoSettings, Task, find_program,
    is_executable,
};
use pilot_exec::environment::{Rules, environment};
use pilot_exec::git::Program;
use pilot_exec::process::{Containment, Deadlines, Launch, ProcessLimits};

use crate::config::Environment;

#[derive(Clone, Debug)]
pub(crate) struct AgentProgram {
    pub(crate) backend: Backend,
    pub(crate) path: PathBuf,
}

impl AgentProgram {
    pub(crate) fn find(
        executor: &Executor,
        backend: Backend,
        path: &OsStr,
    ) -> Result<AgentProgram, BackendError> {
        let configured = executor.command.argv.first().filter(|_| backend == Backend::Command);
        let name = configured.map(String::as_str).or(backend.program()).unwrap_or_default();
        if name.is_empty() {
            return Err(BackendError::NoCommand);
        }
        Ok(AgentProgram { backend, path: find_program(backend, name, path, is_executable)? })
    }

    /// A request with everything that the configuration says; the caller changes what it knows better.
    pub(crate) fn request<'r>(
        &'r self,
        executor: &'r Executor,
        prompt: &'r str,
        task: Task<'r>,
    ) -> AgentRequest<'r> {
        let is_command = self.backend == Backend::Command;
        AgentRequest {
            prompt,
            program: self.path.to_str().filter(|_| !is_command),
            model: None,
            effort: None,
            resume: None,
            max_turns: executor.max_turns,
            permissions: match executor.allowed_tools.as_slice() {
                [] => Permissions::Everything,
                tools => Permissions::Only(tools),
            },
            settings: None,
            repo_settings: match executor.trust_repo_settings {
                true => RepoSettings::Trusted,
                false => RepoSettings::Ignored,
            },
            extra_args: &executor.extra_args,
            images: &[],
            root: rustix::process::geteuid().is_root(),
            task,
            command: is_command
                .then_some(CommandLine { argv: &executor.command.argv, format: executor.command.format }),
        }
    }

    pub(crate) fn process(&self, invocation: &Invocation, timeout: Duration) -> ProcessCall {
        let arguments = invocation.args.iter().map(OsString::from);
        ProcessCall {
            argv: [self.path.as_os_str().to_owned()].into_iter().chain(arguments).collect(),
            env: invocation.env.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            stdin: invocation.stdin.clone(),
            timeout,
            may_be_silent: false,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct ProcessCall {
    pub(crate) argv: Vec<OsString>,
    /// Variables on top of the allowed ones.
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) stdin: Vec<u8>,
    pub(crate) timeout: Duration,
    /// Agents may not; a command of the user's own may print nothing for an hour.
    pub(crate) may_be_silent: bool,
}

/// Where and under which limits processes are started.
pub(crate) struct Launcher<'l> {
    pub(crate) executor: &'l Executor,
    pub(crate) environment: &'l Environment,
    pub(crate) containment: Containment,
    pub(crate) dir: PathBuf,
    pub(crate) tmp: PathBuf,
}

impl Launcher<'_> {
    pub(super) fn launch(&self, call: &ProcessCall) -> Launch {
        let executor = self.executor;
        let rules = Rules { pass: &executor.env.pass, deny: &executor.env.deny };
        Launch {
            env: environment(self.environment.all(), &rules, &call.env, &self.tmp),
            stdin: call.stdin.clone(),
            limits: limits(executor),
            deadlines: Deadlines {
                total: Some(call.timeout),
                silence: Some(executor.silence_timeout).filter(|_| !call.may_be_silent),
                grace: executor.grace,
            },
            ..Launch::new(call.argv.clone(), Path::new(&self.dir))
        }
    }
}

/// Git as the user's own environment finds it.
pub(crate) fn git_program(environment: &Environment) -> Program {
    let path = environment.os("PATH").unwrap_or_default().to_owned();
    Program::new(path, environment.os("HOME").map(PathBuf::from))
}

pub(crate) fn limits(executor: &Executor) -> ProcessLimits {
    ProcessLimits {
        memory: executor.limits.memory,
        processes: executor.limits.processes.map(u64::from),
        file_size: executor.limits.file_size,
    }
}
