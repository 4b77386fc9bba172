//! What a seed sets up: how many Pilots, which projects and policies, and the weather.

use std::time::Duration;

use pilot_core::name::{Branch, ProjectId};
use pilot_core::policy::{CiPolicy, Mode, Policy, ReleasePolicy, Watch};

use super::mutant::Mutant;
use crate::random::Random;

/// How several Pilots meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Company {
    /// One Pilot.
    Alone,
    /// Two on one database: claims and leases keep them apart.
    OneDatabase,
    /// Two with a database each on one repository: the forge keeps them apart.
    TwoDatabases,
}

/// What goes wrong, and how often.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weather {
    /// Calls that fail, in a thousand.
    pub(super) faults: u64,
    /// Reads that are stale, in a thousand.
    pub(super) stale: u64,
    /// Deaths at each point where one may happen, in a thousand.
    pub(super) crashes: u64,
    /// Webhooks that are lost, in a hundred.
    pub(super) lost_webhooks: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Scene {
    pub(super) company: Company,
    pub(super) weather: Weather,
    pub(super) projects: Vec<(ProjectId, Policy)>,
    /// Those that do one task at a time, whatever a mutant makes of it.
    pub(super) sequential: Vec<ProjectId>,
    pub(super) max_concurrent: usize,
    pub(super) issues: u64,
    pub(super) acts: u64,
    /// For how long the weather is bad and people act.
    pub(super) storm: Duration,
    /// Whether everybody does their part: agents complete, CI fails once, nobody meddles.
    pub(super) scripted: bool,
}

impl Scene {
    pub(super) fn new(random: &mut Random, mutant: Option<Mutant>) -> Scene {
        let company = match random.below(10) {
            0..=5 => Company::Alone,
            6 | 7 => Company::OneDatabase,
            _ => Company::TwoDatabases,
        };
        let weather = match random.below(4) {
            0 => Weather { faults: 0, stale: 0, crashes: 0, lost_webhooks: 100 },
            1 => Weather { faults: 60, stale: 150, crashes: 0, lost_webhooks: 50 },
            2 => Weather { faults: 20, stale: 50, crashes: 15, lost_webhooks: 20 },
            _ => Weather { faults: 80, stale: 150, crashes: 8, lost_webhooks: 100 },
        };
        let projects = 1 + random.below(2);
        let names = ["github:acme/app", "github:acme/web"];
        let mut sequential = Vec::new();
        let projects = names[..projects].iter().map(|name| {
            let project = ProjectId::parse(name).expect("a project");
            let mut policy = policy(random);
            if policy.mode == Mode::Sequential {
                sequential.push(project.clone());
            }
            twist(&mut policy, mutant);
            (project, policy)
        });
        let projects: Vec<(ProjectId, Policy)> = projects.collect();
        Scene {
            company,
            weather,
            projects,
            sequential,
            max_concurrent: 2,
            issues: random.between(2, 5),
            acts: random.between(0, 14),
            storm: Duration::from_secs(random.between(1800, 5400)),
            scripted: false,
        }
    }

    /// One Pilot, one project, and everybody does their part.
    pub(super) fn scripted() -> Scene {
        let project = ProjectId::parse("github:acme/app").expect("a project");
        let mut policy = Policy::new(Branch::parse("main").expect("a branch"));
        let max_wait = Duration::from_secs(3600);
        policy.release = Some(ReleasePolicy { prefix: "v".to_owned(), max_wait });
        Scene {
            company: Company::Alone,
            weather: Weather { faults: 0, stale: 0, crashes: 0, lost_webhooks: 100 },
            sequential: vec![project.clone()],
            projects: vec![(project, policy)],
            max_concurrent: 2,
            issues: 0,
            acts: 0,
            storm: Duration::ZERO,
            scripted: true,
        }
    }
}

fn policy(random: &mut Random) -> Policy {
    let mut policy = Policy::new(Branch::parse("main").expect("a branch"));
    policy.mode = match random.below(6) {
        0..=2 => Mode::Sequential,
        3 => Mode::Parallel,
        _ => Mode::Auto,
    };
    policy.trusted = ["helper[bot]".to_owned()].into();
    policy.auto_merge = !random.percent(4);
    if random.percent(8) {
        policy.ci = CiPolicy { watch: Watch::Nothing, ..policy.ci };
    }
    if random.percent(50) {
        let max_wait = Duration::from_secs(3600);
        policy.release = Some(ReleasePolicy { prefix: "v".to_owned(), max_wait });
    }
    policy
}

fn twist(policy: &mut Policy, mutant: Option<Mutant>) {
    match mutant {
        Some(Mutant::OneReadingIsEnough) => policy.ci.poll_interval = Duration::from_micros(1),
        Some(Mutant::NoGrace) => policy.settle = Duration::ZERO,
        Some(Mutant::EndlessFixes) => policy.max_ci_fixes = 100,
        Some(Mutant::EverythingAtOnce) if policy.mode == Mode::Sequential => policy.mode = Mode::Parallel,
        Some(_) | None => {}
    }
}
