//! CI: which commits it runs on, its results and logs.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::Client;
use crate::world::World;

/// Pushes a branch with this CI script; returns the commit.
async fn push_script(world: &World, repo: &str, branch: &str, script: &str) -> String {
    let tree = world.clone_of(repo, &world.me());
    tree.branch(branch, ".pilot/ci.sh", script)
}

/// Waits for the end of the newest `ci` check run of a commit.
async fn wait_for_check(world: &World, me: &Client, repo: &str, sha: &str) -> Value {
    let path = format!("{repo}/commits/{sha}/check-runs?check_name=ci");
    world
        .until("the end of CI", async || {
            let found = me.get(&path).await.expect(200);
            let run = found["check_runs"][0].clone();
            (run["status"] == "completed").then_some(run)
        })
        .await
}

async fn log_of(me: &Client, repo: &str, check: &Value) -> String {
    let answer = me.get(&format!("{repo}/actions/jobs/{}/logs", check["id"])).await;
    assert_eq!(answer.status, 302);
    let place = answer.header("location").strip_prefix(&me.url).expect("it is there").to_owned();
    me.anonymous().get(&place).await.text()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_runs_ci_and_keeps_the_log() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let sha =
        push_script(&world, &repo, "one", "echo in $CI; pwd; git log --oneline | wc -l; test ! -e x").await;
    let check = wait_for_check(&world, &me, &repo, &sha).await;
    assert_eq!(
        (check["conclusion"].as_str(), check["app"]["slug"].as_str()),
        (Some("success"), Some("forge-ci"))
    );
    assert!(log_of(&me, &repo, &check).await.starts_with("in true\n"));
    let runs = me.get(&format!("{repo}/actions/runs?head_sha={sha}")).await.expect(200);
    let run = &runs["workflow_runs"][0];
    assert_eq!((run["event"].as_str(), run["conclusion"].as_str()), (Some("push"), Some("success")));
    let suites = me.get(&format!("{repo}/commits/one/check-suites")).await.expect(200);
    assert_eq!(suites["check_suites"][0]["conclusion"], "success");
    me.anonymous().get(&format!("/_forge/logs/{}/guess", check["id"])).await.expect(404);
    // A pull request for the same commit does not run CI again.
    me.post(&format!("{repo}/pulls"), json!({"title": "x", "head": "one", "base": "main"})).await.expect(201);
    assert_eq!(me.get(&format!("{repo}/actions/runs")).await.expect(200)["total_count"], 1);
    assert_eq!(std::fs::read_dir(world.root().join("ci")).unwrap().count(), 0, "no checkout is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_run_has_a_summary_and_can_be_rerun() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let sha = push_script(&world, &repo, "one", "echo 'assertion failed' >&2; exit 3").await;
    let first = wait_for_check(&world, &me, &repo, &sha).await;
    assert_eq!(first["conclusion"], "failure");
    assert!(first["output"]["summary"].as_str().unwrap().contains("assertion failed"));
    let runs = me.get(&format!("{repo}/actions/runs?status=failure")).await.expect(200);
    let run = format!("{repo}/actions/runs/{}", runs["workflow_runs"][0]["id"]);
    me.post(&format!("{run}/rerun"), json!({})).await.expect(201);
    let second = world
        .until("a second attempt", async || {
            let again = wait_for_check(&world, &me, &repo, &sha).await;
            (again["id"] != first["id"]).then_some(again)
        })
        .await;
    assert_eq!(second["conclusion"], "failure");
    assert_eq!(me.get(&run).await.expect(200)["run_attempt"], 2);
    let jobs = me.get(&format!("{run}/jobs?filter=all")).await.expect(200);
    assert_eq!(jobs["total_count"], 2);
    let all = me.get(&format!("{repo}/commits/{sha}/check-runs?filter=all")).await.expect(200);
    assert_eq!(all["total_count"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_without_script_have_no_check_unless_a_command_is_set() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    assert_eq!(me.get(&format!("{repo}/commits/main/check-runs")).await.expect(200)["total_count"], 0);
    drop(world);
    let world = World::with(|options| options.ci.command = Some("echo always".to_owned())).await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let sha = me.get(&format!("{repo}/commits/main")).await.expect(200)["sha"].as_str().unwrap().to_owned();
    let check = wait_for_check(&world, &me, &repo, &sha).await;
    assert_eq!(log_of(&me, &repo, &check).await, "always\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn checks_appear_after_the_lag() {
    let world = World::with(|options| options.lags.checks = Duration::from_secs(3600)).await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let sha = push_script(&world, &repo, "one", "true").await;
    let path = format!("{repo}/commits/{sha}");
    assert_eq!(me.get(&format!("{path}/check-runs")).await.expect(200)["total_count"], 0);
    assert_eq!(me.get(&format!("{path}/check-suites")).await.expect(200)["total_count"], 0);
    assert_eq!(me.get(&format!("{repo}/actions/runs")).await.expect(200)["total_count"], 0);
    assert_eq!(me.get(&format!("{path}/status")).await.expect(200)["state"], "pending");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_over_the_timeout_is_killed() {
    let world = World::with(|options| options.ci.timeout = Duration::from_millis(300)).await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let sha = push_script(&world, &repo, "one", "sleep 1000").await;
    let check = wait_for_check(&world, &me, &repo, &sha).await;
    assert_eq!(check["conclusion"], "timed_out");
    let log = log_of(&me, &repo, &check).await;
    assert!(log.contains("maximum execution time"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_run_ends_its_process_group() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let beacon = world.home.path().join("beacon");
    let script = format!("sh -c 'echo $$ > {}; exec sleep 1000' & sleep 1000", beacon.display());
    let sha = push_script(&world, &repo, "one", &script).await;
    let background = world
        .until("the background process", async || {
            let id = std::fs::read_to_string(&beacon).ok()?;
            id.ends_with('\n').then_some(id)
        })
        .await;
    let found = me.get(&format!("{repo}/actions/runs?status=in_progress")).await.expect(200);
    let run = &found["workflow_runs"][0]["id"];
    me.post(&format!("{repo}/actions/runs/{run}/rerun"), json!({})).await.expect(403);
    me.post(&format!("{repo}/actions/runs/{run}/cancel"), json!({})).await.expect(202);
    assert_eq!(wait_for_check(&world, &me, &repo, &sha).await["conclusion"], "cancelled");
    // A killed process may remain as a zombie.
    let stat = format!("/proc/{}/stat", background.trim());
    let lives = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
    world.until("the end of the process group", async || (!lives()).then_some(())).await;
    me.post(&format!("{repo}/actions/runs/{run}/cancel"), json!({})).await.expect(409);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fault_plan_forces_outcomes() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    for (at, (outcome, conclusion, words)) in [
        ("success", "success", "ok"),
        ("failure", "failure", "exit code 1"),
        ("cancelled", "cancelled", "canceled"),
        ("timed_out", "timed_out", "maximum execution time"),
        ("infrastructure", "failure", "lost communication"),
    ]
    .into_iter()
    .enumerate()
    {
        me.put("/_forge/faults", json!({"ci": [{"branch": "f*", "outcome": outcome}]})).await;
        let sha = push_script(&world, &repo, &format!("f{at}"), &format!("exit 9 # {at}")).await;
        let check = wait_for_check(&world, &me, &repo, &sha).await;
        assert_eq!(check["conclusion"], conclusion, "{outcome}");
        assert!(log_of(&me, &repo, &check).await.contains(words), "{outcome}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn users_report_check_runs_and_statuses() {
    let world = World::new().await;
    let (me, repo) = (world.me(), world.repo("demo").await);
    let sha = me.get(&format!("{repo}/commits/main")).await.expect(200)["sha"].clone();
    let runs = format!("{repo}/check-runs");
    let made =
        me.post(&runs, json!({"name": "lint", "head_sha": sha, "status": "in_progress"})).await.expect(201);
    me.post(&runs, json!({"name": "lint"})).await.expect(422);
    me.post(&runs, json!({"name": "lint", "head_sha": "1".repeat(40)})).await.expect(422);
    me.post(&runs, json!({"name": "lint", "head_sha": sha, "status": "completed"})).await.expect(422);
    let one = format!("{runs}/{}", made["id"]);
    me.patch(&one, json!({"conclusion": "splendid"})).await.expect(422);
    let done = json!({"conclusion": "neutral", "output": {"title": "t", "summary": "s"}});
    let done = me.patch(&one, done).await.expect(200);
    assert_eq!((done["status"].as_str(), done["conclusion"].as_str()), (Some("completed"), Some("neutral")));
    let sha = sha.as_str().unwrap();
    for (state, combined) in [("pending", "pending"), ("success", "success"), ("error", "failure")] {
        me.post(&format!("{repo}/statuses/{sha}"), json!({"state": state, "context": "x"})).await.expect(201);
        assert_eq!(me.get(&format!("{repo}/commits/{sha}/status")).await.expect(200)["state"], combined);
    }
    assert_eq!(
        me.get(&format!("{repo}/commits/{sha}/statuses")).await.expect(200).as_array().unwrap().len(),
        3
    );
    me.post(&format!("{repo}/statuses/{sha}"), json!({"state": "fine"})).await.expect(422);
    me.post(&format!("{repo}/statuses/{sha}"), json!({"state": "success", "target_url": "javascript:x"}))
        .await
        .expect(422);
}
