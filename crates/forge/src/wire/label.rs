//! Labels as GitHub shows them.

use serde_json::{Value, json};

use super::repo_url;
use crate::server::{Repo, percent_encode};
use crate::site::Site;
use crate::store::LabelRow;

/// A label.
pub(crate) fn label(site: &Site, repo: &Repo, row: &LabelRow) -> Value {
    json!({
        "id": row.id,
        "node_id": format!("LA_{}", row.id),
        "url": format!("{}/labels/{}", repo_url(site, repo), percent_encode(&row.name)),
        "name": row.name,
        // Some of GitHub's schemas do not take null here.
        "description": row.description.as_deref().unwrap_or_default(),
        "color": row.color,
        "default": false,
    })
}
