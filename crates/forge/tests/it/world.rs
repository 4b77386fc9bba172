//! A test forge with users, repositories and clones.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use pilot_forge::{Forge, Lags, Options};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::Client;

/// The timeout of every wait.
const LONGEST: Duration = Duration::from_secs(60);

/// A forge in a temporary directory.
pub(crate) struct World {
    pub(crate) home: TempDir,
    forge: Option<Forge>,
    options: Options,
}

impl World {
    /// A forge without lags.
    pub(crate) async fn new() -> World {
        World::with(|_| ()).await
    }

    /// A forge with changed options.
    pub(crate) async fn with(change: impl FnOnce(&mut Options)) -> World {
        let home = tempfile::tempdir().expect("a directory");
        let mut options = Options::new(home.path().join("forge"), env!("PATH"));
        options.lags = Lags::none();
        options.rate_limit = 100_000;
        change(&mut options);
        let forge = Forge::start(options.clone()).await.expect("a forge");
        World { home, forge: Some(forge), options }
    }

    fn forge(&self) -> &Forge {
        self.forge.as_ref().expect("a forge")
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.options.root.clone()
    }

    /// Ends the forge like a crash.
    pub(crate) fn crash(&mut self) {
        drop(self.forge.take());
    }

    pub(crate) async fn start(&mut self) {
        self.forge = Some(Forge::start(self.options.clone()).await.expect("a forge"));
    }

    /// Stops the forge cleanly.
    pub(crate) async fn stop(&mut self) {
        self.forge.take().expect("a forge").stop().await;
    }

    /// The first user, an administrator.
    pub(crate) fn me(&self) -> Client {
        let forge = self.forge();
        Client {
            url: forge.url().to_owned(),
            token: Some(forge.token().to_owned()),
            login: forge.user().to_owned(),
        }
    }

    /// The path that signs the first user in once.
    pub(crate) fn sign_in_link(&self) -> String {
        let link = self.forge().sign_in_link();
        link.strip_prefix(self.forge().url()).expect("a path").to_owned()
    }

    pub(crate) async fn user(&self, login: &str) -> Client {
        let made = self.me().post("/_forge/users", json!({"login": login})).await.expect(201);
        let token = made["token"].as_str().expect("a token");
        Client { login: login.to_owned(), ..self.me().with_token(token) }
    }

    /// A new repository with a first commit.
    pub(crate) async fn repo(&self, name: &str) -> String {
        self.me().post("/user/repos", json!({"name": name, "auto_init": true})).await.expect(201);
        format!("/repos/{}/{name}", self.me().login)
    }

    /// A clone of a repository.
    pub(crate) fn clone_of(&self, repo: &str, who: &Client) -> Tree {
        let place = self.home.path().join(format!("clone-{}", uuid::Uuid::now_v7().simple()));
        let tree = Tree { place: place.clone() };
        let url = clone_url(repo, who);
        let done = git(self.home.path(), &["clone", "--quiet", &url, place.to_str().expect("UTF-8")]);
        assert!(done.ok, "{}", done.text);
        tree
    }

    /// Polls until there is a value.
    pub(crate) async fn until<T>(&self, what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
        until(what, async || look().await).await
    }
}

/// Polls until there is a value.
pub(crate) async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let looking = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LONGEST, looking).await.unwrap_or_else(|_| panic!("timed out waiting for {what}"))
}

/// The clone URL of a repository with the token.
pub(crate) fn clone_url(repo: &str, who: &Client) -> String {
    let path = repo.strip_prefix("/repos").expect("a repository");
    match &who.token {
        Some(token) => format!("{}{path}.git", who.url.replacen("http://", &format!("http://x:{token}@"), 1)),
        None => format!("{}{path}.git", who.url),
    }
}

#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) place: PathBuf,
}

impl Tree {
    /// Runs git, which must succeed.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let done = git(&self.place, args);
        assert!(done.ok, "git {args:?}: {}", done.text);
        done.text.trim().to_owned()
    }

    /// Runs git, which must fail; returns its output.
    pub(crate) fn git_fails(&self, args: &[&str]) -> String {
        let done = git(&self.place, args);
        assert!(!done.ok, "git {args:?} succeeded: {}", done.text);
        done.text
    }

    /// Commits all changes with one more file.
    pub(crate) fn commit(&self, file: &str, text: &str, message: &str) -> String {
        let path = self.place.join(file);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::fs::write(path, text).expect("a file");
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Pushes a branch from `origin/main` with one commit.
    pub(crate) fn branch(&self, name: &str, file: &str, text: &str) -> String {
        self.git(&["fetch", "--quiet"]);
        self.git(&["checkout", "--quiet", "-B", name, "origin/main"]);
        let sha = self.commit(file, text, &format!("Change {file}"));
        self.git(&["push", "--quiet", "--force", "origin", name]);
        sha
    }
}

/// The result and output of a git command.
pub(crate) struct GitResult {
    pub(crate) ok: bool,
    pub(crate) text: String,
}

/// Runs git in a directory with an empty configuration.
#[expect(clippy::disallowed_methods, reason = "the only place of the tests that starts processes")]
pub(crate) fn git(place: &Path, args: &[&str]) -> GitResult {
    let mut command = Command::new("git");
    command.args(args).current_dir(place).env_clear().env("PATH", env!("PATH")).env("HOME", place);
    for (name, value) in [
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_AUTHOR_NAME", "Ann"),
        ("GIT_AUTHOR_EMAIL", "ann@example.org"),
        ("GIT_COMMITTER_NAME", "Ann"),
        ("GIT_COMMITTER_EMAIL", "ann@example.org"),
    ] {
        command.env(name, value);
    }
    let output = command.output().expect("git");
    let text = [output.stdout, output.stderr].concat();
    GitResult { ok: output.status.success(), text: String::from_utf8_lossy(&text).into_owned() }
}

/// The numbers of issues or pull requests in a list.
pub(crate) fn numbers(list: &Value) -> Vec<i64> {
    list.as_array().expect("a list").iter().filter_map(|item| item["number"].as_i64()).collect()
}
