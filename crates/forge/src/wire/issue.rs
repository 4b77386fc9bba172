//! GitHub's JSON of issues.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use serde_json::{Value, json};
use sqlx::SqliteConnection;

use super::{html_url, label, milestone, repo_url, repository, time, user};
use crate::context::Context;
use crate::server::Repo;
use crate::store::{
    IssueRow, LabelRow, MilestoneRow, PullRow, collaborators, ids, issues, labels, milestones, pulls, reviews,
};

/// The rows of other tables that belong to some issues, read at once for all of them.
#[derive(Debug, Default)]
pub(crate) struct Extras {
    labels: HashMap<i64, Vec<LabelRow>>,
    assignees: HashMap<i64, Vec<i64>>,
    milestones: HashMap<i64, MilestoneRow>,
    pulls: HashMap<i64, PullRow>,
    collaborators: HashSet<i64>,
    reviewers: HashMap<i64, Vec<i64>>,
    home: OnceLock<Value>,
}

impl Extras {
    pub(crate) async fn of(
        db: &mut SqliteConnection,
        repo: &Repo,
        rows: impl IntoIterator<Item = &IssueRow>,
    ) -> Result<Extras, sqlx::Error> {
        let rows: Vec<&IssueRow> = rows.into_iter().collect();
        let mut extras = Extras::of_repo(db, repo).await?;
        let all = ids(rows.iter().map(|row| row.id));
        for row in labels::of_issues(db, &all).await? {
            extras.labels.entry(row.issue).or_default().push(row.label);
        }
        for (issue, user) in issues::assignees(db, &all).await? {
            extras.assignees.entry(issue).or_default().push(user);
        }
        let named = ids(rows.iter().filter_map(|row| row.milestone));
        for row in milestones::by_ids(db, &named).await? {
            extras.milestones.insert(row.id, row);
        }
        let requests = ids(rows.iter().filter(|row| row.pull).map(|row| row.id));
        for row in pulls::of_issues(db, &requests).await? {
            extras.pulls.insert(row.issue, row);
        }
        for (issue, user) in reviews::requested(db, &requests).await? {
            extras.reviewers.entry(issue).or_default().push(user);
        }
        Ok(extras)
    }

    /// Only the collaborators of the repository.
    pub(crate) async fn of_repo(db: &mut SqliteConnection, repo: &Repo) -> Result<Extras, sqlx::Error> {
        let people = collaborators::of_repo(db, repo.row.id).await?;
        Ok(Extras { collaborators: people.into_iter().map(|(user, _)| user).collect(), ..Extras::default() })
    }

    /// GitHub's `author_association`.
    pub(crate) fn association(&self, repo: &Repo, user: i64) -> &'static str {
        if user == repo.owner.id {
            "OWNER"
        } else if self.collaborators.contains(&user) {
            "COLLABORATOR"
        } else {
            "NONE"
        }
    }

    /// The JSON of the repository, built once for a list.
    pub(super) fn home(&self, ctx: &Context, repo: &Repo) -> &Value {
        self.home.get_or_init(|| repository(ctx, repo))
    }

    pub(crate) fn labels(&self, issue: i64) -> &[LabelRow] {
        self.labels.get(&issue).map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn people_json(&self, ctx: &Context, issue: i64) -> Vec<Value> {
        let people = self.assignees.get(&issue).map(Vec::as_slice).unwrap_or_default();
        people.iter().map(|id| user(ctx, &ctx.user(*id))).collect()
    }

    pub(super) fn reviewers_json(&self, ctx: &Context, issue: i64) -> Vec<Value> {
        let people = self.reviewers.get(&issue).map(Vec::as_slice).unwrap_or_default();
        people.iter().map(|id| user(ctx, &ctx.user(*id))).collect()
    }

    pub(super) fn labels_json(&self, ctx: &Context, repo: &Repo, issue: i64) -> Vec<Value> {
        self.labels(issue).iter().map(|row| label(ctx, repo, row)).collect()
    }

    pub(super) fn milestone_json(&self, ctx: &Context, repo: &Repo, row: &IssueRow) -> Value {
        let found = row.milestone.and_then(|id| self.milestones.get(&id));
        found.map_or(Value::Null, |row| milestone(ctx, repo, row))
    }
}

/// An issue; a pull request has `pull_request` in addition.
pub(crate) fn issue(ctx: &Context, repo: &Repo, row: &IssueRow, extras: &Extras) -> Value {
    let (api, html) = (repo_url(ctx, repo), html_url(ctx, repo));
    let (number, kind) = (row.number, if row.pull { "pull" } else { "issues" });
    let url = format!("{api}/issues/{number}");
    let assignees = extras.people_json(ctx, row.id);
    let mut json = json!({
        "id": row.id,
        "node_id": format!("I_{}", row.id),
        "url": url,
        "repository_url": api,
        "labels_url": format!("{url}/labels{{/name}}"),
        "comments_url": format!("{url}/comments"),
        "events_url": format!("{url}/events"),
        "timeline_url": format!("{url}/timeline"),
        "html_url": format!("{html}/{kind}/{number}"),
        "number": number,
        "state": row.state,
        "state_reason": row.reason,
        "title": row.title,
        "body": row.body,
        "user": user(ctx, &ctx.user(row.author)),
        "labels": extras.labels_json(ctx, repo, row.id),
        "assignee": assignees.first().cloned().unwrap_or_default(),
        "assignees": assignees,
        "milestone": extras.milestone_json(ctx, repo, row),
        "locked": row.locked,
        "active_lock_reason": null,
        "comments": row.comments,
        "closed_at": time(row.closed),
        "created_at": row.created.iso(),
        "updated_at": row.updated.iso(),
        "closed_by": row.closed_by.map_or(Value::Null, |id| user(ctx, &ctx.user(id))),
        "author_association": extras.association(repo, row.author),
        "reactions": reactions(&url),
        "performed_via_github_app": null,
    });
    if let Some(pull) = extras.pulls.get(&row.id) {
        let page = format!("{html}/pull/{number}");
        json["draft"] = pull.draft.into();
        json["pull_request"] = json!({
            "url": format!("{api}/pulls/{number}"),
            "html_url": page,
            "diff_url": format!("{page}.diff"),
            "patch_url": format!("{page}.patch"),
            "merged_at": time(pull.merged),
        });
    }
    json
}

/// The schema requires reactions; the forge has none.
pub(super) fn reactions(url: &str) -> Value {
    json!({
        "url": format!("{url}/reactions"),
        "total_count": 0, "+1": 0, "-1": 0, "laugh": 0, "hooray": 0, "confused": 0, "heart": 0, "rocket": 0, "eyes": 0,
    })
}
