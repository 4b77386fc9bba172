//! What a task needs before anything is created: repository, configuration, agent, prompt. Everything that can be wrong
//! with a call is found here, and costs nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pilot_core::config::{Backend, Config, Executor};
use pilot_core::id::{Branch, Sha};
use pilot_core::prompt::PromptTemplates;
use pilot_core::review::{SkipReason, skips_review};
use pilot_core::route::{Classification, Complexity, Overrides, Route, RouteRequest, route};
use pilot_core::words;
use pilot_exec::backend::{AgentRequest, Invocation, Permissions, Task, invocation};
use pilot_exec::git::{Checkout, GitError, Head, Program, Repository};
use pilot_exec::workspace::Intent;

use super::job::{Job, JobKind};
use super::prompts;
use super::session::SessionCall;
use crate::agent::call::{AgentProgram, git_program};
use crate::commands::task::TaskArgs;
use crate::config::{ConfigSources, Flags, Loaded, load};
use crate::wrong_use::{OrWrongUse, WrongUse, bail_wrong_use};

pub(crate) struct TaskPlan {
    pub(crate) job: Job,
    pub(crate) git: Arc<Program>,
    pub(crate) repository: Option<Repository>,
    pub(crate) project: PathBuf,
    pub(crate) loaded: Loaded,
    pub(crate) agent: AgentProgram,
    pub(crate) fallback: Option<AgentProgram>,
    pub(crate) reviewer: Option<AgentProgram>,
    /// What the command line asks of the route.
    pub(crate) overrides: Overrides,
    pub(crate) route: Route,
    pub(crate) templates: PromptTemplates,
    wants_gates: bool,
    wants_review: bool,
    pub(crate) notices: Vec<String>,
}

impl TaskPlan {
    pub(crate) fn make(args: &TaskArgs, job: Job, sources: ConfigSources<'_>) -> anyhow::Result<TaskPlan> {
        let project =
            existing(args.project.as_deref().unwrap_or(Path::new(".")), "name a directory with -p")?;
        let environment = sources.environment;
        let path = environment.os("PATH").unwrap_or_default().to_owned();
        let root =
            project.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(&project).to_owned();
        let flags = Flags {
            backend: args.backend.clone(),
            model: args.model.clone(),
            effort: args.effort.clone(),
            timeout: args.timeout.clone(),
            environment: None,
        };
        let loaded = load(&ConfigSources { repo: Some(&root), flags: &flags, ..sources })?;
        let executor = &loaded.config()?.executor;
        let git = Arc::new(git_program(environment).limited(executor.finalise_timeout));
        let repository = match job.kind {
            JobKind::Question { .. } => None,
            JobKind::Change | JobKind::Bench => Some(open(&git, &project)?),
        };
        let find = |backend: Backend| AgentProgram::find(executor, backend, &path).or_wrong_use("");
        let agent = find(executor.backend)?;
        let fallback = executor.fallback.map(find).transpose()?;
        let reviewer = executor.review.backend.map(find).transpose()?;
        let templates = prompts::templates(&root)?;
        let overrides = overrides(args, executor)?;
        let (task, classification) = (job.ticket(), &Classification::NotAsked);
        let route = route(&RouteRequest { task, executor, overrides: &overrides, classification });
        let mut plan = TaskPlan {
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

    /// Decides the route again, with the classifier's answer.
    pub(crate) fn reroute(&mut self, classification: &Classification) -> anyhow::Result<()> {
        let executor = &self.loaded.config()?.executor;
        let (task, overrides) = (self.job.ticket(), &self.overrides);
        self.route = route(&RouteRequest { task, executor, overrides, classification });
        Ok(())
    }

    pub(crate) fn is_gated(&self) -> bool {
        self.wants_gates && self.repository.is_some()
    }

    pub(crate) fn skips_review(&self) -> anyhow::Result<Option<SkipReason>> {
        let wanted = self.wants_review && self.config()?.executor.review.enabled;
        Ok(match self.job.kind {
            JobKind::Change => skips_review(self.route.complexity, wanted, 1),
            JobKind::Bench | JobKind::Question { .. } => Some(SkipReason::Off),
        })
    }

    pub(crate) fn intent(&self) -> anyhow::Result<Intent> {
        let Some(repository) = &self.repository else {
            bail_wrong_use!("an image has no branch");
        };
        let name = self.job.branch.clone().unwrap_or_else(|| format!("pilot/{}", self.job.key));
        let name = Branch::parse(&name).or_cannot("name another branch with --branch")?;
        match (repository.branch(&name), &self.job.base) {
            // What an earlier run of this task left is built upon, and is its work as well.
            (Some(sha), Some(base)) if self.job.continues => {
                let since = Checkout::of(repository)
                    .and_then(|checkout| checkout.merge_base(base, sha).ok().flatten());
                Ok(Intent::Continue { branch: name, expected: sha.clone(), since })
            }
            (Some(_), Some(_)) => Err(WrongUse::error(format_args!(
                "branch {} exists, so --base has no effect; leave --base out to continue it, or name a new branch",
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
        let from = match &repository.head {
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

    /// A session as the route says. Model and effort are the route's only for the agent they were chosen for.
    pub(crate) fn call<'c>(
        &self,
        agent: &'c AgentProgram,
        prompt: String,
        fresh_prompt: String,
    ) -> SessionCall<'c> {
        let chosen = agent.backend == self.agent.backend;
        SessionCall {
            agent,
            prompt,
            fresh_prompt,
            resume: None,
            model: self.route.model.clone().filter(|_| chosen),
            effort: self.route.effort.filter(|_| chosen),
            timeout: self.route.timeout,
            read_only: matches!(self.job.kind, JobKind::Question { .. }),
            settings: None,
        }
    }

    pub(crate) fn invocation(
        &self,
        call: &SessionCall<'_>,
        branch: &str,
        workspace: &Path,
        images: &[PathBuf],
    ) -> anyhow::Result<Invocation> {
        let executor = &self.config()?.executor;
        let task = Task { id: &self.job.key, branch, workspace };
        let base = call.agent.request(executor, &call.prompt, task);
        let request = AgentRequest {
            model: call.model.as_deref(),
            effort: call.effort.map(|effort| effort.as_str()),
            resume: call.resume.as_deref(),
            permissions: if call.read_only { Permissions::ReadOnly } else { base.permissions },
            settings: call.settings.as_deref(),
            images: self.job.image().map_or(images, std::slice::from_ref),
            ..base
        };
        invocation(call.agent.backend, &request).or_wrong_use("change the option, or the backend")
    }

    /// The message of the commit of what an agent left uncommitted.
    pub(crate) fn leftover_message(&self) -> String {
        let wanted = self.config().is_ok_and(|config| config.executor.co_author);
        let co_author = self.job.co_author.as_deref().filter(|_| wanted);
        words::commit_message(&self.job.title, &self.job.key, co_author)
    }
}

fn open(git: &Arc<Program>, project: &Path) -> anyhow::Result<Repository> {
    let repository = match Repository::open(git, project) {
        Err(GitError::NotARepository { dir }) => {
            bail_wrong_use!(
                "{} is in no git repository: run `git init` there, or name a repository with -p",
                dir.display()
            );
        }
        other => other.or_cannot("see `pilot doctor`")?,
    };
    if let Head::Unborn = repository.head {
        bail_wrong_use!(
            "{} has no commit yet: make a first commit, then call Pilot again",
            project.display()
        );
    }
    Ok(repository)
}

/// What the command line asks of the route. The texts were checked with the configuration.
fn overrides(args: &TaskArgs, executor: &Executor) -> anyhow::Result<Overrides> {
    let complexity = args.complexity.as_deref().map(|name| {
        Complexity::parse_any_case(name).ok_or_else(|| {
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

/// The canonical path of a file or folder that exists.
pub(super) fn existing(path: &Path, next: &str) -> anyhow::Result<PathBuf> {
    fs::canonicalize(path).map_err(|error| format!("find {}: {error}", path.display())).or_cannot(next)
}
