//! What a task needs before anything is created: repository, configuration, agent, prompt. Everything that can be wrong
//! with a call is found here, and costs nothing.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pilot_core::config::{Backend, Config, Executor, Format};
use pilot_core::prompt::PromptTemplates;
use pilot_core::review::{SkipReason, skips_review};
use pilot_core::route::{Classification, Complexity, Overrides, Route, RouteRequest, route};
use pilot_exec::backend::{
    BackendKind, Command, CommandFormat, Invocation, Permissions, RepoSettings, Request, Task, find_program,
    is_executable,
};
use pilot_exec::git::{BranchName, Checkout, GitError, Head, Program, Repository, Sha};
use pilot_exec::workspace::Intent;

use super::TaskArgs;
use super::briefing;
use super::job::{Job, Kind};
use super::session::{Call, Permission};
use crate::config::{self, Environment, Flags, Loaded};
use crate::wrong_use::{OrWrongUse, WrongUse};

/// A task that can be carried out.
pub(crate) struct Plan {
    pub(crate) job: Job,
    pub(crate) git: Arc<Program>,
    pub(crate) repository: Option<Repository>,
    pub(crate) project: PathBuf,
    pub(crate) loaded: Loaded,
    pub(crate) agent: Agent,
    /// The agent that takes over where another one may do better.
    pub(crate) fallback: Option<Agent>,
    /// The agent that looks over what another one did, when it is not that one.
    pub(crate) reviewer: Option<Agent>,
    /// What the command line asks of the route.
    pub(crate) overrides: Overrides,
    /// How the task is run.
    pub(crate) route: Route,
    /// The project's own prompts.
    pub(crate) templates: PromptTemplates,
    wants_gates: bool,
    wants_review: bool,
    pub(crate) notices: Vec<String>,
}

/// An agent whose program was found.
#[derive(Clone, Debug)]
pub(crate) struct Agent {
    pub(crate) kind: BackendKind,
    pub(crate) program: PathBuf,
}

impl Plan {
    /// Checks everything.
    pub(crate) fn make(
        args: &TaskArgs,
        job: Job,
        file: Option<&Path>,
        environment: &Environment,
    ) -> anyhow::Result<Plan> {
        let project =
            existing(args.project.as_deref().unwrap_or(Path::new(".")), "name a directory with -p")?;
        let path = environment.os("PATH").unwrap_or_default().to_owned();
        let home = environment.os("HOME").map(PathBuf::from);
        let root =
            project.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(&project).to_owned();
        let flags = Flags {
            backend: args.backend.clone(),
            model: args.model.clone(),
            effort: args.effort.clone(),
            timeout: args.timeout.clone(),
            environment: None,
        };
        let loaded = config::load(&config::Request { environment, file, repo: Some(&root), flags: &flags })?;
        let executor = &loaded.config()?.executor;
        let git = Arc::new(Program::new(path.clone(), home).with_limit(executor.finalise_timeout));
        let repository = match job.kind {
            Kind::Question { .. } => None,
            Kind::Change | Kind::Bench => Some(open(&git, &project)?),
        };
        let agent = Agent::find(executor, kind(executor.backend), &path)?;
        let fallback =
            executor.fallback.map(|backend| Agent::find(executor, kind(backend), &path)).transpose()?;
        let reviewer =
            executor.review.backend.map(|backend| Agent::find(executor, kind(backend), &path)).transpose()?;
        let templates = briefing::templates(&root)?;
        let overrides = overrides(args, executor)?;
        let not_asked = Classification::NotAsked;
        let route = route(&RouteRequest {
            task: job.ticket(),
            executor,
            overrides: &overrides,
            classification: &not_asked,
        });
        let mut plan = Plan {
            job,
            git,
            repository,
            project: root,
            loaded,
            agent,
            fallback,
            reviewer,
            overrides,
            route,
            templates,
            wants_gates: !args.no_gates,
            wants_review: !args.no_review,
            notices: Vec::new(),
        };
        // An option an agent does not have shows here, before anything is created.
        for agent in [Some(&plan.agent), plan.fallback.as_ref(), plan.reviewer.as_ref()].into_iter().flatten()
        {
            let trial = plan.call(agent, String::new(), String::new());
            plan.notices.extend(plan.invocation(&trial, "", Path::new("/"), &[])?.notices);
        }
        Ok(plan)
    }

    pub(crate) fn config(&self) -> anyhow::Result<&Config> {
        Ok(self.loaded.config()?)
    }

    /// Decides the route again, with what a small model said.
    pub(crate) fn reroute(&mut self, classification: &Classification) -> anyhow::Result<()> {
        let executor = &self.loaded.config()?.executor;
        let (task, overrides) = (self.job.ticket(), &self.overrides);
        self.route = route(&RouteRequest { task, executor, overrides, classification });
        Ok(())
    }

    /// Whether what the agent makes has gates to pass.
    pub(crate) fn is_gated(&self) -> bool {
        self.wants_gates && self.repository.is_some()
    }

    /// Why what passed is not looked over, if it is not.
    pub(crate) fn skips_review(&self) -> anyhow::Result<Option<SkipReason>> {
        let wanted = self.wants_review && self.config()?.executor.review.enabled;
        Ok(match self.job.kind {
            Kind::Change => skips_review(self.route.complexity, wanted, 1),
            Kind::Bench | Kind::Question { .. } => Some(SkipReason::Off),
        })
    }

    /// The commit to start from and the branch to work on.
    pub(crate) fn intent(&self) -> anyhow::Result<Intent> {
        let Some(repository) = &self.repository else {
            return Err(WrongUse::error("an image has no branch"));
        };
        let name = self.job.branch.clone().unwrap_or_else(|| format!("pilot/{}", self.job.key));
        let name = BranchName::parse(&name).or_cannot("name another branch with --branch")?;
        match (repository.branch(&name), &self.job.base) {
            // What an earlier run of this task left is built upon, and is its work as well.
            (Some(sha), Some(base)) if self.job.goes_on => {
                let since = Checkout::of(repository)
                    .and_then(|checkout| checkout.merge_base(base, sha).ok().flatten());
                Ok(Intent::Continue { branch: name, expected: sha.clone(), since })
            }
            (Some(_), Some(_)) => Err(WrongUse::error(format_args!(
                "branch {} exists, so --base has no say; leave --base out to continue it, or name a new branch",
                name.as_str()
            ))),
            (Some(sha), None) => Ok(Intent::Continue { branch: name, expected: sha.clone(), since: None }),
            (None, base) => {
                let base = repository.base(base.as_deref()).or_cannot("name a commit with --base")?;
                Ok(Intent::NewBranch { name, base })
            }
        }
    }

    /// Which commit the work starts from, for people.
    pub(crate) fn start(&self, base: &Sha) -> anyhow::Result<String> {
        let Some(repository) = &self.repository else { return Ok(String::new()) };
        let from = match repository.head() {
            Head::Branch { name, sha } if sha == base => format!(" ({name})"),
            Head::Detached { sha } if sha == base => " (detached HEAD)".to_owned(),
            Head::Branch { .. } | Head::Detached { .. } | Head::Unborn => String::new(),
        };
        let dirty = match repository.is_dirty().unwrap_or(false) {
            true => "; the uncommitted changes of the checkout stay where they are",
            false => "",
        };
        Ok(format!("starting from {}{from}{dirty}", base.short()))
    }

    /// A call of an agent with a prompt, as the route says. The model is the route's only for the agent it was chosen for.
    pub(crate) fn call<'c>(&self, agent: &'c Agent, prompt: String, afresh: String) -> Call<'c> {
        let chosen = agent.kind == self.agent.kind;
        Call {
            agent,
            prompt,
            afresh,
            resume: None,
            model: self.route.model.clone().filter(|_| chosen),
            effort: self.route.effort.filter(|_| chosen),
            timeout: self.route.timeout,
            permissions: match self.job.kind {
                Kind::Question { .. } => Permission::Read,
                Kind::Change | Kind::Bench => Permission::Configured,
            },
            settings: None,
        }
    }

    /// How the agent is called.
    pub(crate) fn invocation(
        &self,
        call: &Call<'_>,
        branch: &str,
        workspace: &Path,
        images: &[PathBuf],
    ) -> anyhow::Result<Invocation> {
        let executor = &self.config()?.executor;
        let kind = call.agent.kind;
        let argv = &executor.command.argv;
        let format = match executor.command.format {
            Format::Text => CommandFormat::Text,
            Format::StreamJson => CommandFormat::StreamJson,
        };
        let program = call.agent.program.to_string_lossy();
        let permissions = match (call.permissions, executor.allowed_tools.as_slice()) {
            (Permission::Read, _) => Permissions::ReadOnly,
            (Permission::Configured, []) => Permissions::Everything,
            (Permission::Configured, tools) => Permissions::Only(tools),
        };
        let request = Request {
            prompt: &call.prompt,
            program: Some(program.as_ref()).filter(|_| kind != BackendKind::Command),
            model: call.model.as_deref(),
            effort: call.effort.map(|effort| effort.as_str()),
            resume: call.resume.as_deref(),
            max_turns: executor.max_turns,
            permissions,
            settings: call.settings.as_deref(),
            repo_settings: if executor.trust_repo_settings {
                RepoSettings::Trusted
            } else {
                RepoSettings::Ignored
            },
            extra_args: &executor.extra_args,
            images: self.job.image().map_or(images, std::slice::from_ref),
            root: rustix::process::geteuid().is_root(),
            task: Task { id: &self.job.key, branch, workspace },
            command: (kind == BackendKind::Command).then_some(Command { argv, format }),
        };
        kind.invocation(&request).or_wrong_use("change the option, or the backend")
    }
}

impl Agent {
    /// Finds the program of a backend.
    fn find(executor: &Executor, kind: BackendKind, path: &OsStr) -> anyhow::Result<Agent> {
        let named =
            executor.command.argv.first().map(String::as_str).filter(|_| kind == BackendKind::Command);
        let name = named.or(kind.program()).unwrap_or_default();
        if name.is_empty() {
            return Err(WrongUse::error(
                "the backend is `command`, but executor.command.argv is empty: name the program there",
            ));
        }
        let program = find_program(kind, name, path, is_executable).or_wrong_use("")?;
        Ok(Agent { kind, program })
    }
}

fn open(git: &Arc<Program>, project: &Path) -> anyhow::Result<Repository> {
    let repository = match Repository::open(git, project) {
        Err(GitError::NotARepository { dir }) => {
            return Err(WrongUse::error(format_args!(
                "{} is in no git repository: run `git init` there, or name a repository with -p",
                dir.display()
            )));
        }
        other => other.or_cannot("see `pilot doctor`")?,
    };
    if let Head::Unborn = repository.head() {
        return Err(WrongUse::error(format_args!(
            "{} has no commit yet: make a first commit, then call Pilot again",
            project.display()
        )));
    }
    Ok(repository)
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

/// What the command line asks of the route. The texts were checked with the configuration.
fn overrides(args: &TaskArgs, executor: &Executor) -> anyhow::Result<Overrides> {
    let complexity = args.complexity.as_deref().map(|name| {
        Complexity::parse(name).ok_or_else(|| {
            WrongUse::error(format_args!(
                "{name:?} is no complexity: trivial, simple, medium, complex or epic, with --complexity"
            ))
        })
    });
    Ok(Overrides {
        complexity: complexity.transpose()?,
        model: args.model.clone(),
        effort: executor.effort.filter(|_| args.effort.is_some()),
        timeout: executor.timeout.filter(|_| args.timeout.is_some()),
    })
}

/// The whole path of something that is there.
pub(super) fn existing(path: &Path, next: &str) -> anyhow::Result<PathBuf> {
    fs::canonicalize(path).map_err(|error| format!("find {}: {error}", path.display())).or_cannot(next)
}
