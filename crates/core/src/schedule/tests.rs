use std::time::Duration;

use super::{
    Clock, DRAIN, EndCheck, Job, PollNotice, Reading, Record, RecordFor, Recorded, RunUntil, SILENCE,
    Schedule, ScheduleConfig, TaskRef, TrackedTask,
};
use crate::dispatch::{Candidate, ProjectLoad};
use crate::fact::{CommandSource, ProjectEvent, ProjectFacts, TaskEvent, TaskFacts, UserCommand};
use crate::id::{Generation, HomeId, InstanceId, PrNumber, ProjectId};
use crate::observed::{FailureKind, TouchedPaths, Trust};
use crate::perform::{Polled, PolledCommand, Report};
use crate::policy::Mode;
use crate::port::CommentPlace;
use crate::task::scenario::{Scenario, at, by_comment, comment_id, failure, gh, project_id, stopped, ticket};
use crate::task::{Action, Key, Query, Stage};
use crate::turn::{Applied, Input, Left, OutboxEntry, ProjectInput};

const INTERVAL: Duration = Duration::from_secs(30);

/// The clocks, so many seconds after the start.
fn clock(seconds: u64) -> Clock {
    Clock { now: at(1000 + i64::try_from(seconds).unwrap()), uptime: Duration::from_secs(seconds) }
}

fn schedule(until: RunUntil, names: &[&str]) -> Schedule {
    let config = ScheduleConfig {
        until,
        max_concurrent: 2,
        renew_every: Duration::from_secs(20),
        reconnect_after: Duration::from_secs(10),
    };
    Schedule::new(config, names.iter().map(|name| (*name).to_owned()), clock(0))
}

/// A daemon with one project, whose first round is over.
fn opened(until: RunUntil) -> Schedule {
    let mut schedule = schedule(until, &[]);
    schedule.open_project(project_id(), INTERVAL, clock(0));
    round(&mut schedule, 0);
    schedule
}

/// All jobs of a round.
fn round(schedule: &mut Schedule, seconds: u64) -> Vec<Job> {
    schedule.plan_round(clock(seconds));
    std::iter::from_fn(|| schedule.next_job()).collect()
}

fn task() -> TaskRef {
    (project_id(), gh(1))
}

fn other_project() -> ProjectId {
    ProjectId::parse("github:acme/web").unwrap()
}

fn polled(since: i64) -> Polled {
    Polled { tickets: Ok(None), commands: Ok(Vec::new()), since: at(since) }
}

fn failed_poll() -> Polled {
    Polled { tickets: Err(failure(FailureKind::Server)), ..polled(0) }
}

fn entry(project: ProjectId) -> OutboxEntry {
    let key = Key::parse("claim:place-g1").unwrap();
    let action = Action::PlaceClaim { task: gh(1), generation: Generation(1) };
    OutboxEntry { project, task: Some(gh(1)), key, action }
}

fn recorded(stage: Stage) -> Recorded {
    let stage = Some(stage);
    Recorded { is_known: true, generation: Generation(1), stage, ..Recorded::unknown() }
}

#[test]
fn an_opened_project_is_taken_over_read_and_polled() {
    let mut schedule = schedule(RunUntil::Stopped, &["app"]);
    assert_eq!(
        round(&mut schedule, 0),
        [Job::Connect { name: "app".to_owned() }, Job::Dispatch { is_budget_checked: false }]
    );
    assert_eq!(round(&mut schedule, 1), [], "it is being asked");
    schedule.not_opened("app", clock(1));
    assert!(!round(&mut schedule, 10).contains(&Job::Connect { name: "app".to_owned() }));
    assert!(round(&mut schedule, 11).contains(&Job::Connect { name: "app".to_owned() }));
    schedule.opened("app", project_id(), INTERVAL, clock(12));
    let jobs = round(&mut schedule, 12);
    let project = project_id();
    let expected = [
        Job::BeginInstance,
        Job::ReadTasks { project: project.clone(), reading: Reading::AtOpening },
        Job::RecordProject { project: project.clone(), input: None },
        Job::Poll { project, since: at(1012).before(super::COMMANDS_SINCE) },
        Job::Dispatch { is_budget_checked: false },
        Job::TakeActions { room: 15 },
    ];
    assert_eq!(jobs, expected);
}

#[test]
fn what_dead_instances_left_comes_first_and_waits_for_its_project() {
    let mut schedule = opened(RunUntil::Stopped);
    let key = Key::parse("claim:place-g1").unwrap();
    let claims = vec![(project_id(), gh(1), Generation(1)), (other_project(), gh(2), Generation(1))];
    schedule.looked(task(), Vec::new());
    schedule.take_over(Left { claims, intents: vec![(project_id(), None, key)] });
    let jobs = round(&mut schedule, 1);
    let is_abandoned = |job: &Job, of: u64| {
        matches!(job, Job::Record(Record { task, input: Some(input), .. })
            if task.1 == gh(of) && matches!(input.event, TaskEvent::Abandoned { .. }))
    };
    assert!(is_abandoned(&jobs[0], 1), "{jobs:?}");
    assert!(matches!(
        &jobs[1],
        Job::RecordProject { input: Some(ProjectInput { settles: Some(_), .. }), .. }
    ));
    assert!(!jobs.iter().any(|job| is_abandoned(job, 2)), "its project is not open");
    schedule.open_project(other_project(), INTERVAL, clock(2));
    assert!(round(&mut schedule, 2).iter().any(|job| is_abandoned(job, 2)));
}

#[test]
fn a_poll_is_made_once_an_interval_and_never_twice_at_once() {
    let mut schedule = opened(RunUntil::Stopped);
    let is_poll = |job: &Job| matches!(job, Job::Poll { .. });
    assert!(!round(&mut schedule, 60).iter().any(is_poll), "the first is under way");
    assert_eq!(schedule.polled(&project_id(), polled(7), clock(61)), None);
    let jobs = round(&mut schedule, 61);
    assert!(jobs.contains(&Job::Poll { project: project_id(), since: at(7) }), "{jobs:?}");
    let missing = Job::ReadTasks { project: project_id(), reading: Reading::ForMissing };
    assert!(jobs.contains(&missing), "also when the list is the same");
    schedule.polled(&project_id(), polled(7), clock(62));
    assert!(!round(&mut schedule, 90).iter().any(is_poll));
    assert!(round(&mut schedule, 91).iter().any(is_poll));
}

#[test]
fn a_silent_tracker_is_noticed_once_and_ends_only_what_ends_by_itself() {
    for (until, gives_up) in [(RunUntil::Stopped, false), (RunUntil::Quiet, true)] {
        let mut schedule = opened(until);
        let mut notices = Vec::new();
        for seconds in [1, 60, 2 + SILENCE.as_secs()] {
            notices.push(schedule.polled(&project_id(), failed_poll(), clock(seconds)));
        }
        assert!(matches!(notices[0], Some(PollNotice::StoppedAnswering(_))));
        assert_eq!(notices[1], None);
        assert_eq!(matches!(notices[2], Some(PollNotice::GiveUp(_))), gives_up);
        let answered = schedule.polled(&project_id(), polled(0), clock(500));
        assert_eq!(answered, Some(PollNotice::AnswersAgain));
    }
}

#[test]
fn listed_tickets_are_recorded_and_missing_ones_read() {
    let mut schedule = opened(RunUntil::Stopped);
    let found = Polled { tickets: Ok(Some(vec![ticket(1)])), ..polled(0) };
    schedule.polled(&project_id(), found, clock(1));
    let jobs = round(&mut schedule, 1);
    let is_read = |job: &Job| {
        matches!(job, Job::Record(Record { input: Some(input), .. })
        if matches!(input.event, TaskEvent::TicketRead { .. }))
    };
    assert!(is_read(&jobs[0]), "{jobs:?}");
    let running = Stage::Running { generation: Generation(1) };
    let facts = TaskFacts::new(project_id(), gh(2));
    let tracked = [TrackedTask { facts: &facts, stage: &running }];
    schedule.tasks_read(&project_id(), Reading::ForMissing, &tracked);
    let query = Job::RunQueries { task: (project_id(), gh(2)), queries: vec![Query::Ticket] };
    assert!(round(&mut schedule, 2).contains(&query));
    schedule.tasks_read(&project_id(), Reading::ForMissing, &tracked);
    assert!(!round(&mut schedule, 3).contains(&query), "the queries of a task do not overlap");
}

#[test]
fn a_command_reaches_its_task_once() {
    let mut schedule = schedule(RunUntil::Stopped, &["later"]);
    schedule.open_project(other_project(), INTERVAL, clock(0));
    schedule.receive_command("1".to_owned(), UserCommand::Cancel, Some(task()));
    let is_command = |job: &Job| matches!(job, Job::Record(record) if record.purpose == RecordFor::Command);
    let done = Job::CommandDone { id: "1".to_owned() };
    let jobs = round(&mut schedule, 0);
    assert!(!jobs.iter().any(is_command), "another project has nothing to do with it");
    assert!(!jobs.contains(&done), "its project is not open yet");
    schedule.receive_command("1".to_owned(), UserCommand::Cancel, Some(task()));
    schedule.opened("later", project_id(), INTERVAL, clock(1));
    let jobs = round(&mut schedule, 1);
    assert_eq!(jobs.iter().filter(|job| is_command(job)).count(), 1);
    let place = |wanted: &dyn Fn(&Job) -> bool| jobs.iter().position(wanted);
    assert!(place(&is_command) < place(&|job| *job == done), "it is removed after it is recorded");
}

#[test]
fn a_command_for_a_project_that_is_not_configured_is_refused_when_all_are_open() {
    let mut schedule = schedule(RunUntil::Stopped, &["later"]);
    schedule.receive_command("1".to_owned(), UserCommand::Cancel, Some(task()));
    let answers = |jobs: &[Job]| -> Vec<Job> {
        let is_answer = |job: &&Job| matches!(job, Job::CommandDone { .. } | Job::CommandRefused { .. });
        jobs.iter().filter(is_answer).cloned().collect()
    };
    assert_eq!(answers(&round(&mut schedule, 0)), [], "its project may be the one that is not open yet");
    schedule.opened("later", other_project(), INTERVAL, clock(1));
    let refused = Job::CommandRefused { id: "1".to_owned(), task: task() };
    assert_eq!(answers(&round(&mut schedule, 1)), [refused]);
    assert_eq!(answers(&round(&mut schedule, 2)), [], "once");
}

#[test]
fn a_command_on_a_pull_request_reaches_the_task_that_opened_it() {
    let mut schedule = opened(RunUntil::Stopped);
    let command = |on: CommentPlace, id: i64| {
        let by = by_comment(id, Trust::Trusted);
        PolledCommand { on, command: UserCommand::Pause, by }
    };
    let commands = vec![command(CommentPlace::Pull(PrNumber(7)), 1), command(CommentPlace::Ticket(gh(1)), 2)];
    schedule.polled(&project_id(), Polled { commands: Ok(commands), ..failed_poll() }, clock(1));
    let reads = Job::ReadTasks { project: project_id(), reading: Reading::ForCommands };
    assert!(round(&mut schedule, 1).contains(&reads));
    let mut deliver = |facts: &TaskFacts, seconds: u64| {
        let stage = Stage::Queued { rank: 0 };
        let tracked = [TrackedTask { facts, stage: &stage }];
        schedule.tasks_read(&project_id(), Reading::ForMissing, &tracked);
        let jobs = round(&mut schedule, seconds).into_iter();
        let ids = jobs.filter_map(|job| {
            let Job::Record(Record { task, input: Some(input), purpose: RecordFor::Command }) = job else {
                return None;
            };
            let TaskEvent::CommandReceived { by: CommandSource::Comment { id, .. }, .. } = input.event else {
                return None;
            };
            Some((task.1, id))
        });
        ids.collect::<Vec<_>>()
    };
    let without = TaskFacts::new(project_id(), gh(3));
    assert_eq!(deliver(&without, 2), [(gh(1), comment_id(2))], "no task knows the pull request yet");
    let with = Scenario::opened().loaded.task;
    assert_eq!(deliver(&with, 3), [(gh(1), comment_id(1))]);
    assert_eq!(deliver(&with, 4), [], "once");
}

#[test]
fn a_command_for_everything_waits_until_every_project_was_told() {
    let mut schedule = schedule(RunUntil::Stopped, &["later"]);
    schedule.open_project(project_id(), INTERVAL, clock(0));
    schedule.receive_command("1".to_owned(), UserCommand::Pause, None);
    let is_pause = |job: &Job| {
        matches!(job, Job::RecordProject { input: Some(input), .. }
        if matches!(input.event, ProjectEvent::Paused { .. }))
    };
    let done = Job::CommandDone { id: "1".to_owned() };
    let jobs = round(&mut schedule, 0);
    assert_eq!((jobs.iter().filter(|job| is_pause(job)).count(), jobs.contains(&done)), (1, false));
    schedule.opened("later", other_project(), INTERVAL, clock(1));
    let jobs = round(&mut schedule, 1);
    assert_eq!((jobs.iter().filter(|job| is_pause(job)).count(), jobs.contains(&done)), (1, true));
}

#[test]
fn a_job_that_is_put_back_is_next_and_nothing_is_added() {
    let mut schedule = opened(RunUntil::Stopped);
    schedule.looked(task(), vec![Query::Ticket]);
    schedule.plan_round(clock(1));
    let job = schedule.next_job().unwrap();
    schedule.put_back(job.clone());
    schedule.plan_round(clock(60));
    assert_eq!(schedule.next_job(), Some(job));
    schedule.queries_ended(task(), false);
    let jobs = round(&mut schedule, 61);
    assert!(jobs.contains(&Job::TakeActions { room: 15 }), "it was counted once: {jobs:?}");
}

#[test]
fn stopping_drains_then_stops_then_ends() {
    let mut schedule = opened(RunUntil::Stopped);
    schedule.run_started(task(), Generation(1));
    schedule.polled(&project_id(), polled(0), clock(1));
    assert_eq!(schedule.stop(false, clock(1)), 1);
    let stop = Job::StopRun { task: task(), generation: Generation(1) };
    let jobs = round(&mut schedule, 2);
    assert!(!jobs.contains(&stop) && !jobs.iter().any(|job| matches!(job, Job::Dispatch { .. })), "{jobs:?}");
    assert!(!schedule.has_stopped(false));
    let jobs = round(&mut schedule, 1 + DRAIN.as_secs());
    assert!(jobs.contains(&stop) && !jobs.iter().any(|job| matches!(job, Job::TakeActions { .. })));
    let ending = stopped(crate::outcome::Class::Cancelled, None);
    schedule.run_ended(task(), Generation(1), ending);
    assert!(!schedule.has_stopped(false), "it is not recorded yet");
    assert!(schedule.has_stopped(true), "a busy database does not keep it");
    let Some(Job::Record(record)) = schedule.next_job() else { panic!("the ending is recorded") };
    schedule.recorded(&record, &recorded(Stage::Queued { rank: 1 }), clock(20));
    assert!(schedule.has_stopped(false));
    let mut urgent = opened(RunUntil::Stopped);
    urgent.run_started(task(), Generation(1));
    assert_eq!(urgent.stop(true, clock(1)), 0);
    assert!(round(&mut urgent, 1).contains(&stop));
}

#[test]
fn an_action_whose_claim_is_over_is_given_back() {
    for (applied, is_given_back) in [(Applied::Fenced, true), (Applied::Written, false)] {
        let mut schedule = opened(RunUntil::Stopped);
        schedule.actions_taken(vec![entry(project_id()), entry(other_project())]);
        assert!(matches!(schedule.next_job(), Some(Job::Perform { .. })));
        assert_eq!(schedule.next_job(), None, "an action of a project that is not open is parked");
        schedule.performed(
            &entry(project_id()),
            Report::Task(TaskEvent::ClaimPlaced { generation: Generation(1) }),
        );
        let Some(Job::Record(record)) = schedule.next_job() else { panic!("it is recorded") };
        assert_eq!(record.purpose, RecordFor::Settling);
        schedule.recorded(&record, &Recorded { applied, ..Recorded::unknown() }, clock(1));
        let next = schedule.next_job();
        let is_failure = matches!(&next, Some(Job::Record(Record { input: Some(input), .. }))
            if matches!(input.event, TaskEvent::Failed { .. }) && input.settles.is_some());
        assert_eq!(is_failure, is_given_back, "{next:?}");
    }
}

#[test]
fn the_queue_is_read_again_after_a_claim_that_counts() {
    for (generation, again) in [(2, true), (1, false)] {
        let mut schedule = opened(RunUntil::Stopped);
        let (home, me) = (HomeId::parse("home").unwrap(), InstanceId::parse("me").unwrap());
        schedule.claim(task(), Generation(1), home, me);
        let Some(Job::Record(record)) = schedule.next_job() else { panic!("the claim is recorded") };
        let claimed = Recorded { generation: Generation(generation), ..Recorded::unknown() };
        schedule.recorded(&record, &claimed, clock(1));
        assert_eq!(schedule.next_job().is_some(), again);
    }
}

#[test]
fn tasks_that_fit_into_the_budget_again_are_freed_before_anything_is_claimed() {
    let mut schedule = opened(RunUntil::Stopped);
    assert!(!schedule.budget_freed(Vec::new()));
    assert_eq!(schedule.next_job(), None);
    let task = (project_id(), gh(1));
    assert!(schedule.budget_freed(vec![task.clone()]));
    let jobs: Vec<Job> = std::iter::from_fn(|| schedule.next_job()).collect();
    let input = Some(Input { event: TaskEvent::BudgetFreed, settles: None });
    let record = Job::Record(Record { task, input, purpose: RecordFor::Event });
    assert_eq!(jobs, [record, Job::Dispatch { is_budget_checked: true }]);
}

#[test]
fn what_ends_by_itself_ends_after_two_quiet_polls() {
    let mut schedule = opened(RunUntil::Quiet);
    for (seconds, is_any_active, version, ends) in
        [(1, false, 0, false), (31, true, 0, false), (61, false, 0, false), (91, false, 0, true)]
    {
        schedule.store_read(version);
        schedule.polled(&project_id(), polled(0), clock(seconds));
        assert!(round(&mut schedule, seconds).contains(&Job::CountActive));
        schedule.active_counted(is_any_active, version);
        schedule.polled(&project_id(), polled(0), clock(seconds));
        while schedule.next_job().is_some() {}
        assert_eq!(schedule.end_check().is_some(), ends, "after {seconds} s");
    }
    schedule.active_counted(false, 1);
    assert_eq!(schedule.end_check(), None, "another process wrote");
}

#[test]
fn one_task_alone_is_chosen_read_and_waited_for() {
    let mut schedule = opened(RunUntil::Rest(gh(1)));
    let facts = ProjectFacts::new(project_id());
    let loads = [ProjectLoad { project: &facts, mode: Mode::Parallel }];
    let candidate = |number: u64, root: u64, rank: i64| Candidate {
        project: project_id(),
        task: gh(number),
        root: gh(root),
        rank,
        paths: TouchedPaths::Unknown,
    };
    let all = [candidate(2, 2, 1), candidate(3, 1, 2)];
    assert_eq!(schedule.choose(&loads, &all, at(0)), Some((project_id(), gh(3))), "a fix of it");
    assert_eq!(schedule.choose(&loads, &all[..1], at(0)), None);
    assert_eq!(schedule.end_check(), None);
    schedule.query_answered(&task(), &Query::Ticket, TaskEvent::TicketRead { ticket: ticket(1) });
    schedule.queries_ended(task(), false);
    schedule.polled(&project_id(), polled(0), clock(1));
    while schedule.next_job().is_some() {}
    assert_eq!(schedule.end_check(), Some(EndCheck::Rests(gh(1))));
}

#[test]
fn queries_that_failed_come_later() {
    for (has_failed, wake) in [(false, at(1005)), (true, at(1034))] {
        let mut schedule = opened(RunUntil::Stopped);
        schedule.queries_ended(task(), has_failed);
        let Some(Job::Record(record)) = schedule.next_job() else { panic!("time is recorded") };
        let checking =
            Recorded { wake: Some(at(1005)), ..recorded(Stage::Checking { queries: vec![Query::Ticket] }) };
        schedule.recorded(&record, &checking, clock(4));
        assert_eq!(schedule.wakes.get(&task()), Some(&wake));
    }
}

#[test]
fn a_run_is_stopped_by_its_own_number_only() {
    for (running, is_stopped) in [(1, true), (2, false)] {
        let mut schedule = opened(RunUntil::Stopped);
        schedule.run_started(task(), Generation(running));
        schedule.looked(task(), Vec::new());
        let Some(Job::Record(record)) = schedule.next_job() else { panic!("time is recorded") };
        let why = crate::task::Stop::Cancelled { by: "@ann".to_owned() };
        schedule.recorded(&record, &recorded(Stage::Stopping { generation: Generation(1), why }), clock(1));
        assert_eq!(schedule.next_job().is_some(), is_stopped);
    }
}

#[test]
fn the_wait_ends_with_whatever_is_due_first() {
    let mut schedule = opened(RunUntil::Stopped);
    let soon = |schedule: &Schedule, action| schedule.next_due(clock(1), action);
    assert_eq!(soon(&schedule, None), Duration::from_secs(19), "the lease");
    assert_eq!(soon(&schedule, Some(at(1003))), Duration::from_secs(2), "an action");
    assert_eq!(schedule.wait(clock(1), Some(at(1003))), Duration::from_secs(1), "others may write");
    schedule.project_recorded(&project_id(), Some(at(1006)));
    assert_eq!(soon(&schedule, None), Duration::from_secs(5), "the project");
    schedule.wakes.insert(task(), at(500));
    assert_eq!(soon(&schedule, None), super::SHORTEST_WAIT, "a task that is overdue");
}
