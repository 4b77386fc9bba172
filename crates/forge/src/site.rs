//! One running forge: what every room needs.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use sqlx::{Sqlite, Transaction};
use tokio::sync::{Notify, OwnedMutexGuard};

use crate::api::Comparisons;
use crate::ci::Running;
use crate::clock::Clock;
use crate::faults::Faults;
use crate::git::{Git, Repository};
use crate::options::{CiOptions, Lags};
use crate::pages::Door;
use crate::people::People;
use crate::server::{Failure, RateLimits, RequestLog};
use crate::store::{Store, User};
use crate::tasks::Tasks;

/// One running forge.
#[derive(Debug)]
pub(crate) struct Site {
    /// Where it answers, without a slash at the end.
    pub(crate) url: String,
    pub(crate) clock: Clock,
    pub(crate) store: Store,
    pub(crate) git: Git,
    pub(crate) people: People,
    pub(crate) lags: Lags,
    pub(crate) rate: RateLimits,
    pub(crate) faults: Faults,
    pub(crate) log: RequestLog,
    pub(crate) tasks: Tasks,
    pub(crate) lanes: Lanes,
    pub(crate) comparisons: Comparisons,
    pub(crate) root: PathBuf,
    pub(crate) ci: CiOptions,
    pub(crate) running: Running,
    /// What makes addresses that nobody guesses; new with every start.
    pub(crate) secret: String,
    /// Who may see the pages.
    pub(crate) door: Door,
    /// Rung when there may be something to run.
    pub(crate) ci_bell: Notify,
    /// Rung when there may be something to deliver.
    pub(crate) hook_bell: Notify,
}

impl Site {
    /// The git side of a repository.
    pub(crate) fn repository(&self, id: i64) -> Repository<'_> {
        self.git.repository(id)
    }

    /// Makes what a transaction holds true, and wakes those who act on it.
    pub(crate) async fn commit(&self, transaction: Transaction<'static, Sqlite>) -> Result<(), Failure> {
        transaction.commit().await?;
        self.hook_bell.notify_one();
        self.ci_bell.notify_one();
        Ok(())
    }

    /// Somebody whom a row names. Rows name only those that exist; a ghost stands in, as with GitHub.
    pub(crate) fn user(&self, id: i64) -> Arc<User> {
        self.people.by_id(id).unwrap_or_else(|| Arc::new(User::ghost()))
    }
}

/// The proof that nobody else moves a repository's refs.
#[derive(Debug)]
pub(crate) struct Lane(
    #[expect(dead_code, reason = "held, not read: its drop opens the lane")] OwnedMutexGuard<()>,
);

/// One lane for each repository: whoever moves refs, or tells others that they moved, is alone in it.
#[derive(Debug, Default)]
pub(crate) struct Lanes(Mutex<HashMap<i64, Arc<tokio::sync::Mutex<()>>>>);

impl Lanes {
    /// Waits for the lane of a repository.
    pub(crate) async fn enter(&self, repo: i64) -> Lane {
        let lane = {
            let mut lanes = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            Arc::clone(lanes.entry(repo).or_default())
        };
        Lane(lane.lock_owned().await)
    }
}
