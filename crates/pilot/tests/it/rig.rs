//! A real agent on a scripted model: the agent as npm installs it, a model that plays a scenario on the loopback, a
//! repository, a home of its own, and Pilot between them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{Ended, command, pilot, run};

const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rig");

/// What the result object holds, all of it, always.
const KEYS: [&str; 25] = [
    "asked",
    "exit_reason",
    "findings",
    "held",
    "task",
    "run",
    "status",
    "class",
    "reason",
    "branch",
    "base_sha",
    "commit_sha",
    "commits",
    "files_changed",
    "route",
    "attempts",
    "gates",
    "review",
    "usage",
    "progress",
    "phase",
    "pr_number",
    "pr_url",
    "final_message",
    "duration_ms",
];

/// An agent that npm can install.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cli {
    Claude,
    Codex,
    Opencode,
    Gemini,
    Qwen,
}

impl Cli {
    fn name(self) -> &'static str {
        match self {
            Cli::Claude => "claude",
            Cli::Codex => "codex",
            Cli::Opencode => "opencode",
            Cli::Gemini => "gemini",
            Cli::Qwen => "qwen",
        }
    }

    /// What Pilot calls it.
    fn backend(self) -> &'static str {
        match self {
            Cli::Claude => "claude-code",
            Cli::Codex => "codex",
            Cli::Opencode => "opencode",
            Cli::Gemini => "gemini",
            Cli::Qwen => "qwen-code",
        }
    }

    /// Its tool that runs a command, and the argument that holds the command.
    fn shell(self) -> (&'static str, &'static str) {
        match self {
            Cli::Claude => ("Bash", "command"),
            Cli::Codex => ("exec_command", "cmd"),
            Cli::Opencode => ("bash", "command"),
            Cli::Gemini | Cli::Qwen => ("run_shell_command", "command"),
        }
    }

    /// The variables that lead it to the scripted model and nowhere else.
    fn environment(self, home: &Path, model: &str) -> Vec<(&'static str, String)> {
        let pairs: &[(&str, &str)] = match self {
            Cli::Claude => &[
                ("ANTHROPIC_BASE_URL", model),
                ("ANTHROPIC_API_KEY", "dummy"),
                ("DISABLE_TELEMETRY", "1"),
                ("DISABLE_AUTOUPDATER", "1"),
                ("DISABLE_ERROR_REPORTING", "1"),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
                ("CLAUDE_CODE_MAX_RETRIES", "2"),
            ],
            Cli::Codex => {
                &[("OPENAI_API_KEY", "dummy"), ("CODEX_HOME", &format!("{}/.codex", home.display()))]
            }
            Cli::Opencode => &[
                ("OPENCODE_CONFIG", &format!("{}/opencode.json", home.display())),
                ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
                ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
                ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
            ],
            Cli::Gemini => &[
                ("GEMINI_API_KEY", "dummy"),
                ("GOOGLE_GEMINI_BASE_URL", model),
                ("GEMINI_TELEMETRY_ENABLED", "false"),
                ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
            ],
            Cli::Qwen => &[
                ("OPENAI_API_KEY", "dummy"),
                ("OPENAI_BASE_URL", &format!("{model}/v1")),
                ("OPENAI_MODEL", "fake-model"),
                ("QWEN_TELEMETRY_ENABLED", "false"),
            ],
        };
        pairs.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()
    }

    /// The settings it reads in its home.
    fn settings(self, model: &str) -> Option<(&'static str, String)> {
        let quiet = r#""privacy":{"usageStatisticsEnabled":false},"general":{"disableAutoUpdate":true}"#;
        match self {
            Cli::Claude => None,
            Cli::Codex => Some((
                ".codex/config.toml",
                format!(
                    "model = \"fake-model\"\nmodel_provider = \"fake\"\n[model_providers.fake]\nname = \"fake\"\n\
                     base_url = \"{model}/v1\"\nenv_key = \"OPENAI_API_KEY\"\nwire_api = \"responses\"\n\
                     request_max_retries = 2\nstream_max_retries = 2\nstream_idle_timeout_ms = 4000\n\
                     [analytics]\nenabled = false\n"
                ),
            )),
            Cli::Opencode => Some((
                "opencode.json",
                format!(
                    r#"{{"autoupdate":false,"share":"disabled","model":"fake/fake-model","small_model":"fake/fake-model",
                    "provider":{{"fake":{{"npm":"@ai-sdk/openai-compatible","name":"fake",
                    "options":{{"baseURL":"{model}/v1","apiKey":"dummy"}},"models":{{"fake-model":{{"name":"Fake",
                    "limit":{{"context":200000,"output":8192}},"cost":{{"input":3,"output":15}}}}}}}}}}}}"#
                ),
            )),
            Cli::Gemini => Some((
                ".gemini/settings.json",
                format!(r#"{{"security":{{"auth":{{"selectedType":"gemini-api-key"}}}},{quiet}}}"#),
            )),
            Cli::Qwen => Some((
                ".qwen/settings.json",
                format!(r#"{{"security":{{"auth":{{"selectedType":"openai"}}}},{quiet}}}"#),
            )),
        }
    }
}

/// What an agent and a model are to do together, and what Pilot must say of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scene {
    /// The file in `tests/rig/scenarios`.
    pub(crate) scenario: &'static str,
    /// What the scenario's `{NAME}`s stand for.
    pub(crate) set: &'static [(&'static str, &'static str)],
    /// Variables besides the agent's usual ones; an empty value takes one of those away.
    pub(crate) env: &'static [(&'static str, &'static str)],
    /// Further keys of `executor`, as YAML.
    pub(crate) executor: &'static str,
    /// The status and the class, which is empty for none.
    pub(crate) says: (&'static str, &'static str),
    /// What Pilot exits with.
    pub(crate) code: i32,
    /// How many commits there are on the branch.
    pub(crate) commits: u64,
    /// Words of the reason.
    pub(crate) reason: &'static str,
}

/// What a scene came to.
#[derive(Debug)]
pub(crate) struct Played {
    pub(crate) result: Value,
    /// What `pilot logs --json KEY` prints.
    pub(crate) logs: String,
}

/// The agent's directory for `PATH`; without it the test is skipped, aloud.
pub(crate) fn installed(cli: Cli) -> Option<PathBuf> {
    let bin = directory().join("node_modules/.bin");
    let name = cli.name();
    let (missing, help) = if !bin.join(name).exists() {
        (name, format!("`.ci/rig target/rig {name}` installs it"))
    } else if command("python3").arg("--version").output().is_err() {
        ("python3", "the scripted model needs it".to_owned())
    } else {
        return Some(bin);
    };
    // Not `println!`: what a test that passes prints is not shown.
    _ = writeln!(io::stderr(), "skipped: {missing} is not installed; {help}");
    None
}

#[expect(clippy::disallowed_methods, reason = "the tests' one place that asks where the agents are")]
fn directory() -> PathBuf {
    let ours = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/rig");
    std::env::var_os("PILOT_RIG").map_or_else(ours, PathBuf::from)
}

/// A scene on the stage: the model speaks, and Pilot can be started.
pub(crate) struct Stage {
    cli: Cli,
    bin: PathBuf,
    model: Model,
    world: World,
}

impl Stage {
    /// Nothing when the agent is not installed.
    pub(crate) fn set(cli: Cli, scene: &Scene) -> Option<Stage> {
        let bin = installed(cli)?;
        let model = Model::start(cli, scene);
        let world = World::new(cli, scene, &model.address);
        Some(Stage { cli, bin, model, world })
    }

    /// Pilot, ready to run.
    pub(crate) fn pilot(&self, args: &[&str]) -> Command {
        self.world.pilot(self.cli, &self.bin, &self.model.address, args)
    }

    /// Lets another agent speak to the same model; the variables are for Pilot. Nothing when it is not installed.
    pub(crate) fn also(&self, cli: Cli) -> Option<Vec<(&'static str, String)>> {
        installed(cli)?;
        let home = self.world.path("home");
        if let Some((file, text)) = cli.settings(&self.model.address) {
            write(&home.join(file), &text);
        }
        Some(cli.environment(&home, &self.model.address))
    }

    /// Starts a task, and waits until Pilot shows these words of what the agent does.
    pub(crate) fn start_until(&self, words: &str) -> Child {
        let mut task = self.pilot(&["task", "--verbose", "Fix the bug in calc.py"]);
        let mut child = task.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("start Pilot");
        let mut said = String::new();
        let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
        while !said.contains(words) {
            let read = stderr.read_line(&mut said).expect("Pilot speaks UTF-8");
            assert!(read > 0, "Pilot ended before {words:?}: {said}");
        }
        // Still open, without a reader: what Pilot prints further fits into the pipe.
        child.stderr = Some(stderr.into_inner());
        child
    }

    /// The last run as the store has it.
    pub(crate) fn row(&self) -> Value {
        let rows = run(self.pilot(&["logs", "--json"]));
        serde_json::from_str(rows.stdout.lines().next().unwrap_or_default()).expect("a row")
    }

    pub(crate) fn processes(&self) -> Vec<String> {
        self.world.processes()
    }

    /// All that should not be there when no run is.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        self.world.leftovers()
    }

    /// The agent itself, without Pilot, in the repository.
    pub(crate) fn agent(&self, args: &[String]) -> Command {
        let mut agent = command(self.bin.join(self.cli.name()));
        let pilot = self.pilot(&[]);
        agent.args(args).env_clear().current_dir(self.repo());
        agent.envs(pilot.get_envs().filter_map(|(name, value)| Some((name, value?))));
        agent.env_remove("PILOT_HOME").env("IS_SANDBOX", "1");
        agent
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.world.path("repo")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.world.path("pilot")
    }

    /// Puts a file into the repository.
    pub(crate) fn write(&self, file: &str, bytes: &[u8]) {
        fs::write(self.world.path("repo").join(file), bytes).expect("write a file");
    }

    /// What git says in the repository.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        self.world.git(args)
    }
}

/// Plays every scene, three at a time, as each waits now and then, and fails with all that went wrong. `more` looks at what a scene came to.
pub(crate) fn play_all(cli: Cli, scenes: &[Scene], more: impl Fn(&Scene, &Played, &mut Vec<String>) + Sync) {
    let Some(bin) = installed(cli) else { return };
    let next = std::sync::Mutex::new(scenes.iter());
    let wrong = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let Some(scene) = next.lock().expect("no panic").next() else { return };
                    let complaints = play(cli, &bin, scene, &more);
                    let name = format!("{}{:?} {}", scene.scenario, scene.set, scene.executor);
                    let complaints = complaints.into_iter().map(|what| format!("{name}: {what}"));
                    wrong.lock().expect("no panic").extend(complaints);
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no panic");
    assert!(wrong.is_empty(), "{}:\n  {}\n", cli.name(), wrong.join("\n  "));
}

fn play(
    cli: Cli,
    bin: &Path,
    scene: &Scene,
    more: &impl Fn(&Scene, &Played, &mut Vec<String>),
) -> Vec<String> {
    let model = Model::start(cli, scene);
    let world = World::new(cli, scene, &model.address);
    let before = world.checkout();
    let mut task = world.pilot(cli, bin, &model.address, &["task", "--json", "Fix the bug in calc.py"]);
    for (name, value) in scene.env {
        if value.is_empty() {
            task.env_remove(name)
        } else {
            task.env(name, value)
        };
    }
    let ended = run(task);
    drop(model);
    let Ok(result) = serde_json::from_str::<Value>(&ended.stdout) else {
        return vec![format!("no result object: {ended:?}")];
    };
    println!("{:<16} {} {result}", scene.scenario, ended.code.unwrap_or(-1));
    let key = result["task"].as_str().unwrap_or_default();
    let logs = run(world.pilot(cli, bin, "", &["logs", "--json", key]));
    let rows = run(world.pilot(cli, bin, "", &["logs", "--json"]));
    let played = Played { result: result.clone(), logs: logs.stdout };
    let mut wrong = Vec::new();
    check_result(scene, &ended, &result, &mut wrong);
    check_memory(&result, &played.logs, &rows.stdout, &mut wrong);
    if world.checkout() != before {
        let now = world.checkout();
        let changed = before.iter().filter(|(path, bytes)| now.get(*path) != Some(*bytes));
        let came = now.iter().filter(|(path, _)| !before.contains_key(*path));
        let paths: Vec<&PathBuf> = changed.chain(came).map(|(path, _)| path).collect();
        wrong.push(format!("the checkout changed: {paths:?}"));
    }
    wrong.extend(world.leftovers());
    more(scene, &played, &mut wrong);
    wrong
}

fn check_result(scene: &Scene, ended: &Ended, result: &Value, wrong: &mut Vec<String>) {
    let said = (result["status"].as_str().unwrap_or("?"), result["class"].as_str().unwrap_or(""));
    let (commits, reason) = (&result["commits"], result["reason"].as_str().unwrap_or("?"));
    if said != scene.says || ended.code != Some(scene.code) || commits != scene.commits {
        wrong.push(format!("{said:?} with {:?} and {commits} commits: {reason}", ended.code));
    }
    if !reason.contains(scene.reason) {
        wrong.push(format!("the reason is {reason:?}, without {:?}", scene.reason));
    }
    let keys: Vec<&String> = result.as_object().into_iter().flat_map(|object| object.keys()).collect();
    if keys.len() != KEYS.len() || !KEYS.iter().all(|key| keys.iter().any(|have| have == key)) {
        wrong.push(format!("the result object has the keys {keys:?}"));
    }
    if result["commit_sha"].is_null() != (scene.commits == 0) {
        wrong.push(format!("{} commits end at {}", scene.commits, result["commit_sha"]));
    }
}

/// The store says the same as the result, and holds the lines people look for when a run failed.
fn check_memory(result: &Value, logs: &str, rows: &str, wrong: &mut Vec<String>) {
    let row: Value = serde_json::from_str(rows.lines().next().unwrap_or_default()).unwrap_or_default();
    if row["status"] != result["status"] || row["completed_at"].is_null() {
        wrong.push(format!("the store's row is {row}"));
    }
    let lines = ["Backend error classification: ", "Backend stderr: ", "Final assistant message: "];
    for line in lines {
        if logs.contains(line) == result["class"].is_null() {
            wrong.push(format!("{line:?} in the log of a run of class {}: {logs}", result["class"]));
        }
    }
}

/// The scripted model, gone with the value.
struct Model {
    process: Child,
    address: String,
    _log: TempDir,
}

impl Model {
    fn start(cli: Cli, scene: &Scene) -> Model {
        let log = tempfile::tempdir().expect("a directory for the model's log");
        let mut python = command("python3");
        python.arg(format!("{HERE}/fake_model.py"));
        python.arg(format!("{HERE}/scenarios/{}.json", scene.scenario));
        python.arg("--log").arg(log.path().join("requests.jsonl"));
        let (tool, argument) = cli.shell();
        for (name, value) in scene.set.iter().chain(&[("TOOL", tool), ("ARGUMENT", argument)]) {
            python.args(["--set", &format!("{name}={value}")]);
        }
        let mut process = python.stdout(Stdio::piped()).spawn().expect("start the model");
        let mut line = String::new();
        let stdout = process.stdout.take().expect("piped");
        BufReader::new(stdout).read_line(&mut line).expect("the model speaks");
        let port = line.trim().strip_prefix("listening ").expect("the model listens").to_owned();
        Model { process, address: format!("http://127.0.0.1:{port}"), _log: log }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

/// A person's home and repository, gone with the value.
struct World(TempDir);

impl World {
    fn new(cli: Cli, scene: &Scene, model: &str) -> World {
        let world = World(tempfile::tempdir().expect("a directory for the scene"));
        for folder in ["home", "pilot", "repo"] {
            fs::create_dir(world.path(folder)).expect("make a folder");
        }
        let mut config = format!("executor:\n  backend: {}\n  {}\n", cli.backend(), scene.executor);
        // What one attempt comes to; scenes about more say so.
        for key in ["retry", "review"] {
            if !scene.executor.contains(&format!("{key}: ")) {
                config =
                    config.replacen("executor:\n", &format!("executor:\n  {key}: {{enabled: false}}\n"), 1);
            }
        }
        write(&world.path("pilot/config.yaml"), &config);
        if let Some((file, text)) = cli.settings(model) {
            write(&world.path("home").join(file), &text);
        }
        write(&world.path("repo/README.md"), "# scratch\n");
        write(&world.path("repo/.gitignore"), "__pycache__/\n");
        write(&world.path("repo/calc.py"), "def add(a, b):\n    return a - b\n");
        world.git(&["init", "-q", "-b", "main"]);
        world.git(&["config", "user.email", "t@example.invalid"]);
        world.git(&["config", "user.name", "T"]);
        world.git(&["add", "-A"]);
        world.git(&["commit", "-qm", "init"]);
        world
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }

    fn git(&self, args: &[&str]) -> String {
        let mut git = command("git");
        git.args(args).current_dir(self.path("repo")).env("HOME", self.path("home"));
        let ended = run(git);
        assert_eq!(ended.code, Some(0), "git {args:?}: {}", ended.stderr);
        ended.stdout
    }

    /// Pilot with this person's variables and no others.
    fn pilot(&self, cli: Cli, bin: &Path, model: &str, args: &[&str]) -> Command {
        let mut pilot = pilot(args);
        let home = self.path("home");
        pilot.env_clear().envs(cli.environment(&home, model)).current_dir(self.path("repo"));
        pilot.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display())).env("LANG", "C.UTF-8");
        pilot.env("PILOT_HOME", self.path("pilot")).env("HOME", home).env("TERM", "dumb");
        pilot
    }

    /// All that a person can see of their checkout, by file. What git adds for a branch is not theirs.
    fn checkout(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut seen = BTreeMap::new();
        let mut folders = vec![self.path("repo")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("list").map(|entry| entry.expect("list")) {
                let path = entry.path();
                let gits = ["objects", "refs", "logs"];
                let gits = gits.iter().any(|name| entry.file_name() == *name);
                if gits {
                    continue;
                }
                if path.is_dir() {
                    folders.push(path);
                } else {
                    seen.insert(path.clone(), fs::read(&path).expect("read"));
                }
            }
        }
        seen.insert("HEAD".into(), self.git(&["rev-parse", "HEAD"]).into_bytes());
        seen.insert("status".into(), self.git(&["status", "--porcelain"]).into_bytes());
        seen
    }

    /// The processes that have this person's home, by number.
    fn processes(&self) -> Vec<String> {
        let home = format!("HOME={}", self.path("home").display());
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let theirs = entries.filter(|entry| {
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == home.as_bytes())
        });
        theirs.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    /// What the run should have taken away: processes, worktrees, its own folder.
    fn leftovers(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for process in self.processes() {
            let line = fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap_or_default();
            wrong.push(format!("process {process} is left: {}", line.replace('\0', " ")));
        }
        let worktrees = self.git(&["worktree", "list"]);
        if worktrees.lines().count() != 1 {
            wrong.push(format!("worktrees are left: {worktrees}"));
        }
        for folder in ["pilot/worktrees", "pilot/runs"] {
            let entries = fs::read_dir(self.path(folder)).into_iter().flatten().flatten();
            let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
            wrong.extend(names.filter(|name| name != ".lock").map(|name| format!("{folder}/{name} is left")));
        }
        wrong
    }
}

fn write(file: &Path, text: &str) {
    fs::create_dir_all(file.parent().expect("a file is in a folder")).expect("make a folder");
    fs::write(file, text).expect("write a file");
}
