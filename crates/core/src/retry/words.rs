//! Why something is tried again, or no more, as fragments for people.

use std::time::Duration;

use super::decide::LONGEST_IN_FOREGROUND;
use crate::duration;
use crate::outcome::Class;

pub(super) fn after_wait(class: Class, wait: Duration, number: u32, cap: u32) -> String {
    format!("{class}: trying again in {} ({number} of {cap})", whole(wait))
}

pub(super) fn at_reset(wait: Duration, number: u32, cap: u32) -> String {
    format!("rate_limit: trying again when the limit resets, in {} ({number} of {cap})", whole(wait))
}

pub(super) fn more_time(number: u32, cap: u32) -> String {
    format!("timeout: trying again in the same session with more time ({number} of {cap})")
}

pub(super) fn firmer() -> String {
    "no_changes: the agent is told that nothing changed, and asked again".to_owned()
}

pub(super) fn malformed() -> String {
    "no_changes: a mark of the agent's could not be read, so it is told which and asked again".to_owned()
}

pub(super) fn fresh() -> String {
    "session_not_found: the agent has lost its session and starts a new one".to_owned()
}

pub(super) fn fallback(class: Class) -> String {
    format!("{class}: the fallback agent (executor.fallback) takes over")
}

pub(super) fn never(class: Class) -> String {
    format!("{class} is not tried again: it would fail the same way, or a person is needed")
}

pub(super) fn turned_off(class: Class) -> String {
    format!("{class} is not tried again: executor.retry.enabled is false")
}

pub(super) fn class_cap(class: Class, cap: u32) -> String {
    match cap {
        0 => format!("{class} is not tried again: its max_attempts is 0"),
        1 => format!("{class} twice; giving up"),
        more => format!("{class} again after {more} more attempts; giving up"),
    }
}

pub(super) fn task_cap(cap: u32) -> String {
    match cap {
        0 => "nothing is tried again: executor.retry.max_attempts is 0".to_owned(),
        more => {
            format!("the task was tried {more} times more, as often as executor.retry.max_attempts allows")
        }
    }
}

pub(super) fn too_late(cap: Duration) -> String {
    format!(
        "the task's attempts have gone on for {}, as long as executor.retry.max_elapsed allows",
        whole(cap)
    )
}

/// A wait too long for a user at a terminal.
pub(super) fn too_long(class: Class, wait: Duration) -> String {
    let (wait, longest) = (whole(wait), whole(LONGEST_IN_FOREGROUND));
    if class == Class::RateLimit {
        return format!("the limit holds for {wait} more; at a terminal Pilot waits at most {longest}");
    }
    format!("{class} asks for a wait of {wait}; at a terminal Pilot waits at most {longest}")
}

/// To the second, at least one.
fn whole(time: Duration) -> String {
    duration::text(Duration::from_secs(time.as_secs().max(1)))
}
