//! `pilot task`: one task, one agent, one workspace, one honest verdict. Wiring only: the core decides, exec runs, the
//! store remembers.

mod admission;
mod briefing;
mod check;
mod classify;
pub(crate) mod control;
mod drive;
pub(crate) mod evidence;
pub(crate) mod interrupts;
mod job;
mod life;
mod listen;
mod pictures;
mod plan;
mod publish;
mod purse;
pub(crate) mod recover;
mod remember;
mod report;
mod review;
mod rounds;
mod session;
mod view;
pub(crate) mod worker;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use pilot_core::budget::Standing;
use pilot_core::outcome::Status;
use pilot_core::retry::Place;
use pilot_exec::process::Containment;
use pilot_exec::workspace::{Finalised, Intent, Order, Workspace};
use pilot_store::{RunId, Store};

use self::admission::{Refused, admit};
use self::classify::Took;
use self::interrupts::Interrupts;
use self::job::Job;
use self::life::{Life, Lived};
use self::plan::Plan;
use self::publish::{Publisher, publish};
use self::report::exit_code;
use self::view::View;
use crate::clock;
use crate::config::Environment;
use crate::memory;
use crate::stdout::Stdout;
use crate::wrong_use::OrWrongUse;

/// What `pilot task` is asked to do.
#[derive(Debug, Default, Args)]
#[command(after_help = HELP)]
pub(crate) struct TaskArgs {
    /// What is to be done; the first line is the title; `-` reads it from standard input
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

    /// How much work it is, instead of what Pilot reads from the task: trivial, simple, medium, complex or epic
    #[arg(long, value_name = "LEVEL")]
    pub(crate) complexity: Option<String>,

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

    /// Skip the quality gates
    #[arg(long)]
    pub(crate) no_gates: bool,

    /// Skip the second look at what passed
    #[arg(long)]
    pub(crate) no_review: bool,

    /// A local bench task: the bare task as prompt, without the executor's header
    #[arg(long)]
    pub(crate) local: bool,

    /// Push the branch of a completed run and open a pull request for it on GitHub
    #[arg(long, conflicts_with = "image")]
    pub(crate) pr: bool,

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
  pilot task --pr \"Say in the README how to install it\"

The work is done in a worktree of its own and lands on a branch; the checkout is not touched.

Exit codes: 0 completed, 1 failed, nothing changed or not published, 2 wrong use, 3 blocked and waiting for a person, 130 cancelled.
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
    let mut plan = Plan::make(args, Job::of(args, key)?, file, environment)?;
    for notice in plan.loaded.notices() {
        eprintln!("pilot: {notice}");
    }
    let publisher = args.pr.then(|| Publisher::plan(&plan, environment)).transpose()?;
    if args.dry_run {
        return dry_run(&plan, publisher.as_ref());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let how = How { view: View::new(args.json, args.verbose), aloud: args.verbose, place: Place::Foreground };
    // Before the agent costs anything.
    let site = publisher.map(|publisher| runtime.block_on(publisher.connect(&plan))).transpose()?;
    match runtime.block_on(carry_out(&mut plan, environment, run.clone(), how))? {
        Carried::Refused(refused) => refused.print(args.json),
        Carried::Lived(mut lived) => {
            let site = site.filter(|_| lived.outcome.status() == Status::Completed);
            let published = site
                .map(|site| runtime.block_on(publish(&site, &plan, environment, &run, &mut lived.result)));
            lived.result.print(args.json, plan.job.image().is_some())?;
            published.transpose()?;
            Ok(exit_code(lived.outcome.status()))
        }
    }
}

fn dry_run(plan: &Plan, publisher: Option<&Publisher>) -> anyhow::Result<ExitCode> {
    use std::io::Write;

    let mut out = Stdout::lock();
    writeln!(out, "Would run {} ({})", plan.agent.kind.as_str(), plan.agent.program.display())?;
    if plan.repository.is_some() {
        let intent = plan.intent()?;
        writeln!(out, "on branch {}, {}", intent.branch().as_str(), plan.start(intent.base())?)?;
    }
    writeln!(out, "route: {}", report::route(&plan.route))?;
    for reason in &plan.route.reasons {
        writeln!(out, "  {reason}")?;
    }
    for notice in &plan.notices {
        writeln!(out, "{notice}")?;
    }
    if let Some(publisher) = publisher {
        writeln!(out, "and would open a pull request in {}", publisher.repo())?;
    }
    writeln!(out, "Nothing was created.")?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// How a task is carried out.
pub(crate) struct How {
    pub(crate) view: View,
    /// Whether somebody wants to know what the agent says.
    pub(crate) aloud: bool,
    /// Whether somebody waits for the end.
    pub(crate) place: Place,
}

/// What became of a task.
pub(crate) enum Carried {
    /// It was not let in.
    Refused(Refused),
    /// It ran.
    Lived(Box<Lived>),
}

pub(crate) async fn carry_out(
    plan: &mut Plan,
    environment: &Environment,
    run: RunId,
    how: How,
) -> anyhow::Result<Carried> {
    // Before anything is created, so that whoever stops Pilot does not have to clean up.
    let mut interrupts = Interrupts::listen()?;
    let How { mut view, aloud, place } = how;
    let intent = plan.repository.as_ref().map(|_| plan.intent()).transpose()?;
    let store = memory::open(&plan.loaded, environment).await?;
    recover::recover(plan, &store, &mut view).await;
    for notice in &plan.notices {
        view.note(notice);
    }
    let (standing, asked) = match let_in(plan, environment, &store, &run, &mut view).await? {
        Ok(let_in) => let_in,
        Err(refused) => return Ok(Carried::Refused(refused)),
    };
    let plan = &*plan;
    let (containment, workspace) = std::thread::scope(|scope| {
        // What works on this machine is tried while git makes the worktree.
        let probe = scope.spawn(|| Containment::probe("/proc/self/exe"));
        let workspace = workspace(plan, intent, &run, &mut view);
        (probe.join(), workspace)
    });
    let containment =
        containment.map_err(|_| anyhow::anyhow!("looking for a way to hold the agent failed"))?;
    let mut workspace = match workspace {
        Ok(workspace) => workspace,
        Err(error) => {
            let _ = store.release(&run, clock::now()).await;
            return Err(error);
        }
    };
    let life =
        Life { plan, environment, run: &run, store: &store, containment, standing, asked, aloud, place };
    let ran = life.live(workspace.as_mut(), &mut interrupts, &mut view).await;
    let lived = match ran {
        Ok(lived) => lived,
        Err(error) => {
            let _ = store.mark_abandoned(&run, &format!("{error:#}"), clock::now()).await;
            let finalised =
                workspace.as_mut().and_then(|workspace| workspace.finalise(&life.leftover()).ok());
            remove(workspace, finalised.as_ref(), &mut view);
            return Err(error);
        }
    };
    remove(workspace, lived.finalised.as_ref(), &mut view);
    store.close().await;
    Ok(Carried::Lived(Box::new(lived)))
}

/// Lets the run in by what Pilot reads of the task itself, before anybody is paid; where a small model is asked and it is more
/// work than it looked, the run asks for its larger reserve.
async fn let_in(
    plan: &mut Plan,
    environment: &Environment,
    store: &Store,
    run: &RunId,
    view: &mut View,
) -> anyhow::Result<Result<(Standing, Option<Took>), Refused>> {
    let standing = match admit(plan, store, run, view).await? {
        Ok(standing) => standing,
        Err(refused) => return Ok(Err(refused)),
    };
    if !plan.config()?.executor.classifier.enabled {
        return Ok(Ok((standing, None)));
    }
    let containment = Containment::probe("/proc/self/exe");
    let asked = classify::classify(plan, environment, &containment, store, run, view).await;
    let raised = asked.and_then(|asked| {
        let before = plan.route.complexity;
        plan.reroute(&asked.said)?;
        Ok((asked.took, plan.route.complexity != before))
    });
    let (took, raised) = match raised {
        Ok(raised) => raised,
        Err(error) => {
            let _ = store.release(run, clock::now()).await;
            return Err(error);
        }
    };
    let standing = match raised {
        true => admit(plan, store, run, view).await?,
        false => Ok(standing),
    };
    Ok(match standing {
        Ok(standing) => Ok((standing, took)),
        Err(refused) => {
            let _ = store.release(run, clock::now()).await;
            Err(refused)
        }
    })
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
    let start = format!("{} on {}, {start}", plan.job.key, intent.branch().as_str());
    let now = u64::try_from(clock::now().0 / 1_000_000).unwrap_or(0);
    let order = Order { repository, intent, run: run.as_str(), home: plan.loaded.home.path(), now };
    let created = Workspace::create(&order).or_cannot("or name another branch with --branch")?;
    view.note(&start);
    view.note(&format!("Route: {}.", report::route(&plan.route)));
    Ok(Some(created))
}
