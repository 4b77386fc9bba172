//! How work is done: how many tasks at once, and what becomes of their pull requests.

use std::time::Duration;

use super::choice::{CiMode, Environment};
use crate::policy::{MergeMethod, Mode};

const fn minutes(count: u64) -> Duration {
    Duration::from_secs(60 * count)
}

/// How work is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orchestrator {
    /// How many tasks of a project at once.
    pub execution_mode: Mode,
    /// How many tasks of all projects at once.
    pub max_concurrent: u32,
    /// What one task waits for.
    pub execution: Execution,
    /// What becomes of pull requests.
    pub autopilot: Autopilot,
}

impl Default for Orchestrator {
    fn default() -> Orchestrator {
        Orchestrator {
            execution_mode: Mode::Sequential,
            max_concurrent: 2,
            execution: Execution::default(),
            autopilot: Autopilot::default(),
        }
    }
}

/// What one task waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// How long the next task waits for the pull request of the one before.
    pub pr_timeout: Duration,
}

impl Default for Execution {
    fn default() -> Execution {
        Execution { pr_timeout: minutes(60) }
    }
}

/// What becomes of pull requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Autopilot {
    /// Whether Pilot mends, merges and releases; if not, people do once the pull request is open.
    pub enabled: bool,
    /// How careful it is.
    pub environment: Environment,
    /// Whether Pilot merges what passed; none leaves it to the environment.
    pub auto_merge: Option<bool>,
    /// How a merge is made.
    pub merge_method: MergeMethod,
    /// What is looked at before a merge.
    pub ci: CiMode,
    /// How often CI is looked at.
    pub ci_poll_interval: Duration,
    /// How long CI may take; none leaves it to the environment.
    pub ci_wait_timeout: Option<Duration>,
    /// For how long after a push it is ordinary that nothing reports.
    pub ci_discovery_grace: Duration,
    /// Checks that must be there, beside those the forge requires.
    pub required_checks: Vec<String>,
    /// Which checks count.
    pub ci_checks: CiChecks,
    /// CI fixes in a row before a person is needed.
    pub max_ci_fix_iterations: u32,
    /// Failures in a row that stop new runs.
    pub max_failures: u32,
    /// For how long they do.
    pub failure_reset_timeout: Duration,
    /// Merges in any hour.
    pub max_merges_per_hour: u32,
    /// Tags after merges.
    pub release: Release,
    /// How long a forge's lists may lag behind a write.
    pub settle: Duration,
}

impl Default for Autopilot {
    fn default() -> Autopilot {
        Autopilot {
            enabled: true,
            environment: Environment::Stage,
            auto_merge: None,
            merge_method: MergeMethod::Squash,
            ci: CiMode::Checks,
            ci_poll_interval: Duration::from_secs(30),
            ci_wait_timeout: None,
            ci_discovery_grace: Duration::from_secs(60),
            required_checks: Vec::new(),
            ci_checks: CiChecks::default(),
            max_ci_fix_iterations: 3,
            max_failures: 3,
            failure_reset_timeout: minutes(30),
            max_merges_per_hour: 10,
            release: Release::default(),
            settle: Duration::from_secs(10),
        }
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

    /// How long CI may take.
    pub(crate) fn ci_timeout(&self) -> Duration {
        self.ci_wait_timeout.unwrap_or(match self.environment {
            Environment::Dev => minutes(5),
            Environment::Stage | Environment::Prod => minutes(30),
        })
    }
}

/// Which checks count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CiChecks {
    /// Not these.
    pub exclude: Vec<String>,
}

/// Tags after merges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// Whether there are any.
    pub enabled: bool,
    /// What stands before the version.
    pub tag_prefix: String,
}

impl Default for Release {
    fn default() -> Release {
        Release { enabled: false, tag_prefix: "v".to_owned() }
    }
}
