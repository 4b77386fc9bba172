//! Keys about another attempt.

use super::Mark::{Comes, Goes};
use super::Scene;

/// A wait too long for a run in the foreground.
const TOO_LONG: &str = "waits at most 1m";

pub(super) const SCENES: &[Scene] = &[
    Scene {
        script: "STATUS=500; . @/fails",
        keys: &[
            "stream-json",
            "retry: {api_error: {max_attempts: 2, initial_backoff: 700ms, backoff_multiplier: 1}}",
        ],
        given: &[],
        flips: &[
            ("executor.retry.enabled", "false", Goes("api_error: trying again in")),
            ("executor.retry.max_attempts", "1", Comes("as often as executor.retry.max_attempts allows")),
            ("executor.retry.max_elapsed", "0s", Goes("api_error: trying again in")),
            ("executor.retry.api_error.max_attempts", "1", Comes("twice; giving up")),
            ("executor.retry.api_error.initial_backoff", "5m", Comes(TOO_LONG)),
            ("executor.retry.api_error.backoff_multiplier", "100", Comes(TOO_LONG)),
        ],
    },
    Scene {
        script: "STATUS=429; . @/fails",
        keys: &[
            "stream-json",
            "retry: {rate_limit: {max_attempts: 2, initial_backoff: 700ms, backoff_multiplier: 1}}",
        ],
        given: &[],
        flips: &[
            ("executor.retry.rate_limit.max_attempts", "1", Comes("twice; giving up")),
            ("executor.retry.rate_limit.initial_backoff", "5m", Comes(TOO_LONG)),
            ("executor.retry.rate_limit.backoff_multiplier", "100", Comes(TOO_LONG)),
            ("executor.fallback", "gemini", Comes("args: gemini ")),
        ],
    },
    Scene {
        script: ". @/count; [ $CALL = 1 ] && sleep 30; commit a",
        keys: &["silence_timeout: 1s", "retry: {stalled: {initial_backoff: 0s}}"],
        given: &[],
        flips: &[
            ("executor.retry.stalled.max_attempts", "0", Comes("verdict: failed stalled")),
            ("executor.retry.stalled.initial_backoff", "5m", Comes("verdict: failed stalled")),
        ],
    },
    Scene {
        script: "sleep 1.5; commit a",
        keys: &["timeout: 1s", "retry: {timeout: {timeout_multiplier: 20}}"],
        given: &[],
        flips: &[
            ("executor.retry.timeout.max_attempts", "0", Comes("verdict: failed timeout")),
            ("executor.retry.timeout.extend_timeout", "false", Comes("verdict: failed timeout")),
            ("executor.retry.timeout.timeout_multiplier", "1", Comes("verdict: failed timeout")),
        ],
    },
    // A mark that cannot be read, then nothing at all, then work.
    Scene {
        script: ". @/count; [ $CALL = 1 ] && printf '```pilot-signal\\n{\"type\":\"exit\",\"success\":tru}\\n```\\n'; [ $CALL = 3 ] && commit a; echo done",
        keys: &["retry: {enabled: true}"],
        given: &[],
        flips: &[
            ("executor.retry.no_changes.max_attempts", "0", Comes("verdict: no_changes no_changes")),
            ("executor.retry.malformed_signal.max_attempts", "0", Goes("could not be read, so it is told")),
        ],
    },
];
