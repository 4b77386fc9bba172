//! Keys about money: each in a whole run.

use super::Mark::{Comes, Goes};
use super::{ONCE, Scene};

const EXCEEDED: &str = "verdict: failed budget_exceeded";

/// Commits, uses 12,000 tokens, and takes its time.
const DEAR: &str = r#"commit a; printf '%s\n' '{"type":"system","subtype":"init","session_id":"s","model":"claude-sonnet-4-6"}' '{"type":"assistant","message":{"id":"m","model":"claude-sonnet-4-6","content":[{"type":"text","text":"on it"}],"usage":{"input_tokens":8000,"output_tokens":4000}},"session_id":"s"}'
sleep 1.6; printf '%s\n' '{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s","usage":{"input_tokens":8000,"output_tokens":4000}}'"#;

pub(super) const SCENES: &[Scene] = &[
    Scene {
        script: DEAR,
        keys: &[ONCE, "stream-json"],
        given: &[],
        flips: &[
            ("budget.per_task.max_tokens", "10000", Comes(EXCEEDED)),
            ("budget.per_task.max_duration", "1s", Comes(EXCEEDED)),
            ("budget.per_task.max_cost", "0.01", Comes(EXCEEDED)),
            (
                "budget.thresholds.warn_percent",
                "1",
                Comes("12000 tokens of the task's 500000 tokens are used"),
            ),
            ("budget.prices", "sonnet 1000/1000", Comes("cost: 12.0")),
        ],
    },
    Scene {
        script: DEAR,
        keys: &[ONCE, "stream-json"],
        given: &[("budget.per_task.max_tokens", "10000")],
        flips: &[
            ("budget.enabled", "false", Goes(EXCEEDED)),
            ("budget.on_exceed.per_task", "warn", Goes(EXCEEDED)),
        ],
    },
    // Less than what is reserved for any task: a task that is refused has created nothing.
    Scene {
        script: "commit a",
        keys: &[ONCE],
        given: &[],
        flips: &[
            ("budget.daily_limit", "0.01", Comes("Raise `budget.daily_limit` to")),
            ("budget.monthly_limit", "0.01", Comes("Raise `budget.monthly_limit` to")),
        ],
    },
    Scene {
        script: "commit a",
        keys: &[ONCE],
        given: &[("budget.daily_limit", "0.01")],
        flips: &[("budget.on_exceed.daily", "stop", Comes("code: 1"))],
    },
    Scene {
        script: "commit a",
        keys: &[ONCE],
        given: &[("budget.monthly_limit", "0.01")],
        flips: &[("budget.on_exceed.monthly", "pause", Comes("code: 3"))],
    },
];
