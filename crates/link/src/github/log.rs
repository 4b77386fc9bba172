//! Why a check failed: the log of its job, and its notes on single lines.

use serde::Deserialize;

use super::{GithubError, Listing, Repo, explain};
use crate::http::{HttpError, Request, Tail, Url};

/// A note of a check on a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// The file.
    pub path: String,
    /// The line.
    pub line: u64,
    /// How bad it is.
    pub level: Level,
    /// What it says.
    pub message: String,
}

/// How bad a note is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Level {
    /// A remark.
    Notice,
    /// A warning.
    Warning,
    /// A failure.
    Failure,
    /// A word we have not met.
    Other(String),
}

#[derive(Deserialize)]
struct Wire {
    path: String,
    #[serde(default)]
    start_line: u64,
    annotation_level: Option<String>,
    message: Option<String>,
}

impl Repo {
    /// The end of the log of a job of GitHub Actions, which has the number of its check run; none when there is no log, or
    /// none any more.
    pub async fn job_log(&self, job: u64, most: usize) -> Result<Option<Tail>, GithubError> {
        let what = self.doing(&format!("read the log of job {job}"));
        let url = self.url(&what, &["actions", "jobs", &job.to_string(), "logs"])?;
        let request = self.github.signed(&Request::get(url)).await?;
        let http = self.github.http();
        let read = match http.tail(&request, most).await {
            // The log lies in somebody else's store, behind an address that is itself the key.
            Err(HttpError::Moved { to: Some(to), .. }) if may_follow(self.github.api_url(), &to) => {
                http.apart().tail(&Request::get(to), most).await
            }
            other => other,
        };
        let read = read.map_err(|error| GithubError::new(&*what, explain::why(&error, false)));
        self.absent(read).await
    }

    /// The notes of a check run on single lines.
    pub async fn annotations(&self, check_run: u64) -> Result<Listing<Annotation>, GithubError> {
        let what = self.doing(&format!("list the notes of check run {check_run}"));
        let request = self.list(&what, &["check-runs", &check_run.to_string(), "annotations"], &[])?;
        let key = |wire: &Wire| (wire.path.clone(), wire.start_line, wire.message.clone());
        let list = self.github.pages::<Vec<Wire>, _>(&what, request, key).await?;
        let items = list.items.into_iter().map(Wire::annotation).collect();
        Ok(Listing { items, unchanged: list.unchanged })
    }
}

impl Wire {
    fn annotation(self) -> Annotation {
        Annotation {
            path: self.path,
            line: self.start_line,
            level: match self.annotation_level.as_deref().unwrap_or_default() {
                "notice" => Level::Notice,
                "warning" => Level::Warning,
                "failure" => Level::Failure,
                other => Level::Other(other.to_owned()),
            },
            message: self.message.unwrap_or_default(),
        }
    }
}

/// Without our token, and never from an encrypted place to one that is not.
fn may_follow(api: &Url, to: &Url) -> bool {
    to.scheme() == "https" || to.scheme() == api.scheme()
}
