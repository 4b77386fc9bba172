//! `pilot doctor`: is everything here that Pilot needs, and if not, what to do next.
//!
//! It looks and changes nothing. Programs are run by whoever is the home of processes, the store is opened by whoever is the home of
//! SQL: both are handed in.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use pilot_core::config::{Backend, Config};
use serde::Serialize;

use crate::config::{Environment, HomeError, Loaded};
use crate::stdout::Stdout;

/// The oldest git that knows all we ask of it.
const OLDEST_GIT: (u32, u32) = (2, 31);

/// Less free space than this is worth a word: a worktree and a build need as much.
const LITTLE_SPACE_KIB: u64 = 2 << 20;

/// With less than this nothing works.
const NO_SPACE_KIB: u64 = 100 << 10;

/// How wide a line is.
const WIDTH: usize = 80;

/// How wide the names are.
const NAMES: usize = 20;

const HELP: &str = "\
Examples:
  pilot doctor
  pilot doctor --json
  pilot --config other.yaml doctor

Exit codes: 0 everything is here, 1 something is missing that Pilot cannot do without.";

/// How `pilot doctor` answers.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct DoctorArgs {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// What a program said when it was run with a few arguments and a short deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Probed {
    /// It cannot be started.
    Missing,
    /// It ended badly, or not in time; why.
    Failed(String),
    /// What it printed.
    Printed(String),
}

/// Runs a program, named by path or by name, with arguments.
pub(crate) type Probe<'a> = &'a dyn Fn(&Path, &[&str]) -> Probed;

/// Opens the store in a directory and says in a few words what it found, or why it cannot.
pub(crate) type OpenStore<'a> = &'a dyn Fn(&Path) -> Result<String, String>;

/// What is looked at.
pub(crate) struct Patient<'a> {
    /// The environment Pilot was started in.
    pub(crate) environment: &'a Environment,
    /// The configuration, if there is a place to look for it.
    pub(crate) loaded: Result<&'a Loaded, &'a HomeError>,
    /// Runs programs.
    pub(crate) probe: Probe<'a>,
    /// How agents are kept together, in words, and whether that is the strong way.
    pub(crate) containment: (&'a str, bool),
    /// Opens the store.
    pub(crate) open_store: OpenStore<'a>,
}

/// How a check went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// As it should be.
    Ok,
    /// Pilot works, though not as well as it could.
    Warn,
    /// Pilot does not work.
    Fail,
}

impl Status {
    fn as_str(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Warn => "warn",
            Status::Fail => "FAIL",
        }
    }
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Check {
    /// What was looked at.
    pub(crate) name: String,
    /// How it went.
    pub(crate) status: Status,
    /// What was found.
    pub(crate) found: String,
    /// What to do about it.
    pub(crate) next: Option<String>,
}

/// Looks at everything.
pub(crate) fn examine(patient: &Patient<'_>) -> Vec<Check> {
    let mut checks = vec![git(patient.probe)];
    let config = patient.loaded.ok().and_then(|loaded| loaded.config().ok());
    checks.extend(agents(patient, config));
    checks.push(containment(patient.containment));
    checks.push(configuration(patient));
    if let Ok(loaded) = patient.loaded {
        let home = loaded.home.path();
        checks.push(directory(home));
        checks.push(disk(patient.probe, home));
        checks.push(store(patient.open_store, &loaded.store_dir));
    }
    checks
}

/// Prints the checks; 0 when none fails, else 1.
pub(crate) fn report(checks: &[Check], args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let sound = checks.iter().all(|check| check.status != Status::Fail);
    let mut out = Stdout::lock();
    if args.json {
        let object = serde_json::json!({"ok": sound, "checks": checks});
        writeln!(out, "{object:#}")?;
    } else {
        write!(out, "{}", text(checks))?;
    }
    out.flush()?;
    Ok(if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn text(checks: &[Check]) -> String {
    let mut text = String::new();
    let indent = " ".repeat(6 + NAMES + 1);
    for check in checks {
        let Check { name, status, found, next } = check;
        let head = format!("{:<5} {name:<NAMES$} ", status.as_str());
        text.push_str(&wrapped(&head, &indent, found));
        if let Some(next) = next {
            text.push_str(&wrapped(&format!("{indent}next: "), &indent, next));
        }
    }
    text
}

/// Words behind a head, the following lines indented. A word longer than the line keeps a line for itself.
fn wrapped(head: &str, indent: &str, words: &str) -> String {
    let mut lines = vec![head.to_owned()];
    let mut is_empty = true;
    for word in words.split_whitespace() {
        let line = lines.last().map_or(0, |line| line.chars().count());
        if !is_empty && line + 1 + word.chars().count() > WIDTH {
            lines.push(indent.to_owned());
            is_empty = true;
        }
        if let Some(line) = lines.last_mut() {
            if !is_empty {
                line.push(' ');
            }
            line.push_str(word);
        }
        is_empty = false;
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn ok(name: &str, found: impl Into<String>) -> Check {
    Check { name: name.to_owned(), status: Status::Ok, found: found.into(), next: None }
}

fn warn(name: &str, found: impl Into<String>, next: impl Into<String>) -> Check {
    Check { status: Status::Warn, next: Some(next.into()), ..ok(name, found) }
}

fn fail(name: &str, found: impl Into<String>, next: impl Into<String>) -> Check {
    Check { status: Status::Fail, next: Some(next.into()), ..ok(name, found) }
}

fn git(probe: Probe<'_>) -> Check {
    let (major, minor) = OLDEST_GIT;
    let install = format!("install git {major}.{minor} or later");
    match probe(Path::new("git"), &["--version"]) {
        Probed::Missing => fail("git", "not found on PATH", install),
        Probed::Failed(why) => fail("git", format!("does not run: {why}"), install),
        Probed::Printed(text) => match numbers(&text) {
            Some(version) if version >= OLDEST_GIT => ok("git", first_line(&text)),
            Some(_) => fail("git", format!("{} is too old", first_line(&text)), install),
            None => warn("git", format!("cannot tell the version from {:?}", first_line(&text)), install),
        },
    }
}

/// The first two numbers of a version somewhere in a text.
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
fn agents(patient: &Patient<'_>, config: Option<&Config>) -> Vec<Check> {
    let chosen = config.map(|config| config.executor.backend);
    let mut checks: Vec<Check> = Backend::ALL
        .into_iter()
        .filter_map(|backend| Some(agent(patient, backend, backend.program()?, chosen == Some(backend))))
        .collect();
    if let Some(config) = config.filter(|config| config.executor.backend == Backend::Command) {
        checks.push(own_program(patient.environment, &config.executor.command.argv));
    }
    checks
}

fn agent(patient: &Patient<'_>, backend: Backend, program: &str, is_chosen: bool) -> Check {
    let name = format!("agent {}", backend.as_str());
    let note = if is_chosen { " (in use)" } else { "" };
    let probed = match on_path(patient.environment, program) {
        Some(path) => (patient.probe)(&path, &["--version"]),
        None => Probed::Missing,
    };
    match probed {
        Probed::Printed(text) => ok(&name, format!("{}{note}", first_line(&text))),
        Probed::Missing if is_chosen => {
            let next = format!("install {program}, or choose another agent with executor.backend");
            fail(&name, format!("{program} not found on PATH{note}"), next)
        }
        Probed::Missing => ok(&name, "not installed"),
        Probed::Failed(why) if is_chosen => fail(
            &name,
            format!("does not run: {why}{note}"),
            format!("run `{program} --version` and mend it"),
        ),
        Probed::Failed(why) => {
            warn(&name, format!("does not run: {why}"), format!("run `{program} --version` and mend it"))
        }
    }
}

/// The program of the backend `command`: looked for, never run, since nobody knows what it does.
fn own_program(environment: &Environment, argv: &[String]) -> Check {
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

/// Where a program is.
fn on_path(environment: &Environment, program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| is_program(path));
    }
    let path = environment.os("PATH")?;
    std::env::split_paths(path)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(program))
        .find(|path| is_program(path))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

fn containment((words, is_strong): (&str, bool)) -> Check {
    if is_strong {
        return ok("containment", words);
    }
    warn("containment", words, "allow unprivileged user namespaces for the strong way")
}

fn configuration(patient: &Patient<'_>) -> Check {
    let name = "configuration";
    let loaded = match patient.loaded {
        Ok(loaded) => loaded,
        Err(error) => return fail(name, error.to_string(), "set PILOT_HOME to a directory"),
    };
    let (problems, notices) = (loaded.problems().len(), loaded.notices().len());
    let look = "run `pilot config check`";
    if problems > 0 {
        let first = loaded.problems().first().map(ToString::to_string).unwrap_or_default();
        let more = if problems > 1 { format!(" (and {} more)", problems - 1) } else { String::new() };
        return fail(name, format!("{first}{more}"), "mend it; `pilot config check` shows all there is");
    }
    let files: Vec<String> = loaded.files.iter().map(|file| file.display().to_string()).collect();
    let found = if files.is_empty() { "no file, defaults hold".to_owned() } else { files.join(", ") };
    match notices {
        0 => ok(name, found),
        _ => warn(name, format!("{found}; {notices} notices"), look),
    }
}

/// Whether Pilot can write where it keeps everything.
fn directory(home: &Path) -> Check {
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

/// Only writing tells: permissions, read-only mounts and quotas all have a say.
fn try_to_write(directory: &Path) -> std::io::Result<()> {
    let path = directory.join(format!(".pilot-doctor-{}", std::process::id()));
    fs::File::create_new(&path).and_then(|mut file| file.write_all(b"x"))?;
    fs::remove_file(&path)
}

fn disk(probe: Probe<'_>, home: &Path) -> Check {
    let name = "disk";
    let at = home.ancestors().find(|path| path.exists()).unwrap_or(home);
    let shown = at.display().to_string();
    let free = match probe(Path::new("df"), &["-Pk", &shown]) {
        Probed::Printed(text) => free_kib(&text),
        Probed::Missing | Probed::Failed(_) => None,
    };
    let Some(free) = free else {
        return warn(name, format!("cannot tell how much is free in {shown}"), "look with `df -h`");
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

fn store(open_store: OpenStore<'_>, directory: &Path) -> Check {
    match open_store(directory) {
        Ok(found) => ok("store", found),
        Err(why) => {
            fail("store", why, format!("look at {}; move it away to start anew", directory.display()))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::{Check, Patient, Probed, Status, examine, free_kib, git, numbers, text};
    use crate::config::{Environment, Flags, HomeError, Loaded, Request, load};

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
        load(&Request { environment, file: None, repo: None, flags: &Flags::default() }).unwrap()
    }

    fn healthy(program: &Path, _: &[&str]) -> Probed {
        match program.file_name().and_then(|name| name.to_str()) {
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
    fn below(root: &Path, mut checks: Vec<Check>) -> Vec<Check> {
        for check in &mut checks {
            check.found = check.found.replace(&root.display().to_string(), "/R");
            check.next = check.next.take().map(|next| next.replace(&root.display().to_string(), "/R"));
        }
        checks
    }

    fn found<'a>(checks: &'a [Check], name: &str) -> &'a Check {
        checks.iter().find(|check| check.name == name).unwrap_or_else(|| panic!("no {name}"))
    }

    #[test]
    fn a_sound_machine() {
        let root = scratch("sound");
        install(&root, "claude");
        let environment = environment(&root, &[]);
        let loaded = loaded(&environment);
        let checks = examine(&Patient {
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
ok    agent claude-code    2.1.76 (Claude Code) (in use)
ok    agent codex          not installed
ok    agent opencode       not installed
ok    agent gemini         not installed
ok    agent qwen-code      not installed
ok    containment          PID namespace
ok    configuration        no file, defaults hold
ok    PILOT_HOME           /R/home, writable
ok    disk                 50.0 GiB free in /R/home
ok    store                version 1, 0 runs
"
        );
    }

    #[test]
    fn a_sick_machine_is_told_what_to_do() {
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
        let checks = examine(&Patient {
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
            ("agent claude-code", Status::Ok),
            ("containment", Status::Warn),
            ("configuration", Status::Ok),
            ("disk", Status::Warn),
            ("store", Status::Fail),
        ] {
            let check = found(&checks, name);
            assert_eq!(check.status, status, "{check:?}");
            assert_eq!(check.next.is_some(), status != Status::Ok, "{check:?}");
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
            let checks = examine(&Patient {
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
    fn an_own_program_is_looked_for_and_not_run() {
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
            let checks = examine(&Patient {
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
