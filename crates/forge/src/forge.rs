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
use crate::context::{Context, RepoLocks};
use crate::faults::Faults;
use crate::git::{Git, PRE_RECEIVE};
use crate::identity;
use crate::name::is_login;
use crate::options::Options;
use crate::pages::Sessions;
use crate::recovery;
use crate::server::{Failure, RateLimits, RequestLog, serve};
use crate::store::{Store, StoreError, users};
use crate::tasks::Tasks;
use crate::user_cache::UserCache;
use crate::webhook;

#[derive(Debug, thiserror::Error)]
pub enum ForgeError {
    #[error("open {path}: {source}")]
    Root { path: String, source: io::Error },
    #[error("open {0}: another forge is running there; stop it or use another --root")]
    Taken(String),
    #[error("listen on {address}: {source}")]
    Listen { address: String, source: io::Error },
    #[error("use {0:?} as a login: it must be letters, digits and single dashes, and no reserved word")]
    User(String),
    /// The token is not valid in a header.
    #[error("use the token of {0}: it must have 8 to 255 letters, digits, `-`, `.` or `_`")]
    Token(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Recovery after a crash failed.
    #[error("recover after a crash: {0}")]
    Recovery(String),
}

impl From<sqlx::Error> for ForgeError {
    fn from(error: sqlx::Error) -> Self {
        ForgeError::Store(StoreError::Database(error))
    }
}

/// A running forge. Dropped without [`Forge::stop`] it ends like after a crash; nothing that was confirmed to a client is
/// lost.
#[derive(Debug)]
pub struct Forge {
    url: String,
    token: String,
    user: String,
    ctx: Arc<Context>,
    stop: watch::Sender<bool>,
    server: Option<JoinHandle<()>>,
    lock: Lock,
}

impl Forge {
    /// Starts a forge; it accepts requests when this returns.
    pub async fn start(mut options: Options) -> Result<Forge, ForgeError> {
        if !is_login(&options.user) {
            return Err(ForgeError::User(options.user));
        }
        let lock = prepare(&options.root).await?;
        // Git runs in other directories, where a relative path would not resolve.
        let whole = std::fs::canonicalize(&options.root);
        options.root =
            whole.map_err(|source| ForgeError::Root { path: options.root.display().to_string(), source })?;
        let token = choose_token(&options)?;
        let store = Store::open(&options.root.join("forge.db")).await?;
        let address = options.listen.to_string();
        let failed = |source| ForgeError::Listen { address: address.clone(), source };
        let listener = TcpListener::bind(options.listen).await.map_err(failed)?;
        let url = format!("http://{}", listener.local_addr().map_err(failed)?);
        let git = Git::new(options.path.clone(), options.root.join("repos"), options.root.join("hooks"));
        let ctx = Arc::new(Context {
            url: url.clone(),
            clock: Clock::default(),
            store,
            git,
            users: UserCache::default(),
            lags: options.lags,
            rate: RateLimits::new(options.rate_limit),
            faults: Faults::default(),
            log: RequestLog::default(),
            tasks: Tasks::default(),
            repo_locks: RepoLocks::default(),
            comparisons: api::Comparisons::default(),
            root: options.root.clone(),
            ci: options.ci,
            running: ci::Running::default(),
            secret: identity::new_token(),
            sessions: Sessions::default(),
            ci_wakeup: Notify::new(),
            delivery_wakeup: Notify::new(),
        });
        api::apply_plan(&ctx, options.faults);
        load_users(&ctx, &options.user, &token).await?;
        let recovered = recovery::recover(&ctx).await;
        recovered.map_err(|failure: Failure| ForgeError::Recovery(failure.message))?;
        let (stop, stopped) = watch::channel(false);
        ctx.tasks.spawn(ci::run_worker(Arc::clone(&ctx), stopped.clone()));
        ctx.tasks.spawn(webhook::run_deliveries(Arc::clone(&ctx), stopped.clone()));
        if lock.was_killed {
            ctx.tasks.spawn(recovery::recover_again(Arc::clone(&ctx), stopped.clone()));
        }
        let server = spawn(serve(listener, Arc::clone(&ctx), stopped));
        Ok(Forge { url, token, user: options.user, ctx, stop, server: Some(server), lock })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// The token of the first user.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The login of the first user.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// A link to the pages that signs the first user in once.
    pub fn sign_in_link(&self) -> String {
        let first = self.ctx.users.by_login(&self.user).map_or(0, |user| user.id);
        format!("{}/login/{}", self.url, self.ctx.sessions.create_link(first))
    }

    /// Finishes the requests in progress, ends all tasks and closes the database.
    pub async fn stop(mut self) {
        let _ = self.stop.send(true);
        if let Some(server) = self.server.take() {
            let _ = server.await;
        }
        self.ctx.tasks.shut_down().await;
        self.ctx.store.close().await;
        self.lock.release();
    }
}

impl Drop for Forge {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.abort();
            self.ctx.tasks.abort();
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "joined by Forge::stop")]
fn spawn(work: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    tokio::spawn(work)
}

/// How often, and in which interval, to try a lock that another process holds.
const LOCK_TRIES: u32 = 20;
const TRY_INTERVAL: Duration = Duration::from_millis(50);

/// The lock file of a root; its content shows whether the previous forge was killed.
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
                // A child process of a killed forge holds the lock until its exec.
                Err(TryLockError::WouldBlock) if tries < LOCK_TRIES => {
                    tokio::time::sleep(TRY_INTERVAL).await;
                }
                Err(TryLockError::WouldBlock) => return Err(LockError::Taken),
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
            tries += 1;
        }
        // A clean stop empties the file.
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

/// Creates the directories and the hook, and takes the lock.
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

/// The token of the options, else the stored one, else a new one.
fn choose_token(options: &Options) -> Result<String, ForgeError> {
    let failed = |source| ForgeError::Root { path: options.root.join("token").display().to_string(), source };
    let kept = identity::read_token(&options.root).map_err(failed)?;
    let token = match (&options.token, &kept) {
        (Some(token), _) => token.clone(),
        (None, Some(token)) => token.clone(),
        (None, None) => identity::new_token(),
    };
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    if !(8..=255).contains(&token.len()) || !token.bytes().all(valid) {
        let from = match &options.token {
            Some(_) => "--token".to_owned(),
            None => options.root.join("token").display().to_string(),
        };
        return Err(ForgeError::Token(from));
    }
    if kept.as_ref() != Some(&token) {
        identity::write_token(&options.root, &token).map_err(failed)?;
    }
    Ok(token)
}

/// Loads the users into the cache, and creates the first user and token.
async fn load_users(ctx: &Context, login: &str, token: &str) -> Result<(), ForgeError> {
    let mut tx = ctx.store.begin().await?;
    let mut known = users::all(&mut tx).await?;
    let first = match known.iter().find(|user| user.login.eq_ignore_ascii_case(login)) {
        Some(user) => user.id,
        None => {
            let user = users::insert(&mut tx, login, "User", true, ctx.clock.now()).await?;
            known.push(user.clone());
            user.id
        }
    };
    users::add_token(&mut tx, first, &identity::digest(token)).await?;
    tx.commit().await?;
    for user in known {
        ctx.users.add(user);
    }
    Ok(())
}
