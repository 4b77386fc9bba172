//! A forge of one's own, people, repositories, and working copies with real git.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use pilot_forge::{Forge, Lags, Options};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::Client;

/// As long as anything may take that is waited for.
const LONGEST: Duration = Duration::from_secs(60);

/// A forge in a directory that goes away.
pub(crate) struct World {
    pub(crate) home: TempDir,
    forge: Option<Forge>,
    options: Options,
}

impl World {
    /// A forge without delays.
    pub(crate) async fn new() -> World {
        World::with(|_| ()).await
    }

    /// The same, with some of its options changed.
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

    /// Where the forge keeps everything.
    pub(crate) fn root(&self) -> PathBuf {
        self.options.root.clone()
    }

    /// Ends the forge as a crash does: nobody is asked, nothing is finished.
    pub(crate) fn crash(&mut self) {
        drop(self.forge.take());
    }

    /// Starts it again.
    pub(crate) async fn start(&mut self) {
        self.forge = Some(Forge::start(self.options.clone()).await.expect("a forge"));
    }

    /// Stops it in peace.
    pub(crate) async fn stop(&mut self) {
        self.forge.take().expect("a forge").stop().await;
    }

    /// The first user, who may do everything.
    pub(crate) fn me(&self) -> Client {
        let forge = self.forge();
        Client {
            url: forge.url().to_owned(),
            token: Some(forge.token().to_owned()),
            login: forge.user().to_owned(),
        }
    }

    /// A link that signs the first user in, once.
    pub(crate) fn sign_in_link(&self) -> String {
        let link = self.forge().sign_in_link();
        link.strip_prefix(self.forge().url()).expect("a path").to_owned()
    }

    /// Somebody new.
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

    /// A working copy of a repository.
    pub(crate) fn clone_of(&self, repo: &str, who: &Client) -> Tree {
        let place = self.home.path().join(format!("clone-{}", uuid::Uuid::now_v7().simple()));
        let tree = Tree { place: place.clone() };
        let url = clone_url(repo, who);
        let done = git(self.home.path(), &["clone", "--quiet", &url, place.to_str().expect("UTF-8")]);
        assert!(done.ok, "{}", done.text);
        tree
    }

    /// Looks until there is something, and gives that.
    pub(crate) async fn until<T>(&self, what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
        until(what, async || look().await).await
    }
}

/// Looks until there is something, and gives that.
pub(crate) async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let looking = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LONGEST, looking).await.unwrap_or_else(|_| panic!("waited in vain for {what}"))
}

/// The address of a repository for git, with the token in it.
pub(crate) fn clone_url(repo: &str, who: &Client) -> String {
    let path = repo.strip_prefix("/repos").expect("a repository");
    match &who.token {
        Some(token) => format!("{}{path}.git", who.url.replacen("http://", &format!("http://x:{token}@"), 1)),
        None => format!("{}{path}.git", who.url),
    }
}

/// A working copy.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) place: PathBuf,
}

impl Tree {
    /// Git, which must succeed.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let done = git(&self.place, args);
        assert!(done.ok, "git {args:?}: {}", done.text);
        done.text.trim().to_owned()
    }

    /// Git, which must fail; what it said.
    pub(crate) fn git_fails(&self, args: &[&str]) -> String {
        let done = git(&self.place, args);
        assert!(!done.ok, "git {args:?} succeeded: {}", done.text);
        done.text
    }

    /// A commit with one file.
    pub(crate) fn commit(&self, file: &str, text: &str, message: &str) -> String {
        let path = self.place.join(file);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::fs::write(path, text).expect("a file");
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// A branch from `origin/main` with one commit, pushed.
    pub(crate) fn branch(&self, name: &str, file: &str, text: &str) -> String {
        self.git(&["fetch", "--quiet"]);
        self.git(&["checkout", "--quiet", "-B", name, "origin/main"]);
        let sha = self.commit(file, text, &format!("Change {file}"));
        self.git(&["push", "--quiet", "--force", "origin", name]);
        sha
    }
}

/// How git ended and everything it said.
pub(crate) struct Done {
    pub(crate) ok: bool,
    pub(crate) text: String,
}

/// Git in a directory, as somebody whose configuration is empty.
#[expect(clippy::disallowed_methods, reason = "the tests' one place that starts processes")]
pub(crate) fn git(place: &Path, args: &[&str]) -> Done {
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
    Done { ok: output.status.success(), text: String::from_utf8_lossy(&text).into_owned() }
}

/// The numbers of issues or pull requests in a list.
pub(crate) fn numbers(list: &Value) -> Vec<i64> {
    list.as_array().expect("a list").iter().filter_map(|item| item["number"].as_i64()).collect()
}
