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
