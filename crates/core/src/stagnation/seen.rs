//! What a run has reached so far, to tell progress from motion.

use std::collections::{BTreeSet, VecDeque};

use super::fnv::Fnv;
use super::state::{DiffDigest, RunState};
use crate::phase::Phase;

/// Phases that can count as new: the five and some words of the agent's own. Inventing words is not progress
/// for ever.
const MOST_PHASES: usize = 32;

/// Changes remembered, to tell new ones from a return to old ones. The oldest are forgotten.
const MOST_DIFFS: usize = 256;

/// What the run has reached so far, to tell progress from motion.
#[derive(Clone, Debug, Default)]
pub(super) struct BestReached {
    phases: BTreeSet<u64>,
    progress: Option<u8>,
    diffs: VecDeque<DiffDigest>,
}

impl BestReached {
    /// Whether a state is real progress. Every part is remembered, whichever of them is new.
    pub(super) fn is_new(&mut self, state: &RunState) -> bool {
        let phase = state.phase.as_ref().is_some_and(|phase| self.is_new_phase(phase));
        let progress = state.progress > self.progress;
        self.progress = self.progress.max(state.progress);
        let diff = state.diff.is_some_and(|diff| self.is_new_diff(diff));
        phase || progress || diff
    }

    fn is_new_phase(&mut self, phase: &Phase) -> bool {
        let digest = Fnv::new().text(phase.as_str()).digest();
        let known = phase.percent().is_some();
        (known || self.phases.len() < MOST_PHASES) && self.phases.insert(digest)
    }

    pub(super) fn is_new_diff(&mut self, diff: DiffDigest) -> bool {
        if self.diffs.contains(&diff) {
            return false;
        }
        if self.diffs.len() == MOST_DIFFS {
            self.diffs.pop_front();
        }
        self.diffs.push_back(diff);
        true
    }
}
