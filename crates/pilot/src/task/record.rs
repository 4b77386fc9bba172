//! A run's row and log in the store.

use anyhow::Context;
use pilot_core::budget::Charge;
use pilot_core::config::LogLevel;
use pilot_core::outcome::{
    Class, Outcome, StreamFacts, classification_line, final_message_line, stderr_line,
};
use pilot_core::review::Review;
use pilot_core::run::RunResult;
use pilot_exec::workspace::Workspace;
use pilot_store::{LogLine, NewExecution};

use super::report::finish_row;
use super::run::RunStart;
use crate::agent::evidence::EndedSession;
use crate::agent::recover;
use crate::clock;

pub(crate) async fn begin(start: &RunStart<'_>, workspace: Option<&Workspace>) -> anyhow::Result<()> {
    let plan = start.plan;
    let backend = plan.agent.backend.as_str();
    let branch = workspace.map(|workspace| workspace.branch().as_str().to_owned());
    let base = workspace.map(|workspace| workspace.base().as_str().to_owned());
    let place = match (&branch, &base) {
        (Some(branch), Some(base)) => format!(" on {branch} from {base}"),
        (_, _) => String::new(),
    };
    let new = NewExecution {
        id: start.run.clone(),
        task_id: plan.job.key.clone(),
        title: plan.job.title.clone(),
        project_path: plan.project.to_string_lossy().into_owned(),
        started_at: clock::now(),
        backend: backend.to_owned(),
        model: plan.route.model.clone(),
        branch,
        base_sha: base,
        route: serde_json::to_string(&plan.route).ok(),
        owner: recover::this_process(),
    };
    start.store.begin_execution(&new).await.context("store the start of the run")?;
    let line = LogLine::new(clock::now(), LogLevel::Info, "run", format!("started {backend}{place}"));
    start.store.append_logs(start.run, &[line]).await.context("write the run's log")?;
    Ok(())
}

/// Closes the row, with the log lines that users look for.
pub(crate) async fn end(
    start: &RunStart<'_>,
    session: Option<&EndedSession>,
    outcome: &Outcome,
    facts: &StreamFacts,
    result: &RunResult,
    (charge, review): (Option<Charge>, Option<&Review>),
) -> anyhow::Result<()> {
    let now = clock::now();
    let secrets = start.store.secrets();
    let log = |level, line: String| LogLine::new(now, level, "backend", line);
    let mut lines = Vec::new();
    if let Some(class) = outcome.class() {
        lines.push(log(LogLevel::Error, classification_line(class)));
        if let Some(Ok(ended)) = session.map(|session| &session.ended) {
            lines.push(log(LogLevel::Error, stderr_line(&secrets.redact(&ended.stderr.text()))));
        }
        let message = secrets.redact(facts.final_message());
        lines.push(log(LogLevel::Error, final_message_line(&message)));
    }
    let fine = outcome.class().is_none_or(|class| class == Class::NoChanges);
    let level = if fine { LogLevel::Info } else { LogLevel::Error };
    let line = format!("{}: {}", outcome.status().as_str(), outcome.reason());
    lines.push(LogLine::new(now, level, "run", line));
    start.store.append_logs(start.run, &lines).await.context("write the run's log")?;
    let finish = finish_row(result, charge, review, facts, now);
    start.store.finish_execution(start.run, &finish).await.context("store the end of the run")?;
    Ok(())
}
