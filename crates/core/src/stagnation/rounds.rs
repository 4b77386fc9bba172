//! The rounds an agent counts, and those it planned.

use super::state::RunState;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RoundCount {
    pub(super) iteration: i64,
    planned: Option<i64>,
    /// Rounds a person has forgiven.
    forgiven: i64,
}

impl RoundCount {
    pub(super) fn report(&mut self, state: &RunState) {
        self.iteration = state.iteration.unwrap_or(self.iteration);
        self.planned = state.max_iterations.or(self.planned);
    }

    pub(super) fn counted(&self) -> i64 {
        self.iteration.saturating_sub(self.forgiven)
    }

    /// The plan, when it is exceeded; a plan of nothing is none.
    pub(super) fn over_plan(&self) -> Option<i64> {
        self.planned.filter(|planned| *planned > 0 && self.iteration > *planned)
    }

    pub(super) fn start_afresh(&mut self) {
        self.forgiven = self.iteration.max(0);
    }
}
