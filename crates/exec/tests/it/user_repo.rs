//! A user's repository, Pilot's home, and an agent that uses git as agents do.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use pilot_core::id::{Branch, Sha};
use pilot_exec::git::{Program, Repository};
use pilot_exec::workspace::{CreateRequest, Finalised, Intent, Workspace, WorkspaceError};
use tempfile::TempDir;

/// The machine's search path; tests need nothing but git and a shell.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

pub(crate) struct UserRepo {
    temp: TempDir,
    pub(crate) program: Arc<Program>,
}

impl UserRepo {
    /// A repository with one commit on a branch whose name has a slash, and no remote.
    pub(crate) fn new() -> Self {
        let user_repo = Self::empty(&[]);
        user_repo.write("README.md", "hello\n");
        user_repo.write("src/lib.rs", "fn one() {}\n");
        user_repo.git(&["add", "-A"]);
        user_repo.git(&["commit", "-q", "-m", "first"]);
        user_repo
    }

    /// A repository without a commit.
    pub(crate) fn empty(init: &[&str]) -> Self {
        let temp = tempfile::tempdir().expect("a place for the test");
        let home = temp.path().join("user");
        fs::create_dir_all(&home).expect("it works in a fresh place");
        fs::write(home.join(".gitconfig"), "[user]\n\tname = Ada\n\temail = ada@example.org\n")
            .expect("it works in a fresh place");
        let program = Arc::new(Program::new(PATH.into(), Some(home)));
        let user_repo = Self { temp, program };
        fs::create_dir_all(user_repo.repo()).expect("it works in a fresh place");
        let mut args = vec!["init", "-q", "-b", "trunk/main"];
        args.extend_from_slice(init);
        user_repo.git(&args);
        user_repo
    }

    /// The same with a shorter time limit.
    pub(crate) fn with_limit(mut self, limit: Duration) -> Self {
        let home = self.root().join("user");
        self.program = Arc::new(Program::new(PATH.into(), Some(home)).limited(limit));
        self
    }

    pub(crate) fn root(&self) -> &Path {
        self.temp.path()
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.root().join("project")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root().join("pilot")
    }

    /// A file that must not appear.
    pub(crate) fn marker(&self) -> PathBuf {
        self.root().join("it-ran")
    }

    /// A program that leaves the marker.
    pub(crate) fn trap(&self) -> PathBuf {
        let path = self.root().join("trap");
        let script = format!("#!/bin/sh\necho \"$0 $*\" >> {}\ncat\n", self.marker().display());
        pilot_testkit::program::write(&path, script);
        path
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        write(&self.repo(), path, text);
    }

    /// The user's git in the user's checkout.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.repo(), args)
    }

    /// Git as a person or an agent runs it.
    pub(crate) fn git_in(&self, dir: &Path, args: &[&str]) -> String {
        let (fine, stdout, stderr) = self.try_git(dir, args);
        assert!(fine, "git {args:?}: {stderr}");
        stdout
    }

    pub(crate) fn try_git(&self, dir: &Path, args: &[&str]) -> (bool, String, String) {
        let mut git = command("git");
        git.args(args).current_dir(dir).env_clear().env("PATH", PATH).env("HOME", self.root().join("user"));
        git.env("GIT_CONFIG_NOSYSTEM", "1");
        let output = git.output().expect("git starts");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim().to_owned();
        (output.status.success(), text(output.stdout), text(output.stderr))
    }

    pub(crate) fn open(&self) -> Repository {
        Repository::open(&self.program, &self.repo()).expect("the repository opens")
    }

    pub(crate) fn start(&self) -> Workspace {
        self.start_run("run-1", "pilot/GH-1").expect("a workspace")
    }

    pub(crate) fn start_run(&self, run: &str, branch: &str) -> Result<Workspace, WorkspaceError> {
        let repository = self.open();
        let base = repository.base(None)?;
        let intent = Intent::NewBranch { name: branch_name(branch), base };
        self.create(&repository, intent, run)
    }

    pub(crate) fn create(
        &self,
        repository: &Repository,
        intent: Intent,
        run: &str,
    ) -> Result<Workspace, WorkspaceError> {
        Workspace::create(&CreateRequest { repository, intent, run, home: &self.home(), now: 1_800_000_000 })
    }

    /// Lets an agent work, finalises, removes, and checks what must hold after every run.
    pub(crate) fn run(&self, agent: impl FnOnce(&Path)) -> Finalised {
        self.run_apart_from("", agent)
    }

    /// The same; one file may change.
    pub(crate) fn run_apart_from(&self, file: &str, agent: impl FnOnce(&Path)) -> Finalised {
        let mut before = self.user_state();
        let mut workspace = self.start();
        agent(workspace.path());
        let finalised = workspace.finalise("Leftovers of the run").expect("the run is finalised");
        self.check_kept(&finalised);
        workspace.remove(&finalised).expect("the workspace is removed");
        self.check_gone("run-1");
        assert!(!self.marker().exists(), "ran: {}", fs::read_to_string(self.marker()).unwrap_or_default());
        let mut after = self.user_state();
        before.remove(file);
        after.remove(file);
        assert_eq!(differences(&before, &after), [""; 0], "the user's checkout changed");
        finalised
    }

    pub(crate) fn check_kept(&self, finalised: &Finalised) {
        if let Some(pin) = &finalised.pin {
            assert_eq!(self.git(&["rev-parse", pin]), finalised.head.as_str());
        }
        for other in &finalised.others {
            assert_eq!(self.git(&["rev-parse", &other.pin]), other.sha.as_str());
        }
    }

    pub(crate) fn check_gone(&self, run: &str) {
        assert!(!self.home().join("worktrees").join(run).exists(), "the folder of the run is left");
        assert!(!self.repo().join(".git/worktrees").exists(), "the repository still knows the worktree");
        assert!(self.git(&["worktree", "list", "--porcelain"]).matches("worktree ").count() <= 1);
    }

    /// Everything of the user's that no run may change: working tree and git directory, but for what is ours.
    pub(crate) fn user_state(&self) -> BTreeMap<String, String> {
        let mut state = BTreeMap::new();
        let skip = [
            ".git/objects",
            ".git/worktrees",
            ".git/refs/pilot",
            ".git/refs/heads/pilot",
            ".git/logs/refs/pilot",
            ".git/logs/refs/heads/pilot",
        ];
        collect(&self.repo(), Path::new(""), &skip, &mut state);
        state
    }

    pub(crate) fn show(&self, revision: &str, path: &str) -> String {
        self.git(&["show", &format!("{revision}:{path}")])
    }

    pub(crate) fn sha(&self, revision: &str) -> Sha {
        Sha::parse(&self.git(&["rev-parse", revision])).expect("it works in a fresh place")
    }
}

pub(crate) fn branch_name(name: &str) -> Branch {
    Branch::parse(name).expect("a fine name")
}

pub(crate) fn write(dir: &Path, path: &str, text: impl AsRef<[u8]>) {
    let path = dir.join(path);
    fs::create_dir_all(path.parent().expect("it works in a fresh place")).expect("it works in a fresh place");
    fs::write(path, text).expect("it works in a fresh place");
}

pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    #[expect(
        clippy::disallowed_methods,
        reason = "the tests' one place that starts a user's or an agent's programs"
    )]
    Command::new(program)
}

/// What is not the same in two states, for people.
pub(crate) fn differences(
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) -> Vec<String> {
    let names = before.keys().chain(after.keys()).collect::<std::collections::BTreeSet<_>>();
    let changed = names.into_iter().filter(|name| before.get(*name) != after.get(*name));
    changed.map(|name| format!("{name}: {:?} -> {:?}", before.get(name), after.get(name))).collect()
}

fn collect(root: &Path, path: &Path, skip: &[&str], into: &mut BTreeMap<String, String>) {
    let full = root.join(path);
    let name = path.to_string_lossy().into_owned();
    if skip.contains(&name.as_str()) {
        return;
    }
    let meta = full.symlink_metadata().expect("it works in a fresh place");
    let mode = meta.permissions().mode();
    if meta.is_dir() {
        // Folders of refs come and go with refs; what counts is in them.
        for entry in fs::read_dir(&full).expect("it works in a fresh place") {
            collect(root, &path.join(entry.expect("it works in a fresh place").file_name()), skip, into);
        }
    } else if meta.is_symlink() {
        into.insert(name, format!("link {:?}", fs::read_link(&full).expect("it works in a fresh place")));
    } else {
        into.insert(
            name,
            format!(
                "{mode:o} {:?}",
                String::from_utf8_lossy(&fs::read(&full).expect("it works in a fresh place"))
            ),
        );
    }
}
