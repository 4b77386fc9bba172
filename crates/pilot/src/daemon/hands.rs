//! The hands: workers that carry out runs, each in a process of its own, and how each came to its end.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pilot_core::fact::{Gate, RunEnding, Setback, Work};
use pilot_core::name::{Generation, IssueNumber, ProjectId, Sha, TaskKey};
use pilot_core::outcome::{Class, cut};
use pilot_core::task::RunOrder;
use pilot_exec::worker::{Heard, Worker};
use serde_json::Value;
use tokio::sync::{Notify, mpsc};

use super::desk::now;
use super::perform::Ready;
use super::site::Site;
use crate::config::Environment;
use crate::task::worker::{Errand, Line, WORD};

/// The longest reason that is kept.
const LONGEST: usize = 500;

/// A run that is going on.
#[derive(Debug)]
pub(crate) struct Hand {
    pub(crate) generation: Generation,
    stop: Arc<Notify>,
}

impl Hand {
    /// Asks it to end; its work is kept.
    pub(crate) fn stop(&self) {
        self.stop.notify_one();
    }
}

/// All runs that are going on.
pub(crate) type Hands = BTreeMap<(ProjectId, TaskKey), Hand>;

/// A run that is over.
#[derive(Clone, Debug)]
pub(crate) struct Ran {
    pub(crate) project: ProjectId,
    pub(crate) task: TaskKey,
    pub(crate) issue: IssueNumber,
    pub(crate) generation: Generation,
    pub(crate) ending: RunEnding,
}

/// What is heard of a run meanwhile.
#[derive(Debug)]
pub(crate) enum Whisper {
    /// How far it is.
    Progress { task: TaskKey, phase: String, percent: u8 },
    /// It complains.
    Complaint { task: TaskKey, text: String },
}

/// What every worker needs.
#[derive(Clone, Debug)]
pub(crate) struct Bench {
    /// This program.
    pub(crate) program: PathBuf,
    pub(crate) environment: Environment,
    pub(crate) config: Option<PathBuf>,
    pub(crate) whispers: mpsc::UnboundedSender<Whisper>,
}

impl Bench {
    fn errand(&self, site: &Site, order: &RunOrder, ready: &Ready) -> Errand {
        Errand {
            parent: std::process::id(),
            key: order.task.to_string(),
            title: ready.read.issue.title.clone(),
            text: ready.read.text.clone(),
            labels: ready.read.issue.labels.iter().cloned().collect(),
            repo: site.repo.name().to_string(),
            project: site.path.clone(),
            branch: order.branch.to_string(),
            base: ready.base.as_str().to_owned(),
            config: self.config.clone(),
        }
    }

    /// Starts a worker. The future that is given back ends when it does.
    pub(crate) async fn start(
        &self,
        site: &Site,
        order: RunOrder,
        ready: &Ready,
    ) -> (Hand, impl Future<Output = Ran> + Send + use<>) {
        let errand = serde_json::to_vec(&self.errand(site, &order, ready)).unwrap_or_default();
        let program: &Path = &self.program;
        let started = Worker::start(program, &[WORD], self.environment.all(), &errand).await;
        let stop = Arc::new(Notify::new());
        let hand = Hand { generation: order.generation, stop: Arc::clone(&stop) };
        let (whispers, project) = (self.whispers.clone(), site.id.clone());
        let running = async move {
            let ending = match started {
                Ok(worker) => follow(worker, &order.task, &stop, &whispers).await,
                Err(error) => Setback::Lost.ending(&format!("start a worker: {error}"), now()),
            };
            let RunOrder { task, issue, generation, .. } = order;
            Ran { project, task, issue, generation, ending }
        };
        (hand, running)
    }
}

/// Listens to a worker until it ends.
async fn follow(
    mut worker: Worker,
    task: &TaskKey,
    stop: &Notify,
    whispers: &mpsc::UnboundedSender<Whisper>,
) -> RunEnding {
    let mut last = None;
    loop {
        let heard = tokio::select! {
            heard = worker.hear() => heard,
            () = stop.notified() => {
                worker.stop();
                continue;
            }
        };
        match heard {
            Ok(Heard::Line(line)) => match serde_json::from_str(&line) {
                Ok(Line::Progress { phase, percent }) => {
                    let _ = whispers.send(Whisper::Progress { task: task.clone(), phase, percent });
                }
                Ok(line) => last = Some(line),
                Err(_) => {
                    let _ = whispers.send(Whisper::Complaint { task: task.clone(), text: line });
                }
            },
            Ok(Heard::Complaint(text)) => {
                let _ = whispers.send(Whisper::Complaint { task: task.clone(), text });
            }
            Ok(Heard::Ended(code)) => return ending(last, code),
            Err(error) => {
                let words = format!("the worker could not be followed: {error}");
                return Setback::Lost.ending(&words, now());
            }
        }
    }
}

/// How a run ended, from the last line of its worker.
fn ending(last: Option<Line>, code: Option<i32>) -> RunEnding {
    match last {
        Some(Line::Result { result, not_before }) => of_result(&result, not_before),
        Some(Line::Refused { why }) => Setback::Budget.ending(&why, now()),
        Some(Line::Broken { why, passes: false }) => Setback::Setup.ending(&why, now()),
        Some(Line::Broken { why, passes: true }) => Setback::Machine.ending(&why, now()),
        Some(Line::Progress { .. }) | None => {
            let code = code.map_or("by a signal".to_owned(), |code| format!("with code {code}"));
            Setback::Lost.ending(&format!("the worker ended {code} and left no result"), now())
        }
    }
}

fn of_result(result: &Value, not_before: Option<u64>) -> RunEnding {
    let text = |name: &str| result[name].as_str().unwrap_or_default();
    if text("status") == "completed" {
        if let Some(work) = work(result) {
            return RunEnding::Completed(Box::new(work));
        }
        return Setback::NoCommit.ending("the run completed and named no commit", now());
    }
    let class = serde_json::from_value(result["class"].clone()).unwrap_or(Class::Unknown);
    let seconds = not_before.and_then(|seconds| i64::try_from(seconds).ok());
    let again_at = seconds.map(|seconds| pilot_core::time::Timestamp(seconds.saturating_mul(1_000_000)));
    RunEnding::Stopped { class, reason: cut(text("reason"), LONGEST).to_owned(), again_at }
}

/// The work of a run that completed, from its result object.
pub(crate) fn work(result: &Value) -> Option<Work> {
    let sha = |name: &str| Sha::parse(result[name].as_str()?).ok();
    let gates = result["gates"].as_array().map_or(&[][..], Vec::as_slice).iter();
    let gate = |gate: &Value| {
        let result = gate["status"].as_str()?.replace('_', " ");
        Some(Gate { name: gate["name"].as_str()?.to_owned(), result })
    };
    let route = &result["route"];
    let route = route["complexity"].as_str().map(|complexity| match route["model"].as_str() {
        Some(model) => format!("{complexity}, {model}"),
        None => complexity.to_owned(),
    });
    Some(Work {
        sha: sha("commit_sha")?,
        base: sha("base_sha")?,
        gates: gates.filter_map(gate).collect(),
        review: result["review"].as_str().map(str::to_owned),
        route,
        cost_micro_usd: result["usage"]["cost_usd"].as_f64().map(|usd| (usd * 1_000_000.0) as u64),
        files_changed: result["files_changed"].as_u64(),
    })
}
