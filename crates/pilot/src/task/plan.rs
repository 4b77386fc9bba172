//! What a task needs before anything is created: repository, configuration, agent, prompt. Everything that can be wrong
//! with a call is found here, and costs nothing.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pilot_core::config::{Backend, Config, Format};
use pilot_core::prompt::{BODY_LIMIT, TITLE_LIMIT, TaskPrompt, executor_prompt, image_prompt, local_prompt};
use pilot_exec::backend::{
    BackendKind, Command, CommandFormat, Invocation, Permissions, RepoSettings, Request, Task, find_program,
    is_executable,
};
use pilot_exec::git::{BranchName, GitError, Head, Program, Repository, Sha};
use pilot_exec::workspace::Intent;

use super::TaskArgs;
use crate::config::{self, Environment, Flags, Loaded};
use crate::wrong_use::{OrWrongUse, WrongUse};

/// A task that can be carried out.
pub(crate) struct Plan {
    pub(crate) git: Arc<Program>,
    pub(crate) repository: Option<Repository>,
    pub(crate) project: PathBuf,
    pub(crate) loaded: Loaded,
    pub(crate) kind: BackendKind,
    pub(crate) program: PathBuf,
    pub(crate) key: String,
    pub(crate) title: String,
    pub(crate) image: Option<PathBuf>,
    pub(crate) notices: Vec<String>,
}

impl Plan {
    /// Checks everything. `key` names the task.
    pub(crate) fn make(
        args: &TaskArgs,
        file: Option<&Path>,
        environment: &Environment,
        key: String,
    ) -> anyhow::Result<Plan> {
        let title = title(&args.task)?;
        let image = args.image.as_deref().map(image).transpose()?;
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
        };
        let loaded = config::load(&config::Request { environment, file, repo: Some(&root), flags: &flags })?;
        let executor = &loaded.config()?.executor;
        let git = Arc::new(Program::new(path.clone(), home).with_limit(executor.finalise_timeout));
        let repository = match image {
            Some(_) => None,
            None => Some(open(&git, &project)?),
        };
        let kind = kind(executor.backend);
        let named =
            executor.command.argv.first().map(String::as_str).filter(|_| kind == BackendKind::Command);
        let name = named.or(kind.program()).unwrap_or_default().to_owned();
        if name.is_empty() {
            return Err(WrongUse::error(
                "the backend is `command`, but executor.command.argv is empty: name the program there",
            ));
        }
        let program = find_program(kind, &name, &path, is_executable).or_wrong_use("")?;
        let mut plan = Plan {
            git,
            repository,
            project: root,
            loaded,
            kind,
            program,
            key,
            title,
            image,
            notices: Vec::new(),
        };
        // An option the agent does not have shows here, before anything is created.
        let trial = plan.invocation(args, "", Path::new("/"), None)?;
        plan.notices = trial.notices;
        Ok(plan)
    }

    pub(crate) fn config(&self) -> anyhow::Result<&Config> {
        Ok(self.loaded.config()?)
    }

    /// The commit to start from and the branch to work on.
    pub(crate) fn intent(&self, args: &TaskArgs) -> anyhow::Result<Intent> {
        let Some(repository) = &self.repository else {
            return Err(WrongUse::error("an image has no branch"));
        };
        let name = args.branch.clone().unwrap_or_else(|| format!("pilot/{}", self.key));
        let name = BranchName::parse(&name).or_cannot("name another branch with --branch")?;
        match (repository.branch(&name), &args.base) {
            (Some(_), Some(_)) => Err(WrongUse::error(format_args!(
                "branch {} exists, so --base has no say; leave --base out to continue it, or name a new branch",
                name.as_str()
            ))),
            (Some(sha), None) => Ok(Intent::Continue { branch: name, expected: sha.clone() }),
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

    /// How the agent is called.
    pub(crate) fn invocation(
        &self,
        args: &TaskArgs,
        branch: &str,
        workspace: &Path,
        resume: Option<&str>,
    ) -> anyhow::Result<Invocation> {
        let executor = &self.config()?.executor;
        let prompt = self.prompt(args, branch, workspace, resume.is_some());
        let argv = &executor.command.argv;
        let format = match executor.command.format {
            Format::Text => CommandFormat::Text,
            Format::StreamJson => CommandFormat::StreamJson,
        };
        let program = self.program.to_string_lossy();
        let permissions = match (&self.image, executor.allowed_tools.as_slice()) {
            (Some(_), _) => Permissions::ReadOnly,
            (None, []) => Permissions::Everything,
            (None, tools) => Permissions::Only(tools),
        };
        let request = Request {
            prompt: &prompt,
            program: Some(program.as_ref()).filter(|_| self.kind != BackendKind::Command),
            model: executor.model.as_deref(),
            effort: executor.effort.map(|effort| effort.as_str()),
            resume,
            max_turns: executor.max_turns,
            permissions,
            repo_settings: if executor.trust_repo_settings {
                RepoSettings::Trusted
            } else {
                RepoSettings::Ignored
            },
            settings: None,
            extra_args: &executor.extra_args,
            image: self.image.as_deref(),
            root: rustix::process::geteuid().is_root(),
            task: Task { id: &self.key, branch, workspace },
            command: (self.kind == BackendKind::Command).then_some(Command { argv, format }),
        };
        self.kind.invocation(&request).or_wrong_use("change the option, or the backend")
    }

    fn prompt(&self, args: &TaskArgs, branch: &str, workspace: &Path, again: bool) -> String {
        if again {
            return "Go on with the task where you left off.".to_owned();
        }
        if let Some(image) = &self.image {
            return image_prompt(&image.to_string_lossy(), &args.task);
        }
        if args.local {
            return local_prompt(&args.task);
        }
        // A title that is cut in the prompt stands whole in the body.
        let told = Some(self.title.as_str()).filter(|title| title.len() <= TITLE_LIMIT);
        let body = told.and_then(|title| args.task.trim().strip_prefix(title)).unwrap_or(&args.task).trim();
        let navigator = workspace.join(".agent").is_dir();
        executor_prompt(&TaskPrompt { key: &self.key, title: &self.title, body, branch, navigator })
    }

    /// The agent's arguments as the kernel takes them.
    pub(crate) fn argv(&self, invocation: &Invocation) -> Vec<OsString> {
        let program = [self.program.clone().into_os_string()];
        program.into_iter().chain(invocation.args.iter().map(OsString::from)).collect()
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

fn title(task: &str) -> anyhow::Result<String> {
    if task.len() > BODY_LIMIT {
        return Err(WrongUse::error(format_args!(
            "the task has {} bytes, at most {BODY_LIMIT} are read: put the details into a file of the repository and \
             name it in the task",
            task.len()
        )));
    }
    match task.lines().map(str::trim).find(|line| !line.is_empty()) {
        Some(line) => Ok(line.to_owned()),
        None => Err(WrongUse::error(
            "the task is empty: say what is to be done, as in pilot task \"Add a --json flag\"",
        )),
    }
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

/// The whole path of something that is there.
fn existing(path: &Path, next: &str) -> anyhow::Result<PathBuf> {
    fs::canonicalize(path).map_err(|error| format!("find {}: {error}", path.display())).or_cannot(next)
}

/// The file, if it looks like an image.
fn image(path: &Path) -> anyhow::Result<PathBuf> {
    use std::io::Read;

    let next = "name an image with --image";
    let path = existing(path, next)?;
    let mut start = Vec::new();
    let read = fs::File::open(&path).and_then(|file| file.take(12).read_to_end(&mut start));
    read.map_err(|error| format!("read {}: {error}", path.display())).or_cannot(next)?;
    let known = start.starts_with(b"\x89PNG\r\n\x1a\n")
        || start.starts_with(b"\xff\xd8\xff")
        || start.starts_with(b"GIF8")
        || (start.starts_with(b"RIFF") && start.ends_with(b"WEBP"));
    if !known {
        let path = path.display();
        return Err(WrongUse::error(format_args!(
            "{path} is no PNG, JPEG, GIF or WebP image: name one with --image"
        )));
    }
    Ok(path)
}
