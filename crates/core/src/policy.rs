//! What is configured for a project, as far as the life of a task depends on it. Where it is configured is not known here.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::name::Branch;

/// How one project is worked on. The default is the table of settled numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The label that asks for work.
    pub label: String,
    /// Accounts that may ask for work whatever their permission, and programs that may.
    pub trusted: BTreeSet<String>,
    /// The branch everything is merged into.
    pub base: Branch,
    /// How many tasks at once.
    pub mode: Mode,
    /// Runs of a task before a person is needed.
    pub max_attempts: u32,
    /// What CI must say, and how long it may take.
    pub ci: CiPolicy,
    /// Whether Pilot merges what passed.
    pub auto_merge: bool,
    /// How a merge is made.
    pub merge_method: MergeMethod,
    /// CI fixes in a row before a person is needed.
    pub max_ci_fixes: u32,
    /// Merges in any hour.
    pub max_merges_per_hour: usize,
    /// Failures in a row that stop new runs.
    pub max_failures: u32,
    /// For how long they do.
    pub failure_reset: Duration,
    /// How long the next task waits for a pull request in sequential mode.
    pub pr_wait: Duration,
    /// How often the forge is asked about what no event tells.
    pub poll_interval: Duration,
    /// How long a forge may go on showing what was before a write. Nothing that a forge would do twice is repeated sooner.
    pub settle: Duration,
    /// Tags after merges, if any.
    pub release: Option<ReleasePolicy>,
}

/// How many tasks of a project at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The next begins when the pull request of the one before is merged or given up.
    Sequential,
    /// As many as there is room for.
    Parallel,
    /// As many as there is room for, but never two in the same directories.
    Auto,
}

/// What CI must say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CiPolicy {
    /// What is looked at.
    pub watch: Watch,
    /// How often, and how far apart the two equal readings of a verdict must be.
    pub poll_interval: Duration,
    /// For how long after a push it is ordinary that nothing reports.
    pub discovery_grace: Duration,
    /// After how long without a verdict a person is asked.
    pub timeout: Duration,
}

/// What is looked at before a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Everything that reports on the commit.
    Checks {
        /// But for these.
        exclude: BTreeSet<String>,
        /// And these must be there, beside those the forge requires.
        required: BTreeSet<String>,
    },
    /// The project has no CI, and somebody said so.
    Nothing,
}

/// How a merge is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeMethod {
    /// One commit on the base.
    Squash,
    /// A merge commit.
    Merge,
    /// The commits, one by one, on top of the base.
    Rebase,
}

/// How tags are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleasePolicy {
    /// What stands before the version.
    pub prefix: String,
    /// How long a merge waits at most for the project to come to rest before it is tagged.
    pub max_wait: Duration,
}

impl Policy {
    /// The settled numbers, for a project with this base branch.
    pub fn new(base: Branch) -> Policy {
        let minutes = |count: u64| Duration::from_secs(60 * count);
        Policy {
            label: "pilot".to_owned(),
            trusted: BTreeSet::new(),
            base,
            mode: Mode::Sequential,
            max_attempts: 7,
            ci: CiPolicy {
                watch: Watch::Checks { exclude: BTreeSet::new(), required: BTreeSet::new() },
                poll_interval: Duration::from_secs(30),
                discovery_grace: Duration::from_secs(60),
                timeout: minutes(30),
            },
            auto_merge: true,
            merge_method: MergeMethod::Squash,
            max_ci_fixes: 3,
            max_merges_per_hour: 10,
            max_failures: 3,
            failure_reset: minutes(30),
            pr_wait: minutes(60),
            poll_interval: Duration::from_secs(30),
            settle: Duration::from_secs(10),
            release: None,
        }
    }
}
