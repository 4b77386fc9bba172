//! The tracker port: one arm for each adapter.

use pilot_core::config::ProjectTracker;
use pilot_core::observed::Failure;
use pilot_core::port::{TrackerAnswer, TrackerCall};

use crate::connect::{ConnectError, Connector};
use crate::error::LinkError;
use crate::github::{GithubTracker, Repo, co_author};
use crate::http::HttpError;

/// A project's tracker.
#[derive(Clone, Debug)]
pub enum Tracker {
    Github(GithubTracker),
    #[cfg(feature = "toy")]
    Toy(crate::toy::Toy),
}

/// Why an image that a ticket shows could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    #[error("its address cannot be read")]
    BadAddress,
    #[error("{host} is not the forge: attach the image to the issue instead")]
    Elsewhere { host: String },
    #[error("its address leads on and on")]
    LedOn,
    #[error("it has more than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("the forge answers with status {status}")]
    Refused { status: u16 },
    #[error("images of this tracker are not fetched")]
    Unsupported,
    #[error(transparent)]
    Token(#[from] LinkError),
    #[error("cannot {0}")]
    Http(HttpError),
}

impl Tracker {
    /// How a commit names this user as co-author, where the service has an address for it.
    pub fn co_author(&self, login: &str) -> Option<String> {
        match self {
            Tracker::Github(_) => Some(co_author(login)),
            #[cfg(feature = "toy")]
            Tracker::Toy(_) => None,
        }
    }

    pub fn connect(project: &ProjectTracker, connector: &Connector) -> Result<Tracker, ConnectError> {
        Ok(match project {
            ProjectTracker::Github { repo } => {
                Tracker::Github(GithubTracker::new(Repo::connect(connector, repo)?))
            }
            #[cfg(feature = "toy")]
            ProjectTracker::Toy { project } => Tracker::Toy(crate::toy::Toy::connect(connector, project)?),
        })
    }

    /// Fetches what is said to be an image of a ticket, of at most so many bytes.
    pub async fn picture(&self, address: &str, most: usize) -> Result<Vec<u8>, PictureError> {
        match self {
            Tracker::Github(github) => github.picture(address, most).await,
            #[cfg(feature = "toy")]
            Tracker::Toy(_) => Err(PictureError::Unsupported),
        }
    }

    pub async fn call(&self, call: &TrackerCall) -> Result<TrackerAnswer, Failure> {
        match self {
            Tracker::Github(github) => github.call(call).await,
            #[cfg(feature = "toy")]
            Tracker::Toy(toy) => toy.call_tracker(call).await,
        }
    }
}
