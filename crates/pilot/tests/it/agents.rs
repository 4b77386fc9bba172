//! `pilot task` with real agents on a scripted model: whatever the model does, the verdict is true and nothing is left.

use serde_json::{Value, json};

use crate::program::{command, run};
use crate::rig::{Cli, Played, Scene, Stage, play_all};

const STAYS: Scene = Scene {
    scenario: "http_forever",
    set: &[],
    env: &[],
    executor: "grace: 2s",
    says: ("failed", "api_error"),
    code: 1,
    commits: 0,
    reason: "",
};

const WORKS: Scene = Scene { says: ("completed", ""), code: 0, commits: 1, ..STAYS };

const NOTHING: Scene = Scene { says: ("no_changes", "no_changes"), ..STAYS };

/// An error of the API that does not go away.
const fn fails(set: &'static [(&'static str, &'static str)], class: &'static str) -> Scene {
    Scene { set, says: ("failed", class), ..STAYS }
}

/// An error of the API that two attempts see and the third does not.
const fn recovers(set: &'static [(&'static str, &'static str)]) -> Scene {
    Scene { scenario: "http_twice", set, ..WORKS }
}

const SAYS_FAILURE: Scene = Scene {
    scenario: "says_failure",
    says: ("blocked", "blocked"),
    code: 3,
    commits: 1,
    reason: "the tests need a database",
    ..STAYS
};

const DECLINED: Scene = Scene {
    scenario: "declined",
    says: ("declined", "declined"),
    reason: "the bug is in another repository",
    ..STAYS
};

/// A tool that takes longer than the agent may be silent.
const QUIET_TOOL: Scene = Scene { scenario: "quiet_tool", executor: "silence_timeout: 8s", ..WORKS };

const TIMEOUT: Scene =
    Scene { scenario: "sleeps", executor: "timeout: 8s", says: ("failed", "timeout"), commits: 1, ..STAYS };

/// The work is done, and then the API fails for good.
const COMMIT_THEN_FAIL: Scene =
    Scene { scenario: "commit_then_fail", commits: 1, reason: "bad thing (1 commit is kept)", ..STAYS };

/// The first line of the prompt and the variables are as they must be; else the scene makes no commit.
const EXECUTOR_MODE: Scene = Scene { scenario: "executor_mode", env: &[("GITHUB_TOKEN", "dummy")], ..WORKS };

const CLAUDE: &[Scene] = &[
    // The longest first, so that none is waited for alone at the end.
    Scene {
        scenario: "stall_forever",
        executor: "silence_timeout: 3s",
        says: ("failed", "stalled"),
        ..STAYS
    },
    Scene { scenario: "drop_forever", ..STAYS },
    QUIET_TOOL,
    TIMEOUT,
    Scene {
        scenario: "stagnates",
        executor: "pause_timeout: 1s",
        says: ("failed", "stagnated"),
        commits: 1,
        ..STAYS
    },
    Scene { scenario: "edit_commit", ..WORKS },
    EXECUTOR_MODE,
    COMMIT_THEN_FAIL,
    Scene { scenario: "plain", env: &[("ANTHROPIC_API_KEY", "")], says: ("failed", "auth"), ..STAYS },
    Scene {
        scenario: "plain",
        env: &[("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")],
        reason: "ECONNREFUSED",
        ..STAYS
    },
    Scene {
        scenario: "plain",
        executor: "extra_args: [--no-such-flag]",
        says: ("failed", "invalid_config"),
        reason: "unknown option '--no-such-flag'",
        ..STAYS
    },
    Scene { scenario: "write_only", ..WORKS },
    Scene { scenario: "plain", reason: "Nothing to do", ..NOTHING },
    Scene { scenario: "empty_text", ..NOTHING },
    Scene { scenario: "polite_refusal", ..NOTHING },
    Scene { scenario: "refusal", says: ("failed", "refused"), ..STAYS },
    Scene { scenario: "write_only", executor: "allowed_tools: [Read]", reason: "not allowed", ..NOTHING },
    fails(
        &[("STATUS", "400"), ("MESSAGE", "messages.1: something is malformed"), ("AFTER", "0")],
        "api_error",
    ),
    fails(&[("STATUS", "401"), ("MESSAGE", "invalid x-api-key"), ("AFTER", "0")], "auth"),
    fails(&[("STATUS", "403"), ("MESSAGE", "Request not allowed"), ("AFTER", "0")], "auth"),
    fails(&[("STATUS", "404"), ("MESSAGE", "model: nope"), ("AFTER", "0")], "model_not_found"),
    fails(
        &[("STATUS", "413"), ("MESSAGE", "Request exceeds the maximum size"), ("AFTER", "0")],
        "prompt_too_long",
    ),
    fails(&[("STATUS", "429"), ("MESSAGE", "slow down"), ("AFTER", "0")], "rate_limit"),
    fails(&[("STATUS", "429"), ("MESSAGE", "slow down"), ("AFTER", "3600")], "rate_limit"),
    // An account that pays by the month is told when its limit resets.
    Scene {
        scenario: "limit_reached",
        env: &[("ANTHROPIC_API_KEY", ""), ("CLAUDE_CODE_OAUTH_TOKEN", "dummy")],
        says: ("failed", "rate_limit"),
        reason: "resets Jan 1, 2100",
        ..STAYS
    },
    fails(&[("STATUS", "500"), ("MESSAGE", "Internal server error"), ("AFTER", "0")], "api_error"),
    fails(&[("STATUS", "529"), ("MESSAGE", "Overloaded"), ("AFTER", "0")], "api_error"),
    fails(
        &[
            ("STATUS", "400"),
            ("MESSAGE", "Your credit balance is too low to access the Anthropic API."),
            ("AFTER", "0"),
        ],
        "billing",
    ),
    fails(
        &[
            ("STATUS", "400"),
            ("MESSAGE", "prompt is too long: 1000123 tokens > 1000000 maximum"),
            ("AFTER", "0"),
        ],
        "prompt_too_long",
    ),
    recovers(&[("STATUS", "401"), ("MESSAGE", "invalid x-api-key"), ("AFTER", "0")]),
    recovers(&[("STATUS", "429"), ("MESSAGE", "slow down"), ("AFTER", "0")]),
    recovers(&[("STATUS", "500"), ("MESSAGE", "Internal server error"), ("AFTER", "0")]),
    recovers(&[("STATUS", "529"), ("MESSAGE", "Overloaded"), ("AFTER", "0")]),
    Scene { scenario: "drop_once", ..WORKS },
    Scene { scenario: "reset_once", ..WORKS },
    Scene { scenario: "loop_tools", executor: "max_turns: 3", says: ("failed", "budget_exceeded"), ..STAYS },
    Scene { scenario: "max_tokens", reason: "output token maximum", ..STAYS },
    Scene { scenario: "background", ..WORKS },
    Scene { scenario: "subagent", ..NOTHING },
    Scene { scenario: "compact", reason: "finished after compaction", ..NOTHING },
    Scene { scenario: "big_tool_output", reason: "seen", ..NOTHING },
    Scene { scenario: "long_text", ..NOTHING },
    Scene { scenario: "signal_fence", ..NOTHING },
    Scene { scenario: "signal_xml", ..NOTHING },
    SAYS_FAILURE,
    DECLINED,
    Scene { scenario: "killed", says: ("failed", "unknown"), reason: "signal 9", ..STAYS },
    Scene { scenario: "terminated", says: ("failed", "unknown"), commits: 1, reason: "signal 15", ..STAYS },
];

#[test]
fn claude() {
    play_all(Cli::Claude, CLAUDE, claude_in_detail);
}

/// What only some scenes show.
fn claude_in_detail(scene: &Scene, played: &Played, wrong: &mut Vec<String>) {
    let (result, usage) = (&played.result, &played.result["usage"]);
    let fine = match scene.scenario {
        // Two results of one session, and those of a sub-agent: nothing is counted twice, nothing is forgotten.
        "background" => usage["input_tokens"] == 4 * 1000 && usage["output_tokens"] == 4 * 10,
        "subagent" => usage["input_tokens"] == 2 * 7000 + 3 * 1000 && usage["output_tokens"] == 5 * 10,
        "signal_fence" => result["progress"] == 100 && result["phase"] == "finishing",
        "signal_xml" => result["progress"] == 95 && result["phase"] == "finishing",
        "says_failure" => result["phase"] == "blocked",
        "plain" if result["class"] == "no_changes" => {
            usage["cache_read_tokens"] == 300 && usage["cache_write_tokens"] == 100
        }
        _ => true,
    };
    if !fine {
        wrong.push(format!("not as the scene is: {result}"));
    }
}

/// Pilot itself is ended while claude works.
/// Passes when there is a file `good`.
const GATED: &str = "grace: 2s\nquality:\n  gates:\n    - {name: test, command: \"test -e good || { echo FAIL: $((3 + 4)) problems; exit 1; }\"}";

const REVIEWED: &str =
    "review: {enabled: true}\nquality:\n  gates:\n    - {name: test, command: \"test -e bad\"}";

#[test]
fn claude_makes_a_run_worth_merging() {
    let mut soon = command("date");
    soon.args(["-d", "20 seconds", "+%s"]);
    let soon: &str = run(soon).stdout.trim().to_owned().leak();
    let reset: &'static [(&str, &str)] = Box::leak(Box::new([("RESET", soon)]));
    let capped = "max_turns: 30\nbudget:\n  per_task: {max_tokens: 100000}";
    let scenes = [
        // The feedback is in the second request, else the model has no answer to it.
        Scene { scenario: "gate_feedback", executor: GATED, commits: 2, ..WORKS },
        Scene { scenario: "review_mends", executor: REVIEWED, commits: 2, ..WORKS },
        Scene {
            scenario: "limit_once",
            set: reset,
            env: &[("ANTHROPIC_API_KEY", ""), ("CLAUDE_CODE_OAUTH_TOKEN", "dummy")],
            executor: "retry: {enabled: true}",
            ..WORKS
        },
        Scene { scenario: "loop_tools", executor: capped, says: ("failed", "budget_exceeded"), ..STAYS },
    ];
    play_all(Cli::Claude, &scenes, |scene, played, wrong| {
        let result = &played.result;
        let fine = match scene.scenario {
            "gate_feedback" => result["attempts"] == 2 && result["gates"][0]["status"] == "passed",
            "review_mends" => {
                result["review"] == "review: 1 finding, 1 fixed"
                    && played.logs.matches("Gate test passed").count() == 2
            }
            "limit_once" => result["attempts"] == 2,
            // Each message uses 50,000: the second is beyond, and there is no third.
            _ => result["usage"]["input_tokens"] == 2 * 50_000,
        };
        if !fine {
            wrong.push(format!("{result}\n{}", played.logs));
        }
    });
}

#[test]
fn claude_is_stopped_and_its_work_is_kept() {
    let scene = Scene { scenario: "sleeps", ..STAYS };
    for signal in ["-INT", "-TERM"] {
        let Some(stage) = Stage::set(Cli::Claude, &scene) else { return };
        let mut pilot = stage.start_until("time.sleep");
        send(signal, pilot.id());
        let code = pilot.wait().expect("wait").code();
        was_cancelled(&stage, code);
    }
    let Some(stage) = Stage::set(Cli::Claude, &scene) else { return };
    let mut pilot = stage.start_until("time.sleep");
    let key = stage.row()["task"].as_str().expect("a key").to_owned();
    assert_eq!(run(stage.pilot(&["cancel", &key])).code, Some(0));
    let code = pilot.wait().expect("wait").code();
    was_cancelled(&stage, code);
}

fn was_cancelled(stage: &Stage, code: Option<i32>) {
    let row = stage.row();
    assert_eq!((code, &row["status"], &row["class"]), (Some(130), &json!("cancelled"), &json!("cancelled")));
    assert_eq!(stage.leftovers(), [""; 0]);
    let range = format!("main..{}", row["branch"].as_str().expect("a branch"));
    assert_eq!(stage.git(&["diff", "--name-only", &range]), "half.txt\n");
}

/// Pilot is killed without a warning. The agent dies with it, and the next start says what became of the work.
#[test]
fn claude_dies_with_pilot_and_its_work_is_kept() {
    let Some(stage) = Stage::set(Cli::Claude, &Scene { scenario: "sleeps", ..STAYS }) else { return };
    let mut pilot = stage.start_until("time.sleep");
    let agents: Vec<String> =
        stage.processes().into_iter().filter(|process| *process != pilot.id().to_string()).collect();
    assert!(!agents.is_empty(), "claude runs");
    pilot.kill().expect("kill");
    pilot.wait().expect("wait");
    for agent in agents {
        let mut end = command("timeout");
        end.args(["1", "tail", "-s", "0.01", "--pid", &agent, "-f", "/dev/null"]);
        assert_eq!(run(end).code, Some(0), "process {agent} lives a second longer than Pilot");
    }
    let row = stage.row();
    let range = format!("main..{}", row["branch"].as_str().expect("a branch"));
    let next = run(stage.pilot(&["task", "--json", "Another one"]));
    for words in ["was cut off when Pilot died; its work is on pilot/", "was abandoned"] {
        assert!(next.stderr.contains(words), "{}", next.stderr);
    }
    assert_eq!(stage.git(&["diff", "--name-only", &range]), "half.txt\n");
    assert_eq!(stage.leftovers(), [""; 0]);
}

/// Claude gets nowhere, a person says to go on, and the same session ends well.
#[test]
fn claude_goes_on_after_a_pause() {
    let Some(stage) = Stage::set(Cli::Claude, &Scene { scenario: "pauses", ..STAYS }) else { return };
    let mut pilot = stage.start_until("the run is paused");
    let key = stage.row()["task"].as_str().expect("a key").to_owned();
    assert_eq!(run(stage.pilot(&["resume", &key])).code, Some(0));
    let code = pilot.wait().expect("wait").code();
    let row = stage.row();
    assert_eq!((code, &row["status"], &row["class"]), (Some(0), &json!("completed"), &Value::Null), "{row}");
    let range = format!("main..{}", row["branch"].as_str().expect("a branch"));
    assert_eq!(stage.git(&["diff", "--name-only", &range]), "fixed.txt\n");
    assert_eq!(stage.leftovers(), [""; 0]);
}

/// A question about an image is answered, and nothing is made for it.
#[test]
fn claude_looks_at_an_image() {
    let Some(stage) = Stage::set(Cli::Claude, &Scene { scenario: "plain", ..STAYS }) else { return };
    // The beginning of every PNG is enough for Pilot, and the scripted model looks at none.
    stage.write("image.png", b"\x89PNG\r\n\x1a\n");
    let ended = run(stage.pilot(&["task", "--json", "--image", "image.png", "What is this?"]));
    let result: Value = serde_json::from_str(&ended.stdout).expect("a result object");
    assert_eq!(
        (ended.code, &result["status"], &result["class"]),
        (Some(0), &json!("completed"), &Value::Null)
    );
    assert_eq!((&result["branch"], &result["commits"]), (&Value::Null, &json!(0)));
    assert_eq!(result["final_message"], "Hello from the scripted model. Nothing to do.");
    assert_eq!(stage.git(&["branch", "--list", "pilot/*"]), "");
    assert_eq!(stage.leftovers(), [""; 0]);
}

fn send(signal: &str, process: u32) {
    let mut kill = command("kill");
    kill.args([signal, &process.to_string()]);
    assert_eq!(run(kill).code, Some(0));
}

const CODEX: &[Scene] = &[
    Scene { scenario: "drop_forever", ..STAYS },
    QUIET_TOOL,
    TIMEOUT,
    Scene { scenario: "cx_edit", ..WORKS },
    EXECUTOR_MODE,
    COMMIT_THEN_FAIL,
    Scene {
        scenario: "plain",
        executor: "extra_args: [--no-such-flag]",
        says: ("failed", "invalid_config"),
        reason: "--no-such-flag",
        ..STAYS
    },
    Scene { scenario: "plain", reason: "Nothing to do", ..NOTHING },
    fails(&[("STATUS", "400"), ("MESSAGE", "something is malformed"), ("AFTER", "0")], "api_error"),
    fails(&[("STATUS", "401"), ("MESSAGE", "invalid key"), ("AFTER", "0")], "auth"),
    fails(&[("STATUS", "429"), ("MESSAGE", "slow down"), ("AFTER", "0")], "rate_limit"),
    fails(&[("STATUS", "500"), ("MESSAGE", "Internal server error"), ("AFTER", "0")], "api_error"),
    recovers(&[("STATUS", "500"), ("MESSAGE", "Internal server error"), ("AFTER", "0")]),
    Scene { scenario: "drop_once", ..WORKS },
    Scene {
        scenario: "stall_forever",
        executor: "silence_timeout: 3s",
        says: ("failed", "stalled"),
        ..STAYS
    },
    SAYS_FAILURE,
    DECLINED,
    Scene { scenario: "killed", says: ("failed", "unknown"), reason: "signal 9", ..STAYS },
];

#[test]
fn codex() {
    play_all(Cli::Codex, CODEX, |_, _, _| {});
}

const OPENCODE: &[Scene] = &[
    Scene { scenario: "oc_edit", ..WORKS },
    fails(&[("STATUS", "401"), ("MESSAGE", "invalid key"), ("AFTER", "0")], "auth"),
];

#[test]
fn opencode() {
    play_all(Cli::Opencode, OPENCODE, |_, _, _| {});
}

const GEMINI: &[Scene] = &[
    Scene { scenario: "gm_edit", executor: "model: gemini-2.5-flash", ..WORKS },
    Scene {
        executor: "model: gemini-2.5-flash",
        ..fails(&[("STATUS", "401"), ("MESSAGE", "API key not valid"), ("AFTER", "0")], "auth")
    },
];

#[test]
fn gemini() {
    play_all(Cli::Gemini, GEMINI, |_, _, _| {});
}

const QWEN: &[Scene] = &[
    Scene { scenario: "qw_edit", ..WORKS },
    fails(&[("STATUS", "401"), ("MESSAGE", "invalid key"), ("AFTER", "0")], "auth"),
];

#[test]
fn qwen() {
    play_all(Cli::Qwen, QWEN, |_, _, _| {});
}
