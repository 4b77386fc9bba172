//! The fingerprint of a pipeline: it changes with everything that a continued run depends on.

use super::file::{OnStagnation, Pipeline, PipelineStep, StepKind, Turns, Worker};

const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

impl Pipeline {
    /// The same for two files whose runs take the same way: steps, loops, conditions and what is done after failures. Prompts,
    /// models and times may differ.
    pub fn fingerprint(&self) -> String {
        let mut hash = BASIS;
        let mut add = |text: &str| {
            for byte in text.bytes().chain([0]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(PRIME);
            }
        };
        self.inputs.iter().for_each(|(name, _)| add(name));
        steps(&self.steps, &mut add);
        format!("{hash:016x}")
    }
}

fn steps(all: &[PipelineStep], add: &mut impl FnMut(&str)) {
    add("[");
    for step in all {
        add(&step.id);
        add(step.kind.as_str());
        add(&step.when.as_ref().map(ToString::to_string).unwrap_or_default());
        match &step.kind {
            StepKind::Agent(agent) => {
                retries(Some(&agent.worker), add);
                retries(agent.fallback.as_ref(), add);
                add(agent.on_blocked.as_str());
                add(if agent.review { "review" } else { "work" });
            }
            StepKind::Shell(shell) => {
                add(&shell.retry.to_string());
                add(shell.on_blocked.as_str());
            }
            StepKind::Gate(_) => {}
            StepKind::Loop(inner) => {
                turns(&inner.turns, add);
                steps(&inner.steps, add);
            }
        }
    }
    add("]");
}

fn retries(worker: Option<&Worker>, add: &mut impl FnMut(&str)) {
    add(&worker.map_or_else(|| "-".to_owned(), |worker| worker.retry.unwrap_or(0).to_string()));
}

fn turns(turns: &Turns, add: &mut impl FnMut(&str)) {
    match turns {
        Turns::Over { variable, order, .. } => {
            add(variable);
            add(order.as_str());
        }
        Turns::Until { until, max_rounds, on_stagnation } => {
            add(until.as_str());
            add(&max_rounds.to_string());
            add(match on_stagnation {
                OnStagnation::Stop => "stop",
                OnStagnation::Gate => "gate",
                OnStagnation::Agent(_) => "agent",
            });
        }
    }
}
