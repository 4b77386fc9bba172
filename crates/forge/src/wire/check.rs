//! Check suites, check runs and statuses as GitHub shows them.

use serde_json::{Value, json};

use super::commit::simple_commit;
use super::{html_url, repo_url, repository, time, user};
use crate::git::Commit;
use crate::server::Repo;
use crate::site::Site;
use crate::store::{CheckRow, Pull, StatusRow, SuiteRow};
use crate::timestamp::Timestamp;

/// The app that the forge's own CI is.
pub(crate) const CI_APP: &str = "forge-ci";

/// What a suite says as a whole, which its check runs decide.
#[derive(Clone, Debug)]
pub(crate) struct SuiteState {
    pub(crate) status: &'static str,
    pub(crate) conclusion: Option<String>,
    pub(crate) count: usize,
}

/// An app, by its name.
pub(crate) fn app(site: &Site, repo: &Repo, name: &str) -> Value {
    // Ids of apps begin where nobody looks for those of users.
    let id = if name == CI_APP { 1 } else { site.people.by_login(name).map_or(2, |user| user.id + 1000) };
    let since = Timestamp(0).iso();
    json!({
        "id": id,
        "slug": name,
        "node_id": format!("A_{id}"),
        "owner": user(site, &repo.owner),
        "name": name,
        "description": "",
        "external_url": site.url,
        "html_url": format!("{}/apps/{name}", site.url),
        "created_at": since,
        "updated_at": since,
        "permissions": {"checks": "write", "contents": "read", "metadata": "read"},
        "events": ["push", "pull_request"],
    })
}

/// A pull request as checks name it.
pub(crate) fn minimal_pull(site: &Site, repo: &Repo, pull: &Pull) -> Value {
    let api = repo_url(site, repo);
    let home = json!({"id": repo.row.id, "url": api, "name": repo.row.name});
    json!({
        "id": pull.issue.id,
        "number": pull.issue.number,
        "url": format!("{api}/pulls/{}", pull.issue.number),
        "head": {"ref": pull.row.head_ref, "sha": pull.row.head_sha, "repo": home},
        "base": {"ref": pull.row.base_ref, "sha": pull.row.base_told, "repo": home},
    })
}

/// A check run.
pub(crate) fn check_run(site: &Site, repo: &Repo, row: &CheckRow, app_name: &str, pulls: &[Pull]) -> Value {
    let url = format!("{}/check-runs/{}", repo_url(site, repo), row.id);
    let page = format!("{}/checks/{}", html_url(site, repo), row.id);
    let pulls: Vec<Value> = pulls.iter().map(|pull| minimal_pull(site, repo, pull)).collect();
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
        "app": app(site, repo, app_name),
        "pull_requests": pulls,
    })
}

/// A check suite, without what only the API shows.
pub(crate) fn suite_core(
    site: &Site,
    repo: &Repo,
    row: &SuiteRow,
    state: &SuiteState,
    pulls: &[Pull],
) -> Value {
    let pulls: Vec<Value> = pulls.iter().map(|pull| minimal_pull(site, repo, pull)).collect();
    json!({
        "id": row.id,
        "node_id": format!("CS_{}", row.id),
        "head_branch": row.head_branch,
        "head_sha": row.head_sha,
        "status": state.status,
        "conclusion": state.conclusion,
        "url": format!("{}/check-suites/{}", repo_url(site, repo), row.id),
        "before": null,
        "after": row.head_sha,
        "pull_requests": pulls,
        "app": app(site, repo, &row.app),
        "created_at": row.created.iso(),
        "updated_at": row.updated.iso(),
    })
}

/// What a suite has in its own right, beside its commit.
pub(crate) fn suite_extra(
    site: &Site,
    repo: &Repo,
    row: &SuiteRow,
    state: &SuiteState,
    commit: &Commit,
) -> Value {
    json!({
        "latest_check_runs_count": state.count,
        "check_runs_url": format!("{}/check-suites/{}/check-runs", repo_url(site, repo), row.id),
        "head_commit": simple_commit(commit),
    })
}

/// A check suite.
pub(crate) fn check_suite(
    site: &Site,
    repo: &Repo,
    row: &SuiteRow,
    state: &SuiteState,
    pulls: &[Pull],
    commit: &Commit,
) -> Value {
    let mut json =
        super::extend(suite_core(site, repo, row, state, pulls), suite_extra(site, repo, row, state, commit));
    json["repository"] = repository(site, repo);
    json
}

/// A commit status.
pub(crate) fn status(site: &Site, repo: &Repo, row: &StatusRow) -> Value {
    let creator = user(site, &site.user(row.creator));
    json!({
        "url": format!("{}/statuses/{}", repo_url(site, repo), row.sha),
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
