//! GitHub's JSON of check suites, check runs and statuses.

use serde_json::{Value, json};

use super::commit::simple_commit;
use super::{html_url, repo_url, repository, time, user};
use crate::context::Context;
use crate::git::Commit;
use crate::server::Repo;
use crate::store::{CheckRow, Pull, StatusRow, SuiteRow};
use crate::timestamp::Timestamp;

/// The app of the forge's own CI.
pub(crate) const CI_APP: &str = "forge-ci";

/// The combined state of a suite's check runs.
#[derive(Clone, Debug)]
pub(crate) struct SuiteState {
    pub(crate) status: &'static str,
    pub(crate) conclusion: Option<String>,
    pub(crate) count: usize,
}

pub(crate) fn app(ctx: &Context, repo: &Repo, name: &str) -> Value {
    // Offset, so that ids of apps and of users differ.
    let id = if name == CI_APP { 1 } else { ctx.users.by_login(name).map_or(2, |user| user.id + 1000) };
    let since = Timestamp(0).iso();
    json!({
        "id": id,
        "slug": name,
        "node_id": format!("A_{id}"),
        "owner": user(ctx, &repo.owner),
        "name": name,
        "description": "",
        "external_url": ctx.url,
        "html_url": format!("{}/apps/{name}", ctx.url),
        "created_at": since,
        "updated_at": since,
        "permissions": {"checks": "write", "contents": "read", "metadata": "read"},
        "events": ["push", "pull_request"],
    })
}

/// A pull request in check runs and suites.
pub(crate) fn minimal_pull(ctx: &Context, repo: &Repo, pull: &Pull) -> Value {
    let api = repo_url(ctx, repo);
    let home = json!({"id": repo.row.id, "url": api, "name": repo.row.name});
    json!({
        "id": pull.issue.id,
        "number": pull.issue.number,
        "url": format!("{api}/pulls/{}", pull.issue.number),
        "head": {"ref": pull.row.head_ref, "sha": pull.row.head_sha, "repo": home},
        "base": {"ref": pull.row.base_ref, "sha": pull.row.base_told, "repo": home},
    })
}

pub(crate) fn check_run(ctx: &Context, repo: &Repo, row: &CheckRow, app_name: &str, pulls: &[Pull]) -> Value {
    let url = format!("{}/check-runs/{}", repo_url(ctx, repo), row.id);
    let page = format!("{}/checks/{}", html_url(ctx, repo), row.id);
    let pulls: Vec<Value> = pulls.iter().map(|pull| minimal_pull(ctx, repo, pull)).collect();
    json!({
        "id": row.id,
        "node_id": format!("CR_{}", row.id),
        "head_sha": row.head_sha,
        "external_id": row.external_id.as_deref().unwrap_or_default(),
        "url": url,
        "html_url": page,
        "details_url": row.details_url.as_deref().unwrap_or(&page),
        "status": row.status,
        "conclusion": row.conclusion,
        "started_at": row.started.unwrap_or(row.visible).iso(),
        "completed_at": time(row.completed),
        "output": {
            "title": row.title,
            "summary": row.summary,
            "text": row.body,
            "annotations_count": 0,
            "annotations_url": format!("{url}/annotations"),
        },
        "name": row.name,
        "check_suite": {"id": row.suite},
        "app": app(ctx, repo, app_name),
        "pull_requests": pulls,
    })
}

/// A check suite without the fields that nested ones lack.
pub(crate) fn suite_core(
    ctx: &Context,
    repo: &Repo,
    row: &SuiteRow,
    state: &SuiteState,
    pulls: &[Pull],
) -> Value {
    let pulls: Vec<Value> = pulls.iter().map(|pull| minimal_pull(ctx, repo, pull)).collect();
    json!({
        "id": row.id,
        "node_id": format!("CS_{}", row.id),
        "head_branch": row.head_branch,
        "head_sha": row.head_sha,
        "status": state.status,
        "conclusion": state.conclusion,
        "url": format!("{}/check-suites/{}", repo_url(ctx, repo), row.id),
        "before": null,
        "after": row.head_sha,
        "pull_requests": pulls,
        "app": app(ctx, repo, &row.app),
        "created_at": row.created.iso(),
        "updated_at": row.updated.iso(),
    })
}

/// The fields of a check suite that nested ones lack.
pub(crate) fn suite_extra(
    ctx: &Context,
    repo: &Repo,
    row: &SuiteRow,
    state: &SuiteState,
    commit: &Commit,
) -> Value {
    json!({
        "latest_check_runs_count": state.count,
        "check_runs_url": format!("{}/check-suites/{}/check-runs", repo_url(ctx, repo), row.id),
        "head_commit": simple_commit(commit),
    })
}

pub(crate) fn check_suite(
    ctx: &Context,
    repo: &Repo,
    row: &SuiteRow,
    state: &SuiteState,
    pulls: &[Pull],
    commit: &Commit,
) -> Value {
    let mut json =
        super::extend(suite_core(ctx, repo, row, state, pulls), suite_extra(ctx, repo, row, state, commit));
    json["repository"] = repository(ctx, repo);
    json
}

pub(crate) fn status(ctx: &Context, repo: &Repo, row: &StatusRow) -> Value {
    let creator = user(ctx, &ctx.user(row.creator));
    json!({
        "url": format!("{}/statuses/{}", repo_url(ctx, repo), row.sha),
        "avatar_url": creator["avatar_url"],
        "id": row.id,
        "node_id": format!("SC_{}", row.id),
        "state": row.state,
        "description": row.description,
        "target_url": row.target_url,
        "context": row.context,
        "created_at": row.created.iso(),
        "updated_at": row.created.iso(),
        "creator": creator,
    })
}
