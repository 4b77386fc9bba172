//! The hook that an agent asks before it stops.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use pilot_core::gate::{Gate, GateKind, GatePolicy};
use pilot_exec::gate::{StopGate, StopGateError, answer_stop};
use serde_json::Value;

use crate::process::rig::{Rig, block_on};
use crate::user_repo::{UserRepo, write};

const ASKS: &[u8] = br#"{"session_id":"s","hook_event_name":"Stop","stop_hook_active":false,"more":[1]}"#;
const ASKS_AGAIN: &[u8] = br#"{"hook_event_name":"Stop","stop_hook_active":true}"#;

struct Hook {
    user_repo: UserRepo,
    rig: Rig,
}

impl Hook {
    fn new() -> Hook {
        Hook { user_repo: UserRepo::new(), rig: Rig::here() }
    }

    fn file(&self) -> PathBuf {
        self.user_repo.root().join("stop-gate.json")
    }

    fn saves(&self, commands: &[&str]) -> StopGate {
        let gate = |(number, command): (usize, &&str)| Gate {
            retry_delay: Duration::ZERO,
            ..Gate::new(format!("g{number}"), GateKind::Custom, *command)
        };
        let saved = StopGate {
            gates: commands.iter().enumerate().map(gate).collect(),
            parallel: false,
            policy: GatePolicy::default(),
            tree: self.user_repo.repo(),
            tmp: self.rig.folder().to_owned(),
            pass: vec!["PILOT_TEST_MARK".to_owned()],
            deny: Vec::new(),
            limit: Duration::from_secs(60),
            grace: Duration::from_millis(200),
            cap: 2,
            held: 0,
        };
        saved.save(&self.file()).expect("the file is written");
        saved
    }

    async fn asks(&self, input: &[u8]) -> Result<Option<String>, StopGateError> {
        let mut ours: BTreeMap<OsString, OsString> = self.rig.launch("").env.into_iter().collect();
        ours.insert("ANTHROPIC_API_KEY".into(), "s3cret".into());
        let answer = answer_stop(&self.file(), input, &ours, &self.rig.containment).await;
        assert_eq!(self.rig.alive(), Vec::<String>::new());
        answer
    }

    /// Why it is held; none when it may stop.
    async fn held(&self, input: &[u8]) -> Option<String> {
        let answer: Value = serde_json::from_str(&self.asks(input).await.expect("an answer")?).expect("JSON");
        assert_eq!(answer["decision"], "block");
        Some(answer["reason"].as_str().expect("a reason").to_owned())
    }
}

#[test]
fn an_agent_is_held_twice_and_no_more() {
    block_on(async {
        let hook = Hook::new();
        let saved = hook.saves(&["true", "echo 'error: it is broken'; exit 3"]);
        let reason = hook.held(ASKS).await.expect("it is held");
        assert!(
            reason.contains("g1: failed, exit code 3") && reason.contains("error: it is broken"),
            "{reason}"
        );
        assert!(!reason.contains("g0"), "{reason}");
        assert!(hook.held(ASKS_AGAIN).await.is_some());
        assert_eq!(hook.held(ASKS_AGAIN).await, None);
        assert_eq!(hook.held(ASKS).await, None, "not in another turn either");
        assert_eq!(StopGate::load(&hook.file()).unwrap(), StopGate { held: 2, ..saved });
    });
}

#[test]
fn an_agent_whose_work_passes_may_stop() {
    block_on(async {
        let hook = Hook::new();
        hook.saves(&["test -f fixed"]);
        assert!(hook.held(ASKS).await.is_some());
        hook.user_repo.write("fixed", "");
        assert_eq!(hook.held(ASKS_AGAIN).await, None);
        assert_eq!(StopGate::load(&hook.file()).unwrap().held, 1);
    });
}

#[test]
fn an_agent_held_by_another_hook_is_held_once_less() {
    block_on(async {
        let hook = Hook::new();
        let saved = hook.saves(&["false"]);
        StopGate { cap: 1, ..saved }.save(&hook.file()).unwrap();
        assert_eq!(hook.held(ASKS_AGAIN).await, None);
        assert!(hook.held(ASKS).await.is_some());
    });
}

#[test]
fn gates_that_only_warn_do_not_hold_the_agent() {
    block_on(async {
        let hook = Hook::new();
        let mut saved = hook.saves(&["touch ran; exit 1"]);
        saved.gates[0].required = false;
        saved.save(&hook.file()).unwrap();
        assert_eq!(hook.held(ASKS).await, None);
        assert!(!hook.user_repo.repo().join("ran").exists());
    });
}

#[test]
fn a_late_or_broken_hook_does_not_hold_the_agent() {
    block_on(async {
        let hook = Hook::new();
        let saved = hook.saves(&["exec sleep 100"]);
        StopGate { limit: Duration::from_millis(300), ..saved.clone() }.save(&hook.file()).unwrap();
        assert_eq!(hook.held(ASKS).await, None, "late");
        hook.saves(&["false"]);
        for input in [&b""[..], b"nonsense", b"[1]", br#"{"stop_hook_active":"#] {
            let error = hook.asks(input).await.expect_err("no answer").to_string();
            assert!(error.starts_with("parse the hook input from the agent"), "{error}");
        }
        StopGate { tree: hook.user_repo.root().join("nowhere"), ..saved }.save(&hook.file()).unwrap();
        // The gate could not start, so it did not pass; the agent hears it twice at most.
        assert!(hook.held(ASKS).await.is_some());
        fs::write(hook.file(), "{").unwrap();
        assert!(matches!(hook.asks(ASKS).await, Err(StopGateError::File { .. })));
        fs::remove_file(hook.file()).unwrap();
        assert!(matches!(hook.asks(ASKS).await, Err(StopGateError::Io { .. })));
    });
}

#[test]
fn the_agents_work_is_left_as_it_was() {
    block_on(async {
        let hook = Hook::new();
        let (tree, user_repo) = (hook.user_repo.repo(), &hook.user_repo);
        user_repo.write(".gitignore", "*.log\n");
        user_repo.git(&["add", ".gitignore"]);
        write(&tree, "README.md", "the agent's\n");
        write(&tree, "new.txt", "the agent's\n");
        write(&tree, "staged.txt", "the agent's\n");
        user_repo.git(&["add", "staged.txt"]);
        let before = user_repo.git(&["status", "--porcelain"]);
        hook.saves(&[
            "echo x >> README.md; echo x >> new.txt; echo x >> src/lib.rs; mkdir -p out/deep; echo x > out/deep/a.xml; \
             echo x > build.log; rm -f staged.txt; env",
            "env; exit 1",
        ]);
        let reason = hook.held(ASKS).await.expect("it is held");
        assert!(!reason.contains("s3cret") && reason.contains("CI=1"), "{reason}");
        assert_eq!(fs::read_to_string(tree.join("src/lib.rs")).unwrap(), "fn one() {}\n", "was clean before");
        assert!(!tree.join("out").exists() && tree.join("build.log").exists());
        assert_eq!(
            fs::read_to_string(tree.join("new.txt")).unwrap(),
            "the agent's\nx\n",
            "the agent's to fix"
        );
        // What was the agent's and is changed further is left to it.
        let after = user_repo.git(&["status", "--porcelain"]);
        assert_eq!(after.replace("AD staged.txt", "A  staged.txt"), before);
    });
}
