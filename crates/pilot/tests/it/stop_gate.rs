//! The hook that holds an agent in its session until the gates pass: Pilot as the agent calls it, and a real agent.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pilot_core::config::Backend;
use pilot_core::gate::{Gate, GateKind, GatePolicy};
use pilot_exec::backend::{AgentRequest, Permissions, RepoSettings, Task, invocation};
use pilot_exec::gate::{StopGate, WORD};
use pilot_exec::process::{Containment, ContainmentKind};
use pilot_testkit::agent::fake_agent;
use serde_json::Value;

use crate::program::{Ended, command, feed, pilot, run};
use crate::rig::{Cli, Scene, Stage};

/// Pilot's own file, for a shell.
const PILOT: &str = env!("CARGO_BIN_EXE_pilot");

fn stop_gate(tree: &Path, tmp: &Path, command: &str) -> StopGate {
    StopGate {
        gates: vec![Gate {
            failure_hint: Some("make it with echo".to_owned()),
            ..Gate::new("test", GateKind::Test, command)
        }],
        parallel: false,
        policy: GatePolicy::default(),
        tree: tree.to_owned(),
        tmp: tmp.to_owned(),
        pass: Vec::new(),
        deny: Vec::new(),
        limit: Duration::from_secs(60),
        grace: Duration::from_secs(1),
        cap: 2,
        held: 0,
    }
}

/// The hook as an agent starts it.
fn hook(file: &Path, input: &str) -> Ended {
    let mut pilot = pilot(&[WORD]);
    pilot
        .arg(file)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("ANTHROPIC_API_KEY", "s3cret");
    feed(pilot, input.as_bytes())
}

#[test]
fn the_hook_blocks_in_the_agents_own_words_and_never_fails() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stop.json");
    stop_gate(folder.path(), folder.path(), "env; echo 'error: no'; exit 1").save(&file).unwrap();
    let ended = hook(&file, r#"{"stop_hook_active":false}"#);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let answer: Value = serde_json::from_str(&ended.stdout).expect("one object");
    assert_eq!(answer["decision"], "block");
    let reason = answer["reason"].as_str().unwrap();
    assert!(reason.contains("error: no") && !reason.contains("s3cret"), "{reason}");

    for (file, input) in [(&file, "nonsense"), (&folder.path().join("absent"), "{}")] {
        let ended = hook(file, input);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{input}");
        assert!(ended.stderr.ends_with("; the agent may stop\n"), "{}", ended.stderr);
    }
    let nameless = feed(pilot(&[WORD]), b"{}");
    assert_eq!((nameless.code, nameless.stdout.as_str()), (Some(0), ""));
}

/// The hook may have 64 MiB, and its gate prints more.
#[test]
fn a_gate_that_prints_without_end_costs_little() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stop.json");
    stop_gate(folder.path(), folder.path(), "head -c 100000000 /dev/zero | tr '\\0' x; exit 1")
        .save(&file)
        .unwrap();
    let mut limited = command("/bin/sh");
    limited.args(["-c", "ulimit -d 65536; exec \"$0\" \"$@\"", PILOT, WORD]).arg(&file);
    limited.env_clear().env("PATH", "/usr/bin:/bin");
    let ended = feed(limited, b"{}");
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert!(
        ended.stdout.contains("\"decision\":\"block\"") && ended.stdout.len() < 20_000,
        "{}",
        ended.stdout.len()
    );
}

/// An agent is held in a namespace, and so are the gates that it runs there.
#[test]
fn the_hook_works_where_agents_work() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("input"), "{}").unwrap();
    let ways: &[&str] = match Containment::probe(fake_agent()).kind() {
        ContainmentKind::Namespace { .. } => &["probe", "user", "fallback"],
        ContainmentKind::Fallback { .. } => &["fallback"],
    };
    for how in ways {
        let gate = stop_gate(folder.path(), folder.path(), "echo 'error: no'; exit 1");
        gate.save(Path::new(&path("stop.json"))).unwrap();
        let script = format!("{PILOT} {WORD} {} < {} > {}", path("stop.json"), path("input"), path("out"));
        let mut agent = command(fake_agent());
        agent.args(["supervise", *how]).arg(folder.path()).arg(format!("sh={script}"));
        agent.env_clear().env("PATH", "/usr/bin:/bin");
        let ended = run(agent);
        assert!(ended.stdout.starts_with("Code(0) Itself"), "{how}: {ended:?}");
        let out = fs::read_to_string(path("out")).unwrap();
        assert!(out.contains("\"decision\":\"block\"") && out.contains("error: no"), "{how}: {out}");
    }
}

const SCENE: Scene = Scene {
    scenario: "stop_gate",
    set: &[],
    env: &[],
    executor: "",
    says: ("completed", ""),
    code: 0,
    commits: 1,
    reason: "",
};

/// Lets claude work with the hook, as Pilot calls it: what it printed, and the file of the hook afterwards.
fn play(stage: &Stage, repo_settings: RepoSettings) -> (Ended, StopGate) {
    let (tmp, file): (PathBuf, PathBuf) = (stage.home().join("tmp"), stage.home().join("stop gate.json"));
    fs::create_dir_all(&tmp).expect("make a folder");
    let gate = "test -f fixed.txt || { echo 'error: fixed.txt is missing'; exit 1; }";
    let saved = stop_gate(&stage.repo(), &tmp, gate);
    saved.save(&file).expect("write the file");
    let settings = saved.settings(Path::new(PILOT), &file);
    let request = AgentRequest {
        prompt: "Fix it.",
        program: None,
        model: None,
        effort: None,
        resume: None,
        max_turns: None,
        permissions: Permissions::Everything,
        repo_settings,
        settings: Some(&settings),
        extra_args: &[],
        images: &[],
        root: true,
        task: Task { id: "T-1", branch: "main", workspace: &stage.repo() },
        command: None,
    };
    let call = invocation(Backend::ClaudeCode, &request).expect("a call");
    let ended = feed(stage.agent(&call.args), &call.stdin);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    (ended, StopGate::load(&file).expect("the file"))
}

/// The agent wants to stop, the gates fail, it fixes that, and may stop.
#[test]
fn claude_mends_what_the_hook_holds_it_for() {
    for repo_settings in [RepoSettings::Trusted, RepoSettings::Ignored] {
        let Some(stage) = Stage::set(Cli::Claude, &SCENE) else { return };
        let (ended, after) = play(&stage, repo_settings);
        assert_eq!(after.held, 1, "{}", ended.stdout);
        assert!(ended.stdout.contains("Now I am done."), "{}", ended.stdout);
        assert_eq!(stage.git(&["log", "--format=%s", "-1"]), "fix: it\n");
        assert_eq!(stage.git(&["status", "--porcelain"]), "", "nothing is written into the repository");
        assert_eq!(stage.processes(), [""; 0]);
    }
}

/// An agent that fixes nothing is held twice; then it may stop, and the run continues.
#[test]
fn claude_is_not_held_for_ever() {
    let Some(stage) = Stage::set(Cli::Claude, &Scene { scenario: "stubborn", ..SCENE }) else { return };
    let (ended, after) = play(&stage, RepoSettings::Trusted);
    assert_eq!(after.held, 2, "{}", ended.stdout);
    assert_eq!(ended.stdout.matches("Stop hook feedback").count(), 2, "{}", ended.stdout);
    assert!(ended.stdout.contains(r#""subtype":"success""#), "{}", ended.stdout);
    assert_eq!(stage.processes(), [""; 0]);
}
