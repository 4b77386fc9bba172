//! Commits as GitHub shows them.

use serde_json::{Value, json};

use super::{html_url, repo_url, user};
use crate::git::{Commit, Signature};
use crate::server::Repo;
use crate::site::Site;

/// Who made a commit.
fn signature(who: &Signature) -> Value {
    json!({"name": who.name, "email": who.email, "date": who.date.iso()})
}

fn verification() -> Value {
    json!({"verified": false, "reason": "unsigned", "signature": null, "payload": null, "verified_at": null})
}

/// A commit as the API's commits show it, without its files.
pub(crate) fn commit(site: &Site, repo: &Repo, commit: &Commit) -> Value {
    let (api, html, sha) = (repo_url(site, repo), html_url(site, repo), &commit.sha);
    let account =
        |who: &Signature| site.people.by_email(&who.email).map_or(Value::Null, |found| user(site, &found));
    let parents: Vec<Value> = commit
        .parents
        .iter()
        .map(|sha| {
            json!({
                "sha": sha.as_str(),
                "url": format!("{api}/commits/{sha}"),
                "html_url": format!("{html}/commit/{sha}"),
            })
        })
        .collect();
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
        "parents": parents,
    })
}

/// A commit as a git object.
pub(crate) fn git_commit(site: &Site, repo: &Repo, commit: &Commit) -> Value {
    let (api, html, sha) = (repo_url(site, repo), html_url(site, repo), &commit.sha);
    let parents: Vec<Value> = commit
        .parents
        .iter()
        .map(|sha| {
            json!({
                "sha": sha.as_str(),
                "url": format!("{api}/git/commits/{sha}"),
                "html_url": format!("{html}/commit/{sha}"),
            })
        })
        .collect();
    json!({
        "sha": sha.as_str(),
        "node_id": format!("C_{sha}"),
        "url": format!("{api}/git/commits/{sha}"),
        "html_url": format!("{html}/commit/{sha}"),
        "author": signature(&commit.author),
        "committer": signature(&commit.committer),
        "message": commit.message,
        "tree": {"sha": commit.tree.as_str(), "url": format!("{api}/git/trees/{}", commit.tree)},
        "parents": parents,
        "verification": verification(),
    })
}

/// A commit as suites, runs and pushes name it.
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

/// A commit as branches, tags and refs name it.
pub(crate) fn short_commit(site: &Site, repo: &Repo, sha: &str) -> Value {
    json!({"sha": sha, "url": format!("{}/commits/{sha}", repo_url(site, repo))})
}
