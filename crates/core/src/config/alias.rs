//! Other spellings that are read, with a notice: those of the Go Pilot.

/// A spelling and the key it is read as.
pub(super) const ALIASES: [(&str, &str); 20] = [
    ("executor.type", "executor.backend"),
    ("executor.default_model", "executor.model"),
    ("executor.heartbeat_timeout", "executor.silence_timeout"),
    ("executor.timeout.default", "executor.timeout"),
    ("executor.timeout.trivial", "executor.timeout_routing.trivial"),
    ("executor.timeout.simple", "executor.timeout_routing.simple"),
    ("executor.timeout.medium", "executor.timeout_routing.medium"),
    ("executor.timeout.complex", "executor.timeout_routing.complex"),
    ("executor.effort_classifier.enabled", "executor.classifier.enabled"),
    ("executor.effort_classifier.model", "executor.classifier.model"),
    ("executor.effort_classifier.timeout", "executor.classifier.timeout"),
    ("executor.backend.type", "executor.backend"),
    ("executor.claude_code.allowed_tools", "executor.allowed_tools"),
    ("executor.claude_code.extra_args", "executor.extra_args"),
    ("executor.qwen_code.extra_args", "executor.extra_args"),
    ("orchestrator.execution.mode", "orchestrator.execution_mode"),
    ("orchestrator.execution.poll_interval", "adapters.github.polling.interval"),
    ("orchestrator.autopilot.ci_checks.required", "orchestrator.autopilot.required_checks"),
    ("orchestrator.autopilot.ci_checks.discovery_grace_period", "orchestrator.autopilot.ci_discovery_grace"),
    ("adapters.github.pilot_label", "adapters.github.polling.label"),
];

/// Spellings of keys that are not built yet, so that the notice can name ours.
pub(super) const UNBUILT_ALIASES: [(&str, &str); 1] = [("adapters.plane.base_url", "adapters.plane.api_url")];

pub(super) fn canonical(path: &str) -> Option<&'static str> {
    ALIASES.iter().find(|(spelling, _)| *spelling == path).map(|(_, key)| *key)
}

/// The same for keys that are not built yet.
pub(super) fn canonical_unbuilt(path: &str) -> Option<&'static str> {
    UNBUILT_ALIASES.iter().find(|(spelling, _)| *spelling == path).map(|(_, key)| *key)
}

#[cfg(test)]
mod tests {
    use super::{ALIASES, UNBUILT_ALIASES};
    use crate::config::{key, unbuilt};

    #[test]
    fn every_spelling_leads_to_a_key() {
        for (spelling, path) in ALIASES {
            assert!(key(spelling).is_none() && key(path).is_some(), "{spelling} -> {path}");
        }
        for (spelling, path) in UNBUILT_ALIASES {
            assert!(unbuilt::knows(spelling) && unbuilt::knows(path), "{spelling} -> {path}");
        }
    }
}
