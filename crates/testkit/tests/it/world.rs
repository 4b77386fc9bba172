//! A forge, a repository on it, and a checkout of that: what Pilot meets, without Pilot.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pilot_core::id::{Branch, Sha};
use pilot_core::time::Timestamp;
use pilot_exec::git::{Program, Push, PushResult, Remote, RemoteSession, Repository};
use pilot_forge::{CiOptions, Forge, Lags, Options};
use pilot_link::forge;
use pilot_link::github::{Credentials, Github, GithubForge, Repo, RepoName};
use pilot_link::http::{Auth, Http, Method, Pace, Request, Resend, Settings, Url};
use pilot_testkit::agent::fake_agent;
use serde_json::{Value, json};
use tempfile::TempDir;

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Time that passes only while a caller waits; it begins now, since the forge's is the real one.
#[derive(Debug)]
pub(crate) struct TestPace(Mutex<Timestamp>);

impl TestPace {
    pub(crate) fn pass(&self, time: Duration) {
        let mut now = self.0.lock().expect("no panic before");
        *now = now.after(time);
    }
}

impl Pace for TestPace {
    fn now(&self) -> Timestamp {
        *self.0.lock().expect("no panic before")
    }

    fn random(&self) -> u64 {
        0
    }

    fn wait(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.pass(time);
        Box::pin(std::future::ready(()))
    }
}

#[expect(clippy::disallowed_methods, reason = "the tests' clock")]
fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp(0).after(since)
}

pub(crate) struct World {
    root: TempDir,
    forge: Forge,
    http: Http,
    pub(crate) pace: Arc<TestPace>,
    pub(crate) repo: Repo,
    pub(crate) start: Timestamp,
}

impl World {
    /// A forge without delays and without CI, the repository `pilot/engine` with one commit on `main`, and a checkout of it.
    pub(crate) async fn new() -> Self {
        Self::start(CiOptions { jobs: 0, ..CiOptions::default() }).await
    }

    /// The same, where CI runs a command.
    pub(crate) async fn with_ci(command: &str) -> Self {
        Self::start(CiOptions { command: Some(command.to_owned()), ..CiOptions::default() }).await
    }

    async fn start(ci: CiOptions) -> Self {
        let root = tempfile::tempdir().expect("a place for the test");
        let mut options = Options::new(root.path().join("forge"), PATH);
        options.lags = Lags::none();
        options.ci = ci;
        options.rate_limit = 100_000;
        let forge = Forge::start(options).await.expect("the forge starts");
        let start = now();
        let pace = Arc::new(TestPace(Mutex::new(start)));
        let http = http(&pace);
        let github = client(http.with_own_budget(), forge.url(), forge.token());
        let name = RepoName::parse(&format!("{}/engine", forge.user())).expect("a name");
        let repo = github.repo(name);
        let world = Self { root, forge, http, pace, repo, start };
        world.raw(Method::POST, "/user/repos", &json!({"name": "engine", "auto_init": true})).await;
        world.check_out().await;
        world
    }

    pub(crate) async fn stop(self) {
        self.forge.stop().await;
    }

    /// A further client of the same identity, which knows nothing yet.
    pub(crate) fn fresh_repo(&self) -> Repo {
        client(http(&self.pace), self.forge.url(), self.forge.token()).repo(self.repo.name().clone())
    }

    pub(crate) async fn user(&self, login: &str) -> Repo {
        let user = self.raw(Method::POST, "/_forge/users", &json!({"login": login})).await;
        let token = user["token"].as_str().expect("a token");
        client(http(&self.pace), self.forge.url(), token).repo(self.repo.name().clone())
    }

    /// A call that Pilot never makes: what other people, or CI, do.
    pub(crate) async fn raw(&self, method: Method, path: &str, body: &Value) -> Value {
        let url = Url::parse(self.forge.url()).and_then(|url| url.join(path)).expect("an address");
        let by = Auth::bearer(self.forge.token()).expect("a token");
        let request = Request::new(method, url, Resend::Once).with_auth(&by);
        let request = if body.is_null() { request } else { request.with_json(body) };
        let reply = self.http.send(&request).await.unwrap_or_else(|error| panic!("{path}: {error}"));
        serde_json::from_slice(&reply.body).unwrap_or_default()
    }

    /// The same inside the repository.
    pub(crate) async fn own(&self, method: Method, path: &str, body: &Value) -> Value {
        self.raw(method, &format!("/repos/{}{path}", self.repo.name()), body).await
    }

    pub(crate) fn checkout(&self) -> PathBuf {
        self.root.path().join("checkout")
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(&self.checkout(), self.root.path(), args)
    }

    async fn check_out(&self) {
        std::fs::create_dir(self.checkout()).expect("a fresh place");
        self.git(&["init", "-q", "-b", "main"]);
        let main = self.with_remote(|session| session.fetch(&branch("main"), "refs/pilot/base/main")).await;
        self.git(&["reset", "-q", "--hard", main.expect("main is fetched").as_str()]);
    }

    /// A commit on a branch of its own, from `main`.
    pub(crate) fn commit(&self, name: &str, file: &str) -> Sha {
        self.git(&["checkout", "-q", "-B", name, "refs/pilot/base/main"]);
        std::fs::write(self.checkout().join(file), "content\n").expect("a file");
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", &format!("Add {file}")]);
        Sha::parse(&self.git(&["rev-parse", "HEAD"])).expect("a commit")
    }

    /// Commits a file on a new branch and pushes it as Pilot does.
    pub(crate) async fn publish(&self, name: &str, file: &str) -> Sha {
        let commit = self.commit(name, file);
        let pushed = self.push(name, Some(&commit), None).await;
        assert_eq!(pushed, PushResult::Pushed);
        commit
    }

    /// So many branches (`pilot/round-N`) with a file each (`file-N`), pushed at once, as only a test does.
    pub(crate) fn publish_many(&self, count: usize) -> Vec<Sha> {
        let commits =
            (0..count).map(|round| self.commit(&format!("pilot/round-{round}"), &format!("file-{round}")));
        let commits = commits.collect();
        let with_token = format!("http://x-access-token:{}@", self.forge.token());
        let url = self.forge.url().replacen("http://", &with_token, 1);
        tokio::task::block_in_place(|| {
            self.git(&[
                "push",
                "-q",
                &format!("{url}/{}.git", self.repo.name()),
                "refs/heads/pilot/*:refs/heads/pilot/*",
            ]);
        });
        commits
    }

    pub(crate) async fn push(&self, name: &str, commit: Option<&Sha>, expected: Option<&Sha>) -> PushResult {
        let branch = branch(name);
        let push = |session: &RemoteSession<'_>| {
            session.push(&Push { branch: &branch, prefix: "pilot/", commit, expected })
        };
        self.with_remote(push).await.expect("the push has an answer")
    }

    pub(crate) async fn with_remote<T>(&self, act: impl FnOnce(&RemoteSession<'_>) -> T) -> T {
        let facts = self.repo.facts().await.expect("the repository is there");
        let port = forge::Forge::Github(GithubForge::new(self.repo.clone()));
        let password = port.git_credential().await.expect("a credential").password.expose().to_owned();
        let remote = Remote::parse(&facts.clone_url).expect("an address");
        let remote = remote.with_password("x-access-token", &password, fake_agent());
        let program = Arc::new(Program::new(PATH.into(), None));
        let repository = Repository::open(&program, &self.checkout()).expect("a checkout");
        let scratch = self.root.path().join("scratch");
        // Git is waited for in place, while the forge answers on another thread.
        tokio::task::block_in_place(|| {
            act(&RemoteSession { repository: &repository, remote: &remote, scratch: &scratch })
        })
    }

    /// Puts a fault plan in force.
    pub(crate) async fn faults(&self, rules: &Value) {
        self.raw(Method::PUT, "/_forge/faults", &json!({"rules": rules})).await;
    }
}

fn client(http: Http, url: &str, token: &str) -> Github {
    Github::new(http, url, Credentials::Token(token.to_owned())).expect("a client")
}

fn http(pace: &Arc<TestPace>) -> Http {
    let settings = Settings { idle_timeout: Duration::from_secs(20), ..Settings::default() };
    Http::new(settings, Arc::clone(pace) as Arc<dyn Pace>).expect("a client")
}

pub(crate) fn branch(name: &str) -> Branch {
    Branch::parse(name).expect("a name")
}

fn git(dir: &Path, home: &Path, args: &[&str]) -> String {
    #[expect(clippy::disallowed_methods, reason = "the tests' one place that starts a user's git")]
    let mut git = Command::new("git");
    git.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]).args(args);
    git.current_dir(dir).env_clear().env("PATH", PATH).env("HOME", home).env("GIT_CONFIG_NOSYSTEM", "1");
    let output = git.output().expect("git starts");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Asks until there is an answer.
pub(crate) async fn until<T>(mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    for _ in 0..3000 {
        if let Some(answer) = ask().await {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it never came")
}
