//! What happened to an issue, and who did it.

use serde::Deserialize;

use super::issue::moment;
use super::user::ActorWire;
use super::{Actor, GithubError, Number, Repo};
use crate::http::Moment;

/// A label that was put on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labelled {
    /// Who did it.
    pub by: Actor,
    /// When.
    pub at: Moment,
}

#[derive(Deserialize)]
struct Wire {
    id: u64,
    event: String,
    actor: Option<ActorWire>,
    created_at: String,
    label: Option<LabelWire>,
}

#[derive(Deserialize)]
struct LabelWire {
    name: String,
}

impl Repo {
    /// Who put a label on an issue last; none when nobody did, or when it was taken off since.
    pub async fn labelled(&self, number: Number, label: &str) -> Result<Option<Labelled>, GithubError> {
        let what = self.doing(&format!("ask who labelled {number}"));
        let request = self.list(&what, &["issues", &number.0.to_string(), "events"], &[])?;
        let events = self.github.pages::<Vec<Wire>, _>(&what, request, |wire| wire.id).await?.items;
        let ours = |wire: &Wire| wire.label.as_ref().is_some_and(|its| its.name.eq_ignore_ascii_case(label));
        let last = events.into_iter().filter(ours).max_by_key(|wire| wire.id);
        let Some(last) = last.filter(|wire| wire.event == "labeled") else { return Ok(None) };
        Ok(Some(Labelled { at: moment(&what, &last.created_at)?, by: last.actor.into() }))
    }
}
