//! The worker: one task of the daemon in a process of its own, so that an agent cannot hurt the daemon, and the worker ends
//! with it.

use std::io::Read;
use std::process::ExitCode;

use pilot_core::run::WorkerLine;
use pilot_exec::worker;
use pilot_store::RunId;

use super::job::{Job, JobKind};
use super::plan::TaskPlan;
use super::run::FinishedRun;
use super::view::View;
use super::{TaskEnd, carry_out};
use crate::agent::worker::WorkRequest;
use crate::clock;
use crate::commands::task::TaskArgs;
use crate::config::{ConfigSources, Environment};
use crate::stdout;

/// Carries out the request on standard input.
pub(crate) fn run() -> ExitCode {
    let line = read_request().and_then(|request| carry(&request)).unwrap_or_else(|error| {
        WorkerLine::Broken { why: format!("{error:#}"), passes: !crate::is_wrong_use(&error) }
    });
    match print_line(&line) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

pub(super) fn print_line(line: &WorkerLine) -> std::io::Result<()> {
    stdout::print_line(serde_json::to_string(line)?)
}

fn read_request() -> anyhow::Result<WorkRequest> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let request: WorkRequest = serde_json::from_str(&text)?;
    worker::bind(request.parent)?;
    Ok(request)
}

fn carry(request: &WorkRequest) -> anyhow::Result<WorkerLine> {
    let environment = Environment::of_this_process();
    let args = TaskArgs { project: Some(request.project.clone()), json: true, ..TaskArgs::default() };
    let job = Job {
        key: request.key.clone(),
        title: request.title.clone(),
        text: format!("{}\n\n{}", request.title, request.text),
        labels: request.labels.clone(),
        kind: JobKind::Change,
        branch: Some(request.branch.clone()),
        base: Some(request.base.clone()),
        continues: true,
        issue_of: Some(request.tracker.clone()),
    };
    let mut plan = TaskPlan::make(&args, job, ConfigSources::new(&environment, request.config.as_deref()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let run = RunId::generate(clock::now());
    Ok(match runtime.block_on(carry_out(&mut plan, &environment, run, View::reporting()))? {
        TaskEnd::Refused(refused) => WorkerLine::Refused { shortage: refused.shortage },
        TaskEnd::Finished(run) => {
            let FinishedRun { result, not_before, shortage, .. } = *run;
            WorkerLine::Result { result: Box::new(result), not_before, shortage }
        }
    })
}
