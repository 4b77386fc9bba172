//! Reviews, their comments, and review requests.

use super::sql::{row, statement, statements};
use crate::timestamp::Timestamp;

row! {
    ReviewRow {
        id: i64,
        issue: i64,
        author: i64,
        /// `PENDING`, `COMMENTED`, `APPROVED`, `CHANGES_REQUESTED`, `DISMISSED`.
        state: String,
        body: String,
        commit_id: String,
        submitted: Option<Timestamp>,
    }
}

row! {
    /// A comment on a line of a pull request.
    ReviewCommentRow {
        id: i64,
        issue: i64,
        review: i64,
        author: i64,
        body: String,
        path: String,
        side: String,
        line: Option<i64>,
        start_line: Option<i64>,
        commit_id: String,
        hunk: String,
        reply_to: Option<i64>,
        created: Timestamp,
        updated: Timestamp,
    }
}

statements! {
    /// Inserts a review; it is pending while `submitted` is absent.
    fn insert(repo: i64, new: &ReviewRow) -> ReviewRow =
        "INSERT INTO reviews (repo, issue, author, state, body, commit_id, submitted) \
         VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING *"
        [repo, new.issue, new.author, &new.state, &new.body, &new.commit_id, new.submitted];

    fn update(row: &ReviewRow) = "UPDATE reviews SET state = $1, body = $2, submitted = $3 WHERE id = $4"
        [&row.state, &row.body, row.submitted, row.id];

    fn by_id(issue: i64, id: i64) -> Option<ReviewRow> = "SELECT * FROM reviews WHERE issue = $1 AND id = $2";

    /// The reviews of a pull request, oldest first.
    fn of_issue(issue: i64) -> Vec<ReviewRow> = "SELECT * FROM reviews WHERE issue = $1 ORDER BY id";

    fn insert_comment(repo: i64, new: &ReviewCommentRow) -> ReviewCommentRow =
        "INSERT INTO review_comments (repo, issue, review, author, body, path, side, line, start_line, commit_id, \
         hunk, reply_to, created, updated) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13) \
         RETURNING *"
        [repo, new.issue, new.review, new.author, &new.body, &new.path, &new.side, new.line, new.start_line,
         &new.commit_id, &new.hunk, new.reply_to, new.created];

    fn comment_by_id(repo: i64, id: i64) -> Option<ReviewCommentRow> =
        "SELECT * FROM review_comments WHERE repo = $1 AND id = $2";

    /// The comments of a pull request, oldest first, without those of pending reviews.
    fn comments_of_issue(issue: i64) -> Vec<ReviewCommentRow> =
        "SELECT c.* FROM review_comments c JOIN reviews r ON r.id = c.review \
         WHERE c.issue = $1 AND r.submitted IS NOT NULL ORDER BY c.id";

    scalar fn count_comments(issue: i64) -> i64 = "SELECT count(*) FROM review_comments WHERE issue = $1";

    /// Pairs of pull request and requested reviewer without a review yet; `issues` is a JSON array of ids.
    fn requested(issues: &str) -> Vec<(i64, i64)> =
        "SELECT issue, user FROM review_requests WHERE issue IN (SELECT value FROM json_each($1)) \
         ORDER BY issue, user";

    /// False if the review was requested before.
    fn request(issue: i64, user: i64) -> bool =
        "INSERT OR IGNORE INTO review_requests (issue, user) VALUES ($1, $2)";

    /// False if no review was requested.
    fn unrequest(issue: i64, user: i64) -> bool = "DELETE FROM review_requests WHERE issue = $1 AND user = $2";
}
