//! Money is counted once, whichever process dies when.

use std::time::Duration;

use pilot_core::budget::{
    Basis, BudgetAdmission, BudgetConfig, BudgetLevel, Charge, Limit, Period, Shortage, Spent, Standing, Usd,
    Window, admit,
};
use pilot_core::outcome::{Class, RunStatus};
use pilot_core::retry::{Counter, RetryCounters};
use pilot_core::route::Complexity;
use pilot_core::time::Timestamp;
use pilot_store::{Applicant, Finish, Owner, RunId, Store, StoreError};

use crate::world::{NOON, World, at, run_of};

const HOUR: i64 = 3_600_000_000;

/// The day around noon, and a month of thirty days around it.
const WINDOW: Window = Window {
    day: Period { start: NOON - 12 * HOUR, end: NOON + 12 * HOUR },
    month: Period { start: NOON - 300 * HOUR, end: NOON + 420 * HOUR },
};

fn usd(dollars: f64) -> Usd {
    Usd::from_dollars(dollars).expect("an amount")
}

fn owner(pid: u32) -> Owner {
    Owner { pid, started: "boot:100".to_owned() }
}

fn applicant(run: &RunId, task: &str, pid: u32) -> Applicant {
    Applicant {
        run: run.clone(),
        task_id: task.to_owned(),
        project_path: "/srv/app".to_owned(),
        at: at(0),
        owner: owner(pid),
    }
}

fn charge(dollars: f64) -> Charge {
    let spent = Spent { tokens: 1_000, usd: usd(dollars), time: Duration::from_secs(60) };
    Charge { spent, basis: Basis::Priced }
}

fn shortage() -> Shortage {
    Shortage {
        limit: Limit::Daily,
        size: Complexity::Medium,
        reserve: usd(0.75),
        spent: usd(50.0),
        reserved: Usd::ZERO,
        most: usd(50.0),
        until: Timestamp(WINDOW.day.end),
        has_begun: false,
    }
}

fn finish(seconds: i64, dollars: f64) -> Finish {
    Finish { charge: Some(charge(dollars)), ..Finish::new(RunStatus::Completed, at(seconds)) }
}

/// Admits a run with this reserve, and begins it.
async fn begun(store: &Store, task: &str, reserve: f64) -> RunId {
    let new = run_of(task, at(0));
    let go = BudgetAdmission::Go { reserve: usd(reserve), warnings: Vec::new() };
    let applicant = applicant(&new.id, task, new.owner.pid);
    store.admit(&applicant, &WINDOW, |_| go).await.expect("admitted");
    store.begin_execution(&new).await.expect("begun").id
}

async fn standing(store: &Store) -> (f64, f64, f64) {
    let Standing { today, this_month, reserved } = store.standing(&WINDOW, None).await.expect("sums");
    (today.dollars(), this_month.dollars(), reserved.dollars())
}

#[tokio::test]
async fn a_reserve_becomes_a_charge_when_the_run_ends() {
    let world = World::new();
    let store = world.store().await;
    let run = begun(&store, "GH-1", 0.75).await;
    assert_eq!(standing(&store).await, (0.0, 0.0, 0.75));
    let mine = store.standing(&WINDOW, Some(&run)).await.unwrap();
    assert_eq!(mine.reserved, Usd::ZERO, "its own reserve is left out");
    store.finish_execution(&run, &finish(60, 0.5)).await.unwrap();
    assert_eq!(standing(&store).await, (0.5, 0.5, 0.0));
    let rows = store.charges(10).await.unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].usd_micros, rows[0].basis, rows[0].tokens), (usd(0.5), Basis::Priced, 1_000));
    assert_eq!((rows[0].title.as_str(), rows[0].agent_ms), ("Do GH-1", 60_000));
}

#[tokio::test]
async fn a_run_that_ends_twice_is_charged_once() {
    let world = World::new();
    let store = world.store().await;
    let run = begun(&store, "GH-1", 0.75).await;
    store.finish_execution(&run, &finish(60, 0.5)).await.unwrap();
    let again = store.finish_execution(&run, &finish(61, 7.0)).await.unwrap_err();
    assert!(matches!(again, StoreError::AlreadyEnded { .. }), "{again}");
    let abandoned = store.mark_abandoned(&run, "it died", at(62)).await.unwrap_err();
    assert!(matches!(abandoned, StoreError::AlreadyEnded { .. }), "{abandoned}");
    assert_eq!(standing(&store).await, (0.5, 0.5, 0.0));
}

#[tokio::test]
async fn a_run_that_dies_is_charged_what_was_known_and_holds_nothing() {
    let world = World::new();
    let store = world.store().await;
    let without_comments = begun(&store, "GH-1", 0.75).await;
    let reporting = begun(&store, "GH-2", 0.75).await;
    store.note_spent(&reporting, &charge(0.25)).await.unwrap();
    // Pilot dies here; the next one opens the same file.
    store.close().await;
    let store = world.store().await;
    assert_eq!(standing(&store).await, (0.0, 0.0, 1.5));
    for run in store.abandoned(|_| false).await.unwrap() {
        store.mark_abandoned(&run.id, "Pilot died", at(90)).await.unwrap();
    }
    assert_eq!(standing(&store).await, (0.25, 0.25, 0.0));
    let charged: Vec<RunId> =
        store.charges(10).await.unwrap().into_iter().map(|row| row.execution_id).collect();
    assert_eq!(charged, [reporting], "{without_comments} had reported no cost");
}

#[tokio::test]
async fn a_run_that_was_admitted_and_never_began_loses_its_reserve() {
    let world = World::new();
    let store = world.store().await;
    let go = || BudgetAdmission::Go { reserve: usd(3.0), warnings: Vec::new() };
    let (dead, alive, gone) = (RunId::generate(at(0)), RunId::generate(at(0)), RunId::generate(at(0)));
    for (run, pid) in [(&dead, 1), (&alive, 2), (&gone, 3)] {
        store.admit(&applicant(run, "GH-1", pid), &WINDOW, |_| go()).await.unwrap();
    }
    store.note_spent(&gone, &charge(0.5)).await.unwrap();
    assert_eq!(standing(&store).await, (0.0, 0.0, 9.0));
    assert_eq!(store.release_dead(|owner| owner.pid == 2, at(5)).await.unwrap(), 2);
    assert_eq!(standing(&store).await, (0.5, 0.5, 3.0));
    assert_eq!(store.release_dead(|owner| owner.pid == 2, at(6)).await.unwrap(), 0);
    store.release(&alive, at(7)).await.unwrap();
    assert_eq!(standing(&store).await, (0.5, 0.5, 0.0));
}

#[tokio::test]
async fn a_run_that_asks_again_has_one_reserve_and_is_charged_what_it_cost_without_beginning() {
    let world = World::new();
    let store = world.store().await;
    let (run, other) = (RunId::generate(at(0)), RunId::generate(at(0)));
    let go = |dollars| BudgetAdmission::Go { reserve: usd(dollars), warnings: Vec::new() };
    store.admit(&applicant(&other, "GH-2", 1), &WINDOW, |_| go(1.0)).await.unwrap();
    store.admit(&applicant(&run, "GH-1", 1), &WINDOW, |_| go(0.75)).await.unwrap();
    store.note_spent(&run, &charge(0.25)).await.unwrap();
    let (_, seen) = store.admit(&applicant(&run, "GH-1", 1), &WINDOW, |_| go(3.0)).await.unwrap();
    assert_eq!(seen.reserved, usd(1.0), "only what is reserved for others");
    assert_eq!(standing(&store).await, (0.0, 0.0, 4.0));
    let hold = BudgetAdmission::Hold(shortage());
    store.admit(&applicant(&run, "GH-1", 1), &WINDOW, |_| hold).await.unwrap();
    store.release(&run, at(5)).await.unwrap();
    assert_eq!(standing(&store).await, (0.25, 0.25, 1.0));
}

#[tokio::test]
async fn many_at_once_never_reserve_more_than_there_is() {
    let world = World::new();
    let store = world.store().await;
    let config = BudgetConfig { daily_limit: usd(10.0), ..BudgetConfig::default() };
    let mut asking = tokio::task::JoinSet::new();
    for number in 0..20 {
        let (store, config) = (world.store().await, config.clone());
        asking.spawn(async move {
            let run = RunId::generate(at(number));
            let applicant = applicant(&run, "GH-1", 1);
            let decide = |standing: &Standing| admit(&config, standing, &WINDOW, Complexity::Complex);
            let (admission, _) = store.admit(&applicant, &WINDOW, decide).await.expect("an answer");
            matches!(admission, BudgetAdmission::Go { .. })
        });
    }
    let admitted = asking.join_all().await.into_iter().filter(|went| *went).count();
    assert_eq!(admitted, 3, "three times three dollars fit below ten");
    assert_eq!(standing(&store).await, (0.0, 0.0, 9.0));
}

#[tokio::test]
async fn a_run_that_is_not_admitted_reserves_nothing() {
    let world = World::new();
    let store = world.store().await;
    let run = RunId::generate(at(0));
    for admission in [BudgetAdmission::Hold(shortage()), BudgetAdmission::Refuse(shortage())] {
        let (got, seen) =
            store.admit(&applicant(&run, "GH-1", 1), &WINDOW, |_| admission.clone()).await.unwrap();
        assert_eq!((got, seen), (admission, Standing::default()));
    }
    assert_eq!(standing(&store).await, (0.0, 0.0, 0.0));
}

#[tokio::test]
async fn charges_fall_on_the_day_and_month_they_end_in() {
    let world = World::new();
    let store = world.store().await;
    let seconds = |micros: i64| (micros - NOON) / 1_000_000;
    for (micros, dollars) in [
        (WINDOW.day.start - 1_000_000, 1.0),
        (WINDOW.day.start, 2.0),
        (WINDOW.day.end - 1_000_000, 4.0),
        (WINDOW.day.end, 8.0),
        (WINDOW.month.start - 1_000_000, 16.0),
        (WINDOW.month.end, 32.0),
    ] {
        let run = begun(&store, "GH-1", 0.0).await;
        store.finish_execution(&run, &finish(seconds(micros), dollars)).await.unwrap();
    }
    assert_eq!(standing(&store).await, (6.0, 15.0, 0.0));
    let task = store.spent_on("/srv/app", "GH-1").await.unwrap();
    assert_eq!((task.usd, task.tokens, task.time), (usd(63.0), 6_000, Duration::from_secs(360)));
    assert_eq!(store.spent_on("/srv/other", "GH-1").await.unwrap(), Spent::default());
}

#[tokio::test]
async fn a_run_beyond_its_reserve_holds_what_it_has_cost() {
    let world = World::new();
    let store = world.store().await;
    let run = begun(&store, "GH-1", 0.75).await;
    store.note_spent(&run, &charge(0.5)).await.unwrap();
    assert_eq!(standing(&store).await.2, 0.75);
    store.note_spent(&run, &charge(2.0)).await.unwrap();
    assert_eq!(standing(&store).await.2, 2.0);
}

#[tokio::test]
async fn a_cost_that_cannot_be_does_not_break_the_sums() {
    let world = World::new();
    let store = world.store().await;
    for _ in 0..3 {
        let run = begun(&store, "GH-1", 0.0).await;
        let spent = Spent { tokens: u64::MAX, usd: Usd::from_micros(u64::MAX), time: Duration::MAX };
        let charge = Some(Charge { spent, basis: Basis::Reported });
        let finish = Finish { charge, ..Finish::new(RunStatus::Failed, at(1)) };
        store.finish_execution(&run, &finish).await.unwrap();
    }
    assert_eq!(standing(&store).await.0, 3_000_000.0);
}

#[tokio::test]
async fn each_warning_is_told_once_a_day() {
    let world = World::new();
    let store = world.store().await;
    let (today, tomorrow) = (at(0), at(86_400));
    for (limit, level, day, first) in [
        (Limit::Daily, BudgetLevel::Near, today, true),
        (Limit::Daily, BudgetLevel::Near, today, false),
        (Limit::Daily, BudgetLevel::Over, today, true),
        (Limit::Monthly, BudgetLevel::Near, today, true),
        (Limit::Daily, BudgetLevel::Near, tomorrow, true),
        (Limit::Daily, BudgetLevel::Near, tomorrow, false),
    ] {
        assert_eq!(
            store.is_first_warning(limit, level, day, at(1)).await.unwrap(),
            first,
            "{limit:?} {level:?}"
        );
    }
}

#[tokio::test]
async fn attempts_are_counted_for_each_task_and_survive() {
    let world = World::new();
    let store = world.store().await;
    let api = Counter::Class(Class::ApiError);
    for counter in [api, api, Counter::Fallback] {
        store.count_retry("/srv/app", "GH-1", counter).await.unwrap();
    }
    store.count_retry("/srv/other", "GH-1", api).await.unwrap();
    store.close().await;
    let store = world.store().await;
    let counters = store.retries("/srv/app", "GH-1").await.unwrap();
    assert_eq!((counters.of(api), counters.of(Counter::Fallback), counters.total()), (2, 1, 3));
    assert_eq!(store.retries("/srv/app", "GH-2").await.unwrap(), RetryCounters::NONE);
}
