//! Pushing and fetching one branch: with a real git, and with servers that require a password.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pilot_core::id::Sha;
use pilot_exec::git::{Program, Push, PushResult, Rejection, Remote, RemoteError, RemoteSession, Repository};
use pilot_testkit::agent::fake_agent;

use crate::user_repo::{UserRepo, branch_name, write};

const PASSWORD: &str = "s3cr3t-t0k3n";

/// A user repository and a bare remote.
struct Pair {
    user_repo: UserRepo,
}

impl Pair {
    fn new() -> Self {
        let user_repo = UserRepo::new();
        user_repo.git(&["init", "-q", "--bare", "-b", "main", "../there.git"]);
        Self { user_repo }
    }

    fn there(&self) -> PathBuf {
        self.user_repo.root().join("there.git")
    }

    fn remote(&self) -> Remote {
        Remote::parse(self.there().to_str().expect("a plain path")).expect("an address")
    }

    fn scratch(&self) -> PathBuf {
        self.user_repo.home().join("relay")
    }

    fn with<T>(&self, remote: &Remote, act: impl FnOnce(&RemoteSession<'_>) -> T) -> T {
        let repository = self.user_repo.open();
        let done = act(&RemoteSession { repository: &repository, remote, scratch: &self.scratch() });
        let left: Vec<_> = fs::read_dir(self.scratch()).into_iter().flatten().flatten().collect();
        assert!(left.is_empty(), "files are left: {left:?}");
        done
    }

    fn push(&self, commit: Option<&Sha>, expected: Option<&Sha>) -> Result<PushResult, RemoteError> {
        self.push_to(&self.remote(), commit, expected)
    }

    fn push_to(
        &self,
        remote: &Remote,
        commit: Option<&Sha>,
        expected: Option<&Sha>,
    ) -> Result<PushResult, RemoteError> {
        let branch = branch_name("pilot/GH-1");
        self.with(remote, |session| {
            session.push(&Push { branch: &branch, prefix: "pilot/", commit, expected })
        })
    }

    fn look(&self) -> Option<Sha> {
        self.with(&self.remote(), |session| session.read_branch(&branch_name("pilot/GH-1")).expect("a look"))
    }

    fn commit(&self, message: &str) -> Sha {
        self.user_repo.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.user_repo.sha("HEAD")
    }

    fn hook(&self, name: &str, script: &str) {
        script_file(&self.there().join("hooks").join(name), script);
    }
}

fn script_file(path: &Path, script: &str) {
    pilot_testkit::program::write(path, format!("#!/bin/sh\n{script}\n"));
}

#[test]
fn a_branch_moves_only_from_where_it_is_expected() {
    let pair = Pair::new();
    let [one, two, three] = ["one", "two", "three"].map(|message| pair.commit(message));
    let stale = |at: Option<&Sha>| PushResult::Stale { at: at.cloned() };
    for (commit, expected, becomes, ends_at) in [
        (Some(&one), Some(&two), stale(None), None),
        (Some(&one), None, PushResult::Pushed, Some(&one)),
        (Some(&one), None, PushResult::UpToDate, Some(&one)),
        (Some(&two), None, stale(Some(&one)), Some(&one)),
        (Some(&two), Some(&one), PushResult::Pushed, Some(&two)),
        (Some(&two), Some(&one), PushResult::UpToDate, Some(&two)),
        (Some(&three), Some(&one), stale(Some(&two)), Some(&two)),
        (Some(&one), Some(&two), PushResult::Pushed, Some(&one)),
        (None, Some(&two), stale(Some(&one)), Some(&one)),
        (None, Some(&one), PushResult::Pushed, None),
        (None, Some(&one), PushResult::UpToDate, None),
    ] {
        assert_eq!(pair.push(commit, expected).unwrap(), becomes, "{commit:?} {expected:?}");
        assert_eq!(pair.look().as_ref(), ends_at, "{commit:?} {expected:?}");
    }
}

#[test]
fn branches_outside_our_prefix_are_never_pushed_to() {
    let pair = Pair::new();
    let (head, branch, remote) = (pair.user_repo.sha("HEAD"), branch_name("main"), pair.remote());
    for prefix in ["pilot/", "", "main"] {
        let push = Push { branch: &branch, prefix, commit: Some(&head), expected: None };
        let error = pair.with(&remote, |session| session.push(&push)).unwrap_err();
        assert!(matches!(error, RemoteError::NotOurs { .. }), "{error}");
    }
    let there = pair.user_repo.git_in(&pair.there(), &["for-each-ref"]);
    assert_eq!(there, "");
}

#[test]
fn a_refusal_names_its_reason() {
    let pair = Pair::new();
    let head = pair.user_repo.sha("HEAD");
    for (hook, script, by, words) in [
        ("pre-receive", "echo no way >&2; exit 1", Rejection::Hook, "pre-receive hook declined; no way"),
        ("update", "echo not today >&2; exit 1", Rejection::Hook, "not today"),
        (
            "pre-receive",
            "echo 'error: GH006: Protected branch update failed' >&2; exit 1",
            Rejection::Protected,
            "GH006",
        ),
        (
            "pre-receive",
            "echo 'refusing to allow a Personal Access Token to create or update workflow `.github/x` without `workflow` scope' >&2; exit 1",
            Rejection::Workflow,
            "scope",
        ),
    ] {
        pair.hook(hook, script);
        let pushed = pair.push(Some(&head), None).unwrap();
        let PushResult::Rejected { by: reason, message } = &pushed else { panic!("{pushed:?}") };
        assert_eq!((*reason, message.contains(words)), (by, true), "{message}");
        fs::remove_file(pair.there().join("hooks").join(hook)).unwrap();
    }
    let next = pair.commit("next");
    assert_eq!(pair.push(Some(&next), None).unwrap(), PushResult::Pushed);
    pair.user_repo.git_in(&pair.there(), &["config", "receive.denyNonFastForwards", "true"]);
    let pushed = pair.push(Some(&head), Some(&next)).unwrap();
    assert!(matches!(pushed, PushResult::Rejected { by: Rejection::Other, .. }), "{pushed:?}");
}

#[test]
fn the_repositorys_configuration_has_no_effect() {
    let pair = Pair::new();
    let head = pair.user_repo.sha("HEAD");
    pair.user_repo.git(&["init", "-q", "--bare", "../evil.git"]);
    let there = pair.there();
    let instead = format!("url.{}.insteadOf", pair.user_repo.root().join("evil.git").display());
    let push_instead = format!("url.{}.pushInsteadOf", pair.user_repo.root().join("evil.git").display());
    let trap = pair.user_repo.trap();
    let trap = trap.to_str().unwrap();
    for (key, value) in [
        (instead.as_str(), there.to_str().unwrap()),
        (&push_instead, there.to_str().unwrap()),
        ("credential.helper", trap),
        ("core.askPass", trap),
        ("core.sshCommand", trap),
        ("remote.origin.receivepack", trap),
        ("push.followTags", "true"),
    ] {
        pair.user_repo.git(&["config", key, value]);
    }
    script_file(&pair.user_repo.repo().join(".git/hooks/pre-push"), &format!("exec {trap}"));
    script_file(&pair.user_repo.repo().join(".git/hooks/reference-transaction"), &format!("exec {trap}"));
    pair.user_repo.git(&["-c", "core.hooksPath=/dev/null", "tag", "-a", "v1", "-m", "v1"]);
    assert_eq!(pair.push(Some(&head), None).unwrap(), PushResult::Pushed);
    assert_eq!(
        pair.user_repo.git_in(&there, &["for-each-ref", "--format=%(refname)"]),
        "refs/heads/pilot/GH-1"
    );
    assert_eq!(pair.user_repo.git_in(&pair.user_repo.root().join("evil.git"), &["for-each-ref"]), "");
    let fetched =
        pair.with(&pair.remote(), |session| session.fetch(&branch_name("pilot/GH-1"), "refs/pilot/base/x"));
    assert_eq!(fetched.unwrap(), head);
    assert!(
        !pair.user_repo.marker().exists(),
        "{}",
        fs::read_to_string(pair.user_repo.marker()).unwrap_or_default()
    );
}

#[test]
fn a_branch_is_fetched_and_pinned_and_nothing_else_changes() {
    let pair = Pair::new();
    let old = pair.user_repo.sha("HEAD");
    assert_eq!(pair.push(Some(&old), None).unwrap(), PushResult::Pushed);
    // Another clone pushes meanwhile.
    let other = pair.user_repo.root().join("other");
    pair.user_repo.git(&["clone", "-q", "-b", "pilot/GH-1", "../there.git", "../other"]);
    write(&other, "new.txt", "new\n");
    pair.user_repo.git_in(&other, &["add", "-A"]);
    pair.user_repo.git_in(&other, &["commit", "-q", "-m", "theirs"]);
    pair.user_repo.git_in(&other, &["push", "-q", "origin", "HEAD:main"]);
    let theirs = Sha::parse(&pair.user_repo.git_in(&other, &["rev-parse", "HEAD"])).unwrap();
    // A ref to a missing object, as a crash leaves one, does no harm.
    write(&pair.user_repo.repo(), ".git/refs/heads/broken", "1234567890123456789012345678901234567890\n");
    let before = pair.user_repo.user_state();
    let fetch = |branch: &str| {
        pair.with(&pair.remote(), |session| session.fetch(&branch_name(branch), "refs/pilot/base/main"))
    };
    for _ in 0..2 {
        assert_eq!(fetch("main").unwrap(), theirs);
        assert_eq!(pair.user_repo.sha("refs/pilot/base/main"), theirs);
    }
    assert_eq!(pair.user_repo.show("refs/pilot/base/main", "new.txt"), "new");
    assert_eq!(pair.user_repo.user_state(), before);
    let error = fetch("nope").unwrap_err();
    assert!(matches!(error, RemoteError::NoBranch { .. }), "{error}");
    assert_eq!(pair.user_repo.sha("refs/pilot/base/main"), theirs, "a failed fetch changes nothing");
}

#[test]
fn a_shallow_repository_is_pushed_from_and_fetched_into() {
    let pair = Pair::new();
    let _ = (pair.commit("two"), pair.commit("three"));
    let tip = pair.user_repo.sha("HEAD");
    assert_eq!(pair.push(Some(&tip), None).unwrap(), PushResult::Pushed);
    let url = format!("file://{}", pair.there().display());
    pair.user_repo.git(&["clone", "-q", "--depth", "1", "-b", "pilot/GH-1", &url, "../shallow"]);
    let shallow = pair.user_repo.root().join("shallow");
    pair.user_repo.git_in(&shallow, &["commit", "-q", "--allow-empty", "-m", "four"]);
    let four = Sha::parse(&pair.user_repo.git_in(&shallow, &["rev-parse", "HEAD"])).unwrap();
    let repository = Repository::open(&pair.user_repo.program, &shallow).unwrap();
    assert!(repository.is_shallow);
    let (remote, scratch) = (pair.remote(), pair.scratch());
    let session = RemoteSession { repository: &repository, remote: &remote, scratch: &scratch };
    let branch = branch_name("pilot/GH-1");
    let push = Push { branch: &branch, prefix: "pilot/", commit: Some(&four), expected: Some(&tip) };
    assert_eq!(session.push(&push).unwrap(), PushResult::Pushed);
    assert_eq!(session.fetch(&branch, "refs/pilot/base/x").unwrap(), four);
}

#[test]
fn a_push_whose_answer_is_lost_is_resolved_by_reading_the_branch() {
    let pair = Pair::new();
    let head = pair.user_repo.sha("HEAD");
    // Git ends without a word, after the push or before it.
    for (script, lands) in [("git \"$@\" >/dev/null 2>&1; exit 128", true), ("exit 128", false)] {
        let git = pair.user_repo.root().join("lossy-git");
        script_file(&git, &format!("case \"$1\" in push) {script};; *) exec git \"$@\";; esac"));
        let program = Program::new("/usr/local/bin:/usr/bin:/bin".into(), None).with_git(git);
        let repository = Repository::open(&Arc::new(program), &pair.user_repo.repo()).unwrap();
        let (remote, scratch, branch) = (pair.remote(), pair.scratch(), branch_name("pilot/GH-1"));
        let session = RemoteSession { repository: &repository, remote: &remote, scratch: &scratch };
        let push = Push { branch: &branch, prefix: "pilot/", commit: Some(&head), expected: None };
        match session.push(&push) {
            Ok(pushed) => assert!(lands && pushed == PushResult::UpToDate, "{pushed:?}"),
            Err(error) => assert!(!lands && matches!(error, RemoteError::Unknown { .. }), "{error}"),
        }
        assert_eq!(pair.look().is_some(), lands);
        let _ = pair.push(None, Some(&head)).unwrap();
    }
}

#[test]
fn leftovers_of_a_dead_pilot_are_removed() {
    let pair = Pair::new();
    let left = pair.scratch().join("relay-4194305-0");
    fs::create_dir_all(&left).unwrap();
    assert_eq!(pair.look(), None);
    assert!(!left.exists());
}

/// A server that answers every request alike, and remembers what it was asked.
struct AuthServer {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl AuthServer {
    /// Runs `act` while the server answers `refusal` to those who have the password, and 401 to all others.
    fn watch<T>(refusal: &str, act: impl FnOnce(&AuthServer) -> T) -> T {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it listens");
        let guard = AuthServer { url: format!("http://{address}/ada/engine.git"), asked: Arc::default() };
        std::thread::scope(|scope| {
            let asked = Arc::clone(&guard.asked);
            scope.spawn(move || {
                for stream in listener.incoming().flatten() {
                    let head = read_head(&stream);
                    if head.starts_with("STOP") {
                        return;
                    }
                    let known =
                        head.contains("Authorization: Basic eC1hY2Nlc3MtdG9rZW46czNjcjN0LXQwazNu\r\n");
                    let answer = if known {
                        refusal
                    } else {
                        "401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\""
                    };
                    let _ = (&stream).write_all(
                        format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                            .as_bytes(),
                    );
                    asked.lock().expect("no panic before").push(head);
                }
            });
            let done = act(&guard);
            TcpStream::connect(address)
                .and_then(|mut stream| stream.write_all(b"STOP\r\n\r\n"))
                .expect("it still listens");
            done
        })
    }

    fn remote(&self) -> Remote {
        Remote::parse(&self.url).expect("an address").with_limit(Duration::from_secs(30))
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no panic before").clone()
    }
}

fn read_head(stream: &TcpStream) -> String {
    let mut head = String::new();
    let mut reader = BufReader::new(stream);
    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).is_ok_and(|length| length > 0) {}
    head
}

#[test]
fn the_password_reaches_the_server_it_is_for() {
    let pair = Pair::new();
    let head = pair.user_repo.sha("HEAD");
    for (answer, expected) in [
        ("404 Not Found", "not found"),
        ("403 Forbidden", "denied"),
        ("503 Down", "unreachable"),
        ("301 Moved\r\nLocation: http://127.0.0.1:1/evil.git", "moved"),
    ] {
        AuthServer::watch(answer, |guard| {
            let remote = guard.remote().with_password("x-access-token", PASSWORD, fake_agent());
            let error = pair.push_to(&remote, Some(&head), None).unwrap_err();
            let name = match &error {
                RemoteError::NotFound { .. } => "not found",
                RemoteError::Auth { .. } => "auth",
                RemoteError::Denied { .. } => "denied",
                RemoteError::Unreachable { .. } => "unreachable",
                RemoteError::Moved { .. } => "moved",
                RemoteError::Git(_)
                | RemoteError::BadUrl { .. }
                | RemoteError::NotOurs { .. }
                | RemoteError::NoBranch { .. }
                | RemoteError::NoCommit { .. }
                | RemoteError::Unknown { .. } => "another",
            };
            assert_eq!(name, expected, "{error}");
            assert!(!error.to_string().contains(PASSWORD), "{error}");
            let last = guard.asked().pop().unwrap_or_default();
            assert!(last.starts_with("GET /ada/engine.git/info/refs?service=git-receive-pack"), "{last}");
            assert!(last.contains("Authorization: Basic"), "{last}");
        });
    }
}

#[test]
fn a_wrong_password_or_none_is_refused_without_a_prompt() {
    let pair = Pair::new();
    let head = pair.user_repo.sha("HEAD");
    AuthServer::watch("500 Never", |guard| {
        for remote in [guard.remote(), guard.remote().with_password("x-access-token", "wrong", fake_agent())]
        {
            let error = pair.push_to(&remote, Some(&head), None).unwrap_err();
            assert!(matches!(error, RemoteError::Auth { .. }), "{error}");
            assert!(error.to_string().contains("check that the token is valid"), "{error}");
        }
    });
}

#[test]
fn a_commit_that_is_not_here_is_named() {
    let pair = Pair::new();
    let elsewhere = Sha::parse(&"1".repeat(40)).unwrap();
    let error = pair.push(Some(&elsewhere), None).unwrap_err();
    assert!(matches!(error, RemoteError::NoCommit { .. }), "{error}");
    assert!(error.to_string().starts_with("push 1111111: it is not in /"), "{error}");
    assert!(error.to_string().contains("let both work in one checkout"), "{error}");
}

#[test]
fn an_unreachable_server_is_reported() {
    let pair = Pair::new();
    let head = pair.user_repo.sha("HEAD");
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let remote = Remote::parse(&format!("http://{closed}/x.git")).unwrap();
    let error = pair.push_to(&remote, Some(&head), None).unwrap_err();
    assert!(matches!(error, RemoteError::Unreachable { .. }), "{error}");
    let missing = Remote::parse("/nonexistent/x.git").unwrap();
    let error = pair.push_to(&missing, Some(&head), None).unwrap_err();
    assert!(matches!(error, RemoteError::NotFound { .. }), "{error}");
}
