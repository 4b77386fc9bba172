//! What is configured for a project, as far as the life of a task depends on it. Which file says so is not known here.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::config::{CiMode, Config, ProjectForge, ProjectTracker};
use crate::id::{Branch, References};
use crate::text::word_enum;

/// How long a tag, and a task in the same directories, wait for a pull request where nothing is configured.
const PR_WAIT: Duration = Duration::from_secs(60 * 60);

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
    pub merge_method: MergeMethod,
    /// CI fixes in a row before a person is needed.
    pub max_ci_fixes: u32,
    /// Merges in any hour.
    pub max_merges_per_hour: usize,
    pub breaker: BreakerPolicy,
    /// How long the next task waits for a pull request; none waits until that is merged or given up.
    pub pr_wait: Option<Duration>,
    /// How often the forge is asked about what no event tells.
    pub poll_interval: Duration,
    /// How long a forge may go on showing what was before a write. Nothing that a forge would do twice is repeated sooner.
    pub settle: Duration,
    /// Tags after merges, if any.
    pub release: Option<ReleasePolicy>,
    /// How tickets and pull requests are written.
    pub references: References,
}

/// When failed runs keep new ones from starting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerPolicy {
    /// Failures in a row that stop new runs.
    pub max_failures: u32,
    /// For how long they do.
    pub reset_after: Duration,
}

impl BreakerPolicy {
    pub fn of(config: &Config) -> BreakerPolicy {
        let autopilot = &config.orchestrator.autopilot;
        BreakerPolicy { max_failures: autopilot.max_failures, reset_after: autopilot.failure_reset_timeout }
    }
}

word_enum! {
    /// How many tasks of a project at once.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Mode {
        /// The next begins when the pull request of the one before is merged or given up.
        Sequential = "sequential",
        /// As many as there is room for.
        Parallel = "parallel",
        /// As many as there is room for, but never two in the same directories.
        Auto = "auto",
    }
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
        exclude: BTreeSet<String>,
        /// And these must be there, beside those the forge requires.
        required: BTreeSet<String>,
    },
    /// The project has no CI, as configured.
    Nothing,
}

word_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum MergeMethod {
        /// One commit on the base.
        Squash = "squash",
        Merge = "merge",
        /// The commits, one by one, on top of the base.
        Rebase = "rebase",
    }
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
    /// Whether the configuration lists an account as trusted; logins are compared without case.
    pub fn trusts(&self, login: &str) -> bool {
        self.trusted.iter().any(|name| name.eq_ignore_ascii_case(login))
    }

    /// What is configured, for a project with this tracker, this forge and this base branch.
    pub fn of(config: &Config, tracker: &ProjectTracker, forge: &ProjectForge, base: Branch) -> Policy {
        let (tracker, orchestrator) = (tracker.settings(&config.adapters), &config.orchestrator);
        let (retry, autopilot) = (&config.executor.retry, &orchestrator.autopilot);
        let max_ci_fixes = if autopilot.enabled { autopilot.max_ci_fix_iterations } else { 0 };
        let pr_timeout = orchestrator.execution.pr_timeout;
        let max_wait = pr_timeout.unwrap_or(PR_WAIT);
        let release = (autopilot.enabled && autopilot.release.enabled)
            .then(|| ReleasePolicy { prefix: autopilot.release.tag_prefix.clone(), max_wait });
        Policy {
            label: tracker.label.to_owned(),
            trusted: tracker.allowed_users.iter().cloned().collect(),
            base,
            mode: orchestrator.execution_mode,
            // What is configured counts those after the first.
            max_attempts: if retry.enabled { retry.max_attempts.saturating_add(1) } else { 1 },
            ci: CiPolicy {
                watch: match autopilot.ci {
                    CiMode::None => Watch::Nothing,
                    CiMode::Checks => Watch::Checks {
                        exclude: autopilot.ci_checks.exclude.iter().cloned().collect(),
                        required: autopilot.required_checks.iter().cloned().collect(),
                    },
                },
                poll_interval: autopilot.ci_poll_interval,
                discovery_grace: autopilot.ci_discovery_grace,
                timeout: autopilot.ci_timeout(),
            },
            auto_merge: autopilot.merges(),
            merge_method: autopilot.merge_method,
            max_ci_fixes,
            max_merges_per_hour: usize::try_from(autopilot.max_merges_per_hour).unwrap_or(usize::MAX),
            breaker: BreakerPolicy::of(config),
            pr_wait: match orchestrator.execution_mode {
                Mode::Sequential => pr_timeout,
                Mode::Parallel | Mode::Auto => Some(max_wait),
            },
            poll_interval: tracker.poll_interval,
            settle: autopilot.settle,
            release,
            references: forge.references(),
        }
    }

    /// The settled numbers, for a project of GitHub with this base branch.
    pub fn new(base: Branch) -> Policy {
        let repo = "acme/app".to_owned();
        let (tracker, forge) = (ProjectTracker::Github { repo: repo.clone() }, ProjectForge::Github { repo });
        Policy::of(&Config::default(), &tracker, &forge, base)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use super::{MergeMethod, Mode, Policy, ReleasePolicy, Watch};
    use crate::config::{KEYS, Origin, ProjectForge, ProjectTracker, key, merge, text_layer};
    use crate::id::Branch;

    /// The policy of a configuration in which these are set.
    fn policy(settings: &[(&'static str, &str)]) -> Policy {
        let layer = settings.iter().map(|(path, text)| (key(path).expect(path), Origin::Default, *text));
        let merged = merge([text_layer(layer)]);
        assert_eq!(merged.problems, [], "{settings:?}");
        let repo = "acme/app".to_owned();
        let (tracker, forge) = (ProjectTracker::Github { repo: repo.clone() }, ProjectForge::Github { repo });
        Policy::of(&merged.config, &tracker, &forge, Branch::parse("main").unwrap())
    }

    /// What is set, the key that is set besides, to what, and what that changes.
    type Flip = (&'static [(&'static str, &'static str)], &'static str, &'static str, fn(&mut Policy));

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    const RELEASES: &[(&str, &str)] = &[("orchestrator.autopilot.release.enabled", "true")];

    const MINUTE: Duration = Duration::from_secs(60);

    const FLIPS: &[Flip] = &[
        (&[], "adapters.github.polling.interval", "1m", |p| p.poll_interval = MINUTE),
        (&[], "adapters.github.polling.label", "ready", |p| p.label = "ready".to_owned()),
        (&[], "adapters.github.allowed_users", "ada", |p| p.trusted = names(&["ada"])),
        (&[], "executor.retry.enabled", "false", |p| p.max_attempts = 1),
        (&[], "executor.retry.max_attempts", "2", |p| p.max_attempts = 3),
        (&[], "orchestrator.execution_mode", "auto", |p| {
            (p.mode, p.pr_wait) = (Mode::Auto, Some(60 * MINUTE));
        }),
        (&[], "orchestrator.execution_mode", "parallel", |p| {
            (p.mode, p.pr_wait) = (Mode::Parallel, Some(60 * MINUTE));
        }),
        (&[], "orchestrator.execution.pr_timeout", "1m", |p| p.pr_wait = Some(MINUTE)),
        (RELEASES, "orchestrator.execution.pr_timeout", "1m", |p| {
            p.pr_wait = Some(MINUTE);
            p.release = Some(ReleasePolicy { prefix: "v".to_owned(), max_wait: MINUTE });
        }),
        (RELEASES, "orchestrator.autopilot.enabled", "false", |p| {
            (p.auto_merge, p.max_ci_fixes, p.release) = (false, 0, None);
        }),
        (&[], "orchestrator.autopilot.environment", "dev", |p| p.ci.timeout = 5 * MINUTE),
        (&[], "orchestrator.autopilot.environment", "prod", |p| p.auto_merge = false),
        (&[], "orchestrator.autopilot.auto_merge", "false", |p| p.auto_merge = false),
        // A person has the last word there.
        (
            &[("orchestrator.autopilot.environment", "prod")],
            "orchestrator.autopilot.auto_merge",
            "true",
            |_| (),
        ),
        (&[], "orchestrator.autopilot.merge_method", "rebase", |p| p.merge_method = MergeMethod::Rebase),
        (&[], "orchestrator.autopilot.merge_method", "merge", |p| p.merge_method = MergeMethod::Merge),
        (&[], "orchestrator.autopilot.ci", "none", |p| p.ci.watch = Watch::Nothing),
        (&[], "orchestrator.autopilot.ci_poll_interval", "1m", |p| p.ci.poll_interval = MINUTE),
        (&[], "orchestrator.autopilot.ci_wait_timeout", "9m", |p| p.ci.timeout = 9 * MINUTE),
        (&[], "orchestrator.autopilot.ci_discovery_grace", "2m", |p| p.ci.discovery_grace = 2 * MINUTE),
        (&[], "orchestrator.autopilot.required_checks", "build,test", |p| {
            p.ci.watch = Watch::Checks { exclude: names(&[]), required: names(&["build", "test"]) };
        }),
        (&[], "orchestrator.autopilot.ci_checks.exclude", "docs", |p| {
            p.ci.watch = Watch::Checks { exclude: names(&["docs"]), required: names(&[]) };
        }),
        (&[], "orchestrator.autopilot.max_ci_fix_iterations", "1", |p| p.max_ci_fixes = 1),
        (&[], "orchestrator.autopilot.max_failures", "7", |p| p.breaker.max_failures = 7),
        (&[], "orchestrator.autopilot.failure_reset_timeout", "1m", |p| p.breaker.reset_after = MINUTE),
        (&[], "orchestrator.autopilot.max_merges_per_hour", "2", |p| p.max_merges_per_hour = 2),
        (&[], "orchestrator.autopilot.release.enabled", "true", |p| {
            p.release = Some(ReleasePolicy { prefix: "v".to_owned(), max_wait: 60 * MINUTE });
        }),
        (RELEASES, "orchestrator.autopilot.release.tag_prefix", "app-", |p| {
            p.release = Some(ReleasePolicy { prefix: "app-".to_owned(), max_wait: 60 * MINUTE });
        }),
        (&[], "orchestrator.autopilot.settle", "1m", |p| p.settle = MINUTE),
    ];

    #[test]
    fn every_key_of_the_policy_is_flipped() {
        for (ground, path, value, change) in FLIPS {
            let mut expect = policy(ground);
            change(&mut expect);
            let settings: Vec<_> = ground.iter().copied().chain([(*path, *value)]).collect();
            assert_eq!(policy(&settings), expect, "{path}: {value}");
        }
        // How many at once in all projects is no matter of one.
        let of_tasks =
            |path: &str| path.starts_with("orchestrator.") && path != "orchestrator.max_concurrent";
        for key in KEYS.iter().filter(|key| of_tasks(key.path)) {
            assert!(FLIPS.iter().any(|(_, path, _, _)| *path == key.path), "{} is not flipped", key.path);
        }
    }
}
