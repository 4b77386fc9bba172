//! GitHub's JSON of commits.

use serde_json::{Value, json};

use super::{html_url, repo_url, user};
use crate::context::Context;
use crate::git::{Commit, Signature};
use crate::name::Sha;
use crate::server::Repo;

fn signature(who: &Signature) -> Value {
    json!({"name": who.name, "email": who.email, "date": who.date.iso()})
}

fn verification() -> Value {
    json!({"verified": false, "reason": "unsigned", "signature": null, "payload": null, "verified_at": null})
}

fn parents(commit: &Commit, api: &str, html: &str) -> Vec<Value> {
    let parent = |sha: &Sha| {
        json!({
            "sha": sha.as_str(),
            "url": format!("{api}/{sha}"),
            "html_url": format!("{html}/commit/{sha}"),
        })
    };
    commit.parents.iter().map(parent).collect()
}

/// A commit of the commits API, without files.
pub(crate) fn commit(ctx: &Context, repo: &Repo, commit: &Commit) -> Value {
    let (api, html, sha) = (repo_url(ctx, repo), html_url(ctx, repo), &commit.sha);
    let account =
        |who: &Signature| ctx.users.by_email(&who.email).map_or(Value::Null, |found| user(ctx, &found));
    json!({
        "sha": sha.as_str(),
        "node_id": format!("C_{sha}"),
        "url": format!("{api}/commits/{sha}"),
        "html_url": format!("{html}/commit/{sha}"),
        "comments_url": format!("{api}/commits/{sha}/comments"),
        "commit": {
            "url": format!("{api}/git/commits/{sha}"),
            "author": signature(&commit.author),
            "committer": signature(&commit.committer),
            "message": commit.message,
            "tree": {"sha": commit.tree.as_str(), "url": format!("{api}/git/trees/{}", commit.tree)},
            "comment_count": 0,
            "verification": verification(),
        },
        "author": account(&commit.author),
        "committer": account(&commit.committer),
        "parents": parents(commit, &format!("{api}/commits"), &html),
    })
}

/// A commit of the git objects API.
pub(crate) fn git_commit(ctx: &Context, repo: &Repo, commit: &Commit) -> Value {
    let (api, html, sha) = (repo_url(ctx, repo), html_url(ctx, repo), &commit.sha);
    json!({
        "sha": sha.as_str(),
        "node_id": format!("C_{sha}"),
        "url": format!("{api}/git/commits/{sha}"),
        "html_url": format!("{html}/commit/{sha}"),
        "author": signature(&commit.author),
        "committer": signature(&commit.committer),
        "message": commit.message,
        "tree": {"sha": commit.tree.as_str(), "url": format!("{api}/git/trees/{}", commit.tree)},
        "parents": parents(commit, &format!("{api}/git/commits"), &html),
        "verification": verification(),
    })
}

/// A commit in suites, runs and pushes.
pub(crate) fn simple_commit(commit: &Commit) -> Value {
    let who = |who: &Signature| json!({"name": who.name, "email": who.email});
    json!({
        "id": commit.sha.as_str(),
        "tree_id": commit.tree.as_str(),
        "message": commit.message,
        "timestamp": commit.committer.date.iso(),
        "author": who(&commit.author),
        "committer": who(&commit.committer),
    })
}

/// A commit in branches, tags and refs.
pub(crate) fn short_commit(ctx: &Context, repo: &Repo, sha: &str) -> Value {
    json!({"sha": sha, "url": format!("{}/commits/{sha}", repo_url(ctx, repo))})
}
