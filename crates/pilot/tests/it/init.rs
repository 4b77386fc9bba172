//! `pilot init` as its user runs it: what it writes loads, and it loses nothing.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::Value;

use crate::program::{Ended, feed, run};
use crate::yard::Yard;

/// Runs `pilot init --yes` with a `PATH` that holds these programs, and git.
fn init(yard: &Yard, args: &[&str], agents: &[&str], variables: &[(&str, &str)]) -> Ended {
    let bin = yard.file("bin");
    _ = fs::remove_dir_all(&bin);
    fs::create_dir(&bin).expect("it is done");
    for agent in agents {
        pilot_testkit::program::write(&bin.join(agent), "#!/bin/sh\n");
    }
    let mut pilot = yard.pilot(args);
    pilot.env("PATH", format!("{}:/usr/bin:/bin", bin.display())).envs(variables.iter().copied());
    run(pilot)
}

/// `pilot config check` on what was written: no problem, no notice.
fn expect_sound(yard: &Yard, file: Option<&Path>) {
    let mut pilot = yard.pilot(&["config", "check", "--json"]);
    if let Some(file) = file {
        pilot.arg(file);
    }
    let ended = run(pilot);
    let told: Value = serde_json::from_str(&ended.stdout).expect("it is done");
    assert_eq!((ended.code, &told["ok"]), (Some(0), &Value::Bool(true)), "{told:#}");
    assert_eq!(told["notices"], serde_json::json!([]), "{told:#}");
}

/// The same with every example in force: a `#` in front of a key is taken away.
fn expect_sound_examples(yard: &Yard, text: &str) {
    let file = yard.file("examples.yaml");
    let lines = text.lines().map(|line| {
        let start = line.trim_start();
        let key = start.strip_prefix("# ").filter(|rest| {
            let name = rest.trim_start().trim_start_matches("- ").split(':').next().unwrap_or_default();
            rest.contains(':') && !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_')
        });
        let indent = &line[..line.len() - start.len()];
        key.map_or(line.to_owned(), |key| format!("{indent}{key}"))
    });
    let text: String = lines.map(|line| line + "\n").collect();
    fs::write(&file, &text).expect("it is done");
    let ended = run(yard.pilot(&["config", "check", &file.display().to_string()]));
    assert_eq!(ended.code, Some(0), "{}\n{text}", ended.stdout);
}

/// Agents on the `PATH`, files of the project, variables; the agent and the variables that are written.
type Case = (
    &'static [&'static str],
    &'static [&'static str],
    &'static [(&'static str, &'static str)],
    &'static str,
    &'static str,
);

const CASES: [Case; 7] = [
    (&["claude"], &["Cargo.toml"], &[("CARGO_HOME", "/c"), ("GOPATH", "/g")], "claude-code", "[CARGO_HOME]"),
    (&["codex"], &["go.mod", "Makefile"], &[("GOPATH", "/g"), ("GOCACHE", "")], "codex", "[GOPATH]"),
    (&["opencode"], &["package.json"], &[], "opencode", ""),
    (&["gemini"], &["pyproject.toml"], &[("VIRTUAL_ENV", "/v")], "gemini", "[VIRTUAL_ENV]"),
    (&["qwen"], &["pom.xml"], &[("JAVA_HOME", "/j")], "qwen-code", "[JAVA_HOME]"),
    (&["qwen", "codex"], &["Makefile"], &[("CARGO_HOME", "/c")], "codex", ""),
    (&[], &[], &[("CARGO_HOME", "/c")], "claude-code", ""),
];

#[test]
fn every_agent_project_and_forge_gives_a_file_that_loads() {
    for (agents, files, variables, backend, passed) in CASES {
        let yard = Yard::new();
        files.iter().for_each(|file| fs::write(yard.repo().join(file), "").unwrap());
        yard.git(&["remote", "add", "origin", "https://ada:t0ken@github.com/ada/engine.git"]);
        let ended = init(&yard, &["init", "--yes", "--project"], agents, variables);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let text = fs::read_to_string(yard.home().join("config.yaml")).unwrap();
        assert!(text.contains(&format!("\n  backend: {backend}\n")), "{text}");
        assert_eq!(text.contains(&format!("    pass: {passed}\n")), !passed.is_empty(), "{text}");
        assert!(!format!("{text}{ended:?}").contains("t0ken"), "{text}");
        let path = yard.repo().canonicalize().unwrap();
        let project = format!(
            "\n  - name: \"engine\"\n    path: {path:?}\n    github: {{owner: \"ada\", repo: \"engine\"}}\n"
        );
        assert!(text.contains(&project) && text.contains("\n    token: ${GITHUB_TOKEN:-}\n"), "{text}");
        assert!(ended.stdout.contains("doctor") && ended.stdout.contains("pilot task "), "{}", ended.stdout);
        assert_eq!(ended.stdout.contains("  install claude"), agents.is_empty(), "{}", ended.stdout);
        expect_sound(&yard, None);
        expect_sound_examples(&yard, &text);
        let project = fs::read_to_string(yard.repo().join(".pilot/config.yaml")).unwrap();
        expect_sound_examples(&yard, &project);
    }
}

#[test]
fn the_checks_that_are_found_are_shown_and_taking_them_over_changes_nothing() {
    let yard = Yard::new();
    let ended = init(&yard, &["init", "--yes", "--project"], &["claude"], &[]);
    assert!(ended.stderr.contains("  gates    none\n"), "{}", ended.stderr);
    let text = fs::read_to_string(yard.home().join("config.yaml")).unwrap();
    assert!(text.contains("  #     command: \"make test\"\n"), "{text}");
    fs::write(yard.repo().join("Cargo.toml"), "[workspace]\n").unwrap();
    fs::write(yard.repo().join("rustfmt.toml"), "").unwrap();
    fs::write(yard.repo().join("go.mod"), "module m\n").unwrap();
    let ended = init(&yard, &["init", "--yes", "--project", "--force"], &["claude"], &[]);
    let names = "build-rust, build-go, test-rust, test-go, format";
    for file in [yard.home().join("config.yaml"), yard.repo().join(".pilot/config.yaml")] {
        let text = fs::read_to_string(file).unwrap();
        let line = "  #   - name: test-go\n  #     type: test\n  #     command: \"go test ./...\"\n";
        assert!(text.contains(line), "{line}{text}");
        assert!(text.contains("cargo fmt --all --check\"\n  #     required: false\n"), "{text}");
        expect_sound_examples(&yard, &text);
    }
    assert!(ended.stderr.contains(names), "{}", ended.stderr);
}

#[test]
fn files_have_their_modes_and_places() {
    let yard = Yard::new();
    fs::remove_dir(yard.home()).unwrap();
    let ended = init(&yard, &["init", "--yes", "--project"], &["claude"], &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&yard.home().join("config.yaml")), 0o600);
    assert_eq!(mode(&yard.home()), 0o700);
    assert!(mode(&yard.repo().join(".pilot/config.yaml")) & 0o044 == 0o044);
    let other = yard.file("deep/er/other.yaml");
    let named = other.display().to_string();
    let ended = init(&yard, &["--config", &named, "init", "--yes"], &["gemini"], &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains(&format!("pilot --config {named} doctor")), "{}", ended.stdout);
    expect_sound(&yard, Some(&other));
    let left: Vec<_> = fs::read_dir(other.parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn what_is_there_stays_unless_forced_and_then_as_a_copy() {
    let yard = Yard::new();
    let file = yard.home().join("config.yaml");
    fs::write(&file, "executor: {timeout: 7m}\n").unwrap();
    let before = yard.home_state();
    let ended = init(&yard, &["init", "--yes"], &["claude"], &[]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{ended:?}");
    assert!(ended.stderr.contains("is there already and stays as it is; --force"), "{}", ended.stderr);
    assert_eq!(yard.home_state(), before);
    for copy in ["config.yaml.old", "config.yaml.old.1"] {
        let was = fs::read_to_string(&file).unwrap();
        let ended = init(&yard, &["init", "--yes", "--force"], &["claude"], &[]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stdout.contains(copy), "{}", ended.stdout);
        assert_eq!(fs::read_to_string(yard.home().join(copy)).unwrap(), was);
    }
    expect_sound(&yard, None);
}

#[test]
fn wrong_calls_write_nothing() {
    let yard = Yard::new();
    let plain = Yard::bare();
    fs::create_dir(yard.file("folder")).unwrap();
    symlink(yard.file("nowhere"), yard.file("link")).unwrap();
    let (folder, link) = (yard.file("folder").display().to_string(), yard.file("link").display().to_string());
    for (yard, args, says) in [
        (&yard, &["init"][..], "no one to ask; add --yes"),
        (&yard, &["--config", &folder, "init", "--yes"], "is no file"),
        (&yard, &["--config", &link, "init", "--yes", "--force"], "is a symbolic link"),
        (&yard, &["init", "--yes", "--project", "/no/such/place"], "name a directory with --project"),
        (&plain, &["init", "--yes", "--project"], "is in no git repository"),
    ] {
        let before = yard.home_state();
        let ended = init(yard, args, &["claude"], &[]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{args:?}: {ended:?}");
        assert!(ended.stderr.contains(says), "{args:?}: {}", ended.stderr);
        assert_eq!(yard.home_state(), before, "{args:?}");
    }
    // Without --yes nothing is read from a pipe, whatever it holds.
    let ended = feed(yard.pilot(&["init"]), b"\n\n\n");
    assert_eq!(ended.code, Some(2), "{ended:?}");
}

#[test]
fn a_home_in_the_repository_is_not_also_the_projects() {
    let yard = Yard::new();
    let home = yard.repo().join(".pilot");
    let mut pilot = yard.pilot(&["init", "--yes", "--project"]);
    pilot.env("PILOT_HOME", &home);
    let ended = run(pilot);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("cannot be the project's as well") && !home.exists(), "{}", ended.stderr);
}
