//! Reports on a commit: check runs and statuses, two interfaces for one question, and the log of a check's job.

use std::collections::BTreeMap;

use pilot_core::ci::{Check, CheckState};
use pilot_core::id::Sha;
use serde::Deserialize;

use super::refusal::read_refusal;
use super::{GITHUB, Repo};
use crate::error::{CallFault, LinkError, Result};
use crate::http::{HttpError, Request, TextTail, Url};
use crate::pages::Page;

/// A check run, the latest of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckRun {
    /// Its number; for GitHub Actions also that of its job.
    pub id: u64,
    pub check: Check,
}

#[derive(Deserialize)]
struct RunsWire {
    total_count: u64,
    check_runs: Vec<RunWire>,
}

#[derive(Deserialize)]
struct RunWire {
    id: u64,
    name: String,
    head_sha: String,
    status: String,
    conclusion: Option<String>,
}

#[derive(Deserialize)]
struct StatusWire {
    id: u64,
    url: String,
    context: String,
    state: String,
}

impl Page for RunsWire {
    type Item = RunWire;

    fn into_items(self) -> Vec<RunWire> {
        self.check_runs
    }

    fn total(&self) -> Option<u64> {
        Some(self.total_count)
    }
}

impl Repo {
    /// The latest check runs of a commit. None at all is no verdict.
    pub async fn check_runs(&self, sha: &Sha) -> Result<Vec<CheckRun>> {
        let action = self.describe(&format!("list the check runs of {sha}"));
        let request =
            self.list(&action, &["commits", sha.as_str(), "check-runs"], &[("filter", "latest")])?;
        let list = self.github.pages::<RunsWire, _>(&action, request, |wire| wire.id).await?;
        let to_run = |wire: RunWire| {
            check_commit(&action, sha, &wire.head_sha)?;
            let state = run_state(&wire.status, wire.conclusion.as_deref().unwrap_or_default());
            Ok(CheckRun { id: wire.id, check: Check { name: wire.name, state } })
        };
        list.items.into_iter().map(to_run).collect()
    }

    /// The latest status of each context of a commit. None at all is no verdict.
    ///
    /// From the list of all statuses: the combined one includes the repository, and so changes with every push.
    pub async fn statuses(&self, sha: &Sha) -> Result<Vec<Check>> {
        let action = self.describe(&format!("list the statuses of {sha}"));
        let request = self.list(&action, &["commits", sha.as_str(), "statuses"], &[])?;
        let list = self.github.pages::<Vec<StatusWire>, _>(&action, request, |wire| wire.id).await?;
        let mut latest: BTreeMap<String, StatusWire> = BTreeMap::new();
        for wire in list.items {
            check_commit(&action, sha, wire.url.rsplit('/').next().unwrap_or_default())?;
            if latest.get(&wire.context).is_none_or(|known| known.id < wire.id) {
                latest.insert(wire.context.clone(), wire);
            }
        }
        let to_check = |wire: StatusWire| Check { state: status_state(&wire.state), name: wire.context };
        Ok(latest.into_values().map(to_check).collect())
    }

    /// The end of the log of a GitHub Actions job, which has the number of its check run; none when there is no log, or
    /// it has expired.
    pub async fn job_log(&self, job: u64, max_bytes: usize) -> Result<Option<TextTail>> {
        let action = self.describe(&format!("read the log of job {job}"));
        let url = self.url(&action, &["actions", "jobs", &job.to_string(), "logs"])?;
        let request = self.github.authenticate(&Request::get(url)).await?;
        let http = self.github.http();
        let read = match http.read_tail(&request, max_bytes).await {
            // The log is in another company's storage, and its address is itself the key.
            Err(HttpError::Redirected { to: Some(to), .. }) if may_follow(self.github.api_url(), &to) => {
                http.with_own_budget().read_tail(&Request::get(to), max_bytes).await
            }
            other => other,
        };
        let read = read.map_err(|error| {
            LinkError::new(&GITHUB, &*action, CallFault::from_http(&error, false, read_refusal))
        });
        self.absent(read).await
    }
}

/// Never from an encrypted address to a plain one; our token is not sent there.
fn may_follow(api: &Url, to: &Url) -> bool {
    to.scheme() == "https" || to.scheme() == api.scheme()
}

fn check_commit(action: &str, asked: &Sha, reported: &str) -> Result<()> {
    if reported == asked.as_str() {
        return Ok(());
    }
    let reported: String = reported.chars().take(64).collect();
    Err(LinkError::malformed(&GITHUB, action, format!("asked about {asked}, got a report on {reported:?}")))
}

fn run_state(status: &str, conclusion: &str) -> CheckState {
    // An unknown status may mean anything: nothing passes on it.
    if status != "completed" {
        return CheckState::Pending;
    }
    match conclusion {
        "success" => CheckState::Passed,
        "failure" | "timed_out" | "startup_failure" => CheckState::Failed,
        "skipped" => CheckState::Skipped,
        "neutral" => CheckState::Ignored,
        // Cancelled, stale, waiting for a person, or an unknown word.
        _ => CheckState::Undecided,
    }
}

fn status_state(state: &str) -> CheckState {
    match state {
        "success" => CheckState::Passed,
        "failure" | "error" => CheckState::Failed,
        // Pending, or an unknown word.
        _ => CheckState::Pending,
    }
}

#[cfg(test)]
mod tests {
    use super::{CheckState, run_state, status_state};

    #[test]
    fn every_word_of_github_has_one_meaning() {
        for (status, conclusion, expected) in [
            ("queued", "", CheckState::Pending),
            ("requested", "success", CheckState::Pending),
            ("in_progress", "success", CheckState::Pending),
            ("paused", "success", CheckState::Pending),
            ("completed", "success", CheckState::Passed),
            ("completed", "failure", CheckState::Failed),
            ("completed", "timed_out", CheckState::Failed),
            ("completed", "startup_failure", CheckState::Failed),
            ("completed", "cancelled", CheckState::Undecided),
            ("completed", "stale", CheckState::Undecided),
            ("completed", "action_required", CheckState::Undecided),
            ("completed", "excellent", CheckState::Undecided),
            ("completed", "", CheckState::Undecided),
            ("completed", "skipped", CheckState::Skipped),
            ("completed", "neutral", CheckState::Ignored),
        ] {
            assert_eq!(run_state(status, conclusion), expected, "{status} {conclusion}");
        }
        for (state, expected) in [
            ("success", CheckState::Passed),
            ("pending", CheckState::Pending),
            ("maybe", CheckState::Pending),
            ("failure", CheckState::Failed),
            ("error", CheckState::Failed),
        ] {
            assert_eq!(status_state(state), expected, "{state}");
        }
    }
}
