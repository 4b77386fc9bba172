//! Workers: processes that carry out runs, and how each ended.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pilot_core::fact::{RunEnding, RunFailure};
use pilot_core::id::Generation;
use pilot_core::perform::RunInput;
use pilot_core::run::{RunProgress, WorkerLine, run_ending};
use pilot_core::schedule::TaskRef;
use pilot_core::task::RunRequest;
use pilot_core::time::Timestamp;
use pilot_exec::worker::{Worker, WorkerOutput};
use pilot_store::RunId;
use tokio::sync::Notify;

use super::inbox::{Inbound, Inbox};
use super::project::OpenProject;
use crate::agent::worker::{WORD, WorkRequest};
use crate::clock;
use crate::config::Environment;
use crate::task::control::{Control, RunCommand};

/// A run that is going on.
#[derive(Debug)]
pub(crate) struct WorkerHandle {
    pub(crate) generation: Generation,
    stop: Arc<Notify>,
    /// The id of the run, known once it has paused.
    pub(crate) run: Option<RunId>,
}

impl WorkerHandle {
    /// Tells it to continue after a pause. Returns whether it is there to be told.
    pub(crate) fn resume(&self, home: &Path) -> std::io::Result<bool> {
        self.run.as_ref().map_or(Ok(false), |run| Control::give(home, run, RunCommand::Resume))
    }

    /// Asks it to end; its work is kept.
    pub(crate) fn stop(&self) {
        self.stop.notify_one();
    }
}

/// All runs that are going on.
pub(crate) type Workers = BTreeMap<TaskRef, WorkerHandle>;

/// A run that is over.
#[derive(Clone, Debug)]
pub(crate) struct WorkerExited {
    pub(crate) task: TaskRef,
    pub(crate) generation: Generation,
    pub(crate) ending: RunEnding,
}

/// What a worker reports before it ends.
#[derive(Debug)]
pub(crate) enum WorkerUpdate {
    Progress { task: TaskRef, generation: Generation, progress: RunProgress },
    Paused { task: TaskRef, generation: Generation, run: Option<RunId>, why: String, until: Timestamp },
    Resumed { task: TaskRef, generation: Generation },
    Complaint { task: TaskRef, text: String },
}

/// What every worker needs.
#[derive(Clone, Debug)]
pub(crate) struct WorkerLauncher {
    pub(crate) program: PathBuf,
    pub(crate) environment: Environment,
    pub(crate) config: Option<PathBuf>,
    /// Pilot's home.
    pub(crate) home: PathBuf,
    pub(crate) inbox: Inbox,
}

impl WorkerLauncher {
    fn request(&self, opened: &OpenProject, request: &RunRequest, input: &RunInput) -> WorkRequest {
        WorkRequest {
            parent: std::process::id(),
            key: request.task.to_string(),
            title: input.read.ticket.title.clone(),
            text: input.read.text.clone(),
            labels: input.read.ticket.labels.iter().cloned().collect(),
            co_author: opened.co_author(&input.read.ticket.author),
            tracker: opened.tracked_by.clone(),
            project: opened.path.clone(),
            branch: request.branch.to_string(),
            base: input.base.as_str().to_owned(),
            config: self.config.clone(),
        }
    }

    /// Starts a worker. The future that is given back ends when it does.
    pub(crate) async fn start(
        &self,
        opened: &OpenProject,
        request: RunRequest,
        input: &RunInput,
    ) -> (WorkerHandle, impl Future<Output = WorkerExited> + Send + use<>) {
        let line = serde_json::to_vec(&self.request(opened, &request, input)).unwrap_or_default();
        let program: &Path = &self.program;
        let started = Worker::start(program, &[WORD], self.environment.all(), &line).await;
        let stop = Arc::new(Notify::new());
        let handle = WorkerHandle { generation: request.generation, stop: Arc::clone(&stop), run: None };
        let (inbox, task) = (self.inbox.clone(), (opened.id.clone(), request.task.clone()));
        let running = async move {
            let generation = request.generation;
            let ending = match started {
                Ok(worker) => follow(worker, &task, generation, &stop, &inbox).await,
                Err(error) => RunFailure::Lost.ending(&format!("start a worker: {error}"), clock::now()),
            };
            WorkerExited { task, generation, ending }
        };
        (handle, running)
    }
}

/// Listens to a worker until it ends.
async fn follow(
    mut worker: Worker,
    task: &TaskRef,
    generation: Generation,
    stop: &Notify,
    inbox: &Inbox,
) -> RunEnding {
    let mut last = None;
    loop {
        let output = tokio::select! {
            output = worker.next_output() => output,
            () = stop.notified() => {
                worker.stop();
                continue;
            }
        };
        let complaint = match output {
            Ok(WorkerOutput::Line(line)) => match serde_json::from_str(&line) {
                Ok(WorkerLine::Progress(progress)) => {
                    let update = WorkerUpdate::Progress { task: task.clone(), generation, progress };
                    inbox.offer(Inbound::Worker(update));
                    continue;
                }
                Ok(WorkerLine::Paused { run, why, until }) => {
                    let until = Timestamp(i64::try_from(until).unwrap_or(0).saturating_mul(1_000_000));
                    let (task, run) = (task.clone(), run.parse().ok());
                    let update = WorkerUpdate::Paused { task, generation, run, why, until };
                    inbox.send(Inbound::Worker(update)).await;
                    continue;
                }
                Ok(WorkerLine::Resumed) => {
                    let update = WorkerUpdate::Resumed { task: task.clone(), generation };
                    inbox.send(Inbound::Worker(update)).await;
                    continue;
                }
                Ok(WorkerLine::Complaint { text }) => text,
                Ok(line) => {
                    last = Some(line);
                    continue;
                }
                Err(_) => line,
            },
            Ok(WorkerOutput::Complaint(text)) => text,
            Ok(WorkerOutput::Ended(code)) => return run_ending(last.as_ref(), code, clock::now()),
            Err(error) => {
                let words = format!("the worker could not be followed: {error}");
                return RunFailure::Lost.ending(&words, clock::now());
            }
        };
        inbox.send(Inbound::Worker(WorkerUpdate::Complaint { task: task.clone(), text: complaint })).await;
    }
}
