//! How the core's types stand in a column.

use pilot_core::fact::{ProjectFacts, TaskFacts};
use pilot_core::name::{Generation, ProjectId, TaskKey};
use pilot_core::task::{Action, Key, Stage};
use pilot_core::time::Timestamp;
use pilot_core::turn::{Entry, ProjectEntry};
use serde::Serialize;
use sqlx::error::BoxDynError;

use crate::column::column;

/// The task an action is of, or nothing for the project's own: an empty text, since NULL equals nothing in a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Whose(pub(super) Option<TaskKey>);

impl Whose {
    /// As it is stored.
    pub(super) fn stored(task: Option<&TaskKey>) -> &str {
        task.map_or("", TaskKey::as_str)
    }
}

column!(Whose, String, |raw| match raw.as_str() {
    "" => Ok(Whose(None)),
    key => TaskKey::parse(key).map(|key| Whose(Some(key))),
});
column!(ProjectId, String, ProjectId::try_from);
column!(TaskKey, String, TaskKey::try_from);
column!(Key, String, |raw| Ok::<_, BoxDynError>(Key::stored(raw)));
column!(Generation, i64, |raw| u32::try_from(raw).map(Generation));
column!(Timestamp, i64, |raw| Ok::<_, BoxDynError>(Timestamp(raw)));
column!(TaskFacts, String, |raw| serde_json::from_str::<TaskFacts>(&raw));
column!(ProjectFacts, String, |raw| serde_json::from_str::<ProjectFacts>(&raw));
column!(Stage, String, |raw| serde_json::from_str::<Stage>(&raw));
column!(Action, String, |raw| serde_json::from_str::<Action>(&raw));
column!(Entry, String, |raw| serde_json::from_str::<Entry>(&raw));
column!(ProjectEntry, String, |raw| serde_json::from_str::<ProjectEntry>(&raw));

/// A value of the core as it is stored.
pub(super) fn json(value: &impl Serialize) -> Result<String, sqlx::Error> {
    serde_json::to_string(value).map_err(|error| sqlx::Error::Encode(error.into()))
}
