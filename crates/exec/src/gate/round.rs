//! All gates on one commit: in order, groups at the same time, each tried as often as it may be.

use std::ffi::OsString;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pilot_core::gate::{Ending, Gate, GateResult, Policy, Ran, Status, schedule, words};

use super::attempt::attempt;
use super::together::{Boxed, raised, together};
use crate::process::{Containment, Limits};
use crate::workspace::{Finalised, Workspace, WorkspaceError};

/// How many changed files a result names.
const MOST_NAMES: usize = 50;

/// What is run.
#[derive(Clone, Copy, Debug)]
pub struct Round<'a> {
    /// The gates, in order.
    pub gates: &'a [Gate],
    /// Whether those without a group run at the same time.
    pub parallel: bool,
    /// What follows when one does not pass.
    pub policy: Policy,
}

/// Where it is run, and with what.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// The worktree.
    pub ground: Ground<'a>,
    /// The whole environment of a gate: see [`gate_environment`](crate::environment::gate_environment).
    pub env: &'a [(OsString, OsString)],
    /// What the kernel lets each gate use.
    pub limits: Limits,
    /// How long a gate has between TERM and KILL.
    pub grace: Duration,
    /// How it is held.
    pub containment: &'a Containment,
}

/// What the gates look at.
#[derive(Clone, Copy, Debug)]
pub enum Ground<'a> {
    /// A commit, in a worktree that was [reopened](Workspace::reopen) at it.
    Commit(&'a Workspace, &'a Finalised),
    /// Files as they lie there; nothing is put back.
    AsIs(&'a Path),
}

impl Ground<'_> {
    pub(super) fn tree(&self) -> &Path {
        match self {
            Ground::Commit(workspace, _) => workspace.path(),
            Ground::AsIs(tree) => tree,
        }
    }

    /// Puts back what a gate changed under version control.
    fn revert(&self) -> Result<Vec<PathBuf>, WorkspaceError> {
        match self {
            Ground::Commit(workspace, finalised) => workspace.revert(finalised),
            Ground::AsIs(_) => Ok(Vec::new()),
        }
    }
}

/// What happens meanwhile.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// A gate runs.
    Started(&'a Gate),
    /// A gate has ended.
    Ended(&'a GateResult),
}

/// Runs the gates; one result each, in their order. When `cancel` ends, everything that runs is ended, and what did not
/// run is not tried.
pub async fn run_gates(
    round: &Round<'_>,
    site: &Site<'_>,
    cancel: impl Future<Output = ()>,
    mut tell: impl FnMut(Progress<'_>),
) -> Vec<GateResult> {
    let mut cancel = pin!(cancel);
    let stop = AtomicBool::new(false);
    let mut results: Vec<Option<GateResult>> = vec![None; round.gates.len()];
    let mut over: Option<String> = None;
    for batch in schedule(round.gates, round.parallel) {
        if stop.load(Ordering::Relaxed) || over.is_some() {
            let status = if over.is_some() { Status::Skipped } else { Status::Cancelled };
            let reason = over.clone().unwrap_or_else(|| "the run was stopped".to_owned());
            for index in batch {
                let gate = &round.gates[index];
                results[index] = Some(GateResult::untried(gate, &round.policy, status, reason.clone()));
            }
            continue;
        }
        let ended = run_batch(round, site, &batch, cancel.as_mut(), &stop, &mut tell).await;
        over = ended
            .iter()
            .find(|(_, result)| result.ends_the_round())
            .map(|(_, result)| words::skipped(result));
        for (index, result) in ended {
            results[index] = Some(result);
        }
    }
    results.into_iter().flatten().collect()
}

async fn run_batch(
    round: &Round<'_>,
    site: &Site<'_>,
    batch: &[usize],
    cancel: Pin<&mut impl Future<Output = ()>>,
    stop: &AtomicBool,
    tell: &mut impl FnMut(Progress<'_>),
) -> Vec<(usize, GateResult)> {
    let mut open: Vec<Option<Boxed<'_, GateResult>>> = Vec::new();
    for index in batch {
        let gate = &round.gates[*index];
        tell(Progress::Started(gate));
        open.push(Some(Box::pin(run_gate(gate, &round.policy, site, stop))));
    }
    let mut ended = Vec::new();
    together(open, cancel, stop, |place, result| {
        tell(Progress::Ended(&result));
        ended.push((batch[place], result));
    })
    .await;
    ended
}

/// Runs one gate, as often as it is worth it.
async fn run_gate(gate: &Gate, policy: &Policy, site: &Site<'_>, stop: &AtomicBool) -> GateResult {
    let (mut attempts, mut took, mut changed) = (0, Duration::ZERO, Vec::new());
    loop {
        let ran = attempt(gate, site, stop).await;
        attempts += 1;
        took += ran.duration;
        let ran = put_back(site, ran, &mut changed);
        let mut result = GateResult::of(gate, policy, attempts, took, &ran);
        if result.is_worth_another_attempt() {
            tokio::select! {
                biased;
                () = raised(stop) => {
                    let stopped = Ran { ending: Ending::Cancelled, ..ran };
                    result = GateResult::of(gate, policy, attempts, took, &stopped);
                }
                () = tokio::time::sleep(gate.retry_delay) => continue,
            }
        }
        result.changed = changed;
        return result;
    }
}

/// The next one looks at the commit again. Where that cannot be made sure, nothing has passed.
fn put_back(site: &Site<'_>, ran: Ran, changed: &mut Vec<String>) -> Ran {
    match site.ground.revert() {
        Ok(names) => {
            let names = names.iter().map(|name| name.to_string_lossy().into_owned());
            changed.extend(names.take(MOST_NAMES));
            changed.sort_unstable();
            changed.dedup();
            changed.truncate(MOST_NAMES);
            ran
        }
        Err(error) => {
            let why = format!("what it changed could not be put back: failed to {error}");
            Ran { ending: Ending::NotStarted(why), ..ran }
        }
    }
}
