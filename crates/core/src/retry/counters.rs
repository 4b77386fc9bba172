//! How often a task was tried again, and why. Kept with the task, so that a restart forgets nothing.

use std::collections::BTreeMap;

use crate::outcome::Class;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Counter {
    Class(Class),
    /// The agent was asked for a mark that could not be read.
    MalformedSignal,
    /// The fallback agent took over.
    Fallback,
}

const MALFORMED_SIGNAL: &str = "malformed_signal";
const FALLBACK: &str = "fallback";

impl Counter {
    pub fn as_str(self) -> &'static str {
        match self {
            Counter::Class(class) => class.as_str(),
            Counter::MalformedSignal => MALFORMED_SIGNAL,
            Counter::Fallback => FALLBACK,
        }
    }

    pub fn parse(name: &str) -> Option<Counter> {
        match name {
            MALFORMED_SIGNAL => Some(Counter::MalformedSignal),
            FALLBACK => Some(Counter::Fallback),
            class => Class::parse(class).map(Counter::Class),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetryCounters(BTreeMap<Counter, u32>);

impl RetryCounters {
    /// A task that was tried once, or never.
    pub const NONE: RetryCounters = RetryCounters(BTreeMap::new());

    pub fn of(&self, counter: Counter) -> u32 {
        self.0.get(&counter).copied().unwrap_or(0)
    }

    /// How often in all. That a session was gone is no failure of the task's, and does not count.
    pub fn total(&self) -> u32 {
        let counted =
            self.0.iter().filter(|(counter, _)| **counter != Counter::Class(Class::SessionNotFound));
        counted.fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    pub fn add(&mut self, counter: Counter) {
        let count = self.0.entry(counter).or_insert(0);
        *count = count.saturating_add(1);
    }
}

impl FromIterator<(Counter, u32)> for RetryCounters {
    fn from_iter<I: IntoIterator<Item = (Counter, u32)>>(counts: I) -> RetryCounters {
        RetryCounters(counts.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::{Counter, RetryCounters};
    use crate::outcome::Class;

    #[test]
    fn names_are_read_as_they_are_written() {
        let classes = Class::ALL.map(Counter::Class);
        for counter in classes.into_iter().chain([Counter::MalformedSignal, Counter::Fallback]) {
            assert_eq!(Counter::parse(counter.as_str()), Some(counter));
        }
        assert_eq!(Counter::parse("RateLimit"), None);
    }

    #[test]
    fn every_attempt_counts_once() {
        let mut counters = RetryCounters::default();
        counters.add(Counter::Fallback);
        counters.add(Counter::Class(Class::Timeout));
        counters.add(Counter::Class(Class::Timeout));
        counters.add(Counter::Class(Class::SessionNotFound));
        assert_eq!((counters.of(Counter::Class(Class::Timeout)), counters.total()), (2, 3));
        assert_eq!(counters.of(Counter::MalformedSignal), 0);
        let full: RetryCounters =
            [(Counter::Fallback, u32::MAX), (Counter::MalformedSignal, 1)].into_iter().collect();
        assert_eq!(full.total(), u32::MAX);
    }
}
