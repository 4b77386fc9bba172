//! Commits, branches, tags and comparisons.

use hyper::StatusCode;
use serde_json::{Value, json};

use super::revision::{commit, empty, or_default, resolve};
use crate::git::{Commit, FullRef, GitError, Repository};
use crate::name::{RefName, Sha, is_file_path};
use crate::server::{Access, Call, Failure, Media, Page, Reply, Repo, Route, get, percent_encode};
use crate::store::{PullFilter, protections, pulls};
use crate::wire;

pub(crate) const ROUTES: &[Route] = &[
    get("/repos/{owner}/{repo}/commits", |call| Box::pin(list(call))),
    get("/repos/{owner}/{repo}/commits/{ref}/pulls", |call| Box::pin(pulls_of(call))),
    get("/repos/{owner}/{repo}/compare/{basehead*}", |call| Box::pin(compare(call))),
    get("/repos/{owner}/{repo}/branches", |call| Box::pin(branches(call))),
    get("/repos/{owner}/{repo}/tags", |call| Box::pin(tags(call))),
];

/// Routes that match any rest of the path, so they come last.
pub(crate) const GREEDY: &[Route] = &[
    get("/repos/{owner}/{repo}/commits/{ref*}", |call| Box::pin(show(call))),
    get("/repos/{owner}/{repo}/branches/{branch*}", |call| Box::pin(branch(call))),
];

/// GitHub's limit for the commits of a comparison.
const MOST_COMPARED: usize = 250;

async fn list(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let page = Page::of(call);
    let git = call.ctx.repository(repo.row.id);
    let asked = call.query.get("sha");
    let tip = or_default(&git, &repo, asked).await?;
    let tip = tip.ok_or_else(|| if asked.is_some() { Failure::not_found() } else { empty() })?;
    let path = call.query.get("path").map(|path| path.trim_matches('/'));
    if path.is_some_and(|path| !is_file_path(path)) {
        return Ok(page.reply(call, Vec::new(), Some(0)));
    }
    let found = git.log_of(&tip, None, path, page.offset(), page.size() + 1).await?;
    let items = found.iter().map(|commit| wire::commit(&call.ctx, &repo, commit)).collect();
    Ok(page.reply(call, items, None))
}

async fn show(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let git = call.ctx.repository(repo.row.id);
    let sha = commit(&git, call.params.get("ref")).await?;
    let found = git.commit(&sha).await?.ok_or_else(Failure::not_found)?;
    let before = found.parents.first().cloned().unwrap_or_else(empty_tree);
    match call.media() {
        Media::Sha => {
            return Ok(Reply::text(
                StatusCode::OK,
                "application/vnd.github.sha; charset=utf-8",
                sha.to_string(),
            ));
        }
        Media::Diff => return diff(&git, &before, &sha).await,
        Media::Patch => return patch(&git, found.parents.first(), &sha).await,
        Media::Json | Media::Raw => {}
    }
    let files = git.changes(&before, &sha).await?;
    let (plus, minus) =
        files.iter().fold((0, 0), |(plus, minus), file| (plus + file.additions, minus + file.deletions));
    let files: Vec<Value> =
        files.iter().map(|file| wire::file_change(&call.ctx, &repo, file, &sha)).collect();
    let more =
        json!({"stats": {"additions": plus, "deletions": minus, "total": plus + minus}, "files": files});
    Ok(Reply::ok(&wire::extend(wire::commit(&call.ctx, &repo, &found), more)))
}

/// The sha of the empty tree, which every git knows.
fn empty_tree() -> Sha {
    Sha::parse("4b825dc642cb6eb9a060e54bf8d69288fbee4904").unwrap_or_else(Sha::zero)
}

/// A diff as text; GitHub's error if it is too large.
pub(super) async fn diff(git: &Repository<'_>, old: &Sha, new: &Sha) -> Result<Reply, Failure> {
    text_reply(git.patch(old, new).await, "application/vnd.github.diff; charset=utf-8")
}

/// Commits in the format of `git am`.
pub(super) async fn patch(git: &Repository<'_>, old: Option<&Sha>, new: &Sha) -> Result<Reply, Failure> {
    text_reply(git.format_patch(old, new).await, "application/vnd.github.patch; charset=utf-8")
}

fn text_reply(output: Result<Vec<u8>, GitError>, kind: &'static str) -> Result<Reply, Failure> {
    match output {
        Ok(bytes) => Ok(Reply::text(StatusCode::OK, kind, bytes)),
        Err(GitError::TooMuchOutput(_)) => {
            Err(Failure::new(StatusCode::NOT_ACCEPTABLE, "Sorry, the diff exceeded the maximum size."))
        }
        Err(error) => Err(error.into()),
    }
}

async fn pulls_of(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let page = Page::of(call);
    let sha = commit(&call.ctx.repository(repo.row.id), call.params.get("ref")).await?;
    let mut db = call.ctx.store.read().await?;
    let filter = PullFilter { head_sha: Some(sha.to_string()), ..PullFilter::default() };
    let mut found = pulls::all(&mut db, repo.row.id, &filter).await?;
    let merged = pulls::by_merge_commit(&mut db, repo.row.id, sha.as_str()).await?;
    found.extend(merged.into_iter().filter(|pull| pull.row.head_sha != sha.as_str()));
    let total = i64::try_from(found.len()).ok();
    let found = page.cut(found);
    let extras = wire::Extras::of(&mut db, &repo, found.iter().map(|pull| &pull.issue)).await?;
    let items = found.iter().map(|pull| wire::pull_simple(&call.ctx, &repo, pull, &extras)).collect();
    Ok(page.reply(call, items, total))
}

async fn compare(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let page = Page::of(call);
    let git = call.ctx.repository(repo.row.id);
    let text = call.params.get("basehead");
    let (base, head) = text.split_once("...").ok_or_else(Failure::not_found)?;
    let own = |side: &str| match side.split_once(':') {
        Some((owner, name)) => owner.eq_ignore_ascii_case(&repo.owner.login).then(|| name.to_owned()),
        None => Some(side.to_owned()),
    };
    let (Some(base), Some(head)) = (own(base), own(head)) else {
        return Err(Failure::not_found());
    };
    let base = resolve(&git, &base).await?.ok_or_else(Failure::not_found)?;
    let head = resolve(&git, &head).await?.ok_or_else(Failure::not_found)?;
    let missing =
        || Failure::new(StatusCode::NOT_FOUND, format!("No common ancestor between {base} and {head}."));
    let root = git.merge_base(&base, &head).await?.ok_or_else(missing)?;
    match call.media() {
        Media::Diff => return diff(&git, &root, &head).await,
        Media::Patch => return patch(&git, Some(&root), &head).await,
        Media::Json | Media::Raw | Media::Sha => {}
    }
    let (ahead, behind) = (git.count(&head, &base).await?, git.count(&base, &head).await?);
    let mut commits = git.log(&head, Some(&base), MOST_COMPARED).await?;
    commits.reverse();
    let files = git.changes(&root, &head).await?;
    let base_commit = git.commit(&base).await?.ok_or_else(Failure::not_found)?;
    let root_commit = git.commit(&root).await?.ok_or_else(Failure::not_found)?;
    let shown = |commit: &Commit| wire::commit(&call.ctx, &repo, commit);
    let url = format!("{}/compare/{}", wire::repo_url(&call.ctx, &repo), percent_encode(text));
    let html = format!("{}/compare/{}", wire::html_url(&call.ctx, &repo), percent_encode(text));
    let status = match (ahead, behind) {
        (0, 0) => "identical",
        (_, 0) => "ahead",
        (0, _) => "behind",
        (_, _) => "diverged",
    };
    let more = page.cut(commits);
    Ok(Reply::ok(&json!({
        "url": url,
        "html_url": html,
        "permalink_url": html,
        "diff_url": format!("{html}.diff"),
        "patch_url": format!("{html}.patch"),
        "base_commit": shown(&base_commit),
        "merge_base_commit": shown(&root_commit),
        "status": status,
        "ahead_by": ahead,
        "behind_by": behind,
        "total_commits": ahead,
        "commits": more.iter().take(page.size()).map(shown).collect::<Vec<_>>(),
        "files": files.iter().map(|file| wire::file_change(&call.ctx, &repo, file, &head)).collect::<Vec<_>>(),
    })))
}

async fn branches(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let page = Page::of(call);
    let refs = call.ctx.repository(repo.row.id).refs_below(&["refs/heads"]).await?;
    let mut db = call.ctx.store.read().await?;
    let protected = protections::of_repo(&mut db, repo.row.id).await?;
    let is_protected = |name: &str| protected.iter().any(|(branch, _)| branch == name);
    let wanted = call.query.get("protected").map(|text| text == "true");
    let named: Vec<(&str, &Sha)> = refs
        .iter()
        .filter_map(|(name, sha)| Some((name.as_branch()?, sha)))
        .filter(|(name, _)| wanted.is_none_or(|wanted| is_protected(name) == wanted))
        .collect();
    let total = i64::try_from(named.len()).ok();
    let items = page.cut(named).into_iter().map(|(name, sha)| {
        let url =
            format!("{}/branches/{}/protection", wire::repo_url(&call.ctx, &repo), percent_encode(name));
        json!({
            "name": name,
            "commit": wire::short_commit(&call.ctx, &repo, sha.as_str()),
            "protected": is_protected(name),
            "protection_url": url,
        })
    });
    Ok(page.reply(call, items.collect(), total))
}

async fn branch(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let git = call.ctx.repository(repo.row.id);
    let name = call.params.get("branch");
    let missing = || Failure::new(StatusCode::NOT_FOUND, "Branch not found");
    let full = RefName::branch(name).ok_or_else(missing)?;
    let sha = git.read_ref(&full).await?.ok_or_else(missing)?;
    let commit = git.commit(&sha).await?.ok_or_else(missing)?;
    let mut db = call.ctx.store.read().await?;
    let rules = super::protection::of_branch(&mut db, &repo, name).await?;
    let url = format!("{}/branches/{}", wire::repo_url(&call.ctx, &repo), percent_encode(name));
    Ok(Reply::ok(&json!({
        "name": name,
        "commit": wire::commit(&call.ctx, &repo, &commit),
        "_links": {
            "self": url,
            "html": format!("{}/tree/{}", wire::html_url(&call.ctx, &repo), percent_encode(name)),
        },
        "protected": rules.is_some(),
        "protection": super::protection::summary(rules.as_ref()),
        "protection_url": format!("{url}/protection"),
    })))
}

async fn tags(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let page = Page::of(call);
    let git = call.ctx.repository(repo.row.id);
    let mut tags = git.full_refs(&["refs/tags"]).await?;
    tags.retain(|tag| tag.commit.is_some());
    tags.reverse();
    let total = i64::try_from(tags.len()).ok();
    let shown = |tag: &FullRef| Some(tag_json(call, &repo, tag.name.as_tag()?, tag.commit.as_ref()?));
    let items = page.cut(tags).iter().filter_map(shown).collect();
    Ok(page.reply(call, items, total))
}

fn tag_json(call: &Call, repo: &Repo, tag: &str, sha: &Sha) -> Value {
    let api = wire::repo_url(&call.ctx, repo);
    let name = percent_encode(tag);
    json!({
        "name": tag,
        "commit": wire::short_commit(&call.ctx, repo, sha.as_str()),
        "zipball_url": format!("{api}/zipball/refs/tags/{name}"),
        "tarball_url": format!("{api}/tarball/refs/tags/{name}"),
        "node_id": format!("REF_{tag}"),
    })
}
