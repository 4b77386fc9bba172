//! Which task runs next.

use std::time::Duration;

use super::{Candidate, ProjectLoad, funded, next, queued_behind};
use crate::budget::{BudgetConfig, Limit, Period, Shortage, Standing, Usd, Window};
use crate::fact::{Active, ProjectFacts, Unfunded};
use crate::id::{ProjectId, TaskKey};
use crate::observed::TouchedPaths;
use crate::policy::Mode;
use crate::route::Complexity;
use crate::task::Hold;
use crate::task::scenario::{Scenario, at, gh};
use crate::time::Timestamp;
use crate::turn::Loaded;
use crate::words;

fn project(name: &str) -> ProjectId {
    ProjectId::parse(name).unwrap()
}

fn paths(directory: &str) -> TouchedPaths {
    match directory {
        "" => TouchedPaths::Unknown,
        directory => TouchedPaths::Named([directory.to_owned()].into()),
    }
}

/// A task of the project `a/a` that waits, with its place and its directory.
fn waits(number: u64, rank: i64, directory: &str) -> Candidate {
    Candidate {
        project: project("github:a/a"),
        task: gh(number),
        root: gh(number),
        rank,
        paths: paths(directory),
    }
}

/// One that is being worked on.
fn works(number: u64, directory: &str, running: bool, until: i64) -> (TaskKey, Active) {
    let (root, paths, until) = (gh(number), paths(directory), at(until));
    (gh(number), Active { root, paths, running, until, has_work: true, hold: None })
}

fn turn_of(mode: Mode, active: Vec<(TaskKey, Active)>, waiting: &[Candidate]) -> Option<u64> {
    let mut facts = ProjectFacts::new(project("github:a/a"));
    facts.active = active.into_iter().collect();
    let load = ProjectLoad { project: &facts, mode };
    next(&[load], waiting, 2, at(1000)).map(|candidate| candidate.task.number_with("GH").unwrap())
}

#[test]
fn the_first_of_the_queue_that_may() {
    let queue = [waits(1, 30, "src"), waits(2, 10, "web"), waits(3, 20, "docs")];
    let in_src = || vec![works(9, "src", true, i64::MAX / 1_000_000)];
    let pr_in_web = || vec![works(9, "web/app", false, 2000)];
    let stale_pr = || vec![works(9, "web", false, 999)];
    let two = || vec![works(8, "x", true, 2000), works(9, "y", true, 2000)];
    for (mode, active, expect) in [
        (Mode::Sequential, vec![], Some(2)),
        (Mode::Sequential, in_src(), None),
        (Mode::Sequential, pr_in_web(), None),
        // The configured time to wait for it is over.
        (Mode::Sequential, stale_pr(), Some(2)),
        (Mode::Parallel, in_src(), Some(2)),
        (Mode::Parallel, two(), None),
        (Mode::Auto, in_src(), Some(2)),
        // The one that must wait does not block those behind it.
        (Mode::Auto, pr_in_web(), Some(3)),
        (Mode::Auto, vec![works(9, "", true, 2000)], None),
    ] {
        assert_eq!(turn_of(mode, active.clone(), &queue), expect, "{mode:?} {active:?}");
    }
    assert_eq!(turn_of(Mode::Sequential, vec![], &[]), None);
}

#[test]
fn a_line_of_fixes_is_not_in_its_own_way() {
    let fix = Candidate { root: gh(9), ..waits(12, -5, "src") };
    for mode in [Mode::Sequential, Mode::Auto] {
        let parent = vec![works(9, "src", false, 5000)];
        assert_eq!(turn_of(mode, parent, &[waits(1, -9, "src"), fix.clone()]), Some(12), "{mode:?}");
    }
}

#[test]
fn a_held_task_is_waited_for_until_its_time_is_over() {
    for (until, expect) in [(5000, None), (0, Some(1))] {
        let mut facts = ProjectFacts::new(project("github:a/a"));
        facts.held = [works(9, "src", false, until)].into();
        let load = [ProjectLoad { project: &facts, mode: Mode::Sequential }];
        let queue = [waits(1, 0, "src")];
        let picked = next(&load, &queue, 2, at(1000)).and_then(|candidate| candidate.task.number_with("GH"));
        assert_eq!(picked, expect, "{until}");
    }
}

#[test]
fn a_task_with_a_turn_is_not_the_next_one() {
    // Two tasks have a turn: the label of one was removed and added again.
    for (running, expect) in [(false, Some(12)), (true, None)] {
        let both = vec![works(9, "src", false, 5000), works(7, "src", running, 5000)];
        let fix = Candidate { root: gh(9), ..waits(12, 5, "src") };
        assert_eq!(turn_of(Mode::Sequential, both, &[waits(1, 0, "src"), fix]), expect, "{running}");
    }
}

#[test]
fn two_tasks_that_began_do_not_wait_for_each_other() {
    for (has_work, expect) in [(false, Some(7)), (true, None)] {
        let mut facts = ProjectFacts::new(project("github:a/a"));
        let (other, active) = works(9, "src", false, 5000);
        let (task, own) = works(7, "src", false, 5000);
        let own = Active { has_work: false, ..own };
        facts.held = [(other, Active { has_work, ..active }), (task, own)].into();
        let load = [ProjectLoad { project: &facts, mode: Mode::Sequential }];
        let queue = [waits(1, 0, "src"), waits(7, 5, "src")];
        let picked = next(&load, &queue, 2, at(1000)).and_then(|candidate| candidate.task.number_with("GH"));
        assert_eq!(picked, expect, "{has_work}");
    }
}

#[test]
fn no_task_waits_for_a_chain_of_fixes_that_a_user_gave_up() {
    for (running, expect) in [(false, Some(1)), (true, None)] {
        let mut facts = ProjectFacts::new(project("github:a/a"));
        facts.active = [works(9, "src", running, 5000)].into();
        facts.withdrawn = [(gh(12), gh(9))].into();
        let load = [ProjectLoad { project: &facts, mode: Mode::Sequential }];
        let queue = [waits(1, 0, "src")];
        let picked = next(&load, &queue, 2, at(1000)).and_then(|candidate| candidate.task.number_with("GH"));
        assert_eq!(picked, expect, "{running}");
    }
}

#[test]
fn a_queued_task_says_what_it_waits_for() {
    let mut scenario = Scenario::queued();
    let facts = &mut scenario.loaded.project.facts;
    let behind = |scenario: &Scenario, mode: Mode| {
        let Loaded { task, project, .. } = &scenario.loaded;
        let load = ProjectLoad { project: &project.facts, mode };
        let behind = queued_behind(&load, task, scenario.stage(), scenario.now)?;
        Some(words::queued_behind(&behind, &scenario.policy.references))
    };
    facts.active = [works(9, "src", false, 5000)].into();
    assert_eq!(behind(&scenario, Mode::Sequential).as_deref(), Some("Queued behind GH-9."));
    assert_eq!(behind(&scenario, Mode::Parallel), None);
    // Its fix is held: that is what people have to know.
    let (fix, mut held) = works(12, "src", false, 5000);
    held.hold = Some(Hold::Paused { by: "@ann".to_owned() });
    scenario.loaded.project.facts.held = [(fix, held)].into();
    let expect = "Queued behind GH-12, which is held: Paused by @ann. `/pilot resume` continues.";
    assert_eq!(behind(&scenario, Mode::Sequential).as_deref(), Some(expect));
    scenario.claim();
    assert_eq!(behind(&scenario, Mode::Sequential), None, "it is not queued any more");
}

#[test]
fn machines_have_room_for_so_many_whatever_the_projects() {
    let mut one = ProjectFacts::new(project("github:a/a"));
    let two = ProjectFacts::new(project("github:b/b"));
    let waiting = [Candidate { project: project("github:b/b"), ..waits(1, 0, "") }, waits(2, 5, "")];
    let mode = Mode::Sequential;
    let pick = |one: &ProjectFacts, most: usize| {
        let floors = [ProjectLoad { project: one, mode }, ProjectLoad { project: &two, mode }];
        next(&floors, &waiting, most, at(0)).map(|candidate| candidate.task.number_with("GH").unwrap())
    };
    assert_eq!(pick(&one, 2), Some(1));
    one.active = [works(9, "", true, 5000)].into();
    assert_eq!((pick(&one, 2), pick(&one, 1)), (Some(1), None));
    let unknown = [Candidate { project: project("github:c/c"), ..waits(1, 0, "") }];
    assert_eq!(next(&[ProjectLoad { project: &one, mode }], &unknown, 2, at(0)), None, "nobody's project");
}

#[test]
fn no_task_starves() {
    // Every hour an urgent ticket comes in, and one task is done; the ordinary one is chosen within a week.
    let rank = |written: Timestamp, before: Duration| written.before(before).0;
    let week = Duration::from_secs(7 * 24 * 3600);
    let hour = Duration::from_secs(3600);
    let mut queue = vec![waits(1, at(0).0, "")];
    let served = (1..1000_u64).find(|count| {
        let written = at(0).after(hour * u32::try_from(*count).unwrap());
        queue.push(waits(count + 1, rank(written, week), ""));
        let first = turn_of(Mode::Sequential, vec![], &queue).expect("a candidate");
        queue.retain(|candidate| candidate.task != gh(first));
        first == 1
    });
    assert_eq!(served, Some(168));
}

#[test]
fn tasks_that_fit_into_the_budget_again_are_freed_in_their_order() {
    use Complexity::{Complex, Medium, Trivial};
    let unfunded = |rank, size| {
        let shortage = Shortage {
            limit: Limit::Daily,
            size,
            reserve: Usd::ZERO,
            spent: Usd::ZERO,
            reserved: Usd::ZERO,
            most: Usd::ZERO,
            until: at(0),
            has_begun: false,
        };
        Unfunded { rank, shortage }
    };
    let mut first = ProjectFacts::new(project("github:a/a"));
    first.unfunded = [(gh(1), unfunded(30, Trivial)), (gh(2), unfunded(10, Complex))].into();
    let mut second = ProjectFacts::new(project("github:b/b"));
    second.unfunded = [(gh(3), unfunded(20, Medium)), (gh(4), unfunded(40, Medium))].into();
    let window = Window { day: Period { start: 0, end: 10 }, month: Period { start: 0, end: 300 } };
    for (spent, expect) in [
        (0.0, &[2, 3, 1, 4][..]),
        (46.0, &[2, 3, 1]),
        // The first does not fit, and does not block those behind it.
        (48.0, &[3, 1, 4]),
        (49.1, &[3, 1]),
        (49.9, &[1]),
        (50.0, &[]),
    ] {
        let standing = Standing { today: Usd::from_dollars(spent).unwrap(), ..Standing::default() };
        let freed = funded(&[&first, &second], &BudgetConfig::default(), &standing, &window);
        let numbers: Vec<u64> = freed.iter().map(|(_, task)| task.number_with("GH").unwrap()).collect();
        assert_eq!(numbers, expect, "{spent}");
    }
    let off = BudgetConfig { enabled: false, ..BudgetConfig::default() };
    let standing = Standing { today: Usd::from_dollars(99.0).unwrap(), ..Standing::default() };
    assert_eq!(funded(&[&first, &second], &off, &standing, &window).len(), 4);
}
