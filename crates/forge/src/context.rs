//! The state of one running forge that all modules share.

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
use crate::pages::Sessions;
use crate::server::{Failure, RateLimits, RequestLog};
use crate::store::{Store, User};
use crate::tasks::Tasks;
use crate::user_cache::UserCache;

#[derive(Debug)]
pub(crate) struct Context {
    /// The base URL, without a trailing slash.
    pub(crate) url: String,
    pub(crate) clock: Clock,
    pub(crate) store: Store,
    pub(crate) git: Git,
    pub(crate) users: UserCache,
    pub(crate) lags: Lags,
    pub(crate) rate: RateLimits,
    pub(crate) faults: Faults,
    pub(crate) log: RequestLog,
    pub(crate) tasks: Tasks,
    pub(crate) repo_locks: RepoLocks,
    pub(crate) comparisons: Comparisons,
    pub(crate) root: PathBuf,
    pub(crate) ci: CiOptions,
    pub(crate) running: Running,
    /// The key of log URLs and CSRF tokens; new with every start.
    pub(crate) secret: String,
    pub(crate) sessions: Sessions,
    /// Notified when a run may be due.
    pub(crate) ci_wakeup: Notify,
    /// Notified when a delivery may be due.
    pub(crate) delivery_wakeup: Notify,
}

impl Context {
    pub(crate) fn repository(&self, id: i64) -> Repository<'_> {
        self.git.repository(id)
    }

    /// Commits a transaction and wakes the CI and delivery workers.
    pub(crate) async fn commit(&self, transaction: Transaction<'static, Sqlite>) -> Result<(), Failure> {
        transaction.commit().await?;
        self.delivery_wakeup.notify_one();
        self.ci_wakeup.notify_one();
        Ok(())
    }

    /// The user with an id from a row; a ghost if there is none, as with GitHub.
    pub(crate) fn user(&self, id: i64) -> Arc<User> {
        self.users.by_id(id).unwrap_or_else(|| Arc::new(User::ghost()))
    }
}

/// The guard of a repository's refs.
#[derive(Debug)]
pub(crate) struct RepoLock(
    #[expect(dead_code, reason = "held, not read: its drop opens the lock")] OwnedMutexGuard<()>,
);

/// One lock for each repository: held to move refs and to reconcile them.
#[derive(Debug, Default)]
pub(crate) struct RepoLocks(Mutex<HashMap<i64, Arc<tokio::sync::Mutex<()>>>>);

impl RepoLocks {
    pub(crate) async fn acquire(&self, repo: i64) -> RepoLock {
        let lock = {
            let mut repo_locks = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            Arc::clone(repo_locks.entry(repo).or_default())
        };
        RepoLock(lock.lock_owned().await)
    }
}
