//! Each way to end is reported as what it is.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use pilot_core::outcome::{EndedBy, ProcessEnd};
use pilot_exec::process::{Deadlines, Launch, Output, Running, StartError};

use super::rig::{PATIENCE, Rig, block_on, each, is_dead, within};

const SOON: Duration = Duration::from_millis(200);

/// So much time goes by at once.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

#[test]
fn an_agent_that_ends_by_itself_says_how() {
    each(async |rig| {
        for (steps, exit) in [
            ("says=hello", ProcessEnd::Code(0)),
            ("says=hello exit=7", ProcessEnd::Code(7)),
            ("says=hello exit=137", ProcessEnd::Code(137)),
            ("says=hello kill=9", ProcessEnd::Signal(9)),
            ("says=hello kill=15", ProcessEnd::Signal(15)),
        ] {
            let run = rig.run(rig.launch(steps)).await;
            assert_eq!((run.ended.exit, run.ended.by), (exit, EndedBy::Itself), "{steps}");
            assert_eq!((run.stdout.as_str(), run.ended.output_bytes), ("hello\n", 6), "{steps}");
            assert!(!run.ended.leaked && !run.ended.oom, "{steps}: {:?}", run.ended);
        }
    });
}

#[test]
fn stopped_means_asked_first() {
    each(async |rig| {
        let mut running = rig.start(rig.launch("says=ready stays")).await;
        assert_eq!(running.next().await, Some(Output::Stdout(b"ready\n")));
        running.stop(EndedBy::Person);
        let run = rig.finish(running).await;
        assert_eq!((run.ended.exit, run.ended.by), (ProcessEnd::Signal(15), EndedBy::Person));
    });
}

#[test]
fn a_program_that_ignores_term_is_killed_after_the_grace() {
    each(async |rig| {
        let mut launch = rig.launch("ignore-term says=ready child=stays wait stays");
        launch.deadlines.grace = SOON;
        let mut running = rig.start(launch).await;
        assert_eq!(running.next().await, Some(Output::Stdout(b"ready\n")));
        running.stop(EndedBy::Shutdown);
        let run = rig.finish(running).await;
        assert_eq!((run.ended.exit, run.ended.by), (ProcessEnd::Signal(9), EndedBy::Shutdown));
        assert!(run.ended.duration >= SOON, "{:?}", run.ended);
        assert!(!run.ended.oom, "who killed it is known");
    });
}

#[test]
fn killed_now_is_killed_now() {
    each(async |rig| {
        let mut running = rig.start(rig.launch("ignore-term says=ready stays")).await;
        assert_eq!(running.next().await, Some(Output::Stdout(b"ready\n")));
        running.kill_now(EndedBy::Person);
        let run = rig.finish(running).await;
        assert_eq!((run.ended.exit, run.ended.by), (ProcessEnd::Signal(9), EndedBy::Person));
    });
}

#[test]
fn a_shorter_grace_counts_even_when_asked_before() {
    block_on(async {
        let rig = Rig::here();
        let mut running = rig.start(rig.launch("ignore-term says=ready stays")).await;
        assert_eq!(running.next().await, Some(Output::Stdout(b"ready\n")));
        running.stop_within(EndedBy::ExitMark, 60 * PATIENCE);
        running.stop_within(EndedBy::Person, SOON);
        let run = tokio::time::timeout(PATIENCE, rig.finish(running)).await.expect("the shorter grace");
        assert_eq!(run.ended.by, EndedBy::ExitMark, "the first cause counts");
    });
}

#[test]
fn silence_has_its_own_class() {
    each(async |rig| {
        for steps in ["says=a stays", "close-stdout stays", "spin"] {
            let mut launch = rig.launch(steps);
            launch.deadlines.silence = Some(SOON);
            let run = rig.run(launch).await;
            assert_eq!((run.ended.exit, run.ended.by), (ProcessEnd::Signal(15), EndedBy::Silence), "{steps}");
        }
    });
}

#[test]
fn silence_can_be_suspended() {
    block_on(async {
        let rig = Rig::here();
        let mut launch = rig.launch("stays");
        launch.deadlines.silence = Some(SOON);
        launch.deadlines.total = Some(SOON * 3);
        let mut running = rig.start(launch.clone()).await;
        running.suspend_silence();
        assert_eq!(rig.finish(running).await.ended.by, EndedBy::Deadline);
        launch.deadlines.total = Some(PATIENCE);
        let mut running = rig.start(launch).await;
        running.suspend_silence();
        running.resume_silence();
        assert_eq!(rig.finish(running).await.ended.by, EndedBy::Silence);
    });
}

#[test]
fn output_on_either_stream_breaks_the_silence() {
    block_on(async {
        let rig = Rig::here();
        let mut launch =
            rig.launch("sh=for~i~in~1~2~3~4;do~until~[~-e~@/$i~];do~sleep~0.01;done;echo~x>&2;done");
        launch.argv[1] = launch.argv[1].to_str().unwrap().replace('~', " ").into();
        launch.deadlines =
            Deadlines { total: None, silence: Some(Duration::from_secs(1000)), ..launch.deadlines };
        let mut running = rig.start(launch).await;
        // One round is well within the limit, all of them together are beyond it.
        for round in 1..=4 {
            pass(Duration::from_secs(700)).await;
            std::fs::write(rig.file(&round.to_string()), "").unwrap();
            assert_eq!(running.next().await, Some(Output::Stderr(b"x\n")), "round {round}");
        }
        let run = rig.finish(running).await;
        assert_eq!((run.ended.exit, run.ended.by), (ProcessEnd::Code(0), EndedBy::Itself));
        assert_eq!(run.ended.stderr.text(), "x\nx\nx\nx\n");
    });
}

#[test]
fn the_deadline_comes_however_much_is_said() {
    each(async |rig| {
        let mut launch = rig.launch("lines=1000000000000");
        launch.deadlines.total = Some(Duration::from_secs(1000));
        let mut running = rig.start(launch).await;
        assert!(running.next().await.is_some());
        pass(Duration::from_secs(1001)).await;
        let run = running.end().await;
        assert_eq!(run.by, EndedBy::Deadline);
        assert!(run.output_bytes > 0);
        rig.expect_gone();
    });
}

/// A reader that was away must not blame the agent for its own absence.
#[test]
fn a_late_reader_does_not_blame_a_program_that_ended_in_time() {
    each(async |rig| {
        let mut launch = rig.launch("says=done exit=4");
        launch.deadlines.silence = Some(Duration::from_secs(30));
        let running = rig.start(launch).await;
        assert!(within(PATIENCE, || is_dead(running.keeper_id())));
        pass(Duration::from_secs(3600)).await;
        let run = rig.finish(running).await;
        assert_eq!((run.ended.exit, run.ended.by), (ProcessEnd::Code(4), EndedBy::Itself));
        assert_eq!(run.stdout, "done\n");
    });
}

#[test]
fn a_cancelled_start_leaves_no_process() {
    each(async |rig| {
        let mut launch = rig.launch("stays");
        // Too much for the socket, so that it is cut in the middle.
        launch.env.push(("LONG".into(), "x".repeat(1_500_000).into()));
        let start = Running::start(launch, &rig.containment);
        assert!(tokio::time::timeout(Duration::ZERO, start).await.is_err());
        rig.expect_gone();
    });
}

/// A daemon's runtime moves its tasks between threads.
#[test]
fn a_run_can_be_driven_from_any_thread() {
    async fn drive(rig: Rig) -> ProcessEnd {
        let running = rig.start(rig.launch("says=hello exit=5")).await;
        rig.finish(running).await.ended.exit
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let runs: Vec<_> = (0..8).map(|_| runtime.spawn(drive(Rig::here()))).collect();
    for run in runs {
        assert_eq!(runtime.block_on(run).unwrap(), ProcessEnd::Code(5));
    }
}

#[test]
fn what_never_started_has_a_reason() {
    block_on(async {
        let rig = Rig::here();
        let text = rig.file("text");
        std::fs::write(&text, "neither a program nor a script").unwrap();
        let failed = async |launch: Launch| Running::start(launch, &rig.containment).await.unwrap_err();
        let program = |name: &str| {
            let mut launch = rig.launch("");
            launch.argv = vec![name.into()];
            launch
        };

        assert!(matches!(failed(program("")).await, StartError::Empty));
        let error = failed(program("no-such-agent")).await;
        let StartError::NotFound { tried, .. } = &error else { panic!("{error}") };
        assert_eq!(
            tried.iter().map(|path| path.to_str().unwrap()).collect::<Vec<_>>(),
            ["/usr/bin/no-such-agent", "/bin/no-such-agent"]
        );
        let error = failed(program("./text")).await;
        assert!(
            matches!(&error, StartError::NotExecutable { path, .. } if *path == rig.file("./text")),
            "{error}"
        );
        std::fs::set_permissions(&text, PermissionsExt::from_mode(0o755)).unwrap();
        let error = failed(program("./text")).await;
        assert!(matches!(&error, StartError::NotExecutable { .. }), "{error}");

        let mut launch = program("sh");
        launch.cwd = rig.file("nowhere");
        assert!(matches!(failed(launch).await, StartError::Directory { .. }));
        let error = failed(program("sh\0")).await;
        assert!(matches!(error, StartError::NotFound { .. }), "{error}");
        let mut launch = program("sh");
        launch.argv.push("a\0b".into());
        let error = failed(launch).await;
        assert!(matches!(error, StartError::System { .. }), "{error}");
        let mut launch = program("sh");
        launch.argv.push("x".repeat(8_000_000).into());
        let error = failed(launch).await;
        assert!(matches!(error, StartError::TooLong { bytes: 8_000_000.., .. }), "{error}");
        rig.expect_gone();
    });
}

#[test]
fn a_program_that_is_no_keeper_is_an_error_and_not_a_hang() {
    block_on(async {
        let rig = Rig::here();
        for keeper in ["/bin/true", "/nowhere"] {
            let containment =
                pilot_exec::process::Containment::forced(keeper, rig.containment.kind().clone());
            let error = Running::start(rig.launch("stays"), &containment).await.unwrap_err();
            assert!(matches!(&error, StartError::Keeper { .. }), "{error}");
            let probed = pilot_exec::process::Containment::probe(keeper);
            assert!(probed.describe().starts_with("fallback: "), "{}", probed.describe());
        }
    });
}
