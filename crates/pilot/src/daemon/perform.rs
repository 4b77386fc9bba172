//! Actions, queries and polls, carried out: the core says which call is next, the project makes it. Nothing is decided here.

use std::sync::Arc;

use pilot_core::fact::{TaskEvent, TaskFacts};
use pilot_core::id::ProjectId;
use pilot_core::observed::Failure;
use pilot_core::perform::{
    Next, Polled, Report, RunInput, next_poll_step, next_query_step, next_step, run_input,
};
use pilot_core::port::Reply;
use pilot_core::schedule::TaskRef;
use pilot_core::task::{Action, Query};
use pilot_core::time::Timestamp;
use pilot_core::turn::OutboxEntry;

use super::failpoint;
use super::project::OpenProject;

/// An action that was carried out, or not.
#[derive(Clone, Debug)]
pub(crate) struct Performed {
    pub(crate) entry: OutboxEntry,
    pub(crate) report: Report,
    /// For a run that was started: what it begins with.
    pub(crate) input: Option<RunInput>,
}

/// Carries an action out.
pub(crate) async fn perform(project: Arc<OpenProject>, entry: OutboxEntry) -> Performed {
    let lane = entry.key.lane().as_str();
    failpoint::reach(&format!("{lane}-before"));
    let (report, said) = perform_action(&project, &entry.action).await;
    failpoint::reach(&format!("{lane}-done"));
    let input = matches!(entry.action, Action::StartRun(_)).then(|| run_input(said)).flatten();
    Performed { entry, report, input }
}

/// Carries an action out that is in no outbox.
pub(crate) async fn perform_action(project: &OpenProject, action: &Action) -> (Report, Vec<Reply>) {
    make_calls(project, |said: &[Reply]| next_step(action, &project.policy, said)).await
}

/// What the queries of a task found.
#[derive(Clone, Debug)]
pub(crate) struct Queried {
    pub(crate) task: TaskRef,
    pub(crate) found: Vec<(Query, Result<TaskEvent, Failure>)>,
}

/// Runs the queries of a task, one after the other.
pub(crate) async fn run_queries(project: Arc<OpenProject>, task: TaskFacts, queries: Vec<Query>) -> Queried {
    let mut found = Vec::with_capacity(queries.len());
    for query in queries {
        let step = |said: &[Reply]| next_query_step(&query, &task, &project.policy, said);
        let (event, _) = make_calls(&project, step).await;
        found.push((query, event));
    }
    Queried { task: (project.id.clone(), task.key), found }
}

/// Asks a project's tracker what is new.
pub(crate) async fn poll(project: Arc<OpenProject>, since: Timestamp) -> (ProjectId, Polled) {
    let step = |said: &[Reply]| next_poll_step(&project.policy, since, said);
    let (polled, _) = make_calls(&project, step).await;
    (project.id.clone(), polled)
}

/// Makes one call after the other until there is a result.
async fn make_calls<T>(project: &OpenProject, step: impl Fn(&[Reply]) -> Next<T>) -> (T, Vec<Reply>) {
    let mut said: Vec<Reply> = Vec::new();
    loop {
        match step(&said) {
            Next::Call(call) => said.push(project.call(&call).await),
            Next::Done(result) => return (result, said),
        }
    }
}
