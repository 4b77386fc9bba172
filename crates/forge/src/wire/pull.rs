//! GitHub's JSON of pull requests.

use serde_json::{Value, json};

use super::issue::Extras;
use super::{extend, html_url, repo_url, time, user};
use crate::context::Context;
use crate::server::Repo;
use crate::store::Pull;

/// The facts about a pull request that come from git and other tables.
#[derive(Clone, Debug)]
pub(crate) struct PullFacts {
    /// `None` until it is computed.
    pub(crate) mergeable: Option<bool>,
    pub(crate) mergeable_state: &'static str,
    pub(crate) commits: i64,
    pub(crate) additions: i64,
    pub(crate) deletions: i64,
    pub(crate) changed_files: i64,
    pub(crate) review_comments: i64,
}

/// A pull request in a list.
pub(crate) fn pull_simple(ctx: &Context, repo: &Repo, pull: &Pull, extras: &Extras) -> Value {
    let (api, html) = (repo_url(ctx, repo), html_url(ctx, repo));
    let (issue, row, number) = (&pull.issue, &pull.row, pull.issue.number);
    let (url, issue_url) = (format!("{api}/pulls/{number}"), format!("{api}/issues/{number}"));
    let page = format!("{html}/pull/{number}");
    let statuses = format!("{api}/statuses/{}", row.head_sha);
    let assignees = extras.people_json(ctx, issue.id);
    let home = extras.home(ctx, repo);
    let author = user(ctx, &ctx.user(issue.author));
    let links = json!({
        "self": {"href": url},
        "html": {"href": page},
        "issue": {"href": issue_url},
        "comments": {"href": format!("{issue_url}/comments")},
        "review_comments": {"href": format!("{url}/comments")},
        "review_comment": {"href": format!("{api}/pulls/comments{{/number}}")},
        "commits": {"href": format!("{url}/commits")},
        "statuses": {"href": statuses},
    });
    let addresses = json!({
        "url": url,
        "html_url": page,
        "diff_url": format!("{page}.diff"),
        "patch_url": format!("{page}.patch"),
        "issue_url": issue_url,
        "commits_url": format!("{url}/commits"),
        "review_comments_url": format!("{url}/comments"),
        "review_comment_url": format!("{api}/pulls/comments{{/number}}"),
        "comments_url": format!("{issue_url}/comments"),
        "statuses_url": statuses,
        "_links": links,
    });
    let facts = json!({
        "id": issue.id,
        "node_id": format!("PR_{}", issue.id),
        "number": number,
        "state": issue.state,
        "locked": issue.locked,
        "active_lock_reason": null,
        "title": issue.title,
        "user": author,
        "body": issue.body,
        "labels": extras.labels_json(ctx, repo, issue.id),
        "milestone": extras.milestone_json(ctx, repo, issue),
        "created_at": issue.created.iso(),
        "updated_at": issue.updated.iso(),
        "closed_at": time(issue.closed),
        "merged_at": time(row.merged),
        "merge_commit_sha": row.merge_commit,
        "assignee": assignees.first().cloned().unwrap_or_default(),
        "assignees": assignees,
        "requested_reviewers": extras.reviewers_json(ctx, issue.id),
        "requested_teams": [],
        "draft": row.draft,
        "head": side(ctx, repo, &row.head_ref, &row.head_sha, home),
        "base": side(ctx, repo, &row.base_ref, &row.base_told, home),
        "author_association": extras.association(repo, issue.author),
        "auto_merge": null,
    });
    extend(addresses, facts)
}

/// A single pull request.
pub(crate) fn pull(ctx: &Context, repo: &Repo, pull: &Pull, extras: &Extras, facts: &PullFacts) -> Value {
    let more = json!({
        "merged": pull.row.merged.is_some(),
        "mergeable": facts.mergeable,
        "rebaseable": facts.mergeable,
        "mergeable_state": facts.mergeable_state,
        "merged_by": pull.row.merged_by.map_or(Value::Null, |id| user(ctx, &ctx.user(id))),
        "comments": pull.issue.comments,
        "review_comments": facts.review_comments,
        "maintainer_can_modify": false,
        "commits": facts.commits,
        "additions": facts.additions,
        "deletions": facts.deletions,
        "changed_files": facts.changed_files,
    });
    extend(pull_simple(ctx, repo, pull, extras), more)
}

fn side(ctx: &Context, repo: &Repo, branch: &str, sha: &str, home: &Value) -> Value {
    json!({
        "label": format!("{}:{branch}", repo.owner.login),
        "ref": branch,
        "sha": sha,
        "user": user(ctx, &repo.owner),
        "repo": home,
    })
}
