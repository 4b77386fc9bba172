//! The feed: what happens, one numbered event after the other, for screens, chats, webhooks and logs. Events are stored, so a
//! reader that was away continues after the last number it saw.

use serde::{Deserialize, Serialize};

use crate::fact::ProjectEvent;
use crate::id::{ProjectId, TaskKey};
use crate::run::RunProgress;
use crate::task::Stage;
use crate::time::Timestamp;
use crate::turn::Turn;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FeedEntry {
    /// Counts up, without gaps.
    pub seq: u64,
    pub at: Timestamp,
    pub event: FeedEvent,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FeedEvent {
    Stage {
        project: ProjectId,
        task: TaskKey,
        title: String,
        stage: Stage,
    },
    /// Something happened to a project.
    Project {
        project: ProjectId,
        event: ProjectEvent,
    },
    /// The agent of a task has come this far.
    Progress {
        project: ProjectId,
        task: TaskKey,
        progress: RunProgress,
    },
}

/// What readers of the feed learn from a turn.
pub fn turn_events(turn: &Turn) -> Vec<FeedEvent> {
    let project = turn.project_id();
    let of_project = turn
        .project
        .log
        .iter()
        .map(|entry| FeedEvent::Project { project: project.clone(), event: entry.event.clone() });
    let of_task = turn.task.iter().filter(|change| change.moved).map(|change| FeedEvent::Stage {
        project: project.clone(),
        task: change.facts.key.clone(),
        title: change.facts.title().to_owned(),
        stage: change.stage.clone(),
    });
    of_project.chain(of_task).collect()
}
