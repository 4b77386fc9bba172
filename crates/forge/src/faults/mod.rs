//! What goes wrong on purpose: a plan of faults by route and number of the call.

mod fault;
mod plan;
mod written;

use std::collections::HashMap;
use std::sync::Mutex;

pub(crate) use fault::{Before, Fault};
use plan::{CiRule, HookRule, Rule, fits, is_due};
pub(crate) use plan::{HookFault, Outcome};
pub use plan::{Plan, PlanError};

use crate::server::Route;

/// The plan in force and how often each rule's route was called.
#[derive(Debug, Default)]
pub(crate) struct Faults(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    plan: Plan,
    calls: Vec<u64>,
    hook_calls: Vec<u64>,
    ci_calls: Vec<u64>,
    /// The last answers to reads, by path and query, for stale ones.
    seen: HashMap<String, Vec<u8>>,
}

/// Answers kept for stale reads; beyond that none is added.
const MOST_SEEN: usize = 256;

impl Faults {
    /// Puts a plan in force and counts from one again.
    pub(crate) fn set(&self, plan: Plan) {
        *self.lock() = State {
            calls: vec![0; plan.rules.len()],
            hook_calls: vec![0; plan.webhooks.len()],
            ci_calls: vec![0; plan.ci.len()],
            plan,
            seen: HashMap::new(),
        };
    }

    /// The plan in force.
    pub(crate) fn plan(&self) -> Plan {
        self.lock().plan.clone()
    }

    /// The fault for this call of a route.
    pub(crate) fn of(&self, route: &Route) -> Option<Fault> {
        let mut state = self.lock();
        let State { plan, calls, .. } = &mut *state;
        let matches = |rule: &Rule| rule.matches(route.method, route.pattern);
        first_due(&plan.rules, calls, matches, |rule| &rule.calls).map(|rule| rule.fault.clone())
    }

    /// What becomes of this webhook.
    pub(crate) fn of_hook(&self, event: &str) -> Option<HookFault> {
        let mut state = self.lock();
        let State { plan, hook_calls, .. } = &mut *state;
        let matches = |rule: &HookRule| fits(&rule.event, event);
        first_due(&plan.webhooks, hook_calls, matches, |rule| &rule.calls).map(|rule| rule.fault)
    }

    /// How this run of CI ends, and after how many milliseconds, whatever it would do.
    pub(crate) fn of_run(&self, branch: &str) -> Option<(Outcome, u64)> {
        let mut state = self.lock();
        let State { plan, ci_calls, .. } = &mut *state;
        let matches = |rule: &CiRule| fits(&rule.branch, branch);
        first_due(&plan.ci, ci_calls, matches, |rule| &rule.calls).map(|rule| (rule.outcome, rule.ms))
    }

    /// The last answer to the same read, and the place of this one.
    fn stale(&self, url: &str) -> Option<Vec<u8>> {
        self.lock().seen.get(url).cloned()
    }

    /// Remembers an answer, if the plan may want it.
    pub(crate) fn remember(&self, url: &str, body: &[u8]) {
        let mut state = self.lock();
        let wanted = state.plan.rules.iter().any(|rule| rule.fault == Fault::StaleRead);
        if wanted && (state.seen.len() < MOST_SEEN || state.seen.contains_key(url)) {
            state.seen.insert(url.to_owned(), body.to_vec());
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The first rule that is due. Every rule that matches counts the call.
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
