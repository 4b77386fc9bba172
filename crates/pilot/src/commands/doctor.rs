//! `pilot doctor`: whether everything Pilot needs is installed and configured, and what to do about what is not.
//!
//! It changes nothing. Running programs and opening the store are passed in, so that tests need neither.

mod forge;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use pilot_core::config::{Backend, Config};
use pilot_core::outcome::ProcessEnd;
use pilot_exec::backend::{is_executable, login_evidence, search_path};
use pilot_exec::process::{Containment, ContainmentKind, Deadlines, Launch, Output, Running};
use pilot_store::Store;
use serde::Serialize;

use super::new_runtime;
use crate::config::{ConfigSources, Environment, HomeError, Loaded, load};
use crate::printable::fold;
use crate::stdout::Stdout;
use crate::terminal::{Canvas, Ink};

/// The oldest git with every option Pilot uses.
const OLDEST_GIT: (u32, u32) = (2, 31);

/// Less free space than this is a warning: a worktree and a build need as much.
const LITTLE_SPACE_KIB: u64 = 2 << 20;

/// With less than this nothing works.
const NO_SPACE_KIB: u64 = 100 << 10;

const PROBE: Duration = Duration::from_secs(10);

const NAMES: usize = 20;

const HELP: &str = "\
Examples:
  pilot doctor
  pilot doctor --json
  pilot --config other.yaml doctor

Asks the forge of each project too: address, token and its rights, repository, label, branch protection, CI, rate limit and
clock. Nothing is changed.

Exit codes: 0 everything Pilot needs was found, 1 something is missing.";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct DoctorArgs {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Probed {
    Missing,
    Failed(String),
    Printed(String),
}

pub(crate) type ProbeProgram<'a> = &'a dyn Fn(&Path, &[&str]) -> Probed;

/// Opens the store in a directory and says in a few words what it found, or why it cannot.
pub(crate) type OpenStore<'a> = &'a dyn Fn(&Path) -> Result<String, String>;

pub(crate) struct Machine<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) loaded: Result<&'a Loaded, &'a HomeError>,
    pub(crate) probe: ProbeProgram<'a>,
    /// How agents are kept together, in words, and whether that is the strong way.
    pub(crate) containment: (&'a str, bool),
    pub(crate) open_store: OpenStore<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    Ok,
    Warn,
    Fail,
    /// Not there, and not needed.
    Unused,
}

impl Status {
    fn as_str(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Warn => "warn",
            Status::Fail => "FAIL",
            Status::Unused => "-",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct CheckResult {
    pub(crate) name: String,
    pub(crate) status: Status,
    pub(crate) found: String,
    pub(crate) next: Option<String>,
}

pub(crate) fn run(args: &DoctorArgs, sources: ConfigSources<'_>) -> anyhow::Result<ExitCode> {
    let runtime = new_runtime()?;
    let containment = Containment::probe("/proc/self/exe");
    let (loaded, environment) = (load(&sources), sources.environment);
    let probe =
        |program: &Path, args: &[&str]| runtime.block_on(probe(program, args, &containment, environment));
    let open_store = |path: &Path| {
        runtime.block_on(async {
            let (file, secrets) = (path.join("pilot.db"), pilot_core::redact::Secrets::none());
            if !file.exists() {
                return Ok(format!("{}, will be made when needed", file.display()));
            }
            let store = Store::open(&file, secrets).await.map_err(|error| error.to_string())?;
            store.check().await.map_err(|error| error.to_string())?;
            Ok(store.location().to_string())
        })
    };
    let strong = matches!(containment.kind(), ContainmentKind::Namespace { .. });
    let described = containment.describe();
    let machine = Machine {
        environment,
        loaded: loaded.as_ref(),
        probe: &probe,
        containment: (&described, strong),
        open_store: &open_store,
    };
    let mut checks = examine(&machine);
    if let Ok(loaded) = &loaded
        && let Ok(config) = loaded.config()
    {
        checks.extend(runtime.block_on(forge::check_projects(config, environment)));
    }
    report(&checks, args, &Canvas::of_stdout(environment))
}

async fn probe(
    program: &Path,
    args: &[&str],
    containment: &Containment,
    environment: &Environment,
) -> Probed {
    let argv = std::iter::once(program.as_os_str().to_owned()).chain(args.iter().map(Into::into));
    let mut launch = Launch::new(argv, "/");
    let known =
        ["PATH", "HOME"].into_iter().filter_map(|name| Some((name.into(), environment.os(name)?.into())));
    launch.env = known.collect();
    launch.deadlines = Deadlines { total: Some(PROBE), ..Deadlines::default() };
    let Ok(mut running) = Running::start(launch, containment).await else { return Probed::Missing };
    let mut text = Vec::new();
    while let Some(output) = running.next().await {
        let (Output::Stdout(bytes) | Output::Stderr(bytes)) = output;
        text.extend_from_slice(&bytes[..bytes.len().min(4096_usize.saturating_sub(text.len()))]);
    }
    let ended = running.end().await;
    let text = String::from_utf8_lossy(&text).into_owned();
    match ended.exit {
        ProcessEnd::Code(0) => Probed::Printed(text),
        ProcessEnd::Code(_) | ProcessEnd::Signal(_) | ProcessEnd::Lost => Probed::Failed(text),
    }
}

pub(crate) fn examine(machine: &Machine<'_>) -> Vec<CheckResult> {
    let mut checks = vec![git(machine.probe), git_identity(machine.probe)];
    let config = machine.loaded.ok().and_then(|loaded| loaded.config().ok());
    checks.extend(agents(machine, config));
    checks.push(containment(machine.containment));
    checks.push(configuration(machine));
    if let Ok(loaded) = machine.loaded {
        let home = loaded.home.path();
        checks.push(directory(home));
        checks.push(disk(machine.probe, home));
        checks.push(store(machine.open_store, &loaded.store_dir));
    }
    checks
}

/// Prints the checks; 0 when none fails, else 1.
fn report(checks: &[CheckResult], args: &DoctorArgs, canvas: &Canvas) -> anyhow::Result<ExitCode> {
    let sound = checks.iter().all(|check| check.status != Status::Fail);
    let mut out = Stdout::lock();
    if args.json {
        let object = serde_json::json!({"ok": sound, "checks": checks});
        writeln!(out, "{object:#}")?;
    } else {
        write!(out, "{}", text(checks, canvas))?;
    }
    out.flush()?;
    Ok(if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn text(checks: &[CheckResult], canvas: &Canvas) -> String {
    let mut text = String::new();
    let indent = " ".repeat(6 + NAMES + 1);
    let room = canvas.width.unwrap_or(80).saturating_sub(indent.len()).max(30);
    for CheckResult { name, status, found, next } in checks {
        let mut lines = fold(found, room);
        if lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(next.iter().flat_map(|next| fold(&format!("next: {next}"), room)));
        let word = format!("{:<5}", status.as_str());
        let word = match status {
            Status::Ok => canvas.paint(Ink::Green, &word),
            Status::Warn => canvas.paint(Ink::Yellow, &word),
            Status::Fail => canvas.paint(Ink::Red, &word),
            Status::Unused => canvas.paint(Ink::Dim, &word),
        };
        let mut head = format!("{word} {name:<NAMES$} ");
        for line in lines {
            text.push_str(format!("{head}{line}").trim_end());
            text.push('\n');
            head.clone_from(&indent);
        }
    }
    text
}

fn ok(name: &str, found: impl Into<String>) -> CheckResult {
    CheckResult { name: name.to_owned(), status: Status::Ok, found: found.into(), next: None }
}

fn warn(name: &str, found: impl Into<String>, next: impl Into<String>) -> CheckResult {
    CheckResult { status: Status::Warn, next: Some(next.into()), ..ok(name, found) }
}

fn fail(name: &str, found: impl Into<String>, next: impl Into<String>) -> CheckResult {
    CheckResult { status: Status::Fail, next: Some(next.into()), ..ok(name, found) }
}

fn git(probe: ProbeProgram<'_>) -> CheckResult {
    let (major, minor) = OLDEST_GIT;
    let install = format!("install git {major}.{minor} or later");
    match probe(Path::new("git"), &["--version"]) {
        Probed::Missing => fail("git", "not found on PATH", install),
        Probed::Failed(why) => fail("git", format!("does not run: {why}"), install),
        Probed::Printed(text) => match numbers(&text) {
            Some(version) if version >= OLDEST_GIT => ok("git", first_line(&text)),
            Some(_) => fail("git", format!("{} is too old", first_line(&text)), install),
            None => warn("git", format!("cannot read the version from {:?}", first_line(&text)), install),
        },
    }
}

/// Agents commit with it.
fn git_identity(probe: ProbeProgram<'_>) -> CheckResult {
    let next = "run `git config --global user.name NAME` and `git config --global user.email ADDRESS`";
    match probe(Path::new("git"), &["config", "--get", "user.email"]) {
        Probed::Printed(email) if !email.trim().is_empty() => ok("git identity", first_line(&email)),
        Probed::Printed(_) | Probed::Failed(_) => {
            warn("git identity", "none is configured; an agent's own commits may fail", next)
        }
        Probed::Missing => warn("git identity", "git was not found", next),
    }
}

fn numbers(text: &str) -> Option<(u32, u32)> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let mut parts = text[start..].split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// The first line of what a stranger printed, fit for a terminal.
fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().filter(|c| !c.is_control()).take(60).collect()
}

/// One line for each agent; only the one that is configured must be there.
fn agents(machine: &Machine<'_>, config: Option<&Config>) -> Vec<CheckResult> {
    let chosen = config.map(|config| config.executor.backend);
    let mut checks: Vec<CheckResult> = Backend::ALL
        .into_iter()
        .filter_map(|backend| Some(agent(machine, backend, backend.program()?, chosen == Some(backend))))
        .collect();
    checks.extend(chosen.and_then(|backend| login(machine, backend)));
    if let Some(config) = config.filter(|config| config.executor.backend == Backend::Command) {
        checks.push(own_program(machine.environment, &config.executor.command.argv));
    }
    checks
}

fn agent(machine: &Machine<'_>, backend: Backend, program: &str, is_chosen: bool) -> CheckResult {
    let name = format!("agent {}", backend.as_str());
    let note = if is_chosen { " (in use)" } else { "" };
    let probed = match on_path(machine.environment, program) {
        Some(path) => (machine.probe)(&path, &["--version"]),
        None => Probed::Missing,
    };
    match probed {
        Probed::Printed(text) => ok(&name, format!("{}{note}", first_line(&text))),
        Probed::Missing if is_chosen => {
            let next = format!("install {program}, or choose another agent with executor.backend");
            fail(&name, format!("{program} not found on PATH{note}"), next)
        }
        Probed::Missing => CheckResult { status: Status::Unused, ..ok(&name, "not installed") },
        Probed::Failed(why) if is_chosen => {
            fail(&name, format!("does not run: {why}{note}"), format!("run `{program} --version` and fix it"))
        }
        Probed::Failed(why) => {
            warn(&name, format!("does not run: {why}"), format!("run `{program} --version` and fix it"))
        }
    }
}

/// Whether the agent in use is logged in: by a key in the environment, a file of its login, or its own answer. None where
/// that cannot be known.
fn login(machine: &Machine<'_>, backend: Backend) -> Option<CheckResult> {
    let program = on_path(machine.environment, backend.program()?)?;
    let evidence = login_evidence(backend)?;
    let is_set = |name: &&str| machine.environment.os(name).is_some_and(|value| !value.is_empty());
    let home = machine.environment.os("HOME").map(Path::new);
    let is_there = |file: &&str| home.is_some_and(|home| home.join(file).exists());
    let name = "agent login";
    if let Some(variable) = evidence.variables.iter().copied().find(|name| is_set(name)) {
        return Some(ok(name, format!("{variable} is set")));
    }
    if let Some(file) = evidence.files.iter().copied().find(|file| is_there(file)) {
        return Some(ok(name, format!("~/{file}")));
    }
    let asked = evidence.ask.map(|args| (machine.probe)(&program, args));
    Some(match asked {
        Some(Probed::Printed(_)) => ok(name, format!("{} says so", backend.as_str())),
        Some(Probed::Failed(why)) => {
            fail(name, format!("{} is not logged in: {}", backend.as_str(), first_line(&why)), evidence.next)
        }
        Some(Probed::Missing) | None => warn(name, "no key and no login was found", evidence.next),
    })
}

/// The program of the backend `command`: searched for, never run, since what it does is unknown.
fn own_program(environment: &Environment, argv: &[String]) -> CheckResult {
    let program = argv.first().map(String::as_str).unwrap_or_default();
    match on_path(environment, program) {
        Some(path) => ok("agent command", format!("{} (in use)", path.display())),
        None => fail(
            "agent command",
            format!("{program} not found (in use)"),
            "write its whole path in executor.command.argv, or put it on PATH",
        ),
    }
}

fn on_path(environment: &Environment, program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| is_executable(path));
    }
    search_path(program, environment.os("PATH")?, is_executable)
}

fn containment((words, is_strong): (&str, bool)) -> CheckResult {
    if is_strong {
        return ok("containment", words);
    }
    warn("containment", words, "allow unprivileged user namespaces for the strong way")
}

fn configuration(machine: &Machine<'_>) -> CheckResult {
    let name = "configuration";
    let loaded = match machine.loaded {
        Ok(loaded) => loaded,
        Err(error) => return fail(name, error.to_string(), "set PILOT_HOME to a directory"),
    };
    let (problems, notices) = (loaded.problems().len(), loaded.notices().len());
    let look = "run `pilot config check`";
    if problems > 0 {
        let first = loaded.problems().first().map(ToString::to_string).unwrap_or_default();
        let more = if problems > 1 { format!(" (and {} more)", problems - 1) } else { String::new() };
        return fail(name, format!("{first}{more}"), "fix it; `pilot config check` shows every error");
    }
    let files: Vec<String> = loaded.files.iter().map(|file| file.display().to_string()).collect();
    let found = if files.is_empty() { "no file, defaults hold".to_owned() } else { files.join(", ") };
    match notices {
        0 => ok(name, found),
        _ => warn(name, format!("{found}; {notices} notices"), look),
    }
}

fn directory(home: &Path) -> CheckResult {
    let name = "PILOT_HOME";
    let next = "make the directory writable, or set PILOT_HOME to one that is";
    let shown = home.display();
    let Some(found) = home.ancestors().find(|path| path.exists()) else {
        return fail(name, format!("{shown} cannot be reached"), next);
    };
    if !found.is_dir() {
        return fail(name, format!("{} is no directory", found.display()), next);
    }
    match try_to_write(found) {
        Ok(()) if found == home => ok(name, format!("{shown}, writable")),
        Ok(()) => ok(name, format!("{shown}, will be made when needed")),
        Err(error) => fail(name, format!("{} is not writable: {error}", found.display()), next),
    }
}

/// Only a write shows it: permissions, read-only mounts and quotas all count.
fn try_to_write(directory: &Path) -> std::io::Result<()> {
    let path = directory.join(format!(".pilot-doctor-{}", std::process::id()));
    fs::File::create_new(&path).and_then(|mut file| file.write_all(b"x"))?;
    fs::remove_file(&path)
}

fn disk(probe: ProbeProgram<'_>, home: &Path) -> CheckResult {
    let name = "disk";
    let at = home.ancestors().find(|path| path.exists()).unwrap_or(home);
    let shown = at.display().to_string();
    let free = match probe(Path::new("df"), &["-Pk", &shown]) {
        Probed::Printed(text) => free_kib(&text),
        Probed::Missing | Probed::Failed(_) => None,
    };
    let Some(free) = free else {
        return warn(name, format!("cannot read how much is free in {shown}"), "run `df -h`");
    };
    let found = format!("{}.{} GiB free in {shown}", free >> 20, (free % (1 << 20)) * 10 / (1 << 20));
    match free {
        0..NO_SPACE_KIB => fail(name, found, "free some space, or set PILOT_HOME to another disk"),
        NO_SPACE_KIB..LITTLE_SPACE_KIB => warn(name, found, "free some space: worktrees and builds need it"),
        LITTLE_SPACE_KIB.. => ok(name, found),
    }
}

/// The fourth column of the second line of `df -Pk`.
fn free_kib(text: &str) -> Option<u64> {
    text.lines().nth(1)?.split_whitespace().rev().nth(2)?.parse().ok()
}

fn store(open_store: OpenStore<'_>, directory: &Path) -> CheckResult {
    match open_store(directory) {
        Ok(found) => ok("store", found),
        Err(why) => fail(
            "store",
            why,
            format!("check {}; move it away to start with an empty store", directory.display()),
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::{CheckResult, Machine, Probed, Status, examine, free_kib, git, numbers};
    use crate::calendar::Calendar;
    use crate::config::{ConfigSources, Environment, HomeError, Loaded, load};
    use crate::terminal::Canvas;

    /// A directory of this test's own, with an agent in `bin`.
    fn scratch(name: &str) -> PathBuf {
        let exe = std::env::current_exe().unwrap();
        let root = exe.parent().unwrap().join(format!("doctor-{name}-{}", std::process::id()));
        _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("bin")).unwrap();
        fs::create_dir_all(root.join("home")).unwrap();
        root
    }

    fn install(root: &Path, program: &str) {
        use std::os::unix::fs::PermissionsExt;
        let path = root.join("bin").join(program);
        fs::write(&path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn environment(root: &Path, more: &[(&str, &str)]) -> Environment {
        let own = [("PILOT_HOME", root.join("home")), ("PATH", root.join("bin"))];
        let more = more.iter().map(|(name, value)| (*name, PathBuf::from(value)));
        own.into_iter().chain(more).collect()
    }

    fn loaded(environment: &Environment) -> Loaded {
        load(&ConfigSources::new(environment, None)).unwrap()
    }

    fn text(checks: &[CheckResult]) -> String {
        super::text(checks, &Canvas { width: None, has_colour: false, calendar: Calendar::utc() })
    }

    fn healthy(program: &Path, args: &[&str]) -> Probed {
        match program.file_name().and_then(|name| name.to_str()) {
            Some("git") if args.contains(&"user.email") => Probed::Printed("ada@example.org\n".to_owned()),
            Some("git") => Probed::Printed("git version 2.39.2\n".to_owned()),
            Some("df") => Probed::Printed(df(50 << 20)),
            Some("claude") => Probed::Printed("2.1.76 (Claude Code)\n".to_owned()),
            Some(_) | None => Probed::Missing,
        }
    }

    fn df(free: u64) -> String {
        format!("Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/x y 9 1 {free} 1% /\n")
    }

    /// The same with a short root: where lines break depends on it.
    fn below(root: &Path, mut checks: Vec<CheckResult>) -> Vec<CheckResult> {
        for check in &mut checks {
            check.found = check.found.replace(&root.display().to_string(), "/R");
            check.next = check.next.take().map(|next| next.replace(&root.display().to_string(), "/R"));
        }
        checks
    }

    fn found<'a>(checks: &'a [CheckResult], name: &str) -> &'a CheckResult {
        checks.iter().find(|check| check.name == name).unwrap_or_else(|| panic!("no {name}"))
    }

    #[test]
    fn a_sound_machine() {
        let root = scratch("sound");
        install(&root, "claude");
        let environment = environment(&root, &[]);
        let loaded = loaded(&environment);
        let checks = examine(&Machine {
            environment: &environment,
            loaded: Ok(&loaded),
            probe: &healthy,
            containment: ("PID namespace", true),
            open_store: &|_| Ok("version 1, 0 runs".to_owned()),
        });
        let text = text(&below(&root, checks));
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(
            text,
            "\
ok    git                  git version 2.39.2
ok    git identity         ada@example.org
ok    agent claude-code    2.1.76 (Claude Code) (in use)
-     agent codex          not installed
-     agent opencode       not installed
-     agent gemini         not installed
-     agent qwen-code      not installed
ok    agent login          claude-code says so
ok    containment          PID namespace
ok    configuration        no file, defaults hold
ok    PILOT_HOME           /R/home, writable
ok    disk                 50.0 GiB free in /R/home
ok    store                version 1, 0 runs
"
        );
    }

    #[test]
    fn every_failed_check_names_the_next_step() {
        let root = scratch("sick");
        install(&root, "gemini");
        let more = [("PILOT_EXECUTOR_BACKEND", "codex"), ("PILOT_MEMORY_PATH", "data")];
        let environment = environment(&root, &more);
        let loaded = loaded(&environment);
        let probe = |program: &Path, _: &[&str]| match program.file_name().and_then(|name| name.to_str()) {
            Some("git") => Probed::Printed("git version 2.30.1\n".to_owned()),
            Some("df") => Probed::Printed(df(1 << 20)),
            Some("gemini") => Probed::Failed("no answer in 10s".to_owned()),
            Some(_) | None => Probed::Missing,
        };
        let checks = examine(&Machine {
            environment: &environment,
            loaded: Ok(&loaded),
            probe: &probe,
            containment: ("fallback: processes of a run are found by descent and ended one by one", false),
            open_store: &|_| Err("the file is no database".to_owned()),
        });
        for (name, status) in [
            ("git", Status::Fail),
            ("agent codex", Status::Fail),
            ("agent gemini", Status::Warn),
            ("agent claude-code", Status::Unused),
            ("containment", Status::Warn),
            ("configuration", Status::Ok),
            ("disk", Status::Warn),
            ("store", Status::Fail),
        ] {
            let check = found(&checks, name);
            assert_eq!(check.status, status, "{check:?}");
            let is_sound = matches!(status, Status::Ok | Status::Unused);
            assert_eq!(check.next.is_some(), !is_sound, "{check:?}");
        }
        let text = text(&below(&root, checks));
        fs::remove_dir_all(&root).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains(
            "\
FAIL  agent codex          codex not found on PATH (in use)
                           next: install codex, or choose another agent with
                           executor.backend
"
        ));
    }

    #[test]
    fn wrong_configuration_and_no_home() {
        let root = scratch("wrong");
        let environment = environment(&root, &[("PILOT_EXECUTOR_BACKEND", "clod")]);
        let loaded = loaded(&environment);
        let nowhere = HomeError::Nowhere;
        for (loaded, words) in [
            (Ok(&loaded), "PILOT_EXECUTOR_BACKEND: executor.backend: \"clod\""),
            (Err(&nowhere), "neither PILOT_HOME nor HOME is set"),
        ] {
            let checks = examine(&Machine {
                environment: &environment,
                loaded,
                probe: &healthy,
                containment: ("", true),
                open_store: &|_| Ok(String::new()),
            });
            let check = found(&checks, "configuration");
            assert_eq!(check.status, Status::Fail);
            assert!(check.found.contains(words), "{check:?}");
        }
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn an_own_program_is_searched_for_and_not_run() {
        let root = scratch("own");
        install(&root, "my-agent");
        for (argv, status) in [("my-agent,--quiet", Status::Ok), ("your-agent", Status::Fail)] {
            let more = [("PILOT_EXECUTOR_BACKEND", "command"), ("PILOT_EXECUTOR_COMMAND_ARGV", argv)];
            let environment = environment(&root, &more);
            let loaded = loaded(&environment);
            let probe = |program: &Path, args: &[&str]| {
                assert!(!program.ends_with("my-agent"), "run with {args:?}");
                healthy(program, args)
            };
            let checks = examine(&Machine {
                environment: &environment,
                loaded: Ok(&loaded),
                probe: &probe,
                containment: ("", true),
                open_store: &|_| Ok(String::new()),
            });
            assert_eq!(found(&checks, "agent command").status, status, "{argv}");
        }
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn versions_and_space_are_read() {
        for (text, version) in [
            ("git version 2.39.2", Some((2, 39))),
            ("git version 2.39.2.windows.1", Some((2, 39))),
            ("git version 3.0-rc1", Some((3, 0))),
            ("git", None),
            ("git version 99999999999.1", None),
        ] {
            assert_eq!(numbers(text), version, "{text}");
        }
        assert_eq!(git(&|_, _| Probed::Printed("gibberish\x1b[2J".to_owned())).status, Status::Warn);
        assert_eq!(git(&|_, _| Probed::Missing).status, Status::Fail);
        assert_eq!(free_kib(&df(77)), Some(77));
        assert_eq!(free_kib("Filesystem\n"), None);
    }
}
