//! Releases.

use super::sql::{row, statement, statements};
use crate::timestamp::Timestamp;

row! {
    ReleaseRow {
        id: i64,
        tag: String,
        target: String,
        name: Option<String>,
        body: Option<String>,
        draft: bool,
        prerelease: bool,
        author: i64,
        created: Timestamp,
        published: Option<Timestamp>,
    }
}

statements! {
    /// Inserts a release; `None` if the tag has a published one.
    fn insert(repo: i64, new: &ReleaseRow) -> Option<ReleaseRow> =
        "INSERT INTO releases (repo, tag, target, name, body, draft, prerelease, author, created, published) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING RETURNING *"
        [repo, &new.tag, &new.target, &new.name, &new.body, new.draft, new.prerelease, new.author, new.created,
         new.published];

    /// False if the tag has another published release.
    fn update(row: &ReleaseRow) -> bool =
        "UPDATE OR IGNORE releases SET tag = $1, target = $2, name = $3, body = $4, draft = $5, prerelease = $6, \
         published = $7 WHERE id = $8"
        [&row.tag, &row.target, &row.name, &row.body, row.draft, row.prerelease, row.published, row.id];

    fn by_id(repo: i64, id: i64) -> Option<ReleaseRow> = "SELECT * FROM releases WHERE repo = $1 AND id = $2";

    /// The published release of a tag.
    fn by_tag(repo: i64, tag: &str) -> Option<ReleaseRow> =
        "SELECT * FROM releases WHERE repo = $1 AND tag = $2 AND draft = 0";

    /// The newest release that is neither a draft nor a prerelease.
    fn latest(repo: i64) -> Option<ReleaseRow> =
        "SELECT * FROM releases WHERE repo = $1 AND draft = 0 AND prerelease = 0 ORDER BY id DESC LIMIT 1";

    /// One page of the releases, newest first.
    fn list(repo: i64, drafts: bool, limit: i64, offset: i64) -> Vec<ReleaseRow> =
        "SELECT * FROM releases WHERE repo = $1 AND (draft = 0 OR $2) ORDER BY id DESC LIMIT $3 OFFSET $4";

    fn remove(id: i64) = "DELETE FROM releases WHERE id = $1";
}
