//! When a project is tagged, and how the tag is called.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Bump, NewTag, Version, decide};
use crate::fact::{Active, ProjectEvent, ProjectFacts, Unreleased};
use crate::id::PrNumber;
use crate::observed::{FailureKind, TouchedPaths};
use crate::policy::{Policy, ReleasePolicy};
use crate::task::Action;
use crate::task::scenario::{at, failure, gh, policy, project_id, sha};
use crate::time::Timestamp;

fn releasing() -> Policy {
    let release = ReleasePolicy { prefix: "v".to_owned(), max_wait: Duration::from_secs(600) };
    Policy { release: Some(release), ..policy() }
}

fn merged(titles: &[&str]) -> ProjectFacts {
    let mut project = ProjectFacts::new(project_id());
    for (digit, title) in (1..).zip(titles) {
        let pr = PrNumber(u64::from(digit));
        project.landed(Unreleased { commit: sha(digit), pr, title: (*title).to_owned(), at: at(100) });
    }
    project
}

fn busy_until(project: &mut ProjectFacts, until: Timestamp) {
    let active = Active {
        root: gh(9),
        paths: TouchedPaths::Unknown,
        running: true,
        until,
        has_work: false,
        hold: None,
    };
    project.active = BTreeMap::from([(gh(9), active)]);
}

fn tags(project: &ProjectFacts, policy: &Policy, now: Timestamp) -> Option<NewTag> {
    match decide(project, policy, now).actions.into_iter().next().map(|planned| planned.action) {
        Some(Action::Tag(new)) => Some(new),
        _ => None,
    }
}

#[test]
fn merges_are_tagged_when_the_project_rests() {
    let mut project = merged(&["fix: a", "feat: b"]);
    let new = tags(&project, &releasing(), at(101)).expect("a tag");
    assert_eq!((new.commit, new.bump, new.prefix.as_str()), (sha(2), Bump::Minor, "v"));
    assert_eq!(tags(&project, &policy(), at(101)), None, "only where that is configured");
    assert_eq!(tags(&merged(&[]), &releasing(), at(101)), None);
    busy_until(&mut project, at(5000));
    let decision = decide(&project, &releasing(), at(101));
    assert_eq!((decision.actions.len(), decision.wake), (0, Some(at(700))), "but not for ever");
    assert!(tags(&project, &releasing(), at(700)).is_some());
}

#[test]
fn what_fails_is_tried_later() {
    let mut project = merged(&["fix: a"]);
    let key = decide(&project, &releasing(), at(200)).actions[0].key.clone();
    project.fold(at(200), &ProjectEvent::Failed { key, failure: failure(FailureKind::Server) });
    assert_eq!(decide(&project, &releasing(), at(201)).actions[0].not_before, at(210));
}

#[test]
fn titles_say_how_much_of_a_change_it_is() {
    for (title, expect) in [
        ("fix: a", Bump::Patch),
        ("feat: a", Bump::Minor),
        ("Feat(login): a", Bump::Minor),
        ("feat!: a", Bump::Major),
        ("fix(login)!: a", Bump::Major),
        ("Add login", Bump::Patch),
        ("Hello! World: a", Bump::Patch),
        ("", Bump::Patch),
    ] {
        assert_eq!(Bump::of(title), expect, "{title:?}");
    }
}

#[test]
fn versions_go_up_from_the_highest_tag_of_all() {
    let new = |bump: Bump| NewTag { commit: sha(1), bump, prefix: "v".to_owned(), last: None };
    for (tags, bump, expect) in [
        (&[][..], Bump::Major, "v0.1.0"),
        (&["v0.1.0"], Bump::Patch, "v0.1.1"),
        (&["v0.9.0", "v0.10.2"], Bump::Minor, "v0.11.0"),
        (&["v1.2.3", "v1.2.4-rc1", "nightly", "2.0.0"], Bump::Major, "v2.0.0"),
        (&["v1.2", "v1.2.3.4", "v1..2", "v+1.2.3"], Bump::Patch, "v0.1.0"),
    ] {
        assert_eq!(new(bump).name(tags.iter().copied()), expect, "{tags:?}");
    }
    let stale = NewTag { last: Some("v0.3.0".to_owned()), ..new(Bump::Patch) };
    assert_eq!(stale.name(["v0.2.0"]), "v0.3.1", "a list may lack our last tag");
    assert_eq!(Version(0, 0, u64::MAX).next(Bump::Patch), Version(0, 0, u64::MAX));
}
