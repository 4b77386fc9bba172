//! The breaker, the caps, and what is remembered of merges.

use std::time::Duration;

use super::{HOUR, MOMENTS, ProjectEvent, ProjectFacts, Unreleased};
use crate::id::PrNumber;
use crate::observed::FailureKind;
use crate::outcome::Class;
use crate::task::scenario::{at, failure, policy, project_id, sha};
use crate::task::{Key, Lane};

fn project() -> ProjectFacts {
    ProjectFacts::new(project_id())
}

#[test]
fn the_breaker_opens_after_failures_in_a_row() {
    let broken = |ends: &[Option<Class>]| {
        let mut project = project();
        for end in ends {
            project.run_ended(at(0), *end);
        }
        project.broken_until(&policy().breaker, at(1)).map(|(until, _)| until.since(at(0)).as_secs())
    };
    let failed = Some(Class::GateFailed);
    for (ends, expect) in [
        (&[failed, failed][..], None),
        (&[failed, failed, failed], Some(1800)),
        (&[failed, failed, None, failed], None),
        // Limits pass by themselves, and a person who stops a run is no failure.
        (&[failed, failed, Some(Class::RateLimit), Some(Class::Cancelled)], None),
        (&[failed, Some(Class::RateLimit), failed, failed], Some(1800)),
        // A failure of the account concerns every task.
        (&[Some(Class::Auth)], Some(1800)),
        (&[Some(Class::Billing)], Some(1800)),
        (&[Some(Class::Auth), None], None),
    ] {
        assert_eq!(broken(ends), expect, "{ends:?}");
    }
}

#[test]
fn the_breaker_closes_by_itself_and_by_hand() {
    let mut project = project();
    project.run_ended(at(0), Some(Class::Auth));
    assert!(project.broken_until(&policy().breaker, at(1799)).is_some());
    assert!(project.broken_until(&policy().breaker, at(1800)).is_none());
    project.fold(at(5), &ProjectEvent::Resumed { by: "ann".to_owned() });
    assert!(project.broken_until(&policy().breaker, at(6)).is_none());
}

#[test]
fn merges_and_issues_have_a_cap_an_hour() {
    let mut project = project();
    let policy = policy();
    for minute in 0..10 {
        assert_eq!(project.merges_capped_until(&policy, at(60 * minute)), None, "{minute}");
        project.merged(at(60 * minute));
        project.ticket_opened(at(60 * minute));
    }
    assert_eq!(project.merges_capped_until(&policy, at(600)), Some(at(0).after(HOUR)));
    assert_eq!(project.tickets_capped_until(&policy, at(600)), Some(at(0).after(HOUR)));
    assert_eq!(project.merges_capped_until(&policy, at(3600)), None, "the first is an hour old");
    project.merged(at(3600));
    assert_eq!(project.merges_capped_until(&policy, at(3601)), Some(at(60).after(HOUR)));
}

#[test]
fn what_is_remembered_for_a_cap_has_an_end() {
    let mut project = project();
    for _ in 0..2 * MOMENTS {
        project.merged(at(0));
    }
    assert_eq!(project.merges.len(), MOMENTS);
    project.merged(at(0).after(2 * HOUR));
    assert_eq!(project.merges.len(), 1);
}

#[test]
fn a_tag_takes_the_merges_before_it() {
    let mut project = project();
    for digit in 1..=3 {
        let merge = |title: &str| Unreleased {
            commit: sha(digit),
            pr: PrNumber(u64::from(digit)),
            title: title.to_owned(),
            at: at(0),
        };
        project.landed(merge("once"));
        project.landed(merge("twice"));
    }
    assert_eq!(project.unreleased.len(), 3);
    project.fold(at(1), &ProjectEvent::Tagged { tag: "v0.1.0".to_owned(), commit: sha(2) });
    assert_eq!(project.unreleased.iter().map(|merge| &merge.commit).collect::<Vec<_>>(), [&sha(3)]);
    assert_eq!(project.tag, Some(("v0.1.0".to_owned(), sha(2))));
}

#[test]
fn trouble_is_counted_until_it_is_over() {
    let mut project = project();
    let key = Key::new(Lane::Tag, sha(1));
    for count in 1..=3 {
        let failure = failure(FailureKind::Server);
        project.fold(at(count), &ProjectEvent::Failed { key: key.clone(), failure });
        assert_eq!(project.trouble.get(&Lane::Tag).map(|trouble| i64::from(trouble.count)), Some(count));
    }
    project.settled(&key);
    assert!(project.trouble.is_empty());
}

#[test]
fn what_is_known_of_a_project_is_no_news() {
    let mut project = project();
    let by = || "ann".to_owned();
    let paused = ProjectEvent::Paused { by: by() };
    for (event, message) in [
        (ProjectEvent::Resumed { by: by() }, false),
        (paused.clone(), true),
        (paused, false),
        (ProjectEvent::Resumed { by: by() }, true),
    ] {
        assert_eq!(project.is_news(&event), message, "{event:?}");
        if message {
            project.fold(at(0).after(Duration::from_secs(1)), &event);
        }
    }
}
