//! The recorder: an event comes in, the core decides, and everything that follows is written in one transaction.

use std::collections::BTreeMap;
use std::sync::Arc;

use pilot_core::dispatch::{Behind, ProjectLoad, queued_behind};
use pilot_core::fact::TaskFacts;
use pilot_core::id::{Generation, HomeId, InstanceId, ProjectId, TaskKey};
use pilot_core::policy::Mode;
use pilot_core::progress::words::phase;
use pilot_core::run::RunProgress;
use pilot_core::schedule::{Record, Recorded, TaskRef};
use pilot_core::task::Stage;
use pilot_core::time::Timestamp;
use pilot_core::turn::{Applied, ProjectInput, TaskChange, project_turn, turn};
use pilot_core::words;
use pilot_store::Store;

use super::failpoint;
use super::feed::Feed;
use super::log::Log;
use super::project::OpenProject;
use crate::clock;

/// How often a turn is decided again because another process wrote meanwhile.
const TRIES: u32 = 20;

/// More fixes of fixes than any configuration allows.
const FIXES: u32 = 100;

/// Where decisions are written.
pub(crate) struct Recorder {
    pub(crate) store: Store,
    pub(crate) me: InstanceId,
    pub(crate) home: HomeId,
    pub(crate) log: Log,
    pub(crate) open_projects: BTreeMap<ProjectId, Arc<OpenProject>>,
    pub(crate) feed: Feed,
}

/// What a queued task waits for, if that is another task.
pub(crate) async fn read_behind(
    store: &Store,
    mode: Mode,
    facts: &TaskFacts,
    stage: &Stage,
) -> anyhow::Result<Option<Behind>> {
    let project = store.load_project(&facts.project).await?.facts;
    Ok(queued_behind(&ProjectLoad { project: &project, mode }, facts, stage, clock::now()))
}

/// The stage of a task; of one that a fix continues, the stage of that fix.
pub(crate) async fn follow(
    store: &Store,
    project: &ProjectId,
    task: &TaskKey,
) -> anyhow::Result<Option<(TaskFacts, Stage)>> {
    let mut at = task.clone();
    for _ in 0..FIXES {
        let loaded = store.load_task(project, &at).await?;
        match loaded.stage {
            Some(Stage::Continued { by }) => at = by,
            Some(stage) => return Ok(Some((loaded.task, stage))),
            None => return Ok(None),
        }
    }
    Ok(None)
}

impl Recorder {
    /// Decides and writes what follows from an event of a task, or from time having passed.
    pub(crate) async fn record(&mut self, record: &Record) -> anyhow::Result<Recorded> {
        let Record { task: (project, task), input, .. } = record;
        let Some(opened) = self.open_projects.get(project).cloned() else { return Ok(Recorded::unknown()) };
        for _ in 0..TRIES {
            let now = clock::now();
            let loaded = self.store.load_task(project, task).await?;
            if loaded.task_version == 0 && record.needs_task() {
                return Ok(Recorded::unknown());
            }
            let decided = turn(&loaded, input.as_ref(), &opened.policy, now);
            let mut applied = Applied::Written;
            if decided.writes() {
                failpoint::reach("turn-before");
                applied = self.store.apply(&decided, &self.me, now).await?;
                if applied == Applied::Stale {
                    continue;
                }
                failpoint::reach("turn-after");
            }
            if let Some(change) = decided.task.as_ref().filter(|_| applied == Applied::Written) {
                self.log_change(change, &opened);
            }
            return Ok(Recorded::new(&decided, applied));
        }
        anyhow::bail!("save task {task} of {project}: gave up after {TRIES} conflicting writes")
    }

    fn log_change(&mut self, change: &TaskChange, opened: &OpenProject) {
        let (key, references) = (change.facts.key.as_str(), &opened.policy.references);
        for entry in &change.log {
            if let Some(event) = &entry.event {
                self.log.debug(key, &words::task_event(event, references));
            }
            if let Some(stage) = &entry.stage {
                self.log.info(key, &words::stage(stage, references));
            }
        }
    }

    /// The same for a project. Returns when time alone changes something; none where nothing could be decided.
    pub(crate) async fn record_project(
        &mut self,
        project: &ProjectId,
        input: Option<&ProjectInput>,
    ) -> anyhow::Result<Option<Option<Timestamp>>> {
        let Some(opened) = self.open_projects.get(project).cloned() else { return Ok(None) };
        for _ in 0..TRIES {
            let now = clock::now();
            let loaded = self.store.load_project(project).await?;
            let decided = project_turn(&loaded, input, &opened.policy, now);
            if decided.writes() {
                failpoint::reach("turn-before");
                match self.store.apply(&decided, &self.me, now).await? {
                    Applied::Stale => continue,
                    Applied::Fenced | Applied::Taken => return Ok(None),
                    Applied::Written => {}
                }
                failpoint::reach("turn-after");
                for entry in &decided.project.log {
                    self.log.info(&opened.name, &words::project_event(&entry.event));
                }
            }
            return Ok(Some(decided.project.wake));
        }
        anyhow::bail!("save project {project}: gave up after {TRIES} conflicting writes")
    }

    /// A run has come this far.
    pub(crate) fn note_progress(&mut self, task: TaskRef, generation: Generation, progress: RunProgress) {
        let words = format!("{} {}%", phase(&progress.phase), progress.percent);
        self.log.debug(task.1.as_str(), &words);
        self.feed.note_progress(task, generation, progress);
    }

    /// Writes the progress of runs, and sends what is new to those who listen.
    pub(crate) async fn publish_feed(&mut self) -> anyhow::Result<()> {
        self.feed.write_progress(&self.store, clock::now()).await?;
        self.feed.publish(&self.store).await?;
        Ok(())
    }
}
