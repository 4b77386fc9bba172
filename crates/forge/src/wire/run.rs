//! GitHub's JSON of workflow runs and jobs.

use serde_json::{Value, json};

use super::check::{CI_APP, minimal_pull};
use super::commit::simple_commit;
use super::{html_url, repo_url, repository, time, user};
use crate::context::Context;
use crate::git::Commit;
use crate::server::Repo;
use crate::store::{CheckRow, Pull, RunRow};

/// The id and path of the only workflow.
pub(crate) const WORKFLOW: i64 = 1;
const PATH: &str = ".pilot/ci.sh";

/// The name of the workflow, its job and its check run.
pub(crate) const CI_NAME: &str = "ci";

pub(crate) fn workflow(ctx: &Context, repo: &Repo) -> Value {
    let html = html_url(ctx, repo);
    json!({
        "id": WORKFLOW,
        "node_id": format!("W_{WORKFLOW}"),
        "name": CI_NAME,
        "path": PATH,
        "state": "active",
        "created_at": repo.row.created.iso(),
        "updated_at": repo.row.created.iso(),
        "url": format!("{}/actions/workflows/{WORKFLOW}", repo_url(ctx, repo)),
        "html_url": format!("{html}/blob/{}/{PATH}", repo.row.default_branch),
        "badge_url": format!("{html}/workflows/{CI_NAME}/badge.svg"),
    })
}

pub(crate) fn workflow_run(
    ctx: &Context,
    repo: &Repo,
    row: &RunRow,
    pulls: &[Pull],
    commit: Option<&Commit>,
) -> Value {
    let api = repo_url(ctx, repo);
    let url = format!("{api}/actions/runs/{}", row.id);
    let actor = user(ctx, &ctx.user(row.actor));
    let pulls: Vec<Value> = pulls.iter().map(|pull| minimal_pull(ctx, repo, pull)).collect();
    let previous = (row.attempt > 1).then(|| format!("{url}/attempts/{}", row.attempt - 1));
    let home = repository_lite(ctx, repo);
    json!({
        "id": row.id,
        "name": CI_NAME,
        "node_id": format!("WFR_{}", row.id),
        "head_branch": row.head_branch,
        "head_sha": row.head_sha,
        "path": PATH,
        "display_title": row.title,
        "run_number": row.number,
        "run_attempt": row.attempt,
        "event": row.event,
        "status": row.status,
        "conclusion": row.conclusion,
        "workflow_id": WORKFLOW,
        "check_suite_id": row.suite,
        "check_suite_node_id": format!("CS_{}", row.suite),
        "url": url,
        "html_url": format!("{}/actions/runs/{}", html_url(ctx, repo), row.id),
        "pull_requests": pulls,
        "created_at": row.created.iso(),
        "updated_at": row.updated.iso(),
        "run_started_at": row.started.unwrap_or(row.visible).iso(),
        "actor": actor,
        "triggering_actor": actor,
        "jobs_url": format!("{url}/jobs"),
        "logs_url": format!("{url}/logs"),
        "check_suite_url": format!("{api}/check-suites/{}", row.suite),
        "artifacts_url": format!("{url}/artifacts"),
        "cancel_url": format!("{url}/cancel"),
        "rerun_url": format!("{url}/rerun"),
        "previous_attempt_url": previous,
        "workflow_url": format!("{api}/actions/workflows/{WORKFLOW}"),
        "head_commit": commit.map(simple_commit),
        "repository": home,
        "head_repository": home,
    })
}

/// The fields of a repository that the API requires and webhooks allow in a run.
fn repository_lite(ctx: &Context, repo: &Repo) -> Value {
    let Value::Object(all) = repository(ctx, repo) else { return Value::Null };
    let named = ["id", "node_id", "name", "full_name", "owner", "private", "description", "fork", "url"];
    let links = ["clone_url", "git_url", "ssh_url", "svn_url", "mirror_url"];
    let kept = |name: &str| named.contains(&name) || (name.ends_with("_url") && !links.contains(&name));
    Value::Object(all.into_iter().filter(|(name, _)| kept(name)).collect())
}

/// The job of a run: its check run in another form.
pub(crate) fn job(ctx: &Context, repo: &Repo, run: &RunRow, check: &CheckRow, attempt: i64) -> Value {
    let api = repo_url(ctx, repo);
    let started = check.started.unwrap_or(check.visible).iso();
    json!({
        "id": check.id,
        "run_id": run.id,
        "run_url": format!("{api}/actions/runs/{}", run.id),
        "run_attempt": attempt,
        "node_id": format!("CR_{}", check.id),
        "head_sha": check.head_sha,
        "head_branch": run.head_branch,
        "url": format!("{api}/actions/jobs/{}", check.id),
        "html_url": format!("{}/actions/runs/{}/job/{}", html_url(ctx, repo), run.id, check.id),
        "status": check.status,
        "conclusion": check.conclusion,
        "created_at": run.created.iso(),
        "started_at": started,
        "completed_at": time(check.completed),
        "name": check.name,
        "steps": [],
        "check_run_url": format!("{api}/check-runs/{}", check.id),
        "labels": ["forge"],
        "runner_id": 1,
        "runner_name": CI_APP,
        "runner_group_id": 1,
        "runner_group_name": "Default",
        "workflow_name": CI_NAME,
    })
}
