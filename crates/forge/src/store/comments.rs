//! Comments on issues and pull requests.

use super::sql::{row, statement, statements};
use crate::timestamp::Timestamp;

row! {
    CommentRow {
        id: i64,
        issue: i64,
        author: i64,
        body: String,
        created: Timestamp,
        updated: Timestamp,
    }
}

statements! {
    fn insert(repo: i64, issue: i64, author: i64, body: &str, now: Timestamp) -> CommentRow =
        "INSERT INTO comments (repo, issue, author, body, created, updated) \
         VALUES ($1, $2, $3, $4, $5, $5) RETURNING *";

    fn by_id(repo: i64, id: i64) -> Option<CommentRow> = "SELECT * FROM comments WHERE repo = $1 AND id = $2";

    /// One page of the comments on an issue, oldest first.
    fn of_issue(issue: i64, since: Option<Timestamp>, limit: i64, offset: i64) -> Vec<CommentRow> =
        "SELECT * FROM comments WHERE issue = $1 AND ($2 IS NULL OR updated >= $2) ORDER BY id LIMIT $3 OFFSET $4";

    /// One page of the comments in a repository, oldest first.
    fn of_repo(repo: i64, since: Option<Timestamp>, limit: i64, offset: i64) -> Vec<CommentRow> =
        "SELECT * FROM comments WHERE repo = $1 AND ($2 IS NULL OR updated >= $2) ORDER BY id LIMIT $3 OFFSET $4";

    fn newest_of_repo(repo: i64, since: Option<Timestamp>, limit: i64, offset: i64) -> Vec<CommentRow> =
        "SELECT * FROM comments WHERE repo = $1 AND ($2 IS NULL OR updated >= $2) ORDER BY id DESC LIMIT $3 OFFSET $4";

    fn edit(id: i64, body: &str, now: Timestamp) -> CommentRow =
        "UPDATE comments SET body = $2, updated = $3 WHERE id = $1 RETURNING *";

    fn remove(id: i64) = "DELETE FROM comments WHERE id = $1";
}
