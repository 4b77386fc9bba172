//! `pilot budget` as its user runs it.

use std::fs;

use serde_json::Value;

use crate::program::run;
use crate::yard::Yard;

#[test]
fn a_new_user_sees_what_holds() {
    let yard = Yard::bare();
    let ended = run(yard.pilot(&["budget"]));
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    assert!(ended.stdout.starts_with("Budget open: new tasks may start\n"), "{}", ended.stdout);
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ended.stdout);
}

#[test]
fn the_configuration_and_the_zone_are_obeyed() {
    let yard = Yard::bare();
    let config = "budget:\n  daily_limit: 12.5\n  on_exceed: {daily: stop}\n  per_task: {max_cost: 0.75}\n";
    fs::write(yard.home().join("config.yaml"), config).unwrap();
    for (zone, offset) in [("EST5", 5), ("UTC0", 0), ("XYZ-3", 21)] {
        let mut pilot = yard.pilot(&["budget", "--json"]);
        pilot.env("TZ", zone);
        let ended = run(pilot);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let budget: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(budget["today"]["limit_usd"], 12.5, "{budget}");
        assert_eq!(budget["today"]["on_exceed"], "stop");
        assert_eq!(budget["per_task"]["max_cost_usd"], 0.75);
        assert_eq!(budget["runs"], serde_json::json!([]));
        for end in ["from", "until"] {
            let at = budget["today"][end].as_str().unwrap();
            assert!(at.ends_with(" 00:00"), "{zone} ({offset} hours behind): {at}");
        }
    }
}

#[test]
fn what_cannot_be_read_is_said() {
    let yard = Yard::bare();
    fs::write(yard.home().join("config.yaml"), "budget: {daily_limit: much}\n").unwrap();
    let ended = run(yard.pilot(&["budget"]));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{ended:?}");
    assert!(ended.stderr.contains("budget.daily_limit: \"much\": write an amount"), "{}", ended.stderr);
    fs::remove_file(yard.home().join("config.yaml")).unwrap();
    fs::create_dir(yard.home().join("data")).unwrap();
    fs::write(yard.home().join("data/pilot.db"), "no database at all\n".repeat(100)).unwrap();
    let ended = run(yard.pilot(&["budget"]));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
    assert!(ended.stderr.contains("the database is damaged"), "{}", ended.stderr);
}

/// A session of claude that spends 20,000 tokens of sonnet and says that it cost `cost`.
fn session(cost: &str) -> String {
    let usage = r#""usage":{"input_tokens":0,"output_tokens":20000}"#;
    format!(
        "{{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\",\"model\":\"claude-sonnet-4-6\"}}\n\
         {{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"done\",\"session_id\":\"s\",{usage},\
         \"total_cost_usd\":{cost}}}\n"
    )
}

fn spent(yard: &Yard) -> f64 {
    let books: Value = serde_json::from_str(&run(yard.pilot(&["budget", "--json"])).stdout).expect("JSON");
    books["today"]["spent_usd"].as_f64().expect("a number")
}

#[test]
fn a_step_of_a_pipeline_is_admitted_and_charged() {
    let yard = Yard::new();
    let steps = "version: \"1\"\npipeline:\n  - {id: one, agent: 'Do it'}\n";
    fs::create_dir_all(yard.repo().join(".pilot")).unwrap();
    fs::write(yard.repo().join(".pilot/pipeline.yaml"), steps).unwrap();
    fs::write(yard.file("say"), session("0.3")).unwrap();
    yard.agent("cat >/dev/null; echo x >>@/calls; cat @/say", &["stream-json"]);
    let mut pilot = yard.pilot(&["run"]);
    pilot.env("PILOT_BUDGET_DAILY_LIMIT", "0.01").env("PILOT_BUDGET_ON_EXCEED_DAILY", "stop");
    let ended = run(pilot);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stdout.contains("a task like this reserves $0.75; only $0.01 is left today"), "{ended:?}");
    assert!(!yard.file("calls").exists(), "no agent was called");
    let ended = run(yard.pilot(&["run"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!((0.29..0.31).contains(&spent(&yard)), "{}", spent(&yard));
    let listed = run(yard.pilot(&["budget"])).stdout;
    assert!(listed.contains("pipeline"), "{listed}");
}

#[test]
fn a_cost_that_its_tokens_do_not_bear_out_is_not_believed() {
    for cost in ["1e9", "0", "-5"] {
        let yard = Yard::new();
        fs::write(yard.file("say"), session(cost)).unwrap();
        yard.agent("cat >/dev/null; commit a; cat @/say", &["stream-json", "retry: {enabled: false}"]);
        let ended = run(yard.pilot(&["task", "Add a thing"]));
        assert_eq!(ended.code, Some(0), "{cost}: {ended:?}");
        assert!((0.29..0.31).contains(&spent(&yard)), "{cost}: {}", spent(&yard));
        assert!(ended.stderr.contains("for 20000 tokens, which is not believed"), "{cost}: {ended:?}");
    }
}

#[test]
fn a_database_that_was_emptied_is_refused() {
    let yard = Yard::bare();
    assert_eq!(run(yard.pilot(&["budget"])).code, Some(0));
    for file in fs::read_dir(yard.home().join("data")).unwrap().flatten() {
        fs::write(file.path(), "").unwrap();
    }
    let ended = run(yard.pilot(&["budget"]));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
    assert!(ended.stderr.contains("it is empty, and was not before"), "{}", ended.stderr);
}
