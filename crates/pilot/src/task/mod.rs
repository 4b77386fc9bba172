//! `pilot task`: one task, one agent, one workspace, one honest verdict. Wiring only: the core decides, exec runs, the
//! store remembers.

pub(crate) mod control;
mod drive;
mod listen;
mod plan;
mod recover;
mod report;
mod view;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use pilot_core::outcome::{
    Class, EndedBy, Evidence, Git, GitFacts, Goal, Outcome, ProcessEnd, Stderr, classification_line, decide,
    final_message_line, stderr_line,
};
use pilot_exec::backend::BackendKind;
use pilot_exec::environment::{Rules, environment};
use pilot_exec::process::{Containment, Deadlines, Ended, EndedBy as ExecEndedBy, Exit, Launch, Limits, Why};
use pilot_exec::workspace::{Finalised, Finding, Intent, Order, Workspace};
use pilot_store::{Cap, Level, LogLine, NewExecution, Owner, RunId, Store, StreamRecorder};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};

use self::control::Control;
use self::drive::{Drive, Ending, Interrupt};
use self::listen::Listener;
use self::plan::Plan;
use self::report::{Parts, Route, TaskResult, exit_code};
use self::view::View;
use crate::clock::{self, Stopwatch};
use crate::config::Environment;
use crate::memory;
use crate::stdout::Stdout;
use crate::wrong_use::OrWrongUse;

/// What `pilot task` is asked to do.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct TaskArgs {
    /// What is to be done; the first line is the title
    #[arg(value_name = "TASK")]
    pub(crate) task: String,

    /// The repository [default: the current directory]
    #[arg(short, long, value_name = "PATH")]
    pub(crate) project: Option<PathBuf>,

    /// The agent: claude-code, codex, opencode, gemini, qwen-code or command
    #[arg(long, value_name = "NAME")]
    pub(crate) backend: Option<String>,

    /// The model, in the agent's own spelling
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// How hard the model thinks: low, medium, high, xhigh or max
    #[arg(long, value_name = "LEVEL")]
    pub(crate) effort: Option<String>,

    /// The longest the agent may take, as in 90s, 30m, 1h30m
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<String>,

    /// The commit to start from [default: the checkout's HEAD]
    #[arg(long, value_name = "REF")]
    pub(crate) base: Option<String>,

    /// The branch to work on; one that exists is continued [default: pilot/TASK]
    #[arg(long, value_name = "NAME")]
    pub(crate) branch: Option<String>,

    /// Ask a question about an image instead: answered read-only, without a branch
    #[arg(long, value_name = "FILE", conflicts_with_all = ["base", "branch", "local"])]
    pub(crate) image: Option<PathBuf>,

    /// Skip the quality gates; there are none yet, so nothing is skipped
    #[arg(long)]
    pub(crate) no_gates: bool,

    /// Skip the review; there is none yet, so nothing is skipped
    #[arg(long)]
    pub(crate) no_review: bool,

    /// A local bench task: the bare task as prompt, without the executor's header
    #[arg(long)]
    pub(crate) local: bool,

    /// Say what would be done, and do nothing
    #[arg(long, conflicts_with_all = ["json", "verbose"])]
    pub(crate) dry_run: bool,

    /// Show what the agent says and does
    #[arg(short, long)]
    pub(crate) verbose: bool,

    /// Print the result as one JSON object, and nothing else
    #[arg(long)]
    pub(crate) json: bool,
}

const HELP: &str = "\
Examples:
  pilot task \"Add a --json flag to the list command\"
  pilot task --backend codex --base main \"Fix the flaky login test\"
  pilot task --image screenshot.png \"What is wrong with this page?\"
  pilot task --json \"Update the changelog\" | jq .commit_sha

The work is done in a worktree of its own and lands on a branch; the checkout is not touched.

Exit codes: 0 completed, 1 failed or nothing changed, 2 wrong use, 3 blocked and waiting for a person, 130 cancelled.
";

/// Carries the task out.
pub(crate) fn run(
    args: &TaskArgs,
    file: Option<&Path>,
    environment: &Environment,
) -> anyhow::Result<ExitCode> {
    let run = RunId::generate(clock::now());
    let key = format!("TASK-{}", run.short().rsplit('-').next().unwrap_or("0"));
    let key = format!("{key}{}", &run.as_str()[run.as_str().len() - 4..]);
    let plan = Plan::make(args, file, environment, key)?;
    for notice in plan.loaded.notices() {
        eprintln!("pilot: {notice}");
    }
    if args.dry_run {
        return dry_run(args, &plan);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(carry_out(args, &plan, environment, run))
}

fn dry_run(args: &TaskArgs, plan: &Plan) -> anyhow::Result<ExitCode> {
    use std::io::Write;

    let mut out = Stdout::lock();
    writeln!(out, "Would run {} ({})", plan.kind.as_str(), plan.program.display())?;
    if plan.repository.is_some() {
        let intent = plan.intent(args)?;
        writeln!(out, "on branch {}, {}", intent.branch().as_str(), plan.start(intent.base())?)?;
    }
    for notice in &plan.notices {
        writeln!(out, "{notice}")?;
    }
    writeln!(out, "Nothing was created.")?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

async fn carry_out(
    args: &TaskArgs,
    plan: &Plan,
    environment: &Environment,
    run: RunId,
) -> anyhow::Result<ExitCode> {
    // Before anything is created, so that whoever stops Pilot does not have to clean up.
    let mut interrupts = Interrupts::listen()?;
    let mut view = View::new(args.json, args.verbose);
    let intent = plan.repository.as_ref().map(|_| plan.intent(args)).transpose()?;
    let store = memory::open(&plan.loaded, environment).await?;
    recover::recover(plan, &store, &mut view).await;
    for notice in &plan.notices {
        view.note(notice);
    }
    let (containment, workspace) = std::thread::scope(|scope| {
        // What works on this machine is tried while git makes the worktree.
        let probe = scope.spawn(|| Containment::probe("/proc/self/exe"));
        let workspace = workspace(plan, intent, &run, &mut view);
        (probe.join(), workspace)
    });
    let containment =
        containment.map_err(|_| anyhow::anyhow!("looking for a way to hold the agent failed"))?;
    let mut workspace = workspace?;
    let task = Running { args, plan, environment, run: &run, store: &store, containment };
    let result = task.run(workspace.as_mut(), &mut interrupts, &mut view).await;
    let (result, outcome, finalised) = match result {
        Ok(done) => done,
        Err(error) => {
            let _ = store.mark_abandoned(&run, &format!("{error:#}"), clock::now()).await;
            let finalised =
                workspace.as_mut().and_then(|workspace| workspace.finalise(&task.leftover()).ok());
            remove(workspace, finalised.as_ref(), &mut view);
            return Err(error);
        }
    };
    remove(workspace, finalised.as_ref(), &mut view);
    store.close().await;
    result.print(args.json, plan.image.is_some())?;
    Ok(exit_code(outcome.status()))
}

/// Removes a workspace whose work is in git; one whose work is not stays.
fn remove(workspace: Option<Workspace>, finalised: Option<&Finalised>, view: &mut View) {
    if let (Some(workspace), Some(finalised)) = (workspace, finalised)
        && let Err(error) = workspace.remove(finalised)
    {
        view.warn(&format!("the worktree could not be removed: {error}; the next start tries again"));
    }
}

/// The worktree of a task that has a repository.
fn workspace(
    plan: &Plan,
    intent: Option<Intent>,
    run: &RunId,
    view: &mut View,
) -> anyhow::Result<Option<Workspace>> {
    let (Some(repository), Some(intent)) = (&plan.repository, intent) else { return Ok(None) };
    let start = plan.start(intent.base())?;
    let start = format!("{} on {}, {start}", plan.key, intent.branch().as_str());
    let now = u64::try_from(clock::now().0 / 1_000_000).unwrap_or(0);
    let order = Order { repository, intent, run: run.as_str(), home: plan.loaded.home.path(), now };
    let created = Workspace::create(&order).or_cannot("or name another branch with --branch")?;
    view.note(&start);
    Ok(Some(created))
}

/// A task whose workspace is there.
struct Running<'t> {
    args: &'t TaskArgs,
    plan: &'t Plan,
    environment: &'t Environment,
    run: &'t RunId,
    store: &'t Store,
    containment: Containment,
}

impl Running<'_> {
    async fn run(
        &self,
        mut workspace: Option<&mut Workspace>,
        interrupts: &mut Interrupts,
        view: &mut View,
    ) -> anyhow::Result<(TaskResult, Outcome, Option<Finalised>)> {
        let (watch, config) = (Stopwatch::start(), self.plan.config()?);
        let branch = workspace.as_ref().map(|workspace| workspace.branch().as_str().to_owned());
        let base = workspace.as_ref().map(|workspace| workspace.base().as_str().to_owned());
        self.begin(branch.as_deref(), base.as_deref()).await?;
        let control =
            Control::open(self.plan.loaded.home.path(), self.run).context("open the run for orders")?;
        let tree =
            workspace.as_ref().map_or(self.plan.project.clone(), |workspace| workspace.path().to_owned());
        let cap = Cap::of(usize::try_from(config.executor.limits.output).unwrap_or(usize::MAX));
        let mut recorder = StreamRecorder::new(self.store, self.run.clone(), cap);
        let invocation = self.plan.invocation(self.args, branch.as_deref().unwrap_or(""), &tree, None)?;
        let mut listener = Listener::new(invocation.output, config.executor.stagnation(), self.args.verbose);
        let mut drive = Drive {
            store: self.store,
            run: self.run,
            control: &control,
            executor: &config.executor,
            view,
            watch,
            cancelled: false,
        };
        let attempt = Attempt { tree: &tree, branch: branch.as_deref().unwrap_or(""), tmp: &control.tmp() };
        let mut interrupt = pin!(interrupts.wait());
        let mut interrupt: Interrupt<'_> = interrupt.as_mut();
        let (ended, attempts) =
            self.attempts(&mut drive, &attempt, &mut listener, &mut recorder, &mut interrupt).await?;
        let _ = recorder.finish(self.store, watch.millis()).await;
        let finalised = workspace.as_mut().map(|workspace| {
            workspace.limit(config.executor.finalise_timeout);
            workspace.finalise(&self.leftover())
        });
        let (git, finalised) = self.git(finalised, view);
        let outcome = self.outcome(ended.as_ref(), invocation.output, &listener, &git);
        let is_set = |finalised: &Finalised| {
            !finalised.found.iter().any(|finding| matches!(finding, Finding::BranchNotSet { .. }))
        };
        let branch = branch.filter(|_| finalised.as_ref().is_none_or(is_set));
        let result = TaskResult::new(Parts {
            task: &self.plan.key,
            run: self.run,
            branch,
            base_sha: base,
            outcome: &outcome,
            finalised: finalised.as_ref(),
            facts: &listener.facts,
            progress: &listener.progress,
            route: self.route()?,
            attempts,
            duration_ms: watch.millis(),
        });
        // Before the row says that the run is over: afterwards nobody would look for its directory.
        control.close();
        if let Err(error) = self.remember(&ended, &outcome, &listener, &result).await {
            // What the agent did is in git, whatever became of the store.
            view.warn(&format!("the end of the run could not be written down: {error:#}"));
        }
        Ok((result, outcome, finalised))
    }

    async fn begin(&self, branch: Option<&str>, base: Option<&str>) -> anyhow::Result<()> {
        let pid = std::process::id();
        let new = NewExecution {
            id: self.run.clone(),
            task_id: self.plan.key.clone(),
            title: self.plan.title.clone(),
            project_path: self.plan.project.to_string_lossy().into_owned(),
            started_at: clock::now(),
            backend: self.plan.kind.as_str().to_owned(),
            model: self.plan.config()?.executor.model.clone(),
            branch: branch.map(str::to_owned),
            base_sha: base.map(str::to_owned),
            route: serde_json::to_string(&self.route()?).ok(),
            owner: Owner { pid, started: recover::started(pid) },
        };
        self.store.begin_execution(&new).await.context("write the run down")?;
        let place = match (branch, base) {
            (Some(branch), Some(base)) => format!(" on {branch} from {base}"),
            (_, _) => String::new(),
        };
        let line = format!("started {}{place}", self.plan.kind.as_str());
        let line = LogLine::new(clock::now(), Level::Info, "run", line);
        self.store.append_logs(self.run, &[line]).await.context("write the run's log")?;
        Ok(())
    }

    fn route(&self) -> anyhow::Result<Route> {
        let executor = &self.plan.config()?.executor;
        Ok(Route {
            complexity: None,
            model: executor.model.clone(),
            effort: executor.effort.map(|effort| effort.as_str()),
            timeout_s: executor.timeout.unwrap_or(executor.timeout_routing.medium).as_secs(),
        })
    }

    /// Runs the agent, and again after a pause that a person ended.
    async fn attempts(
        &self,
        drive: &mut Drive<'_>,
        attempt: &Attempt<'_>,
        listener: &mut Listener,
        recorder: &mut StreamRecorder,
        interrupt: &mut Interrupt<'_>,
    ) -> anyhow::Result<(Result<Ended, String>, u64)> {
        let (mut attempts, mut resume) = (0, None);
        loop {
            attempts += 1;
            let launch = self.launch(attempt, resume.as_deref())?;
            let ran = drive.run(launch, &self.containment, listener, recorder, interrupt).await;
            let (ended, ending) = match ran {
                Ok(ran) => ran,
                Err(error) => return Ok((Err(error.to_string()), attempts)),
            };
            if resume.is_some() && self.session_is_gone(&ended, listener)? {
                drive.view.note("The agent has forgotten its session; it starts anew in the same worktree.");
                resume = None;
                continue;
            }
            let then = match ending {
                Ending::Over => AfterPause::GiveUp,
                Ending::Cancelled => AfterPause::Cancel,
                Ending::Paused => self.after_pause(drive, listener, interrupt).await,
            };
            match then {
                AfterPause::GiveUp => return Ok((Ok(ended), attempts)),
                AfterPause::Cancel => {
                    let by = ExecEndedBy::Stopped(Why::Cancelled);
                    return Ok((Ok(Ended { by, ..ended }), attempts));
                }
                // A program of one's own has no sessions: it starts again, with its work where it left it.
                AfterPause::GoOn => {
                    let session = listener.facts.session().filter(|_| self.plan.kind != BackendKind::Command);
                    resume = session.map(str::to_owned);
                }
            }
        }
    }

    /// Whether the agent ended because it does not know the session it was to go on with.
    fn session_is_gone(&self, ended: &Ended, listener: &Listener) -> anyhow::Result<bool> {
        let output = self.plan.invocation(self.args, "", Path::new("/"), None)?.output;
        let git = Git::Read(GitFacts { commits: 0, files_changed: 0, head_moved: false });
        Ok(self.outcome(Ok(ended), output, listener, &git).class() == Some(Class::SessionNotFound))
    }

    fn launch(&self, attempt: &Attempt<'_>, resume: Option<&str>) -> anyhow::Result<Launch> {
        let executor = &self.plan.config()?.executor;
        let invocation = self.plan.invocation(self.args, attempt.branch, attempt.tree, resume)?;
        let rules = Rules { pass: &executor.env.pass, deny: &executor.env.deny };
        let extras: Vec<(OsString, OsString)> =
            invocation.env.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let ours: BTreeMap<OsString, OsString> = self.environment.all().clone();
        Ok(Launch {
            env: environment(&ours, &rules, &extras, attempt.tmp),
            stdin: invocation.stdin.clone(),
            limits: Limits {
                memory: executor.limits.memory,
                processes: executor.limits.processes.map(u64::from),
                file_size: executor.limits.file_size,
            },
            deadlines: Deadlines {
                total: executor.timeout.or(Some(executor.timeout_routing.medium)),
                silence: Some(executor.silence_timeout),
                grace: executor.grace,
            },
            ..Launch::new(self.plan.argv(&invocation), attempt.tree)
        })
    }

    /// Waits for a person after a pause.
    async fn after_pause(
        &self,
        drive: &mut Drive<'_>,
        listener: &mut Listener,
        interrupt: &mut Interrupt<'_>,
    ) -> AfterPause {
        let wait = drive.executor.pause_timeout;
        // One that came before the pause was for nothing.
        drive.control.take(control::Order::Resume);
        let from = drive.watch.elapsed();
        listener.monitor.paused(from);
        drive.view.warn(&format!(
            "The agent is stopped and the run waits: `pilot resume {key}` goes on, `pilot cancel {key}` ends it.",
            key = self.plan.key
        ));
        loop {
            tokio::select! {
                () = interrupt.as_mut() => return AfterPause::Cancel,
                () = tokio::time::sleep(Duration::from_millis(200)) => {}
            }
            if drive.control.take(control::Order::Cancel) {
                return AfterPause::Cancel;
            }
            if drive.control.take(control::Order::Resume) {
                listener.resumed(drive.watch.elapsed());
                return AfterPause::GoOn;
            }
            if drive.watch.elapsed() - from >= wait {
                return AfterPause::GiveUp;
            }
        }
    }

    fn leftover(&self) -> String {
        format!("chore: what {} left uncommitted\n\nTask: {}", self.plan.kind.as_str(), self.plan.key)
    }

    fn git(
        &self,
        finalised: Option<Result<Finalised, pilot_exec::workspace::WorkspaceError>>,
        view: &mut View,
    ) -> (Git, Option<Finalised>) {
        match finalised {
            None => (Git::Read(GitFacts { commits: 0, files_changed: 0, head_moved: false }), None),
            Some(Err(error)) => {
                view.warn(&format!("the work could not be collected: {error}; the worktree is kept"));
                (Git::Unreadable { reason: error.to_string() }, None)
            }
            Some(Ok(finalised)) => {
                finalised.found.iter().for_each(|finding| tell(finding, &finalised, view));
                for other in &finalised.others {
                    view.note(&format!(
                        "{} is not in the result and kept at {}",
                        other.sha.short(),
                        other.pin
                    ));
                }
                let facts = GitFacts {
                    commits: finalised.commits.len() as u64,
                    files_changed: finalised.files_changed() as u64,
                    head_moved: finalised.head != finalised.base,
                };
                (Git::Read(facts), Some(finalised))
            }
        }
    }

    fn outcome(
        &self,
        ended: Result<&Ended, &String>,
        output: pilot_exec::backend::Output,
        listener: &Listener,
        git: &Git,
    ) -> Outcome {
        let (end, ended_by, oom, stderr) = match ended {
            Err(reason) => {
                (ProcessEnd::NotStarted { reason: reason.clone() }, EndedBy::Itself, false, String::new())
            }
            Ok(ended) => (process_end(ended.exit), ended_by(ended.by), ended.oom, ended.stderr.text()),
        };
        decide(&Evidence {
            goal: if self.plan.image.is_some() { Goal::Answer } else { Goal::Change },
            agent: self.plan.kind.agent().or(listener.agent()),
            reports: output.reports(),
            end: &end,
            ended_by,
            oom,
            stream: &listener.facts,
            claims: &listener.claims,
            git,
            stderr: Stderr { head: &stderr, tail: &stderr },
        })
    }

    /// Writes down how it ended, with the lines people look for.
    async fn remember(
        &self,
        ended: &Result<Ended, String>,
        outcome: &Outcome,
        listener: &Listener,
        result: &TaskResult,
    ) -> anyhow::Result<()> {
        let now = clock::now();
        let secrets = self.store.secrets();
        let log = |level, line: String| LogLine::new(now, level, "backend", line);
        let mut lines = Vec::new();
        if let Some(class) = outcome.class() {
            lines.push(log(Level::Error, classification_line(class)));
            if let Ok(ended) = ended {
                lines.push(log(Level::Error, stderr_line(&secrets.redact(&ended.stderr.text()))));
            }
            let message = secrets.redact(listener.facts.final_message());
            lines.push(log(Level::Error, final_message_line(&message)));
        }
        let level = if outcome.class().is_none_or(|class| class == Class::NoChanges) {
            Level::Info
        } else {
            Level::Error
        };
        lines.push(LogLine::new(
            now,
            level,
            "run",
            format!("{}: {}", outcome.status().as_str(), outcome.reason()),
        ));
        self.store.append_logs(self.run, &lines).await.context("write the run's log")?;
        self.store
            .finish_execution(self.run, &result.finish(now, &listener.facts))
            .await
            .context("end the run")?;
        Ok(())
    }
}

/// What becomes of a run that was paused.
enum AfterPause {
    /// A person said to go on.
    GoOn,
    /// A person ended it.
    Cancel,
    /// Nobody came.
    GiveUp,
}

/// Where an agent works.
struct Attempt<'a> {
    tree: &'a Path,
    branch: &'a str,
    tmp: &'a Path,
}

/// Tells a person what a run left that it should not.
fn tell(finding: &Finding, finalised: &Finalised, view: &mut View) {
    if finding.is_tampering() {
        view.warn(&format!("the agent touched what it should not: {finding}"));
    } else if let (Finding::BranchNotSet { .. }, Some(pin)) = (finding, &finalised.pin) {
        view.warn(&format!("{finding}; the work is at {pin}"));
    } else if let Finding::RefChanged { .. } = finding {
        // Perhaps by its owner.
        view.note(&finding.to_string());
    } else {
        view.warn(&finding.to_string());
    }
}

fn process_end(exit: Exit) -> ProcessEnd {
    match exit {
        Exit::Code(code) => ProcessEnd::Code(code),
        Exit::Signal(signal) => ProcessEnd::Signal(signal),
        Exit::Lost => ProcessEnd::Lost,
    }
}

fn ended_by(by: ExecEndedBy) -> EndedBy {
    match by {
        ExecEndedBy::Itself => EndedBy::Itself,
        ExecEndedBy::Silence => EndedBy::Silence,
        ExecEndedBy::Deadline => EndedBy::Deadline,
        ExecEndedBy::Stopped(Why::Cancelled) => EndedBy::Person,
        ExecEndedBy::Stopped(Why::Shutdown) => EndedBy::Shutdown,
        ExecEndedBy::Stopped(Why::Lingered) => EndedBy::ExitMark,
        ExecEndedBy::Stopped(Why::Stagnated) => EndedBy::Stagnation,
        ExecEndedBy::Stopped(Why::Budget) => EndedBy::Budget,
    }
}

/// Ctrl-C, and the machine asking Pilot to stop. Heard from the moment this is made.
struct Interrupts {
    int: Signals,
    term: Signals,
}

impl Interrupts {
    fn listen() -> anyhow::Result<Interrupts> {
        let heard = |kind| signal(kind).context("listen for signals");
        Ok(Interrupts { int: heard(SignalKind::interrupt())?, term: heard(SignalKind::terminate())? })
    }

    async fn wait(&mut self) {
        tokio::select! {
            _ = self.int.recv() => {}
            _ = self.term.recv() => {}
        }
    }
}
