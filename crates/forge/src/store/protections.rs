//! Protected branches and their rules, as JSON.

use super::sql::{statement, statements};

statements! {
    scalar fn of_branch(repo: i64, branch: &str) -> Option<String> =
        "SELECT rules FROM protections WHERE repo = $1 AND branch = $2";

    /// Pairs of branch and rules.
    fn of_repo(repo: i64) -> Vec<(String, String)> =
        "SELECT branch, rules FROM protections WHERE repo = $1 ORDER BY branch";

    fn put(repo: i64, branch: &str, rules: &str) =
        "INSERT OR REPLACE INTO protections (repo, branch, rules) VALUES ($1, $2, $3)";

    /// False if the branch is not protected.
    fn remove(repo: i64, branch: &str) -> bool = "DELETE FROM protections WHERE repo = $1 AND branch = $2";
}
