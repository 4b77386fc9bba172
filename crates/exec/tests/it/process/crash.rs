//! Pilot dies, or its keeper does, at any moment: nobody is left.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::rig::{children, each, is_dead, within};

/// An agent with a daemon that nothing but the end of its world impresses.
const STUBBORN: &str = "orphan=setsid,ignore-term,beat=@/beat await=@/beat ignore-term mark=@/ready stays";

#[test]
fn a_supervisor_that_is_killed_leaves_nobody() {
    each(async |rig| {
        let mut supervisor = rig.supervisor(STUBBORN).spawn().unwrap();
        rig.expect_file("ready");
        assert!(within(Duration::from_secs(9), || rig.alive().len() >= 3), "{:?}", rig.alive());
        let keepers = children(&supervisor);
        supervisor.kill().unwrap();
        supervisor.wait().unwrap();
        rig.expect_gone();
        let gone = || keepers.iter().all(is_dead);
        assert!(within(Duration::from_secs(1), gone), "a keeper of {keepers:?} is left");
    });
}

#[test]
fn there_is_no_good_moment_to_kill_a_supervisor() {
    each(async |rig| {
        for moment in 0..20 {
            let mut supervisor = rig.supervisor("orphan=setsid,ignore-term,stays stays").spawn().unwrap();
            // Not a wait for something, but a time to be somewhere in the middle of things.
            within(Duration::from_millis(2 * moment), || false);
            supervisor.kill().unwrap();
            supervisor.wait().unwrap();
            rig.expect_gone();
        }
        // Whoever was between fork and exec, and so without a mark, has one by now.
        rig.expect_gone();
    });
}

#[test]
fn a_keeper_that_is_killed_takes_everybody_along_and_is_missed() {
    each(async |rig| {
        let supervisor = rig.supervisor(STUBBORN).stdout(Stdio::piped()).spawn().unwrap();
        rig.expect_file("ready");
        for keeper in children(&supervisor) {
            kill_process(Pid::from_raw(keeper).unwrap(), Signal::KILL).unwrap();
        }
        let output = supervisor.wait_with_output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.starts_with("Lost Itself "), "{said}");
        rig.expect_gone();
    });
}
