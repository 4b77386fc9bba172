//! The events that webhooks report, and their payloads.

use serde_json::{Value, json};
use sqlx::SqliteConnection;

use super::queue::{insert_deliveries, subscribed};
use crate::api;
use crate::context::Context;
use crate::git::{Commit, FileStatus};
use crate::name::{RefName, Sha};
use crate::server::{Failure, Repo};
use crate::store::{
    CheckRow, CommentRow, HookRow, IssueRow, Pull, ReleaseRow, ReviewRow, RunRow, StatusRow, SuiteRow, User,
    checks, issues, pulls,
};
use crate::wire;

/// GitHub's limit for the commits in the payload of a push.
const MOST_COMMITS: usize = 2048;

/// An event with what its payload needs; the text is GitHub's `action`, the value has further fields of the payload.
#[derive(Debug)]
pub(crate) enum Event<'a> {
    Issue(&'a str, &'a IssueRow, Value),
    Comment(&'a str, &'a CommentRow, Value),
    Pull(&'a str, &'a Pull, Value),
    Review(&'a str, &'a Pull, &'a ReviewRow),
    /// A new comment on a line, with its JSON.
    ReviewComment(&'a Pull, Value),
    Push {
        name: &'a RefName,
        before: &'a Sha,
        after: &'a Sha,
    },
    CreateRef(&'a RefName),
    DeleteRef(&'a RefName),
    CheckRun(&'a str, &'a CheckRow),
    CheckSuite(&'a str, &'a SuiteRow),
    Status(&'a StatusRow),
    WorkflowRun(&'a str, &'a RunRow),
    Release(&'a str, &'a ReleaseRow),
}

/// Stores a delivery of the event for each subscribed webhook, in the transaction of the change.
pub(crate) async fn enqueue(
    ctx: &Context,
    db: &mut SqliteConnection,
    repo: &Repo,
    sender: &User,
    event: Event<'_>,
) -> Result<(), Failure> {
    let name = event.name();
    let hooks = subscribed(db, repo, name).await?;
    // Most repositories have no webhooks: build no payload for them.
    if !hooks.is_empty()
        && let Some(body) = event.payload(ctx, db, repo, sender).await?
    {
        insert_deliveries(ctx, db, repo, sender, name, body, &hooks).await?;
    }
    Ok(())
}

/// Like [`enqueue`] for a change of the issue or pull request with this id, as this transaction left it.
pub(crate) async fn enqueue_issue(
    ctx: &Context,
    db: &mut SqliteConnection,
    repo: &Repo,
    sender: &User,
    action: &str,
    id: i64,
    more: Value,
) -> Result<(), Failure> {
    if let Some(pull) = pulls::by_id(db, id).await? {
        return enqueue(ctx, db, repo, sender, Event::Pull(action, &pull, more)).await;
    }
    match issues::by_id(db, id).await? {
        Some(row) => enqueue(ctx, db, repo, sender, Event::Issue(action, &row, more)).await,
        None => Ok(()),
    }
}

/// Stores the `ping` of a webhook.
pub(crate) async fn enqueue_ping(
    ctx: &Context,
    db: &mut SqliteConnection,
    repo: &Repo,
    sender: &User,
    hook: &HookRow,
) -> Result<(), Failure> {
    let body = json!({"zen": "Speak like a human.", "hook_id": hook.id, "hook": wire::hook(ctx, repo, hook)});
    Ok(insert_deliveries(ctx, db, repo, sender, "ping", body, std::slice::from_ref(hook)).await?)
}

impl Event<'_> {
    fn name(&self) -> &'static str {
        match self {
            Event::Issue(..) => "issues",
            Event::Comment(..) => "issue_comment",
            Event::Pull(..) => "pull_request",
            Event::Review(..) => "pull_request_review",
            Event::ReviewComment(..) => "pull_request_review_comment",
            Event::Push { .. } => "push",
            Event::CreateRef(_) => "create",
            Event::DeleteRef(_) => "delete",
            Event::CheckRun(..) => "check_run",
            Event::CheckSuite(..) => "check_suite",
            Event::Status(_) => "status",
            Event::WorkflowRun(..) => "workflow_run",
            Event::Release(..) => "release",
        }
    }

    /// The payload without `repository` and `sender`; `None` if something it names is gone.
    async fn payload(
        self,
        ctx: &Context,
        db: &mut SqliteConnection,
        repo: &Repo,
        sender: &User,
    ) -> Result<Option<Value>, Failure> {
        Ok(Some(match self {
            Event::Issue(action, row, more) => {
                let issue = issue_json(ctx, db, repo, row).await?;
                wire::extend(json!({"action": action, "issue": issue}), more)
            }
            Event::Comment(action, row, more) => {
                let Some(about) = issues::by_id(db, row.issue).await? else { return Ok(None) };
                let extras = wire::Extras::of_repo(db, repo).await?;
                let comment = wire::comment(ctx, repo, row, about.number, about.pull, &extras);
                let issue = issue_json(ctx, db, repo, &about).await?;
                wire::extend(json!({"action": action, "issue": issue, "comment": comment}), more)
            }
            Event::Pull(action, pull, more) => {
                let extras = wire::Extras::of(db, repo, [&pull.issue]).await?;
                let facts = api::facts(ctx, db, repo, pull).await?;
                let json = wire::pull(ctx, repo, pull, &extras, &facts);
                let body = json!({"action": action, "number": pull.issue.number, "pull_request": json});
                wire::extend(body, more)
            }
            Event::Review(action, pull, row) => {
                let extras = wire::Extras::of(db, repo, [&pull.issue]).await?;
                let mut review = wire::review(ctx, repo, row, pull.issue.number, &extras);
                review["state"] = row.state.to_ascii_lowercase().into();
                let pull = wire::pull_simple(ctx, repo, pull, &extras);
                json!({"action": action, "review": review, "pull_request": pull})
            }
            Event::ReviewComment(pull, mut comment) => {
                let extras = wire::Extras::of(db, repo, [&pull.issue]).await?;
                for field in ["line", "original_line"] {
                    if comment[field].is_null() {
                        comment[field] = 1.into();
                    }
                }
                let pull = wire::pull_simple(ctx, repo, pull, &extras);
                json!({"action": "created", "comment": comment, "pull_request": pull})
            }
            Event::Push { name, before, after } => push_json(ctx, repo, sender, name, before, after).await?,
            Event::CreateRef(name) => return Ok(ref_json(name).map(|json| created_json(json, repo))),
            Event::DeleteRef(name) => return Ok(ref_json(name)),
            Event::CheckRun(action, row) => {
                let now = ctx.clock.now();
                let Some(suite) = checks::suite_by_id(db, repo.row.id, row.suite, now).await? else {
                    return Ok(None);
                };
                let about = pulls::open_by_head_sha(db, repo.row.id, &row.head_sha).await?;
                let state = api::suite_state(db, &suite, now).await?;
                let mut json = wire::check_run(ctx, repo, row, &suite.app, &about);
                json["check_suite"] = wire::suite_core(ctx, repo, &suite, &state, &about);
                json!({"action": action, "check_run": json})
            }
            Event::CheckSuite(action, suite) => {
                let Some(commit) = find_commit(ctx, repo, &suite.head_sha).await? else { return Ok(None) };
                let about = pulls::open_by_head_sha(db, repo.row.id, &suite.head_sha).await?;
                let state = api::suite_state(db, suite, ctx.clock.now()).await?;
                let core = wire::suite_core(ctx, repo, suite, &state, &about);
                let json = wire::extend(core, wire::suite_extra(ctx, repo, suite, &state, &commit));
                json!({"action": action, "check_suite": json})
            }
            Event::Status(row) => match find_commit(ctx, repo, &row.sha).await? {
                Some(commit) => status_json(ctx, repo, row, &commit).await?,
                None => return Ok(None),
            },
            Event::WorkflowRun(action, row) => {
                let Some(commit) = find_commit(ctx, repo, &row.head_sha).await? else { return Ok(None) };
                let about = pulls::open_by_head_sha(db, repo.row.id, &row.head_sha).await?;
                let run = wire::workflow_run(ctx, repo, row, &about, Some(&commit));
                json!({"action": action, "workflow_run": run, "workflow": wire::workflow(ctx, repo)})
            }
            Event::Release(action, row) => {
                json!({"action": action, "release": wire::release(ctx, repo, row)})
            }
        }))
    }
}

async fn find_commit(ctx: &Context, repo: &Repo, sha: &str) -> Result<Option<Commit>, Failure> {
    match Sha::parse(sha) {
        Some(sha) => Ok(ctx.repository(repo.row.id).commit(&sha).await?),
        None => Ok(None),
    }
}

/// An issue in the form of webhooks, which have no `closed_by`.
async fn issue_json(
    ctx: &Context,
    db: &mut SqliteConnection,
    repo: &Repo,
    row: &IssueRow,
) -> Result<Value, Failure> {
    let extras = wire::Extras::of(db, repo, [row]).await?;
    let mut json = wire::issue(ctx, repo, row, &extras);
    if let Some(object) = json.as_object_mut() {
        object.remove("closed_by");
    }
    Ok(json)
}

async fn push_json(
    ctx: &Context,
    repo: &Repo,
    sender: &User,
    name: &RefName,
    before: &Sha,
    after: &Sha,
) -> Result<Value, Failure> {
    let git = ctx.repository(repo.row.id);
    let (created, deleted) = (*before == Sha::zero(), *after == Sha::zero());
    let forced = !created && !deleted && !git.is_ancestor(before, after).await?;
    let mut commits = Vec::new();
    let mut head = Value::Null;
    if !deleted && let Some(tip) = git.resolve(&format!("{after}^{{commit}}")).await? {
        let found = git.commit(&tip).await?;
        if let Some(commit) = &found {
            head = commit_json(ctx, repo, commit).await?;
        }
        let listed = if created {
            found.into_iter().collect()
        } else {
            git.log(&tip, Some(before), MOST_COMMITS).await?
        };
        for commit in listed.iter().rev().filter(|_| name.as_branch().is_some()) {
            commits.push(commit_json(ctx, repo, commit).await?);
        }
    }
    let compare =
        format!("{}/compare/{}...{}", wire::html_url(ctx, repo), short_sha(before), short_sha(after));
    Ok(json!({
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
    }))
}

fn short_sha(sha: &Sha) -> &str {
    &sha.as_str()[..12]
}

/// A commit in the list of a push.
async fn commit_json(ctx: &Context, repo: &Repo, commit: &Commit) -> Result<Value, Failure> {
    let (mut added, mut removed, mut modified) = (Vec::new(), Vec::new(), Vec::new());
    if let Some(parent) = commit.parents.first() {
        for file in ctx.repository(repo.row.id).summary(parent, &commit.sha).await? {
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
        "url": format!("{}/commit/{}", wire::html_url(ctx, repo), commit.sha),
        "added": added,
        "removed": removed,
        "modified": modified,
    });
    Ok(wire::extend(wire::simple_commit(commit), more))
}

/// A branch or tag; `None` for other refs.
fn ref_json(name: &RefName) -> Option<Value> {
    let (kind, short) = match (name.as_branch(), name.as_tag()) {
        (Some(branch), _) => ("branch", branch),
        (None, tag) => ("tag", tag?),
    };
    Some(json!({"ref": short, "ref_type": kind, "pusher_type": "user"}))
}

fn created_json(json: Value, repo: &Repo) -> Value {
    let more = json!({"master_branch": repo.row.default_branch, "description": repo.row.description});
    wire::extend(json, more)
}

async fn status_json(ctx: &Context, repo: &Repo, row: &StatusRow, commit: &Commit) -> Result<Value, Failure> {
    let mut json = wire::commit(ctx, repo, commit);
    if let Some(verification) = json["commit"]["verification"].as_object_mut() {
        verification.remove("verified_at");
    }
    let branches: Vec<Value> = ctx
        .repository(repo.row.id)
        .refs_below(&["refs/heads"])
        .await?
        .iter()
        .filter(|(_, tip)| *tip == commit.sha)
        .filter_map(|(name, tip)| {
            let commit = wire::short_commit(ctx, repo, tip.as_str());
            Some(json!({"name": name.as_branch()?, "commit": commit, "protected": false}))
        })
        .collect();
    Ok(json!({
        "id": row.id,
        "sha": row.sha,
        "name": format!("{}/{}", repo.owner.login, repo.row.name),
        "target_url": row.target_url,
        "context": row.context,
        "description": row.description,
        "state": row.state,
        "commit": json,
        "branches": branches,
        "created_at": row.created.iso(),
        "updated_at": row.created.iso(),
    }))
}
