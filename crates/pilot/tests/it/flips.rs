//! Every key of the configuration does something: each is flipped, and what a user sees of it differs.
//!
//! A new key needs a row here, or the first test fails. Either a line in a scene: an agent, and what of its run is seen
//! only with the key flipped, or only without; or a row in [`ELSEWHERE`], which names the test that flips it.

mod again;
mod memory;
mod money;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

use serde_json::Value;

use self::Mark::{Comes, Goes};
use crate::program::{pilot, run};
use crate::yard::Yard;

/// An agent, and the keys whose effect its run shows.
struct Scene {
    /// The agent, a shell script; see [`Yard::agent`].
    script: &'static str,
    /// Lines below `executor` that hold in every run of the scene.
    keys: &'static [&'static str],
    /// Other keys that hold in every run of the scene, and their values.
    given: &'static [(&'static str, &'static str)],
    /// Each key, the value it is flipped to, and what then comes or goes.
    flips: &'static [(&'static str, &'static str, Mark)],
}

/// A text among what is seen of a run.
enum Mark {
    /// It is there only when the key is flipped.
    Comes(&'static str),
    /// It is there only when it is not.
    Goes(&'static str),
}

/// What is not about another attempt runs without one.
const ONCE: &str = "retry: {enabled: false}";

const STAGNATED: &str = "verdict: failed stagnated";

const RUNS: &[Scene] = &[
    Scene {
        script: "echo \"tool=[$MY_TOOL] lang=[$LANG]\"; commit a; head -c 2000000 /dev/zero >big.log; echo \"big=$(wc -c <big.log)\"",
        keys: &[ONCE],
        given: &[],
        flips: &[
            ("executor.env.pass", "YARD_MARK,MY_TOOL", Comes("tool=[hammer]")),
            ("executor.env.deny", "LANG", Goes("lang=[C.UTF-8]")),
            ("executor.command.argv", r#"["/bin/sh","-c","echo another"]"#, Comes("message: another")),
            ("executor.command.format", "stream-json", Goes("message: tool=")),
            ("executor.limits.file_size", "1MiB", Goes("big=2000000")),
            ("memory.path", "elsewhere", Comes("elsewhere/pilot.db")),
        ],
    },
    Scene {
        script: "commit a; $AGENT memory=400000000 2>/dev/null && echo it fits",
        keys: &[ONCE],
        given: &[],
        flips: &[("executor.limits.memory", "256MiB", Goes("message: it fits"))],
    },
    Scene {
        script: "commit a; $AGENT lines=300000",
        keys: &[ONCE],
        given: &[],
        flips: &[("executor.limits.output", "64KiB", Comes("bytes of output are not kept here"))],
    },
    // A claude and a gemini that say how they were called.
    Scene {
        script: "",
        keys: &[ONCE, "model: m-0"],
        given: &[],
        flips: &[
            ("executor.backend", "gemini", Comes("args: gemini ")),
            ("executor.model", "m-1", Comes("--model m-1")),
            ("executor.effort", "max", Comes("--effort max")),
            ("executor.max_turns", "7", Comes("--max-turns 7")),
            ("executor.allowed_tools", "Read", Comes("--allowedTools Read")),
            ("executor.extra_args", "--brief", Comes("--brief")),
            ("executor.trust_repo_settings", "false", Comes("--setting-sources user")),
        ],
    },
    // Slower and more silent than it may be.
    Scene {
        script: "commit a; sleep 1.8",
        keys: &[ONCE],
        given: &[],
        flips: &[
            ("executor.timeout", "1s", Comes("verdict: failed timeout")),
            ("executor.silence_timeout", "1s", Comes("verdict: failed stalled")),
            ("executor.stagnation.warn_timeout", "300ms", Comes("stagna")),
        ],
    },
    Scene {
        script: "commit a; sleep 1.8",
        keys: &[ONCE, "pause_timeout: 1s", "stagnation: {warn_timeout: 200ms}"],
        given: &[],
        flips: &[("executor.stagnation.pause_timeout", "400ms", Comes(STAGNATED))],
    },
    Scene {
        script: "commit a; sleep 1.8",
        keys: &[ONCE, "stagnation: {warn_timeout: 200ms, pause_timeout: 300ms, on_pause: [alert]}"],
        given: &[],
        flips: &[("executor.stagnation.abort_timeout", "500ms", Comes(STAGNATED))],
    },
    // It ignores TERM, and does something late.
    Scene {
        script: "commit a; trap '' TERM; sleep 3.5; echo late >@/late",
        keys: &[ONCE, "timeout: 1s", "grace: 1s"],
        given: &[],
        flips: &[("executor.grace", "20s", Comes("late: yes"))],
    },
    Scene {
        script: "commit a; trap '' TERM; echo; echo 'EXIT_SIGNAL: true'; sleep 3.5; echo late >@/late",
        keys: &[ONCE, "exit_grace: 500ms", "grace: 1s"],
        given: &[],
        flips: &[("executor.exit_grace", "30s", Comes("late: yes"))],
    },
    // The same state, so often.
    Scene {
        script: "commit a; N=2; . @/same",
        keys: &[ONCE, "stream-json"],
        given: &[],
        flips: &[("executor.stagnation.warn_after_identical", "2", Comes("stagna"))],
    },
    Scene {
        script: "commit a; N=4; . @/same",
        keys: &[ONCE, "stream-json", "pause_timeout: 1s"],
        given: &[],
        flips: &[
            ("executor.stagnation.enabled", "false", Goes("stagna")),
            ("executor.stagnation.pause_after_identical", "4", Comes(STAGNATED)),
            ("executor.stagnation.on_warn", "abort", Comes(STAGNATED)),
        ],
    },
    Scene {
        script: "commit a; N=5; . @/same",
        keys: &[ONCE, "stream-json", "pause_timeout: 1s"],
        given: &[],
        flips: &[("executor.stagnation.on_pause", "alert", Goes(STAGNATED))],
    },
    Scene {
        script: "commit a; N=6; . @/same",
        keys: &[ONCE, "stream-json", "stagnation: {on_pause: [alert]}"],
        given: &[],
        flips: &[("executor.stagnation.abort_after_identical", "6", Comes(STAGNATED))],
    },
    Scene {
        script: "commit a; N=7; . @/same",
        keys: &[ONCE, "stream-json", "stagnation: {on_pause: [alert]}"],
        given: &[],
        flips: &[("executor.stagnation.on_abort", "alert", Goes(STAGNATED))],
    },
    // Its own count of rounds.
    Scene {
        script: "commit a; N=1; ROUND='\\\"iteration\\\":5,\\\"max_iterations\\\":3,'; . @/same",
        keys: &[ONCE, "stream-json", "pause_timeout: 1s"],
        given: &[],
        flips: &[
            ("executor.stagnation.warn_over_planned_iterations", "false", Goes("stagna")),
            ("executor.stagnation.pause_at_iteration", "4", Comes(STAGNATED)),
            ("executor.stagnation.abort_at_iteration", "4", Comes(STAGNATED)),
        ],
    },
    Scene {
        script: "commit a; N=1; ROUND='\\\"iteration\\\":5,'; . @/same",
        keys: &[ONCE, "stream-json"],
        given: &[],
        flips: &[("executor.stagnation.warn_at_iteration", "4", Comes("stagna"))],
    },
];

/// Keys, or sections of keys (`a.b.*`), that another test flips: its file and its name.
const ELSEWHERE: &[(&str, &str, &str)] = &[
    // The adapter that only tests have may be built in.
    (
        "adapters.toy.*",
        "crates/pilot/tests/it/daemon/toy.rs",
        "a_ticket_of_another_service_becomes_a_merged_pull_request",
    ),
    (
        "pipeline.update_roots",
        "crates/pilot/tests/it/pipeline/updates.rs",
        "more_roots_are_the_users_to_give",
    ),
    ("executor.limits.processes", "crates/pilot/tests/it/flips.rs", "processes_are_limited_as_configured"),
    (
        "executor.finalise_timeout",
        "crates/pilot/tests/it/hostile.rs",
        "a_tree_that_git_cannot_take_in_time_is_kept_beside_the_result",
    ),
    // A second there, an hour in the tests of orders, which would otherwise not have the time to give one.
    (
        "executor.pause_timeout",
        "crates/pilot/tests/it/hostile.rs",
        "agents_that_get_nowhere_are_stopped_with_their_work",
    ),
    (
        "executor.retry.oom_killed.*",
        "crates/pilot/tests/it/flips/memory.rs",
        "want_of_memory_is_tried_again_as_configured",
    ),
    (
        "executor.model_routing.*",
        "crates/pilot/tests/it/worth.rs",
        "the_route_follows_the_task_and_every_cell_can_be_set",
    ),
    (
        "executor.effort_routing.*",
        "crates/pilot/tests/it/worth.rs",
        "the_route_follows_the_task_and_every_cell_can_be_set",
    ),
    (
        "executor.timeout_routing.*",
        "crates/pilot/tests/it/worth.rs",
        "the_route_follows_the_task_and_every_cell_can_be_set",
    ),
    (
        "executor.classifier.*",
        "crates/pilot/tests/it/worth.rs",
        "a_small_model_is_asked_once_and_can_only_raise",
    ),
    (
        "executor.co_author",
        "crates/pilot/tests/it/daemon/evidence.rs",
        "leftovers_are_committed_with_the_title_and_the_requester",
    ),
    (
        "executor.review.blocking",
        "crates/pilot/tests/it/worth.rs",
        "what_the_review_finds_and_does_not_fix_holds_as_configured",
    ),
    (
        "executor.review.*",
        "crates/pilot/tests/it/worth.rs",
        "whether_and_how_it_is_looked_over_is_configured",
    ),
    ("quality.enabled", "crates/pilot/tests/it/worth.rs", "what_follows_from_a_gate_is_configured"),
    (
        "quality.gates",
        "crates/pilot/tests/it/worth.rs",
        "a_gate_that_fails_goes_back_to_the_agent_and_its_mending_is_judged_again",
    ),
    ("quality.parallel", "crates/pilot/tests/it/worth.rs", "gates_side_by_side_can_wait_for_one_another"),
    ("quality.on_failure.*", "crates/pilot/tests/it/worth.rs", "what_follows_from_a_gate_is_configured"),
    (
        "quality.stop_hook",
        "crates/pilot/tests/it/worth.rs",
        "another_agent_looks_it_over_and_claude_asks_before_it_stops",
    ),
    ("adapters.github.polling.interval", POLICY, "every_key_of_the_policy_is_flipped"),
    ("adapters.github.allowed_users", POLICY, "every_key_of_the_policy_is_flipped"),
    ("orchestrator.execution_mode", POLICY, "every_key_of_the_policy_is_flipped"),
    ("orchestrator.execution.*", POLICY, "every_key_of_the_policy_is_flipped"),
    ("orchestrator.autopilot.*", POLICY, "every_key_of_the_policy_is_flipped"),
    ("adapters.github.enabled", DAEMON, "every_key_of_the_daemon_is_flipped"),
    ("adapters.github.token", DAEMON, "every_key_of_the_daemon_is_flipped"),
    ("adapters.github.api_url", DAEMON, "every_key_of_the_daemon_is_flipped"),
    ("adapters.github.repo", DAEMON, "every_key_of_the_daemon_is_flipped"),
    ("adapters.github.app.*", DAEMON, "every_key_of_the_daemon_is_flipped"),
    ("adapters.github.polling.label", DAEMON, "every_key_of_the_daemon_is_flipped"),
    ("orchestrator.max_concurrent", DAEMON, "every_key_of_the_daemon_is_flipped"),
    ("projects", DAEMON, "every_key_of_the_daemon_is_flipped"),
    ("logging.*", DAEMON, "every_key_of_the_daemon_is_flipped"),
];

const POLICY: &str = "crates/core/src/policy.rs";
const DAEMON: &str = "crates/pilot/tests/it/daemon/flips.rs";

/// Says a status `$N` times, with `$ROUND` in it, waits a moment so that it can be stopped, and says that all is well.
const SAME: &str = r#"printf '%s\n' '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
while [ $N -gt 0 ]; do
  printf '%s\n' '{"type":"assistant","message":{"id":"m'$N'","content":[{"type":"text","text":"```pilot-signal\n{\"type\":\"status\",'$ROUND'\"phase\":\"IMPL\",\"progress\":40}\n```\n"}]},"session_id":"s"}'
  N=$((N - 1))
done
sleep 1.5
printf '%s\n' '{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s"}'
"#;

/// An agent that writes down how it was called.
const CALLED: &str = r#"#!/bin/sh
echo "$(basename "$0") $*" >@/args
cat >/dev/null
echo a >a && git add -A && git commit -q -m a
printf '%s\n' '{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s"}'
"#;

/// Shell for the scripts: `. @/count` sets `$CALL`, the number of this session; `. @/fails` ends as the API's `$STATUS` does.
const COUNT: &str = "CALL=$(($(cat @/calls 2>/dev/null || echo 0) + 1)); echo $CALL >@/calls\n";
const FAILS: &str = r#"printf '%s\n' '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
printf '%s\n' '{"type":"result","subtype":"success","is_error":true,"api_error_status":'$STATUS',"result":"no answer","session_id":"s"}'
exit 1
"#;

fn scenes() -> impl Iterator<Item = &'static Scene> {
    RUNS.iter().chain(again::SCENES).chain(money::SCENES)
}

#[test]
fn every_key_is_flipped_somewhere() {
    let schema = run(pilot(&["config", "schema"])).stdout;
    let schema: Value = serde_json::from_str(&schema).expect("a schema");
    let mut keys = BTreeSet::new();
    collect(&schema, "", &mut keys);
    let mut complaints = Vec::new();
    let mut flipped: BTreeSet<String> = BTreeSet::new();
    for (key, _, _) in scenes().flat_map(|scene| scene.flips) {
        if !flipped.insert((*key).to_owned()) {
            complaints.push(format!("{key} is flipped twice"));
        }
    }
    for (key, file, test) in ELSEWHERE {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
        let source = fs::read_to_string(path).unwrap_or_default();
        if !source.contains(&format!("fn {test}(")) {
            complaints.push(format!("{key}: there is no test {test} in {file}"));
        }
        match key.strip_suffix('*') {
            Some(section) => {
                flipped.extend(keys.iter().filter(|key| key.starts_with(section)).cloned());
            }
            None => drop(flipped.insert((*key).to_owned())),
        }
    }
    complaints.extend(keys.difference(&flipped).map(|key| format!("{key} has no row in this file")));
    complaints.extend(flipped.difference(&keys).map(|key| format!("{key} is no key any more")));
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// The keys of a schema.
fn collect(section: &Value, path: &str, into: &mut BTreeSet<String>) {
    for (name, property) in section["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        if property.get("x-kind").is_some() {
            into.insert(path.clone());
        }
        collect(property, &path, into);
    }
}

#[test]
fn every_flip_is_seen() {
    let next = Mutex::new(scenes());
    let wrong = Mutex::new(Vec::new());
    let work = || {
        loop {
            let scene = next.lock().expect("no thread panics with the lock").next();
            let Some(scene) = scene else { return };
            let complaints = check(scene);
            wrong.lock().expect("no thread panics with the lock").extend(complaints);
        }
    };
    // Most of the time is the agents' waiting.
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(work);
        }
    });
    let wrong = wrong.into_inner().expect("no thread panics with the lock");
    assert!(wrong.is_empty(), "{} flips:\n\n{}", wrong.len(), wrong.join("\n\n"));
}

#[test]
fn processes_are_limited_as_configured() {
    let scene = Scene { script: "commit a; $AGENT forks=200", keys: &[ONCE], given: &[], flips: &[] };
    let before = seen(&scene, None);
    assert!(before.contains("message: forked 200"), "{before}");
    let after = seen(&scene, Some(("executor.limits.processes", "120")));
    if after.contains("message: forked 200") {
        println!("skipped: this kernel bounds no processes here");
    } else {
        assert!(after.contains("message: forked 1"), "{after}");
    }
}

/// Runs a scene as it is and with each of its keys flipped; says what did not come or go.
fn check(scene: &Scene) -> Vec<String> {
    let before = seen(scene, None);
    let mut complaints = Vec::new();
    for (key, value, mark) in scene.flips {
        let after = seen(scene, Some((key, value)));
        let (words, there, gone) = match mark {
            Comes(words) => (words, &after, &before),
            Goes(words) => (words, &before, &after),
        };
        if !there.contains(words) || gone.contains(words) {
            complaints.push(format!("{key}: {words:?}\n--- before\n{before}\n--- with {value:?}\n{after}"));
        }
    }
    complaints
}

/// Everything a user sees of one run of a scene, with or without a key flipped.
fn seen(scene: &Scene, flip: Option<(&str, &str)>) -> String {
    let yard = Yard::new();
    let place = format!("{}/", yard.file("").display());
    for (name, script) in [("same", SAME), ("count", COUNT), ("fails", FAILS)] {
        fs::write(yard.file(name), script.replace("@/", &place)).expect("a file");
    }
    yard.agent(scene.script, scene.keys);
    let mut task = yard.pilot(&["task", "--json", "--no-gates", "--no-review", "Do it"]);
    task.env("MY_TOOL", "hammer").env("LANG", "C.UTF-8").env("PATH", programs(&yard));
    if scene.script.is_empty() {
        task.env("PILOT_EXECUTOR_BACKEND", "claude-code");
    }
    let variable = |key: &str| format!("PILOT_{}", key.replace('.', "_").to_uppercase());
    task.envs(scene.given.iter().map(|(key, value)| (variable(key), value)));
    let variable = flip.map(|(key, _)| variable(key));
    if let (Some(variable), Some((_, value))) = (&variable, flip) {
        task.env(variable, value);
    }
    let finished = yard.finished(&run(task));
    let look = |args: &[&str]| {
        let mut looking = yard.pilot(args);
        // The store may be elsewhere.
        if let (Some(variable), Some(("memory.path", value))) = (&variable, flip) {
            looking.env(variable, value);
        }
        // The same line again and again is seen once.
        let text = run(looking).stdout;
        let mut lines: Vec<&str> = text.lines().collect();
        lines.dedup();
        lines.join("\n")
    };
    let key = finished.text("task");
    let (status, class) = (finished.text("status"), finished.text("class"));
    let stores: Vec<String> = yard.home_state().into_keys().filter(|file| file.ends_with(".db")).collect();
    format!(
        "verdict: {status} {class}\ncode: {}\nreason: {}\ncost: {}\nmessage: {}\nargs: {}\nlate: {}\nstores: {}\nsaid:\n{}\nlog:\n{}\nreplay:\n{}",
        finished.code.unwrap_or(-1),
        finished.text("reason"),
        finished.result["usage"]["cost_usd"],
        finished.text("final_message"),
        fs::read_to_string(yard.file("args")).unwrap_or_default(),
        if yard.file("late").exists() { "yes" } else { "no" },
        stores.join(" "),
        finished.stderr,
        look(&["logs", key]),
        look(&["replay", "--speed", "0", key]),
    )
}

/// A `PATH` with agents that write down how they were called.
fn programs(yard: &Yard) -> String {
    let bin = yard.file("bin");
    fs::create_dir(&bin).expect("a folder");
    let called = CALLED.replace("@/", &format!("{}/", yard.file("").display()));
    for name in ["claude", "gemini"] {
        pilot_testkit::program::write(&bin.join(name), &called);
    }
    format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display())
}
