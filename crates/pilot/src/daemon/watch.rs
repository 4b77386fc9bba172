//! Whoever watches the daemon from within: the demo.

use std::fmt;

use pilot_core::fact::{ProjectHappened, TaskFacts};
use pilot_core::name::TaskKey;
use pilot_core::task::Stage;

/// What is seen.
pub(crate) enum Seen<'s> {
    /// A task stands elsewhere now.
    Stage { facts: &'s TaskFacts, stage: &'s Stage },
    /// Something happened to a project.
    Project { happened: &'s ProjectHappened },
    /// An agent is so far.
    Progress { task: &'s TaskKey, phase: &'s str, percent: u8 },
}

/// Somebody who watches, or nobody.
#[derive(Default)]
pub(crate) struct Watcher(Option<Watch>);

type Watch = Box<dyn FnMut(&Seen<'_>)>;

impl Watcher {
    pub(crate) fn new(watch: impl FnMut(&Seen<'_>) + 'static) -> Watcher {
        Watcher(Some(Box::new(watch)))
    }

    pub(super) fn see(&mut self, seen: &Seen<'_>) {
        if let Some(watch) = &mut self.0 {
            watch(seen);
        }
    }
}

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Watcher").field(&self.0.is_some()).finish()
    }
}
