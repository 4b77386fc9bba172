//! Tag objects.

use super::history::Signature;
use super::repository::Repository;
use super::run::GitError;
use crate::name::Sha;
use crate::timestamp::Timestamp;

/// A tag object.
#[derive(Clone, Debug)]
pub(crate) struct Tag {
    pub(crate) sha: Sha,
    pub(crate) name: String,
    pub(crate) target: Sha,
    /// What the target is.
    pub(crate) kind: String,
    pub(crate) tagger: Signature,
    pub(crate) message: String,
}

impl Repository<'_> {
    /// A tag object, if it is one.
    pub(crate) async fn tag(&self, sha: &Sha) -> Result<Option<Tag>, GitError> {
        let output = self.call(["cat-file", "tag", sha.as_str()]).ask().await?;
        Ok((output.code == Some(0)).then(|| parse(sha, &output.text())).flatten())
    }
}

fn parse(sha: &Sha, text: &str) -> Option<Tag> {
    let (head, message) = text.split_once("\n\n").unwrap_or((text, ""));
    let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
    Some(Tag {
        sha: sha.clone(),
        name: field("tag ")?.to_owned(),
        target: Sha::parse(field("object ")?)?,
        kind: field("type ")?.to_owned(),
        tagger: field("tagger ").and_then(signature).unwrap_or_else(nobody),
        message: message.to_owned(),
    })
}

/// `Name <mail> 1700000000 +0000`
fn signature(text: &str) -> Option<Signature> {
    let (who, when) = text.rsplit_once("> ")?;
    let (name, email) = who.split_once(" <")?;
    let seconds = when.split_whitespace().next()?.parse().ok()?;
    Some(Signature { name: name.to_owned(), email: email.to_owned(), date: Timestamp::of_seconds(seconds) })
}

fn nobody() -> Signature {
    Signature { name: String::new(), email: String::new(), date: Timestamp(0) }
}
