//! Gates as real processes: every ending is classified, on exactly the commit, and no process is left.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::future::{Future, pending};
use std::path::Path;
use std::time::Duration;

use pilot_core::gate::{
    Chosen, EXCERPT_LIMIT, Gate, GateKind, GatePolicy, GateResult, GateStatus, OnFailure, Quality, Root,
    choose, verdict,
};
use pilot_exec::environment::{Rules, gate_environment};
use pilot_exec::gate::{GateContext, GateProgress, GateRound, GateTarget, read_root, run_gates};
use pilot_exec::process::{Containment, ProcessLimits};
use pilot_testkit::agent::fake_agent;

use crate::process::rig::{Rig, block_on, each};
use crate::user_repo::{UserRepo, write};

const SOON: Duration = Duration::from_millis(500);

/// A gate that lets the scripted agent play; `@` is the rig's folder.
fn plays(rig: &Rig, name: &str, steps: &str) -> Gate {
    let folder = rig.folder().to_str().expect("a UTF-8 folder");
    let command = format!("{} {}", fake_agent().display(), steps.replace('@', folder));
    Gate { timeout: Duration::from_secs(60), ..Gate::new(name, GateKind::Custom, command) }
}

fn shell(name: &str, command: &str) -> Gate {
    Gate { retry_delay: Duration::ZERO, ..Gate::new(name, GateKind::of_name(name), command) }
}

fn site<'a>(
    target: GateTarget<'a>,
    env: &'a [(OsString, OsString)],
    containment: &'a Containment,
) -> GateContext<'a> {
    GateContext {
        target,
        env,
        limits: ProcessLimits::default(),
        grace: Duration::from_millis(200),
        containment,
    }
}

fn round(gates: &[Gate]) -> GateRound<'_> {
    GateRound { gates, parallel: false, policy: GatePolicy::default() }
}

/// Runs gates in the rig's folder, and checks that no process is left.
async fn run_until(rig: &Rig, gates: &[Gate], cancel: impl Future<Output = ()>) -> Vec<GateResult> {
    let env = rig.launch("").env;
    let site = site(GateTarget::AsIs(rig.folder()), &env, &rig.containment);
    let results = run_gates(&round(gates), &site, cancel, |_| {}).await;
    assert_eq!(rig.alive(), Vec::<String>::new(), "left after {results:?}");
    assert_eq!(results.len(), gates.len());
    results
}

async fn run(rig: &Rig, gates: &[Gate]) -> Vec<GateResult> {
    run_until(rig, gates, pending()).await
}

fn statuses(results: &[GateResult]) -> Vec<GateStatus> {
    results.iter().map(|result| result.status).collect()
}

#[test]
fn every_ending_has_its_name() {
    each(async |rig| {
        for (command, status, reason) in [
            ("true", GateStatus::Passed, ""),
            ("echo broken >&2; exit 3", GateStatus::Failed, "exit code 3"),
            ("no-such-program --x", GateStatus::NotStarted, "a command was not found (exit code 127)"),
            ("/etc/passwd", GateStatus::NotStarted, "a command could not be run (exit code 126)"),
            ("kill -9 $$", GateStatus::Failed, "ended by signal 9"),
        ] {
            let results = run(&rig, &[shell("x", command)]).await;
            let result = &results[0];
            assert_eq!((result.status, result.reason.as_str()), (status, reason), "{command}");
            assert_eq!(result.attempts, 1, "{command}");
        }
        let results = run(&rig, &[shell("x", "echo out; echo err >&2; exit 1")]).await;
        assert!(results[0].output.contains("out\n") && results[0].output.contains("err\n"), "{results:?}");
    });
}

#[test]
fn one_that_cannot_start_has_not_passed() {
    block_on(async {
        let rig = Rig::here();
        let nowhere = rig.file("nowhere");
        let env = rig.launch("").env;
        let site = site(GateTarget::AsIs(&nowhere), &env, &rig.containment);
        let gates = [shell("x", "true")];
        let results = run_gates(&round(&gates), &site, pending(), |_| {}).await;
        assert_eq!(results[0].status, GateStatus::NotStarted);
        assert!(results[0].reason.contains("not a directory"), "{}", results[0].reason);
        let no_keeper = Containment::forced("/nowhere", rig.containment.kind().clone());
        let site = GateContext { target: GateTarget::AsIs(rig.folder()), containment: &no_keeper, ..site };
        let results = run_gates(&round(&gates), &site, pending(), |_| {}).await;
        assert_eq!(results[0].status, GateStatus::NotStarted);
        assert_eq!(verdict("abc", results).as_str(), "failed");
    });
}

#[test]
fn a_timeout_kills_every_process_also_one_that_left_the_session() {
    each(async |rig| {
        let steps = "ignore-term orphan=setsid,ignore-term,beat=@/beat await=@/beat says=up stays";
        let gate = Gate { timeout: SOON, ..plays(&rig, "test", steps) };
        let results = run(&rig, &[gate]).await;
        assert_eq!(statuses(&results), [GateStatus::TimedOut]);
        assert_eq!(results[0].reason, "not done after 500ms");
    });
}

/// A command that ends well while it is told to end has still not ended in time.
#[test]
fn a_good_end_after_the_time_is_no_pass() {
    block_on(async {
        let rig = Rig::here();
        let mut gate = shell("test", "trap 'exit 0' TERM; echo up; while :; do sleep 0.05; done");
        gate.timeout = SOON;
        assert_eq!(statuses(&run(&rig, &[gate]).await), [GateStatus::TimedOut]);
    });
}

#[test]
fn an_output_of_a_hundred_megabytes_is_cut() {
    block_on(async {
        let rig = Rig::here();
        let gate = plays(&rig, "test", "says=error:first lines=100000000 says=FAILED:last exit=1");
        let results = run(&rig, &[gate]).await;
        let output = &results[0].output;
        assert!(output.len() <= EXCERPT_LIMIT, "{}", output.len());
        assert!(output.contains("error:first\n") && output.ends_with("FAILED:last\n"), "{output}");
    });
}

#[test]
fn what_fails_now_and_then_is_tried_again() {
    block_on(async {
        let rig = Rig::here();
        let flaky = "test -f second && exit 0; touch second; exit 1";
        let gate = Gate { max_retries: 3, ..shell("test", flaky) };
        let results = run(&rig, &[gate]).await;
        assert_eq!((results[0].status, results[0].attempts), (GateStatus::Passed, 2));
        let never = Gate { max_retries: 2, ..shell("test", "echo x >> tries; exit 1") };
        let results = run(&rig, &[never]).await;
        assert_eq!((results[0].status, results[0].attempts), (GateStatus::Failed, 3));
        assert_eq!(fs::read_to_string(rig.file("tries")).unwrap(), "x\nx\nx\n");
        let missing = Gate { max_retries: 2, ..shell("test", "no-such-program") };
        assert_eq!(run(&rig, &[missing]).await[0].attempts, 1);
    });
}

#[test]
fn order_skips_and_advice() {
    block_on(async {
        let rig = Rig::here();
        let log = |name: &str, code: u8| shell(name, &format!("echo {name} >> log; exit {code}"));
        let advisory = Gate { required: false, ..log("build", 1) };
        let results = run(&rig, &[log("lint", 1), advisory, log("test", 0)]).await;
        assert_eq!(statuses(&results), [GateStatus::Failed, GateStatus::Failed, GateStatus::Passed]);
        assert_eq!(fs::read_to_string(rig.file("log")).unwrap(), "lint\nbuild\ntest\n");
        assert_eq!(verdict("abc", results[1..].to_vec()).as_str(), "passed", "advice cannot overturn");

        let results = run(&rig, &[log("build", 1), log("test", 0)]).await;
        assert_eq!(statuses(&results), [GateStatus::Failed, GateStatus::Skipped]);
        assert_eq!(results[1].reason, "not tried, since build did not pass");
        let fails = Gate { on_failure: Some(OnFailure::Fail), ..log("lint", 1) };
        let results = run(&rig, &[fails, log("test", 0)]).await;
        assert_eq!(statuses(&results), [GateStatus::Failed, GateStatus::Skipped]);
        assert_eq!(fs::read_to_string(rig.file("log")).unwrap(), "lint\nbuild\ntest\nbuild\nlint\n");
    });
}

/// Each waits for the other, so they run at the same time or not at all.
#[test]
fn a_group_runs_at_the_same_time() {
    each(async |rig| {
        let member = |name: &str, steps: &str| Gate {
            group: Some("g".to_owned()),
            timeout: Duration::from_secs(60),
            ..plays(&rig, name, steps)
        };
        let gates =
            [member("a", "mark=@/a await=@/b"), shell("between", "true"), member("b", "mark=@/b await=@/a")];
        let mut told = Vec::new();
        let env = rig.launch("").env;
        let site = site(GateTarget::AsIs(rig.folder()), &env, &rig.containment);
        let results = run_gates(&round(&gates), &site, pending(), |progress| {
            told.push(match progress {
                GateProgress::Started(gate) => format!("+{}", gate.name),
                GateProgress::Ended(result) => format!("-{}", result.gate.name),
            });
        })
        .await;
        assert_eq!(statuses(&results), [GateStatus::Passed; 3]);
        let names: Vec<&str> = results.iter().map(|result| result.gate.name.as_str()).collect();
        assert_eq!(names, ["a", "between", "b"], "in the order of the gates");
        assert_eq!(told[..2], ["+a", "+b"]);
        assert_eq!(told[4..], ["+between", "-between"]);
    });
}

#[test]
fn everything_at_once_if_it_is_wanted() {
    block_on(async {
        let rig = Rig::here();
        let gates = [plays(&rig, "a", "mark=@/a await=@/b"), plays(&rig, "b", "mark=@/b await=@/a")];
        let env = rig.launch("").env;
        let site = site(GateTarget::AsIs(rig.folder()), &env, &rig.containment);
        let together = GateRound { parallel: true, ..round(&gates) };
        let results = run_gates(&together, &site, pending(), |_| {}).await;
        assert_eq!(statuses(&results), [GateStatus::Passed; 2]);
    });
}

/// Ready when there is such a file.
async fn comes(file: &Path) {
    while !file.exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[test]
fn a_run_that_is_stopped_stops_its_gates() {
    each(async |rig| {
        let mark = rig.file("runs");
        let gates = [plays(&rig, "a", "child=setsid,stays mark=@/runs stays"), shell("b", "touch ran")];
        let results = run_until(&rig, &gates, comes(&mark)).await;
        assert_eq!(statuses(&results), [GateStatus::Cancelled; 2]);
        assert!(!rig.file("ran").exists());
        assert_eq!(verdict("abc", results).as_str(), "unfinished");
    });
}

#[test]
fn a_run_can_be_stopped_during_a_flood_of_output_and_during_a_wait() {
    block_on(async {
        let rig = Rig::here();
        let flood = plays(&rig, "a", "mark=@/floods lines=1000000000000");
        assert_eq!(
            statuses(&run_until(&rig, &[flood], comes(&rig.file("floods"))).await),
            [GateStatus::Cancelled]
        );
        let waits = Gate {
            max_retries: 1,
            retry_delay: Duration::from_secs(3600),
            ..shell("a", "touch waits; exit 1")
        };
        let results = run_until(&rig, &[waits], comes(&rig.file("waits"))).await;
        assert_eq!((results[0].status, results[0].attempts), (GateStatus::Cancelled, 1));
    });
}

#[test]
fn a_gate_sees_no_secret() {
    block_on(async {
        let rig = Rig::here();
        let mut ours: BTreeMap<OsString, OsString> = rig.launch("").env.into_iter().collect();
        for name in
            ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GITHUB_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "PILOT_HOME"]
        {
            ours.insert(name.into(), "s3cret".into());
        }
        let pass = ["PILOT_TEST_MARK".to_owned(), "ANTHROPIC_API_KEY".to_owned()];
        let env = gate_environment(&ours, &Rules { pass: &pass, deny: &[] }, rig.folder());
        let site = site(GateTarget::AsIs(rig.folder()), &env, &rig.containment);
        let gates = [shell("x", "env; exit 1")];
        let results = run_gates(&round(&gates), &site, pending(), |_| {}).await;
        let output = &results[0].output;
        assert!(!output.contains("s3cret"), "{output}");
        assert!(
            output.contains("CI=1\n") && output.contains(&format!("TMPDIR={}\n", rig.folder().display())),
            "{output}"
        );
    });
}

#[test]
fn changes_of_a_gate_are_reverted_before_the_next_one_runs() {
    block_on(async {
        let user_repo = UserRepo::new();
        let rig = Rig::here();
        let mut workspace = user_repo.start();
        write(workspace.path(), "one.txt", "one\n");
        let result = workspace.finalise("chore: leftovers").unwrap();
        workspace.reopen(&result).unwrap();
        let gates = [
            shell(
                "format",
                "echo changed >> README.md; rm one.txt; chmod +x src/lib.rs; echo report > report.xml",
            ),
            shell(
                "look",
                "cat report.xml && test \"$(cat README.md)\" = hello && test -f one.txt && test ! -x src/lib.rs",
            ),
            Gate {
                max_retries: 1,
                ..shell("fixes", "grep -q fixed README.md && exit 0; echo fixed >> README.md; exit 1")
            },
            shell(
                "commits",
                "git commit -q --allow-empty -m sneaky; git clone -q . inner; echo x > left.txt",
            ),
        ];
        let env = vec![
            ("PATH".into(), "/usr/bin:/bin".into()),
            ("HOME".into(), user_repo.root().join("user").into_os_string()),
        ];
        let site = site(GateTarget::Commit(&workspace, &result), &env, &rig.containment);
        let results = run_gates(&round(&gates), &site, pending(), |_| {}).await;
        let names: Vec<Vec<&str>> =
            results.iter().map(|result| result.changed.iter().map(String::as_str).collect()).collect();
        assert_eq!(names, [vec!["README.md", "one.txt", "src/lib.rs"], vec![], vec!["README.md"], vec![]]);
        let expected = [GateStatus::Passed, GateStatus::Passed, GateStatus::Failed, GateStatus::Passed];
        assert_eq!(statuses(&results), expected, "{results:?}");
        let verdict = verdict(result.head.as_str(), results);
        assert!(!verdict.passed_at(result.head.as_str()));

        workspace.reopen(&result).unwrap();
        let tree = workspace.path().to_owned();
        assert!(
            !tree.join("report.xml").exists()
                && !tree.join("left.txt").exists()
                && !tree.join("inner").exists()
        );
        assert_eq!(workspace.seal(&result).unwrap(), []);
        assert_eq!(user_repo.sha("refs/heads/pilot/GH-1"), result.head);
        let again = workspace.finalise("chore: leftovers").unwrap();
        assert_eq!(again.head, result.head, "nothing of a gate is committed");
        workspace.remove(&again).unwrap();
    });
}

#[test]
fn a_root_is_read_without_blocking_on_a_pipe() {
    let rig = Rig::here();
    write(rig.folder(), "Cargo.toml", "[package]\n");
    write(rig.folder(), "Cargo.lock", "never read");
    write(rig.folder(), "requirements.txt", vec![b'x'; 2 << 20]);
    let pipe = rig.file("Makefile");
    let mut mkfifo = crate::user_repo::command("mkfifo");
    assert!(mkfifo.arg(&pipe).status().unwrap().success());
    fs::create_dir(rig.file("package.json")).unwrap();
    let root = read_root(rig.folder());
    assert_eq!(root, Root::new([("Cargo.toml", "[package]\n"), ("Cargo.lock", "")]));
    let Chosen::Gates { gates, .. } = choose(&Quality::default(), &[root]) else { panic!("no gates") };
    assert_eq!(gates[0].command, "cargo check --workspace --all-targets --locked");
    assert_eq!(read_root(&rig.file("nowhere")), Root::default());
}
