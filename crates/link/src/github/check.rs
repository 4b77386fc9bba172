//! What CI says of a commit: check runs and statuses, two interfaces for one question.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::client::Page;
use super::{GithubError, Listing, Repo, Sha, Why};

/// How much of a check's own summary is kept.
const LONGEST_SUMMARY: usize = 4096;

/// One check run, the latest of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckRun {
    /// Its number; for GitHub Actions also that of its job.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// How far it is.
    pub state: CheckState,
    /// The App that runs it, by its short name.
    pub app: Option<String>,
    /// The App's number, which a rule may name.
    pub app_id: Option<u64>,
    /// What it says of itself, cut.
    pub summary: String,
    /// The address for people.
    pub html_url: Option<String>,
}

/// How far a check is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckState {
    /// Not begun, or waiting for something.
    Waiting,
    /// Under way.
    Running,
    /// Over.
    Ended(Conclusion),
    /// A word we have not met.
    Other(String),
}

/// How a check ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// It passed.
    Success,
    /// It failed.
    Failure,
    /// It says neither.
    Neutral,
    /// Somebody stopped it.
    Cancelled,
    /// It did not run, on purpose.
    Skipped,
    /// It took too long.
    TimedOut,
    /// Somebody has to do something first.
    ActionRequired,
    /// GitHub gave up waiting for it.
    Stale,
    /// It could not even start.
    StartupFailure,
    /// A word we have not met, or none.
    Other(String),
}

/// One status, the latest of its context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Its name.
    pub context: String,
    /// What it says.
    pub state: StatusState,
    /// What it says of itself.
    pub description: String,
    /// The address for people.
    pub target_url: Option<String>,
}

/// What a status says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusState {
    /// It passed.
    Success,
    /// It failed.
    Failure,
    /// It broke.
    Error,
    /// Not yet known.
    Pending,
    /// A word we have not met.
    Other(String),
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
    app: Option<AppWire>,
    output: Option<OutputWire>,
    html_url: Option<String>,
}

#[derive(Deserialize)]
struct AppWire {
    id: u64,
    slug: Option<String>,
}

#[derive(Deserialize)]
struct OutputWire {
    title: Option<String>,
    summary: Option<String>,
}

#[derive(Deserialize)]
struct StatusWire {
    id: u64,
    url: String,
    context: String,
    state: String,
    description: Option<String>,
    target_url: Option<String>,
}

impl Page for RunsWire {
    type Item = RunWire;

    fn items(self) -> Vec<RunWire> {
        self.check_runs
    }

    fn total(&self) -> Option<u64> {
        Some(self.total_count)
    }
}

impl Repo {
    /// The latest check runs of a commit. None at all is no verdict.
    pub async fn check_runs(&self, sha: &Sha) -> Result<Listing<CheckRun>, GithubError> {
        let what = self.doing(&format!("list the check runs of {sha}"));
        let request = self.list(&what, &["commits", sha.as_str(), "check-runs"], &[("filter", "latest")])?;
        let list = self.github.pages::<RunsWire, _>(&what, request, |wire| wire.id).await?;
        let about = |wire: RunWire| of_commit(&what, sha, &wire.head_sha.clone(), wire.run());
        let items = list.items.into_iter().map(about).collect::<Result<_, _>>()?;
        Ok(Listing { items, unchanged: list.unchanged })
    }

    /// The latest status of each context of a commit. None at all is no verdict.
    ///
    /// From the list of all of them: the combined one tells about the repository too, and so changes with every push.
    pub async fn statuses(&self, sha: &Sha) -> Result<Listing<Status>, GithubError> {
        let what = self.doing(&format!("list the statuses of {sha}"));
        let request = self.list(&what, &["commits", sha.as_str(), "statuses"], &[])?;
        let list = self.github.pages::<Vec<StatusWire>, _>(&what, request, |wire| wire.id).await?;
        let mut latest: BTreeMap<String, StatusWire> = BTreeMap::new();
        for wire in list.items {
            let newer = latest.get(&wire.context).is_none_or(|known| known.id < wire.id);
            if newer {
                latest.insert(wire.context.clone(), wire);
            }
        }
        let about = |wire: StatusWire| {
            let commit = wire.url.rsplit('/').next().unwrap_or_default().to_owned();
            of_commit(&what, sha, &commit, wire.status())
        };
        let items = latest.into_values().map(about).collect::<Result<_, _>>()?;
        Ok(Listing { items, unchanged: list.unchanged })
    }
}

/// A verdict on another commit is none on this one.
fn of_commit<T>(what: &str, asked: &Sha, told: &str, item: T) -> Result<T, GithubError> {
    if told == asked.as_str() {
        return Ok(item);
    }
    let detail = format!("asked about {asked}, told about {:?}", told.chars().take(64).collect::<String>());
    Err(GithubError::new(what, Why::Malformed { detail }))
}

impl RunWire {
    fn run(self) -> CheckRun {
        let said = self.output.map(|OutputWire { title, summary }| [title, summary]);
        let said: Vec<String> = said.into_iter().flatten().flatten().collect();
        CheckRun {
            id: self.id,
            name: self.name,
            state: check_state(&self.status, self.conclusion.as_deref()),
            app_id: self.app.as_ref().map(|app| app.id),
            app: self.app.and_then(|app| app.slug),
            summary: said.join("\n").chars().take(LONGEST_SUMMARY).collect(),
            html_url: self.html_url,
        }
    }
}

impl StatusWire {
    fn status(self) -> Status {
        Status {
            context: self.context,
            state: match self.state.as_str() {
                "success" => StatusState::Success,
                "failure" => StatusState::Failure,
                "error" => StatusState::Error,
                "pending" => StatusState::Pending,
                other => StatusState::Other(other.to_owned()),
            },
            description: self.description.unwrap_or_default(),
            target_url: self.target_url,
        }
    }
}

fn check_state(status: &str, conclusion: Option<&str>) -> CheckState {
    match status {
        "queued" | "waiting" | "requested" | "pending" => CheckState::Waiting,
        "in_progress" => CheckState::Running,
        "completed" => CheckState::Ended(self::conclusion(conclusion.unwrap_or_default())),
        other => CheckState::Other(other.to_owned()),
    }
}

fn conclusion(word: &str) -> Conclusion {
    match word {
        "success" => Conclusion::Success,
        "failure" => Conclusion::Failure,
        "neutral" => Conclusion::Neutral,
        "cancelled" => Conclusion::Cancelled,
        "skipped" => Conclusion::Skipped,
        "timed_out" => Conclusion::TimedOut,
        "action_required" => Conclusion::ActionRequired,
        "stale" => Conclusion::Stale,
        "startup_failure" => Conclusion::StartupFailure,
        other => Conclusion::Other(other.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{CheckState, Conclusion, check_state};

    #[test]
    fn only_what_is_completed_has_ended() {
        for (status, conclusion, expected) in [
            ("queued", None, CheckState::Waiting),
            ("requested", Some("success"), CheckState::Waiting),
            ("in_progress", Some("success"), CheckState::Running),
            ("completed", Some("success"), CheckState::Ended(Conclusion::Success)),
            ("completed", Some("timed_out"), CheckState::Ended(Conclusion::TimedOut)),
            ("completed", Some("excellent"), CheckState::Ended(Conclusion::Other("excellent".into()))),
            ("completed", None, CheckState::Ended(Conclusion::Other(String::new()))),
            ("paused", Some("success"), CheckState::Other("paused".into())),
        ] {
            assert_eq!(check_state(status, conclusion), expected);
        }
    }
}
