//! The events, one by one.

use serde_json::{Value, json};
use sqlx::SqliteConnection;

use super::queue::{put, wanted};
use crate::api;
use crate::git::{Commit, FileStatus};
use crate::name::{RefName, Sha};
use crate::server::{Failure, Repo};
use crate::site::Site;
use crate::store::{
    CheckRow, CommentRow, HookRow, IssueRow, Pull, ReleaseRow, ReviewRow, RunRow, StatusRow, SuiteRow, User,
    checks, issues, pulls,
};
use crate::wire;

/// Commits of a push that a webhook lists, as with GitHub.
const MOST_COMMITS: usize = 2048;

/// Something happened to an issue; if it is a pull request, to that.
pub(crate) async fn issue(
    site: &Site,
    db: &mut SqliteConnection,
    repo: &Repo,
    sender: &User,
    action: &str,
    id: i64,
    more: Value,
) -> Result<(), Failure> {
    // As it is now, in this transaction.
    let Some(row) = issues::by_id(db, id).await? else { return Ok(()) };
    if row.pull {
        return match pulls::by_id(db, id).await? {
            Some(found) => pull(site, db, repo, sender, action, &found, more).await,
            None => Ok(()),
        };
    }
    let hooks = wanted(db, repo, "issues").await?;
    if !hooks.is_empty() {
        let issue = issue_json(site, db, repo, &row).await?;
        let body = wire::extend(json!({"action": action, "issue": issue}), more);
        put(site, db, repo, sender, "issues", body, &hooks).await?;
    }
    Ok(())
}

/// An issue as webhooks have it.
async fn issue_json(
    site: &Site,
    db: &mut SqliteConnection,
    repo: &Repo,
    row: &IssueRow,
) -> Result<Value, Failure> {
    let extras = wire::Extras::of(db, repo, [row]).await?;
    let mut json = wire::issue(site, repo, row, &extras);
    if let Some(object) = json.as_object_mut() {
        object.remove("closed_by");
    }
    Ok(json)
}

/// Somebody said something.
pub(crate) async fn comment(
    site: &Site,
    db: &mut SqliteConnection,
    repo: &Repo,
    sender: &User,
    action: &str,
    row: &CommentRow,
    more: Value,
) -> Result<(), Failure> {
    let hooks = wanted(db, repo, "issue_comment").await?;
    if hooks.is_empty() {
        return Ok(());
    }
    let Some(about) = issues::by_id(db, row.issue).await? else { return Ok(()) };
    let extras = wire::Extras::of_repo(db, repo).await?;
    let comment = wire::comment(site, repo, row, about.number, about.pull, &extras);
    let issue = issue_json(site, db, repo, &about).await?;
    let body = wire::extend(json!({"action": action, "issue": issue, "comment": comment}), more);
    put(site, db, repo, sender, "issue_comment", body, &hooks).await?;
    Ok(())
}

/// Something happened to a pull request.
pub(crate) async fn pull(
    site: &Site,
    db: &mut SqliteConnection,
    repo: &Repo,
    sender: &User,
    action: &str,
    pull: &Pull,
    more: Value,
) -> Result<(), Failure> {
    let hooks = wanted(db, repo, "pull_request").await?;
    if hooks.is_empty() {
        return Ok(());
    }
    let extras = wire::Extras::of(db, repo, [&pull.issue]).await?;
    let facts = api::facts(site, db, repo, pull).await?;
    let json = wire::pull(site, repo, pull, &extras, &facts);
    let body = json!({"action": action, "number": pull.issue.number, "pull_request": json});
    put(site, db, repo, sender, "pull_request", wire::extend(body, more), &hooks).await?;
    Ok(())
}

/// Somebody reviewed.
pub(crate) async fn review(
    site: &Site,
    db: &mut SqliteConnection,
    repo: &Repo,
    sender: &User,
    action: &str,
    pull: &Pull,
    row: &ReviewRow,
) -> Result<(), Failure> {
    let hooks = wanted(db, repo, "pull_request_review").await?;
    if hooks.is_empty() {
        return Ok(());
    }
    let extras = wire::Extras::of(db, repo, [&pull.issue]).await?;
    let mut review = wire::review(site, repo, row, pull.issue.number, &extras);
    review["state"] = row.state.to_ascii_lowercase().into();
    let pull = wire::pull_simple(site, repo, pull, &extras);
    let body = json!({"action": action, "review": review, "pull_request": pull});
    put(site, db, repo, sender, "pull_request_review", body, &hooks).await?;
    Ok(())
}

/// Somebody commented on a line.
pub(crate) async fn review_comment(
    site: &Site,
    db: &mut SqliteConnection,
    repo: &Repo,
    sender: &User,
    pull: &Pull,
    comment: &Value,
) -> Result<(), Failure> {
    let hooks = wanted(db, repo, "pull_request_review_comment").await?;
    if hooks.is_empty() {
        return Ok(());
    }
    let extras = wire::Extras::of(db, repo, [&pull.issue]).await?;
    let pull = wire::pull_simple(site, repo, pull, &extras);
    let mut comment = comment.clone();
    for field in ["line", "original_line"] {
        if comment[field].is_null() {
            comment[field] = 1.into();
        }
    }
    let body = json!({"action": "created", "comment": comment, "pull_request": pull});
    put(site, db, repo, sender, "pull_request_review_comment", body, &hooks).await?;
    Ok(())
}

/// A ref moved.
pub(crate) async fn push(
    site: &Site,
    db: &mut SqliteConnection,
    repo: &Repo,
    sender: &User,
    name: &RefName,
    before: &Sha,
    after: &Sha,
) -> Result<(), Failure> {
    let hooks = wanted(db, repo, "push").await?;
    if hooks.is_empty() {
        return Ok(());
    }
    let git = site.repository(repo.row.id);
    let (created, deleted) = (*before == Sha::zero(), *after == Sha::zero());
    let forced = !created && !deleted && !git.is_ancestor(before, after).await?;
    let mut commits = Vec::new();
    let mut head = Value::Null;
    if !deleted && let Some(tip) = git.resolve(&format!("{after}^{{commit}}")).await? {
        let found = git.commit(&tip).await?;
        if let Some(commit) = &found {
            head = commit_json(site, repo, commit).await?;
        }
        let listed = if created {
            found.into_iter().collect()
        } else {
            git.log(&tip, Some(before), MOST_COMMITS).await?
        };
        for commit in listed.iter().rev().filter(|_| name.as_branch().is_some()) {
            commits.push(commit_json(site, repo, commit).await?);
        }
    }
    let compare = format!("{}/compare/{}...{}", wire::html_url(site, repo), short(before), short(after));
    let body = json!({
        "ref": name.as_str(),
        "before": before.as_str(),
        "after": after.as_str(),
        "created": created,
        "deleted": deleted,
        "forced": forced,
        "base_ref": null,
        "compare": compare,
        "commits": commits,
        "head_commit": head,
        "pusher": {"name": sender.login, "email": sender.email()},
    });
    put(site, db, repo, sender, "push", body, &hooks).await?;
    Ok(())
}

fn short(sha: &Sha) -> &str {
    &sha.as_str()[..12]
}

/// A commit as a push lists it.
async fn commit_json(site: &Site, repo: &Repo, commit: &Commit) -> Result<Value, Failure> {
    let (mut added, mut removed, mut modified) = (Vec::new(), Vec::new(), Vec::new());
    if let Some(parent) = commit.parents.first() {
        for file in site.repository(repo.row.id).summary(parent, &commit.sha).await? {
            match file.status {
                FileStatus::Added => added.push(file.path),
                FileStatus::Removed => removed.push(file.path),
                FileStatus::Modified | FileStatus::Changed => modified.push(file.path),
                FileStatus::Renamed => {
                    added.push(file.path);
                    removed.extend(file.previous);
                }
            }
        }
    }
    let more = json!({
        "distinct": true,
        "url": format!("{}/commit/{}", wire::html_url(site, repo), commit.sha),
        "added": added,
        "removed": removed,
        "modified": modified,
    });
    Ok(wire::extend(wire::simple_commit(commit), more))
}

/// A branch or tag was made or removed.
pub(crate) async fn ref_changed(
    site: &Site,
    db: &mut SqliteConnection,
    repo: &Repo,
    sender: &User,
    name: &RefName,
    created: bool,
) -> Result<(), Failure> {
    let event = if created { "create" } else { "delete" };
    let hooks = wanted(db, repo, event).await?;
    let (kind, short) = match (name.as_branch(), name.as_tag()) {
        (Some(branch), _) => ("branch", branch),
        (None, Some(tag)) => ("tag", tag),
        (None, None) => return Ok(()),
    };
    if hooks.is_empty() {
        return Ok(());
    }
    let mut body = json!({"ref": short, "ref_type": kind, "pusher_type": "user"});
    if created {
        body["master_branch"] = repo.row.default_branch.as_str().into();
        body["description"] = repo.row.description.clone().into();
    }
    put(site, db, repo, sender, event, body, &hooks).await?;
    Ok(())
}

/// A check run was made or has ended.
pub(crate) async fn check_run(
    site: &Site,
    db: &mut SqliteConnection,
    repo: &Repo,
    sender: &User,
    action: &str,
    row: &CheckRow,
) -> Result<(), Failure> {
    let hooks = wanted(db, repo, "check_run").await?;
    if hooks.is_empty() {
        return Ok(());
    }
    let now = site.clock.now();
    let Some(suite) = checks::suite_by_id(db, repo.row.id, row.suite, now).await? else { return Ok(()) };
    let about = pulls::open_by_head_sha(db, repo.row.id, &row.head_sha).await?;
    let state = api::suite_state(db, &suite, now).await?;
    let mut json = wire::check_run(site, repo, row, &suite.app, &about);
    json["check_suite"] = wire::suite_core(site, repo, &suite, &state, &about);
    let body = json!({"action": action, "check_run": json});
    put(site, db, repo, sender, "check_run", body, &hooks).await?;
    Ok(())
}

/// All checks of an app on a commit were asked for, or have ended.
pub(crate) async fn check_suite(
    site: &Site,
    db: &mut SqliteConnection,
    repo: &Repo,
    sender: &User,
    action: &str,
    suite: &SuiteRow,
) -> Result<(), Failure> {
    let hooks = wanted(db, repo, "check_suite").await?;
    let sha = Sha::parse(&suite.head_sha);
    let (false, Some(sha)) = (hooks.is_empty(), sha) else { return Ok(()) };
    let Some(commit) = site.repository(repo.row.id).commit(&sha).await? else { return Ok(()) };
    let about = pulls::open_by_head_sha(db, repo.row.id, &suite.head_sha).await?;
    let state = api::suite_state(db, suite, site.clock.now()).await?;
    let core = wire::suite_core(site, repo, suite, &state, &about);
    let json = wire::extend(core, wire::suite_extra(site, repo, suite, &state, &commit));
    put(site, db, repo, sender, "check_suite", json!({"action": action, "check_suite": json}), &hooks)
        .await?;
    Ok(())
}

/// A commit has a status.
pub(crate) async fn status(
    site: &Site,
    db: &mut SqliteConnection,
    repo: &Repo,
    sender: &User,
    row: &StatusRow,
) -> Result<(), Failure> {
    let hooks = wanted(db, repo, "status").await?;
    let sha = Sha::parse(&row.sha);
    let (false, Some(sha)) = (hooks.is_empty(), sha) else { return Ok(()) };
    let git = site.repository(repo.row.id);
    let Some(commit) = git.commit(&sha).await? else { return Ok(()) };
    let mut commit = wire::commit(site, repo, &commit);
    if let Some(verification) = commit["commit"]["verification"].as_object_mut() {
        verification.remove("verified_at");
    }
    let branches: Vec<Value> = git
        .refs_below(&["refs/heads"])
        .await?
        .iter()
        .filter(|(_, tip)| *tip == sha)
        .filter_map(|(name, tip)| {
            let commit = wire::short_commit(site, repo, tip.as_str());
            Some(json!({"name": name.as_branch()?, "commit": commit, "protected": false}))
        })
        .collect();
    let body = json!({
        "id": row.id,
        "sha": row.sha,
        "name": format!("{}/{}", repo.owner.login, repo.row.name),
        "target_url": row.target_url,
        "context": row.context,
        "description": row.description,
        "state": row.state,
        "commit": commit,
        "branches": branches,
        "created_at": row.created.iso(),
        "updated_at": row.created.iso(),
    });
    put(site, db, repo, sender, "status", body, &hooks).await?;
    Ok(())
}

/// A run was asked for, has begun, or has ended.
pub(crate) async fn workflow_run(
    site: &Site,
    db: &mut SqliteConnection,
    repo: &Repo,
    sender: &User,
    action: &str,
    row: &RunRow,
) -> Result<(), Failure> {
    let hooks = wanted(db, repo, "workflow_run").await?;
    let sha = Sha::parse(&row.head_sha);
    let (false, Some(sha)) = (hooks.is_empty(), sha) else { return Ok(()) };
    let Some(commit) = site.repository(repo.row.id).commit(&sha).await? else { return Ok(()) };
    let about = pulls::open_by_head_sha(db, repo.row.id, &row.head_sha).await?;
    let run = wire::workflow_run(site, repo, row, &about, Some(&commit));
    let body = json!({"action": action, "workflow_run": run, "workflow": wire::workflow(site, repo)});
    put(site, db, repo, sender, "workflow_run", body, &hooks).await?;
    Ok(())
}

/// A release was published.
pub(crate) async fn release(
    site: &Site,
    db: &mut SqliteConnection,
    repo: &Repo,
    sender: &User,
    action: &str,
    row: &ReleaseRow,
) -> Result<(), Failure> {
    let hooks = wanted(db, repo, "release").await?;
    if !hooks.is_empty() {
        let body = json!({"action": action, "release": wire::release(site, repo, row)});
        put(site, db, repo, sender, "release", body, &hooks).await?;
    }
    Ok(())
}

/// A webhook is there.
pub(crate) async fn ping(
    site: &Site,
    db: &mut SqliteConnection,
    repo: &Repo,
    sender: &User,
    hook: &HookRow,
) -> Result<(), Failure> {
    let body = json!({
        "zen": "Speak like a human.",
        "hook_id": hook.id,
        "hook": wire::hook(site, repo, hook),
    });
    put(site, db, repo, sender, "ping", body, std::slice::from_ref(hook)).await?;
    Ok(())
}
