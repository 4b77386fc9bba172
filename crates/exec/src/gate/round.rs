//! All gates on one commit: in order, groups concurrently, each retried as often as its policy allows.

use std::ffi::OsString;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pilot_core::gate::{Gate, GateEnding, GatePolicy, GateResult, GateStatus, Ran, schedule, words};

use super::attempt::attempt;
use super::join::{Boxed, join_until_cancelled, raised};
use crate::process::{Containment, ProcessLimits};
use crate::workspace::{Finalised, Workspace, WorkspaceError};

const MOST_NAMES: usize = 50;

#[derive(Clone, Copy, Debug)]
pub struct GateRound<'a> {
    pub gates: &'a [Gate],
    /// Whether those without a group run at the same time.
    pub parallel: bool,
    pub policy: GatePolicy,
}

#[derive(Clone, Copy, Debug)]
pub struct GateContext<'a> {
    pub target: GateTarget<'a>,
    /// The whole environment of a gate: see [`gate_environment`](crate::environment::gate_environment).
    pub env: &'a [(OsString, OsString)],
    pub limits: ProcessLimits,
    pub grace: Duration,
    pub containment: &'a Containment,
}

#[derive(Clone, Copy, Debug)]
pub enum GateTarget<'a> {
    /// A commit, in a worktree that was [reopened](Workspace::reopen) at it.
    Commit(&'a Workspace, &'a Finalised),
    /// The files of a worktree as they are; nothing is reverted.
    AsIs(&'a Path),
}

impl GateTarget<'_> {
    pub(super) fn tree(&self) -> &Path {
        match self {
            GateTarget::Commit(workspace, _) => workspace.path(),
            GateTarget::AsIs(tree) => tree,
        }
    }

    fn revert(&self) -> Result<Vec<PathBuf>, WorkspaceError> {
        match self {
            GateTarget::Commit(workspace, finalised) => workspace.revert(finalised),
            GateTarget::AsIs(_) => Ok(Vec::new()),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub enum GateProgress<'a> {
    Started(&'a Gate),
    Ended(&'a GateResult),
}

/// Runs the gates; one result each, in their order. When `cancel` ends, everything that runs is ended, and what did not
/// run is not tried.
pub async fn run_gates(
    round: &GateRound<'_>,
    context: &GateContext<'_>,
    cancel: impl Future<Output = ()>,
    mut tell: impl FnMut(GateProgress<'_>),
) -> Vec<GateResult> {
    let mut cancel = pin!(cancel);
    let stop = AtomicBool::new(false);
    let mut results: Vec<Option<GateResult>> = vec![None; round.gates.len()];
    let mut over: Option<String> = None;
    for batch in schedule(round.gates, round.parallel) {
        if stop.load(Ordering::Relaxed) || over.is_some() {
            let status = if over.is_some() { GateStatus::Skipped } else { GateStatus::Cancelled };
            let reason = over.clone().unwrap_or_else(|| "the run was stopped".to_owned());
            for index in batch {
                let gate = &round.gates[index];
                results[index] = Some(GateResult::untried(gate, &round.policy, status, reason.clone()));
            }
            continue;
        }
        let ended = run_batch(round, context, &batch, cancel.as_mut(), &stop, &mut tell).await;
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
    round: &GateRound<'_>,
    context: &GateContext<'_>,
    batch: &[usize],
    cancel: Pin<&mut impl Future<Output = ()>>,
    stop: &AtomicBool,
    tell: &mut impl FnMut(GateProgress<'_>),
) -> Vec<(usize, GateResult)> {
    let mut open: Vec<Option<Boxed<'_, GateResult>>> = Vec::new();
    for index in batch {
        let gate = &round.gates[*index];
        tell(GateProgress::Started(gate));
        open.push(Some(Box::pin(run_gate(gate, &round.policy, context, stop))));
    }
    let mut ended = Vec::new();
    join_until_cancelled(open, cancel, stop, |place, result| {
        tell(GateProgress::Ended(&result));
        ended.push((batch[place], result));
    })
    .await;
    ended
}

async fn run_gate(
    gate: &Gate,
    policy: &GatePolicy,
    context: &GateContext<'_>,
    stop: &AtomicBool,
) -> GateResult {
    let (mut attempts, mut took, mut changed) = (0, Duration::ZERO, Vec::new());
    loop {
        let ran = attempt(gate, context, stop).await;
        attempts += 1;
        took += ran.duration;
        let ran = put_back(context, ran, &mut changed);
        let mut result = GateResult::of(gate, policy, attempts, took, &ran);
        if result.is_worth_another_attempt() {
            tokio::select! {
                biased;
                () = raised(stop) => {
                    let stopped = Ran { ending: GateEnding::Cancelled, ..ran };
                    result = GateResult::of(gate, policy, attempts, took, &stopped);
                }
                () = tokio::time::sleep(gate.retry_delay) => continue,
            }
        }
        result.changed = changed;
        return result;
    }
}

/// Restores the commit for the next gate. When that fails, the gate has not passed.
fn put_back(context: &GateContext<'_>, ran: Ran, changed: &mut Vec<String>) -> Ran {
    match context.target.revert() {
        Ok(names) => {
            let names = names.iter().map(|name| name.to_string_lossy().into_owned());
            changed.extend(names.take(MOST_NAMES));
            changed.sort_unstable();
            changed.dedup();
            changed.truncate(MOST_NAMES);
            ran
        }
        Err(error) => {
            let why = format!("its changes could not be reverted: failed to {error}");
            Ran { ending: GateEnding::NotStarted(why), ..ran }
        }
    }
}
