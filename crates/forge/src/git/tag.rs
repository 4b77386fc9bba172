//! Tag objects.

use super::history::Signature;
use super::repository::Repository;
use super::run::GitError;
use crate::name::Sha;
use crate::timestamp::Timestamp;

#[derive(Clone, Debug)]
pub(crate) struct Tag {
    pub(crate) sha: Sha,
    pub(crate) name: String,
    pub(crate) target: Sha,
    /// The kind of the target.
    pub(crate) kind: String,
    pub(crate) tagger: Signature,
    pub(crate) message: String,
}

impl Repository<'_> {
    /// Reads a tag object; `None` if the object is none.
    pub(crate) async fn tag(&self, sha: &Sha) -> Result<Option<Tag>, GitError> {
        let output = self.call(["cat-file", "tag", sha.as_str()]).output().await?;
        Ok((output.code == Some(0)).then(|| parse_tag(sha, &output.text())).flatten())
    }
}

fn parse_tag(sha: &Sha, text: &str) -> Option<Tag> {
    let (head, message) = text.split_once("\n\n").unwrap_or((text, ""));
    let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
    Some(Tag {
        sha: sha.clone(),
        name: field("tag ")?.to_owned(),
        target: Sha::parse(field("object ")?)?,
        kind: field("type ")?.to_owned(),
        tagger: field("tagger ").and_then(parse_signature).unwrap_or_else(unsigned),
        message: message.to_owned(),
    })
}

/// `Name <mail> 1700000000 +0000`
fn parse_signature(text: &str) -> Option<Signature> {
    let (who, when) = text.rsplit_once("> ")?;
    let (name, email) = who.split_once(" <")?;
    let seconds = when.split_whitespace().next()?.parse().ok()?;
    Some(Signature { name: name.to_owned(), email: email.to_owned(), date: Timestamp::of_seconds(seconds) })
}

fn unsigned() -> Signature {
    Signature { name: String::new(), email: String::new(), date: Timestamp(0) }
}
