//! How the core's types are stored in columns.

use pilot_core::fact::{ProjectFacts, TaskFacts};
use pilot_core::feed::FeedEvent;
use pilot_core::id::{Generation, ProjectId, TaskKey};
use pilot_core::run::RunProgress;
use pilot_core::task::{Action, Key, Stage};
use pilot_core::turn::{Entry, ProjectEntry};
use serde::Serialize;

use crate::database::{Transaction, column};
use crate::error::Result;

/// The task of an action, or none for the project's own: stored as an empty text, since NULL equals nothing in a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ActionOf(pub(super) Option<TaskKey>);

impl ActionOf {
    pub(super) fn stored(task: Option<&TaskKey>) -> &str {
        task.map_or("", TaskKey::as_str)
    }
}

column!(ActionOf, String, |raw: String| match raw.as_str() {
    "" => Ok(ActionOf(None)),
    key => TaskKey::parse(key).map(|key| ActionOf(Some(key))),
});
column!(ProjectId, String, ProjectId::try_from);
column!(TaskKey, String, TaskKey::try_from);
column!(Key, String, |raw: String| Key::parse(&raw));
column!(Generation, i64, |raw| u32::try_from(raw).map(Generation));
column!(TaskFacts, String, |raw: String| serde_json::from_str::<TaskFacts>(&raw));
column!(ProjectFacts, String, |raw: String| serde_json::from_str::<ProjectFacts>(&raw));
column!(Stage, String, |raw: String| serde_json::from_str::<Stage>(&raw));
column!(Action, String, |raw: String| serde_json::from_str::<Action>(&raw));
column!(Entry, String, |raw: String| serde_json::from_str::<Entry>(&raw));
column!(FeedEvent, String, |raw: String| serde_json::from_str::<FeedEvent>(&raw));
column!(RunProgress, String, |raw: String| serde_json::from_str::<RunProgress>(&raw));
column!(ProjectEntry, String, |raw: String| serde_json::from_str::<ProjectEntry>(&raw));

pub(super) fn to_json(transaction: &Transaction, value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| transaction.fail(error))
}
