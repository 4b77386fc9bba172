//! A world for the daemon: a forge that runs, a repository with CI on it, a checkout, and a configuration.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::forge::http::{Client, git};
use crate::program::{Ended, pilot, run, within};

/// Longer than this nothing takes, however busy the machine is.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// An agent that does what the issue's text says: `break` breaks CI, a fix repairs it, `wait` waits for a file, everything else
/// adds a file.
const AGENT: &str = r#"#!/bin/sh
prompt=$(cat)
export GIT_AUTHOR_NAME=Agent GIT_AUTHOR_EMAIL=agent@example.org
export GIT_COMMITTER_NAME=Agent GIT_COMMITTER_EMAIL=agent@example.org
echo "$PILOT_TASK_ID $$" >>"@/agents"
case "$prompt" in
*"Fix CI"*) rm -f broken; git add -A; git commit -qm "fix: repair CI"; git rev-parse HEAD >>"@/commits"; exit ;;
*"please break"*) touch broken ;;
*"please wait"*) while [ ! -e "@/go" ]; do sleep 0.05; done ;;
esac
echo "$PILOT_TASK_ID" >"$PILOT_TASK_ID.txt"
git add -A && git commit -qm "feat: $PILOT_TASK_ID" && git rev-parse HEAD >>"@/commits"
echo done
"#;

const CI: &str = "test ! -e broken || { echo 'broken is there' >&2; exit 1; }\n";

/// Everything the daemon lives in.
pub(crate) struct World {
    pub(crate) folder: TempDir,
    forge: Child,
    pub(crate) client: Client,
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.forge.kill();
        let _ = self.forge.wait();
    }
}

/// A daemon that runs.
pub(crate) struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Daemon {
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw).expect("a number");
        let _ = kill_process(pid, signal);
    }

    /// The number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Kills it as `kill -9` does.
    pub(crate) fn kill(mut self) {
        self.0.kill().expect("it is there");
        self.0.wait().expect("it ends");
    }

    pub(crate) fn is_over(&mut self) -> bool {
        self.0.try_wait().expect("it is ours").is_some()
    }

    /// Waits for its end; none when a signal ended it.
    pub(crate) fn end(mut self) -> Option<i32> {
        let mut code = None;
        let ended = within(PATIENCE, || {
            code = self.0.try_wait().expect("it is ours");
            code.is_some()
        });
        assert!(ended, "the daemon goes on");
        code.and_then(|code| code.code())
    }
}

impl World {
    /// A forge without lags.
    pub(crate) fn new() -> World {
        World::with(&["--lags", "none"])
    }

    /// A forge with other options.
    pub(crate) fn with(options: &[&str]) -> World {
        let folder = tempfile::tempdir().expect("a folder");
        let (forge, client) = serve(folder.path(), options);
        let world = World { folder, forge, client };
        world.furnish();
        world
    }

    /// Ends the forge as `kill -9` does.
    pub(crate) fn fall(&mut self) {
        self.forge.kill().expect("it runs");
        self.forge.wait().expect("it ends");
    }

    /// Starts it again, where it was.
    pub(crate) fn rise(&mut self) {
        let address = self.client.url.strip_prefix("http://").expect("plain HTTP").to_owned();
        (self.forge, _) = serve(self.folder.path(), &["--lags", "none", "--listen", &address]);
    }

    fn furnish(&self) {
        self.post("/user/repos", &json!({"name": "shop", "auto_init": true}));
        let url = self.client.clone_url("pilot/shop");
        let place = self.folder.path();
        assert_eq!(run(git(place, &["clone", "-q", &url, "shop"])).code, Some(0));
        let shop = self.shop();
        fs::create_dir_all(shop.join(".pilot")).expect("a folder");
        fs::write(shop.join(".pilot/ci.sh"), CI).expect("a file");
        for args in [&["add", "-A"][..], &["commit", "-qm", "ci"], &["push", "-q", "origin", "HEAD"]] {
            let ended = run(git(&shop, args));
            assert_eq!(ended.code, Some(0), "{args:?}: {}", ended.stderr);
        }
        // What is in the checkout afterwards is a user's: no password, no identity.
        let clean = format!("{}/pilot/shop.git", self.client.url);
        assert_eq!(run(git(&shop, &["remote", "set-url", "origin", &clean])).code, Some(0));
        let agent = self.path("agent.sh");
        pilot_testkit::program::write(&agent, AGENT.replace('@', &place.to_string_lossy()));
        self.configure("");
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn shop(&self) -> PathBuf {
        self.path("shop")
    }

    /// The home of a Pilot.
    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// Writes the configuration of the first Pilot, with more lines at its end.
    pub(crate) fn configure(&self, more: &str) {
        self.configure_at(&self.home(), &self.shop(), more);
    }

    pub(crate) fn configure_at(&self, home: &Path, checkout: &Path, more: &str) {
        let text = format!(
            "adapters:\n  github:\n    token: {token}\n    api_url: {url}\n    polling: {{interval: 200ms}}\n\
             orchestrator:\n  max_concurrent: 4\n  execution_mode: parallel\n  autopilot:\n    environment: dev\n    \
             ci_poll_interval: 200ms\n    settle: 500ms\n    release: {{enabled: true}}\n\
             executor:\n  backend: command\n  command: {{argv: [{agent}]}}\n  retry: {{enabled: false}}\n  \
             review: {{enabled: false}}\n\
             quality: {{enabled: false}}\n\
             projects:\n  - {{name: shop, path: {checkout}, github: {{owner: pilot, repo: shop}}}}\n{more}",
            token = self.client.token,
            url = self.client.url,
            agent = self.path("agent.sh").display(),
            checkout = checkout.display(),
        );
        fs::create_dir_all(home).expect("a folder");
        let file = home.join("config.yaml");
        fs::write(&file, text).expect("a file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("its owner's");
    }

    /// Puts other words into the configuration of the first Pilot.
    pub(crate) fn reconfigure(&self, from: &str, to: &str) {
        let file = self.home().join("config.yaml");
        let text = fs::read_to_string(&file).expect("a file");
        assert!(text.contains(from), "{from} is not in {text}");
        fs::write(&file, text.replacen(from, to, 1)).expect("a file");
    }

    /// Pilot in this world.
    pub(crate) fn pilot(&self, args: &[&str]) -> std::process::Command {
        self.pilot_at(&self.home(), args)
    }

    /// Another Pilot in this world.
    pub(crate) fn pilot_at(&self, home: &Path, args: &[&str]) -> std::process::Command {
        let mut pilot = pilot(args);
        pilot.env_clear().env("PATH", env!("PATH")).env("HOME", self.folder.path()).env("PILOT_HOME", home);
        pilot.env("GIT_CONFIG_NOSYSTEM", "1").current_dir(self.folder.path());
        pilot
    }

    /// Works until nothing is left to do.
    pub(crate) fn once(&self) -> Ended {
        run(self.pilot(&["start", "--once"]))
    }

    /// Starts a daemon; what it says goes to a file.
    pub(crate) fn start(&self) -> Daemon {
        self.start_with(&[])
    }

    /// Starts a daemon with more variables.
    pub(crate) fn start_with(&self, variables: &[(&str, &str)]) -> Daemon {
        self.start_at(&self.home(), &["start"], variables)
    }

    /// Starts a daemon that ends when nothing is left to do.
    pub(crate) fn start_once(&self, variables: &[(&str, &str)]) -> Daemon {
        self.start_at(&self.home(), &["start", "--once"], variables)
    }

    /// Starts a daemon somewhere else.
    pub(crate) fn start_at(&self, home: &Path, args: &[&str], variables: &[(&str, &str)]) -> Daemon {
        let mut pilot = self.pilot_at(home, args);
        pilot.envs(variables.iter().copied());
        self.spawn(pilot)
    }

    /// Starts something that takes its time; what it says goes to the file.
    pub(crate) fn spawn(&self, mut pilot: std::process::Command) -> Daemon {
        let log = fs::File::options().create(true).append(true).open(self.path("log")).expect("a file");
        Daemon(pilot.stderr(log).spawn().expect("start"))
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let answer = self.client.ask("POST", path, body).expect("an answer");
        assert!(answer.status < 300, "{path}: {}", answer.json);
        answer.json
    }

    /// Any call that changes something on the repository.
    pub(crate) fn change(&self, method: &str, path: &str, body: &Value) -> Value {
        let path = format!("/repos/pilot/shop/{path}");
        let path = path.trim_end_matches('/');
        let answer = self.client.ask(method, path, body).expect("an answer");
        assert!(answer.status < 300, "{path}: {}", answer.json);
        answer.json
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        self.client.get(&format!("/repos/pilot/shop/{path}"))
    }

    /// Files a labelled issue; its number.
    pub(crate) fn file(&self, title: &str, body: &str) -> u64 {
        let new = json!({"title": title, "body": body, "labels": ["pilot"]});
        self.change("POST", "issues", &new)["number"].as_u64().expect("a number")
    }

    /// All pull requests, whatever became of them.
    pub(crate) fn pulls(&self) -> Vec<Value> {
        let pulls = self.get("pulls?state=all&per_page=100");
        pulls.as_array().expect("a list").clone()
    }

    /// The comments on an issue.
    pub(crate) fn comments(&self, issue: u64) -> Vec<Value> {
        let comments = self.get(&format!("issues/{issue}/comments?per_page=100"));
        comments.as_array().expect("a list").clone()
    }

    /// `pilot status --all --json`, by task.
    pub(crate) fn stage(&self, issue: u64) -> String {
        let said = run(self.pilot(&["status", "--all", "--json"]));
        let said: Value = serde_json::from_str(&said.stdout).expect("JSON");
        let key = format!("GH-{issue}");
        let tasks = said["tasks"].as_array().expect("a list");
        let task = tasks.iter().find(|task| task["task"] == key.as_str());
        task.map_or_else(String::new, |task| task["stage"].as_str().expect("a word").to_owned())
    }

    /// Waits until a task stands somewhere.
    pub(crate) fn until(&self, issue: u64, stage: &str) {
        let reached = within(PATIENCE, || self.stage(issue) == stage);
        assert!(reached, "GH-{issue} is {} and not {stage}\n{}", self.stage(issue), self.log());
    }

    /// What agents were started: the task and the process of each.
    pub(crate) fn agents(&self) -> Vec<(String, u32)> {
        let text = fs::read_to_string(self.path("agents")).unwrap_or_default();
        let line = |line: &str| {
            let (task, pid) = line.split_once(' ')?;
            Some((task.to_owned(), pid.parse().ok()?))
        };
        text.lines().filter_map(line).collect()
    }

    /// Every process of an agent's or a worker's that is alive.
    pub(crate) fn alive(&self) -> Vec<String> {
        let place = self.folder.path().to_string_lossy().into_owned();
        let agent = self.path("agent.sh").to_string_lossy().into_owned();
        let process = |folder: PathBuf| {
            let read = |name| fs::read(folder.join(name)).unwrap_or_default();
            let line = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
            let cwd = fs::read_link(folder.join("cwd")).unwrap_or_default();
            let at_work =
                cwd.starts_with(&place) && cwd.components().any(|part| part.as_os_str() == "worktrees");
            let works = line.contains(" __work")
                && String::from_utf8_lossy(&read("environ")).contains(&format!("PILOT_HOME={place}"));
            (at_work || works || line.contains(&agent)).then(|| format!("{} {line}", folder.display()))
        };
        let folders = fs::read_dir("/proc").expect("a /proc").flatten().map(|entry| entry.path());
        folders.filter_map(process).collect()
    }

    /// Lets agents go on that wait.
    pub(crate) fn go(&self) {
        fs::write(self.path("go"), "").expect("a file");
    }

    /// The files on the base branch.
    pub(crate) fn files(&self) -> Vec<String> {
        let tree = self.get("git/trees/main?recursive=1");
        let entries = tree["tree"].as_array().expect("a list");
        entries.iter().map(|entry| entry["path"].as_str().expect("a path").to_owned()).collect()
    }
}

/// Starts a forge; it answers when this returns.
fn serve(folder: &Path, options: &[&str]) -> (Child, Client) {
    let root = folder.join("forge");
    let mut args = vec!["forge", "serve", "--root", root.to_str().expect("UTF-8"), "--json"];
    args.extend(["--rate-limit", "1000000"]);
    args.extend(options);
    let mut forge = pilot(&args).stdout(Stdio::piped()).spawn().expect("start");
    let mut line = String::new();
    BufReader::new(forge.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
    let said: Value = serde_json::from_str(&line).expect("JSON");
    let word = |name: &str| said[name].as_str().expect("a word").to_owned();
    (forge, Client { url: word("url"), token: word("token") })
}
