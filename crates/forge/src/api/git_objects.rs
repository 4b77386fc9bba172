//! Git objects: blobs, trees, commits and tags.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::json;

use super::contents::too_large;
use super::revision::resolve;
use crate::git::{GitError, Repository, Signature};
use crate::name::{RefName, Sha, is_file_path};
use crate::server::{Access, Call, Failure, FieldError, Reply, Route, get, post};
use crate::store::User;
use crate::timestamp::Timestamp;
use crate::wire;

pub(crate) const ROUTES: &[Route] = &[
    post("/repos/{owner}/{repo}/git/blobs", |call| Box::pin(create_blob(call))),
    get("/repos/{owner}/{repo}/git/blobs/{sha}", |call| Box::pin(blob(call))),
    post("/repos/{owner}/{repo}/git/trees", |call| Box::pin(create_tree(call))),
    get("/repos/{owner}/{repo}/git/trees/{sha*}", |call| Box::pin(tree(call))),
    post("/repos/{owner}/{repo}/git/commits", |call| Box::pin(create_commit(call))),
    get("/repos/{owner}/{repo}/git/commits/{sha}", |call| Box::pin(commit(call))),
    post("/repos/{owner}/{repo}/git/tags", |call| Box::pin(create_tag(call))),
    get("/repos/{owner}/{repo}/git/tags/{sha}", |call| Box::pin(tag(call))),
];

/// Limit for the entries of a new tree.
const MOST_ENTRIES: usize = 10_000;

fn sha(call: &Call) -> Result<Sha, Failure> {
    Sha::parse(call.params.get("sha")).ok_or_else(Failure::not_found)
}

#[derive(Deserialize)]
struct NewBlob {
    content: Option<String>,
    encoding: Option<String>,
}

async fn create_blob(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Write).await?;
    let new: NewBlob = call.json()?;
    let content = new.content.ok_or_else(|| Failure::missing("Blob", "content"))?;
    let bytes = match new.encoding.as_deref() {
        None | Some("utf-8") => content.into_bytes(),
        Some("base64") => decode(&content)?,
        Some(_) => return Err(Failure::invalid(FieldError::new("Blob", "encoding", "invalid"))),
    };
    let sha = call.ctx.repository(repo.row.id).write_blob(&bytes).await?;
    let url = format!("{}/git/blobs/{sha}", wire::repo_url(&call.ctx, &repo));
    Ok(Reply::created(&json!({"sha": sha.as_str(), "url": url})))
}

/// Decodes Base64 with or without line breaks.
pub(super) fn decode(text: &str) -> Result<Vec<u8>, Failure> {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    STANDARD.decode(text).map_err(|_| Failure::unprocessable("content is not valid Base64"))
}

async fn blob(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let sha = sha(call)?;
    let bytes = match call.ctx.repository(repo.row.id).blob(&sha).await {
        Err(GitError::TooMuchOutput(_)) => return Err(too_large()),
        read => read?.ok_or_else(Failure::not_found)?,
    };
    Ok(Reply::ok(&wire::git_blob(&call.ctx, &repo, &sha, &bytes)))
}

#[derive(Deserialize)]
struct NewTree {
    tree: Option<Vec<NewEntry>>,
    base_tree: Option<String>,
}

#[derive(Deserialize)]
struct NewEntry {
    path: Option<String>,
    mode: Option<String>,
    sha: Option<String>,
    content: Option<String>,
}

async fn create_tree(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Write).await?;
    let new: NewTree = call.json()?;
    let entries = new.tree.ok_or_else(|| Failure::missing("Tree", "tree"))?;
    if entries.len() > MOST_ENTRIES {
        return Err(Failure::unprocessable(format!("tree has more than {MOST_ENTRIES} entries")));
    }
    let git = call.ctx.repository(repo.row.id);
    let base = match new.base_tree.as_deref() {
        Some(text) => {
            let sha = Sha::parse(text).ok_or_else(Failure::not_found)?;
            Some(git.resolve(&format!("{sha}^{{tree}}")).await?.ok_or_else(Failure::not_found)?)
        }
        None => None,
    };
    let mut changes = Vec::new();
    for entry in entries {
        changes.push(entry_change(&git, entry).await?);
    }
    let sha = git.write_tree(base.as_ref(), &changes).await?;
    let entries = git.tree(&sha, false).await?.unwrap_or_default();
    Ok(Reply::created(&wire::git_tree(&call.ctx, &repo, &sha, &entries)))
}

async fn entry_change(
    git: &Repository<'_>,
    entry: NewEntry,
) -> Result<(String, String, Option<Sha>), Failure> {
    let path = entry.path.filter(|path| is_file_path(path));
    let path = path.ok_or_else(|| Failure::unprocessable("tree.path contains a malformed path component"))?;
    let mode = entry.mode.unwrap_or_else(|| "100644".to_owned());
    if !["100644", "100755", "040000", "120000", "160000"].contains(&mode.as_str()) {
        return Err(Failure::unprocessable(format!("tree.mode {mode} is not a valid mode")));
    }
    let sha = match (entry.sha, entry.content) {
        (Some(text), _) => {
            let sha = Sha::parse(&text)
                .ok_or_else(|| Failure::unprocessable("tree.sha is not a valid object id"))?;
            if mode != "160000" && git.kind(&sha).await?.is_none() {
                return Err(Failure::unprocessable(format!("tree.sha {sha} is not a valid object id")));
            }
            Some(sha)
        }
        (None, Some(content)) => Some(git.write_blob(content.as_bytes()).await?),
        // A null removes the path.
        (None, None) => None,
    };
    Ok((mode, path, sha))
}

async fn tree(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let git = call.ctx.repository(repo.row.id);
    let text = call.params.get("sha");
    let found = match Sha::parse(text) {
        Some(sha) => git.resolve(&format!("{sha}^{{tree}}")).await?,
        None => match resolve(&git, text).await? {
            Some(commit) => git.resolve(&format!("{commit}^{{tree}}")).await?,
            None => None,
        },
    };
    let sha = found.ok_or_else(Failure::not_found)?;
    let deep = call.query.get("recursive").is_some();
    let entries = git.tree(&sha, deep).await?.ok_or_else(Failure::not_found)?;
    Ok(Reply::ok(&wire::git_tree(&call.ctx, &repo, &sha, &entries)))
}

/// An author, committer or tagger in a request.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Person {
    name: Option<String>,
    email: Option<String>,
    date: Option<String>,
}

impl Person {
    /// The signature for git; absent fields default to the acting user and the current time.
    pub(super) fn signature(
        person: Option<&Person>,
        actor: &User,
        now: Timestamp,
    ) -> Result<Signature, Failure> {
        let text = |field: fn(&Person) -> &Option<String>| person.and_then(|person| field(person).clone());
        let date = match text(|person| &person.date) {
            Some(date) => {
                Timestamp::parse(&date).ok_or_else(|| Failure::unprocessable("date is not a valid date"))?
            }
            None => now,
        };
        Ok(Signature {
            name: text(|person| &person.name).unwrap_or_else(|| actor.login.clone()),
            email: text(|person| &person.email).unwrap_or_else(|| actor.email()),
            date,
        })
    }
}

#[derive(Deserialize)]
struct NewCommit {
    message: Option<String>,
    tree: Option<String>,
    #[serde(default)]
    parents: Vec<String>,
    author: Option<Person>,
    committer: Option<Person>,
}

async fn create_commit(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Write).await?;
    let actor = call.actor()?;
    let new: NewCommit = call.json()?;
    let message = new.message.ok_or_else(|| Failure::missing("Commit", "message"))?;
    let tree = new.tree.ok_or_else(|| Failure::missing("Commit", "tree"))?;
    let git = call.ctx.repository(repo.row.id);
    let tree = kind_of(&git, &tree, "tree").await?;
    let mut parents = Vec::new();
    for parent in &new.parents {
        parents.push(kind_of(&git, parent, "commit").await?);
    }
    let now = call.ctx.clock.now();
    let author = Person::signature(new.author.as_ref(), actor, now)?;
    let committer = Person::signature(new.committer.as_ref().or(new.author.as_ref()), actor, now)?;
    let sha = git.write_commit(&tree, &parents, &author, &committer, &message).await?;
    let commit = git.commit(&sha).await?.ok_or_else(Failure::not_found)?;
    Ok(Reply::created(&wire::git_commit(&call.ctx, &repo, &commit)))
}

/// An object that must exist and have this kind.
async fn kind_of(git: &Repository<'_>, text: &str, kind: &str) -> Result<Sha, Failure> {
    let sha = Sha::parse(text);
    if let Some(sha) = sha
        && git.kind(&sha).await?.as_deref() == Some(kind)
    {
        return Ok(sha);
    }
    Err(Failure::unprocessable(format!("{kind} SHA does not exist or is not a {kind} object")))
}

async fn commit(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let sha = sha(call)?;
    let commit = call.ctx.repository(repo.row.id).commit(&sha).await?.ok_or_else(Failure::not_found)?;
    Ok(Reply::ok(&wire::git_commit(&call.ctx, &repo, &commit)))
}

#[derive(Deserialize)]
struct NewTag {
    tag: Option<String>,
    message: Option<String>,
    object: Option<String>,
    r#type: Option<String>,
    tagger: Option<Person>,
}

async fn create_tag(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Write).await?;
    let actor = call.actor()?;
    let new: NewTag = call.json()?;
    let name = new.tag.ok_or_else(|| Failure::missing("Tag", "tag"))?;
    if RefName::tag(&name).is_none() {
        return Err(Failure::invalid(FieldError::new("Tag", "tag", "invalid")));
    }
    let message = new.message.ok_or_else(|| Failure::missing("Tag", "message"))?;
    let object = new.object.ok_or_else(|| Failure::missing("Tag", "object"))?;
    let kind = new.r#type.unwrap_or_else(|| "commit".to_owned());
    if !["commit", "tree", "blob"].contains(&kind.as_str()) {
        return Err(Failure::invalid(FieldError::new("Tag", "type", "invalid")));
    }
    let git = call.ctx.repository(repo.row.id);
    let target = kind_of(&git, &object, &kind).await?;
    let tagger = Person::signature(new.tagger.as_ref(), actor, call.ctx.clock.now())?;
    let sha = git.write_tag(&target, &kind, &name, &tagger, &message).await?;
    let tag = git.tag(&sha).await?.ok_or_else(Failure::not_found)?;
    Ok(Reply::created(&wire::git_tag(&call.ctx, &repo, &tag)))
}

async fn tag(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let sha = sha(call)?;
    let tag = call.ctx.repository(repo.row.id).tag(&sha).await?.ok_or_else(Failure::not_found)?;
    Ok(Reply::ok(&wire::git_tag(&call.ctx, &repo, &tag)))
}
