//! Merging pull requests, and updating their branches from the base.

use std::sync::Arc;

use hyper::StatusCode;
use serde::Deserialize;
use serde_json::json;

use super::mergeability::is_behind;
use super::protection;
use super::pulls::{find, sides};
use crate::context::{Context, RepoLock};
use crate::git::{Commit, MergeMethod, MergeOutcome, RefUpdate, Repository, Signature};
use crate::name::{RefName, Sha};
use crate::reconcile;
use crate::server::{Access, Call, Failure, FieldError, Reply, Repo, Route, get, put};
use crate::store::{MergeRow, Pull, User, pulls};

pub(crate) const ROUTES: &[Route] = &[
    get("/repos/{owner}/{repo}/pulls/{number}/merge", |call| Box::pin(is_merged(call))),
    put("/repos/{owner}/{repo}/pulls/{number}/merge", |call| Box::pin(merge(call))),
    put("/repos/{owner}/{repo}/pulls/{number}/update-branch", |call| Box::pin(update_branch(call))),
];

/// The most commits that a squash message lists.
const MOST_LISTED: usize = 250;

async fn is_merged(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let mut db = call.ctx.store.read().await?;
    let pull = find(&mut db, call, &repo).await?;
    if pull.row.merged.is_some() { Ok(Reply::no_content()) } else { Err(Failure::not_found()) }
}

#[derive(Deserialize)]
struct MergeRequest {
    commit_title: Option<String>,
    commit_message: Option<String>,
    sha: Option<String>,
    merge_method: Option<String>,
}

fn not_allowed(message: impl Into<String>) -> Failure {
    Failure::new(StatusCode::METHOD_NOT_ALLOWED, message)
}

fn head_modified() -> Failure {
    Failure::conflict("Head branch was modified. Review and try the merge again.")
}

async fn merge(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Write).await?;
    let actor = call.actor()?;
    let request: MergeRequest = call.json()?;
    let method = method(&repo, request.merge_method.as_deref())?;
    let lock = call.ctx.repo_locks.acquire(repo.row.id).await;
    let git = call.ctx.repository(repo.row.id);
    // A push may have moved refs that are not reconciled yet.
    reconcile::sync_refs(&call.ctx, &lock, &repo.row, actor).await?;
    let mut db = call.ctx.store.read().await?;
    let pull = find(&mut db, call, &repo).await?;
    drop(db);
    let sides = check_mergeable(call, &repo, &pull, request.sha.as_deref(), method).await?;
    let made = write_merge_commit(&call.ctx, &git, &repo, &pull, &sides, method, &request, actor).await?;
    let made = made.ok_or_else(|| not_allowed("Pull Request is not mergeable"))?;
    complete_merge(call, &lock, &repo, &pull, &sides, &made).await?;
    let message = "Pull Request successfully merged";
    Ok(Reply::ok(&json!({"sha": made.as_str(), "merged": true, "message": message})))
}

struct Sides {
    base: Sha,
    head: Sha,
}

fn method(repo: &Repo, word: Option<&str>) -> Result<MergeMethod, Failure> {
    let (method, allowed, name) = match word {
        None | Some("merge") => (MergeMethod::Merge, repo.row.allow_merge, "Merge commits"),
        Some("squash") => (MergeMethod::Squash, repo.row.allow_squash, "Squash merges"),
        Some("rebase") => (MergeMethod::Rebase, repo.row.allow_rebase, "Rebase merges"),
        Some(_) => return Err(Failure::invalid(FieldError::new("PullRequest", "merge_method", "invalid"))),
    };
    if allowed { Ok(method) } else { Err(not_allowed(format!("{name} are not allowed on this repository."))) }
}

/// Checks that a pull request may be merged; returns its base and head.
async fn check_mergeable(
    call: &Call,
    repo: &Repo,
    pull: &Pull,
    expected: Option<&str>,
    method: MergeMethod,
) -> Result<Sides, Failure> {
    if !pull.issue.is_open() {
        return Err(not_allowed("Pull Request is not mergeable"));
    }
    if expected.is_some_and(|sha| !sha.eq_ignore_ascii_case(&pull.row.head_sha)) {
        return Err(head_modified());
    }
    if pull.row.draft {
        return Err(not_allowed("Pull Request is still a draft"));
    }
    let behind = is_behind(&call.ctx, pull).await?;
    protection::check_merge(call, repo, pull, behind, method == MergeMethod::Merge).await?;
    let (base, head) = sides(pull)?;
    Ok(Sides { base, head })
}

#[expect(clippy::too_many_arguments, reason = "a merge has two sides, a method, a user and a message")]
async fn write_merge_commit(
    ctx: &Context,
    git: &Repository<'_>,
    repo: &Repo,
    pull: &Pull,
    sides: &Sides,
    method: MergeMethod,
    request: &MergeRequest,
    actor: &User,
) -> Result<Option<Sha>, Failure> {
    let now = ctx.clock.now();
    let forge =
        Signature { name: "Forge".to_owned(), email: "noreply@forge.localhost".to_owned(), date: now };
    if method == MergeMethod::Rebase {
        return Ok(git.rebase(&sides.base, &sides.head, &forge).await?);
    }
    let MergeOutcome::Clean(tree) = git.merge_tree(&sides.base, &sides.head).await? else {
        return Ok(None);
    };
    let sign = |user: &User| Signature { name: user.login.clone(), email: user.email(), date: now };
    let (title, body) = if method == MergeMethod::Squash {
        let mut commits = git.log(&sides.head, Some(&sides.base), MOST_LISTED).await?;
        commits.reverse();
        squash_message(pull, &commits)
    } else {
        let from = format!("{}/{}", repo.owner.login, pull.row.head_ref);
        (format!("Merge pull request #{} from {from}", pull.issue.number), pull.issue.title.clone())
    };
    let title = request.commit_title.clone().unwrap_or(title);
    let body = request.commit_message.clone().unwrap_or(body);
    let message = format!("{title}\n\n{body}").trim_end().to_owned();
    let (parents, author) = match method {
        MergeMethod::Squash => (vec![sides.base.clone()], sign(&ctx.user(pull.issue.author))),
        MergeMethod::Merge | MergeMethod::Rebase => {
            (vec![sides.base.clone(), sides.head.clone()], sign(actor))
        }
    };
    Ok(Some(git.write_commit(&tree, &parents, &author, &forge, &format!("{message}\n")).await?))
}

/// GitHub's default message: that of the only commit, or the title and the messages of all commits.
fn squash_message(pull: &Pull, commits: &[Commit]) -> (String, String) {
    let number = pull.issue.number;
    match commits {
        [only] => {
            let body = only.message.split_once('\n').map_or("", |(_, body)| body.trim_start_matches('\n'));
            (format!("{} (#{number})", only.subject()), body.to_owned())
        }
        all => {
            let all: Vec<String> =
                all.iter().map(|write_merge_commit| format!("* {}", write_merge_commit.message)).collect();
            (format!("{} (#{number})", pull.issue.title), all.join("\n\n"))
        }
    }
}

/// Records the merge, moves the base branch, then reconciles. After a crash in between, the next start finishes the merge.
async fn complete_merge(
    call: &Call,
    lock: &RepoLock,
    repo: &Repo,
    pull: &Pull,
    sides: &Sides,
    made: &Sha,
) -> Result<(), Failure> {
    let actor = call.actor()?;
    let git = call.ctx.repository(repo.row.id);
    let intent = MergeRow {
        issue: pull.issue.id,
        actor: actor.id,
        base_ref: pull.row.base_ref.clone(),
        before_sha: sides.base.to_string(),
        after_sha: made.to_string(),
    };
    let mut tx = call.ctx.store.begin().await?;
    pulls::record_merge(&mut tx, &intent, call.ctx.clock.now()).await?;
    tx.commit().await?;
    let base = RefName::branch(&pull.row.base_ref).ok_or_else(Failure::not_found)?;
    let moved = git.update_ref(&base, made, &sides.base).await?;
    reconcile::sync_refs(&call.ctx, lock, &repo.row, actor).await?;
    if moved == RefUpdate::Stale {
        return Err(Failure::conflict("Base branch was modified. Review and try the merge again."));
    }
    if repo.row.delete_branch
        && let Some(head) = RefName::branch(&pull.row.head_ref)
    {
        git.update_ref(&head, &Sha::zero(), &sides.head).await?;
        reconcile::sync_refs(&call.ctx, lock, &repo.row, actor).await?;
    }
    Ok(())
}

#[derive(Deserialize)]
struct BranchUpdateRequest {
    expected_head_sha: Option<String>,
}

async fn update_branch(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Write).await?;
    let actor = Arc::clone(call.actor()?);
    let update: BranchUpdateRequest = call.json()?;
    let lock = call.ctx.repo_locks.acquire(repo.row.id).await;
    reconcile::sync_refs(&call.ctx, &lock, &repo.row, &actor).await?;
    let mut db = call.ctx.store.read().await?;
    let pull = find(&mut db, call, &repo).await?;
    drop(db);
    if update.expected_head_sha.is_some_and(|sha| !sha.eq_ignore_ascii_case(&pull.row.head_sha)) {
        let error = format!("expected head sha didn’t match current head ref. {}", pull.row.head_sha);
        return Err(Failure::unprocessable(error));
    }
    let git = call.ctx.repository(repo.row.id);
    let (base, head) = sides(&pull)?;
    if git.is_ancestor(&base, &head).await? {
        return Err(Failure::unprocessable("There are no new commits on the base branch."));
    }
    let MergeOutcome::Clean(tree) = git.merge_tree(&head, &base).await? else {
        return Err(Failure::unprocessable("merge conflict between base and head"));
    };
    let who = Signature { name: actor.login.clone(), email: actor.email(), date: call.ctx.clock.now() };
    let message = format!("Merge branch '{}' into {}\n", pull.row.base_ref, pull.row.head_ref);
    let made = git.write_commit(&tree, &[head.clone(), base], &who, &who, &message).await?;
    let name = RefName::branch(&pull.row.head_ref).ok_or_else(Failure::not_found)?;
    if git.update_ref(&name, &made, &head).await? == RefUpdate::Stale {
        return Err(head_modified());
    }
    reconcile::sync_refs(&call.ctx, &lock, &repo.row, &actor).await?;
    let url = format!("{}/pulls/{}", crate::wire::repo_url(&call.ctx, &repo), pull.issue.number);
    let json = json!({"message": "Updating pull request branch.", "url": url});
    Ok(Reply::json(StatusCode::ACCEPTED, &json))
}
