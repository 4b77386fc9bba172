//! GitHub's JSON of git objects and refs.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{html_url, repo_url};
use crate::context::Context;
use crate::git::{EntryKind, Tag, TreeEntry};
use crate::name::{RefName, Sha};
use crate::server::{Repo, percent_encode};

fn object_url(ctx: &Context, repo: &Repo, kind: &str, sha: &Sha) -> String {
    format!("{}/git/{kind}s/{sha}", repo_url(ctx, repo))
}

pub(crate) fn git_ref(ctx: &Context, repo: &Repo, name: &RefName, sha: &Sha, kind: &str) -> Value {
    json!({
        "ref": name.as_str(),
        "node_id": format!("REF_{}", name),
        "url": format!("{}/git/{}", repo_url(ctx, repo), name),
        "object": {"type": kind, "sha": sha.as_str(), "url": object_url(ctx, repo, kind, sha)},
    })
}

pub(crate) fn git_tag(ctx: &Context, repo: &Repo, tag: &Tag) -> Value {
    json!({
        "node_id": format!("TA_{}", tag.sha),
        "tag": tag.name,
        "sha": tag.sha.as_str(),
        "url": object_url(ctx, repo, "tag", &tag.sha),
        "message": tag.message,
        "tagger": {"name": tag.tagger.name, "email": tag.tagger.email, "date": tag.tagger.date.iso()},
        "object": {
            "sha": tag.target.as_str(),
            "type": tag.kind,
            "url": object_url(ctx, repo, &tag.kind, &tag.target),
        },
        "verification": {
            "verified": false, "reason": "unsigned", "signature": null, "payload": null, "verified_at": null,
        },
    })
}

pub(crate) fn git_tree(ctx: &Context, repo: &Repo, sha: &Sha, entries: &[TreeEntry]) -> Value {
    let entries: Vec<Value> = entries
        .iter()
        .map(|entry| {
            let mut json = json!({
                "path": entry.path,
                "mode": entry.mode,
                "type": entry.kind.word(),
                "sha": entry.sha.as_str(),
                "url": object_url(ctx, repo, entry.kind.word(), &entry.sha),
            });
            if let Some(size) = entry.size {
                json["size"] = size.into();
            }
            json
        })
        .collect();
    json!({
        "sha": sha.as_str(),
        "url": object_url(ctx, repo, "tree", sha),
        "tree": entries,
        "truncated": false,
    })
}

pub(crate) fn git_blob(ctx: &Context, repo: &Repo, sha: &Sha, content: &[u8]) -> Value {
    json!({
        "sha": sha.as_str(),
        "node_id": format!("B_{sha}"),
        "url": object_url(ctx, repo, "blob", sha),
        "size": content.len(),
        "content": STANDARD.encode(content),
        "encoding": "base64",
    })
}

/// A file or directory at a revision; a single file has its content.
pub(crate) fn content(
    ctx: &Context,
    repo: &Repo,
    entry: &TreeEntry,
    revision: &str,
    bytes: Option<&[u8]>,
) -> Value {
    let (api, html) = (repo_url(ctx, repo), html_url(ctx, repo));
    let path = percent_encode(&entry.path).replace("%2F", "/");
    let name = entry.path.rsplit('/').next().unwrap_or_default();
    let url = format!("{api}/contents/{path}?ref={}", percent_encode(revision));
    let (kind, page) = match entry.kind {
        EntryKind::Tree => ("dir", "tree"),
        EntryKind::Commit => ("submodule", "tree"),
        EntryKind::Blob if entry.mode == "120000" => ("symlink", "blob"),
        EntryKind::Blob => ("file", "blob"),
    };
    let page = format!("{html}/{page}/{}/{path}", percent_encode(revision));
    let git = object_url(ctx, repo, entry.kind.word(), &entry.sha);
    let raw = (kind == "file").then(|| format!("{html}/raw/{}/{path}", percent_encode(revision)));
    let mut json = json!({
        "type": kind,
        "size": entry.size.unwrap_or(0),
        "name": name,
        "path": entry.path,
        "sha": entry.sha.as_str(),
        "url": url,
        "git_url": git,
        "html_url": page,
        "download_url": raw,
        "_links": {"self": url, "git": git, "html": page},
    });
    match (bytes, kind) {
        (Some(bytes), "symlink") => json["target"] = String::from_utf8_lossy(bytes).into(),
        (Some(bytes), _) => {
            json["content"] = lines(&STANDARD.encode(bytes)).into();
            json["encoding"] = "base64".into();
        }
        (None, "submodule") => json["submodule_git_url"] = Value::Null,
        (None, _) => {}
    }
    json
}

/// Base64 in lines of 60 characters, as GitHub sends it.
fn lines(text: &str) -> String {
    let mut lines = String::with_capacity(text.len() + text.len() / 60 + 1);
    for (at, letter) in text.chars().enumerate() {
        if at > 0 && at % 60 == 0 {
            lines.push('\n');
        }
        lines.push(letter);
    }
    lines.push('\n');
    lines
}
