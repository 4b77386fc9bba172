//! Why a check failed: the log of its job.

use super::{GithubError, Repo, explain};
use crate::http::{HttpError, Request, Tail, Url};

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
}

/// Without our token, and never from an encrypted place to one that is not.
fn may_follow(api: &Url, to: &Url) -> bool {
    to.scheme() == "https" || to.scheme() == api.scheme()
}
