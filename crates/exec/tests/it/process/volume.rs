//! However much an agent prints, Pilot's memory stays bounded and it reads all of it.

use pilot_core::outcome::{EndedBy, ProcessEnd};

use super::rig::{Rig, block_on};

/// What Pilot may grow by.
const MOST_KIB: u64 = 64 * 1024;

#[test]
fn a_gigabyte_on_one_line_costs_nothing() {
    check_volume("line", 1_000_000_000, 1_000_000_001);
}

/// One gigabyte, or ten with `PILOT_TEST_FULL`, which take longer.
#[test]
fn gigabytes_of_lines_cost_nothing() {
    let total = if full() { 10_000_000_000 } else { 1_000_000_000 };
    check_volume("lines", total, total);
}

#[expect(clippy::disallowed_methods, reason = "how long a test may take is the caller's to say")]
fn full() -> bool {
    std::env::var_os("PILOT_TEST_FULL").is_some()
}

fn check_volume(step: &str, bytes: u64, expected: u64) {
    let rig = Rig::here();
    let output = rig.supervisor(&format!("{step}={bytes}")).output().expect("a supervisor");
    let text = String::from_utf8(output.stdout).expect("text");
    let (said, grown) = text.trim().rsplit_once(" grown_kib=").expect("a last line");
    assert_eq!(said, format!("Code(0) Itself bytes={expected}"));
    assert!(grown.parse::<u64>().expect("a number") < MOST_KIB, "{text}");
}

#[test]
fn of_endless_errors_both_ends_are_kept() {
    block_on(async {
        let rig = Rig::here();
        let run = rig.run(rig.launch("err=first errs=5000000 err=last")).await;
        assert_eq!((run.ended.exit, run.ended.by), (ProcessEnd::Code(0), EndedBy::Itself));
        let text = run.ended.stderr.text();
        assert!(text.starts_with("first\neee") && text.ends_with("eeelast\n"), "{}", text.len());
        assert_eq!((run.ended.stderr.total(), run.ended.output_bytes), (5_000_011, 5_000_011));
        assert!(text.len() < 70_000 && run.ended.stderr.missing() > 4_900_000);
    });
}

#[test]
fn bytes_arrive_as_they_were_written() {
    block_on(async {
        let rig = Rig::here();
        let mut running = rig.start(rig.launch("raw=00ff1b5b0d0a raw=c3")).await;
        let mut heard = Vec::new();
        while let Some(output) = running.next().await {
            let pilot_exec::process::Output::Stdout(bytes) = output else { panic!("{output:?}") };
            heard.extend_from_slice(bytes);
        }
        assert_eq!(heard, [0, 0xff, 0x1b, b'[', b'\r', b'\n', 0xc3]);
    });
}

#[test]
fn a_prompt_of_five_megabytes_is_read_or_not_as_the_agent_likes() {
    block_on(async {
        let rig = Rig::here();
        for (steps, said) in [("count", "5000000\n"), ("says=no", "no\n"), ("lines=3000000 count", "")] {
            let mut launch = rig.launch(steps);
            launch.stdin = vec![b'p'; 5_000_000];
            let run = rig.run(launch).await;
            assert_eq!((run.ended.exit, run.ended.by), (ProcessEnd::Code(0), EndedBy::Itself), "{steps}");
            assert!(run.stdout.contains(said), "{steps}");
        }
        let run = rig.run(rig.launch("count")).await;
        assert_eq!(run.stdout, "0\n", "no prompt is an end, not a wait");
    });
}
