//! A yard for whole runs of `pilot task`: a user's repository, Pilot's own directory, an agent that is a small shell script,
//! and everything that must hold after every run.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use pilot_testkit::agent::fake_agent;
use serde_json::Value;
use tempfile::TempDir;

use crate::program::{Ended, PATIENCE, command, pilot, pilot_without_namespaces, run, within};

/// The machine's search path; the tests need nothing but git and a shell.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The variable that every process of a run carries. Pilot carries it too, its keepers do not.
const MARK: &str = "YARD_MARK";

/// What must not change: the user's checkout and git directory, but for what is Pilot's, as path and content.
pub(crate) type State = BTreeMap<String, String>;

pub(crate) struct Yard {
    temp: TempDir,
    mark: String,
    /// Whether the kernel gives Pilot PID namespaces, if it does here at all.
    namespaces: bool,
}

/// What `pilot task --json` came to.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    pub(crate) result: Value,
    pub(crate) stderr: String,
}

impl Finished {
    /// One field of the result, as text; empty when it is null.
    pub(crate) fn text(&self, field: &str) -> &str {
        self.result[field].as_str().unwrap_or_default()
    }

    /// Status, class and exit code.
    pub(crate) fn verdict(&self) -> (&str, &str, Option<i32>) {
        (self.text("status"), self.text("class"), self.code)
    }
}

impl Yard {
    /// A repository with one commit and no remote.
    pub(crate) fn new() -> Yard {
        let yard = Yard::bare();
        yard.git(&["init", "-q", "-b", "trunk/main"]);
        fs::write(yard.repo().join("README.md"), "hello\n").expect("a file");
        fs::write(yard.repo().join(".gitignore"), "*.log\n").expect("a file");
        yard.git(&["add", "-A"]);
        yard.git(&["commit", "-q", "-m", "first"]);
        yard
    }

    /// The same where Pilot has to do without PID namespaces; none where that cannot be arranged.
    pub(crate) fn without_namespaces() -> Option<Yard> {
        let yard = Yard { namespaces: false, ..Yard::new() };
        let doctor = yard.pilot(&["doctor"]).output().ok()?;
        String::from_utf8_lossy(&doctor.stdout).contains("fallback:").then_some(yard)
    }

    /// The same places without a repository.
    pub(crate) fn bare() -> Yard {
        static YARDS: AtomicU64 = AtomicU64::new(0);
        let mark = format!("{}-{}", std::process::id(), YARDS.fetch_add(1, Ordering::Relaxed));
        let temp = tempfile::tempdir().expect("a place for the test");
        let yard = Yard { temp, mark, namespaces: true };
        for folder in [yard.file("user"), yard.repo(), yard.home()] {
            fs::create_dir(folder).expect("a folder");
        }
        fs::write(yard.file("user/.gitconfig"), "[user]\n\tname = Ada\n\temail = ada@example.org\n")
            .expect("a file");
        yard
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.file("project")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.file("pilot")
    }

    /// Makes a shell script the agent. In it `@/` is the yard, `$AGENT` the scripted agent, `commit NAME` commits a file of
    /// that name; `keys` are lines below `executor`.
    pub(crate) fn agent(&self, script: &str, keys: &[&str]) {
        let prelude = format!(
            "AGENT='{}'; commit() {{ echo \"$1\" >\"$1\" && git add -A && git commit -q -m \"$1\" && git rev-parse HEAD >>@/commits; }}\n",
            fake_agent().display()
        );
        let script = format!("{prelude}{script}").replace("@/", &format!("{}/", self.temp.path().display()));
        let argv = serde_json::to_string(&["/bin/sh", "-c", &script]).expect("JSON");
        self.configure(&argv, keys);
    }

    fn configure(&self, argv: &str, keys: &[&str]) {
        let format = match keys.contains(&"stream-json") {
            true => "stream-json",
            false => "text",
        };
        let mut config =
            format!("executor:\n  backend: command\n  command:\n    argv: {argv}\n    format: {format}\n");
        if !keys.iter().any(|key| key.starts_with("env:")) {
            config.push_str(&format!("  env: {{pass: [{MARK}]}}\n"));
        }
        for key in keys.iter().filter(|key| **key != "stream-json") {
            config.push_str(&format!("  {key}\n"));
        }
        // What one attempt comes to; tests about another one say so. Only tests that set the time limit wait for it.
        let off = "{enabled: false}";
        let unless =
            [("timeout", "10m"), ("grace", "1s"), ("exit_grace", "1s"), ("retry", off), ("review", off)];
        for (key, value) in unless {
            if !keys.iter().any(|given| given.starts_with(&format!("{key}:"))) {
                config.push_str(&format!("  {key}: {value}\n"));
            }
        }
        fs::write(self.home().join("config.yaml"), config).expect("a configuration");
    }

    /// Pilot, in the user's checkout and with an environment of the yard's own.
    pub(crate) fn pilot(&self, args: &[&str]) -> Command {
        let mut pilot = if self.namespaces { pilot(args) } else { pilot_without_namespaces(args) };
        pilot.current_dir(self.repo()).env_clear().env("PATH", PATH).env("HOME", self.file("user"));
        pilot.env("PILOT_HOME", self.home()).env(MARK, &self.mark).env("GIT_CONFIG_NOSYSTEM", "1");
        pilot
    }

    pub(crate) fn start(&self) -> Child {
        let mut pilot = self.pilot(&["task", "--json", "Do it"]);
        pilot.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("Pilot starts")
    }

    /// Runs `pilot task` to its end and checks what must hold after every run.
    pub(crate) fn task(&self) -> Finished {
        let before = self.state();
        let child = self.start();
        self.finish(child, &before)
    }

    /// The end of a run that was started, checked against the state before it.
    pub(crate) fn finish(&self, child: Child, before: &State) -> Finished {
        let ended = Ended::from(child.wait_with_output().expect("Pilot ends"));
        let finished = self.finished(&ended);
        self.check(before);
        finished
    }

    pub(crate) fn finished(&self, ended: &Ended) -> Finished {
        let result = serde_json::from_str(&ended.stdout).unwrap_or(Value::Null);
        assert!(!result.is_null(), "no result: {ended:?}");
        Finished { code: ended.code, result, stderr: ended.stderr.clone() }
    }

    /// No process alive, nothing mounted, no worktree, the user's things as they were, every commit on a ref.
    pub(crate) fn check(&self, before: &State) {
        self.expect_gone();
        let mounts = fs::read_to_string("/proc/self/mountinfo").expect("mounts");
        assert!(!mounts.contains(&*self.temp.path().to_string_lossy()), "a mount is left:\n{mounts}");
        for folder in ["pilot/worktrees", "pilot/runs", "project/.git/worktrees"] {
            let left: Vec<PathBuf> = fs::read_dir(self.file(folder))
                .into_iter()
                .flatten()
                .flatten()
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                .map(|entry| entry.path())
                .collect();
            assert!(left.is_empty(), "left: {left:?}");
        }
        let after = self.state();
        let names: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let changed: Vec<String> = names
            .into_iter()
            .filter(|name| before.get(*name) != after.get(*name))
            .filter(|name| !(name.starts_with(".git/logs/") && after[*name].ends_with("pilot: restore\\n\"")))
            .map(|name| format!("{name}: {:?} -> {:?}", before.get(name), after.get(name)))
            .collect();
        assert!(changed.is_empty(), "the user's things changed: {changed:#?}");
        for commit in fs::read_to_string(self.file("commits")).unwrap_or_default().lines() {
            let refs = self.git(&["for-each-ref", "--format=%(refname)", "--contains", commit]);
            assert!(!refs.is_empty(), "commit {commit} is on no ref");
        }
        assert!(!self.file("trap").exists(), "something of the agent's ran afterwards");
    }

    /// No process of the run stays alive.
    pub(crate) fn expect_gone(&self) {
        assert!(within(PATIENCE, || self.alive().is_empty()), "still there: {:?}", self.alive());
    }

    /// Waits for a file that another process makes.
    pub(crate) fn expect_file(&self, name: &str) {
        let file = self.file(name);
        assert!(within(PATIENCE, || file.exists()), "never came: {}", file.display());
    }

    /// Every living process that carries the mark.
    pub(crate) fn alive(&self) -> Vec<String> {
        let mark = format!("{MARK}={}", self.mark);
        let carries = |folder: &PathBuf| {
            let environment = fs::read(folder.join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
        };
        let folders = fs::read_dir("/proc").expect("a /proc").flatten().map(|entry| entry.path());
        let line = |folder: PathBuf| {
            let line = fs::read(folder.join("cmdline")).unwrap_or_default();
            format!("{} {}", folder.display(), String::from_utf8_lossy(&line).replace('\0', " "))
        };
        folders.filter(carries).map(line).collect()
    }

    /// A search path on which this script comes before git; in it `@/` is the yard, and `git-itself` is git.
    pub(crate) fn slow_git(&self, script: &str) -> String {
        let (folder, place) = (self.file("slow"), self.temp.path().display());
        fs::create_dir(&folder).expect("a folder");
        let script = script.replace("@/", &format!("{place}/"));
        let script = script.replace("git-itself", &format!("env PATH={PATH} git"));
        pilot_testkit::program::write(&folder.join("git"), script);
        format!("{}:{PATH}", folder.display())
    }

    /// The user's git in the user's checkout.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let mut git = command("git");
        git.args(args).current_dir(self.repo()).env_clear().env("PATH", PATH);
        git.env("HOME", self.file("user")).env("GIT_CONFIG_NOSYSTEM", "1");
        let ended = run(git);
        assert_eq!(ended.code, Some(0), "git {args:?}: {}", ended.stderr);
        ended.stdout.trim().to_owned()
    }

    /// The user's checkout and git directory, but for what is Pilot's.
    pub(crate) fn state(&self) -> State {
        let ours = ["objects", "worktrees", "refs/pilot", "refs/heads/pilot", "logs/refs/pilot"];
        let ours: Vec<String> =
            ours.iter().chain(&["logs/refs/heads/pilot"]).map(|path| format!(".git/{path}")).collect();
        let mut state = State::new();
        collect(&self.repo(), Path::new(""), &ours, &mut state);
        state
    }

    /// Everything below Pilot's directory.
    pub(crate) fn home_state(&self) -> State {
        let mut state = State::new();
        collect(&self.home(), Path::new(""), &[], &mut state);
        state
    }
}

fn collect(root: &Path, path: &Path, skip: &[String], into: &mut State) {
    let name = path.to_string_lossy().into_owned();
    if skip.contains(&name) {
        return;
    }
    let full = root.join(path);
    let meta = full.symlink_metadata().expect("it is there");
    let mode = meta.permissions().mode();
    if meta.is_dir() {
        for entry in fs::read_dir(&full).expect("a folder") {
            collect(root, &path.join(entry.expect("an entry").file_name()), skip, into);
        }
    } else if meta.is_symlink() {
        into.insert(name, format!("link {:?}", fs::read_link(&full).expect("a link")));
    } else {
        into.insert(
            name,
            format!("{mode:o} {:?}", String::from_utf8_lossy(&fs::read(&full).expect("a file"))),
        );
    }
}
