//! A run's row and log in the store, from its begin to its end.

use anyhow::Context;
use pilot_core::outcome::{
    Class, Outcome, StreamFacts, classification_line, final_message_line, stderr_line,
};
use pilot_store::{Level, LogLine, NewExecution, Owner};

use super::evidence::Session;
use super::life::Life;
use super::recover;
use super::report::TaskResult;
use crate::clock;

/// Writes down that the run begins.
pub(crate) async fn begin(life: &Life<'_>, branch: Option<&str>, base: Option<&str>) -> anyhow::Result<()> {
    let (plan, pid) = (life.plan, std::process::id());
    let backend = plan.agent.kind.as_str();
    let new = NewExecution {
        id: life.run.clone(),
        task_id: plan.job.key.clone(),
        title: plan.job.title.clone(),
        project_path: plan.project.to_string_lossy().into_owned(),
        started_at: clock::now(),
        backend: backend.to_owned(),
        model: plan.route.model.clone(),
        branch: branch.map(str::to_owned),
        base_sha: base.map(str::to_owned),
        route: serde_json::to_string(&plan.route).ok(),
        owner: Owner { pid, started: recover::started(pid) },
    };
    life.store.begin_execution(&new).await.context("write the run down")?;
    let place = match (branch, base) {
        (Some(branch), Some(base)) => format!(" on {branch} from {base}"),
        (_, _) => String::new(),
    };
    let line = LogLine::new(clock::now(), Level::Info, "run", format!("started {backend}{place}"));
    life.store.append_logs(life.run, &[line]).await.context("write the run's log")?;
    Ok(())
}

/// Writes down how it ended, with the lines people look for.
pub(crate) async fn end(
    life: &Life<'_>,
    session: Option<&Session>,
    outcome: &Outcome,
    told: &StreamFacts,
    result: &TaskResult,
) -> anyhow::Result<()> {
    let now = clock::now();
    let secrets = life.store.secrets();
    let log = |level, line: String| LogLine::new(now, level, "backend", line);
    let mut lines = Vec::new();
    if let Some(class) = outcome.class() {
        lines.push(log(Level::Error, classification_line(class)));
        if let Some(Ok(ended)) = session.map(|session| &session.ended) {
            lines.push(log(Level::Error, stderr_line(&secrets.redact(&ended.stderr.text()))));
        }
        let message = secrets.redact(told.final_message());
        lines.push(log(Level::Error, final_message_line(&message)));
    }
    let fine = outcome.class().is_none_or(|class| class == Class::NoChanges);
    let level = if fine { Level::Info } else { Level::Error };
    let line = format!("{}: {}", outcome.status().as_str(), outcome.reason());
    lines.push(LogLine::new(now, level, "run", line));
    life.store.append_logs(life.run, &lines).await.context("write the run's log")?;
    let finish = result.finish(now, told);
    life.store.finish_execution(life.run, &finish).await.context("end the run")?;
    Ok(())
}
