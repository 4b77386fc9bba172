//! The desk: what happened comes in, the core decides, and everything that follows is written down at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use pilot_core::fact::{Happened, TaskFacts};
use pilot_core::name::{Generation, HomeId, InstanceId, IssueNumber, ProjectId, TaskKey};
use pilot_core::seen::{Failure, FailureKind};
use pilot_core::task::{RunOrder, Stage};
use pilot_core::time::Timestamp;
use pilot_core::turn::{Applied, Input, ProjectInput, TaskChange, project_turn, turn};
use pilot_core::words;
use pilot_store::Store;

use super::failpoint;
use super::log::Log;
use super::site::Site;
use super::watch::{Seen, Watcher};
use crate::clock;

/// How often a turn is taken again because somebody else wrote meanwhile.
const TRIES: u32 = 20;

/// More fixes of fixes than anybody configures.
const FIXES: u32 = 100;

/// A task: its project and its issue.
pub(crate) type Subject = (ProjectId, IssueNumber);

/// Where decisions are written.
pub(crate) struct Desk {
    pub(crate) store: Store,
    pub(crate) me: InstanceId,
    pub(crate) home: HomeId,
    pub(crate) log: Log,
    pub(crate) sites: BTreeMap<ProjectId, Arc<Site>>,
    /// When each task is to be looked at.
    pub(crate) wakes: BTreeMap<Subject, Timestamp>,
    /// When each project is.
    pub(crate) project_wakes: BTreeMap<ProjectId, Timestamp>,
    pub(crate) watcher: Watcher,
}

/// What follows outside of the store.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) applied: Applied,
    /// A run that is to begin.
    pub(crate) run: Option<RunOrder>,
    /// A run that is to stop.
    pub(crate) stop: Option<(TaskKey, Generation)>,
}

impl Told {
    fn nothing(applied: Applied) -> Told {
        Told { applied, run: None, stop: None }
    }
}

/// The time of day.
pub(crate) fn now() -> Timestamp {
    Timestamp(clock::now().0)
}

/// Where the task of an issue stands; one that a fix goes on with stands where that does.
pub(crate) async fn follow(
    store: &Store,
    project: &ProjectId,
    issue: IssueNumber,
) -> anyhow::Result<Option<(TaskFacts, Stage)>> {
    let mut at = issue;
    for _ in 0..FIXES {
        let loaded = store.load_task(project, at).await?;
        match loaded.stage {
            Some(Stage::Continued { by }) => at = by,
            Some(stage) => return Ok(Some((loaded.task, stage))),
            None => return Ok(None),
        }
    }
    Ok(None)
}

impl Desk {
    /// Something happened to a task, or time passed.
    pub(crate) async fn tell(
        &mut self,
        project: &ProjectId,
        issue: IssueNumber,
        input: Option<&Input>,
    ) -> anyhow::Result<Told> {
        let Some(site) = self.sites.get(project).cloned() else { return Ok(Told::nothing(Applied::Stale)) };
        for _ in 0..TRIES {
            let now = now();
            let loaded = self.store.load_task(project, issue).await?;
            if loaded.task_version == 0 && input.is_none() {
                return Ok(Told::nothing(Applied::Written));
            }
            let decided = turn(&loaded, input, &site.policy, now);
            if decided.writes() {
                failpoint::reach("turn-before");
                match self.store.apply(&decided, &self.me, now).await? {
                    Applied::Written => {}
                    Applied::Stale => continue,
                    refused @ (Applied::Fenced | Applied::Taken) => return Ok(Told::nothing(refused)),
                }
                failpoint::reach("turn-after");
            }
            if let Some(wake) = decided.project.wake {
                self.project_wakes.insert(project.clone(), wake);
            }
            return Ok(match &decided.task {
                Some(change) => self.written(project, change),
                None => Told::nothing(Applied::Written),
            });
        }
        anyhow::bail!("write what happened to {project} #{}: others write all the time", issue.0)
    }

    fn written(&mut self, project: &ProjectId, change: &TaskChange) -> Told {
        let key = &change.facts.key;
        for entry in &change.log {
            let what = entry.happened.as_ref().map(words::happened);
            if let Some(what) = &what {
                self.log.debug(key.as_str(), what);
            }
            if let Some(stage) = &entry.stage {
                self.log.info(key.as_str(), &words::stage(stage));
            }
        }
        if change.moved {
            self.watcher.see(&Seen::Stage { facts: &change.facts, stage: &change.stage });
        }
        let subject = (project.clone(), change.facts.number);
        match change.wake {
            Some(wake) => self.wakes.insert(subject, wake),
            None => self.wakes.remove(&subject),
        };
        let stop = if let Stage::Stopping { generation, .. } = &change.stage {
            Some((key.clone(), *generation))
        } else {
            None
        };
        Told { applied: Applied::Written, run: change.run.clone(), stop }
    }

    /// Writes down what came of an action of a task's. When its claim is over, the action is given back at least.
    pub(crate) async fn settle(
        &mut self,
        project: &ProjectId,
        issue: IssueNumber,
        input: &Input,
    ) -> anyhow::Result<Told> {
        let told = self.tell(project, issue, Some(input)).await?;
        let (Applied::Fenced, Some(key)) = (told.applied, &input.settles) else { return Ok(told) };
        let failure = Failure::new(FailureKind::Interrupted, "the claim is over");
        let happened = Happened::Failed { key: key.clone(), failure };
        self.tell(project, issue, Some(&Input { happened, settles: Some(key.clone()) })).await
    }

    /// Something happened to a project, or time passed.
    pub(crate) async fn tell_project(
        &mut self,
        project: &ProjectId,
        input: Option<&ProjectInput>,
    ) -> anyhow::Result<()> {
        let Some(site) = self.sites.get(project).cloned() else { return Ok(()) };
        for _ in 0..TRIES {
            let now = now();
            let loaded = self.store.load_project(project).await?;
            let decided = project_turn(&loaded, input, &site.policy, now);
            match decided.project.wake {
                Some(wake) => self.project_wakes.insert(project.clone(), wake),
                None => self.project_wakes.remove(project),
            };
            if !decided.writes() {
                return Ok(());
            }
            failpoint::reach("turn-before");
            match self.store.apply(&decided, &self.me, now).await? {
                Applied::Stale => {}
                Applied::Written => {
                    failpoint::reach("turn-after");
                    for entry in &decided.project.log {
                        self.log.info(&site.name, &words::project_happened(&entry.happened));
                        self.watcher.see(&Seen::Project { happened: &entry.happened });
                    }
                    return Ok(());
                }
                Applied::Fenced | Applied::Taken => return Ok(()),
            }
        }
        anyhow::bail!("write what happened to {project}: others write all the time")
    }
}
