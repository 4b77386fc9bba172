//! Fault injection: a plan of faults by route and call number.

mod fault;
mod parse;
mod plan;

use std::collections::HashMap;
use std::sync::Mutex;

pub(crate) use fault::{Fault, Interception};
use plan::{CiRule, HookRule, Rule, is_due, matches_pattern};
pub(crate) use plan::{HookFault, Outcome};
pub use plan::{Plan, PlanError};

use crate::server::Route;

/// The active plan and how often each rule matched.
#[derive(Debug, Default)]
pub(crate) struct Faults(Mutex<FaultState>);

#[derive(Debug, Default)]
struct FaultState {
    plan: Plan,
    calls: Vec<u64>,
    hook_calls: Vec<u64>,
    ci_calls: Vec<u64>,
    /// The last responses to reads by path and query, for `stale_read`.
    seen: HashMap<String, Vec<u8>>,
}

/// Responses kept for `stale_read`; beyond that none is added.
const MOST_SEEN: usize = 256;

impl Faults {
    /// Activates a plan and resets the counters.
    pub(crate) fn set(&self, plan: Plan) {
        *self.lock() = FaultState {
            calls: vec![0; plan.rules.len()],
            hook_calls: vec![0; plan.webhooks.len()],
            ci_calls: vec![0; plan.ci.len()],
            plan,
            seen: HashMap::new(),
        };
    }

    pub(crate) fn plan(&self) -> Plan {
        self.lock().plan.clone()
    }

    /// The fault for this call of a route, which counts as one call.
    pub(crate) fn for_call(&self, route: &Route) -> Option<Fault> {
        let mut state = self.lock();
        let FaultState { plan, calls, .. } = &mut *state;
        let matches = |rule: &Rule| rule.matches(route.method, route.pattern);
        first_due(&plan.rules, calls, matches, |rule| &rule.calls).map(|rule| rule.fault.clone())
    }

    /// The fault for this webhook delivery.
    pub(crate) fn for_delivery(&self, event: &str) -> Option<HookFault> {
        let mut state = self.lock();
        let FaultState { plan, hook_calls, .. } = &mut *state;
        let matches = |rule: &HookRule| matches_pattern(&rule.event, event);
        first_due(&plan.webhooks, hook_calls, matches, |rule| &rule.calls).map(|rule| rule.fault)
    }

    /// The forced outcome of this CI run, and its duration in milliseconds.
    pub(crate) fn for_run(&self, branch: &str) -> Option<(Outcome, u64)> {
        let mut state = self.lock();
        let FaultState { plan, ci_calls, .. } = &mut *state;
        let matches = |rule: &CiRule| matches_pattern(&rule.branch, branch);
        first_due(&plan.ci, ci_calls, matches, |rule| &rule.calls).map(|rule| (rule.outcome, rule.ms))
    }

    /// The last response to the same read.
    fn stale(&self, url: &str) -> Option<Vec<u8>> {
        self.lock().seen.get(url).cloned()
    }

    /// Keeps a response if a rule of the plan needs it.
    pub(crate) fn remember(&self, url: &str, body: &[u8]) {
        let mut state = self.lock();
        let wanted = state.plan.rules.iter().any(|rule| rule.fault == Fault::StaleRead);
        if wanted && (state.seen.len() < MOST_SEEN || state.seen.contains_key(url)) {
            state.seen.insert(url.to_owned(), body.to_vec());
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, FaultState> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The first rule that is due; every matching rule counts the call.
fn first_due<'a, R>(
    rules: &'a [R],
    counts: &mut [u64],
    matches: impl Fn(&R) -> bool,
    calls: impl Fn(&R) -> &[u64],
) -> Option<&'a R> {
    let mut due = None;
    for (rule, count) in rules.iter().zip(counts) {
        if matches(rule) {
            *count += 1;
            if due.is_none() && is_due(calls(rule), *count) {
                due = Some(rule);
            }
        }
    }
    due
}
