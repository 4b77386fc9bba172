//! `pilot config` as its user runs it, and the page that documents the keys.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::program::{Ended, pilot, run};

const MISSION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/mission-config.yaml");

/// A user with a home and a repository, gone with the value.
struct User {
    root: PathBuf,
}

impl User {
    fn new(name: &str) -> User {
        let root =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("config-{name}-{}", std::process::id()));
        _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("home")).expect("works");
        fs::create_dir_all(root.join("repo/.pilot")).expect("works");
        User { root }
    }

    fn writes(&self, file: &str, bytes: impl AsRef<[u8]>) -> &User {
        fs::write(self.root.join(file), bytes).expect("works");
        self
    }

    /// Runs `pilot config` in the repository, with these variables and no others.
    fn runs(&self, args: &[&str], variables: &[(&str, &str)]) -> Ended {
        let mut pilot = pilot(&["config"]);
        pilot.args(args).env_clear().envs(variables.iter().copied());
        pilot.env("PILOT_HOME", self.root.join("home")).current_dir(self.root.join("repo"));
        let mut ended = run(pilot);
        for text in [&mut ended.stdout, &mut ended.stderr] {
            *text = text.replace(&self.root.display().to_string(), "/R");
        }
        ended
    }

    /// Expects `pilot config check` to print exactly these errors.
    fn is_told(&self, variables: &[(&str, &str)], errors: &[&str]) {
        let ended = self.runs(&["check"], variables);
        let told: Vec<&str> = ended.stdout.lines().filter_map(|line| line.strip_prefix("error: ")).collect();
        assert_eq!(told, errors);
        assert_eq!(ended.code, Some(if errors.is_empty() { 0 } else { 2 }), "{}", ended.stderr);
    }

    fn value(&self, key: &str, variables: &[(&str, &str)]) -> Value {
        let ended = self.runs(&["show", "--json"], variables);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let all: Value = serde_json::from_str(&ended.stdout).expect("works");
        all[key].clone()
    }
}

impl Drop for User {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.root);
    }
}

#[test]
fn the_missions_sample_loads_verbatim() {
    let user = User::new("mission");
    user.writes("home/config.yaml", fs::read(MISSION).unwrap());
    let ended = user.runs(&["check"], &[]);
    assert_eq!(ended.code, Some(0), "{}", ended.stdout);
    assert_eq!(
        ended.stdout,
        "\
notice: /R/home/config.yaml:2:1: gateway: not built yet, has no effect
notice: /R/home/config.yaml:8:3: adapters.discord: not built yet, has no effect
notice: /R/home/config.yaml:12:3: adapters.plane: not built yet, has no effect
notice: /R/home/config.yaml:32:1: alerts: not built yet, has no effect
ok: /R/home/config.yaml
"
    );
    let backend = user.value("executor.backend", &[]);
    assert_eq!(backend["value"], "claude-code");
    assert_eq!(
        backend["origin"],
        json!({"kind": "file", "name": "/R/home/config.yaml", "line": 24, "column": 12})
    );
}

#[test]
fn no_file_means_defaults() {
    let user = User::new("none");
    let ended = user.runs(&["check"], &[]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert_eq!(ended.stdout, "ok: no file, defaults hold (a file would be /R/home/config.yaml)\n");
    let shown = user.runs(&["show"], &[]).stdout;
    assert!(shown.contains("executor.silence_timeout: 15m  # default\n"), "{shown}");
    assert!(shown.ends_with("# the store is in /R/home/data\n"), "{shown}");
    let named = user.runs(&["check", "--config", "absent.yaml"], &[]);
    let told = "error: absent.yaml: no such file; name one that is there, or let `pilot init` write it\n";
    assert_eq!((named.code, named.stdout.as_str()), (Some(2), told));
}

#[test]
fn every_error_is_reported_at_once_with_its_line() {
    let user = User::new("wrong");
    user.writes(
        "home/config.yaml",
        "executor:\n  bakend: codex\n  timeout: 10 minutes\n  max_turns: many\nadaptors: {}\nexecutor: {}\n",
    );
    user.is_told(
        &[],
        &[
            "/R/home/config.yaml:2:3: executor.bakend: unknown key; did you mean executor.backend?",
            "/R/home/config.yaml:3:12: executor.timeout: \"10 minutes\": 10 has no unit; write for example \
             10s or 10m (accepted: 30s, 10m, 1h30m)",
            "/R/home/config.yaml:4:14: executor.max_turns: \"many\": write a whole number up to 4294967295",
            "/R/home/config.yaml:5:1: adaptors: unknown key; did you mean adapters?",
            "/R/home/config.yaml:6:1: executor: set a second time; it is first set in line 1",
        ],
    );
    let ended = user.runs(&["check", "--json"], &[]);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((ended.code, &report["ok"]), (Some(2), &json!(false)));
    assert_eq!(report["problems"].as_array().unwrap().len(), 5);
    assert_eq!(report["problems"][0]["origin"]["line"], 2);
    let shown = user.runs(&["show"], &[]);
    assert_eq!((shown.code, shown.stdout.as_str()), (Some(2), ""));
    assert!(shown.stderr.contains("did you mean executor.backend?"), "{}", shown.stderr);
}

#[test]
fn later_layers_win() {
    let user = User::new("layers");
    let name = "executor.model";
    let (variable, set) = (("PILOT_EXECUTOR_MODEL", "from-env"), |file: &str, model: &str| {
        user.writes(file, format!("executor:\n  model: {model}\n"));
    });
    assert_eq!(user.value(name, &[])["value"], Value::Null);
    set("home/config.yaml", "from-user");
    assert_eq!(user.value(name, &[])["value"], "from-user");
    set("repo/.pilot/config.yaml", "from-project");
    let project = user.value(name, &[]);
    assert_eq!((&project["value"], &project["origin"]["kind"]), (&json!("from-project"), &json!("project")));
    let environment = user.value(name, &[variable]);
    assert_eq!(environment["value"], "from-env");
    assert_eq!(environment["origin"]["name"], "PILOT_EXECUTOR_MODEL");
}

#[test]
fn references_are_resolved_and_shown_as_written() {
    let user = User::new("references");
    user.writes(
        "home/config.yaml",
        "executor:\n  model: ${M:-fallback}\n  timeout: '${T}'\n  extra_args: [--token=s3cret, '$${x}', \"${T}\"]\n",
    );
    user.is_told(
        &[],
        &[
            "/R/home/config.yaml:3:12: executor.timeout: the variable T is not set; set it, or write ${T:-default}",
            "/R/home/config.yaml:4:41: executor.extra_args: the variable T is not set; set it, or write ${T:-default}",
        ],
    );
    user.is_told(
        &[("T", "soon")],
        &["/R/home/config.yaml:3:12: executor.timeout: \"${T}\": the variable holds no such value; expected a \
           duration with its unit, such as 10m"],
    );
    assert_eq!(user.value("executor.timeout", &[("T", "7m")])["value"], "${T}");
    // One thing is wrong, and one is told.
    let program = User::new("program");
    program.writes("home/config.yaml", "executor:\n  backend: command\n  command: {argv: [\"${T}\"]}\n");
    program.is_told(
        &[],
        &["/R/home/config.yaml:3:20: executor.command.argv: the variable T is not set; set it, or write ${T:-default}"],
    );
    let args = user.value("executor.extra_args", &[("T", "7m")]);
    assert_eq!(args["value"], json!(["--token=********", "$${x}", "${T}"]));
}

#[test]
fn a_secret_that_other_users_can_read_gives_a_notice() {
    let user = User::new("secret");
    user.writes("home/config.yaml", "executor: {extra_args: [--token=s3cret]}\n");
    let file = user.root.join("home/config.yaml");
    for (mode, is_told) in [(0o600, false), (0o640, true), (0o604, true)] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let told = user.runs(&["check"], &[]).stdout;
        assert_eq!(told.contains("chmod 600 /R/home/config.yaml"), is_told, "{mode:o}: {told}");
    }
}

#[test]
fn a_token_is_read_from_the_environment_and_never_shown() {
    let user = User::new("token");
    user.writes(
        "home/config.yaml",
        "adapters:\n  github:\n    token: ${GITHUB_TOKEN:-}\nprojects:\n  - name: app\n    path: ~/app\n    \
         github: {owner: acme, repo: \"${REPO}\"}\n",
    );
    user.is_told(
        &[],
        &["/R/home/config.yaml:7:33: projects.github.repo: the variable REPO is not set; set it, or write \
           ${REPO:-default}"],
    );
    for (token, shown) in [("", Value::Null), ("ghp_s3cret", json!("********"))] {
        let variables = [("REPO", "app"), ("GITHUB_TOKEN", token)];
        assert_eq!(user.value("adapters.github.token", &variables)["value"], shown);
        let all = user.runs(&["show"], &variables);
        assert!(!format!("{all:?}").contains("s3cret"), "{all:?}");
        assert!(all.stdout.contains("\nprojects: [{"), "{}", all.stdout);
    }
    user.writes("home/config.yaml", "adapters: {github: {token: ghp_s3cret}}\n");
    fs::set_permissions(user.root.join("home/config.yaml"), fs::Permissions::from_mode(0o644)).unwrap();
    let told = user.runs(&["check"], &[]).stdout;
    assert!(told.contains("chmod 600") && !told.contains("s3cret"), "{told}");
}

#[test]
fn a_projects_file_cannot_set_the_users_keys() {
    let user = User::new("project");
    user.writes(
        "repo/.pilot/config.yaml",
        "executor:\n  command: {argv: [./evil]}\n  env:\n    pass: [AWS_SECRET]\n  trust_repo_settings: true\n  \
         model: ${HOME}\nadapters:\n  github: {token: x}\n",
    );
    let refused = "a project's file must not set this; set it in your own configuration";
    user.is_told(
        &[("HOME", "/x")],
        &[
            &format!("./.pilot/config.yaml:2:13: executor.command.argv: {refused}"),
            &format!("./.pilot/config.yaml:4:5: executor.env.pass: {refused}"),
            &format!("./.pilot/config.yaml:5:3: executor.trust_repo_settings: {refused}"),
            "./.pilot/config.yaml:6:10: executor.model: a project's file must not read the environment; write $${ \
             for a plain ${",
            &format!("./.pilot/config.yaml:8:12: adapters.github.token: {refused}"),
        ],
    );
    let link = user.root.join("repo/.pilot/config.yaml");
    fs::remove_file(&link).unwrap();
    symlink("/etc/passwd", &link).unwrap();
    user.is_told(&[], &["./.pilot/config.yaml: not a regular file"]);
}

#[test]
fn a_home_under_version_control_is_still_its_users() {
    let user = User::new("dotfiles");
    let home = user.root.join("repo/.pilot");
    user.writes("repo/.pilot/config.yaml", "executor: {trust_repo_settings: false}\n");
    let mut pilot = pilot(&["config", "check"]);
    pilot.env_clear().env("PILOT_HOME", &home).current_dir(user.root.join("repo"));
    let ended = run(pilot);
    assert_eq!(ended.code, Some(0), "{}", ended.stdout);
}

#[test]
fn files_that_are_no_configuration_are_refused() {
    let user = User::new("hostile");
    let deep = format!("a: {}", "{a: ".repeat(100_000));
    let long = format!("executor: {{model: {}}}", "x".repeat(900_000));
    let keys: String = (0..50_000).map(|i| format!("k{i}: 1\n")).collect();
    let laughs: String = (0..20)
        .map(|i| match i {
            0 => "a0: &a0 [x, x, x, x, x, x, x, x]\n".to_owned(),
            _ => format!("a{i}: &a{i} [{}]\n", [format!("*a{}", i - 1).as_str(); 8].join(", ")),
        })
        .collect();
    for (bytes, words) in [
        (b"executor:\n\tbackend: codex\n".to_vec(), "config.yaml:2:2: not YAML: tabs"),
        (b"executor:\n  model: \xff\xfe\n".to_vec(), "config.yaml:2:1: not UTF-8"),
        (b"executor:\n  model: a\0b\n".to_vec(), "config.yaml:2:1: a NUL character"),
        (b"executor:\n  model: \"a\\0b\"\n".to_vec(), "take out the NUL character"),
        (vec![b' '; 2 << 20], "larger than 1024 KiB"),
        (deep.into_bytes(), "config.yaml:1:"),
        (long.into_bytes(), "executor.model: more than 32768 bytes"),
        (keys.into_bytes(), "more than 20000 values"),
        (laughs.into_bytes(), "more than is read, aliases written out"),
        (b"- a\n- b\n".to_vec(), "expected a section of keys, found a list"),
        (b"just words\n".to_vec(), "expected a section of keys, found a single value"),
        (b"a: !!python/object:os.system x\n".to_vec(), "a tag (!!python/object:os.system)"),
        (b"\"\\e[2J\": 1\n".to_vec(), "\\u{1b}[2J: unknown key"),
        (
            b"gateway: {\"\\e[2J\": \"${UNSET}\"}\n".to_vec(),
            "gateway.\\u{1b}[2J: the variable UNSET is not set",
        ),
    ] {
        user.writes("home/config.yaml", &bytes);
        let ended = user.runs(&["check"], &[]);
        assert_eq!(ended.code, Some(2), "{words}: {}", ended.stdout);
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
        assert!(ended.stdout.len() < 2_000 && !ended.stdout.contains('\x1b'), "{words}: {}", ended.stdout);
    }
    fs::remove_file(user.root.join("home/config.yaml")).unwrap();
    fs::create_dir(user.root.join("home/config.yaml")).unwrap();
    user.is_told(&[], &["/R/home/config.yaml: not a regular file"]);
}

#[test]
fn a_variable_that_is_no_text_is_an_error() {
    use std::os::unix::ffi::OsStrExt;
    let user = User::new("bytes");
    let mut pilot = pilot(&["config", "check"]);
    pilot.env_clear().env("PILOT_HOME", user.root.join("home")).current_dir(user.root.join("repo"));
    pilot.env("PILOT_EXECUTOR_MODEL", std::ffi::OsStr::from_bytes(b"\xff"));
    let ended = run(pilot);
    assert_eq!(ended.stdout, "error: PILOT_EXECUTOR_MODEL: not UTF-8; set it to a text\n");
    assert_eq!(ended.code, Some(2));
}

#[test]
fn a_missing_home_is_an_error_with_the_next_step() {
    let mut pilot = pilot(&["config", "show"]);
    pilot.env_clear();
    let ended = run(pilot);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("neither PILOT_HOME nor HOME is set"), "{}", ended.stderr);
}

/// Every key of the schema: its path and its property.
fn keys(section: &Value, path: &str) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for (name, property) in section["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        if property.get("x-kind").is_some() {
            found.push((path.clone(), property.clone()));
        }
        found.extend(keys(property, &path));
    }
    found
}

#[test]
fn the_page_explains_every_key() {
    let user = User::new("page");
    let schema: Value = serde_json::from_str(&user.runs(&["schema"], &[]).stdout).unwrap();
    let mut keys = keys(&schema, "");
    // The adapter that only tests have may be built in.
    keys.retain(|(path, _)| !path.starts_with("adapters.toy."));
    assert!(keys.len() > 30, "{}", keys.len());
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
    let page = fs::read_to_string(page).unwrap();
    let rows: Vec<&str> = page
        .lines()
        .filter(|line| {
            let name = line.strip_prefix("| `").and_then(|line| line.split('`').next());
            name.is_some_and(|name| name == "projects" || name.contains('.'))
                && line.matches(" | ").count() == 4
        })
        .collect();
    let mut expected: Vec<String> = keys.iter().map(|(path, property)| row(path, property)).collect();
    let mut written = rows.clone();
    expected.sort_unstable();
    written.sort_unstable();
    assert_eq!(written, expected, "docs/configuration.md has exactly one row for each key");
}

/// The keys of a gate and of a project have tables of their own.
#[test]
fn the_pages_explain_every_key_of_a_gate_and_of_a_project() {
    let user = User::new("items");
    let schema: Value = serde_json::from_str(&user.runs(&["schema"], &[]).stdout).unwrap();
    for (list, page, heading) in [
        ("/properties/quality/properties/gates", "gates.md", "\n## The keys of a gate\n"),
        ("/properties/projects", "configuration.md", "\n#### The keys of a project\n"),
    ] {
        let mut expected = fields(&schema.pointer(list).expect("a list")["items"], "");
        expected.retain(|row| !row.starts_with("| `toy."));
        let file = format!("{}/../../docs/{page}", env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(file).unwrap();
        let (_, table) = text.split_once(heading).expect("a section on them");
        let table = table.split("\n##").next().expect("a section");
        let mut written: Vec<&str> = table.lines().filter(|line| line.starts_with("| `")).collect();
        expected.sort_unstable();
        written.sort_unstable();
        assert_eq!(written, expected, "docs/{page} has exactly one row for each key");
    }
}

/// The rows for the keys of an item.
fn fields(section: &Value, above: &str) -> Vec<String> {
    let mut rows = Vec::new();
    for (name, field) in section["properties"].as_object().into_iter().flatten() {
        rows.extend(fields(field, &format!("{above}{name}.")));
        let Some(kind) = field["x-field"].as_str() else { continue };
        let words = field["enum"].as_array().map(|words| {
            let words = words.iter().map(|word| format!("`{}`", word.as_str().expect("a text")));
            words.collect::<Vec<_>>().join(", ")
        });
        let about = field["description"].as_str().expect("a text");
        rows.push(format!("| `{above}{name}` | {} | {about} |", words.unwrap_or(kind.to_owned())));
    }
    rows
}

fn row(path: &str, property: &Value) -> String {
    let words = property["enum"].as_array().or(property["items"]["enum"].as_array());
    let kind = property["x-kind"].as_str().expect("a text");
    let kind = match words {
        Some(words) => {
            let words: Vec<String> =
                words.iter().map(|word| format!("`{}`", word.as_str().expect("a text"))).collect();
            format!("{}{}", if kind.starts_with("list") { "list of " } else { "" }, words.join(", "))
        }
        None => kind.to_owned(),
    };
    let default = match &property["default"] {
        Value::Null => "unset".to_owned(),
        Value::String(text) => format!("`{text}`"),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            format!("`{}`", other.to_string().replace('"', "").replace(',', ", "))
        }
    };
    let project = if property["x-project"] == true { "yes" } else { "no" };
    let about = property["description"].as_str().expect("a text");
    format!("| `{path}` | {kind} | {default} | {project} | {about} |")
}
