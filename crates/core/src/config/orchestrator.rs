//! How many tasks run at once, and what becomes of their pull requests: the section `orchestrator`.

use std::time::Duration;

use super::choice::{CiMode, Environment};
use super::section;
use crate::policy::{MergeMethod, Mode};

section! {
    pub struct Orchestrator at (orchestrator) {
        /// How many tasks of one project at once: the next one when the pull request before it is merged or given up, and a
        /// held one keeps its turn; as many as `max_concurrent` allows; or as many, but never two in the same directories.
        user execution_mode: Mode = Mode::Sequential;
        /// How many tasks of all projects at once.
        user max_concurrent: u32 = 2;
        section execution: Execution = Execution::default();
        section autopilot: Autopilot = Autopilot::default();
    }
}

section! {
    /// What one task waits for.
    pub struct Execution at (orchestrator.execution) {
        /// How long the next task waits for the pull request before it; unset waits until that is merged or given up. In mode
        /// `auto`, and for a tag that waits for the tasks under way, unset is 1h.
        user pr_timeout: Option<Duration> = None;
    }
}

section! {
    /// What becomes of pull requests.
    pub struct Autopilot at (orchestrator.autopilot) {
        /// Whether Pilot fixes CI failures, merges and tags releases; if not, people do so once the pull request is open.
        user enabled: bool = true;
        /// How careful Pilot is: in `dev` CI has 5m, in `stage` 30m; in `prod` it has 30m too, and a person merges.
        user environment: Environment = Environment::Stage;
        /// Whether Pilot merges what passed; unset is yes. In `prod` a person merges in any case.
        user auto_merge: Option<bool> = None;
        /// How a merge is made.
        user merge_method: MergeMethod = MergeMethod::Squash;
        /// What a merge waits for: every check of the commit, or nothing because the project has no CI.
        user ci: CiMode = CiMode::Checks;
        /// How often CI is polled; a verdict counts when two polls in a row agree.
        user ci_poll_interval: Duration = Duration::from_secs(30);
        /// How long CI may take before a person is asked; unset leaves it to the environment.
        user ci_wait_timeout: Option<Duration> = None;
        /// How long after a push checks may be missing.
        user ci_discovery_grace: Duration = Duration::from_secs(60);
        /// Checks that must exist and pass, besides those the forge requires.
        user required_checks: Vec<String> = Vec::new();
        section ci_checks: CiChecks = CiChecks::default();
        /// How many CI fixes in a row Pilot attempts before it asks a person.
        user max_ci_fix_iterations: u32 = 3;
        /// Failures in a row after which a project starts no new runs.
        user max_failures: u32 = 3;
        /// How long that pause lasts.
        user failure_reset_timeout: Duration = Duration::from_mins(30);
        /// Merges of a project in any hour.
        user max_merges_per_hour: u32 = 10;
        section release: Release = Release::default();
        /// How long a forge may show stale data after a write; an action that must not happen twice is not repeated sooner.
        user settle: Duration = Duration::from_secs(10);
    }
}

impl Autopilot {
    /// Whether Pilot merges what passed. In prod that takes a person, whatever is configured.
    pub(crate) fn merges(&self) -> bool {
        self.enabled
            && match self.environment {
                Environment::Dev | Environment::Stage => self.auto_merge.unwrap_or(true),
                Environment::Prod => false,
            }
    }

    pub(crate) fn ci_timeout(&self) -> Duration {
        self.ci_wait_timeout.unwrap_or(match self.environment {
            Environment::Dev => Duration::from_mins(5),
            Environment::Stage | Environment::Prod => Duration::from_mins(30),
        })
    }
}

section! {
    pub struct CiChecks at (orchestrator.autopilot.ci_checks) {
        /// Checks that do not count.
        user exclude: Vec<String> = Vec::new();
    }
}

section! {
    pub struct Release at (orchestrator.autopilot.release) {
        /// Whether merges are tagged with a version.
        user enabled: bool = false;
        /// The text before the version in a tag.
        user tag_prefix: String = "v".to_owned();
    }
}
