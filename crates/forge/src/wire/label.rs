//! GitHub's JSON of labels.

use serde_json::{Value, json};

use super::repo_url;
use crate::context::Context;
use crate::server::{Repo, percent_encode};
use crate::store::LabelRow;

pub(crate) fn label(ctx: &Context, repo: &Repo, row: &LabelRow) -> Value {
    json!({
        "id": row.id,
        "node_id": format!("LA_{}", row.id),
        "url": format!("{}/labels/{}", repo_url(ctx, repo), percent_encode(&row.name)),
        "name": row.name,
        // Some of GitHub's schemas do not allow null here.
        "description": row.description.as_deref().unwrap_or_default(),
        "color": row.color,
        "default": false,
    })
}
