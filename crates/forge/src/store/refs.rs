//! The refs as last reconciled, and the pushes that changed them.

use super::sql::{statement, statements};
use crate::timestamp::Timestamp;

statements! {
    /// Pairs of ref name and sha.
    fn of_repo(repo: i64) -> Vec<(String, String)> = "SELECT name, sha FROM refs WHERE repo = $1 ORDER BY name";

    fn put(repo: i64, name: &str, sha: &str, now: Timestamp) =
        "INSERT OR REPLACE INTO refs (repo, name, sha, changed) VALUES ($1, $2, $3, $4)";

    fn remove(repo: i64, name: &str) = "DELETE FROM refs WHERE repo = $1 AND name = $2";

    fn record_push(repo: i64, name: &str, before: &str, after: &str, pusher: i64, now: Timestamp) =
        "INSERT INTO pushes (repo, name, before_sha, after_sha, pusher, created) VALUES ($1, $2, $3, $4, $5, $6)";
}
