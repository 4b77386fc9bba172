//! How whoever does a step is called: a backend, a script of the project's, or the shell.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pilot_core::config::{Backend, Config, Format as CommandOutput};
use pilot_core::outcome::Reports;
use pilot_core::pipeline::{
    Engine, Format, OnStagnation, Pipeline, ShellStep, StepKind, Tool, Turns, Worker,
};
use pilot_core::stream::Agent;
use pilot_exec::backend::{
    BackendKind, Command, CommandFormat, Output, Permissions, RepoSettings, Request, Task, find_program,
    is_executable,
};

use super::load::FOLDER;
use super::render::World;

/// The largest value a variable of the environment may have, below what the kernel takes.
const LARGEST_VALUE: usize = 120_000;

/// A call, ready to be started.
#[derive(Debug)]
pub(crate) struct Call {
    /// Who is called, for people.
    pub(crate) name: String,
    pub(crate) argv: Vec<OsString>,
    /// Variables on top of the allowed ones.
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) stdin: Vec<u8>,
    pub(crate) format: Format,
    pub(crate) reports: Reports,
    pub(crate) agent: Option<Agent>,
    /// What the attempt may take.
    pub(crate) timeout: Duration,
    /// Whether its silence means something; a command may well be silent for an hour.
    pub(crate) talks: bool,
    /// A file with the prompt, to be removed afterwards.
    pub(crate) prompt_file: Option<PathBuf>,
    pub(crate) notices: Vec<String>,
}

/// What calls are made with.
pub(crate) struct Caller<'c> {
    pub(crate) config: &'c Config,
    pub(crate) path: &'c OsString,
    pub(crate) project: &'c Path,
    pub(crate) branch: &'c str,
    pub(crate) tmp: &'c Path,
}

impl Caller<'_> {
    fn timeout(&self, own: Option<Duration>) -> Duration {
        let executor = &self.config.executor;
        own.or(executor.timeout).unwrap_or(executor.timeout_routing.medium)
    }

    /// The program of a worker, or why it cannot be called.
    pub(crate) fn program(&self, worker: &Worker) -> Result<PathBuf, String> {
        match &worker.tool {
            Some(Tool::Script(script)) => self.script(script),
            Some(Tool::Backend(backend)) => self.backend(*backend),
            None => self.backend(self.config.executor.backend),
        }
    }

    fn backend(&self, backend: Backend) -> Result<PathBuf, String> {
        let kind = kind(backend);
        let named = self.config.executor.command.argv.first().filter(|_| kind == BackendKind::Command);
        let name = named.map(String::as_str).or(kind.program()).unwrap_or_default();
        if name.is_empty() {
            return Err("the tool command needs a program: set executor.command.argv in your configuration"
                .to_owned());
        }
        find_program(kind, name, self.path, is_executable).map_err(|error| error.to_string())
    }

    /// A script: below Pilot's folder, below the project, or a program by its bare name.
    fn script(&self, script: &str) -> Result<PathBuf, String> {
        let below = [self.project.join(FOLDER).join(script), self.project.join(script)];
        if let Some(found) = below.into_iter().find(|path| is_executable(path)) {
            return Ok(found);
        }
        let folders = std::env::split_paths(self.path).filter(|folder| folder.is_absolute());
        let found = folders
            .map(|folder| folder.join(script))
            .find(|path| !script.contains('/') && is_executable(path));
        found.ok_or_else(|| {
            format!("the script {script:?} is no executable file, neither below {FOLDER}/ nor below the project: write it, and chmod +x it")
        })
    }

    /// Calls an agent.
    pub(crate) fn agent(&self, worker: &Worker, prompt: &str, at: &str) -> Result<Call, String> {
        let program = self.program(worker)?;
        if let Some(Tool::Script(script)) = &worker.tool {
            return self.script_call(script, &program, worker, prompt);
        }
        let backend = match &worker.tool {
            Some(Tool::Backend(backend)) => *backend,
            Some(Tool::Script(_)) | None => self.config.executor.backend,
        };
        self.backend_call(backend, &program, worker, prompt, at)
    }

    fn backend_call(
        &self,
        backend: Backend,
        program: &Path,
        worker: &Worker,
        prompt: &str,
        at: &str,
    ) -> Result<Call, String> {
        let (kind, executor) = (kind(backend), &self.config.executor);
        // What is configured is configured for one agent.
        let ours = backend == executor.backend;
        let model = worker.model.as_deref().or(executor.model.as_deref().filter(|_| ours));
        let args: Vec<String> = match &worker.args {
            Some(args) => args.clone(),
            None if ours => executor.extra_args.clone(),
            None => Vec::new(),
        };
        let format = match executor.command.format {
            CommandOutput::Text => CommandFormat::Text,
            CommandOutput::StreamJson => CommandFormat::StreamJson,
        };
        let shown = program.to_string_lossy();
        let tools = executor.allowed_tools.as_slice();
        let request = Request {
            prompt,
            program: Some(shown.as_ref()).filter(|_| kind != BackendKind::Command),
            model,
            effort: executor.effort.filter(|_| ours).map(|effort| effort.as_str()),
            resume: None,
            max_turns: executor.max_turns.filter(|_| ours),
            permissions: if ours && !tools.is_empty() {
                Permissions::Only(tools)
            } else {
                Permissions::Everything
            },
            repo_settings: if executor.trust_repo_settings {
                RepoSettings::Trusted
            } else {
                RepoSettings::Ignored
            },
            extra_args: &args,
            images: &[],
            settings: None,
            root: rustix::process::geteuid().is_root(),
            task: Task { id: at, branch: self.branch, workspace: self.project },
            command: (kind == BackendKind::Command)
                .then_some(Command { argv: &executor.command.argv, format }),
        };
        let invocation = kind.invocation(&request).map_err(|error| error.to_string())?;
        let model = model.map_or_else(String::new, |model| format!(" {model}"));
        let arguments = invocation.args.iter().map(OsString::from);
        Ok(Call {
            name: format!("{}{model}", kind.as_str()),
            argv: [program.as_os_str().to_owned()].into_iter().chain(arguments).collect(),
            env: invocation.env.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            stdin: invocation.stdin.clone(),
            format: match invocation.output {
                Output::StreamJson(agent) => Format::Stream(agent),
                Output::Detected => Format::Detected,
                Output::Text => Format::Text,
            },
            reports: invocation.output.reports(),
            agent: kind.agent(),
            timeout: self.timeout(worker.timeout),
            talks: true,
            prompt_file: None,
            notices: invocation.notices,
        })
    }

    /// `script [args…] PROMPT_FILE`.
    fn script_call(
        &self,
        script: &str,
        program: &Path,
        worker: &Worker,
        prompt: &str,
    ) -> Result<Call, String> {
        let file = self.tmp.join("prompt.md");
        std::fs::write(&file, prompt).map_err(|error| format!("write {}: {error}", file.display()))?;
        let arguments = worker.args.iter().flatten().map(OsString::from);
        let argv = [program.as_os_str().to_owned()].into_iter().chain(arguments).chain([file.clone().into()]);
        Ok(Call {
            name: script.to_owned(),
            argv: argv.collect(),
            env: Vec::new(),
            stdin: Vec::new(),
            format: Format::Text,
            reports: Reports::Maybe,
            agent: None,
            timeout: self.timeout(worker.timeout),
            talks: true,
            prompt_file: Some(file),
            notices: Vec::new(),
        })
    }

    /// A line for the shell, its values in the environment.
    pub(crate) fn shell(
        &self,
        step: &ShellStep,
        world: &World<'_>,
        engine: &Engine<'_>,
    ) -> Result<Call, String> {
        let mut env: Vec<(OsString, OsString)> = Vec::new();
        for (name, variable) in step.line.variables() {
            let Some(value) = world.value(name, engine)? else {
                return Err(format!("nothing is called {name:?} here; it may not have been emitted yet"));
            };
            check_value(name, &value)?;
            env.push((variable.into(), value.into()));
        }
        for (name, value) in plain_values(engine) {
            if check_value(&name, &value).is_ok() {
                env.push((name.into(), value.into()));
            }
        }
        Ok(Call {
            name: "sh".to_owned(),
            argv: vec!["sh".into(), "-c".into(), step.line.line().into()],
            env,
            stdin: Vec::new(),
            format: Format::Text,
            reports: Reports::Maybe,
            agent: None,
            timeout: self.timeout(step.timeout),
            talks: false,
            prompt_file: None,
            notices: Vec::new(),
        })
    }

    /// Everybody that the pipeline may call is there.
    pub(crate) fn check(&self, pipeline: &Pipeline) -> Result<(), String> {
        for (_, step) in pipeline.walk() {
            let workers: Vec<&Worker> = match &step.kind {
                StepKind::Agent(agent) => {
                    [Some(&agent.worker), agent.fallback.as_ref()].into_iter().flatten().collect()
                }
                StepKind::Loop(inner) => match &inner.turns {
                    Turns::Until { on_stagnation: OnStagnation::Agent(worker), .. } => vec![worker],
                    Turns::Until { .. } | Turns::Over { .. } => Vec::new(),
                },
                StepKind::Shell(_) | StepKind::Gate(_) => Vec::new(),
            };
            for worker in workers {
                self.program(worker).map_err(|why| format!("step {}: {why}", step.id))?;
            }
        }
        Ok(())
    }
}

/// What every command may want to know, by names of its own.
fn plain_values(engine: &Engine<'_>) -> Vec<(String, String)> {
    let plain = |name: &str| -> String {
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
    };
    let inputs =
        engine.inputs().iter().map(|(name, value)| (format!("PILOT_INPUT_{}", plain(name)), value.clone()));
    let emits =
        engine.emits().iter().map(|(name, value)| (format!("PILOT_EMIT_{}", plain(name)), value.clone()));
    let round = [("PILOT_ROUND".to_owned(), engine.round().to_string())];
    inputs.chain(emits).chain(round).collect()
}

fn check_value(name: &str, value: &str) -> Result<(), String> {
    if value.contains('\0') {
        return Err(format!("the value of {name:?} holds a NUL character, which no variable can"));
    }
    if value.len() > LARGEST_VALUE {
        return Err(format!(
            "the value of {name:?} has {} bytes, a variable holds at most {LARGEST_VALUE}; let the step that makes it \
             write a file",
            value.len()
        ));
    }
    Ok(())
}

fn kind(backend: Backend) -> BackendKind {
    match backend {
        Backend::ClaudeCode => BackendKind::ClaudeCode,
        Backend::Codex => BackendKind::Codex,
        Backend::Opencode => BackendKind::Opencode,
        Backend::Gemini => BackendKind::Gemini,
        Backend::QwenCode => BackendKind::QwenCode,
        Backend::Command => BackendKind::Command,
    }
}
