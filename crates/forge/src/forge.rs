//! Starting and stopping a forge.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use crate::api;
use crate::ci;
use crate::clock::Clock;
use crate::faults::Faults;
use crate::git::{Git, PRE_RECEIVE};
use crate::identity;
use crate::name::is_login;
use crate::options::Options;
use crate::pages::Door;
use crate::people::People;
use crate::recovery;
use crate::server::{Failure, RateLimits, RequestLog, serve};
use crate::site::{Lanes, Site};
use crate::store::{Store, StoreError, users};
use crate::tasks::Tasks;
use crate::webhook;

/// Why a forge does not start.
#[derive(Debug, thiserror::Error)]
pub enum ForgeError {
    /// Its root cannot be used.
    #[error("use {path}: {source}")]
    Root {
        /// What cannot be used.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// Another forge has the root.
    #[error("use {0}: another forge is running there; stop it or use another --root")]
    Taken(String),
    /// It cannot listen there.
    #[error("listen on {address}: {source}")]
    Listen {
        /// Where.
        address: String,
        /// Why.
        source: io::Error,
    },
    /// The name of the first user is none.
    #[error("use {0:?} as the name of a user: letters, digits and single dashes only")]
    User(String),
    /// The token would not survive a header.
    #[error("use the token of {0}: it must be 8 to 255 letters, digits, `-`, `.` or `_`")]
    Token(String),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What a forge that died left could not be settled.
    #[error("settle what was begun: {0}")]
    Settle(String),
}

impl From<sqlx::Error> for ForgeError {
    fn from(error: sqlx::Error) -> Self {
        ForgeError::Store(StoreError::Database(error))
    }
}

/// A forge that answers until it is stopped. Dropped without [`Forge::stop`] it ends like one that died: nothing that was
/// answered is lost.
#[derive(Debug)]
pub struct Forge {
    url: String,
    token: String,
    user: String,
    site: Arc<Site>,
    stop: watch::Sender<bool>,
    server: Option<JoinHandle<()>>,
    /// Held as long as the forge runs.
    lock: Lock,
}

impl Forge {
    /// Starts a forge. It answers when this returns.
    pub async fn start(mut options: Options) -> Result<Forge, ForgeError> {
        if !is_login(&options.user) {
            return Err(ForgeError::User(options.user));
        }
        let lock = prepare(&options.root).await?;
        // Git is started in other directories, where a relative path would lead elsewhere.
        let whole = std::fs::canonicalize(&options.root);
        options.root =
            whole.map_err(|source| ForgeError::Root { path: options.root.display().to_string(), source })?;
        let token = token(&options)?;
        let store = Store::open(&options.root.join("forge.db")).await?;
        let address = options.listen.to_string();
        let failed = |source| ForgeError::Listen { address: address.clone(), source };
        let listener = TcpListener::bind(options.listen).await.map_err(failed)?;
        let url = format!("http://{}", listener.local_addr().map_err(failed)?);
        let git = Git::new(options.path.clone(), options.root.join("repos"), options.root.join("hooks"));
        let site = Arc::new(Site {
            url: url.clone(),
            clock: Clock::default(),
            store,
            git,
            people: People::default(),
            lags: options.lags,
            rate: RateLimits::new(options.rate_limit),
            faults: Faults::default(),
            log: RequestLog::default(),
            tasks: Tasks::default(),
            lanes: Lanes::default(),
            comparisons: api::Comparisons::default(),
            root: options.root.clone(),
            ci: options.ci,
            running: ci::Running::default(),
            secret: identity::new_token(),
            door: Door::default(),
            ci_bell: Notify::new(),
            hook_bell: Notify::new(),
        });
        api::apply(&site, options.faults);
        meet(&site, &options.user, &token).await?;
        let settled = recovery::recover(&site).await;
        settled.map_err(|failure: Failure| ForgeError::Settle(failure.message))?;
        let (stop, stopped) = watch::channel(false);
        site.tasks.spawn(ci::work(Arc::clone(&site), stopped.clone()));
        site.tasks.spawn(webhook::work(Arc::clone(&site), stopped.clone()));
        if lock.was_killed {
            site.tasks.spawn(recovery::look_again(Arc::clone(&site), stopped.clone()));
        }
        let server = spawn(serve(listener, Arc::clone(&site), stopped));
        Ok(Forge { url, token, user: options.user, site, stop, server: Some(server), lock })
    }

    /// Where it answers.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The token of its first user.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The name of its first user.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// A link to the pages that signs the first user in, once.
    pub fn sign_in_link(&self) -> String {
        let first = self.site.people.by_login(&self.user).map_or(0, |user| user.id);
        format!("{}/login/{}", self.url, self.site.door.invite(first))
    }

    /// Answers what is under way, ends everything it started, and closes the database.
    pub async fn stop(mut self) {
        let _ = self.stop.send(true);
        if let Some(server) = self.server.take() {
            let _ = server.await;
        }
        self.site.tasks.shut_down().await;
        self.site.store.close().await;
        self.lock.release();
    }
}

impl Drop for Forge {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.abort();
            self.site.tasks.abort();
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "joined by Forge::stop")]
fn spawn(work: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    tokio::spawn(work)
}

/// How often, and how long apart, a lock is tried that somebody else has.
const LOCK_TRIES: u32 = 20;
const BETWEEN_TRIES: Duration = Duration::from_millis(50);

/// What keeps a second forge away from a root, and says how the one before ended.
#[derive(Debug)]
struct Lock {
    file: File,
    was_killed: bool,
}

impl Lock {
    async fn take(path: &Path) -> Result<Lock, LockError> {
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        let mut tries = 0;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                // A process that a dead forge was just starting has the lock until it becomes another program.
                Err(TryLockError::WouldBlock) if tries < LOCK_TRIES => {
                    tokio::time::sleep(BETWEEN_TRIES).await;
                }
                Err(TryLockError::WouldBlock) => return Err(LockError::Taken),
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
            tries += 1;
        }
        // Whoever stops in peace empties the file.
        let was_killed = file.metadata()?.len() > 0;
        file.write_all(b"running\n")?;
        Ok(Lock { file, was_killed })
    }

    fn release(&self) {
        let _ = self.file.set_len(0);
    }
}

enum LockError {
    Taken,
    Io(io::Error),
}

impl From<io::Error> for LockError {
    fn from(error: io::Error) -> Self {
        LockError::Io(error)
    }
}

/// The directories, the hook, and the lock that keeps a second forge away.
async fn prepare(root: &Path) -> Result<Lock, ForgeError> {
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |source| ForgeError::Root { path, source }
    };
    for part in ["repos", "hooks", "logs", "ci"] {
        let path = root.join(part);
        std::fs::create_dir_all(&path).map_err(failed(&path))?;
    }
    let path = root.join("lock");
    let lock = Lock::take(&path).await.map_err(|error| match error {
        LockError::Taken => ForgeError::Taken(root.display().to_string()),
        LockError::Io(source) => failed(&path)(source),
    })?;
    let hook = root.join("hooks/pre-receive");
    std::fs::write(&hook, PRE_RECEIVE).map_err(failed(&hook))?;
    #[cfg(unix)]
    {
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&hook, executable).map_err(failed(&hook))?;
    }
    Ok(lock)
}

/// The token that was asked for, else the one there is, else a new one.
fn token(options: &Options) -> Result<String, ForgeError> {
    let failed = |source| ForgeError::Root { path: options.root.join("token").display().to_string(), source };
    let kept = identity::kept_token(&options.root).map_err(failed)?;
    let token = match (&options.token, &kept) {
        (Some(token), _) => token.clone(),
        (None, Some(token)) => token.clone(),
        (None, None) => identity::new_token(),
    };
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    if !(8..=255).contains(&token.len()) || !token.bytes().all(sound) {
        let from = match &options.token {
            Some(_) => "--token".to_owned(),
            None => options.root.join("token").display().to_string(),
        };
        return Err(ForgeError::Token(from));
    }
    if kept.as_ref() != Some(&token) {
        identity::keep_token(&options.root, &token).map_err(failed)?;
    }
    Ok(token)
}

/// Learns who there is, and makes the first user and their token.
async fn meet(site: &Site, login: &str, token: &str) -> Result<(), ForgeError> {
    let mut tx = site.store.begin().await?;
    let mut known = users::all(&mut tx).await?;
    let first = match known.iter().find(|user| user.login.eq_ignore_ascii_case(login)) {
        Some(user) => user.id,
        None => {
            let user = users::insert(&mut tx, login, "User", true, site.clock.now()).await?;
            known.push(user.clone());
            user.id
        }
    };
    users::add_token(&mut tx, first, &identity::digest(token)).await?;
    tx.commit().await?;
    for user in known {
        site.people.add(user);
    }
    Ok(())
}
