//! Pilot or its keeper is killed at any moment: no process is left.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::rig::{PATIENCE, children, each, is_dead, within};

/// An agent with a daemon that ignores TERM and left the session.
const STUBBORN: &str = "orphan=setsid,ignore-term,beat=@/beat await=@/beat ignore-term mark=@/ready stays";

#[test]
fn a_supervisor_that_is_killed_leaves_no_process() {
    each(async |rig| {
        let mut supervisor = rig.supervisor(STUBBORN).spawn().unwrap();
        rig.expect_file("ready");
        assert!(within(PATIENCE, || rig.alive().len() >= 3), "{:?}", rig.alive());
        let keepers = children(&supervisor);
        supervisor.kill().unwrap();
        supervisor.wait().unwrap();
        rig.expect_gone();
        let gone = || keepers.iter().all(is_dead);
        assert!(within(PATIENCE, gone), "a keeper of {keepers:?} is left");
    });
}

#[test]
fn a_supervisor_killed_at_any_moment_leaves_no_process() {
    each(async |rig| {
        for moment in 0..20 {
            let mut supervisor = rig.supervisor("orphan=setsid,ignore-term,stays stays").spawn().unwrap();
            // Not a wait for a condition: the kill must hit at a random moment.
            within(Duration::from_millis(2 * moment), || false);
            supervisor.kill().unwrap();
            supervisor.wait().unwrap();
            rig.expect_gone();
        }
        // A process between fork and exec carries no mark; by now it does.
        rig.expect_gone();
    });
}

#[test]
fn a_killed_keeper_takes_every_process_along_and_is_reported() {
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
