//! How a step is called: an agent, a script of the project, or the shell.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pilot_core::config::Config;
use pilot_core::pipeline::{Engine, OnStagnation, Pipeline, ShellStep, StepKind, Tool, Turns, Worker};
use pilot_core::run::OutputFormat;
use pilot_core::stream::Agent;
use pilot_exec::backend::{AgentRequest, Permissions, Task, invocation, is_executable, search_path};

use super::load::FOLDER;
use super::render::TemplateValues;
use crate::agent::call::{AgentProgram, ProcessCall};

/// The largest value a variable of the environment may have, below what the kernel takes.
const LARGEST_VALUE: usize = 120_000;

#[derive(Debug)]
pub(crate) struct StepCall {
    pub(crate) name: String,
    pub(crate) process: ProcessCall,
    pub(crate) format: OutputFormat,
    pub(crate) agent: Option<Agent>,
    /// A file with the prompt, to be removed afterwards.
    pub(crate) prompt_file: Option<PathBuf>,
    pub(crate) notices: Vec<String>,
}

impl StepCall {
    fn plain(name: &str, argv: Vec<OsString>, timeout: Duration) -> StepCall {
        StepCall {
            name: name.to_owned(),
            process: ProcessCall { argv, env: Vec::new(), stdin: Vec::new(), timeout, may_be_silent: false },
            format: OutputFormat::Text,
            agent: None,
            prompt_file: None,
            notices: Vec::new(),
        }
    }
}

pub(crate) struct StepCaller<'c> {
    pub(crate) config: &'c Config,
    pub(crate) path: &'c OsString,
    pub(crate) project: &'c Path,
    pub(crate) branch: &'c str,
    pub(crate) tmp: &'c Path,
}

enum WorkerProgram {
    Agent(AgentProgram),
    Script(PathBuf),
}

impl StepCaller<'_> {
    fn timeout(&self, own: Option<Duration>) -> Duration {
        let executor = &self.config.executor;
        own.or(executor.timeout).unwrap_or(executor.timeout_routing.medium)
    }

    fn program(&self, worker: &Worker) -> Result<WorkerProgram, String> {
        let executor = &self.config.executor;
        let backend = match &worker.tool {
            Some(Tool::Script(script)) => return self.script(script).map(WorkerProgram::Script),
            Some(Tool::Backend(backend)) => *backend,
            None => executor.backend,
        };
        let agent = AgentProgram::find(executor, backend, self.path);
        agent.map(WorkerProgram::Agent).map_err(|error| error.to_string())
    }

    /// A script: below Pilot's folder, below the project, or a program by its bare name.
    fn script(&self, script: &str) -> Result<PathBuf, String> {
        let below = [self.project.join(FOLDER).join(script), self.project.join(script)];
        if let Some(found) = below.into_iter().find(|path| is_executable(path)) {
            return Ok(found);
        }
        search_path(script, self.path, |path| !script.contains('/') && is_executable(path)).ok_or_else(|| {
            format!("the script {script:?} is no executable file, neither below {FOLDER}/ nor below the project: write it, and chmod +x it")
        })
    }

    pub(crate) fn agent(&self, worker: &Worker, prompt: &str, at: &str) -> Result<StepCall, String> {
        match self.program(worker)? {
            WorkerProgram::Agent(agent) => self.agent_call(&agent, worker, prompt, at),
            WorkerProgram::Script(program) => self.script_call(program, worker, prompt),
        }
    }

    fn agent_call(
        &self,
        agent: &AgentProgram,
        worker: &Worker,
        prompt: &str,
        at: &str,
    ) -> Result<StepCall, String> {
        let executor = &self.config.executor;
        // The configuration's options are for the configured agent.
        let ours = agent.backend == executor.backend;
        let model = worker.model.as_deref().or(executor.model.as_deref().filter(|_| ours));
        let task = Task { id: at, branch: self.branch, workspace: self.project };
        let base = agent.request(executor, prompt, task);
        let request = AgentRequest {
            model,
            effort: executor.effort.filter(|_| ours).map(|effort| effort.as_str()),
            max_turns: base.max_turns.filter(|_| ours),
            permissions: if ours { base.permissions } else { Permissions::Everything },
            extra_args: match &worker.args {
                Some(args) => args,
                None if ours => &executor.extra_args,
                None => &[],
            },
            ..base
        };
        let invocation = invocation(agent.backend, &request).map_err(|error| error.to_string())?;
        let model = model.map_or_else(String::new, |model| format!(" {model}"));
        Ok(StepCall {
            name: format!("{}{model}", agent.backend),
            process: agent.process(&invocation, self.timeout(worker.timeout)),
            format: invocation.output,
            agent: agent.backend.agent(),
            prompt_file: None,
            notices: invocation.notices,
        })
    }

    fn script_call(&self, program: PathBuf, worker: &Worker, prompt: &str) -> Result<StepCall, String> {
        let file = self.tmp.join("prompt.md");
        std::fs::write(&file, prompt).map_err(|error| format!("write {}: {error}", file.display()))?;
        let arguments = worker.args.iter().flatten().map(OsString::from);
        let argv = [program.into()].into_iter().chain(arguments).chain([file.clone().into()]);
        let name = worker.tool.as_ref().map_or("script", Tool::name);
        let call = StepCall::plain(name, argv.collect(), self.timeout(worker.timeout));
        Ok(StepCall { prompt_file: Some(file), ..call })
    }

    /// A line for the shell, its values in the environment.
    pub(crate) fn shell(
        &self,
        step: &ShellStep,
        values: &TemplateValues<'_>,
        engine: &Engine<'_>,
    ) -> Result<StepCall, String> {
        let argv = vec!["sh".into(), "-c".into(), step.line.line().into()];
        let mut call = StepCall::plain("sh", argv, self.timeout(step.timeout));
        call.process.may_be_silent = true;
        for (name, variable) in step.line.variables() {
            let Some(value) = values.value(name, engine)? else {
                return Err(format!("nothing is called {name:?} here; it may not have been emitted yet"));
            };
            check_value(name, &value)?;
            call.process.env.push((variable.into(), value.into()));
        }
        for (name, value) in plain_values(engine) {
            if check_value(&name, &value).is_ok() {
                call.process.env.push((name.into(), value.into()));
            }
        }
        Ok(call)
    }

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

/// The inputs, emitted values and round, for every command.
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
