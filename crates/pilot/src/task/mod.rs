//! `pilot task`: one task, one agent, one workspace, one honest verdict. Wiring only: the core decides, exec runs, the
//! store remembers.

mod admission;
mod classify;
pub(crate) mod control;
mod cost_meter;
mod gates;
mod job;
mod live;
mod output;
mod pictures;
mod plan;
mod prompts;
mod publish;
mod record;
mod report;
mod review;
mod run;
mod session;
mod steps;
mod view;
pub(crate) mod worker;

use std::process::ExitCode;

use pilot_core::budget::Standing;
use pilot_core::outcome::RunStatus;
use pilot_exec::process::Containment;
use pilot_exec::workspace::{CreateRequest, Finalised, Intent, Workspace};
use pilot_store::{RunId, Store};

use self::admission::{Refused, admit};
use self::classify::Classified;
use self::job::Job;
use self::plan::TaskPlan;
use self::publish::{Publisher, publish};
use self::report::exit_code;
use self::run::{FinishedRun, RunStart};
use self::view::View;
use crate::agent::interrupts::Interrupts;
use crate::agent::recover;
use crate::clock;
use crate::commands::task::TaskArgs;
use crate::config::{ConfigSources, Environment};
use crate::stdout::Stdout;
use crate::store_access;
use crate::wrong_use::OrWrongUse;

pub(crate) fn run(args: &TaskArgs, sources: ConfigSources<'_>) -> anyhow::Result<ExitCode> {
    let run = RunId::generate(clock::now());
    let key = format!("TASK-{}", run.short().rsplit('-').next().unwrap_or("0"));
    let key = format!("{key}{}", &run.as_str()[run.as_str().len() - 4..]);
    let environment = sources.environment;
    let mut plan = TaskPlan::make(args, Job::of(args, key)?, sources)?;
    plan.loaded.print_notices();
    let publisher = args.pr.then(|| Publisher::plan(&plan, environment)).transpose()?;
    if args.dry_run {
        return dry_run(&plan, publisher.as_ref());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let view = View::new(args.json, args.verbose);
    // Before the agent costs anything.
    let site = publisher.map(|publisher| runtime.block_on(publisher.connect(&plan))).transpose()?;
    match runtime.block_on(carry_out(&mut plan, environment, run.clone(), view))? {
        TaskEnd::Refused(refused) => refused.print(args.json),
        TaskEnd::Finished(finished) => {
            let mut result = finished.result;
            let site = site.filter(|_| result.status == RunStatus::Completed);
            let published =
                site.map(|site| runtime.block_on(publish(&site, &plan, environment, &run, &mut result)));
            report::print(&result, args.json, plan.job.image().is_some())?;
            published.transpose()?;
            Ok(exit_code(&result))
        }
    }
}

fn dry_run(plan: &TaskPlan, publisher: Option<&Publisher>) -> anyhow::Result<ExitCode> {
    use std::io::Write;

    let mut out = Stdout::lock();
    writeln!(out, "Would run {} ({})", plan.agent.backend, plan.agent.path.display())?;
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

pub(crate) enum TaskEnd {
    Refused(Refused),
    Finished(Box<FinishedRun>),
}

pub(crate) async fn carry_out(
    plan: &mut TaskPlan,
    environment: &Environment,
    run: RunId,
    mut view: View,
) -> anyhow::Result<TaskEnd> {
    // Before anything is created, so that a Ctrl-C at any time leaves nothing behind.
    let mut interrupts = Interrupts::listen()?;
    let intent = plan.repository.as_ref().map(|_| plan.intent()).transpose()?;
    let store = store_access::open(&plan.loaded, environment).await?;
    for warning in recover::recover(&plan.git, plan.loaded.home.path(), &store).await {
        view.warn(&warning);
    }
    for notice in &plan.notices {
        view.note(notice);
    }
    let admitted = admit_and_route(plan, environment, (&store, &run), &mut interrupts, &mut view).await?;
    let (standing, classified) = match admitted {
        Ok(admitted) => admitted,
        Err(refused) => return Ok(TaskEnd::Refused(refused)),
    };
    let plan = &*plan;
    let (containment, mut workspace) = match prepare_workspace(plan, intent, &run, &mut view) {
        Ok(prepared) => prepared,
        Err(error) => {
            let _ = store.release(&run, clock::now()).await;
            return Err(error);
        }
    };
    let (run, store) = (&run, &store);
    let start = RunStart { plan, environment, run, store, containment, standing, classified };
    let finished = match start.carry_out(workspace.as_mut(), &mut interrupts, &mut view).await {
        Ok(finished) => finished,
        Err(error) => {
            let _ = store.mark_abandoned(run, &format!("{error:#}"), clock::now()).await;
            let message = plan.leftover_message();
            let finalised = workspace.as_mut().and_then(|workspace| workspace.finalise(&message).ok());
            remove(workspace, finalised.as_ref(), &mut view);
            return Err(error);
        }
    };
    remove(workspace, finished.finalised.as_ref(), &mut view);
    store.close().await;
    Ok(TaskEnd::Finished(Box::new(finished)))
}

/// Admits the run by the route that Pilot chose itself. Where the classifier then raises the route, the run is admitted once
/// more, with the larger reserve.
async fn admit_and_route(
    plan: &mut TaskPlan,
    environment: &Environment,
    (store, run): (&Store, &RunId),
    interrupts: &mut Interrupts,
    view: &mut View,
) -> anyhow::Result<Result<(Standing, Classified), Refused>> {
    let standing = match admit(plan, store, run, view).await? {
        Ok(standing) => standing,
        Err(refused) => return Ok(Err(refused)),
    };
    if !plan.config()?.executor.classifier.enabled {
        return Ok(Ok((standing, Classified::default())));
    }
    let routed = async {
        let classified = classify::classify(plan, environment, (store, run), interrupts, view).await?;
        let before = plan.route.complexity;
        plan.reroute(&classified.answer)?;
        let standing = match plan.route.complexity == before {
            true => Ok(standing),
            false => admit(plan, store, run, view).await?,
        };
        Ok(standing.map(|standing| (standing, classified)))
    };
    let routed: anyhow::Result<Result<_, Refused>> = routed.await;
    if !matches!(routed, Ok(Ok(_))) {
        let _ = store.release(run, clock::now()).await;
    }
    routed
}

/// Removes a workspace whose work is in git; one whose work is not stays.
fn remove(workspace: Option<Workspace>, finalised: Option<&Finalised>, view: &mut View) {
    if let (Some(workspace), Some(finalised)) = (workspace, finalised)
        && let Err(error) = workspace.remove(finalised)
    {
        view.warn(&format!("cannot remove the worktree: {error}; the next start tries again"));
    }
}

/// Finds a way to contain the agent while git makes the worktree.
fn prepare_workspace(
    plan: &TaskPlan,
    intent: Option<Intent>,
    run: &RunId,
    view: &mut View,
) -> anyhow::Result<(Containment, Option<Workspace>)> {
    let (containment, workspace) = std::thread::scope(|scope| {
        let probe = scope.spawn(|| Containment::probe("/proc/self/exe"));
        let workspace = create_workspace(plan, intent, run, view);
        (probe.join(), workspace)
    });
    let containment = containment.map_err(|_| anyhow::anyhow!("the containment probe panicked"))?;
    Ok((containment, workspace?))
}

fn create_workspace(
    plan: &TaskPlan,
    intent: Option<Intent>,
    run: &RunId,
    view: &mut View,
) -> anyhow::Result<Option<Workspace>> {
    let (Some(repository), Some(intent)) = (&plan.repository, intent) else { return Ok(None) };
    let start = plan.start(intent.base())?;
    let start = format!("{} on {}, {start}", plan.job.key, intent.branch().as_str());
    let now = u64::try_from(clock::now().0 / 1_000_000).unwrap_or(0);
    let order = CreateRequest { repository, intent, run: run.as_str(), home: plan.loaded.home.path(), now };
    let created = Workspace::create(&order).or_cannot("or name another branch with --branch")?;
    view.note(&start);
    view.note(&format!("Route: {}.", report::route(&plan.route)));
    Ok(Some(created))
}
