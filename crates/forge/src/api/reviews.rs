//! Reviews, comments on lines, and review requests.

use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::SqliteConnection;

use super::issues::{LONGEST_BODY, record_event};
use super::pulls::{find, simple_json, span};
use crate::git::{FileChange, hunk_at};
use crate::name::{Sha, is_file_path};
use crate::server::{Access, Call, Failure, FieldError, Page, Reply, Repo, Route, delete, get, post, put};
use crate::store::{Pull, ReviewCommentRow, ReviewRow, ids, issues, reviews};
use crate::timestamp::Timestamp;
use crate::webhook::{self, Event};
use crate::wire;

pub(crate) const ROUTES: &[Route] = &[
    get("/repos/{owner}/{repo}/pulls/comments/{id}", |call| Box::pin(show_comment(call))),
    get("/repos/{owner}/{repo}/pulls/{number}/reviews", |call| Box::pin(list(call))),
    post("/repos/{owner}/{repo}/pulls/{number}/reviews", |call| Box::pin(create(call))),
    get("/repos/{owner}/{repo}/pulls/{number}/reviews/{review}", |call| Box::pin(show(call))),
    post("/repos/{owner}/{repo}/pulls/{number}/reviews/{review}/events", |call| Box::pin(submit(call))),
    put("/repos/{owner}/{repo}/pulls/{number}/reviews/{review}/dismissals", |call| Box::pin(dismiss(call))),
    get("/repos/{owner}/{repo}/pulls/{number}/reviews/{review}/comments", |call| Box::pin(comments_of(call))),
    get("/repos/{owner}/{repo}/pulls/{number}/comments", |call| Box::pin(comments(call))),
    post("/repos/{owner}/{repo}/pulls/{number}/comments", |call| Box::pin(create_comment(call))),
    post("/repos/{owner}/{repo}/pulls/{number}/comments/{id}/replies", |call| Box::pin(reply(call))),
    get("/repos/{owner}/{repo}/pulls/{number}/requested_reviewers", |call| Box::pin(requested(call))),
    post("/repos/{owner}/{repo}/pulls/{number}/requested_reviewers", |call| Box::pin(request(call))),
    delete("/repos/{owner}/{repo}/pulls/{number}/requested_reviewers", |call| Box::pin(unrequest(call))),
];

const MOST_COMMENTS: usize = 500;

#[derive(Deserialize)]
struct NewReview {
    body: Option<String>,
    event: Option<String>,
    commit_id: Option<String>,
    comments: Option<Vec<NewComment>>,
}

#[derive(Deserialize)]
struct NewComment {
    body: Option<String>,
    path: Option<String>,
    line: Option<i64>,
    start_line: Option<i64>,
    side: Option<String>,
    position: Option<i64>,
    commit_id: Option<String>,
    in_reply_to: Option<i64>,
}

fn check_length(body: &str) -> Result<(), Failure> {
    if body.chars().count() > LONGEST_BODY {
        let error = format!("body is too long (maximum is {LONGEST_BODY} characters)");
        return Err(Failure::invalid(FieldError::custom("PullRequestReview", "body", error)));
    }
    Ok(())
}

/// The state that an event leads to; without an event the review is pending.
fn state_after(event: Option<&str>, body: &str, own: bool) -> Result<&'static str, Failure> {
    let state = match event {
        None | Some("PENDING") => return Ok("PENDING"),
        Some("APPROVE") => "APPROVED",
        Some("REQUEST_CHANGES") => "CHANGES_REQUESTED",
        Some("COMMENT") => "COMMENTED",
        Some(_) => return Err(Failure::invalid(FieldError::new("PullRequestReview", "event", "invalid"))),
    };
    if own && state == "APPROVED" {
        return Err(Failure::unprocessable("Can not approve your own pull request"));
    }
    if own && state == "CHANGES_REQUESTED" {
        return Err(Failure::unprocessable("Can not request changes on your own pull request"));
    }
    if state == "CHANGES_REQUESTED" && body.trim().is_empty() {
        return Err(Failure::unprocessable("You need to leave a comment indicating the requested changes."));
    }
    Ok(state)
}

async fn create(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Comment).await?;
    let (actor, now) = (call.actor()?, call.ctx.clock.now());
    let new: NewReview = call.json()?;
    let body = new.body.unwrap_or_default();
    check_length(&body)?;
    let comments = new.comments.unwrap_or_default();
    if comments.len() > MOST_COMMENTS {
        return Err(Failure::unprocessable(format!("comments has more than {MOST_COMMENTS} items")));
    }
    let files = changes(call, &repo, !comments.is_empty()).await?;
    let mut tx = call.ctx.store.begin().await?;
    let pull = find(&mut tx, call, &repo).await?;
    let state = state_after(new.event.as_deref(), &body, pull.issue.author == actor.id)?;
    if state == "COMMENTED" && body.trim().is_empty() && comments.is_empty() {
        return Err(Failure::unprocessable("You need to leave a comment."));
    }
    let row = ReviewRow {
        id: 0,
        issue: pull.issue.id,
        author: actor.id,
        state: state.to_owned(),
        body,
        commit_id: commit_id(&pull, new.commit_id.as_deref())?,
        submitted: (state != "PENDING").then_some(now),
    };
    let row = reviews::insert(&mut tx, repo.row.id, &row).await?;
    for comment in comments {
        add_comment(&mut tx, &repo, &row, &pull, comment, &files, now).await?;
    }
    if row.submitted.is_some() {
        report_submission(&mut tx, call, &repo, &pull, &row, now).await?;
    }
    let json = json_of(&mut tx, call, &repo, &pull, &row).await?;
    call.ctx.commit(tx).await?;
    Ok(Reply::ok(&json))
}

fn commit_id(pull: &Pull, asked: Option<&str>) -> Result<String, Failure> {
    match asked {
        None => Ok(pull.row.head_sha.clone()),
        Some(text) => match Sha::parse(text) {
            Some(sha) => Ok(sha.to_string()),
            None => Err(Failure::invalid(FieldError::new("PullRequestReview", "commit_id", "invalid"))),
        },
    }
}

/// Removes the review request of the author and enqueues the webhook.
async fn report_submission(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
    pull: &Pull,
    row: &ReviewRow,
    now: Timestamp,
) -> Result<(), Failure> {
    reviews::unrequest(db, pull.issue.id, row.author).await?;
    issues::touch(db, pull.issue.id, now).await?;
    webhook::enqueue(&call.ctx, db, repo, call.actor()?, Event::Review("submitted", pull, row)).await?;
    Ok(())
}

/// The changed files of a pull request; empty if they are not needed.
async fn changes(call: &Call, repo: &Repo, wanted: bool) -> Result<Vec<FileChange>, Failure> {
    if !wanted {
        return Ok(Vec::new());
    }
    let mut db = call.ctx.store.read().await?;
    let pull = find(&mut db, call, repo).await?;
    drop(db);
    let git = call.ctx.repository(repo.row.id);
    let (from, head) = span(&git, &pull).await?;
    Ok(git.changes(&from, &head).await?)
}

/// The diff hunk of a comment: that of its line, or the first line of the patch. Only lines of the diff can be commented on.
fn find_hunk(files: &[FileChange], path: &str, line: Option<i64>, left: bool) -> Result<String, Failure> {
    let outside = |field| {
        Failure::invalid(FieldError::custom(
            "PullRequestReviewComment",
            field,
            format!("{field} must be part of the diff"),
        ))
    };
    let file = files.iter().find(|file| file.path == path).ok_or_else(|| outside("path"))?;
    let patch = file.patch.as_deref().unwrap_or_default();
    match line {
        Some(line) => hunk_at(patch, line, left).ok_or_else(|| outside("line")),
        None => Ok(patch.lines().next().unwrap_or_default().to_owned()),
    }
}

async fn add_comment(
    db: &mut SqliteConnection,
    repo: &Repo,
    review: &ReviewRow,
    pull: &Pull,
    new: NewComment,
    files: &[FileChange],
    now: Timestamp,
) -> Result<ReviewCommentRow, Failure> {
    let missing = |field| Failure::missing("PullRequestReviewComment", field);
    let body = new.body.filter(|body| !body.trim().is_empty()).ok_or_else(|| missing("body"))?;
    check_length(&body)?;
    let path = new.path.filter(|path| is_file_path(path)).ok_or_else(|| missing("path"))?;
    let side = new.side.unwrap_or_else(|| "RIGHT".to_owned());
    if !["LEFT", "RIGHT"].contains(&side.as_str()) {
        return Err(Failure::invalid(FieldError::new("PullRequestReviewComment", "side", "invalid")));
    }
    let line = new.line.or(new.position);
    let row = ReviewCommentRow {
        id: 0,
        issue: pull.issue.id,
        review: review.id,
        author: review.author,
        body,
        hunk: find_hunk(files, &path, line, side == "LEFT")?,
        path,
        side,
        line,
        start_line: new.start_line.filter(|line| *line > 0),
        commit_id: commit_id(pull, new.commit_id.as_deref())?,
        reply_to: new.in_reply_to,
        created: now,
        updated: now,
    };
    Ok(reviews::insert_comment(db, repo.row.id, &row).await?)
}

async fn json_of(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
    pull: &Pull,
    row: &ReviewRow,
) -> Result<Value, Failure> {
    let extras = wire::Extras::of_repo(db, repo).await?;
    Ok(wire::review(&call.ctx, repo, row, pull.issue.number, &extras))
}

async fn list(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let page = Page::of(call);
    let mut db = call.ctx.store.read().await?;
    let pull = find(&mut db, call, &repo).await?;
    let me = call.actor.as_ref().map(|actor| actor.id);
    let mut rows = reviews::of_issue(&mut db, pull.issue.id).await?;
    rows.retain(|row| row.submitted.is_some() || Some(row.author) == me);
    let extras = wire::Extras::of_repo(&mut db, &repo).await?;
    let shown = |row: ReviewRow| wire::review(&call.ctx, &repo, &row, pull.issue.number, &extras);
    Ok(page.reply_all(call, rows, shown))
}

/// The review in the path and its pull request. A pending review is visible to its author only.
async fn find_review(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
) -> Result<(Pull, ReviewRow), Failure> {
    let pull = find(db, call, repo).await?;
    let row =
        reviews::by_id(db, pull.issue.id, call.number("review")?).await?.ok_or_else(Failure::not_found)?;
    let me = call.actor.as_ref().map(|actor| actor.id);
    if row.submitted.is_none() && Some(row.author) != me {
        return Err(Failure::not_found());
    }
    Ok((pull, row))
}

async fn show(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let mut db = call.ctx.store.read().await?;
    let (pull, row) = find_review(&mut db, call, &repo).await?;
    Ok(Reply::ok(&json_of(&mut db, call, &repo, &pull, &row).await?))
}

async fn submit(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Comment).await?;
    let (actor, now) = (call.actor()?, call.ctx.clock.now());
    let new: NewReview = call.json()?;
    let mut tx = call.ctx.store.begin().await?;
    let (pull, mut row) = find_review(&mut tx, call, &repo).await?;
    if row.submitted.is_some() {
        return Err(Failure::unprocessable("Could not submit the review: it was submitted before."));
    }
    row.body = new.body.unwrap_or(row.body);
    check_length(&row.body)?;
    let event = new.event.as_deref().ok_or_else(|| Failure::missing("PullRequestReview", "event"))?;
    row.state = state_after(Some(event), &row.body, pull.issue.author == actor.id)?.to_owned();
    row.submitted = Some(now);
    reviews::update(&mut tx, &row).await?;
    report_submission(&mut tx, call, &repo, &pull, &row, now).await?;
    let json = json_of(&mut tx, call, &repo, &pull, &row).await?;
    call.ctx.commit(tx).await?;
    Ok(Reply::ok(&json))
}

async fn dismiss(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Write).await?;
    let (actor, now) = (call.actor()?, call.ctx.clock.now());
    #[derive(Deserialize)]
    struct DismissalRequest {
        message: Option<String>,
    }
    let request: DismissalRequest = call.json()?;
    let message = request.message.ok_or_else(|| Failure::missing("PullRequestReview", "message"))?;
    let mut tx = call.ctx.store.begin().await?;
    let (pull, mut row) = find_review(&mut tx, call, &repo).await?;
    if !["APPROVED", "CHANGES_REQUESTED"].contains(&row.state.as_str()) {
        return Err(Failure::unprocessable("Can not dismiss a review that neither approves nor objects."));
    }
    let before = row.state.to_ascii_lowercase();
    row.state = "DISMISSED".to_owned();
    reviews::update(&mut tx, &row).await?;
    let detail = json!({"dismissed_review": {
        "state": before, "review_id": row.id, "dismissal_message": message,
    }});
    record_event(&mut tx, &pull.issue, actor, "review_dismissed", detail, now).await?;
    webhook::enqueue(&call.ctx, &mut tx, &repo, actor, Event::Review("dismissed", &pull, &row)).await?;
    let json = json_of(&mut tx, call, &repo, &pull, &row).await?;
    call.ctx.commit(tx).await?;
    Ok(Reply::ok(&json))
}

async fn comments(call: &Call) -> Result<Reply, Failure> {
    shown_comments(call, None).await
}

async fn comments_of(call: &Call) -> Result<Reply, Failure> {
    shown_comments(call, Some(call.number("review")?)).await
}

async fn shown_comments(call: &Call, review: Option<i64>) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let page = Page::of(call);
    let mut db = call.ctx.store.read().await?;
    let pull = find(&mut db, call, &repo).await?;
    let mut rows = reviews::comments_of_issue(&mut db, pull.issue.id).await?;
    rows.retain(|row| review.is_none_or(|review| row.review == review));
    let extras = wire::Extras::of_repo(&mut db, &repo).await?;
    let shown =
        |row: ReviewCommentRow| wire::review_comment(&call.ctx, &repo, &row, pull.issue.number, &extras);
    Ok(page.reply_all(call, rows, shown))
}

async fn show_comment(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let mut db = call.ctx.store.read().await?;
    let row = reviews::comment_by_id(&mut db, repo.row.id, call.number("id")?)
        .await?
        .ok_or_else(Failure::not_found)?;
    let issue = issues::by_id(&mut db, row.issue).await?.ok_or_else(Failure::not_found)?;
    let extras = wire::Extras::of_repo(&mut db, &repo).await?;
    Ok(Reply::ok(&wire::review_comment(&call.ctx, &repo, &row, issue.number, &extras)))
}

/// A single comment becomes a review without a body, as with GitHub.
async fn create_comment(call: &Call) -> Result<Reply, Failure> {
    let new: NewComment = call.json()?;
    post_comment(call, new).await
}

async fn reply(call: &Call) -> Result<Reply, Failure> {
    let mut new: NewComment = call.json()?;
    new.in_reply_to = Some(call.number("id")?);
    post_comment(call, new).await
}

async fn post_comment(call: &Call, mut new: NewComment) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Comment).await?;
    let (actor, now) = (call.actor()?, call.ctx.clock.now());
    let files = changes(call, &repo, true).await?;
    let mut tx = call.ctx.store.begin().await?;
    let pull = find(&mut tx, call, &repo).await?;
    if let Some(id) = new.in_reply_to {
        let first = reviews::comment_by_id(&mut tx, repo.row.id, id).await?;
        let first = first.filter(|first| first.issue == pull.issue.id).ok_or_else(Failure::not_found)?;
        // A reply has the position of the first comment.
        (new.path, new.line, new.side) = (Some(first.path), first.line, Some(first.side));
    }
    let review = ReviewRow {
        id: 0,
        issue: pull.issue.id,
        author: actor.id,
        state: "COMMENTED".to_owned(),
        body: String::new(),
        commit_id: pull.row.head_sha.clone(),
        submitted: Some(now),
    };
    let review = reviews::insert(&mut tx, repo.row.id, &review).await?;
    let row = add_comment(&mut tx, &repo, &review, &pull, new, &files, now).await?;
    issues::touch(&mut tx, pull.issue.id, now).await?;
    let extras = wire::Extras::of_repo(&mut tx, &repo).await?;
    let json = wire::review_comment(&call.ctx, &repo, &row, pull.issue.number, &extras);
    webhook::enqueue(&call.ctx, &mut tx, &repo, actor, Event::ReviewComment(&pull, json.clone())).await?;
    call.ctx.commit(tx).await?;
    Ok(Reply::created(&json))
}

async fn requested(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let mut db = call.ctx.store.read().await?;
    let pull = find(&mut db, call, &repo).await?;
    let people = reviews::requested(&mut db, &ids([pull.issue.id])).await?;
    let users: Vec<Value> =
        people.into_iter().map(|(_, id)| wire::user(&call.ctx, &call.ctx.user(id))).collect();
    Ok(Reply::ok(&json!({"users": users, "teams": []})))
}

#[derive(Deserialize)]
struct ReviewerNames {
    #[serde(default)]
    reviewers: Vec<String>,
}

async fn request(call: &Call) -> Result<Reply, Failure> {
    change_requests(call, true).await
}

async fn unrequest(call: &Call) -> Result<Reply, Failure> {
    change_requests(call, false).await
}

async fn change_requests(call: &Call, ask: bool) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Triage).await?;
    let (actor, now) = (call.actor()?, call.ctx.clock.now());
    let names: ReviewerNames = call.json()?;
    let mut tx = call.ctx.store.begin().await?;
    let pull = find(&mut tx, call, &repo).await?;
    for login in &names.reviewers {
        let user = call.ctx.users.by_login(login).filter(|user| user.id != pull.issue.author);
        let words = if pull_author_asked(call, &pull, login) {
            "Review cannot be requested from pull request author."
        } else {
            "Reviews may only be requested from collaborators. One or more of the users or teams you specified is \
             not a collaborator of the repository."
        };
        let user = user.ok_or_else(|| Failure::unprocessable(words))?;
        let changed = if ask {
            reviews::request(&mut tx, pull.issue.id, user.id).await?
        } else {
            reviews::unrequest(&mut tx, pull.issue.id, user.id).await?
        };
        if changed {
            let (event, action) = if ask {
                ("review_requested", "review_requested")
            } else {
                ("review_request_removed", "review_request_removed")
            };
            let detail = json!({"requested_reviewer": user.id, "review_requester": actor.id});
            record_event(&mut tx, &pull.issue, actor, event, detail, now).await?;
            let more = json!({"requested_reviewer": wire::user(&call.ctx, &user)});
            webhook::enqueue(&call.ctx, &mut tx, &repo, actor, Event::Pull(action, &pull, more)).await?;
        }
    }
    let json = simple_json(&mut tx, call, &repo, &pull).await?;
    call.ctx.commit(tx).await?;
    Ok(Reply::json(if ask { StatusCode::CREATED } else { StatusCode::OK }, &json))
}

fn pull_author_asked(call: &Call, pull: &Pull, login: &str) -> bool {
    call.ctx.users.by_login(login).is_some_and(|user| user.id == pull.issue.author)
}
