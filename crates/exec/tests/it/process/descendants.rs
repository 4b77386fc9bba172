//! Processes that an agent leaves behind end with it.

use std::time::Duration;

use pilot_core::outcome::{EndedBy, ProcessEnd};
use pilot_exec::process::{Output, ProcessLimits};

use super::rig::{PATIENCE, each, each_namespace, within};

#[test]
fn daemons_end_with_the_agent_that_left_them() {
    each(async |rig| {
        for steps in [
            "orphan=setsid,ignore-term,beat=@/beat await=@/beat",
            "orphan=close-stdout,setsid,ignore-term,beat=@/beat await=@/beat kill=9",
        ] {
            let _ = std::fs::remove_file(rig.file("beat"));
            let run = rig.run(rig.launch(steps)).await;
            let exit = if steps.ends_with("kill=9") { ProcessEnd::Signal(9) } else { ProcessEnd::Code(0) };
            assert_eq!((run.ended.exit, run.ended.by), (exit, EndedBy::Itself), "{steps}");
            assert!(run.ended.leaked, "{steps}");
        }
    });
}

#[test]
fn descendants_that_end_in_time_are_not_killed() {
    each(async |rig| {
        // It is on its way before the agent ends, so that its second does not go by before it has begun.
        let steps = "orphan=setsid,mark=@/begun,says=late,mark=@/late await=@/begun says=early";
        let run = rig.run(rig.launch(steps)).await;
        assert!(!run.ended.leaked && rig.file("late").exists(), "{:?}", run.ended);
        assert!(run.stdout.contains("late\n"), "{}", run.stdout);
    });
}

#[test]
fn a_grandchild_that_holds_the_output_open_does_not_delay_the_end() {
    each(async |rig| {
        let run = rig.run(rig.launch("child=stays says=done exit=3")).await;
        assert_eq!((run.ended.exit, run.ended.leaked), (ProcessEnd::Code(3), true));
        assert_eq!(run.stdout, "done\n");
    });
}

#[test]
fn stopping_reaches_every_descendant() {
    each(async |rig| {
        let steps = "orphan=setsid,ignore-term,beat=@/beat await=@/beat forks=20 says=ready stays";
        let mut launch = rig.launch(steps);
        // Time for the agent to be ended by TERM, however busy the machine is.
        launch.deadlines.grace = Duration::from_secs(2);
        let mut running = rig.start(launch).await;
        let mut heard = Vec::new();
        while !heard.ends_with(b"ready\n") {
            let Some(Output::Stdout(bytes)) = running.next().await else { panic!("it ended") };
            heard.extend_from_slice(bytes);
        }
        assert_eq!(heard, b"forked 20\nready\n");
        // Between fork and exec a process carries no mark.
        assert!(within(PATIENCE, || rig.alive().len() >= 22), "{:?}", rig.alive());
        running.stop(EndedBy::Stagnation);
        let run = rig.finish(running).await;
        assert_eq!((run.ended.exit, run.ended.by), (ProcessEnd::Signal(15), EndedBy::Stagnation));
    });
}

#[test]
fn a_dropped_run_leaves_no_process() {
    each(async |rig| {
        let running = rig.start(rig.launch("orphan=setsid,beat=@/beat ignore-term stays")).await;
        rig.expect_file("beat");
        drop(running);
        assert_eq!(rig.alive(), Vec::<String>::new());
    });
}

#[test]
fn a_fork_bomb_is_limited() {
    each_namespace(async |rig| {
        let mut launch = rig.launch("forks=600");
        launch.limits = ProcessLimits { processes: Some(400), ..ProcessLimits::default() };
        let run = rig.run(launch).await;
        let forked: u32 = run.stdout.trim().trim_start_matches("forked ").parse().unwrap();
        if forked == 600 {
            println!("skipped: this kernel bounds no processes here ({})", rig.containment.describe());
        } else {
            assert!((300..400).contains(&forked), "{forked}");
        }
    });
}
