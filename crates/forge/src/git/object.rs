//! Reading and writing of blobs, trees, commits and tags.

use super::history::Signature;
use super::repository::Repository;
use super::run::GitError;
use crate::name::Sha;

/// The kind of a tree entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Blob,
    Tree,
    Commit,
}

impl EntryKind {
    pub(crate) fn word(self) -> &'static str {
        match self {
            EntryKind::Blob => "blob",
            EntryKind::Tree => "tree",
            EntryKind::Commit => "commit",
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct TreeEntry {
    pub(crate) mode: String,
    pub(crate) kind: EntryKind,
    pub(crate) sha: Sha,
    pub(crate) size: Option<i64>,
    pub(crate) path: String,
}

impl Repository<'_> {
    /// The kind of an object, if it exists.
    pub(crate) async fn kind(&self, sha: &Sha) -> Result<Option<String>, GitError> {
        let output = self.call(["cat-file", "-t", sha.as_str()]).output().await?;
        Ok((output.code == Some(0)).then(|| output.text()))
    }

    pub(crate) async fn blob(&self, sha: &Sha) -> Result<Option<Vec<u8>>, GitError> {
        let output = self.call(["cat-file", "blob", sha.as_str()]).output().await?;
        Ok((output.code == Some(0)).then_some(output.stdout))
    }

    pub(crate) async fn write_blob(&self, content: &[u8]) -> Result<Sha, GitError> {
        let output = self.call(["hash-object", "-w", "--stdin"]).stdin(content).run().await?;
        Sha::parse(&output.text()).ok_or(GitError::Unexpected("hash-object"))
    }

    /// The entries of a tree, or of the tree of a commit; `deep` includes subtrees.
    pub(crate) async fn tree(&self, sha: &Sha, deep: bool) -> Result<Option<Vec<TreeEntry>>, GitError> {
        let mut args = vec!["ls-tree", "-z", "-l", "--full-tree"];
        if deep {
            args.extend(["-r", "-t"]);
        }
        args.extend(["--end-of-options", sha.as_str()]);
        let output = self.call(args).output().await?;
        Ok((output.code == Some(0)).then(|| entries(&String::from_utf8_lossy(&output.stdout))))
    }

    /// The entry of one path in the tree of a commit.
    pub(crate) async fn entry(&self, commit: &Sha, path: &str) -> Result<Option<TreeEntry>, GitError> {
        let path = format!(":(literal){path}");
        let args = ["ls-tree", "-z", "-l", "--full-tree", "--end-of-options", commit.as_str(), "--", &path];
        let output = self.call(args).with("GIT_LITERAL_PATHSPECS", "0").output().await?;
        Ok(entries(&String::from_utf8_lossy(&output.stdout)).into_iter().next())
    }

    /// Writes a copy of a tree with some paths replaced, or removed where the sha is `None`.
    pub(crate) async fn write_tree(
        &self,
        base: Option<&Sha>,
        changes: &[(String, String, Option<Sha>)],
    ) -> Result<Sha, GitError> {
        let scratch = self.path().join(format!("index-{}", uuid::Uuid::now_v7().simple()));
        let done = self.write_tree_with(base, changes, &scratch).await;
        let _ = tokio::fs::remove_file(&scratch).await;
        done
    }

    async fn write_tree_with(
        &self,
        base: Option<&Sha>,
        changes: &[(String, String, Option<Sha>)],
        index: &std::path::Path,
    ) -> Result<Sha, GitError> {
        if let Some(base) = base {
            self.call(["read-tree", base.as_str()]).with("GIT_INDEX_FILE", index).run().await?;
        }
        let mut lines = Vec::new();
        for (mode, path, sha) in changes {
            let (mode, sha) = match sha {
                Some(sha) => (mode.as_str(), sha.clone()),
                None => ("0", Sha::zero()),
            };
            lines.extend_from_slice(format!("{mode} {sha}\t{path}\0").as_bytes());
        }
        self.call(["update-index", "--add", "--remove", "--replace", "-z", "--index-info"])
            .with("GIT_INDEX_FILE", index)
            .stdin(&lines)
            .run()
            .await?;
        let output = self.call(["write-tree"]).with("GIT_INDEX_FILE", index).run().await?;
        Sha::parse(&output.text()).ok_or(GitError::Unexpected("write-tree"))
    }

    pub(crate) async fn write_commit(
        &self,
        tree: &Sha,
        parents: &[Sha],
        author: &Signature,
        committer: &Signature,
        message: &str,
    ) -> Result<Sha, GitError> {
        let mut args = vec!["commit-tree"];
        for parent in parents {
            args.extend(["-p", parent.as_str()]);
        }
        args.push(tree.as_str());
        let date = |signature: &Signature| format!("@{} +0000", signature.date.seconds());
        let output = self
            .call(args)
            .with("GIT_AUTHOR_NAME", plain(&author.name))
            .with("GIT_AUTHOR_EMAIL", plain(&author.email))
            .with("GIT_AUTHOR_DATE", date(author))
            .with("GIT_COMMITTER_NAME", plain(&committer.name))
            .with("GIT_COMMITTER_EMAIL", plain(&committer.email))
            .with("GIT_COMMITTER_DATE", date(committer))
            .stdin(message.as_bytes())
            .run()
            .await?;
        Sha::parse(&output.text()).ok_or(GitError::Unexpected("commit-tree"))
    }

    pub(crate) async fn write_tag(
        &self,
        target: &Sha,
        kind: &str,
        name: &str,
        tagger: &Signature,
        message: &str,
    ) -> Result<Sha, GitError> {
        let (who, email) = (plain(&tagger.name), plain(&tagger.email));
        let text = format!(
            "object {target}\ntype {kind}\ntag {name}\ntagger {who} <{email}> {} +0000\n\n{message}\n",
            tagger.date.seconds()
        );
        let output = self.call(["mktag"]).stdin(text.as_bytes()).run().await?;
        Sha::parse(&output.text()).ok_or(GitError::Unexpected("mktag"))
    }
}

/// A name without the characters that git forbids.
fn plain(text: &str) -> String {
    let kept: String = text.chars().filter(|c| !c.is_control() && *c != '<' && *c != '>').collect();
    let kept = kept.trim();
    if kept.is_empty() { "unknown".to_owned() } else { kept.to_owned() }
}

fn entries(text: &str) -> Vec<TreeEntry> {
    text.split('\0').filter_map(entry).collect()
}

/// `100644 blob <sha>    1234\tpath`
fn entry(line: &str) -> Option<TreeEntry> {
    let (fields, path) = line.split_once('\t')?;
    let mut fields = fields.split_whitespace();
    let (mode, kind) = (fields.next()?.to_owned(), fields.next()?);
    let kind = match kind {
        "blob" => EntryKind::Blob,
        "tree" => EntryKind::Tree,
        "commit" => EntryKind::Commit,
        _ => return None,
    };
    let sha = Sha::parse(fields.next()?)?;
    let size = fields.next()?.parse().ok();
    Some(TreeEntry { mode, kind, sha, size, path: path.to_owned() })
}
