//! What a seed sets up: how many Pilots, which projects and policies, and how often something fails.

use std::time::Duration;

use pilot_core::id::{Branch, KeyStyle, ProjectId, References};
use pilot_core::policy::{CiPolicy, Mode, Policy, ReleasePolicy, Watch};

use super::mutant::Mutant;
use crate::random::Random;

/// How many Pilots there are, and what they share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Topology {
    One,
    /// Two on one database: claims and leases keep them apart.
    SharedStore,
    /// Two with a database each on one repository: the claim refs keep them apart.
    SeparateStores,
}

/// What goes wrong, and how often.
#[derive(Clone, Copy, Debug)]
pub(super) struct FaultRates {
    /// Calls that fail, in a thousand.
    pub(super) faults: u64,
    /// Reads that are stale, in a thousand.
    pub(super) stale: u64,
    /// Crashes at each point where one may happen, in a thousand.
    pub(super) crashes: u64,
    /// Webhooks that are lost, in a hundred.
    pub(super) lost_webhooks: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub(super) topology: Topology,
    pub(super) rates: FaultRates,
    pub(super) projects: Vec<(ProjectId, Policy)>,
    /// The projects configured to do one task at a time, also where a mutant changes their policy.
    pub(super) sequential: Vec<ProjectId>,
    pub(super) max_concurrent: usize,
    pub(super) tickets: u64,
    /// How often a person does something.
    pub(super) interventions: u64,
    /// For how long calls fail, Pilots crash and people act.
    pub(super) fault_period: Duration,
    /// Whether nothing is left to chance: agents complete, CI fails once, people only watch.
    pub(super) is_scripted: bool,
}

impl Setup {
    pub(super) fn new(random: &mut Random, mutant: Option<Mutant>) -> Setup {
        let topology = match random.below(10) {
            0..=5 => Topology::One,
            6 | 7 => Topology::SharedStore,
            _ => Topology::SeparateStores,
        };
        let rates = match random.below(4) {
            0 => FaultRates { faults: 0, stale: 0, crashes: 0, lost_webhooks: 100 },
            1 => FaultRates { faults: 60, stale: 150, crashes: 0, lost_webhooks: 50 },
            2 => FaultRates { faults: 20, stale: 50, crashes: 15, lost_webhooks: 20 },
            _ => FaultRates { faults: 80, stale: 150, crashes: 8, lost_webhooks: 100 },
        };
        let projects = 1 + random.below(2);
        let names = ["github:acme/app", "github:acme/web"];
        let mut sequential = Vec::new();
        let projects = names[..projects].iter().map(|name| {
            let project = ProjectId::parse(name).expect("a project");
            let mut policy = random_policy(random);
            if policy.mode == Mode::Sequential {
                sequential.push(project.clone());
            }
            mutate_policy(&mut policy, mutant);
            (project, policy)
        });
        let projects: Vec<(ProjectId, Policy)> = projects.collect();
        Setup {
            topology,
            rates,
            projects,
            sequential,
            max_concurrent: 2,
            tickets: random.between(2, 5),
            interventions: random.between(0, 14),
            fault_period: Duration::from_secs(random.between(1800, 5400)),
            is_scripted: false,
        }
    }

    /// One Pilot and one project, and nothing goes wrong by itself.
    pub(super) fn scripted() -> Setup {
        let project = ProjectId::parse("github:acme/app").expect("a project");
        let mut policy = Policy::new(Branch::parse("main").expect("a branch"));
        let max_wait = Duration::from_secs(3600);
        policy.release = Some(ReleasePolicy { prefix: "v".to_owned(), max_wait });
        Setup {
            topology: Topology::One,
            rates: FaultRates { faults: 0, stale: 0, crashes: 0, lost_webhooks: 100 },
            sequential: vec![project.clone()],
            projects: vec![(project, policy)],
            max_concurrent: 2,
            tickets: 0,
            interventions: 0,
            fault_period: Duration::ZERO,
            is_scripted: true,
        }
    }
}

fn random_policy(random: &mut Random) -> Policy {
    let mut policy = Policy::new(Branch::parse("main").expect("a branch"));
    policy.mode = match random.below(6) {
        0..=2 => Mode::Sequential,
        3 => Mode::Parallel,
        _ => Mode::Auto,
    };
    policy.pr_wait =
        (policy.mode != Mode::Sequential || random.percent(50)).then_some(Duration::from_secs(3600));
    policy.trusted = ["helper[bot]".to_owned()].into();
    policy.auto_merge = !random.percent(4);
    if random.percent(8) {
        policy.ci = CiPolicy { watch: Watch::Nothing, ..policy.ci };
    }
    if random.percent(50) {
        let max_wait = Duration::from_secs(3600);
        policy.release = Some(ReleasePolicy { prefix: "v".to_owned(), max_wait });
    }
    // The tracker is another company's: its keys are whole, and a merge on the forge closes no ticket.
    if random.percent(20) {
        policy.references = References { tickets: KeyStyle::Whole, pull_sign: '!', closing_word: None };
    }
    policy
}

fn mutate_policy(policy: &mut Policy, mutant: Option<Mutant>) {
    match mutant {
        Some(Mutant::OneReadingIsEnough) => policy.ci.poll_interval = Duration::from_micros(1),
        Some(Mutant::NoSettleTime) => policy.settle = Duration::ZERO,
        Some(Mutant::EndlessFixes) => policy.max_ci_fixes = 100,
        Some(Mutant::NoBreaker) => policy.breaker.max_failures = 100,
        Some(Mutant::AllAtOnce) if policy.mode == Mode::Sequential => policy.mode = Mode::Parallel,
        Some(_) | None => {}
    }
}
